/** Whether rows were written since a moment: what transactions ask before they commit. */
import { READY, WAIT, compareBytes, compareRanges } from '../cell/index.ts';
import type { CellSource, SeekKey } from '../cell/index.ts';
import type { Memstore, Region, Store, StoreFile } from '../region/index.ts';
import { highOf, isLess, lowOf } from './read_point.ts';
import type { TableState } from './table_state.ts';

const NEWEST = 0xffffffff;

/** Rows in [from, to); an empty `to` has no end. */
export interface RowRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** The range of one row. */
export const rangeOfRow = (row: Uint8Array): RowRange => ({
  from: row,
  to: Buffer.concat([row, Buffer.alloc(1)]),
});

/** Before every cell of a row. */
class RowStart implements SeekKey {
  readonly row: Uint8Array;
  readonly rowAt = 0;
  readonly rowLength: number;
  readonly qualifier = null;
  readonly qualifierAt = 0;
  readonly qualifierLength = 0;
  readonly timestampHigh = 0;
  readonly timestampLow = 0;
  readonly type = 0;
  constructor(row: Uint8Array) {
    this.row = row;
    this.rowLength = row.length;
  }
}

/**
 * Whether any of the ranges was written after (high, low). Looks at no file's content, in one step: errs to the safe side
 * when the region was flushed since, or got a file that was loaded or staged.
 */
export function isOvertaken(
  region: Region,
  ranges: readonly RowRange[],
  high: number,
  low: number,
): boolean {
  if (!isLess(high, low, region.newestHigh, region.newestLow)) return false;
  return region.stores.some(
    (store) =>
      isLess(high, low, store.flushedHigh, store.flushedLow) ||
      ranges.some(
        (range) =>
          isWrittenInMemory(store, range, high, low) ||
          store.files.some((file) => mayBeNewer(file, range, high, low)),
      ),
  );
}

/** The file has newer cells, and rows on both sides of or within the range. */
function mayBeNewer(
  { info }: StoreFile,
  { from, to }: RowRange,
  high: number,
  low: number,
): boolean {
  const { maxWriteHigh = 0, maxWriteLow = 0, firstRow, lastRow } = info;
  if (!isLess(high, low, maxWriteHigh, maxWriteLow) || firstRow === null || lastRow === null) {
    return false;
  }
  return compareBytes(lastRow, from) >= 0 && (to.length === 0 || compareBytes(firstRow, to) < 0);
}

/** Whether the store's memory has a cell in the range with a write number above (high, low). */
export function isWrittenInMemory(
  store: Store,
  range: RowRange,
  high: number,
  low: number,
): boolean {
  for (const memstore of [store.memstore, ...store.frozen]) {
    const { maxWriteHigh, maxWriteLow } = memstore.stats;
    if (memstore.cellCount === 0 || !isLess(high, low, maxWriteHigh, maxWriteLow)) continue;
    if (isWrittenSince(memstore, range, high, low)) return true;
  }
  return false;
}

function isWrittenSince(
  memstore: Memstore,
  { from, to }: RowRange,
  high: number,
  low: number,
): boolean {
  const cursor = memstore.cursor();
  try {
    let state = from.length === 0 ? cursor.seekToFirst() : cursor.seek(new RowStart(from));
    for (; state === READY; state = cursor.next()) {
      const { block, rowAt, rowLength, writeHigh, writeLow } = cursor.cell;
      if (to.length > 0 && compareRanges(block, rowAt, rowLength, to, 0, to.length) >= 0) {
        return false;
      }
      if (isLess(high, low, writeHigh, writeLow)) return true;
    }
    return false;
  } finally {
    cursor.close();
  }
}

/** Whether any cell of the row has a write number above `since`, in memory or in files, dropped ones too. */
export async function isRowWrittenSince(
  table: TableState,
  row: Uint8Array,
  since: bigint,
): Promise<boolean> {
  const wishes = { high: NEWEST, low: NEWEST, points: true, cacheBlocks: true };
  for (const store of table.regionOf(row).stores) {
    const sources = store.sources(wishes);
    // A cell that another replaced was written, too: a flush has put it into history.
    for (const { file } of store.history) sources.push(file.pointCursor({ cacheBlocks: true }));
    try {
      for (const source of sources) if (await hasNewer(source, row, since)) return true;
    } finally {
      for (const source of sources) source.close();
    }
  }
  return false;
}

async function hasNewer(source: CellSource, row: Uint8Array, since: bigint): Promise<boolean> {
  const high = highOf(since);
  const low = lowOf(since);
  const key = new RowStart(row);
  let state = source.seek(key);
  for (; state === WAIT; state = source.seek(key)) await source.load();
  while (state === READY) {
    const { block, rowAt, rowLength, writeHigh, writeLow } = source.cell;
    if (compareRanges(block, rowAt, rowLength, row, 0, row.length) !== 0) return false;
    if (isLess(high, low, writeHigh, writeLow)) return true;
    state = source.next();
    for (; state === WAIT; state = source.next()) await source.load();
  }
  return false;
}

/** As far as memory tells, in one step: of writes since a look at the files. */
export function isRowWrittenInMemory(table: TableState, row: Uint8Array, since: bigint): boolean {
  const range = rangeOfRow(row);
  return table
    .regionOf(row)
    .stores.some((store) => isWrittenInMemory(store, range, highOf(since), lowOf(since)));
}
