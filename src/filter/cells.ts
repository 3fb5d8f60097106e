/** Parts of a cell under a view, and places to seek to: small helpers, all without allocation. */
import {
  LATEST_HIGH,
  LATEST_LOW,
  TYPE_MAXIMUM,
  TYPE_MINIMUM,
  compareRanges,
  u32,
} from '../cell/index.ts';
import type { CellView, SeekKey } from '../cell/index.ts';

/** Offset of the family's bytes; the byte before is their count. */
export function familyAt(cell: CellView): number {
  return cell.rowAt + cell.rowLength + 1;
}

export function familyLength(cell: CellView): number {
  return cell.block[cell.rowAt + cell.rowLength]!;
}

export function isFamily(cell: CellView, family: Uint8Array): boolean {
  const length = familyLength(cell);
  return compareRanges(cell.block, familyAt(cell), length, family, 0, family.length) === 0;
}

export function isColumn(cell: CellView, family: Uint8Array, qualifier: Uint8Array): boolean {
  return (
    cell.qualifierLength === qualifier.length &&
    compareQualifier(cell, qualifier) === 0 &&
    isFamily(cell, family)
  );
}

/** Orders the cell's qualifier against `qualifier`. */
export function compareQualifier(cell: CellView, qualifier: Uint8Array): number {
  const { block, qualifierAt, qualifierLength } = cell;
  return compareRanges(block, qualifierAt, qualifierLength, qualifier, 0, qualifier.length);
}

/** Orders the cell's row against `row`. */
export function compareRow(cell: CellView, row: Uint8Array): number {
  return compareRanges(cell.block, cell.rowAt, cell.rowLength, row, 0, row.length);
}

/** A reusable place to seek to. Its bytes are the cell's or the filter's: good until the next move. */
export class Hint implements SeekKey {
  row: Uint8Array = new Uint8Array(0);
  rowAt = 0;
  rowLength = 0;
  qualifier: Uint8Array | null = null;
  qualifierAt = 0;
  qualifierLength = 0;
  timestampHigh: number = LATEST_HIGH;
  timestampLow: number = LATEST_LOW;
  type: number = TYPE_MAXIMUM;

  /** The start of a row. */
  toRow(row: Uint8Array, length: number = row.length): this {
    this.row = row;
    this.rowAt = 0;
    this.rowLength = length;
    this.qualifier = null;
    this.qualifierLength = 0;
    return this.#newest();
  }

  /** The newest cell of a column of the cell's row. */
  toColumn(cell: CellView, qualifier: Uint8Array): this {
    this.#rowOf(cell);
    this.qualifier = qualifier;
    this.qualifierAt = 0;
    this.qualifierLength = qualifier.length;
    return this.#newest();
  }

  /** The cells of the cell's own column with this timestamp or below. */
  toTimestamp(cell: CellView, high: number, low: number): this {
    this.#columnOf(cell);
    this.timestampHigh = high;
    this.timestampLow = low;
    this.type = TYPE_MAXIMUM;
    return this;
  }

  /** Behind the cell's own column. */
  afterColumn(cell: CellView): this {
    this.#columnOf(cell);
    this.timestampHigh = 0;
    this.timestampLow = 0;
    this.type = TYPE_MINIMUM;
    return this;
  }

  #columnOf(cell: CellView): void {
    this.#rowOf(cell);
    this.qualifier = cell.block;
    this.qualifierAt = cell.qualifierAt;
    this.qualifierLength = cell.qualifierLength;
  }

  #rowOf(cell: CellView): void {
    this.row = cell.block;
    this.rowAt = cell.rowAt;
    this.rowLength = cell.rowLength;
  }

  #newest(): this {
    this.timestampHigh = LATEST_HIGH;
    this.timestampLow = LATEST_LOW;
    this.type = TYPE_MAXIMUM;
    return this;
  }
}

/**
 * Orders two places to seek to, in the direction of the scan: rows may run backwards, cells of a row never do. Negative:
 * `a` is reached first.
 */
export function compareKeys(a: SeekKey, b: SeekKey, reversed: boolean): number {
  const rows = compareRanges(a.row, a.rowAt, a.rowLength, b.row, b.rowAt, b.rowLength);
  if (rows !== 0) return reversed ? -rows : rows;
  if (a.qualifier === null || b.qualifier === null) {
    return (a.qualifier === null ? 0 : 1) - (b.qualifier === null ? 0 : 1);
  }
  const columns = compareRanges(
    a.qualifier,
    a.qualifierAt,
    a.qualifierLength,
    b.qualifier,
    b.qualifierAt,
    b.qualifierLength,
  );
  return (
    columns ||
    b.timestampHigh - a.timestampHigh ||
    b.timestampLow - a.timestampLow ||
    b.type - a.type
  );
}

/** Bytes kept beyond the cell they came from, in a buffer that is reused; `length` -1 for nothing. */
export class Kept {
  buf: Uint8Array = new Uint8Array(32);
  length = -1;

  /** `spare`: room for further bytes. */
  set(from: Uint8Array, at: number, length: number, spare: number = 0): void {
    if (length + spare > this.buf.length) this.buf = new Uint8Array((length + spare) * 2);
    for (let i = 0; i < length; i++) this.buf[i] = from[at + i]!;
    this.length = length;
  }

  equals(from: Uint8Array, at: number, length: number): boolean {
    return length === this.length && compareRanges(this.buf, 0, length, from, at, length) === 0;
  }
}

/** A place to seek to, kept beyond the cell that named it. */
export class KeptHint extends Hint {
  readonly #row: Kept = new Kept();
  readonly #qualifier: Kept = new Kept();

  keep(key: SeekKey): void {
    this.#row.set(key.row, key.rowAt, key.rowLength);
    this.toRow(this.#row.buf, key.rowLength);
    if (key.qualifier === null) return;
    this.#qualifier.set(key.qualifier, key.qualifierAt, key.qualifierLength);
    this.qualifier = this.#qualifier.buf;
    this.qualifierAt = 0;
    this.qualifierLength = key.qualifierLength;
    this.timestampHigh = key.timestampHigh;
    this.timestampLow = key.timestampLow;
    this.type = key.type;
  }

  /** The start of the least row behind the cell's. */
  keepRowAfter({ block, rowAt, rowLength }: CellView): this {
    this.#row.set(block, rowAt, rowLength, 1);
    this.#row.buf[rowLength] = 0;
    return this.toRow(this.#row.buf, rowLength + 1);
  }

  /** Whether the cell still lies before this place, in the direction of the scan. */
  isBehind(cell: CellView, reversed: boolean): boolean {
    const { block, rowAt, rowLength } = cell;
    const rows = compareRanges(block, rowAt, rowLength, this.row, this.rowAt, this.rowLength);
    if (rows !== 0) return reversed ? rows > 0 : rows < 0;
    if (this.qualifier === null) return false;
    const { qualifierAt, qualifierLength, timestampAt } = cell;
    const columns = compareRanges(
      block,
      qualifierAt,
      qualifierLength,
      this.qualifier,
      0,
      this.qualifierLength,
    );
    if (columns !== 0) return columns < 0;
    const order =
      this.timestampHigh - u32(block, timestampAt) ||
      this.timestampLow - u32(block, timestampAt + 4) ||
      this.type - block[timestampAt + 8]!;
    return order < 0;
  }
}
