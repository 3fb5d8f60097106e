/**
 * Cellar's server beside Apache HBase and a null server, all driven by the same Java client process (bench/server/
 * BenchClient.java): rates, the server's processor time an operation, its memory, and how soon a fresh server answers.
 *
 * `npm run bench:server -- --suite DIR` starts Apache HBase with DIR/serve-reference; `--hbase HOST:PORT --hbase-pid PID`
 * uses one that runs. Without either Cellar and the null server are measured alone. Linux (processor times are read from
 * /proc). Results: bench/results/server.json and server.md.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { load, machine } from '../engine/machine.ts';
import { spreadOf } from '../engine/stats.ts';
import { BenchClient, cpuSecondsOf, rssBytesOf, startServer } from './processes.ts';
import type { RunningServer } from './processes.ts';

const ROOT = path.resolve(import.meta.dirname, '../../../../..');
const CLI = path.join(ROOT, 'dist/cli/main.cjs');
const NULL_SERVER = path.join(import.meta.dirname, 'null_server.js');

const { values } = parseArgs({
  options: {
    suite: { type: 'string' },
    hbase: { type: 'string' },
    'hbase-pid': { type: 'string' },
    rounds: { type: 'string', default: '3' },
    rows: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '4' },
    warm: { type: 'string', default: '4' },
    only: { type: 'string', default: '' },
    note: { type: 'string' },
    'no-save': { type: 'boolean', default: false },
  },
});
const rows = Number(values.rows);
const rounds = Number(values.rounds);

interface Work {
  readonly id: string;
  readonly name: string;
  readonly threads: number;
}
const WORKS: readonly Work[] = [
  ...['put', 'get', 'increment', 'checkAndPut'].flatMap((name) =>
    [1, 32].map((threads) => ({ id: `${name}-${threads}`, name, threads })),
  ),
  { id: 'bufferedPut-1', name: 'bufferedPut', threads: 1 },
  { id: 'multiGet-1', name: 'multiGet', threads: 1 },
  { id: 'scan-1', name: 'scan', threads: 1 },
  { id: 'ycsbA-32', name: 'ycsbA', threads: 32 },
].filter(
  ({ id }) => values.only === '' || values.only.split(',').some((one) => id.startsWith(one)),
);

interface Kind {
  readonly name: string;
  readonly start: (dir: string) => Promise<RunningServer>;
}

const READY = /"rpc":"([^"]+)"/;
const cellar = (name: string, durability: string): Kind => ({
  name,
  start: (dir) =>
    startServer(
      process.execPath,
      [CLI, 'serve', path.join(dir, name), '--json', '--port', '0', '--durability', durability],
      { cwd: dir, program: 'node', ready: READY },
    ),
});

const KINDS: readonly Kind[] = [
  cellar('cellar', 'SYNC_WAL'),
  cellar('cellar-fsync', 'FSYNC_WAL'),
  {
    name: 'null',
    start: (dir) =>
      startServer(process.execPath, [NULL_SERVER], { cwd: dir, program: 'node', ready: READY }),
  },
  ...(values.suite === undefined ? [] : [reference(path.resolve(values.suite))]),
  ...(values.hbase === undefined ? [] : [running(values.hbase, Number(values['hbase-pid']))]),
];

function reference(suite: string): Kind {
  return {
    name: 'hbase',
    start: (dir) =>
      startServer(path.join(suite, 'serve-reference'), [], {
        cwd: dir,
        program: 'java',
        ready: /^ready (\S+)/,
      }),
  };
}

function running(address: string, pid: number): Kind {
  const server = {
    address,
    pid,
    tell: (): void => undefined,
    stop: async (): Promise<void> => undefined,
  };
  return { name: 'hbase', start: async () => server };
}

interface Sample {
  readonly rate: number;
  readonly cpuUs: number;
  readonly p99Us: number;
}

interface KindResult {
  readonly name: string;
  firstAnswerMs: number;
  idleRssBytes: number;
  rssBytes: number;
  readonly works: Map<string, Sample[]>;
}

/** Compiles the client against the libraries that scripts/diff-install fetches; gives the class path. */
function install(): string {
  const made = spawnSync('sh', [path.join(ROOT, 'scripts/diff-install')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (made.status !== 0) throw new Error('the Java client could not be fetched');
  const lib = path.join(made.stdout.trim(), 'lib', '*');
  const classes = path.join(made.stdout.trim(), 'bench');
  mkdirSync(classes, { recursive: true });
  const source = path.join(ROOT, 'bench/server/BenchClient.java');
  const compiled = spawnSync(
    'javac',
    ['-nowarn', '-proc:none', '-cp', lib, '-d', classes, source],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  if (compiled.status !== 0) throw new Error('BenchClient.java does not compile');
  return `${classes}${path.delimiter}${lib}`;
}

async function measure(server: RunningServer, client: BenchClient, work: Work): Promise<Sample> {
  const ms = Number(values.seconds) * 1000;
  await client.send(`run ${work.name} ${work.threads} ${Math.round(ms / 4)}`);
  const before = cpuSecondsOf(server.pid);
  const { operations, seconds, p99Us } = await client.send(
    `run ${work.name} ${work.threads} ${ms}`,
  );
  const cpuUs = ((cpuSecondsOf(server.pid) - before) * 1e6) / operations!;
  return { rate: operations! / seconds!, cpuUs, p99Us: p99Us! };
}

/** One server's life: started while the client tries to connect, prepared, warmed, measured. */
async function live(kind: Kind, client: BenchClient, result: KindResult): Promise<void> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-server-'));
  try {
    const startMs = performance.timeOrigin + performance.now();
    const server = await kind.start(dir);
    try {
      const { atMs } = await client.send(`connect ${server.address}`);
      result.firstAnswerMs = Math.min(result.firstAnswerMs, atMs! - startMs);
      result.idleRssBytes = rssBytesOf(server.pid);
      await client.send(`prepare ${rows}`);
      const warmMs = Number(values.warm) * 1000;
      for (const name of ['put', 'get', 'scan'])
        await client.send(`run ${name} 8 ${Math.round(warmMs / 3)}`);
      for (const work of WORKS) {
        server.tell(work.id);
        const sample = await measure(server, client, work);
        console.error(
          `${kind.name} ${work.id}: ${Math.round(sample.rate)}/s, ${sample.cpuUs.toFixed(1)} us`,
        );
        result.works.set(work.id, [...(result.works.get(work.id) ?? []), sample]);
      }
      result.rssBytes = Math.max(result.rssBytes, rssBytesOf(server.pid));
      await client.send('disconnect');
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const median = (samples: readonly Sample[] | undefined, of: (sample: Sample) => number): number =>
  samples === undefined || samples.length === 0 ? NaN : spreadOf(samples.map(of)).median;

const whole = (value: number): string =>
  Number.isNaN(value)
    ? ''
    : value >= 100
      ? Math.round(value).toLocaleString('en')
      : value.toFixed(1);

function table(results: readonly KindResult[]): string {
  const of = (name: string, id: string, what: (sample: Sample) => number): number =>
    median(results.find((one) => one.name === name)?.works.get(id), what);
  const lines = [
    '| work | ' +
      results.map(({ name }) => `${name}/s`).join(' | ') +
      ' | to hbase | to null | CPU of cellar | of hbase | share |',
    `| --- | ${results.map(() => '---').join(' | ')} | --- | --- | --- | --- | --- |`,
  ];
  for (const { id } of WORKS) {
    const rate = (name: string): number => of(name, id, (sample) => sample.rate);
    const cpu = (name: string): number => of(name, id, (sample) => sample.cpuUs);
    const cells = [
      ...results.map(({ name }) => whole(rate(name))),
      whole(rate('cellar') / rate('hbase')),
      whole(rate('cellar') / rate('null')),
      `${whole(cpu('cellar'))} us`,
      Number.isNaN(cpu('hbase')) ? '' : `${whole(cpu('hbase'))} us`,
      (cpu('cellar') / cpu('hbase')).toFixed(2).replace('NaN', ''),
    ];
    lines.push(`| ${id} | ${cells.join(' | ')} |`);
  }
  lines.push(
    '',
    '| server | first answer to a client, from its start | memory idle | under load |',
    '| --- | --- | --- | --- |',
  );
  const mib = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;
  for (const { name, firstAnswerMs, idleRssBytes, rssBytes } of results) {
    lines.push(
      `| ${name} | ${Math.round(firstAnswerMs)} ms | ${mib(idleRssBytes)} | ${mib(rssBytes)} |`,
    );
  }
  return lines.join('\n');
}

const classPath = install();
const client = new BenchClient(classPath);
const results = KINDS.map(({ name }): KindResult => ({
  name,
  firstAnswerMs: Infinity,
  idleRssBytes: 0,
  rssBytes: 0,
  works: new Map(),
}));
const loadBefore = load();
try {
  // Rounds alternate between the servers; the client goes on, so that its own warming up favours nobody.
  for (let round = 0; round < rounds; round++) {
    for (const [i, kind] of KINDS.entries()) await live(kind, client, results[i]!);
  }
} finally {
  await client.close();
}
const text = table(results);
console.log(text);
if (!values['no-save']) {
  const folder = path.join(ROOT, 'bench/results');
  mkdirSync(folder, { recursive: true });
  const head = {
    taken: new Date().toISOString(),
    note: values.note ?? null,
    loadBefore,
    rows,
    rounds,
    machine: machine(),
  };
  const json = {
    ...head,
    servers: results.map((one) => ({ ...one, works: Object.fromEntries(one.works) })),
  };
  writeFileSync(path.join(folder, 'server.json'), `${JSON.stringify(json, null, 2)}\n`);
  const title = `# Servers, driven by one Java client\n\nTaken ${head.taken}; load before ${loadBefore.toFixed(1)}; ${rows} rows, ${rounds} rounds (medians).\n\n`;
  writeFileSync(path.join(folder, 'server.md'), `${title}${text}\n`);
}
