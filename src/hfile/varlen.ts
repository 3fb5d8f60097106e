/**
 * The two variable-length integers of an HFile.
 *
 * Hadoop's vlong (org.apache.hadoop.io.WritableUtils): one signed byte b.
 *     b >= -112         the value itself
 *     -113 … -120       -112-b big-endian bytes follow, a positive value
 *     -121 … -128       -120-b big-endian bytes follow, the complement of a negative value
 * Protobuf's varint: groups of 7 bits, low first, the high bit says that more follow.
 */
import { putU32, u32 } from '../cell/index.ts';
import { check } from './fault.ts';

/** Size in bytes of the vlong that starts with the byte `first`. */
export function vlongSize(first: number): number {
  if (first <= 0x7f || first >= 0x90) return 1;
  return first >= 0x88 ? 0x91 - first : 0x89 - first;
}

/** Whether the vlong that starts with the byte `first` is below zero. */
export function isVlongNegative(first: number): boolean {
  return first >= 0x80 && (first < 0x88 || first >= 0x90);
}

/** The low 32 bits of the vlong at `at`, which is not negative. */
export function vlongLow(buf: Uint8Array, at: number): number {
  const first = buf[at]!;
  if (first <= 0x7f) return first;
  const length = 0x90 - first;
  const end = at + 1 + length;
  if (length >= 4) return u32(buf, end - 4);
  let value = 0;
  for (let i = at + 1; i < end; i++) value = (value << 8) | buf[i]!;
  return value;
}

/** The high 32 bits of the vlong at `at`, which is not negative. */
export function vlongHigh(buf: Uint8Array, at: number): number {
  const first = buf[at]!;
  if (first <= 0x7f || first >= 0x8c) return 0;
  const end = at + 1 + (0x90 - first) - 4;
  let value = 0;
  for (let i = at + 1; i < end; i++) value = (value << 8) | buf[i]!;
  return value >>> 0;
}

/** Writes the value high·2^32 + low, at most 2^63-1, and gives the offset after it: at most 9 bytes. */
export function putVlong(buf: Uint8Array, at: number, high: number, low: number): number {
  if (high === 0 && low <= 127) {
    buf[at] = low;
    return at + 1;
  }
  const length = high === 0 ? bytesOf(low) : 4 + bytesOf(high);
  buf[at] = 0x90 - length;
  let end = at + 1;
  for (let i = length - 1; i >= 4; i--) buf[end++] = high >>> (8 * (i - 4));
  if (length >= 4) {
    putU32(buf, end, low);
    return end + 4;
  }
  for (let i = length - 1; i >= 0; i--) buf[end++] = low >>> (8 * i);
  return end;
}

/** Fewest bytes that hold the unsigned 32-bit `value`; at least 1. */
export function bytesOf(value: number): number {
  if (value < 0x100) return 1;
  if (value < 0x10000) return 2;
  return value < 0x1000000 ? 3 : 4;
}

/** Size of `putVlong`'s output. */
export function vlongSizeOf(high: number, low: number): number {
  if (high === 0) return low <= 127 ? 1 : 1 + bytesOf(low);
  return 5 + bytesOf(high);
}

/** Writes an unsigned 32-bit number as varint and gives the offset after it. */
export function putVarint(buf: Uint8Array, at: number, value: number): number {
  let rest = value;
  while (rest > 0x7f) {
    buf[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  buf[at] = rest;
  return at + 1;
}

/** A forward reader over bytes from outside: every step is checked and throws FormatFault. */
export class ByteReader {
  readonly buf: Uint8Array;
  at: number;
  readonly end: number;

  constructor(buf: Uint8Array, at: number = 0, end: number = buf.length) {
    this.buf = buf;
    this.at = at;
    this.end = end;
  }

  /** Moves over `length` bytes and gives where they begin. */
  skip(length: number): number {
    const at = this.at;
    check(length >= 0 && length <= this.end - at, 'a part reaches past its end');
    this.at = at + length;
    return at;
  }

  u8(): number {
    return this.buf[this.skip(1)]!;
  }

  u32(): number {
    return u32(this.buf, this.skip(4));
  }

  /** A signed 64-bit number that must be within ±2^53. */
  int64(): number {
    const at = this.skip(8);
    const value = (u32(this.buf, at) | 0) * 2 ** 32 + u32(this.buf, at + 4);
    check(Number.isSafeInteger(value), 'a number is out of range');
    return value;
  }

  bytes(length: number): Uint8Array {
    const at = this.skip(length);
    return this.buf.subarray(at, at + length);
  }

  /** A vint that is a length: 0 … 2^31-1. */
  vint(): number {
    const at = this.at;
    check(at < this.end, 'a length is cut off');
    const first = this.buf[at]!;
    check(!isVlongNegative(first), 'a length is negative');
    this.skip(vlongSize(first));
    const low = vlongLow(this.buf, at);
    check(vlongHigh(this.buf, at) === 0 && low >>> 0 <= 0x7fffffff, 'a length is out of range');
    return low;
  }

  /** A varint that is a length or a flag: 0 … 2^31-1. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.u8();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) {
        check(value <= 0x7fffffff, 'a length is out of range');
        return value;
      }
    }
    check(false, 'a length has too many bytes');
    return 0;
  }

  /** A 64-bit varint as a signed number that must be within ±2^53 (-1 has ten bytes). */
  varint64(): number {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.u8();
      const bits = byte & 0x7f;
      if (shift < 28) low += bits * 2 ** shift;
      else high += bits * 2 ** (shift - 28);
      if (byte < 0x80) return this.#signed(low, high);
    }
    check(false, 'a number has too many bytes');
    return 0;
  }

  /** `low` holds 28 bits, `high` the 36 above them (and for ten-byte varints some that do not count). */
  #signed(low: number, high: number): number {
    const top = high % 2 ** 36;
    const value = top >= 2 ** 35 ? (top - 2 ** 36) * 2 ** 28 + low : top * 2 ** 28 + low;
    check(Number.isSafeInteger(value), 'a number is out of range');
    return value;
  }
}
