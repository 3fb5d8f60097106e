/**
 * What an operation costs the server, told by a client that only writes requests and counts the bytes of answers
 * (wire_client.ts): operations, or cells, a second of wall time and a second of the server's processor time, and its memory then. Needs no Java;
 * Linux.
 *
 *     node bench/peers/dist/bench/server/wire.js [--only scan,put…] [--seconds S] [--rows N] [--durability D]
 *         [--profile FOLDER] [--threads]
 *
 * Each work goes on for S seconds of the server's processor time. `--profile` runs the server with --cpu-prof,
 * `--threads` tells for each of its threads how long it ran and how often it went to sleep for an operation.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { cpuSecondsOf, rssBytesOf, threadsOf } from './processes.ts';
import type { ThreadFigures } from './processes.ts';
import { Message, WireClient, cellOf, numbersOf } from './wire_client.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '3' },
    rows: { type: 'string', default: '100000' },
    durability: { type: 'string', default: 'SYNC_WAL' },
    profile: { type: 'string' },
    threads: { type: 'boolean', default: false },
  },
});
const rows = Number(values.rows);
const VALUE = Buffer.alloc(100);
/** Columns of a row of the table `wide`. */
const COLUMNS = 10;
const BATCH = 1000;
const GETS = 100;
/** Of a second of the server's processor time. */
const WALL_MAX = 10;
/** Its processor time is looked at this often. */
const LOOK_MS = 100;

const rowOf = (i: number): Buffer => Buffer.from(`row${String(i).padStart(10, '0')}`);
/** A row by chance, the same ones in every run. */
let seed = 1;
function anyRow(): Buffer {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return rowOf((seed >>> 3) % rows);
}

