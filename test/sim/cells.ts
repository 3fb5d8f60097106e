/** Cells as the model keeps them: plain objects, bytes as latin1 text, so that they compare and print as they are. */
import { u16, u32, u64 } from '../../src/cell/index.ts';
import type { Bytes, Cell, Column, Value } from '../../src/model/index.ts';

export const PUT = 4;
export const DELETE = 8;
export const DELETE_FAMILY_VERSION = 10;
export const DELETE_COLUMN = 12;
export const DELETE_FAMILY = 14;

export interface ModelCell {
  readonly row: string;
  readonly family: string;
  readonly qualifier: string;
  readonly ts: number;
  readonly type: number;
  readonly value: string;
  /** The cell's own time to live in milliseconds; 0 for none. */
  readonly ttlMs: number;
  /** The commit that wrote it. */
  readonly tso: bigint;
  /** A flush or a load has brought it to a store file: no crash can take it any more. */
  isInFile?: boolean;
  /** The switch that took it out of the live files; readers below it still see the cell. */
  dropTso?: bigint;
  /** That switch's place among all changes of files: what was applied before it still saw the cell. */
  dropTurn?: number;
}

export const textOf = (bytes: Bytes): string =>
  (typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : Buffer.from(bytes)).toString('latin1');

/** A value as bytes in latin1: a bigint is 8 bytes big-endian. */
export function valueText(value: Value): string {
  if (typeof value !== 'bigint') return textOf(value);
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes.toString('latin1');
}

export const counterOf = (value: string): bigint => Buffer.from(value, 'latin1').readBigInt64BE(0);

/** Family and qualifier; null for a whole family (`'f'`) where reads allow it. */
export function columnOf(column: Column): { family: string; qualifier: string | null } {
  if (typeof column !== 'string') return { family: column[0], qualifier: textOf(column[1]) };
  const colon = column.indexOf(':');
  if (colon < 0) return { family: column, qualifier: null };
  return { family: column.slice(0, colon), qualifier: textOf(column.slice(colon + 1)) };
}

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** HBase's order within a row: family, qualifier, timestamp and type descending, then the newer commit. */
export function byKey(a: ModelCell, b: ModelCell): number {
  return (
    byText(a.family, b.family) ||
    byText(a.qualifier, b.qualifier) ||
    b.ts - a.ts ||
    b.type - a.type ||
    (a.tso < b.tso ? 1 : a.tso > b.tso ? -1 : 0)
  );
}

export const sameKey = (a: ModelCell, b: ModelCell): boolean =>
  a.ts === b.ts &&
  a.type === b.type &&
  a.qualifier === b.qualifier &&
  a.family === b.family &&
  a.row === b.row;

const LETTERS: Readonly<Record<number, string>> = { 4: '+', 8: 'd', 10: 'v', 12: 'c', 14: 'f' };

function shortened(value: string): string {
  const printable = /^[\x20-\x7e]*$/.test(value);
  const text = printable ? value : `x${Buffer.from(value, 'latin1').toString('hex')}`;
  return text.length <= 24 ? text : `${text.slice(0, 20)}~${text.length}~${hash32(value)}`;
}

/** FNV-1a of a text, for values too long to print. */
export function hash32(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0).toString(16);
}

export function cellText(cell: ModelCell): string {
  const ttl = cell.ttlMs === 0 ? '' : ` ttl=${cell.ttlMs}`;
  const letter = LETTERS[cell.type] ?? `?${cell.type}`;
  return `${cell.row}/${cell.family}:${cell.qualifier}/${cell.ts}${letter}${shortened(cell.value)}${ttl}@${cell.tso}`;
}

export const cellsText = (cells: readonly ModelCell[]): string =>
  cells.length === 0 ? 'null' : cells.map(cellText).join(' ');

const TYPES: Readonly<Record<string, number>> = {
  Put: PUT,
  Delete: DELETE,
  DeleteFamilyVersion: DELETE_FAMILY_VERSION,
  DeleteColumn: DELETE_COLUMN,
  DeleteFamily: DELETE_FAMILY,
};

/** A cell that the API answered. */
export function fromAnswer(cell: Cell): ModelCell {
  return {
    row: textOf(cell.row),
    family: cell.family,
    qualifier: textOf(cell.qualifier),
    ts: Number(cell.ts),
    type: TYPES[cell.type] ?? -1,
    value: textOf(cell.value),
    ttlMs: ttlOf(cell.tags),
    tso: cell.tso,
  };
}

/** The TTL tag (type 8, 8 bytes) of encoded tags; 0 for none. Any other tag is a surprise. */
function ttlOf(tags: Uint8Array): number {
  if (tags.length === 0) return 0;
  if (tags.length !== 11 || u16(tags, 0) !== 9 || tags[2] !== 8) return -1;
  return Number(u64(tags, 3));
}

/** The KeyValue of `length` bytes at `at` of `buf`. */
export function fromKeyValue(buf: Uint8Array, at: number, length: number, tso: bigint): ModelCell {
  const latin1 = (from: number, to: number): string =>
    Buffer.from(buf.subarray(from, to)).toString('latin1');
  const keyEnd = at + 8 + u32(buf, at);
  const rowEnd = at + 10 + u16(buf, at + 8);
  const familyEnd = rowEnd + 1 + buf[rowEnd]!;
  const valueEnd = keyEnd + u32(buf, at + 4);
  const end = at + length;
  return {
    row: latin1(at + 10, rowEnd),
    family: latin1(rowEnd + 1, familyEnd),
    qualifier: latin1(familyEnd, keyEnd - 9),
    ts: Number(u64(buf, keyEnd - 9)),
    type: buf[keyEnd - 1]!,
    value: latin1(keyEnd, valueEnd),
    ttlMs: end > valueEnd ? ttlOf(buf.subarray(valueEnd + 2, end)) : 0,
    tso,
  };
}
