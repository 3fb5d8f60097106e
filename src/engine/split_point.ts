/** The row at which a region falls into two of about the same size: the middle of its largest file (HBase: StoreUtils#getSplitPoint). */
import { READY, WAIT, compareRanges } from '../cell/index.ts';
import type { CellSource, END } from '../cell/index.ts';
import type { Region, StoreFile } from '../region/index.ts';

/** Files with fewer blocks than this are looked through cell by cell: their index knows too few keys. */
const BLOCKS_MIN = 4;

/** A copy of the middle row; null if all rows of the file are one, or there is no file. */
export async function middleRow(region: Region): Promise<Uint8Array | null> {
  const largest = largestFile(region);
  if (largest === null || largest.info.firstRow === null) return null;
  const reader = await largest.open();
  const root = reader.root.entries;
  if (root.count >= BLOCKS_MIN) {
    const at = root.count >> 1;
    const row = rowOfKey(root.keys, root.keysAt[at]!);
    if (Buffer.compare(row, largest.info.firstRow) !== 0 && region.contains(row)) return row;
  }
  return scanForMiddle(largest);
}

function largestFile(region: Region): StoreFile | null {
  let largest: StoreFile | null = null;
  for (const store of region.stores) {
    for (const file of store.files) {
      if (largest === null || file.info.sizeBytes > largest.info.sizeBytes) largest = file;
    }
  }
  return largest;
}

/** The first row that begins in the second half of the file's cells. */
async function scanForMiddle(file: StoreFile): Promise<Uint8Array | null> {
  const cursor = file.cursor({ cacheBlocks: false });
  try {
    const half = file.info.cellCount / 2;
    let seen = 0;
    let first: Uint8Array | null = null;
    let last: Uint8Array | null = null;
    for (
      let state = await moved(cursor, true);
      state === READY;
      state = await moved(cursor, false)
    ) {
      const { block, rowAt, rowLength } = cursor.cell;
      seen++;
      if (last !== null && compareRanges(block, rowAt, rowLength, last, 0, last.length) === 0) {
        continue;
      }
      last = Uint8Array.prototype.slice.call(block, rowAt, rowAt + rowLength);
      first ??= last;
      if (last !== first && seen > half) return last;
    }
    return last === first ? null : last;
  } finally {
    cursor.close();
  }
}

async function moved(cursor: CellSource, first: boolean): Promise<typeof READY | typeof END> {
  for (;;) {
    const state = first ? cursor.seekToFirst() : cursor.next();
    if (state === WAIT) await cursor.load();
    else return state;
  }
}

/** The row of a flat key: u16 length, row, … */
function rowOfKey(keys: Uint8Array, at: number): Uint8Array {
  const length = (keys[at]! << 8) | keys[at + 1]!;
  return keys.slice(at + 2, at + 2 + length);
}
