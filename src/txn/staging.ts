/**
 * What a transaction has loaded and not yet prepared: cells in the order of (seq, line), as bytes in one buffer a request.
 */
import { crc32c, putU32 } from '../cell/index.ts';
import type { MutationBuffer } from '../region/index.ts';

/** The cells of one request, in its order. Entry i of the arrays is cell i, in `buf`. */
export interface LoadBatch {
  readonly seq: number;
  /** Milliseconds, for `timestamps: "load"`. */
  readonly loadedMs: number;
  readonly buf: Uint8Array;
  readonly at: Uint32Array;
  readonly length: Uint32Array;
  readonly tableId: Uint32Array;
  readonly familyId: Uint32Array;
}

/** Gathers a request: nothing of it is kept until it is whole. */
export class BatchBuilder {
  readonly #parts: Uint8Array[] = [];
  readonly #at: number[] = [];
  readonly #length: number[] = [];
  readonly #tableId: number[] = [];
  readonly #familyId: number[] = [];
  #size = 0;
  #crc = 0;
  operations = 0;

  get sizeBytes(): number {
    return this.#size;
  }

  get cellCount(): number {
    return this.#at.length;
  }

  /** CRC-32C over tables, families and cells, in order: a repeat has the same. */
  get crc(): number {
    return this.#crc;
  }

  /** Takes the cells of one operation; the buffer stays the caller's. */
  add(mutation: MutationBuffer, tableId: number, familyIds: readonly number[]): void {
    const bytes = Uint8Array.prototype.slice.call(mutation.buf, 0, mutation.size);
    const head = new Uint8Array(8);
    for (let i = 0; i < mutation.count; i++) {
      const familyId = familyIds[mutation.family[i]!]!;
      const at = mutation.at[i]!;
      const length = mutation.length[i]!;
      putU32(head, 0, tableId);
      putU32(head, 4, familyId);
      this.#crc = crc32c(bytes, at, length, crc32c(head, 0, 8, this.#crc));
      this.#at.push(this.#size + at);
      this.#length.push(length);
      this.#tableId.push(tableId);
      this.#familyId.push(familyId);
    }
    this.#parts.push(bytes);
    this.#size += bytes.length;
    this.operations++;
  }

  build(seq: number, loadedMs: number): LoadBatch {
    return {
      seq,
      loadedMs,
      buf: this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts, this.#size),
      at: Uint32Array.from(this.#at),
      length: Uint32Array.from(this.#length),
      tableId: Uint32Array.from(this.#tableId),
      familyId: Uint32Array.from(this.#familyId),
    };
  }
}

/** What is remembered of a request, to know a repeat by. */
export interface LoadedRequest {
  readonly loadedMs: number;
  readonly crc: number;
  readonly rows: number;
  readonly cells: number;
  readonly bytes: number;
}