const folder = mkdtempSync(path.join(tmpdir(), 'bench-wire-'));
const child = spawn(
  process.execPath,
  [
    ...(values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`]),
    path.join(import.meta.dirname, 'wire_server.js'),
    path.join(folder, 'store'),
    values.durability,
    'narrow',
    'wide',
  ],
  { stdio: ['pipe', 'pipe', 'inherit'] },
);
const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
const line = async (): Promise<string> => (await lines.next()).value as string;
const { rpc, regions } = JSON.parse(await line()) as {
  rpc: string;
  regions: Record<'narrow' | 'wide', string>;
};
const client = await WireClient.connect(rpc);

const regionOf = (table: 'narrow' | 'wide'): Message =>
  new Message().int(1, 2).text(2, regions[table]);

/** A Multi of puts; every row's cells are in the block. */
function puts(table: 'narrow' | 'wide', ids: readonly Buffer[]): Promise<unknown> {
  const action = new Message().message(1, regionOf(table));
  const cells: Buffer[] = [];
  const count = table === 'wide' ? COLUMNS : 1;
  for (const [index, row] of ids.entries()) {
    const mutation = new Message().bytes(1, row).int(2, 2).int(8, count);
    action.message(3, new Message().int(1, index).message(2, mutation));
    for (let i = 0; i < count; i++) cells.push(cellOf(row, 'f', `q${i}`, VALUE));
  }
  return client.call('Multi', new Message().message(1, action).finish(), Buffer.concat(cells));
}

const mutationOf = (row: Buffer): Message => {
  const value = new Message().text(1, 'q0').bytes(2, VALUE);
  const column = new Message().text(1, 'f').message(2, value);
  return new Message().bytes(1, row).int(2, 2).message(3, column);
};

function put(): Promise<unknown> {
  const request = new Message().message(1, regionOf('narrow')).message(2, mutationOf(anyRow()));
  return client.call('Mutate', request.finish());
}

function checkAndPut(): Promise<unknown> {
  const row = anyRow();
  const comparator = new Message()
    .text(1, 'org.apache.hadoop.hbase.filter.BinaryComparator')
    .message(2, new Message().message(1, new Message().bytes(1, VALUE)));
  const condition = new Message()
    .bytes(1, row)
    .text(2, 'f')
    .text(3, 'q0')
    .int(4, 2)
    .message(5, comparator);
  const request = new Message()
    .message(1, regionOf('narrow'))
    .message(2, mutationOf(row))
    .message(3, condition);
  return client.call('Mutate', request.finish());
}

function increment(): Promise<unknown> {
  const row = anyRow();
  const value = new Message().text(1, 'n').bytes(2, Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]));
  const column = new Message().text(1, 'f').message(2, value);
  const mutation = new Message().bytes(1, row).int(2, 1).message(3, column);
  const request = new Message().message(1, regionOf('narrow')).message(2, mutation);
  return client.call('Mutate', request.finish());
}

function get(): Promise<unknown> {
  const what = new Message().bytes(1, anyRow());
  return client.call('Get', new Message().message(1, regionOf('narrow')).message(2, what).finish());
}

async function multiGet(): Promise<number> {
  const action = new Message().message(1, regionOf('narrow'));
  for (let i = 0; i < GETS; i++) {
    const get = new Message().bytes(1, anyRow());
    action.message(3, new Message().int(1, i).message(3, get));
  }
  await client.call('Multi', new Message().message(1, action).finish());
  return GETS;
}

/** The whole table, as HBase's client asks for it: 2 MB an answer, or so many rows. Gives the bytes of cells. */
async function scan(table: 'narrow' | 'wide', caching = 0x7fffffff): Promise<number> {
  const flags = (message: Message): Message =>
    message.int(4, caching).int(5, 0).int(7, 1).int(8, 1);
  const spec = new Message().int(8, 1).int(10, 2 * 1024 * 1024);
  const open = flags(new Message().message(1, regionOf(table)).message(2, spec));
  let answer = await client.call('Scan', open.finish());
  let bytes = answer.cellBytes;
  for (let sequence = 0; ; sequence++) {
    const told = numbersOf(answer.message);
    if (told.get(8) === 0) return bytes;
    const next = flags(new Message().int(3, told.get(2)!)).int(6, sequence);
    answer = await client.call('Scan', next.finish());
    bytes += answer.cellBytes;
  }
}

interface Work {
  readonly name: string;
  /** Runs once; gives how many operations that was. */
  readonly run: () => Promise<number>;
  readonly inFlight: number;
}

const once =
  (what: () => Promise<unknown>): Work['run'] =>
  async () => {
    await what();
    return 1;
  };
const scans = (table: 'narrow' | 'wide'): Work['run'] => {
  const cellSize = cellOf(rowOf(0), 'f', 'q0', VALUE).length;
  const count = table === 'wide' ? (rows / 10) * COLUMNS : rows;
  return async () => {
    const bytes = await scan(table);
    if (bytes !== count * cellSize) throw new Error(`${bytes} bytes of ${count} cells`);
    return count;
  };
};
const buffered = async (): Promise<number> => {
  await puts('narrow', Array.from({ length: BATCH }, anyRow));
  return BATCH;
};

const mib = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`.padStart(9);

async function measure({ name, run, inFlight }: Work): Promise<void> {
  if (values.only !== '' && !values.only.split(',').some((one) => name.startsWith(one))) return;
  const cpuNow = (): number => cpuSecondsOf(child.pid!);
  /** Until the server has worked for so long, or a while has passed: so a busy machine tells the same. */
  const turns = async (cpuSeconds: number): Promise<number> => {
    const endCpu = cpuNow() + cpuSeconds;
    const endMs = performance.now() + cpuSeconds * WALL_MAX * 1000;
    let lookMs = performance.now() + LOOK_MS;
    let isOver = false;
    const turn = async (): Promise<number> => {
      let count = 0;
      while (!isOver) {
        count += await run();
        const nowMs = performance.now();
        if (nowMs < lookMs) continue;
        lookMs = nowMs + LOOK_MS;
        isOver ||= nowMs > endMs || cpuNow() >= endCpu;
      }
      return count;
    };
    const counts = await Promise.all(Array.from({ length: inFlight }, turn));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  const seconds = Number(values.seconds);
  await turns(seconds / 2);
  const threadsBefore = threadsOf(child.pid!);
  const cpuBefore = cpuNow();
  const startMs = performance.now();
  const count = await turns(seconds);
  const wall = (performance.now() - startMs) / 1000;
  const cpu = cpuNow() - cpuBefore;
  const rate = (value: number): string => Math.round(value).toLocaleString('en').padStart(12);
  console.log(
    `${name.padEnd(20)}${rate(count / wall)}/s ${rate(count / cpu)} a CPU second ${((cpu * 1e6) / count).toFixed(2).padStart(8)} us ${mib(rssBytesOf(child.pid!))}`,
  );
  if (values.threads) tellThreads(threadsBefore, threadsOf(child.pid!), count);
}

/** The main thread, the workers, and those of Node itself, which collect garbage, compile and do the file system's calls. */
function tellThreads(
  before: ReadonlyMap<string, ThreadFigures>,
  after: ReadonlyMap<string, ThreadFigures>,
  count: number,
): void {
  for (const [id, { cpuUs, sleeps }] of after) {
    const old = before.get(id);
    const us = (cpuUs - (old?.cpuUs ?? 0)) / count;
    const slept = (sleeps - (old?.sleeps ?? 0)) / count;
    if (us > 0.05) console.log(`    thread ${id} ${us.toFixed(2)} us, ${slept.toFixed(3)} sleeps`);
  }
}

async function load(table: 'narrow' | 'wide', count: number): Promise<void> {
  for (let i = 0; i < count; i += BATCH) {
    await puts(
      table,
      Array.from({ length: Math.min(BATCH, count - i) }, (_, k) => rowOf(i + k)),
    );
  }
}

try {
  await load('narrow', rows);
  await load('wide', rows / 10);
  const scanWorks = (where: string): Work[] =>
    (['narrow', 'wide'] as const).map((table) => ({
      name: `scan-${table}-${where}`,
      run: scans(table),
      inFlight: 1,
    }));
  for (const work of scanWorks('memory')) await measure(work);
  child.stdin.write('flush\n');
  await line();
  for (const work of scanWorks('files')) await measure(work);
  const others: readonly [string, Work['run']][] = [
    ['put', once(put)],
    ['get', once(get)],
    ['increment', once(increment)],
    ['checkAndPut', once(checkAndPut)],
  ];
  for (const [name, run] of others) {
    for (const inFlight of [1, 32]) await measure({ name: `${name}-${inFlight}`, run, inFlight });
  }
  await measure({ name: 'bufferedPut-1', run: buffered, inFlight: 1 });
  await measure({ name: 'multiGet-1', run: multiGet, inFlight: 1 });
  // Over what all the others have left: rows with many versions in memory and in files.
  const scanRows = async (): Promise<number> => (await scan('narrow', 1000), rows);
  await measure({ name: 'scanCaching1000-1', run: scanRows, inFlight: 1 });
} finally {
  client.close();
  child.kill('SIGTERM');
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
