// npm run txn:check -- --ops N --seed S [--history K] [--spill BYTES]: the checker of transactions (test/txn/history.ts) over N
// operations, in histories of K operations each with seeds S, S + 1, …; odd seeds keep transactions in memory, even ones stage
// them in files, unless --spill says when. Prints a line for each history; the first that does not hold ends it with status 1.
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { newFolder, readSource, ROOT, sources, transpile, writeBuilt } from './sim_build.mjs';

function argument(name, otherwise) {
  const at = process.argv.indexOf(name);
  if (at < 0) return otherwise;
  const value = Number(process.argv[at + 1]);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} needs a number`);
  return value;
}

const operations = argument('--ops', 10_000);
const first = argument('--seed', 1);
const perHistory = argument('--history', 5_000);
const spill = argument('--spill', -1);

const folder = newFolder('txn');
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
process.on('SIGINT', () => process.exit(130));
const helpers = readdirSync(path.join(ROOT, 'test', 'txn'))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => `test/txn/${name}`);
for (const name of [...sources(), ...helpers]) {
  writeBuilt(folder, name, transpile(readSource(name), name));
}
const { checkHistory } = await import(
  pathToFileURL(path.join(folder, 'test', 'txn', 'history.js')).href
);
let done = 0;
for (let seed = first; done < operations; seed++) {
  const count = Math.min(perHistory, operations - done);
  const spillBytes = spill >= 0 ? spill : seed % 2 === 0 ? 60 : 262_144;
  try {
    const { commits, asOfReads } = await checkHistory({ seed, operations: count, spillBytes });
    done += count;
    const seconds = Math.round(process.cpuUsage().user / 1e6);
    console.log(
      `seed ${seed}: ${count} operations, ${commits.length} commits and ${asOfReads.length} reads as of hold (${done} in all, ${seconds} s CPU)`,
    );
  } catch (error) {
    console.error(`seed ${seed}, ${count} operations: ${error.stack}`);
    process.exit(1);
  }
}
