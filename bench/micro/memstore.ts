/**
 * The memstore by itself: pieces (insert, seek, next) with `benchmark`, then whole loads with memory a cell and the longest
 * pause. It measures the built output, so build first; then, from the root of the repository:
 *
 *     npx vite build --ssr bench/micro/memstore.ts --outDir dist/bench
 *     node dist/bench/memstore.js [--large] [--loops-only]
 *
 * `--large` adds 10 M cells (2.5 GB of memory). Cells: rows `user%012d`, family `f`, qualifier `q`, values of 100 bytes, 138 bytes each.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as cells from '../../src/cell/index.ts';
import type * as memstores from '../../src/region/memstore/index.ts';

type SeekKey = cells.SeekKey;
type Store = memstores.Memstore;
type MemstoreCursor = memstores.MemstoreCursor;

const built = (file: string): string => pathToFileURL(path.resolve('dist', file)).href;
const { READY } = (await import(built('cell/index.js'))) as typeof cells;
const { Memstore } = (await import(built('region/memstore/index.js'))) as typeof memstores;

const ROW_LENGTH = 16;
const ROW_AT = 10;
const KEY_LENGTH = 12 + ROW_LENGTH + 2;
const VALUE_LENGTH = 100;
const CELL_LENGTH = 8 + KEY_LENGTH + VALUE_LENGTH;
const PAUSE_SAMPLES = 20;

/** One cell in a buffer; the row's digits change from insert to insert. */
function cellBuffer(): Buffer {
  const buf = Buffer.alloc(CELL_LENGTH, 0x61);
  buf.writeUInt32BE(KEY_LENGTH, 0);
  buf.writeUInt32BE(VALUE_LENGTH, 4);
  buf.writeUInt16BE(ROW_LENGTH, 8);
  buf.write('user000000000000', ROW_AT);
  buf[ROW_AT + ROW_LENGTH] = 1;
  buf.write('fq', ROW_AT + ROW_LENGTH + 1);
  buf.writeBigUInt64BE(1_700_000_000_000n, ROW_AT + ROW_LENGTH + 3);
  buf[ROW_AT + ROW_LENGTH + 11] = 4;
  return buf;
}

function writeRow(buf: Uint8Array, rowAt: number, number: number): void {
  let rest = number;
  for (let i = rowAt + ROW_LENGTH - 1; i >= rowAt + 4; i--) {
    const tenth = Math.floor(rest / 10);
    buf[i] = 0x30 + rest - tenth * 10;
    rest = tenth;
  }
}

/** A permutation of 0 … count-1 from a fixed seed. */
function shuffled(count: number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  let state = 88172645;
  for (let i = count - 1; i > 0; i--) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const j = (state >>> 0) % (i + 1);
    const taken = order[i]!;
    order[i] = order[j]!;
    order[j] = taken;
  }
  return order;
}

const elapsedMs = (since: bigint): number => Number(process.hrtime.bigint() - since) / 1e6;
const rate = (count: number, ms: number): string => `${Math.round(count / ms)}k/s`;

interface Load {
  readonly store: Store;
  readonly ms: number;
  readonly worstPauseMs: number;
}

function load(order: Uint32Array): Load {
  const store = new Memstore();
  const buf = cellBuffer();
  let worstPauseMs = 0;
  const start = process.hrtime.bigint();
  let last = start;
  for (let i = 0; i < order.length; i++) {
    writeRow(buf, ROW_AT, order[i]!);
    store.insert(buf, 0, CELL_LENGTH, 1, i);
    if (i % PAUSE_SAMPLES === 0) {
      const now = process.hrtime.bigint();
      const pauseMs = Number(now - last) / 1e6;
      if (pauseMs > worstPauseMs) worstPauseMs = pauseMs;
      last = now;
    }
  }
  return { store, ms: elapsedMs(start), worstPauseMs };
}

function seekKey(): SeekKey {
  return {
    row: Buffer.from('user000000000000'),
    rowAt: 0,
    rowLength: ROW_LENGTH,
    qualifier: null,
    qualifierAt: 0,
    qualifierLength: 0,
    timestampHigh: 0,
    timestampLow: 0,
    type: 0,
  };
}

function seekAll(cursor: MemstoreCursor, order: Uint32Array, count: number): number {
  const key = seekKey();
  const start = process.hrtime.bigint();
  for (let i = 0; i < count; i++) {
    writeRow(key.row, 0, order[order.length - 1 - i]!);
    if (cursor.seek(key) !== READY) throw new Error('a row is missing');
  }
  return elapsedMs(start);
}

function scanAll(cursor: MemstoreCursor, count: number): number {
  const start = process.hrtime.bigint();
  let seen = 0;
  let bytes = 0;
  for (let state = cursor.seekToFirst(); state === READY; state = cursor.next()) {
    seen++;
    bytes += cursor.cell.valueLength;
  }
  if (seen !== count || bytes !== count * VALUE_LENGTH) throw new Error('the scan is wrong');
  return elapsedMs(start);
}

function report(name: string, order: Uint32Array): void {
  const { store, ms, worstPauseMs } = load(order);
  const count = order.length;
  const overhead = (store.heapBytes - store.cellBytes) / count;
  const cursor = store.cursor();
  const seeks = Math.min(count, 500_000);
  const seekMs = seekAll(cursor, order, seeks);
  const scanMs = Math.min(scanAll(cursor, count), scanAll(cursor, count));
  store.freeze();
  const start = process.hrtime.bigint();
  store.sharedImage();
  const imageMs = elapsedMs(start);
  console.log(
    `${name.padEnd(16)} inserts ${rate(count, ms)}, longest pause ${worstPauseMs.toFixed(1)} ms, ` +
      `${overhead.toFixed(1)} B/cell beyond its own, seeks ${rate(seeks, seekMs)}, ` +
      `scan ${rate(count, scanMs)}, image ${imageMs.toFixed(1)} ms`,
  );
}

async function pieces(): Promise<void> {
  const { default: Benchmark } = await import('benchmark');
  const order = shuffled(200_000);
  const { store } = load(order);
  const cursor = store.cursor();
  const key = seekKey();
  const buf = cellBuffer();
  let growing = new Memstore();
  let i = 0;
  const nextOrder = (): number => order[(i = i + 1 < order.length ? i + 1 : 0)]!;
  new Benchmark.Suite()
    .add('insert, strewn, up to 200,000 cells', () => {
      if (growing.cellCount >= order.length) growing = new Memstore();
      writeRow(buf, ROW_AT, nextOrder());
      growing.insert(buf, 0, CELL_LENGTH, 1, i);
    })
    .add('seek, strewn, 200,000 cells', () => {
      writeRow(key.row, 0, nextOrder());
      cursor.seek(key);
    })
    .add('next, 200,000 cells inserted strewn', () => {
      if (cursor.next() !== READY) cursor.seekToFirst();
    })
    .on('cycle', (event: { target: unknown }) => console.log(String(event.target)))
    .run();
}

const sizes = process.argv.includes('--large') ? [1_000_000, 10_000_000] : [1_000_000];
if (!process.argv.includes('--loops-only')) await pieces();
for (const count of sizes) {
  const name = `${count / 1e6} M`;
  report(`${name} random`, shuffled(count));
  report(
    `${name} in order`,
    Uint32Array.from({ length: count }, (_, i) => i),
  );
}
