/** Filters on families, qualifiers, values and timestamps of cells, and the one that strips values. */
import { CellFields, putU32, u32 } from '../cell/index.ts';
import type { CellView, SeekKey } from '../cell/index.ts';
import {
  FILTER_INCLUDE,
  FILTER_NEXT_COL,
  FILTER_NEXT_ROW,
  FILTER_SEEK_NEXT_USING_HINT,
  FILTER_SKIP,
} from '../model/index.ts';
import type { FilterCode } from '../model/index.ts';
import { Hint, familyAt, familyLength } from './cells.ts';
import type { Comparison } from './comparators.ts';
import { BaseFilter } from './filter.ts';

/** Families that compare. */
export class FamilyFilter extends BaseFilter {
  readonly #comparison: Comparison;

  constructor(comparison: Comparison) {
    super();
    this.#comparison = comparison;
  }

  override filterCell(cell: CellView): FilterCode {
    const holds = this.#comparison.holds(cell.block, familyAt(cell), familyLength(cell));
    return holds ? FILTER_INCLUDE : FILTER_NEXT_ROW;
  }
}

/** Cells whose qualifier compares. */
export class QualifierFilter extends BaseFilter {
  readonly #comparison: Comparison;

  constructor(comparison: Comparison) {
    super();
    this.#comparison = comparison;
  }

  override filterCell(cell: CellView): FilterCode {
    const holds = this.#comparison.holds(cell.block, cell.qualifierAt, cell.qualifierLength);
    return holds ? FILTER_INCLUDE : FILTER_SKIP;
  }
}

/** Cells whose value compares. */
export class ValueFilter extends BaseFilter {
  readonly #comparison: Comparison;

  constructor(comparison: Comparison) {
    super();
    this.#comparison = comparison;
  }

  override filterCell(cell: CellView): FilterCode {
    const holds = this.#comparison.holds(cell.block, cell.valueAt, cell.valueLength);
    return holds ? FILTER_INCLUDE : FILTER_SKIP;
  }
}

/** Cells with exactly these timestamps. */
export class TimestampsFilter extends BaseFilter {
  override readonly isHinting: boolean = true;
  /** Falling, each once, in halves: the order in which cells come. */
  readonly #highs: Uint32Array;
  readonly #lows: Uint32Array;
  readonly #canHint: boolean;
  readonly #hint: Hint = new Hint();
  /** The first timestamp that is not above the cell's. */
  #at = 0;

  constructor(timestamps: readonly bigint[], canHint: boolean) {
    super();
    const falling = [...new Set(timestamps)].sort((a, b) => (a < b ? 1 : -1));
    this.#highs = Uint32Array.from(falling, (ts) => Number(ts >> 32n));
    this.#lows = Uint32Array.from(falling, (ts) => Number(ts & 0xffffffffn));
    this.#canHint = canHint;
  }

  override filterCell(cell: CellView): FilterCode {
    const high = u32(cell.block, cell.timestampAt);
    const low = u32(cell.block, cell.timestampAt + 4);
    const at = this.#find(high, low);
    this.#at = at;
    if (at === this.#highs.length) return FILTER_NEXT_COL;
    if (this.#highs[at] === high && this.#lows[at] === low) return FILTER_INCLUDE;
    return this.#canHint ? FILTER_SEEK_NEXT_USING_HINT : FILTER_SKIP;
  }

  override nextCellHint(cell: CellView): SeekKey | null {
    if (!this.#canHint) return null;
    if (this.#at === this.#highs.length) return this.#hint.afterColumn(cell);
    return this.#hint.toTimestamp(cell, this.#highs[this.#at]!, this.#lows[this.#at]!);
  }

  #find(high: number, low: number): number {
    let from = 0;
    let to = this.#highs.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const order = this.#highs[middle]! - high || this.#lows[middle]! - low;
      if (order > 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** Every cell, its value replaced by nothing or by its length in 4 bytes; tags are left out. */
export class KeyOnlyFilter extends BaseFilter {
  readonly #lenAsVal: boolean;
  readonly #cell: BareCell = new BareCell();

  constructor(lenAsVal: boolean) {
    super();
    this.#lenAsVal = lenAsVal;
  }

  override transformCell(cell: CellView): CellView {
    this.#cell.strip(cell, this.#lenAsVal);
    return this.#cell;
  }
}

/** A cell of its own: the key of another, with a short value. */
class BareCell extends CellFields {
  override block: Uint8Array = new Uint8Array(256);

  strip(cell: CellView, lenAsVal: boolean): void {
    const { at } = cell;
    const keyEnd = cell.timestampAt + 9 - at;
    if (keyEnd + 4 > this.block.length) this.block = new Uint8Array((keyEnd + 4) * 2);
    const { block } = this;
    for (let i = 0; i < keyEnd; i++) block[i] = cell.block[at + i]!;
    this.valueLength = lenAsVal ? 4 : 0;
    putU32(block, 4, this.valueLength);
    if (lenAsVal) putU32(block, keyEnd, cell.valueLength);
    this.length = keyEnd + this.valueLength;
    this.rowAt = cell.rowAt - at;
    this.rowLength = cell.rowLength;
    this.qualifierAt = cell.qualifierAt - at;
    this.qualifierLength = cell.qualifierLength;
    this.timestampAt = cell.timestampAt - at;
    this.valueAt = keyEnd;
    this.tagsAt = this.length;
    this.writeHigh = cell.writeHigh;
    this.writeLow = cell.writeLow;
  }
}
