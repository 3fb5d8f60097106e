/**
 * What a transaction has loaded and not yet prepared: cells in the order of (seq, line), as bytes in one buffer a request. It lies in
 * shared memory: a worker reads it without a copy.
 */
import { crc32c, putU32 } from '../cell/index.ts';
import type { MutationBuffer } from '../region/index.ts';

/** A family, which all cells of one file or group are of. */
export interface LoadStore {
  readonly tableId: number;
  readonly familyId: number;
}

/** The cells of one request, in its order. Entry i of the arrays is cell i, in `buf`. */
export interface LoadBatch {
  readonly seq: number;
  /** Milliseconds, for `timestamps: "load"`. */
  readonly loadedMs: number;
  readonly buf: Uint8Array;
  readonly at: Uint32Array;
  readonly length: Uint32Array;
  /** Each has a cell. */
  readonly stores: readonly LoadStore[];
  /** Index in `stores`. */
  readonly store: Uint32Array;
}

/** Cells from `from` on are of this table. */
interface Stretch {
  readonly from: number;
  readonly tableId: number;
  readonly familyIds: readonly number[];
}

/** Gathers a request: nothing of it is kept until it is whole. */
export class BatchBuilder {
  /** The cells so far; to be added to. */
  readonly mutation: MutationBuffer;
  readonly #stretches: Stretch[] = [];
  operations = 0;

  /** Over a buffer that is nobody else's until `build`: a request after the other uses the same one. */
  constructor(mutation: MutationBuffer) {
    mutation.clear();
    this.mutation = mutation;
  }

  get sizeBytes(): number {
    return this.mutation.size;
  }

  get cellCount(): number {
    return this.mutation.count;
  }

  /** The cells that follow are of this table. */
  enter(tableId: number, familyIds: readonly number[]): void {
    this.#stretches.push({ from: this.mutation.count, tableId, familyIds });
  }

  /** The cells so far, in memory of the pool. */
  build(seq: number, loadedMs: number, pool: SharedMemory): LoadBatch {
    const { buf, size, count, at, length } = this.mutation;
    const words = Math.ceil(size / 4) * 4;
    const memory = pool.take(words + 12 * count);
    const bytes = new Uint8Array(memory, 0, size);
    bytes.set(buf.subarray(0, size));
    const numbers = (n: number): Uint32Array =>
      new Uint32Array(memory, words + 4 * n * count, count);
    const batch = {
      seq,
      loadedMs,
      buf: bytes,
      at: numbers(0),
      length: numbers(1),
      store: numbers(2),
    };
    for (let i = 0; i < count; i++) {
      batch.at[i] = at[i]!;
      batch.length[i] = length[i]!;
    }
    const stores: LoadStore[] = [];
    for (const [i, stretch] of this.#stretches.entries()) {
      this.#place(stretch, this.#stretches[i + 1]?.from ?? count, stores, batch.store);
    }
    return { ...batch, stores };
  }

  #place(stretch: Stretch, end: number, stores: LoadStore[], store: Uint32Array): void {
    const { tableId, familyIds } = stretch;
    const places = familyIds.map((familyId) =>
      stores.findIndex((one) => one.tableId === tableId && one.familyId === familyId),
    );
    const { family } = this.mutation;
    for (let i = stretch.from; i < end; i++) {
      const index = family[i]!;
      if (places[index]! < 0) {
        places[index] = stores.length;
        stores.push({ tableId, familyId: familyIds[index]! });
      }
      store[i] = places[index]!;
    }
  }
}

/** What is kept for the requests to come. */
const KEPT_BYTES_MAX: number = 16 * 1024 * 1024;

/**
 * Shared memory for requests, used again: a worker that has seen a buffer holds it until its own heap is collected, which may be
 * long after it is done.
 */
export class SharedMemory {
  #free: SharedArrayBuffer[] = [];
  #freeBytes = 0;

  /** At least so many bytes, of any content. */
  take(bytes: number): SharedArrayBuffer {
    const fits = ({ byteLength }: SharedArrayBuffer): boolean =>
      byteLength >= bytes && byteLength <= 2 * bytes + 4096;
    const found = this.#free.find(fits);
    if (found === undefined) return new SharedArrayBuffer(bytes);
    this.#free = this.#free.filter((one) => one !== found);
    this.#freeBytes -= found.byteLength;
    return found;
  }

  /** Takes back the memory of batches that nobody reads any more. */
  give(batches: readonly LoadBatch[]): void {
    for (const { buf } of batches) {
      const { buffer } = buf;
      if (!(buffer instanceof SharedArrayBuffer)) continue;
      if (this.#freeBytes + buffer.byteLength > KEPT_BYTES_MAX) continue;
      this.#free.push(buffer);
      this.#freeBytes += buffer.byteLength;
    }
  }
}

/** CRC-32C over tables, families and cells, in order: a repeat has the same. */
export function crcOfBatch({ buf, stores, store }: LoadBatch): number {
  const head = new Uint8Array(8 * stores.length);
  for (const [i, { tableId, familyId }] of stores.entries()) {
    putU32(head, 8 * i, tableId);
    putU32(head, 8 * i + 4, familyId);
  }
  const places = new Uint8Array(store.buffer, store.byteOffset, store.byteLength);
  const crc = crc32c(places, 0, places.length, crc32c(head, 0, head.length));
  return crc32c(buf, 0, buf.length, crc);
}

/** What is remembered of a request, to know a repeat by. */
export interface LoadedRequest {
  readonly loadedMs: number;
  readonly crc: number;
  readonly rows: number;
  readonly cells: number;
  readonly bytes: number;
}
