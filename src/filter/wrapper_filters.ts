/**
 * SkipFilter and WhileMatchFilter. As in HBase neither hands on hints or `filterRowCells`, SkipFilter not the row key, and
 * the filter within is not told of a reversed scan; every code but a plain "include" counts as a cell dropped.
 */
import type { CellView } from '../cell/index.ts';
import { FILTER_INCLUDE } from '../model/index.ts';
import type { CellFilter, FilterCode } from '../model/index.ts';
import { BaseFilter, needsFamily } from './filter.ts';

/** Drops the whole row if the filter within drops a cell of it. */
export class SkipFilter extends BaseFilter {
  readonly #filter: CellFilter;
  #filtersRow = false;

  constructor(filter: CellFilter) {
    super();
    this.#filter = filter;
  }

  override reset(): void {
    this.#filter.reset();
    this.#filtersRow = false;
  }

  override filterRowKey(): boolean {
    return false;
  }

  override filterCell(cell: CellView): FilterCode {
    const code = this.#filter.filterCell(cell);
    if (code !== FILTER_INCLUDE) this.#filtersRow = true;
    return code;
  }

  override transformCell(cell: CellView): CellView {
    return this.#filter.transformCell(cell);
  }

  override isFamilyEssential(family: Uint8Array): boolean {
    return needsFamily(this.#filter, family);
  }

  override hasFilterRow(): boolean {
    return true;
  }

  override filterRow(): boolean {
    return this.#filtersRow;
  }
}

/** Ends the scan as soon as the filter within drops anything: a row key, a cell or a row. Cells kept before stay. */
export class WhileMatchFilter extends BaseFilter {
  override readonly isLasting: boolean = true;
  readonly #filter: CellFilter;
  #isDone = false;

  constructor(filter: CellFilter) {
    super();
    this.#filter = filter;
  }

  override reset(): void {
    this.#filter.reset();
  }

  override filterAllRemaining(): boolean {
    return this.#isDone || this.#filter.filterAllRemaining();
  }

  override filterRowKey(firstCell: CellView): boolean {
    if (this.filterAllRemaining()) return true;
    return this.#note(this.#filter.filterRowKey(firstCell));
  }

  override filterCell(cell: CellView): FilterCode {
    const code = this.#filter.filterCell(cell);
    this.#note(code !== FILTER_INCLUDE);
    return code;
  }

  override transformCell(cell: CellView): CellView {
    return this.#filter.transformCell(cell);
  }

  override isFamilyEssential(family: Uint8Array): boolean {
    return needsFamily(this.#filter, family);
  }

  override hasFilterRow(): boolean {
    return true;
  }

  override filterRow(): boolean {
    return this.#note(this.#filter.filterRow());
  }

  #note(isFiltered: boolean): boolean {
    if (isFiltered) this.#isDone = true;
    return isFiltered;
  }
}
