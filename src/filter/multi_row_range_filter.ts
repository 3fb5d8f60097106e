/** MultiRowRangeFilter: rows in any of several ranges, with a seek from one to the next. */
import { compareBytes, compareRanges } from '../cell/index.ts';
import type { CellView, SeekKey } from '../cell/index.ts';
import {
  FILTER_INCLUDE,
  FILTER_NEXT_ROW,
  FILTER_SEEK_NEXT_USING_HINT,
  IllegalArgumentException,
} from '../model/index.ts';
import type { FilterCode } from '../model/index.ts';
import { toStringBinary } from '../cell/index.ts';
import { Hint } from './cells.ts';
import { BaseFilter } from './filter.ts';

/** An empty start or stop is open. */
export interface RowRange {
  readonly start: Uint8Array;
  readonly startInclusive: boolean;
  readonly stop: Uint8Array;
  readonly stopInclusive: boolean;
}

/**
 * The ranges in order, those that touch or overlap made one. Throws IllegalArgumentException when there are none, or one
 * ends before it starts.
 */
export function sortAndMerge(ranges: readonly RowRange[]): RowRange[] {
  if (ranges.length === 0) throw new IllegalArgumentException('No ranges found.');
  for (const range of ranges) {
    if (isValid(range)) continue;
    const { start, stop } = range;
    throw new IllegalArgumentException(
      `Invalid range: start row => ${toStringBinary(start)}, stop row => ${toStringBinary(stop)}`,
    );
  }
  const sorted = [...ranges].sort(compareStarts);
  const merged: RowRange[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last === undefined || !touches(last, range)) merged.push(range);
    else if (compareStops(last, range) < 0) {
      const { stop, stopInclusive } = range;
      merged[merged.length - 1] = { ...last, stop, stopInclusive };
    }
  }
  return merged;
}

function isValid({ start, stop, stopInclusive }: RowRange): boolean {
  if (start.length === 0 || stop.length === 0) return true;
  const order = compareBytes(start, stop);
  return order < 0 || (order === 0 && stopInclusive);
}

function compareStarts(a: RowRange, b: RowRange): number {
  return compareBytes(a.start, b.start) || Number(b.startInclusive) - Number(a.startInclusive);
}

function compareStops(a: RowRange, b: RowRange): number {
  if (a.stop.length === 0 || b.stop.length === 0) {
    return (a.stop.length === 0 ? 1 : 0) - (b.stop.length === 0 ? 1 : 0);
  }
  return compareBytes(a.stop, b.stop) || Number(a.stopInclusive) - Number(b.stopInclusive);
}

function touches(before: RowRange, after: RowRange): boolean {
  if (before.stop.length === 0) return true;
  const order = compareBytes(before.stop, after.start);
  return order > 0 || (order === 0 && (before.stopInclusive || after.startInclusive));
}

export class MultiRowRangeFilter extends BaseFilter {
  override readonly isHinting: boolean = true;
  /** Sorted and apart from each other. */
  readonly #ranges: readonly RowRange[];
  readonly #reversed: boolean;
  readonly #hint: Hint = new Hint();
  #current = 0;
  #code: FilterCode = FILTER_INCLUDE;
  #isDone = false;

  /** `ranges` as `sortAndMerge` gives them. */
  constructor(ranges: readonly RowRange[], reversed: boolean) {
    super();
    this.#ranges = ranges;
    this.#reversed = reversed;
    this.#current = reversed ? ranges.length - 1 : 0;
  }

  override filterAllRemaining(): boolean {
    return this.#isDone;
  }

  /** Never skips the row by its key: the hint is asked for by its cells. */
  override filterRowKey(firstCell: CellView): boolean {
    if (this.#isDone) return true;
    const at = this.#rangeFor(firstCell);
    if (at < 0 || at >= this.#ranges.length) {
      this.#isDone = true;
      this.#code = FILTER_NEXT_ROW;
      return false;
    }
    this.#current = at;
    const place = placeIn(this.#ranges[at]!, firstCell);
    // On an end that is left out there is nothing to seek to but the next row.
    if (place === 0) this.#code = FILTER_INCLUDE;
    else this.#code = Math.abs(place) === 1 ? FILTER_NEXT_ROW : FILTER_SEEK_NEXT_USING_HINT;
    return false;
  }

  /** The range with the row, or else the next one in the scan's direction; outside of the array for none. */
  #rangeFor(cell: CellView): number {
    let low = 0;
    let high = this.#ranges.length;
    if (
      this.#ranges[this.#current] !== undefined &&
      placeIn(this.#ranges[this.#current]!, cell) === 0
    ) {
      return this.#current;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (placeIn(this.#ranges[middle]!, cell) > 0) low = middle + 1;
      else high = middle;
    }
    // `low` is the first range that does not end before the row.
    if (!this.#reversed) return low;
    const range = this.#ranges[low];
    return range !== undefined && placeIn(range, cell) === 0 ? low : low - 1;
  }

  override filterCell(): FilterCode {
    return this.#code;
  }

  override nextCellHint(): SeekKey | null {
    const range = this.#ranges[this.#current]!;
    return this.#hint.toRow(this.#reversed ? range.stop : range.start);
  }
}

/** 0: in the range; below 0 before it (-1: on its start, left out), above 0 behind it (1: on its stop, left out). */
function placeIn(range: RowRange, cell: CellView): number {
  const { block, rowAt, rowLength } = cell;
  const { start, stop } = range;
  if (start.length > 0) {
    const order = compareRanges(block, rowAt, rowLength, start, 0, start.length);
    if (order < 0) return -2;
    if (order === 0 && !range.startInclusive) return -1;
  }
  if (stop.length > 0) {
    const order = compareRanges(block, rowAt, rowLength, stop, 0, stop.length);
    if (order > 0) return 2;
    if (order === 0 && !range.stopInclusive) return 1;
  }
  return 0;
}
