/** Loads the memstore by itself, in random order, and tells its speed, its memory and its pauses. */
import type * as memstores from '../../src/region/memstore/index.ts';
import { shuffled, writeKey } from './rows.ts';

export type MemstoreModule = typeof memstores;
type Memstore = memstores.Memstore;

const ROW_LENGTH = 16;
const ROW_AT = 10;
const KEY_LENGTH = 12 + ROW_LENGTH + 2;
const VALUE_LENGTH = 100;
export const CELL_LENGTH: number = 8 + KEY_LENGTH + VALUE_LENGTH;
/** Inserts between two looks at the clock, which takes as long as a tenth of an insert. */
const PAUSE_SAMPLE = 16;
const WARM_CELLS = 200_000;
const LOADS = 3;
/** From so many cells on, one load is long enough. */
const ONE_LOAD_CELLS = 4_000_000;
const SLAB_LENGTH = 2 * 1024 * 1024;

/** One cell in a buffer; its row is written anew for each insert. */
export function cellBuffer(): Buffer {
  const buf = Buffer.alloc(CELL_LENGTH, 0x61);
  buf.writeUInt32BE(KEY_LENGTH, 0);
  buf.writeUInt32BE(VALUE_LENGTH, 4);
  buf.writeUInt16BE(ROW_LENGTH, 8);
  writeKey(buf, ROW_AT, 0);
  buf[ROW_AT + ROW_LENGTH] = 1;
  buf.write('fq', ROW_AT + ROW_LENGTH + 1);
  buf.writeBigUInt64BE(1_700_000_000_000n, ROW_AT + ROW_LENGTH + 3);
  buf[ROW_AT + ROW_LENGTH + 11] = 4;
  return buf;
}

/** Writes the row number into a cell made by `cellBuffer`. */
export const writeRow = (cell: Uint8Array, n: number): void => writeKey(cell, ROW_AT, n);

export interface MemstoreLoad {
  readonly cellsPerSecond: number;
  readonly samples: readonly number[];
  readonly overheadBytes: number;
  readonly longestPauseMs: number;
  readonly p9999PauseMs: number;
}

interface OneLoad {
  readonly cellsPerSecond: number;
  readonly overheadBytes: number;
  readonly pausesMs: Float64Array;
}

type Inserts = Pick<Memstore, 'insert' | 'heapBytes' | 'cellBytes'>;

/** Without a memstore: the cells are copied behind each other, which is the limit. */
export function loadMemstores(
  Memstore: (new () => Memstore) | null,
  cells: number,
  warmMs: number,
): MemstoreLoad {
  const warm = shuffled(Math.min(cells, WARM_CELLS));
  const end = performance.now() + warmMs;
  while (performance.now() < end) loadOne(Memstore, warm);
  const order = shuffled(cells);
  const loads: OneLoad[] = [];
  for (let i = 0; i < (cells >= ONE_LOAD_CELLS ? 1 : LOADS); i++) {
    globalThis.gc?.();
    loads.push(loadOne(Memstore, order));
  }
  const byRate = loads.toSorted((a, b) => a.cellsPerSecond - b.cellsPerSecond);
  const pauses = byRate.map(({ pausesMs }) => pausesMs.toSorted());
  const at = (sorted: Float64Array, share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return {
    cellsPerSecond: byRate[loads.length >> 1]!.cellsPerSecond,
    samples: loads.map(({ cellsPerSecond }) => cellsPerSecond),
    overheadBytes: byRate[0]!.overheadBytes,
    longestPauseMs: Math.max(...pauses.map((sorted) => at(sorted, 1))),
    p9999PauseMs: Math.max(...pauses.map((sorted) => at(sorted, 0.9999))),
  };
}

function loadOne(Memstore: (new () => Memstore) | null, order: Uint32Array): OneLoad {
  const store: Inserts = Memstore === null ? new Copies() : new Memstore();
  const cell = cellBuffer();
  const pausesMs = new Float64Array(Math.ceil(order.length / PAUSE_SAMPLE));
  const start = performance.now();
  let last = start;
  for (let i = 0; i < order.length; i++) {
    writeRow(cell, order[i]!);
    store.insert(cell, 0, CELL_LENGTH, 1, i);
    if (i % PAUSE_SAMPLE === PAUSE_SAMPLE - 1) {
      const now = performance.now();
      pausesMs[(i - PAUSE_SAMPLE + 1) / PAUSE_SAMPLE] = now - last;
      last = now;
    }
  }
  const seconds = (performance.now() - start) / 1000;
  return {
    cellsPerSecond: order.length / seconds,
    overheadBytes: (store.heapBytes - store.cellBytes) / order.length,
    pausesMs,
  };
}

class Copies implements Inserts {
  readonly #slabs: Buffer[] = [];
  #at = SLAB_LENGTH;
  heapBytes = 0;
  cellBytes = 0;

  insert(buf: Uint8Array, at: number, length: number): void {
    if (this.#at + length > SLAB_LENGTH) {
      this.#slabs.push(Buffer.allocUnsafeSlow(SLAB_LENGTH));
      this.heapBytes += SLAB_LENGTH;
      this.#at = 0;
    }
    this.#slabs.at(-1)!.set(buf.subarray(at, at + length), this.#at);
    this.#at += length;
    this.cellBytes += length;
  }
}
