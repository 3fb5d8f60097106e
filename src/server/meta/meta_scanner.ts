/**
 * Reads hbase:meta in its own order, out of a region that keeps rows in the order of their bytes. Where both orders agree
 * the rows are read in one run; a start key with bytes below the comma, beside one that is its prefix, makes several.
 */
import { END, WAIT } from '../../cell/index.ts';
import type { SourceState } from '../../cell/index.ts';
import type { ScanSpec } from '../../model/index.ts';
import type { BatchLimits, CellBatch } from '../../region/index.ts';
import type { RowScanner } from '../rpc/service.ts';
import { compareMetaRows } from './row_order.ts';

/** Rows in the order of hbase:meta, each with its place in the order of bytes. */
export interface OrderedRows {
  readonly rows: readonly Uint8Array[];
  /** Null: the orders are the same. */
  readonly places: readonly number[] | null;
}

/** Sorts rows (their array becomes the caller's). */
export function orderRows(rows: Uint8Array[]): OrderedRows {
  const plain = rows.sort((a, b) => Buffer.compare(a, b));
  if (plain.every((row, i) => i === 0 || compareMetaRows(plain[i - 1]!, row) <= 0)) {
    return { rows: plain, places: null };
  }
  const placed = plain.map((row, place) => ({ row, place }));
  placed.sort((a, b) => compareMetaRows(a.row, b.row));
  return { rows: placed.map(({ row }) => row), places: placed.map(({ place }) => place) };
}

/** Ranges in the order of bytes which, one after the other, hold the rows of [from, to) in the order of hbase:meta. */
export function runsOf(
  ordered: OrderedRows,
  { from, to, reversed }: Pick<ScanSpec, 'from' | 'to' | 'reversed'>,
): { readonly from: Uint8Array; readonly to: Uint8Array }[] {
  const { rows, places } = ordered;
  // Even where the orders agree, the bounds of a scan need not be where the order of bytes would have them.
  const first = lowerBound(rows, from);
  const end = to.length === 0 ? rows.length : lowerBound(rows, to);
  const runs: { from: Uint8Array; to: Uint8Array }[] = [];
  for (let at = first; at < end;) {
    let last = places === null ? end - 1 : at;
    while (places !== null && last + 1 < end && places[last + 1] === places[last]! + 1) last++;
    runs.push({ from: rows[at]!, to: Buffer.concat([rows[last]!, Buffer.of(0)]) });
    at = last + 1;
  }
  return reversed ? runs.reverse() : runs;
}

/** The first row at or behind `key`. */
function lowerBound(rows: readonly Uint8Array[], key: Uint8Array): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareMetaRows(rows[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Several scanners one after the other. A filter begins anew with each. */
export class RunScanner implements RowScanner {
  readonly #open: readonly ((limit: number) => RowScanner | null)[];
  #at = 0;
  #current: RowScanner | null = null;
  #rowsLeft: number;

  constructor(open: readonly ((limit: number) => RowScanner | null)[], limit: number) {
    this.#open = open;
    this.#rowsLeft = limit;
  }

  next(batch: CellBatch, limits: BatchLimits): SourceState {
    for (;;) {
      if (this.#current === null) {
        if (this.#at >= this.#open.length || this.#rowsLeft <= 0) return END;
        this.#current = this.#open[this.#at++]!(this.#rowsLeft);
        continue;
      }
      const before = batch.size;
      const state = this.#current.next(batch, limits);
      for (let i = before; i < batch.size; i++) if (!batch.result(i).partial) this.#rowsLeft--;
      if (state !== END) return state;
      this.#current.close();
      this.#current = null;
    }
  }

  async load(): Promise<void> {
    await this.#current?.load();
  }

  close(): void {
    this.#current?.close();
    this.#current = null;
    this.#at = this.#open.length;
  }
}

/** A scanner that is made by the first `load`. */
export class LateScanner implements RowScanner {
  readonly #make: () => Promise<RowScanner>;
  #made: RowScanner | null = null;
  #isClosed = false;

  constructor(make: () => Promise<RowScanner>) {
    this.#make = make;
  }

  next(batch: CellBatch, limits: BatchLimits): SourceState {
    if (this.#isClosed) return END;
    return this.#made === null ? WAIT : this.#made.next(batch, limits);
  }

  async load(): Promise<void> {
    if (this.#made !== null) return this.#made.load();
    const made = await this.#make();
    if (this.#isClosed) made.close();
    else this.#made = made;
  }

  close(): void {
    this.#isClosed = true;
    this.#made?.close();
  }
}
