/** Whether a row was written since a moment: what snapshot isolation asks before it lets a transaction win. */
import { READY, WAIT, compareRanges } from '../cell/index.ts';
import type { CellSource, SeekKey } from '../cell/index.ts';
import { highOf, isLess, lowOf } from '../engine/index.ts';
import type { RegionServer, TableState } from '../engine/index.ts';
import type { Store } from '../region/index.ts';

const NEWEST = 0xffffffff;

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

/** Whether any cell of the row has a write number above `since`, in memory or in files. */
export async function isRowWrittenSince(
  server: RegionServer,
  table: TableState,
  row: Uint8Array,
  since: bigint,
): Promise<boolean> {
  server.checkOpen();
  const region = table.regionOf(row);
  for (const store of region.stores) {
    const wishes = { high: NEWEST, low: NEWEST, points: true, cacheBlocks: true };
    for (const source of store.sources(wishes)) {
      try {
        if (await hasNewer(source, row, since)) return true;
      } finally {
        source.close();
      }
    }
    // What a flush has dropped went into history: a cell that another replaced was written, too.
    for (const { file } of store.history) {
      const source = file.pointCursor({ cacheBlocks: true });
      try {
        if (await hasNewer(source, row, since)) return true;
      } finally {
        source.close();
      }
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

/** As far as memory tells, in one step: writes since a look at the files are still in memory, or the files have changed. */
export function isWrittenInMemory(table: TableState, row: Uint8Array, since: bigint): boolean {
  const region = table.regionOf(row);
  return region.stores.some((store) => isInMemory(store, row, since));
}

function isInMemory(store: Store, row: Uint8Array, since: bigint): boolean {
  const high = highOf(since);
  const low = lowOf(since);
  for (const memstore of [store.memstore, ...store.frozen]) {
    const { maxWriteHigh, maxWriteLow } = memstore.stats;
    if (memstore.cellCount === 0 || !isLess(high, low, maxWriteHigh, maxWriteLow)) continue;
    const cursor = memstore.cursor();
    try {
      let state = cursor.seek(new RowStart(row));
      for (; state === READY; state = cursor.next()) {
        const { block, rowAt, rowLength, writeHigh, writeLow } = cursor.cell;
        if (compareRanges(block, rowAt, rowLength, row, 0, row.length) !== 0) break;
        if (isLess(high, low, writeHigh, writeLow)) return true;
      }
    } finally {
      cursor.close();
    }
  }
  return false;
}
