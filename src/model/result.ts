/**
 * What a read answers: the cells of one row (or a part of it), lazily decoded. A result owns its bytes: they stay
 * valid after the scan moves on, and changing them changes nothing else.
 */
import { LATEST, compareRanges, toBytes, toStringBinary, u16, u32, u64 } from '../cell/index.ts';
import { IllegalArgumentException } from './errors.ts';
import type { Bytes, Column } from './requests.ts';
import { shown, toArgumentBytes } from './values.ts';

/** One decoded cell. The byte arrays are views into the result's own bytes. */
export interface Cell {
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly ts: bigint;
  /** Put, Delete, DeleteFamilyVersion, DeleteColumn or DeleteFamily. */
  readonly type: CellType;
  readonly value: Uint8Array;
  /** Encoded tags (u16 length of type and data, u8 type, data, …); empty for none. */
  readonly tags: Uint8Array;
  /** The commit that wrote the cell; 0n when a compaction has dropped it. */
  readonly tso: bigint;
}

export type CellType = 'Put' | 'Delete' | 'DeleteFamilyVersion' | 'DeleteColumn' | 'DeleteFamily';

const TYPE_NAMES = new Map<number, CellType>([
  [4, 'Put'],
  [8, 'Delete'],
  [10, 'DeleteFamilyVersion'],
  [12, 'DeleteColumn'],
  [14, 'DeleteFamily'],
]);

/** Splits `family:qualifier` at the first ':'; without one the qualifier is empty. Throws IllegalArgumentException. */
export function splitColumn(column: Column): { family: string; qualifier: Uint8Array } {
  if (typeof column !== 'string') return columnOfPair(column);
  const colon = column.indexOf(':');
  if (colon < 0) return { family: column, qualifier: new Uint8Array(0) };
  const qualifier = toArgumentBytes(column.slice(colon + 1), 'A qualifier');
  return { family: column.slice(0, colon), qualifier };
}

function columnOfPair(pair: readonly [family: string, qualifier: Bytes]): {
  family: string;
  qualifier: Uint8Array;
} {
  if (!Array.isArray(pair)) {
    throw new IllegalArgumentException(
      `A column must be 'family:qualifier' or [family, qualifier], not ${shown(pair)}`,
    );
  }
  const [family, qualifier] = pair as readonly [string, Bytes];
  if (typeof family !== 'string') {
    throw new IllegalArgumentException(`Family of a column must be a string, not ${shown(family)}`);
  }
  return { family, qualifier: toArgumentBytes(qualifier, `Qualifier of ${family}`) };
}

/**
 * Entry of a packed cell in a result's bytes, as the region scanner writes it:
 * u32 length of the KeyValue · u64 write number · KeyValue.
 */
export const PACKED_CELL_HEADER = 12;

export class Result {
  readonly #buf: Uint8Array;
  readonly #from: number;
  readonly #to: number;
  /** Cells in this result. */
  readonly size: number;
  /** True when more cells of the same row follow in the next result (scan with `batch`). */
  readonly partial: boolean;

  /** `buf[from, to)` holds `size` >= 1 packed cells and now belongs to the result. */
  constructor(buf: Uint8Array, from: number, to: number, size: number, partial: boolean) {
    this.#buf = buf;
    this.#from = from;
    this.#to = to;
    this.size = size;
    this.partial = partial;
  }

  get row(): Uint8Array {
    const at = this.#from + PACKED_CELL_HEADER;
    return this.#buf.subarray(at + 10, at + 10 + u16(this.#buf, at + 8));
  }

  /** The row as UTF-8 text. */
  get rowText(): string {
    return Buffer.from(this.row).toString('utf8');
  }

