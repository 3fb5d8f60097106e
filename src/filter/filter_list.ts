/** FilterList with both operators: how codes, hints and rows of several filters become one (protocol/filters.md section 4). */
import { LATEST_HIGH, LATEST_LOW, compareRanges } from '../cell/index.ts';
import type { CellView, SeekKey } from '../cell/index.ts';
import {
  FILTER_INCLUDE,
  FILTER_INCLUDE_AND_NEXT_COL,
  FILTER_INCLUDE_AND_SEEK_NEXT_ROW,
  FILTER_NEXT_COL,
  FILTER_NEXT_ROW,
  FILTER_SEEK_NEXT_USING_HINT,
  FILTER_SKIP,
} from '../model/index.ts';
import type { CellFilter, FilterCode, RowCells } from '../model/index.ts';
import { Kept, KeptHint, compareKeys, familyAt, familyLength } from './cells.ts';
import { BaseFilter, isIncluded, needsFamily } from './filter.ts';

/** What both operators share. */
abstract class ListFilter extends BaseFilter {
  protected readonly filters: readonly CellFilter[];
  protected readonly reversed: boolean;

  override readonly isLasting: boolean;

  constructor(filters: readonly CellFilter[], reversed: boolean) {
    super();
    this.filters = filters;
    this.reversed = reversed;
    this.isLasting = filters.some((filter) => filter instanceof BaseFilter && filter.isLasting);
  }

  override hasFilterRow(): boolean {
    return this.filters.some((filter) => filter.hasFilterRow());
  }

  override isFamilyEssential(family: Uint8Array): boolean {
    return this.filters.length === 0 || this.filters.some((filter) => needsFamily(filter, family));
  }

  override filterRowCells(row: RowCells): void {
    for (const filter of this.filters) filter.filterRowCells(row);
  }

  /**
   * The hint as it may be followed: backwards not within the cell's row, since HBase walks there (StoreScanner, seen with
   * 2.6.3), and a member that counts sees the cells it passes.
   */
  protected followable(
    hint: SeekKey | null,
    { block, rowAt, rowLength }: CellView,
  ): SeekKey | null {
    if (!this.reversed || hint === null) return hint;
    const order = compareRanges(block, rowAt, rowLength, hint.row, hint.rowAt, hint.rowLength);
    return order === 0 ? null : hint;
  }
}

/** Every filter must pass. HBase: FilterListWithAND. */
export class MustPassAllFilter extends ListFilter {
  /** Filters that are asked for hints even where another has dropped the cell. */
  readonly #isHinting: readonly boolean[];
  /** Filters for whose sake a row is read that another leaves out by its key. */
  readonly #readsOn: readonly boolean[];
  /** Those that gave a hint for the last cell. */
  readonly #hinters: CellFilter[] = [];

