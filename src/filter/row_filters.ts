/** Filters on row keys and counts of rows. HBase: the classes of these names. */
import { afterPrefix, compareRanges } from '../cell/index.ts';
import type { CellView, SeekKey } from '../cell/index.ts';
import { FILTER_INCLUDE, FILTER_NEXT_ROW, FILTER_SEEK_NEXT_USING_HINT } from '../model/index.ts';
import type { FilterCode } from '../model/index.ts';
import { Hint, compareRow } from './cells.ts';
import type { Comparison } from './comparators.ts';
import { BaseFilter } from './filter.ts';

/** Rows that begin with the prefix; seeks to them and ends behind them. A null prefix drops everything. */
export class PrefixFilter extends BaseFilter {
  override readonly isHinting: boolean = true;
  readonly #prefix: Uint8Array | null;
  readonly #reversed: boolean;
  readonly #hint: Hint = new Hint();
  readonly #hintRow: Uint8Array | null;
  #filtersRow = true;
  #isBefore = false;
  #hasPassed = false;

  constructor(prefix: Uint8Array | null, reversed: boolean) {
    super();
    this.#prefix = prefix;
    this.#reversed = reversed;
    // Backwards the way leads to the rows below the prefix's upper end; a prefix of 0xff only has none.
    this.#hintRow = prefix === null ? null : reversed ? afterPrefix(prefix) : prefix;
  }

  override reset(): void {
    this.#filtersRow = true;
  }

  override filterRowKey(firstCell: CellView): boolean {
    const prefix = this.#prefix;
    if (prefix === null || this.#hasPassed) return true;
    const { block, rowAt, rowLength } = firstCell;
    const length = Math.min(rowLength, prefix.length);
    const rows = compareRanges(block, rowAt, length, prefix, 0, prefix.length);
    const order = this.#reversed ? -rows : rows;
    if (order > 0) this.#hasPassed = true;
    this.#filtersRow = order !== 0;
    this.#isBefore = order < 0;
    return this.#hasPassed;
  }

  override filterCell(): FilterCode {
    if (this.#isBefore) return FILTER_SEEK_NEXT_USING_HINT;
    return this.#filtersRow ? FILTER_NEXT_ROW : FILTER_INCLUDE;
  }

  override nextCellHint(): SeekKey | null {
    return this.#hintRow === null ? null : this.#hint.toRow(this.#hintRow);
  }

  override filterRow(): boolean {
    return this.#filtersRow;
  }

  override filterAllRemaining(): boolean {
    return this.#hasPassed;
  }
}

/** At most `pageSize` rows of the region, counted when all filters asked before it have let them pass. */
export class PageFilter extends BaseFilter {
  readonly #pageSize: number;
  #rows = 0;

  constructor(pageSize: number) {
    super();
    this.#pageSize = pageSize;
  }

  override hasFilterRow(): boolean {
    return true;
  }

  override filterRow(): boolean {
    this.#rows++;
    return this.#rows > this.#pageSize;
  }

  override filterAllRemaining(): boolean {
    return this.#rows >= this.#pageSize;
  }
}

/** Ends the scan behind this row. */
export class InclusiveStopFilter extends BaseFilter {
  readonly #stopRow: Uint8Array;
  readonly #reversed: boolean;
  #isDone = false;

  constructor(stopRow: Uint8Array, reversed: boolean) {
    super();
    this.#stopRow = stopRow;
    this.#reversed = reversed;
  }

  override filterRowKey(firstCell: CellView): boolean {
    if (this.#isDone) return true;
    const order = compareRow(firstCell, this.#stopRow);
    this.#isDone = this.#reversed ? order < 0 : order > 0;
    return this.#isDone;
  }

  override filterCell(): FilterCode {
    return this.#isDone ? FILTER_NEXT_ROW : FILTER_INCLUDE;
  }

  override filterAllRemaining(): boolean {
    return this.#isDone;
  }
}

/** Rows whose key compares. */
export class RowFilter extends BaseFilter {
  readonly #comparison: Comparison;
  #filtersRow = false;

  constructor(comparison: Comparison) {
    super();
    this.#comparison = comparison;
  }

  override reset(): void {
    this.#filtersRow = false;
  }

  override filterRowKey(firstCell: CellView): boolean {
    const { block, rowAt, rowLength } = firstCell;
    if (!this.#comparison.holds(block, rowAt, rowLength)) this.#filtersRow = true;
    return this.#filtersRow;
  }

  override filterCell(): FilterCode {
    return this.#filtersRow ? FILTER_NEXT_ROW : FILTER_INCLUDE;
  }

  override filterRow(): boolean {
    return this.#filtersRow;
  }
}

/** Steps of chance: a float's, as HBase draws one. */
const CHANCE_STEPS = 2 ** 24;

/** Each row with the chance given; below 0 none, above 1 every one. */
export class RandomRowFilter extends BaseFilter {
  readonly #chance: number;
  readonly #random: (below: number) => number;
  #filtersRow = false;

  constructor(chance: number, random: (below: number) => number) {
    super();
    this.#chance = Math.fround(chance);
    this.#random = random;
  }

  override reset(): void {
    this.#filtersRow = false;
  }

  override filterRowKey(): boolean {
    if (this.#chance < 0) this.#filtersRow = true;
    else if (this.#chance > 1) this.#filtersRow = false;
    else this.#filtersRow = this.#random(CHANCE_STEPS) / CHANCE_STEPS >= this.#chance;
    return this.#filtersRow;
  }

  override filterCell(): FilterCode {
    return this.#filtersRow ? FILTER_NEXT_ROW : FILTER_INCLUDE;
  }

  override filterRow(): boolean {
    return this.#filtersRow;
  }

  override hasFilterRow(): boolean {
    return true;
  }
}

/** Drops everything. */
export class FilterAllFilter extends BaseFilter {
  override filterAllRemaining(): boolean {
    return true;
  }

  override filterCell(): FilterCode {
    return FILTER_NEXT_ROW;
  }
}
