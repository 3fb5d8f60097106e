/**
 * The order of cells in a memstore, and the key that a search compares with stored ones.
 *
 * A full key is also a string of *symbols* whose plain order from left to right is the order of cells:
 *
 *     each byte of the row + 1 · 0 · each byte of the qualifier + 1 · 0 ·
 *     256 - each of the 8 bytes of the timestamp · 256 - type · 256 - each of the 8 bytes of the write number
 *
 * The 0 ends a row before any longer row that starts with it; timestamps, types and write numbers descend. Six symbols of
 * base 257 are an exact double (257^6 < 2^53): the *prefix* that the index keeps beside each ref, taken behind the
 * symbols that all keys of a run share. Equal families are taken for granted: a store holds one.
 */
import { KEY_AT, KEY_OVERHEAD, ROW_AT, compareRanges, u16, u32 } from '../../cell/index.ts';
import type { SeekKey } from '../../cell/index.ts';
import { CELL_HEADER_SIZE, TAGS_FLAG, blockOf, keyValueAt } from './slabs.ts';

/** Symbols in a prefix. */
export const PREFIX_LENGTH = 6;
const BASE = 257;
const BASE_2 = 66049;
const BASE_3 = 16974593;
const EMPTY = new Uint8Array(0);
/** From here on a native comparison beats a loop. */
const NATIVE_MIN = 64;

/** A full key to search with: a caller's seek key, or that of a stored cell. Owns no bytes. */
export class Probe {
  row: Uint8Array = EMPTY;
  rowAt = 0;
  rowLength = 0;
  qualifier: Uint8Array = EMPTY;
  qualifierAt = 0;
  qualifierLength = 0;
  timestampHigh = 0;
  timestampLow = 0;
  type = 0;
  writeHigh = 0;
  writeLow = 0;

  /** The place before every cell that is at or after `key`, whatever its write number. */
  setSeek(key: SeekKey): void {
    const qualifier = key.qualifier;
    if (qualifier === null) {
      this.setRowStart(key.row, key.rowAt, key.rowLength);
      return;
    }
    this.row = key.row;
    this.rowAt = key.rowAt;
    this.rowLength = key.rowLength;
    this.qualifier = qualifier;
    this.qualifierAt = key.qualifierAt;
    this.qualifierLength = key.qualifierLength;
    this.timestampHigh = key.timestampHigh >>> 0;
    this.timestampLow = key.timestampLow >>> 0;
    this.type = key.type;
    this.writeHigh = 0xffffffff;
    this.writeLow = 0xffffffff;
  }

  /** The place before every cell of the row: the empty qualifier with everything that descends at its greatest. */
  setRowStart(row: Uint8Array, rowAt: number, rowLength: number): void {
    this.row = row;
    this.rowAt = rowAt;
    this.rowLength = rowLength;
    this.qualifier = EMPTY;
    this.qualifierAt = 0;
    this.qualifierLength = 0;
    this.timestampHigh = 0xffffffff;
    this.timestampLow = 0xffffffff;
    this.type = 0xff;
    this.writeHigh = 0xffffffff;
    this.writeLow = 0xffffffff;
  }

  /** The key of a stored cell. */
  setStored(blocks: readonly Uint8Array[], ref: number): void {
    const block = blockOf(blocks, ref);
    const at = keyValueAt(ref);
    this.setKeyValue(block, at, writeHighAt(block, at), u32(block, at - 4));
  }

  /** The key of the KeyValue at `at` with a write number. */
  setKeyValue(buf: Uint8Array, at: number, writeHigh: number, writeLow: number): void {
    const rowLength = u16(buf, at + KEY_AT);
    const familyLength = buf[at + ROW_AT + rowLength]!;
    const qualifierAt = at + ROW_AT + 1 + rowLength + familyLength;
    const qualifierLength = u32(buf, at) - KEY_OVERHEAD - rowLength - familyLength;
    const timestampAt = qualifierAt + qualifierLength;
    this.row = buf;
    this.rowAt = at + ROW_AT;
    this.rowLength = rowLength;
    this.qualifier = buf;
    this.qualifierAt = qualifierAt;
    this.qualifierLength = qualifierLength;
    this.timestampHigh = u32(buf, timestampAt);
    this.timestampLow = u32(buf, timestampAt + 4);
    this.type = buf[timestampAt + 8]!;
    this.writeHigh = writeHigh;
    this.writeLow = writeLow;
  }

  /** Symbols `from` … `from + 5` as one number; symbols behind the end count as 0. */
  prefix(from: number): number {
    if (from + PREFIX_LENGTH > this.rowLength) return this.#prefixBeyondRow(from);
    const row = this.row;
    const at = this.rowAt + from;
    const upper = (row[at]! + 1) * BASE_2 + (row[at + 1]! + 1) * BASE + row[at + 2]! + 1;
    const lower = (row[at + 3]! + 1) * BASE_2 + (row[at + 4]! + 1) * BASE + row[at + 5]! + 1;
    return upper * BASE_3 + lower;
  }

