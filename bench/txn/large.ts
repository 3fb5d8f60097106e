/**
 * A large transaction in a process of its own: memory while it is staged, the time of its commit, and what unrelated writers see of
 * it. Prints JSON. `node …/bench/txn/large.js --gb 10 [--dir DIR]`; `npm run bench:txn` runs it with 1 GB.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { StoreConnection } from '../../src/embedded/index.ts';
import type { LoadOperation } from '../../src/model/index.ts';
import { product } from './product.ts';

const ROWS = 1000;
const VALUE_BYTES = 1000;
/** Unrelated writers, each one durable put after the other. */
const WRITERS = 4;
/** Time of the writers before and after the commit. */
const BESIDE_MS = 3000;
const LINKS_MS = 500;

export interface LargeFigures {
  readonly gb: number;
  readonly rows: number;
  readonly loadSeconds: number;
  readonly prepareSeconds: number;
  readonly commitMs: number;
  /** Largest resident set of the process, from its start to its end. */
  readonly peakRssMb: number;
  /** Before the transaction began. */
  readonly idleRssMb: number;
  /** Of unrelated durable puts, without and with the commit beside them. */
  readonly putP50Ms: number;
  readonly putP99Ms: number;
  readonly besideP50Ms: number;
  readonly besideP99Ms: number;
  readonly besideMaxMs: number;
  /** The longest time for which the thread did nothing else, without and with the commit. */
  readonly stepMaxMs: number;
  readonly besideStepMaxMs: number;
}

/** Runs it in a child. */
export function largeTransaction(gb: number): Promise<LargeFigures> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), '--gb', String(gb)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.on('data', (part: Buffer) => (text += part.toString()));
    child.on('error', reject);
    child.on('close', (status) => {
      if (status === 0) resolve(JSON.parse(text) as LargeFigures);
      else reject(new Error(`the large transaction ended with status ${status}`));
    });
  });
}

const argument = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};

interface Put {
  readonly startedMs: number;
  readonly tookMs: number;
}

/** Puts one after the other until it is told to end. */
class Writer {
  readonly puts: Put[] = [];
  isDone = false;
  readonly ended: Promise<void>;

  constructor(connection: StoreConnection, table: string, number: number) {
    this.ended = this.#run(connection, table, number);
  }

  async #run(connection: StoreConnection, table: string, number: number): Promise<void> {
    const on = connection.table(table);
    for (let n = 0; !this.isDone; n++) {
      const startedMs = performance.now();
      await on.put(`w${number}-${n % 1000}`, { 'f:a': 'x' });
      this.puts.push({ startedMs, tookMs: performance.now() - startedMs });
    }
  }
}

const round = (value: number): number => Number(value.toFixed(2));

function shareOf(puts: readonly Put[], share: number): number {
  const took = puts.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return round(took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0);
}

/** The most that the process ever held. */
function peakRssMb(): number {
  const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'));
  return Math.round(Number(found?.[1] ?? process.memoryUsage().rss / 1024) / 1024);
}

function rowsFrom(first: number, value: Uint8Array): LoadOperation[] {
  return Array.from({ length: ROWS }, (_, i) => {
    // Rows come in no order: 2654435761 is odd, so no two are the same.
    const row = (Math.imul(first + i, 2654435761) >>> 0).toString(16).padStart(8, '0');
    return { put: row, values: { 'f:a': value } };
  });
}

async function measure(gb: number, dir: string): Promise<LargeFigures> {
  const connection = await (await product()).open(dir);
  await connection.admin.createTable({ name: 't', families: ['f'], SPLITS: ['4', '8', 'c'] });
  await connection.admin.createTable({ name: 'other', families: ['f'] });
  const idleRssMb = Math.round(process.memoryUsage().rss / 1048576);
  const rows = Math.round((gb * 1e9) / VALUE_BYTES / ROWS) * ROWS;
  const txn = connection.transaction({ label: 'large' });
  await txn.begin();
  const value = Buffer.alloc(VALUE_BYTES, 'value ');
  let start = performance.now();
  for (let first = 0; first < rows; first += ROWS) {
    value.writeUInt32BE(first, 0);
    await txn.load(rowsFrom(first, value), { table: 't' });
  }
  const loadSeconds = (performance.now() - start) / 1000;
  start = performance.now();
  await txn.prepare();
  const prepareSeconds = (performance.now() - start) / 1000;
  const peak = peakRssMb();
  const writers = Array.from({ length: WRITERS }, (_, n) => new Writer(connection, 'other', n));
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => void setTimeout(resolve, ms));
  const steps = monitorEventLoopDelay({ resolution: 1 });
  steps.enable();
  await wait(BESIDE_MS);
  const stepMaxMs = steps.max / 1e6;
  steps.reset();
  const commitAt = performance.now();
  await txn.commit();
  const commitMs = performance.now() - commitAt;
  // The links are written into the manifest now.
  await wait(LINKS_MS);
  const besideStepMaxMs = steps.max / 1e6;
  await wait(BESIDE_MS);
  for (const writer of writers) writer.isDone = true;
  await Promise.all(writers.map(({ ended }) => ended));
  const count = await connection.table('t').count();
  if (count !== rows) throw new Error(`${count} rows, not ${rows}`);
  await connection.close();
  const puts = writers.flatMap((writer) => writer.puts);
  const isBeside = ({ startedMs, tookMs }: Put): boolean =>
    startedMs + tookMs >= commitAt && startedMs <= commitAt + commitMs + LINKS_MS;
  const quiet = puts.filter((put) => !isBeside(put));
  const beside = puts.filter(isBeside);
  return {
    gb,
    rows,
    loadSeconds: round(loadSeconds),
    prepareSeconds: round(prepareSeconds),
    commitMs: round(commitMs),
    peakRssMb: peak,
    idleRssMb,
    putP50Ms: shareOf(quiet, 0.5),
    putP99Ms: shareOf(quiet, 0.99),
    besideP50Ms: shareOf(beside, 0.5),
    besideP99Ms: shareOf(beside, 0.99),
    besideMaxMs: shareOf(beside, 1),
    stepMaxMs: round(stepMaxMs),
    besideStepMaxMs: round(besideStepMaxMs),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dir = mkdtempSync(path.join(argument('--dir') ?? tmpdir(), 'cellar-bench-large-'));
  try {
    const figures = await measure(Number(argument('--gb') ?? 1), dir);
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
