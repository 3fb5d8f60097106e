/**
 * A cell in memory, in the log, in store-file blocks and on the wire: HBase's KeyValue layout
 * (source: org.apache.hadoop.hbase.KeyValue; protocol/rpc.md section 3). All integers big-endian.
 *
 *     offset             size  field
 *          0                4  key length
 *          4                4  value length
 *          8                2  row length r, 1 … 32767
 *         10                r  row
 *         10+r              1  family length f, 1 … 127
 *         11+r              f  family
 *         11+r+f            q  qualifier, q = key length - 12 - r - f, may be 0
 *         11+r+f+q          8  timestamp, milliseconds, 0 … 2^63-1
 *         19+r+f+q          1  type
 *         8+key length      v  value
 *         8+key+value       2  tags length t   (only in stores whose cells carry tags, see below)
 *         10+key+value      t  tags, each: u16 length of type and data · u8 type · data
 *
 * In this engine a cell with tags has the tags part and a cell without has none; the total length, kept beside the
 * cell, tells which. The write number (the commit's TSO) is kept beside the cell too, never inside.
 */
import { putU16, putU32, u16, u32 } from './bytes.ts';

/** Cell types. On disk and on the wire: they never change. */
export const TYPE_MINIMUM = 0; // Fake keys only.
export const TYPE_PUT = 4;
export const TYPE_DELETE = 8;
export const TYPE_DELETE_FAMILY_VERSION = 10;
export const TYPE_DELETE_COLUMN = 12;
export const TYPE_DELETE_FAMILY = 14;
export const TYPE_MAXIMUM = 255; // Fake keys only.

export const KEY_AT = 8;
export const ROW_AT = 10;
/** Bytes of a key beside row, family and qualifier. */
export const KEY_OVERHEAD = 12;
/** Bytes of a KeyValue beside row, family, qualifier, value and tags. */
export const KEY_VALUE_OVERHEAD = 20;
export const TIMESTAMP_SIZE = 8;
/** Distance from the end of the key back to the timestamp. */
export const TIMESTAMP_FROM_KEY_END = 9;

export const ROW_LENGTH_MAX = 32767;
export const FAMILY_LENGTH_MAX = 127;

/** HBase's LATEST, 2^63-1, as two halves. A mutation's cell with this timestamp gets the commit's time. */
export const LATEST_HIGH = 0x7fffffff;
export const LATEST_LOW = 0xffffffff;
/** 2^63-2, with LATEST_HIGH: in cells of a transaction the millisecond before the commit's. */
export const BEFORE_LOW = 0xfffffffe;
export const LATEST: bigint = 0x7fffffffffffffffn;

/** Tag type of a per-cell TTL: 8 bytes, milliseconds (HBase: TagType.TTL_TAG_TYPE). */
export const TAG_TTL = 8;

export interface KeyValueParts {
  readonly row: Uint8Array;
  readonly family: Uint8Array;
  readonly qualifier: Uint8Array;
  readonly timestampHigh: number;
  readonly timestampLow: number;
  readonly type: number;
  readonly value: Uint8Array;
  /** Encoded tags without their length; empty for none. */
  readonly tags: Uint8Array;
}

/** Size in bytes of the KeyValue with these parts. */
export function keyValueSize(
  rowLength: number,
  familyLength: number,
  qualifierLength: number,
  valueLength: number,
  tagsLength: number,
): number {
  const tags = tagsLength === 0 ? 0 : 2 + tagsLength;
  return KEY_VALUE_OVERHEAD + rowLength + familyLength + qualifierLength + valueLength + tags;
}

/** Writes a KeyValue at `at` and gives the offset after it. `buf` must have room (`keyValueSize`). */
export function writeKeyValue(buf: Uint8Array, at: number, parts: KeyValueParts): number {
  const { row, family, qualifier, value, tags } = parts;
  const keyLength = KEY_OVERHEAD + row.length + family.length + qualifier.length;
  putU32(buf, at, keyLength);
  putU32(buf, at + 4, value.length);
  putU16(buf, at + KEY_AT, row.length);
  let end = at + ROW_AT;
  buf.set(row, end);
  end += row.length;
  buf[end] = family.length;
  buf.set(family, end + 1);
  end += 1 + family.length;
  buf.set(qualifier, end);
  end += qualifier.length;
  putU32(buf, end, parts.timestampHigh);
  putU32(buf, end + 4, parts.timestampLow);
  buf[end + 8] = parts.type;
  end += 9;
  buf.set(value, end);
  end += value.length;
  if (tags.length > 0) {
    putU16(buf, end, tags.length);
    buf.set(tags, end + 2);
    end += 2 + tags.length;
  }
  return end;
}

export function keyLengthAt(buf: Uint8Array, at: number): number {
  return u32(buf, at);
}

export function valueLengthAt(buf: Uint8Array, at: number): number {
  return u32(buf, at + 4);
}

export function rowLengthAt(buf: Uint8Array, at: number): number {
  return u16(buf, at + KEY_AT);
}

/** Offset of the timestamp of the KeyValue at `at`; the type is the byte 8 after it. */
export function timestampAt(buf: Uint8Array, at: number): number {
  return at + KEY_AT + u32(buf, at) - TIMESTAMP_FROM_KEY_END;
}

/**
 * Says what is wrong with the `length` bytes at `at` as a KeyValue from outside; null if it is well formed (lengths
 * agree, row not empty, timestamp not negative, tags whole). Types are not judged.
 */
export function keyValueFault(buf: Uint8Array, at: number, length: number): string | null {
  if (length < KEY_VALUE_OVERHEAD) return `cell of ${length} bytes is shorter than a key`;
  if (at + length > buf.length) return `cell of ${length} bytes reaches past the end`;
  const keyLength = u32(buf, at);
  const valueLength = u32(buf, at + 4);
  const rest = length - KEY_AT - keyLength - valueLength;
  if (rest < 0) return `key of ${keyLength} and value of ${valueLength} bytes exceed the cell`;
  const rowLength = u16(buf, at + KEY_AT);
  if (rowLength === 0) return 'row is empty';
  if (rowLength > ROW_LENGTH_MAX) return `row of ${rowLength} bytes is too long`;
  if (KEY_OVERHEAD + rowLength > keyLength) return `row of ${rowLength} bytes exceeds the key`;
  const familyLength = buf[at + ROW_AT + rowLength]!;
  if (KEY_OVERHEAD + rowLength + familyLength > keyLength) {
    return `family of ${familyLength} bytes exceeds the key`;
  }
  if ((buf[timestampAt(buf, at)]! & 0x80) !== 0) return 'timestamp is negative';
  return rest === 0 ? null : tagsFault(buf, at + length - rest, rest);
}

function tagsFault(buf: Uint8Array, at: number, length: number): string | null {
  if (length < 3 || u16(buf, at) !== length - 2) return 'tags length does not fit the cell';
  const end = at + length;
  let tagAt = at + 2;
  while (tagAt < end) {
    const tagLength = tagAt + 2 <= end ? u16(buf, tagAt) : 0;
    if (tagLength === 0 || tagAt + 2 + tagLength > end) return 'a tag reaches past the tags';
    tagAt += 2 + tagLength;
  }
  return null;
}
