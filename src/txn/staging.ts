/**
 * What a transaction has loaded and not yet prepared: cells in the order of (seq, line), as bytes in one buffer a request. It lies in
 * shared memory: a worker reads it without a copy.
 */
import { crc32c, putU32 } from '../cell/index.ts';
import { MutationBuffer } from '../region/index.ts';

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
  readonly mutation: MutationBuffer = new MutationBuffer();
  readonly #stretches: Stretch[] = [];
  operations = 0;

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

  build(seq: number, loadedMs: number): LoadBatch {
    const { buf, size, count, at, length } = this.mutation;
    const bytes = new Uint8Array(new SharedArrayBuffer(size));
    bytes.set(buf.subarray(0, size));
    const stores: LoadStore[] = [];
    const store = sharedArray(count);
    for (const [i, stretch] of this.#stretches.entries()) {
      this.#place(stretch, this.#stretches[i + 1]?.from ?? count, stores, store);
    }
    const batch = { seq, loadedMs, buf: bytes, at: sharedArray(count), length: sharedArray(count) };
    for (let i = 0; i < count; i++) {
      batch.at[i] = at[i]!;
      batch.length[i] = length[i]!;
    }
    return { ...batch, stores, store };
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

const sharedArray = (count: number): Uint32Array =>
  new Uint32Array(new SharedArrayBuffer(4 * count));

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
