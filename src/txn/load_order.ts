/**
 * Loaded cells in the order of keys, by family; of equal keys the one loaded last comes first. Often they come in order: then it
 * takes one comparison a cell (the sort knows ascending runs).
 */
import { ROW_AT, compareRanges, rowLengthAt, timestampAt } from '../cell/index.ts';
import { prefixNumber, sharedLength } from '../hfile/index.ts';
import type { LoadBatch } from './staging.ts';

/** The cells of one family. Entry i of the arrays is the i-th cell as it was loaded; `order` has these numbers sorted. */
export interface StoreCells {
  readonly tableId: number;
  readonly familyId: number;
  /** In the order of loading. */
  readonly batches: readonly LoadBatch[];
  readonly batch: Uint32Array;
  /** Number of the cell in its batch. */
  readonly index: Uint32Array;
  /** Its place in the batch's buffer. */
  readonly at: Uint32Array;
  readonly order: readonly number[];
}

/** By table id and family id. `batches` in any order. */
export function sortLoaded(batches: readonly LoadBatch[]): StoreCells[] {
  const ordered = [...batches].sort((a, b) => a.seq - b.seq);
  const stores = new Map<string, Gathering>();
  for (const { stores: ofBatch, store } of ordered) {
    const counts = new Uint32Array(ofBatch.length);
    for (let i = 0; i < store.length; i++) counts[store[i]!]!++;
    for (const [i, { tableId, familyId }] of ofBatch.entries()) {
      const key = `${tableId}/${familyId}`;
      const known = stores.get(key);
      if (known === undefined) stores.set(key, { tableId, familyId, count: counts[i]! });
      else known.count += counts[i]!;
    }
  }
  return [...stores.values()]
    .sort((a, b) => a.tableId - b.tableId || a.familyId - b.familyId)
    .map((store) => sortStore(store, ordered));
}

interface Gathering {
  readonly tableId: number;
  readonly familyId: number;
  count: number;
}

function sortStore(
  { tableId, familyId, count }: Gathering,
  batches: readonly LoadBatch[],
): StoreCells {
  const batch = new Uint32Array(count);
  const index = new Uint32Array(count);
  const at = new Uint32Array(count);
  let end = 0;
  for (const [b, one] of batches.entries()) {
    const own = one.stores.findIndex(
      (store) => store.tableId === tableId && store.familyId === familyId,
    );
    if (own < 0) continue;
    for (let i = 0; i < one.store.length; i++) {
      if (one.store[i] !== own) continue;
      batch[end] = b;
      index[end] = i;
      at[end++] = one.at[i]!;
    }
  }
  const bufs = batches.map(({ buf }) => buf);
  return { tableId, familyId, batches, batch, index, at, order: orderOf(bufs, batch, at) };
}

function orderOf(bufs: readonly Uint8Array[], batch: Uint32Array, at: Uint32Array): number[] {
  const prefix = prefixesOf(bufs, batch, at);
  const order = Array.from(at, (_, i) => i);
  return order.sort((a, b) => {
    const difference = prefix[a]! - prefix[b]!;
    if (difference !== 0) return difference;
    return compareKeys(bufs[batch[a]!]!, at[a]!, bufs[batch[b]!]!, at[b]!) || b - a;
  });
}

/** Of each row the bytes behind those that all rows begin with, as a number; 0 stands for what is missing. */
function prefixesOf(
  bufs: readonly Uint8Array[],
  batch: Uint32Array,
  at: Uint32Array,
): Float64Array {
  const prefix = new Float64Array(at.length);
  const common = commonLength(bufs, batch, at);
  for (let i = 0; i < at.length; i++) {
    const buf = bufs[batch[i]!]!;
    prefix[i] = prefixNumber(buf, at[i]! + ROW_AT + common, rowLengthAt(buf, at[i]!) - common);
  }
  return prefix;
}

function commonLength(bufs: readonly Uint8Array[], batch: Uint32Array, at: Uint32Array): number {
  if (at.length === 0) return 0;
  const first = bufs[batch[0]!]!;
  const firstAt = at[0]! + ROW_AT;
  let common = rowLengthAt(first, at[0]!);
  for (let i = 1; i < at.length && common > 0; i++) {
    const buf = bufs[batch[i]!]!;
    const rowLength = rowLengthAt(buf, at[i]!);
    common = sharedLength(first, firstAt, common, buf, at[i]! + ROW_AT, rowLength);
  }
  return common;
}

/** HBase's order of two cells of one family: row and qualifier up, timestamp and type down. */
export function compareKeys(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number): number {
  const aRow = rowLengthAt(a, aAt);
  const bRow = rowLengthAt(b, bAt);
  const rows = compareRanges(a, aAt + ROW_AT, aRow, b, bAt + ROW_AT, bRow);
  if (rows !== 0) return rows;
  // One family: its name is as long in both.
  const skipped = ROW_AT + aRow + 1 + a[aAt + ROW_AT + aRow]!;
  const aTime = timestampAt(a, aAt);
  const bTime = timestampAt(b, bAt);
  const aFrom = aAt + skipped;
  const bFrom = bAt + skipped;
  const columns = compareRanges(a, aFrom, aTime - aFrom, b, bFrom, bTime - bFrom);
  return columns !== 0 ? columns : compareRanges(b, bTime, 9, a, aTime, 9);
}