  constructor(filters: readonly CellFilter[], reversed: boolean) {
    super(filters, reversed);
    this.#isHinting = filters.map((filter) => filter instanceof BaseFilter && filter.isHinting);
    this.#readsOn = filters.map(
      (filter) => filter instanceof BaseFilter && (filter.isHinting || filter.isLasting),
    );
  }

  override reset(): void {
    for (const filter of this.filters) filter.reset();
    this.#hinters.length = 0;
  }

  override filterAllRemaining(): boolean {
    for (const filter of this.filters) if (filter.filterAllRemaining()) return true;
    return false;
  }

  /**
   * All are asked, since some keep what they see. A row is read on for a filter that passes it and gives hints, or ends the
   * scan by what it is shown.
   */
  override filterRowKey(firstCell: CellView): boolean {
    let isFiltered = false;
    let readsOn = false;
    for (let i = 0; i < this.filters.length; i++) {
      const filter = this.filters[i]!;
      if (filter.filterAllRemaining()) return true;
      if (filter.filterRowKey(firstCell)) isFiltered = true;
      else if (this.#readsOn[i]!) readsOn = true;
    }
    return isFiltered && !readsOn;
  }

  override filterCell(cell: CellView): FilterCode {
    const { filters } = this;
    let code: FilterCode = FILTER_INCLUDE;
    this.#hinters.length = 0;
    let i = 0;
    while (i < filters.length && isIncluded(code)) {
      const filter = filters[i]!;
      i++;
      if (filter.filterAllRemaining()) {
        code = FILTER_NEXT_ROW;
        break;
      }
      const own = filter.filterCell(cell);
      if (own === FILTER_SEEK_NEXT_USING_HINT) this.#hinters.push(filter);
      code = mergeAll(code, own);
    }
    for (; i < filters.length; i++) {
      if (!this.#isHinting[i]!) continue;
      const filter = filters[i]!;
      if (filter.filterCell(cell) === FILTER_SEEK_NEXT_USING_HINT) this.#hinters.push(filter);
    }
    return this.#hinters.length > 0 ? FILTER_SEEK_NEXT_USING_HINT : code;
  }

  override transformCell(cell: CellView): CellView {
    let transformed = cell;
    for (const filter of this.filters) transformed = filter.transformCell(transformed);
    return transformed;
  }

  /** The farthest of the hints. */
  override nextCellHint(cell: CellView): SeekKey | null {
    let farthest: SeekKey | null = null;
    for (const filter of this.#hinters) {
      if (filter.filterAllRemaining()) continue;
      const hint = filter.nextCellHint(cell);
      if (hint === null) continue;
      if (farthest === null || compareKeys(hint, farthest, this.reversed) > 0) farthest = hint;
    }
    return this.followable(farthest, cell);
  }

  override filterRow(): boolean {
    for (const filter of this.filters) if (filter.filterRow()) return true;
    return false;
  }
}

/** The farther jump wins, and one drop is enough. */
function mergeAll(code: FilterCode, own: FilterCode): FilterCode {
  if (code === FILTER_SEEK_NEXT_USING_HINT || own === FILTER_SEEK_NEXT_USING_HINT) {
    return FILTER_SEEK_NEXT_USING_HINT;
  }
  const jump = Math.max(jumpOf(code), jumpOf(own));
  return codeOf(jump, isIncluded(code) && isIncluded(own));
}

/** How far a code without hint jumps: 0 the next cell, 1 the next column, 2 the next row. */
function jumpOf(code: FilterCode): number {
  if (code === FILTER_INCLUDE || code === FILTER_SKIP) return 0;
  return code === FILTER_INCLUDE_AND_NEXT_COL || code === FILTER_NEXT_COL ? 1 : 2;
}

function codeOf(jump: number, isIncluding: boolean): FilterCode {
  if (jump === 0) return isIncluding ? FILTER_INCLUDE : FILTER_SKIP;
  if (jump === 1) return isIncluding ? FILTER_INCLUDE_AND_NEXT_COL : FILTER_NEXT_COL;
  return isIncluding ? FILTER_INCLUDE_AND_SEEK_NEXT_ROW : FILTER_NEXT_ROW;
}

/** Nothing merged yet. */
const NOTHING = -1;

/**
 * One filter that passes is enough. HBase: FilterListWithOR. The list may go on more slowly than one of its filters asked
 * for; that filter is then not asked again before the place where it wanted to go on.
 */
export class MustPassOneFilter extends ListFilter {
  readonly #wishes: readonly Wish[];
  readonly #hasIncluded: boolean[];
  readonly #nextRow: KeptHint = new KeptHint();

  constructor(filters: readonly CellFilter[], reversed: boolean) {
    super(filters, reversed);
    this.#wishes = filters.map((filter) => new Wish(filter, reversed));
    this.#hasIncluded = filters.map(() => false);
  }

  override reset(): void {
    for (let i = 0; i < this.filters.length; i++) {
      this.filters[i]!.reset();
      this.#wishes[i]!.forget();
      this.#hasIncluded[i] = false;
    }
  }

  override filterAllRemaining(): boolean {
    for (const filter of this.filters) if (!filter.filterAllRemaining()) return false;
    return this.filters.length > 0;
  }

  override filterRowKey(firstCell: CellView): boolean {
    let isFiltered = this.filters.length > 0;
    for (const filter of this.filters) {
      if (!filter.filterAllRemaining() && !filter.filterRowKey(firstCell)) isFiltered = false;
    }
    return isFiltered;
  }

  override filterCell(cell: CellView): FilterCode {
    if (this.filters.length === 0) return FILTER_INCLUDE;
    let code: FilterCode | typeof NOTHING = NOTHING;
    for (let i = 0; i < this.filters.length; i++) {
      this.#hasIncluded[i] = false;
      if (this.filters[i]!.filterAllRemaining()) continue;
      const own = this.#wishes[i]!.ask(cell);
      this.#hasIncluded[i] = isIncluded(own);
      code = code === NOTHING ? own : mergeOne(code, own, this.reversed);
    }
    return code === NOTHING ? FILTER_SKIP : code;
  }

  /** Those that passed the cell transform it. */
  override transformCell(cell: CellView): CellView {
    let transformed = cell;
    for (let i = 0; i < this.filters.length; i++) {
      if (this.#hasIncluded[i]!) transformed = this.filters[i]!.transformCell(transformed);
    }
    return transformed;
  }

  /**
   * The nearest of the hints; none unless every filter gives one, or wants nothing more of this row. (HBase gives none then,
   * and walks.)
   */
  override nextCellHint(cell: CellView): SeekKey | null {
    let nearest: SeekKey | null = null;
    let hasLeft = false;
    for (let i = 0; i < this.filters.length; i++) {
      const filter = this.filters[i]!;
      if (filter.filterAllRemaining()) continue;
      if (!this.reversed && this.#wishes[i]!.hasLeftRow) {
        hasLeft = true;
        continue;
      }
      const hint = filter.nextCellHint(cell);
      if (hint === null) return null;
      if (nearest === null || compareKeys(hint, nearest, this.reversed) < 0) nearest = hint;
    }
    if (hasLeft && nearest !== null) return this.#within(cell, nearest);
    return this.followable(nearest, cell);
  }

  /** The hint, but no farther than the next row, which others may want; and only to columns, whose markers it meets. */
  #within(cell: CellView, hint: SeekKey): SeekKey | null {
    const { block, rowAt, rowLength } = cell;
    const { row, timestampHigh, timestampLow } = hint;
    if (compareRanges(block, rowAt, rowLength, row, hint.rowAt, hint.rowLength) === 0) {
      const isColumn = timestampHigh === LATEST_HIGH && timestampLow === LATEST_LOW;
      return isColumn && hint.qualifier !== null ? hint : null;
    }
    return this.#nextRow.keepRowAfter(cell);
  }

  override filterRow(): boolean {
    for (const filter of this.filters) if (!filter.filterRow()) return false;
    return this.filters.length > 0;
  }
}

/**
 * The nearer jump wins, and one that includes is enough. A hint is farther than anything but of unknown length; one of two
 * filters, the other of which has left the row, counts.
 */
function mergeOne(code: FilterCode, own: FilterCode, reversed: boolean): FilterCode {
  const hints =
    Number(code === FILTER_SEEK_NEXT_USING_HINT) + Number(own === FILTER_SEEK_NEXT_USING_HINT);
  if (hints === 2) return FILTER_SEEK_NEXT_USING_HINT;
  if (hints === 1 && !reversed && (code === FILTER_NEXT_ROW || own === FILTER_NEXT_ROW)) {
    return FILTER_SEEK_NEXT_USING_HINT;
  }
  const jump = hints === 1 ? 0 : Math.min(jumpOf(code), jumpOf(own));
  return codeOf(jump, isIncluded(code) || isIncluded(own));
}

/** A filter of a MUST_PASS_ONE list and where in the row it wants to go on. */
class Wish {
  readonly #filter: CellFilter;
  readonly #reversed: boolean;
  #code: FilterCode = FILTER_INCLUDE;
  readonly #family: Kept = new Kept();
  readonly #qualifier: Kept = new Kept();
  readonly #hint: KeptHint = new KeptHint();
  #hasHint = false;
  /** The hint leads to a column, or out of the row where others have left it: another family of the row is another matter. */
  #isFamilyHint = false;

  constructor(filter: CellFilter, reversed: boolean) {
    this.#filter = filter;
    this.#reversed = reversed;
  }

  /** It wants nothing more of the row, in the family of the cell asked about last. */
  get hasLeftRow(): boolean {
    return this.#code === FILTER_NEXT_ROW;
  }

  forget(): void {
    this.#code = FILTER_INCLUDE;
  }

  ask(cell: CellView): FilterCode {
    const waiting = this.#waitsFor(cell);
    const code = waiting ?? this.#filter.filterCell(cell);
    this.#code = code;
    if (waiting === null) this.#keep(cell, code);
    return code;
  }

  /** What the filter's last answer says of this cell too; null when it has to be asked. Rows change with `forget`. */
  #waitsFor(cell: CellView): FilterCode | null {
    switch (this.#code) {
      case FILTER_INCLUDE:
      case FILTER_SKIP:
        return null;
      case FILTER_SEEK_NEXT_USING_HINT: {
        const isBehind =
          this.#hasHint &&
          this.#hint.isBehind(cell, this.#reversed) &&
          (!this.#isFamilyHint || this.#isSameFamily(cell));
        return isBehind ? FILTER_SEEK_NEXT_USING_HINT : null;
      }
      case FILTER_NEXT_COL:
      case FILTER_INCLUDE_AND_NEXT_COL:
        return this.#isSameFamily(cell) &&
          this.#qualifier.equals(cell.block, cell.qualifierAt, cell.qualifierLength)
          ? FILTER_NEXT_COL
          : null;
      default:
        return this.#isSameFamily(cell) ? FILTER_NEXT_ROW : null;
    }
  }

  #isSameFamily(cell: CellView): boolean {
    return this.#family.equals(cell.block, familyAt(cell), familyLength(cell));
  }

  #keep(cell: CellView, code: FilterCode): void {
    if (code === FILTER_INCLUDE || code === FILTER_SKIP) return;
    if (code === FILTER_SEEK_NEXT_USING_HINT) {
      const hint = this.#filter.nextCellHint(cell);
      this.#hasHint = hint !== null;
      if (hint === null) return;
      this.#hint.keep(hint);
      this.#isFamilyHint = hint.qualifier !== null || isRowAfter(hint, cell);
      if (this.#isFamilyHint) this.#family.set(cell.block, familyAt(cell), familyLength(cell));
      return;
    }
    this.#family.set(cell.block, familyAt(cell), familyLength(cell));
    this.#qualifier.set(cell.block, cell.qualifierAt, cell.qualifierLength);
  }
}

/** Whether it is the start of the least row behind the cell's. */
function isRowAfter(hint: SeekKey, { block, rowAt, rowLength }: CellView): boolean {
  const { row, rowAt: at, rowLength: length } = hint;
  if (length !== rowLength + 1 || row[at + rowLength] !== 0) return false;
  return compareRanges(block, rowAt, rowLength, row, at, rowLength) === 0;
}
