/**
 * What the built program loads before it is ready, counted: half a second of processor time went into loading modules one by
 * one (docs/decisions.md). scripts/startup.mjs measures the time.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const DIST = path.resolve(import.meta.dirname, '../../dist');
const MAIN = path.join(DIST, 'cli/main.cjs');
const BUNDLE = path.join(DIST, 'bundle/cellar.cjs');
const dir = mkdtempSync(path.join(tmpdir(), 'cellar-startup-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
}

/** Waits for the end; `onOutput` sees what has been printed so far. */
async function ended(child: ChildProcess, onOutput?: (text: string) => void): Promise<Ended> {
  let stdout = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    onOutput?.(stdout);
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  return { status, stdout };
}

/** Runs a command to its end, `serve` until it is ready; answers the files of code that were loaded, in their order. */
async function filesLoaded(
  argv: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string[]> {
  const coverage = mkdtempSync(path.join(dir, 'coverage-'));
  const child = spawn(process.execPath, [MAIN, ...argv], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, CELLAR_DATA: '', ...env, NODE_V8_COVERAGE: coverage },
  });
  const { status } = await ended(child, (text) => {
    if (text.includes('"ready":true')) child.kill('SIGTERM');
  });
  expect(status).toBe(0);
  const [report] = readdirSync(coverage).map((name) => path.join(coverage, name));
  const { result } = JSON.parse(readFileSync(report!, 'utf8')) as { result: { url: string }[] };
  return result.map(({ url }) => url).filter((url) => !url.startsWith('node:'));
}

const urlOf = (file: string): string => pathToFileURL(path.join(DIST, file)).href;

test.each([
  { argv: ['serve', '--port', '0', '--json'] },
  { argv: ['--help'] },
  { argv: ['create', 't', 'f', '--data', path.join(dir, 'store')] },
])('two files are loaded by $argv', async ({ argv }) => {
  const files = await filesLoaded(argv);
  // What runs from compiled code is told by its path.
  expect(files.map((file) => path.basename(file))).toEqual(['main.cjs', 'cellar.cjs']);
});

test('for debugging the modules themselves are run', async () => {
  const files = await filesLoaded(['--version'], { CELLAR_BUNDLE: 'off' });
  expect(files.some((file) => file.endsWith('cellar.cjs'))).toBe(false);
  expect(files).toContain(urlOf('cli/program.js'));
});

test.each(['cellar.cjs', 'jobs.cjs'])(
  '%s starts from the compiled code of the build',
  async (name) => {
    const code = `import { runCompiled } from ${JSON.stringify(urlOf('io/compiled_program.js'))};
    console.log(runCompiled(${JSON.stringify(path.join(DIST, 'bundle', name))}).isFromCode);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    expect(await ended(child)).toEqual({ status: 0, stdout: 'true\n' });
  },
);

test('codecs are loaded beside the bundles', async () => {
  const store = path.join(dir, 'codecs');
  const cellar = async (...argv: string[]): Promise<string> => {
    const child = spawn(process.execPath, [MAIN, ...argv, '--data', store, '--json'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { status, stdout } = await ended(child);
    expect(status).toBe(0);
    return stdout;
  };
  const codecs = ['ZSTD', 'LZ4', 'SNAPPY', 'GZ'];
  const families = codecs.flatMap((codec) => [codec.toLowerCase(), `COMPRESSION=${codec}`]);
  await cellar('create', 't', ...families);
  await cellar(
    'put',
    't',
    'r',
    ...codecs.flatMap((codec) => [`${codec.toLowerCase()}:q`, codec.repeat(100)]),
  );
  await cellar('flush', 't');
  const found = await cellar('get', 't', 'r');
  for (const codec of codecs) expect(found).toContain(codec.repeat(100));
});

test('the bundle stays small, and says whose packages are in it', () => {
  expect(statSync(BUNDLE).size).toBeLessThan(3_000_000);
  const text = readFileSync(BUNDLE, 'latin1');
  for (const later of ['fastify', '@bokuweb/zstd-wasm', 'lz4-wasm-nodejs', '@node-rs/crc32']) {
    expect(text, later).not.toContain(`require("${later}")`);
  }
  const licences = readFileSync(path.join(DIST, 'bundle/LICENCES.txt'), 'utf8');
  for (const inside of ['commander', 'fs-extra', 'msgpack-lite', 'pino']) {
    expect(licences).toMatch(new RegExp(`^${inside} .*\\((MIT|ISC)\\)$`, 'm'));
  }
});