  /** All cells in HBase's order. Decoded at each call. */
  get cells(): Cell[] {
    const cells: Cell[] = [];
    for (let at = this.#from; at < this.#to; at += PACKED_CELL_HEADER + u32(this.#buf, at)) {
      cells.push(decodeCell(this.#buf, at));
    }
    return cells;
  }

  /** The newest returned value of the column; null if it has none. A view, not a copy. */
  value(column: Column): Uint8Array | null {
    const at = this.#find(column);
    if (at < 0) return null;
    const valueAt = at + 8 + u32(this.#buf, at);
    return this.#buf.subarray(valueAt, valueAt + u32(this.#buf, at + 4));
  }

  /** The value as UTF-8. */
  text(column: Column): string | null {
    const value = this.value(column);
    return value === null
      ? null
      : Buffer.from(value.buffer, value.byteOffset, value.length).toString();
  }

  /** The value as a signed 64-bit number; throws RangeError unless it has 8 bytes. */
  int64(column: Column): bigint | null {
    const value = this.value(column);
    if (value === null) return null;
    requireEightBytes(value, column);
    return BigInt.asIntN(64, u64(value, 0));
  }

  /** The value as an IEEE double (HBase's `Bytes.toBytes(double)`); throws RangeError unless it has 8 bytes. */
  double(column: Column): number | null {
    const value = this.value(column);
    if (value === null) return null;
    requireEightBytes(value, column);
    return new DataView(value.buffer, value.byteOffset, 8).getFloat64(0);
  }

  has(column: Column): boolean {
    return this.#find(column) >= 0;
  }

  /** `{ 'family:qualifier': text }` with HBase's readable form of qualifiers and values; newest version each. */
  toJSON(): Record<string, string> {
    const json: Record<string, string> = {};
    for (const cell of this.cells) {
      const name = `${cell.family}:${toStringBinary(cell.qualifier)}`;
      if (!(name in json)) json[name] = toStringBinary(cell.value);
    }
    return json;
  }

  /** Bytes of the cells as packed: for consumers that read bytes rather than objects. Read only. */
  get packed(): Uint8Array {
    return this.#buf.subarray(this.#from, this.#to);
  }

  /** Offset of the first KeyValue of the column, or -1. Text of plain ASCII is compared as it is, without encoding it. */
  #find(column: Column): number {
    const colon = typeof column === 'string' ? column.indexOf(':') : -1;
    if (typeof column !== 'string' || !isAscii(column)) return this.#findBytes(column);
    const familyLength = colon < 0 ? column.length : colon;
    const qualifierFrom = colon < 0 ? column.length : colon + 1;
    const buf = this.#buf;
    for (let at = this.#from; at < this.#to; at += PACKED_CELL_HEADER + u32(buf, at)) {
      const cellAt = at + PACKED_CELL_HEADER;
      const familyAt = cellAt + 11 + u16(buf, cellAt + 8);
      if (buf[familyAt - 1] !== familyLength) continue;
      const qualifierAt = familyAt + familyLength;
      const qualifierLength = cellAt + 8 + u32(buf, cellAt) - 9 - qualifierAt;
      if (qualifierLength !== column.length - qualifierFrom) continue;
      if (!sameText(buf, familyAt, column, 0, familyLength)) continue;
      if (sameText(buf, qualifierAt, column, qualifierFrom, column.length)) return cellAt;
    }
    return -1;
  }

  #findBytes(column: Column): number {
    const { family, qualifier } = splitColumn(column);
    const buf = this.#buf;
    for (let at = this.#from; at < this.#to; at += PACKED_CELL_HEADER + u32(buf, at)) {
      const cellAt = at + PACKED_CELL_HEADER;
      const familyAt = cellAt + 11 + u16(buf, cellAt + 8);
      const familyLength = buf[familyAt - 1]!;
      if (familyLength !== family.length) continue;
      if (!sameText(buf, familyAt, family, 0, familyLength)) continue;
      const qualifierAt = familyAt + familyLength;
      const qualifierLength = cellAt + 8 + u32(buf, cellAt) - 9 - qualifierAt;
      if (
        qualifierLength === qualifier.length &&
        compareRanges(buf, qualifierAt, qualifierLength, qualifier, 0, qualifier.length) === 0
      ) {
        return cellAt;
      }
    }
    return -1;
  }
}

/** Whether the bytes at `at` are the characters [from, to) of a text, one byte each. */
function sameText(buf: Uint8Array, at: number, text: string, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (buf[at + i - from] !== text.charCodeAt(i)) return false;
  return true;
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

function requireEightBytes(value: Uint8Array, column: Column): void {
  if (value.length !== 8) {
    const name = typeof column === 'string' ? column : `${column[0]}:${toReadable(column[1])}`;
    throw new RangeError(`value of ${name} has ${value.length} bytes, not 8`);
  }
}

const toReadable = (bytes: Bytes): string => toStringBinary(toBytes(bytes));

function decodeCell(buf: Uint8Array, packedAt: number): Cell {
  const at = packedAt + PACKED_CELL_HEADER;
  const length = u32(buf, packedAt);
  const keyEnd = at + 8 + u32(buf, at);
  const rowLength = u16(buf, at + 8);
  const familyAt = at + 11 + rowLength;
  const familyLength = buf[familyAt - 1]!;
  const valueEnd = keyEnd + u32(buf, at + 4);
  const end = at + length;
  const type = TYPE_NAMES.get(buf[keyEnd - 1]!);
  if (type === undefined) throw new RangeError(`cell type ${buf[keyEnd - 1]} is unknown`);
  return {
    row: buf.subarray(at + 10, at + 10 + rowLength),
    family: Buffer.from(buf.subarray(familyAt, familyAt + familyLength)).toString('latin1'),
    qualifier: buf.subarray(familyAt + familyLength, keyEnd - 9),
    ts: u64(buf, keyEnd - 9) & LATEST,
    type,
    value: buf.subarray(keyEnd, valueEnd),
    tags: end > valueEnd ? buf.subarray(valueEnd + 2, end) : new Uint8Array(0),
    tso: u64(buf, packedAt + 4),
  };
}
