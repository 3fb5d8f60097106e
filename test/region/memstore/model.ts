/** The slow, obvious memstore that the fast one is checked against, and cells to fill both with. */
import { compareBytes, keyValueSize, writeKeyValue } from '../../../src/cell/index.ts';
import type { CellView, SeekKey } from '../../../src/cell/index.ts';

export interface ModelCell {
  readonly row: Buffer;
  readonly qualifier: Buffer;
  readonly timestamp: bigint;
  readonly type: number;
  readonly write: bigint;
  readonly value: Buffer;
  readonly tags: Buffer;
}

export const high = (value: bigint): number => Number(value >> 32n);
export const low = (value: bigint): number => Number(value & 0xffffffffn);
const descending = (a: bigint, b: bigint): number => (a === b ? 0 : a > b ? -1 : 1);

export function compareCells(a: ModelCell, b: ModelCell): number {
  return (
    compareBytes(a.row, b.row) ||
    compareBytes(a.qualifier, b.qualifier) ||
    descending(a.timestamp, b.timestamp) ||
    b.type - a.type ||
    descending(a.write, b.write)
  );
}

export interface ModelKey {
  readonly row: Buffer;
  /** Null: the start of the row. */
  readonly qualifier: Buffer | null;
  readonly timestamp: bigint;
  readonly type: number;
}

/** Whether a cell is before the place of a key. */
function isBefore(cell: ModelCell, key: ModelKey): boolean {
  const rows = compareBytes(cell.row, key.row);
  if (rows !== 0) return rows < 0;
  if (key.qualifier === null) return false;
  const order =
    compareBytes(cell.qualifier, key.qualifier) ||
    descending(cell.timestamp, key.timestamp) ||
    key.type - cell.type;
  return order < 0;
}

export class ModelStore {
  readonly cells: ModelCell[] = [];

  insert(cell: ModelCell): void {
    const at = this.#first((other) => compareCells(other, cell) >= 0);
    const replaces = at < this.cells.length && compareCells(this.cells[at]!, cell) === 0;
    this.cells.splice(at, replaces ? 1 : 0, cell);
  }

  seek(key: ModelKey): number {
    return this.#first((cell) => !isBefore(cell, key));
  }

  /** Index of the first cell that holds, given that all cells after it do too. */
  #first(holds: (cell: ModelCell) => boolean): number {
    let low = 0;
    let high = this.cells.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(this.cells[middle]!)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** First cell of the greatest row below; the count if there is none. */
  seekBeforeRow(row: Buffer): number {
    const before = this.cells[this.#first((cell) => compareBytes(cell.row, row) >= 0) - 1];
    if (before === undefined) return this.cells.length;
    return this.#first((cell) => compareBytes(cell.row, before.row) >= 0);
  }
}

const FAMILY = Buffer.from('f');

export function encode(cell: ModelCell): Buffer {
  const { row, qualifier, value, tags } = cell;
  const size = keyValueSize(row.length, FAMILY.length, qualifier.length, value.length, tags.length);
  const buf = Buffer.alloc(size);
  writeKeyValue(buf, 0, {
    row,
    family: FAMILY,
    qualifier,
    timestampHigh: high(cell.timestamp),
    timestampLow: low(cell.timestamp),
    type: cell.type,
    value,
    tags,
  });
  return buf;
}

/** Reads a whole cell back through the view's offsets. */
export function decode(view: CellView): ModelCell {
  const block = Buffer.from(view.block.buffer, view.block.byteOffset, view.block.byteLength);
  const part = (at: number, length: number): Buffer => Buffer.from(block.subarray(at, at + length));
  const cell = {
    row: part(view.rowAt, view.rowLength),
    qualifier: part(view.qualifierAt, view.qualifierLength),
    timestamp: block.readBigUInt64BE(view.timestampAt),
    type: block[view.timestampAt + 8]!,
    write: (BigInt(view.writeHigh) << 32n) | BigInt(view.writeLow),
    value: part(view.valueAt, view.valueLength),
    tags: part(view.tagsAt, view.tagsLength),
  };
  if (!encode(cell).equals(part(view.at, view.length))) throw new Error('view and bytes differ');
  return cell;
}

/** The whole cell as one string, to compare many quickly. */
export const textOf = (cell: ModelCell): string =>
  `${cell.write} ${encode(cell).toString('latin1')}`;

/** A seek key whose bytes lie somewhere inside larger buffers. */
export function seekKey(key: ModelKey): SeekKey {
  const pad = Buffer.from('pad');
  return {
    row: Buffer.concat([pad, key.row, pad]),
    rowAt: pad.length,
    rowLength: key.row.length,
    qualifier: key.qualifier === null ? null : Buffer.concat([pad, key.qualifier, pad]),
    qualifierAt: pad.length,
    qualifierLength: key.qualifier === null ? 0 : key.qualifier.length,
    timestampHigh: high(key.timestamp),
    timestampLow: low(key.timestamp),
    type: key.type,
  };
}

/** A small seeded generator (mulberry32): integers in [0, below). */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