  /** The same where the six reach over the row's end. */
  #prefixBeyondRow(from: number): number {
    const { row, rowAt, rowLength, qualifier, qualifierLength } = this;
    const end = from + PREFIX_LENGTH;
    let prefix = 0;
    let i = from;
    for (; i < rowLength; i++) prefix = prefix * BASE + row[rowAt + i]! + 1;
    if (i === rowLength) {
      prefix *= BASE;
      i++;
    }
    const qualifierEnd = rowLength + 1 + qualifierLength;
    const base = this.qualifierAt - rowLength - 1;
    for (; i < end && i < qualifierEnd; i++) prefix = prefix * BASE + qualifier[base + i]! + 1;
    for (; i < end; i++) prefix = prefix * BASE + this.symbol(i);
    return prefix;
  }

  /** Symbol `index` of the key; 0 behind its end. */
  symbol(index: number): number {
    if (index < this.rowLength) return this.row[this.rowAt + index]! + 1;
    const inQualifier = index - this.rowLength - 1;
    if (inQualifier < 0) return 0;
    if (inQualifier < this.qualifierLength)
      return this.qualifier[this.qualifierAt + inQualifier]! + 1;
    const inTail = inQualifier - this.qualifierLength - 1;
    if (inTail < 0) return 0;
    if (inTail < 4) return 256 - ((this.timestampHigh >>> (24 - 8 * inTail)) & 0xff);
    if (inTail < 8) return 256 - ((this.timestampLow >>> (56 - 8 * inTail)) & 0xff);
    if (inTail === 8) return 256 - this.type;
    if (inTail < 13) return 256 - ((this.writeHigh >>> (96 - 8 * inTail)) & 0xff);
    if (inTail < 17) return 256 - ((this.writeLow >>> (128 - 8 * inTail)) & 0xff);
    return 0;
  }

  /** Count of symbols, endings included. */
  symbolCount(): number {
    return this.rowLength + this.qualifierLength + 19;
  }

  /** How many symbols, at most `limit`, this key shares with another from the start. */
  shared(other: Probe, limit: number): number {
    const rowMin = Math.min(limit, this.rowLength, other.rowLength);
    let i = 0;
    if (rowMin >= NATIVE_MIN && sameBytes(this.row, this.rowAt, other.row, other.rowAt, rowMin)) {
      i = rowMin;
    }
    while (i < rowMin && this.row[this.rowAt + i] === other.row[other.rowAt + i]) i++;
    if (i < rowMin) return i;
    while (i < limit && this.symbol(i) === other.symbol(i)) i++;
    return i;
  }

  /** Whether the first `count` symbols, all within both rows, equal those of a stored cell. */
  sharesRowStart(blocks: readonly Uint8Array[], ref: number, count: number): boolean {
    if (count > this.rowLength || count > NATIVE_MIN) return false;
    const block = blockOf(blocks, ref);
    const at = keyValueAt(ref);
    if (count > u16(block, at + KEY_AT)) return false;
    const { row, rowAt } = this;
    // From the end, where keys differ most often.
    for (let i = count - 1; i >= 0; i--) {
      if (row[rowAt + i] !== block[at + ROW_AT + i]) return false;
    }
    return true;
  }

  /** Orders this key against a stored cell's, of which `from` symbols are known to be equal. Negative, 0 or positive. */
  compare(blocks: readonly Uint8Array[], ref: number, from: number): number {
    const block = blockOf(blocks, ref);
    const at = keyValueAt(ref);
    const rowLength = u16(block, at + KEY_AT);
    let known = from - rowLength - 1;
    if (known < 0) {
      const order = compareTail(
        this.row,
        this.rowAt,
        this.rowLength,
        block,
        at + ROW_AT,
        rowLength,
        from,
      );
      if (order !== 0) return order;
      known = 0;
    }
    return this.#compareInRow(block, at, rowLength, known);
  }

  /** Goes on in an equal row; `known` bytes of the qualifier are equal, and all of it if more than there are. */
  #compareInRow(block: Uint8Array, at: number, rowLength: number, known: number): number {
    const familyLength = block[at + ROW_AT + rowLength]!;
    const qualifierAt = at + ROW_AT + rowLength + 1 + familyLength;
    const qualifierLength = u32(block, at) - KEY_OVERHEAD - rowLength - familyLength;
    if (known <= qualifierLength) {
      const order = compareTail(
        this.qualifier,
        this.qualifierAt,
        this.qualifierLength,
        block,
        qualifierAt,
        qualifierLength,
        known,
      );
      if (order !== 0) return order;
    }
    const timestampAt = qualifierAt + qualifierLength;
    let difference = u32(block, timestampAt) - this.timestampHigh;
    if (difference !== 0) return difference;
    difference = u32(block, timestampAt + 4) - this.timestampLow;
    if (difference !== 0) return difference;
    difference = block[timestampAt + 8]! - this.type;
    if (difference !== 0) return difference;
    difference = writeHighAt(block, at) - this.writeHigh;
    return difference !== 0 ? difference : u32(block, at - 4) - this.writeLow;
  }
}

/** The upper half of the write number before the KeyValue at `at`. */
export function writeHighAt(block: Uint8Array, at: number): number {
  return (u32(block, at - CELL_HEADER_SIZE) & ~TAGS_FLAG) >>> 0;
}

/** Orders byte ranges whose first `known` bytes are equal (`known` is at most the shorter length). */
function compareTail(
  a: Uint8Array,
  aAt: number,
  aLength: number,
  b: Uint8Array,
  bAt: number,
  bLength: number,
  known: number,
): number {
  const common = aLength < bLength ? aLength : bLength;
  if (common - known >= NATIVE_MIN) {
    return compareRanges(a, aAt + known, aLength - known, b, bAt + known, bLength - known);
  }
  for (let i = known; i < common; i++) {
    const difference = a[aAt + i]! - b[bAt + i]!;
    if (difference !== 0) return difference;
  }
  return aLength - bLength;
}

function sameBytes(
  a: Uint8Array,
  aAt: number,
  b: Uint8Array,
  bAt: number,
  length: number,
): boolean {
  return compareRanges(a, aAt, length, b, bAt, length) === 0;
}
