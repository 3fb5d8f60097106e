/** Filters on qualifiers and on the number of columns. HBase: the classes of these names. */
import { compareRanges } from '../cell/index.ts';
import type { CellView, SeekKey } from '../cell/index.ts';
import {
  FILTER_INCLUDE,
  FILTER_INCLUDE_AND_NEXT_COL,
  FILTER_NEXT_COL,
  FILTER_NEXT_ROW,
  FILTER_SEEK_NEXT_USING_HINT,
} from '../model/index.ts';
import type { FilterCode } from '../model/index.ts';
import { Hint, compareQualifier } from './cells.ts';
import { BaseFilter } from './filter.ts';

/** Orders the beginning of the cell's qualifier, as long as the prefix, against the prefix. */
function comparePrefix(cell: CellView, prefix: Uint8Array): number {
  const length = Math.min(cell.qualifierLength, prefix.length);
  return compareRanges(cell.block, cell.qualifierAt, length, prefix, 0, prefix.length);
}

/** Columns that begin with the prefix. */
export class ColumnPrefixFilter extends BaseFilter {
  override readonly isHinting: boolean = true;
  readonly #prefix: Uint8Array;
  readonly #hint: Hint = new Hint();

  constructor(prefix: Uint8Array) {
    super();
    this.#prefix = prefix;
  }

  override filterCell(cell: CellView): FilterCode {
    const order = comparePrefix(cell, this.#prefix);
    if (order === 0) return FILTER_INCLUDE;
    return order < 0 ? FILTER_SEEK_NEXT_USING_HINT : FILTER_NEXT_ROW;
  }

  override nextCellHint(cell: CellView): SeekKey | null {
    return this.#hint.toColumn(cell, this.#prefix);
  }
}

/**
 * Columns that begin with one of the prefixes. As in HBase only the greatest prefix at or before the qualifier is tried: of
 * prefixes that begin with one another the longer one hides columns of the shorter that lie behind it.
 */
export class MultipleColumnPrefixFilter extends BaseFilter {
  override readonly isHinting: boolean = true;
  /** In byte order, each once. */
  readonly #prefixes: readonly Uint8Array[];
  readonly #hint: Hint = new Hint();
  #next = 0;

  constructor(prefixes: readonly Uint8Array[]) {
    super();
    this.#prefixes = prefixes;
  }

  override filterCell(cell: CellView): FilterCode {
    const prefixes = this.#prefixes;
    if (prefixes.length === 0) return FILTER_INCLUDE;
    let low = 0;
    let high = prefixes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareQualifier(cell, prefixes[middle]!) >= 0) low = middle + 1;
      else high = middle;
    }
    if (low > 0 && comparePrefix(cell, prefixes[low - 1]!) === 0) return FILTER_INCLUDE;
    if (low === prefixes.length) return FILTER_NEXT_ROW;
    this.#next = low;
    return FILTER_SEEK_NEXT_USING_HINT;
  }

  override nextCellHint(cell: CellView): SeekKey | null {
    return this.#hint.toColumn(cell, this.#prefixes[this.#next]!);
  }
}

export interface ColumnRange {
  /** Null: open. */
  readonly min: Uint8Array | null;
  readonly minInclusive: boolean;
  readonly max: Uint8Array | null;
  readonly maxInclusive: boolean;
}

/** Columns from min to max, in each family. */
export class ColumnRangeFilter extends BaseFilter {
  override readonly isHinting: boolean = true;
  readonly #range: ColumnRange;
  readonly #hint: Hint = new Hint();

  constructor(range: ColumnRange) {
    super();
    this.#range = range;
  }

  override filterCell(cell: CellView): FilterCode {
    const { min, minInclusive, max, maxInclusive } = this.#range;
    if (min !== null) {
      const order = compareQualifier(cell, min);
      if (order < 0) return FILTER_SEEK_NEXT_USING_HINT;
      if (order === 0 && !minInclusive) return FILTER_NEXT_COL;
    }
    if (max === null) return FILTER_INCLUDE;
    const order = compareQualifier(cell, max);
    return order < 0 || (order === 0 && maxInclusive) ? FILTER_INCLUDE : FILTER_NEXT_ROW;
  }

  override nextCellHint(cell: CellView): SeekKey | null {
    return this.#range.min === null ? null : this.#hint.toColumn(cell, this.#range.min);
  }
}

/** The newest version of `limit` columns of the row behind the first `offset`, over families in order. */
export class ColumnPaginationFilter extends BaseFilter {
  readonly #limit: number;
  readonly #offset: number;
  #count = 0;

  constructor(limit: number, offset: number) {
    super();
    this.#limit = limit;
    this.#offset = offset;
  }

  override reset(): void {
    this.#count = 0;
  }

  override filterCell(): FilterCode {
    if (this.#count >= this.#offset + this.#limit) return FILTER_NEXT_ROW;
    const code = this.#count < this.#offset ? FILTER_NEXT_COL : FILTER_INCLUDE_AND_NEXT_COL;
    this.#count++;
    return code;
  }
}

/** ColumnPaginationFilter with a column to start at: the first family that reaches it counts from there. */
export class ColumnOffsetPaginationFilter extends BaseFilter {
  readonly #limit: number;
  readonly #columnOffset: Uint8Array;
  readonly #hint: Hint = new Hint();
  #count = 0;

  constructor(limit: number, columnOffset: Uint8Array) {
    super();
    this.#limit = limit;
    this.#columnOffset = columnOffset;
  }

  override reset(): void {
    this.#count = 0;
  }

  override filterCell(cell: CellView): FilterCode {
    if (this.#count >= this.#limit) return FILTER_NEXT_ROW;
    if (this.#count === 0 && compareQualifier(cell, this.#columnOffset) < 0) {
      return FILTER_SEEK_NEXT_USING_HINT;
    }
    this.#count++;
    return FILTER_INCLUDE_AND_NEXT_COL;
  }

  override nextCellHint(cell: CellView): SeekKey | null {
    return this.#hint.toColumn(cell, this.#columnOffset);
  }
}

/** The newest version of the first `limit` columns; a row with more ends the scan. Made for gets. */
export class ColumnCountGetFilter extends BaseFilter {
  readonly #limit: number;
  #count = 0;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override reset(): void {
    this.#count = 0;
  }

  override filterAllRemaining(): boolean {
    return this.#count > this.#limit;
  }

  override filterCell(): FilterCode {
    this.#count++;
    return this.#count > this.#limit ? FILTER_NEXT_COL : FILTER_INCLUDE_AND_NEXT_COL;
  }
}

/** The first cell of each row. */
export class FirstKeyOnlyFilter extends BaseFilter {
  #hasFound = false;

  override reset(): void {
    this.#hasFound = false;
  }

  override filterCell(): FilterCode {
    if (this.#hasFound) return FILTER_NEXT_ROW;
    this.#hasFound = true;
    return FILTER_INCLUDE;
  }
}

/** The cells of each row up to the first whose qualifier is one of these; without one, all. */
export class FirstKeyValueMatchingQualifiersFilter extends BaseFilter {
  readonly #qualifiers: readonly Uint8Array[];
  #hasFound = false;

  constructor(qualifiers: readonly Uint8Array[]) {
    super();
    this.#qualifiers = qualifiers;
  }

  override reset(): void {
    this.#hasFound = false;
  }

  override filterCell(cell: CellView): FilterCode {
    if (this.#hasFound) return FILTER_NEXT_ROW;
    for (const qualifier of this.#qualifiers) {
      if (compareQualifier(cell, qualifier) === 0) this.#hasFound = true;
    }
    return FILTER_INCLUDE;
  }
}
