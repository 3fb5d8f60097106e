/**
 * A region: the rows of one table in [startKey, endKey), one store a family. Holds its row locks.
 */
import { compareBytes } from '../cell/index.ts';
import { RowLocks } from './row_locks.ts';
import type { Store } from './store.ts';

export class Region {
  readonly id: number;
  readonly tableId: number;
  /** HBase's: the MD5 of `table,startKey,regionId.` in hex. */
  readonly encodedName: string;
  readonly startKey: Uint8Array;
  /** Empty: no end. */
  readonly endKey: Uint8Array;
  /** In byte order of the family names; the index is the family index of a mutation buffer. */
  stores: readonly Store[];
  /** Of families that were dropped: what reads as of before still find. */
  formerStores: readonly Store[] = [];
  /** Grows whenever the stores or their layers change: cursors kept from before are stale. */
  layoutVersion = 0;
  /** The TSO of the newest switch of files that dropped cells, in halves: readers at or above need no history. */
  newestDropHigh = 0;
  newestDropLow = 0;
  readonly locks: RowLocks = new RowLocks();
  /** The newest commit since it was opened, in halves. */
  newestHigh = 0;
  newestLow = 0;
  /** Reads and commits since it was opened: its load. */
  readRequests = 0;
  writeRequests = 0;

  constructor(parts: {
    readonly id: number;
    readonly tableId: number;
    readonly encodedName: string;
    readonly startKey: Uint8Array;
    readonly endKey: Uint8Array;
    readonly stores: readonly Store[];
  }) {
    this.id = parts.id;
    this.tableId = parts.tableId;
    this.encodedName = parts.encodedName;
    this.startKey = parts.startKey;
    this.endKey = parts.endKey;
    this.stores = parts.stores;
  }

  /** Whether a reader at this TSO must look at history files. */
  needsHistory(high: number, low: number): boolean {
    return high < this.newestDropHigh || (high === this.newestDropHigh && low < this.newestDropLow);
  }

  /** A switch of files at this TSO dropped cells. */
  droppedAt(high: number, low: number): void {
    if (this.needsHistory(high, low)) return;
    this.newestDropHigh = high;
    this.newestDropLow = low;
  }

  contains(row: Uint8Array): boolean {
    return (
      compareBytes(row, this.startKey) >= 0 &&
      (this.endKey.length === 0 || compareBytes(row, this.endKey) < 0)
    );
  }

  /** Bytes of memory that its memstores occupy, indexes included. */
  get memstoreHeapBytes(): number {
    let bytes = 0;
    for (const store of this.stores) bytes += store.memstoreHeapBytes;
    return bytes;
  }

  get memstoreCells(): number {
    let cells = 0;
    for (const store of this.stores) cells += store.memstoreCells;
    return cells;
  }
}

/** Index of the region that holds `row`, in a table's regions ordered by start key (the first starts at the empty key). */
export function regionIndexOf(
  regions: readonly { readonly startKey: Uint8Array }[],
  row: Uint8Array,
): number {
  let low = 0;
  let high = regions.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (compareBytes(regions[middle]!.startKey, row) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}
