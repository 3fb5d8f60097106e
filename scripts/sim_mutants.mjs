// npm run sim:mutants: makes one-line faults in a scratch copy of the sources, one at a time, and lets the simulator
// look for each. Prints caught or missed; fails if one is missed, or if a text to replace is not there exactly once.
//   --seeds N: seeds tried a mutant (default 40);  --steps K: operations a seed (default 500);  --only WORD: by name;  --rare: also those that forty seeds do not find
//   --from WORD: the first of this name and those behind it;  --quick: the sources as they are need not pass first
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { newFolder, readSource, sources, transpile, writeBuilt } from './sim_build.mjs';
import { MUTANTS } from '../test/sim/mutants.mjs';

const TIMEOUT_MS = 240_000;
const RUNNER = fileURLToPath(new URL('./sim_mutant_run.mjs', import.meta.url));

function option(name, otherwise) {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1];
}

/** Matches the text whatever the formatter made of its blanks. */
function pattern(text) {
  const tokens = text.split(/\s+/).filter((token) => token !== '');
  const escaped = tokens.map((token) => token.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(escaped.join('\\s+'), 'g');
}

function mutated({ name, file, from, to }) {
  const text = readSource(file);
  const found = text.match(pattern(from))?.length ?? 0;
  if (found !== 1)
    throw new Error(`mutant '${name}': its text is ${found} times in ${file}, not once`);
  return text.replace(pattern(from), () => to);
}

/** The result of one run: null if the simulator found nothing. */
function run(folder, seeds, steps) {
  return new Promise((resolve) => {
    const main = path.join(folder, 'test', 'sim', 'main.js');
    const child = spawn(process.execPath, [RUNNER, main, '--seeds', seeds, '--steps', steps]);
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    const timer = setTimeout(() => {
      output += '\nhangs';
      child.kill('SIGKILL');
    }, TIMEOUT_MS);
    child.on('close', (status) => {
      clearTimeout(timer);
      resolve(status === 0 ? null : output);
    });
  });
}

/** The lines that say how it was found. */
function summary(output) {
  const failed = /FAILED seed (\d+) step \d+ \(of (\d+)/.exec(output);
  const message =
    /^(?:\w*(?:Failure|Error|Exception)): .*$/m.exec(output)?.[0] ?? 'the process ended';
  const where = failed === null ? '' : `seed ${failed[1]} after ${failed[2]} operations: `;
  return where + message.slice(0, 150);
}

const only = option('--only', '');
const from = option('--from', '');
const first = MUTANTS.findIndex(({ name }) => name.includes(from));
const withRare = process.argv.includes('--rare');
const chosen = MUTANTS.slice(first).filter(
  ({ name, rare }) => name.includes(only) && (withRare || rare !== true),
);
// All texts are looked up first: a stale one fails at once.
const waiting = chosen.map((mutant) => ({ mutant, text: mutated(mutant) }));
const originals = new Map(sources().map((name) => [name, transpile(readSource(name), name)]));
let missed = 0;

async function work(label) {
  const folder = newFolder(label);
  try {
    for (const [name, javascript] of originals) writeBuilt(folder, name, javascript);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { mutant, text } = next;
      const startMs = performance.now();
      writeBuilt(folder, mutant.file, transpile(text, mutant.file));
      const output = await run(folder, option('--seeds', '40'), option('--steps', '500'));
      writeBuilt(folder, mutant.file, originals.get(mutant.file));
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
      if (output === null) missed++;
      const verdict = output === null ? 'MISSED' : `caught, ${summary(output)}`;
      console.log(`${mutant.name} (${seconds} s): ${verdict}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The sources as they are must pass, else "caught" would mean nothing. */
async function checkUnchanged() {
  const folder = newFolder('unchanged');
  try {
    for (const [name, javascript] of originals) writeBuilt(folder, name, javascript);
    const output = await run(folder, option('--seeds', '40'), option('--steps', '500'));
    if (output === null) return true;
    console.log(`the sources as they are fail: ${summary(output)}\n${output.slice(-2000)}`);
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (!process.argv.includes('--quick') && !(await checkUnchanged())) process.exit(1);
const workers = Math.min(2, availableParallelism());
await Promise.all(Array.from({ length: workers }, (_, i) => work(`mutant${i}`)));
console.log(`${chosen.length - missed} of ${chosen.length} mutants caught`);
process.exitCode = missed === 0 ? 0 : 1;
