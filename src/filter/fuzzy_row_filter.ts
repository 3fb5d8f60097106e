/**
 * FuzzyRowFilter: rows that agree with one of several patterns in their fixed bytes, with a seek to the next row that may.
 *
 * As in HBase a row is compared only as far as both it and the pattern reach, so a row that is shorter than the pattern
 * may match; the seek goes by rows of full length and may pass over such short rows.
 */
import { afterPrefix, compareRanges } from '../cell/index.ts';
import type { CellView, SeekKey } from '../cell/index.ts';
import { FILTER_INCLUDE, FILTER_SEEK_NEXT_USING_HINT } from '../model/index.ts';
import type { FilterCode } from '../model/index.ts';
import { Hint } from './cells.ts';
import { BaseFilter } from './filter.ts';

/** A pattern; where `isFixed` is 0 the row's byte may be any. Equal lengths. */
export interface FuzzyPattern {
  readonly bytes: Uint8Array;
  readonly isFixed: Uint8Array;
}

/** A pattern with the next row that may match it. */
interface Candidate {
  readonly pattern: FuzzyPattern;
  /** Null: no row in the scan's direction matches any more. */
  next: Uint8Array | null;
}

export class FuzzyRowFilter extends BaseFilter {
  override readonly isHinting: boolean = true;
  readonly #patterns: readonly FuzzyPattern[];
  readonly #reversed: boolean;
  readonly #hint: Hint = new Hint();
  /** Empty until the first hint is asked for. */
  #candidates: Candidate[] = [];
  #matchedLast = 0;
  #filtersRow = false;
  #isDone = false;

  constructor(patterns: readonly FuzzyPattern[], reversed: boolean) {
    super();
    this.#patterns = patterns;
    this.#reversed = reversed;
  }

  override reset(): void {
    this.#filtersRow = false;
  }

  override filterAllRemaining(): boolean {
    return this.#isDone;
  }

  override filterRow(): boolean {
    return this.#filtersRow;
  }

  override filterCell(cell: CellView): FilterCode {
    const count = this.#patterns.length;
    for (let i = 0; i < count; i++) {
      const at = (this.#matchedLast + i) % count;
      if (matches(this.#patterns[at]!, cell)) {
        this.#matchedLast = at;
        return FILTER_INCLUDE;
      }
    }
    this.#matchedLast = 0;
    this.#filtersRow = true;
    return FILTER_SEEK_NEXT_USING_HINT;
  }

  override nextCellHint(cell: CellView): SeekKey | null {
    const best = this.#nextRow(cell);
    if (best === null) {
      this.#isDone = true;
      return null;
    }
    return this.#hint.toRow(best);
  }

  /** The nearest next row of all patterns. Those of passed rows are found anew. */
  #nextRow(cell: CellView): Uint8Array | null {
    if (this.#candidates.length === 0) {
      this.#candidates = this.#patterns.map((pattern) => ({
        pattern,
        next: this.#nextFor(cell, pattern),
      }));
    }
    let best: Uint8Array | null = null;
    for (const candidate of this.#candidates) {
      if (candidate.next === null) continue;
      if (!this.#isAhead(cell, candidate.next)) {
        candidate.next = this.#nextFor(cell, candidate.pattern);
        if (candidate.next === null) continue;
      }
      if (best === null) best = candidate.next;
      else {
        const order = compareRanges(candidate.next, 0, candidate.next.length, best, 0, best.length);
        if (this.#reversed ? order > 0 : order < 0) best = candidate.next;
      }
    }
    return best;
  }

  #isAhead(cell: CellView, row: Uint8Array): boolean {
    const { block, rowAt, rowLength } = cell;
    const order = compareRanges(block, rowAt, rowLength, row, 0, row.length);
    return this.#reversed ? order > 0 : order < 0;
  }

  #nextFor(cell: CellView, pattern: FuzzyPattern): Uint8Array | null {
    const { block, rowAt, rowLength } = cell;
    return nextFuzzyRow(block.subarray(rowAt, rowAt + rowLength), pattern, this.#reversed);
  }
}

function matches({ bytes, isFixed }: FuzzyPattern, cell: CellView): boolean {
  const length = Math.min(cell.rowLength, bytes.length);
  for (let i = 0; i < length; i++) {
    if (isFixed[i] !== 0 && cell.block[cell.rowAt + i] !== bytes[i]) return false;
  }
  return true;
}

/**
 * The nearest row behind `row` in the scan's direction that may match, cut behind the last byte that decides; null for
 * none. `row` does not match. Backwards it is the upper end of the rows wanted next. HBase: getNextForFuzzyRule.
 */
export function nextFuzzyRow(
  row: Uint8Array,
  { bytes, isFixed }: FuzzyPattern,
  reversed: boolean,
): Uint8Array | null {
  const [farthest, nearest] = reversed ? [0, 0xff] : [0xff, 0];
  const next = new Uint8Array(bytes.length);
  let changeAt = -1;
  let isAhead = false;
  let at = 0;
  // Up to the first fixed byte that differs; there is one within the row, as it does not match.
  for (; at < bytes.length && at < row.length; at++) {
    if (isFixed[at] === 0) {
      next[at] = row[at]!;
      if (row[at] !== farthest) changeAt = at;
      continue;
    }
    next[at] = bytes[at]!;
    if (row[at] === bytes[at]) continue;
    isAhead = reversed ? row[at]! > bytes[at]! : row[at]! < bytes[at]!;
    break;
  }
  let keptFrom = at;
  if (!isAhead) {
    if (changeAt < 0) return null;
    next[changeAt] = next[changeAt]! + (reversed ? -1 : 1);
    keptFrom = changeAt + 1;
  }
  for (let i = keptFrom; i < next.length; i++) next[i] = isFixed[i] === 0 ? nearest : bytes[i]!;
  let length = next.length;
  while (length > 0 && isFixed[length - 1] === 0) length--;
  length = Math.max(length, isAhead ? 0 : changeAt + 1);
  return reversed ? afterPrefix(next.subarray(0, length)) : next.slice(0, length);
}
