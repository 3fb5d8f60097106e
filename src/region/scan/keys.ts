/** Cell keys compared and kept: small helpers of the read path, all without allocation. */
import {
  LATEST_HIGH,
  LATEST_LOW,
  NO_BYTES,
  TYPE_MAXIMUM,
  TYPE_MINIMUM,
  compareRanges,
  u32,
} from '../../cell/index.ts';
import type { CellView, SeekKey } from '../../cell/index.ts';

/**
 * Orders two cells of one store: row, qualifier, timestamp (falling), type (falling), write number (falling).
 * Negative: `a` comes first.
 */
export function compareCells(a: CellView, b: CellView): number {
  let order = compareRanges(a.block, a.rowAt, a.rowLength, b.block, b.rowAt, b.rowLength);
  if (order !== 0) return order;
  order = compareRanges(
    a.block,
    a.qualifierAt,
    a.qualifierLength,
    b.block,
    b.qualifierAt,
    b.qualifierLength,
  );
  if (order !== 0) return order;
  // Timestamp and type are 9 bytes that fall together.
  for (let i = 0; i < 9; i++) {
    order = b.block[b.timestampAt + i]! - a.block[a.timestampAt + i]!;
    if (order !== 0) return order;
  }
  return a.writeHigh === b.writeHigh ? b.writeLow - a.writeLow : b.writeHigh - a.writeHigh;
}

/** Orders a cell against a place to seek to. Negative: the cell lies before it. */
export function compareCellToKey(cell: CellView, key: SeekKey): number {
  let order = compareRanges(
    cell.block,
    cell.rowAt,
    cell.rowLength,
    key.row,
    key.rowAt,
    key.rowLength,
  );
  if (order !== 0) return order;
  if (key.qualifier === null) return 1;
  order = compareRanges(
    cell.block,
    cell.qualifierAt,
    cell.qualifierLength,
    key.qualifier,
    key.qualifierAt,
    key.qualifierLength,
  );
  if (order !== 0) return order;
  order = key.timestampHigh - u32(cell.block, cell.timestampAt);
  if (order !== 0) return order;
  order = key.timestampLow - u32(cell.block, cell.timestampAt + 4);
  if (order !== 0) return order;
  order = key.type - cell.block[cell.timestampAt + 8]!;
  return order !== 0 ? order : 1;
}

export function sameRowAs(
  cell: CellView,
  row: Uint8Array,
  rowAt: number,
  rowLength: number,
): boolean {
  return cell.rowLength === rowLength && sameBytes(cell.block, cell.rowAt, row, rowAt, rowLength);
}

/** Whether two ranges of `length` bytes are equal. Looks at the end first: there neighbouring keys differ. */
export function sameBytes(
  a: Uint8Array,
  aAt: number,
  b: Uint8Array,
  bAt: number,
  length: number,
): boolean {
  for (let i = length - 1; i >= 0; i--) if (a[aAt + i] !== b[bAt + i]) return false;
  return true;
}

const KEPT_MIN = 64;

/** Bytes kept beyond the move of a cursor, in a buffer that is reused. */
export class KeptBytes {
  /** Made with the first bytes: most are never kept. */
  buf: Uint8Array = NO_BYTES;
  length = 0;

  set(from: Uint8Array, at: number, length: number): void {
    if (length > this.buf.length) this.buf = new Uint8Array(Math.max(KEPT_MIN, length * 2));
    const buf = this.buf;
    if (length < 64) for (let i = 0; i < length; i++) buf[i] = from[at + i]!;
    else buf.set(from.subarray(at, at + length));
    this.length = length;
  }

  /** The bytes and one more, 0: as a row, the least one after it. */
  setWithZero(from: Uint8Array, length: number): void {
    if (length >= this.buf.length) this.buf = new Uint8Array(Math.max(KEPT_MIN, length * 2 + 1));
    for (let i = 0; i < length; i++) this.buf[i] = from[i]!;
    this.buf[length] = 0;
    this.length = length + 1;
  }

  equals(from: Uint8Array, at: number, length: number): boolean {
    return length === this.length && sameBytes(this.buf, 0, from, at, length);
  }
}

/** A reusable place to seek to. Row and qualifier are the caller's bytes: they must stay until the seek is done. */
export class SeekTarget implements SeekKey {
  row: Uint8Array = NO_BYTES;
  rowAt = 0;
  rowLength = 0;
  qualifier: Uint8Array | null = null;
  qualifierAt = 0;
  qualifierLength = 0;
  timestampHigh: number = LATEST_HIGH;
  timestampLow: number = LATEST_LOW;
  type: number = TYPE_MAXIMUM;

  /** The first cell of the row, markers included. */
  toRow(row: Uint8Array, rowAt: number, rowLength: number): void {
    this.row = row;
    this.rowAt = rowAt;
    this.rowLength = rowLength;
    this.qualifier = null;
    this.qualifierAt = 0;
    this.qualifierLength = 0;
    this.#newest();
  }

  /** The newest cell of a column of the row set before. */
  toColumn(qualifier: Uint8Array, length: number): void {
    this.toColumnAt(qualifier, 0, length);
  }

  /** As `toColumn`, with the qualifier within other bytes. */
  toColumnAt(qualifier: Uint8Array, at: number, length: number): void {
    this.qualifier = qualifier;
    this.qualifierAt = at;
    this.qualifierLength = length;
    this.#newest();
  }

  /** Behind every cell of a column of the row set before. */
  afterColumn(qualifier: Uint8Array, length: number): void {
    this.qualifier = qualifier;
    this.qualifierAt = 0;
    this.qualifierLength = length;
    this.timestampHigh = 0;
    this.timestampLow = 0;
    this.type = TYPE_MINIMUM;
  }

  #newest(): void {
    this.timestampHigh = LATEST_HIGH;
    this.timestampLow = LATEST_LOW;
    this.type = TYPE_MAXIMUM;
  }
}
