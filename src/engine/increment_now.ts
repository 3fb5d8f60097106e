/**
 * The hot counter: an increment of one column that has nothing to wait for, from call to commit in one synchronous step
 * without generators and without copies of what it reads (about a third of the general way's time, row_operations.ts).
 * Whatever is not plain (options, tags, a value that is no counter, a busy row) is left to the general way, which also
 * gives the errors. The rules are the same: protocol/semantics.md section 8.
 */
import { TYPE_PUT, WAIT, putU32, u32 } from '../cell/index.ts';
import type { CellView } from '../cell/index.ts';
import { ALL_TIME, PACKED_CELL_HEADER, Result } from '../model/index.ts';
import type { MutationResult } from '../model/index.ts';
import type { MutationBuffer } from '../region/index.ts';
import type { Catalog } from './catalog.ts';
import type { CommitOptions, CommitQueue } from './commit_queue.ts';
import { CellEncoder } from './encode.ts';
import { joinHalves } from './read_point.ts';
import type { ReadPoint } from './read_point.ts';
import type { Reads } from './reads.ts';
import { isIntended } from './row_writer.ts';
import type { RowWriter } from './row_writer.ts';
import type { ResolvedColumn, TableState } from './table_state.ts';

const TWO_32 = 0x100000000;
const COUNTER_SIZE = 8;

/** Serves one table handle; holds scratch space only. */
export class IncrementNow {
  readonly #catalog: Catalog;
  readonly #queue: CommitQueue;
  readonly #reads: Reads;
  readonly #readPoint: ReadPoint;
  readonly #rows: RowWriter;
  readonly #encoder: CellEncoder = new CellEncoder();
  readonly #value: Uint8Array = new Uint8Array(COUNTER_SIZE);

  constructor(parts: {
    readonly catalog: Catalog;
    readonly queue: CommitQueue;
    readonly reads: Reads;
    readonly readPoint: ReadPoint;
    readonly rows: RowWriter;
  }) {
    this.#catalog = parts.catalog;
    this.#queue = parts.queue;
    this.#reads = parts.reads;
    this.#readPoint = parts.readPoint;
    this.#rows = parts.rows;
  }

  /**
   * Adds a safe integer to a column's counter; null if that is not plain, and nothing has happened. `row` may change after
   * the call. Throws as `Catalog#writable`, `TableState#column` and `CommitQueue#canAdmit` do.
   */
  run(
    tableName: string,
    row: Uint8Array,
    columnName: string,
    amount: number,
    optionsOf: (table: TableState, mutation: MutationBuffer) => CommitOptions,
  ): Promise<MutationResult> | null {
    const table = this.#catalog.writable(tableName);
    if (table.gate !== null) return null;
    const region = table.regionOf(row);
    if (!region.locks.isFree(row) || isIntended(table, row)) return null;
    if (table.settings.changeBefore) return null;
    const column = table.column(columnName);
    const old = this.#reads.newestNow(region, row, column, ALL_TIME);
    if (old === WAIT || !this.#add(old, amount)) return null;
    const mutation = this.#rows.take();
    try {
      this.#encode(mutation, row, column, old);
      if (!this.#queue.canAdmit(region, mutation)) return null;
      const options = optionsOf(table, mutation);
      this.#queue.commit(table, region, mutation, options, true);
      const { appliedHigh, appliedLow } = this.#readPoint;
      const result = resultOf(mutation, appliedHigh, appliedLow);
      return this.#rows.answered(options, { tso: joinHalves(appliedHigh, appliedLow), result });
    } finally {
      this.#rows.release(mutation);
    }
  }

  /** Puts the sum into `#value`. False unless both are exact as a double. */
  #add(old: CellView | null, amount: number): boolean {
    let sum = amount;
    if (old !== null) {
      if (old.valueLength !== COUNTER_SIZE || old.tagsLength > 0) return false;
      sum += (u32(old.block, old.valueAt) | 0) * TWO_32 + u32(old.block, old.valueAt + 4);
    }
    // Not rounded: a sum of doubles below 2^53 is exact, and one that was rounded is not below it.
    if (!Number.isSafeInteger(sum)) return false;
    putU32(this.#value, 0, Math.floor(sum / TWO_32) >>> 0);
    putU32(this.#value, 4, sum >>> 0);
    return true;
  }

  /** The new cell is newer than the old, as row_operations.ts says. */
  #encode(
    mutation: MutationBuffer,
    row: Uint8Array,
    column: ResolvedColumn,
    old: CellView | null,
  ): void {
    const encoder = this.#encoder;
    encoder.begin(row, null, 0);
    if (old === null) encoder.floor(0, 0);
    else {
      const high = u32(old.block, old.timestampAt);
      const low = u32(old.block, old.timestampAt + 4);
      encoder.floor(low === 0xffffffff ? high + 1 : high, (low + 1) >>> 0);
    }
    encoder.add(mutation, column, TYPE_PUT, this.#value);
  }
}

function resultOf(mutation: MutationBuffer, high: number, low: number): Result {
  const length = mutation.length[0]!;
  const at = mutation.at[0]!;
  const size = PACKED_CELL_HEADER + length;
  const packed = Buffer.allocUnsafe(size);
  putU32(packed, 0, length);
  putU32(packed, 4, high);
  putU32(packed, 8, low);
  for (let i = 0; i < length; i++) packed[PACKED_CELL_HEADER + i] = mutation.buf[at + i]!;
  return new Result(packed, 0, size, 1, false);
}
