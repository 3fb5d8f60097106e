/**
 * The hot counter: an increment of one column that has nothing to wait for, from call to commit in one synchronous step
 * without generators and without copies of what it reads (about a third of the general way's time, row_operations.ts).
 * Whatever is not plain (options, tags, a value that is no counter, a busy row) is left to the general way, which also
 * gives the errors. The rules are the same: protocol/semantics.md section 8.
 */
import { TYPE_PUT, WAIT, equalBytes, putU32, timestampAt, u32 } from '../cell/index.ts';
import { ALL_TIME, PACKED_CELL_HEADER, Result, TTL_FOREVER } from '../model/index.ts';
import type { MutationResult } from '../model/index.ts';
import type { MutationBuffer, Region } from '../region/index.ts';
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

/** Serves one table handle; holds scratch space and what it knows of the counter it served last. */
export class IncrementNow {
  readonly #catalog: Catalog;
  readonly #queue: CommitQueue;
  readonly #reads: Reads;
  readonly #readPoint: ReadPoint;
  readonly #rows: RowWriter;
  readonly #encoder: CellEncoder = new CellEncoder();
  readonly #value: Uint8Array = new Uint8Array(COUNTER_SIZE);
  readonly #last: LastCounter = new LastCounter();
  /** The old cell: its value, and the least timestamp of a newer one. */
  #old = 0;
  #floorHigh = 0;
  #floorLow = 0;

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
    const isKnown = this.#last.isStill(table, region, column, row);
    if (isKnown) this.#takeOld(this.#last.sum, this.#last.timestampHigh, this.#last.timestampLow);
    else if (!this.#readOld(region, row, column)) return null;
    if (!this.#add(amount)) return null;
    const mayKnow = isKnown || this.#reads.isNewestUnmarked;
    const mutation = this.#rows.take();
    try {
      this.#encode(mutation, row, column);
      if (!this.#queue.canAdmit(region, mutation)) return null;
      const options = optionsOf(table, mutation);
      this.#queue.commit(table, region, mutation, options, true);
      if (mayKnow) this.#last.note(table, region, column, row, this.#old + amount, mutation);
      const { appliedHigh, appliedLow } = this.#readPoint;
      const result = resultOf(mutation, appliedHigh, appliedLow);
      return this.#rows.answered(options, { tso: joinHalves(appliedHigh, appliedLow), result });
    } finally {
      this.#rows.release(mutation);
    }
  }

  /** Reads the old cell; false if that is not plain. */
  #readOld(region: Region, row: Uint8Array, column: ResolvedColumn): boolean {
    const old = this.#reads.newestNow(region, row, column, ALL_TIME);
    if (old === WAIT) return false;
    if (old === null) {
      this.#old = this.#floorHigh = this.#floorLow = 0;
      return true;
    }
    const { block, valueAt, timestampAt: at } = old;
    if (old.valueLength !== COUNTER_SIZE || old.tagsLength > 0) return false;
    const value = (u32(block, valueAt) | 0) * TWO_32 + u32(block, valueAt + 4);
    this.#takeOld(value, u32(block, at), u32(block, at + 4));
    return true;
  }

  /** The new cell is newer than the old, as row_operations.ts says. */
  #takeOld(value: number, high: number, low: number): void {
    this.#old = value;
    this.#floorHigh = low === 0xffffffff ? high + 1 : high;
    this.#floorLow = (low + 1) >>> 0;
  }

  /** Puts the sum into `#value`. False unless both are exact as a double. */
  #add(amount: number): boolean {
    const sum = this.#old + amount;
    // Not rounded: a sum of doubles below 2^53 is exact, and one that was rounded is not below it.
    if (!Number.isSafeInteger(sum)) return false;
    putU32(this.#value, 0, Math.floor(sum / TWO_32) >>> 0);
    putU32(this.#value, 4, sum >>> 0);
    return true;
  }

  #encode(mutation: MutationBuffer, row: Uint8Array, column: ResolvedColumn): void {
    const encoder = this.#encoder;
    encoder.begin(row, null, 0);
    encoder.floor(this.#floorHigh, this.#floorLow);
    encoder.add(mutation, column, TYPE_PUT, this.#value);
  }
}

/**
 * The cell that an increment has just written. It need not be read for the next one while nothing else was committed to its
 * region and no files were changed: the stamp of the region's newest commit and its layout tell. It is only kept if it is
 * certain to be visible: the cell it was made from was seen without meeting a delete marker, so none stands at or above
 * that cell's timestamp, where it could hide the new one; and it does not expire. Each new cell is newer, so this holds on.
 */
class LastCounter {
  sum = 0;
  timestampHigh = 0;
  timestampLow = 0;
  #table: TableState | null = null;
  #version = 0;
  #region: Region | null = null;
  #layoutVersion = 0;
  #newestHigh = 0;
  #newestLow = 0;
  #column: ResolvedColumn | null = null;
  #row: Uint8Array = new Uint8Array(0);

  isStill(table: TableState, region: Region, column: ResolvedColumn, row: Uint8Array): boolean {
    return (
      this.#region === region &&
      this.#newestLow === region.newestLow &&
      this.#newestHigh === region.newestHigh &&
      this.#layoutVersion === region.layoutVersion &&
      this.#table === table &&
      this.#version === table.version &&
      this.#column === column &&
      equalBytes(this.#row, row)
    );
  }

  /** Takes note of the one cell of `mutation`, which has just been committed. */
  note(
    table: TableState,
    region: Region,
    column: ResolvedColumn,
    row: Uint8Array,
    sum: number,
    mutation: MutationBuffer,
  ): void {
    const { settings } = table.families[column.familyIndex]!;
    if (settings.ttlSeconds !== TTL_FOREVER || settings.newVersionBehavior) return;
    const at = timestampAt(mutation.buf, mutation.at[0]!);
    this.timestampHigh = u32(mutation.buf, at);
    this.timestampLow = u32(mutation.buf, at + 4);
    this.sum = sum;
    this.#newestHigh = region.newestHigh;
    this.#newestLow = region.newestLow;
    this.#layoutVersion = region.layoutVersion;
    this.#table = table;
    this.#version = table.version;
    if (this.#region === region && this.#column === column && equalBytes(this.#row, row)) return;
    this.#region = region;
    this.#column = column;
    this.#row = Uint8Array.from(row);
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
