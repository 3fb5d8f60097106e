// npm run test:diff -- --seed N --minutes M [--hbase host:port | --suite folder] (see test/diff/README.md).
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { ROOT, newFolder, readSource, transpile, writeBuilt } from './sim_build.mjs';

const folder = newFolder('diff');
const stops = [() => rmSync(folder, { recursive: true, force: true })];
process.on('exit', () => stops.forEach((stop) => stop()));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

function build() {
  for (const top of ['src', 'test/diff']) {
    for (const found of readdirSync(path.join(ROOT, top), { recursive: true, encoding: 'utf8' })) {
      const name = path.posix.join(top, found.split(path.sep).join('/'));
      if (!name.endsWith('.ts') || name.endsWith('.d.ts')) continue;
      writeBuilt(folder, name, transpile(readSource(name), name));
    }
  }
}

function installClient() {
  const { status, stdout } = spawnSync(path.join(ROOT, 'scripts', 'diff-install'), {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error('the Java client could not be installed');
  return stdout.trim();
}

/** Starts a reference by `serve-reference` of the suite's folder; its address. */
function serveReference(suite) {
  const options = ['hbase.hregion.majorcompaction=0', 'hbase.hstore.blockingStoreFiles=1000'];
  const server = spawn(path.join(suite, 'serve-reference'), options, {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  stops.push(() => server.kill('SIGTERM'));
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`serve-reference ended with ${code}`)));
    createInterface({ input: server.stdout }).on('line', (line) => {
      if (line.startsWith('ready ')) resolve(line.slice('ready '.length));
    });
  });
}

build();
const load = (name) => import(pathToFileURL(path.join(folder, 'test', 'diff', name)).href);
const { DiffRun, parseOptions } = await load('main.js');
const { HBaseSide } = await load('hbase.js');
const options = parseOptions(process.argv.slice(2), path.join(ROOT, 'test', 'cases'));
if (options.hbase === undefined && options.suite === undefined) {
  console.error(
    'Apache HBase is needed: --hbase host:port (or DIFF_HBASE), or --suite folder (or HBASE_SUITE)',
  );
  process.exit(2);
}
const cache = installClient();
const hbase = new HBaseSide(cache, options.hbase ?? (await serveReference(options.suite)));
const run = new DiffRun(hbase, options, (line) => console.log(line));
process.exitCode = 0;
for (const file of options.ask) process.exitCode += await run.ask(file);
if (options.ask.length === 0) process.exitCode = await run.run();
await hbase.close();
process.exit();
