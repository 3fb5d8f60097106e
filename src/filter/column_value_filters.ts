/** Filters that look at the value or the timestamps of one column. */
import { equalBytes, u32 } from '../cell/index.ts';
import type { CellView } from '../cell/index.ts';
import { FILTER_INCLUDE, FILTER_NEXT_COL, FILTER_NEXT_ROW, FILTER_SKIP } from '../model/index.ts';
import type { FilterCode, RowCells } from '../model/index.ts';
import { isColumn } from './cells.ts';
import type { Comparison } from './comparators.ts';
import { BaseFilter } from './filter.ts';

export interface ColumnTest {
  readonly family: Uint8Array;
  readonly qualifier: Uint8Array;
  readonly comparison: Comparison;
}

/** Whole rows in which the column's newest version (or any) compares; rows without the column as `filterIfMissing` says. */
export class SingleColumnValueFilter extends BaseFilter {
  readonly #test: ColumnTest;
  readonly #filterIfMissing: boolean;
  readonly #latestVersionOnly: boolean;
  readonly #excludes: boolean;
  #hasFound = false;
  #hasMatched = false;

  /** With `excludes` the column itself is left out: SingleColumnValueExcludeFilter. */
  constructor(
    test: ColumnTest,
    options: { filterIfMissing: boolean; latestVersionOnly: boolean; excludes: boolean },
  ) {
    super();
    this.#test = test;
    this.#filterIfMissing = options.filterIfMissing;
    this.#latestVersionOnly = options.latestVersionOnly;
    this.#excludes = options.excludes;
  }

  override reset(): void {
    this.#hasFound = false;
    this.#hasMatched = false;
  }

  override filterCell(cell: CellView): FilterCode {
    if (this.#hasMatched) return FILTER_INCLUDE;
    if (this.#latestVersionOnly && this.#hasFound) return FILTER_NEXT_ROW;
    const { family, qualifier, comparison } = this.#test;
    if (!isColumn(cell, family, qualifier)) return FILTER_INCLUDE;
    this.#hasFound = true;
    if (comparison.holds(cell.block, cell.valueAt, cell.valueLength)) this.#hasMatched = true;
    else if (this.#latestVersionOnly) return FILTER_NEXT_ROW;
    return FILTER_INCLUDE;
  }

  override hasFilterRow(): boolean {
    return true;
  }

  /** Without the column a row is dropped, whatever else it has. */
  override isFamilyEssential(family: Uint8Array): boolean {
    return !this.#filterIfMissing || equalBytes(family, this.#test.family);
  }

  override filterRowCells(row: RowCells): void {
    if (!this.#excludes) return;
    const { family, qualifier } = this.#test;
    for (let i = row.count - 1; i >= 0; i--) {
      if (isColumn(row.cellAt(i), family, qualifier)) row.remove(i);
    }
  }

  override filterRow(): boolean {
    return this.#hasFound ? !this.#hasMatched : this.#filterIfMissing;
  }
}

/** Only the cells of the column that compare. */
export class ColumnValueFilter extends BaseFilter {
  readonly #test: ColumnTest;
  #hasFound = false;

  constructor(test: ColumnTest) {
    super();
    this.#test = test;
  }

  override reset(): void {
    this.#hasFound = false;
  }

  override filterCell(cell: CellView): FilterCode {
    const { family, qualifier, comparison } = this.#test;
    if (!isColumn(cell, family, qualifier)) {
      return this.#hasFound ? FILTER_NEXT_ROW : FILTER_NEXT_COL;
    }
    this.#hasFound = true;
    const holds = comparison.holds(cell.block, cell.valueAt, cell.valueLength);
    return holds ? FILTER_INCLUDE : FILTER_SKIP;
  }

  override isFamilyEssential(family: Uint8Array): boolean {
    return equalBytes(family, this.#test.family);
  }
}

/** Cells of the row whose timestamp is one of the column's, of those of its cells that compare. */
export class DependentColumnFilter extends BaseFilter {
  readonly #family: Uint8Array;
  readonly #qualifier: Uint8Array;
  readonly #drops: boolean;
  readonly #comparison: Comparison | null;
  /** Halves of the timestamps seen: one column of one family, so they fall. */
  #highs: Uint32Array = new Uint32Array(8);
  #lows: Uint32Array = new Uint32Array(8);
  #count = 0;

  constructor(options: {
    family: Uint8Array;
    qualifier: Uint8Array;
    /** Leaves the column itself out. */
    drops: boolean;
    comparison: Comparison | null;
  }) {
    super();
    this.#family = options.family;
    this.#qualifier = options.qualifier;
    this.#drops = options.drops;
    this.#comparison = options.comparison;
  }

  override reset(): void {
    this.#count = 0;
  }

  override filterCell(cell: CellView): FilterCode {
    if (!isColumn(cell, this.#family, this.#qualifier)) return FILTER_INCLUDE;
    const { block, valueAt, valueLength } = cell;
    if (this.#comparison !== null && !this.#comparison.holds(block, valueAt, valueLength)) {
      return FILTER_SKIP;
    }
    this.#add(u32(block, cell.timestampAt), u32(block, cell.timestampAt + 4));
    return this.#drops ? FILTER_SKIP : FILTER_INCLUDE;
  }

  override hasFilterRow(): boolean {
    return true;
  }

  override filterRowCells(row: RowCells): void {
    for (let i = row.count - 1; i >= 0; i--) {
      const { block, timestampAt } = row.cellAt(i);
      if (!this.#has(u32(block, timestampAt), u32(block, timestampAt + 4))) row.remove(i);
    }
  }

  #add(high: number, low: number): void {
    if (this.#count === this.#highs.length) {
      this.#highs = grown(this.#highs);
      this.#lows = grown(this.#lows);
    }
    this.#highs[this.#count] = high;
    this.#lows[this.#count] = low;
    this.#count++;
  }

  /** The timestamps of one column come falling. */
  #has(high: number, low: number): boolean {
    let from = 0;
    let to = this.#count;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const order = this.#highs[middle]! - high || this.#lows[middle]! - low;
      if (order === 0) return true;
      if (order > 0) from = middle + 1;
      else to = middle;
    }
    return false;
  }
}

function grown(numbers: Uint32Array): Uint32Array {
  const more = new Uint32Array(numbers.length * 2);
  more.set(numbers);
  return more;
}
