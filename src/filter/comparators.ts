/**
 * Comparators: each orders a value of its own against a part of a cell. HBase: ByteArrayComparable and its subclasses
 * (protocol/filters.md section 2).
 */
import { compareRanges, u32 } from '../cell/index.ts';
import { IllegalArgumentException } from '../model/index.ts';
import type { CompareOperator } from '../model/index.ts';
import { Utf8Text } from './text.ts';

export interface Comparator {
  /** The sign of (own value - part). Throws IllegalArgumentException for parts it cannot read. */
  compare(buf: Uint8Array, at: number, length: number): number;
}

const LESS = 0;
const LESS_OR_EQUAL = 1;
const EQUAL = 2;
const NOT_EQUAL = 3;
const GREATER_OR_EQUAL = 4;
const GREATER = 5;
const NO_OP = 6;

const OPERATORS: Readonly<Record<CompareOperator, number>> = {
  LESS,
  LESS_OR_EQUAL,
  EQUAL,
  NOT_EQUAL,
  GREATER_OR_EQUAL,
  GREATER,
  NO_OP,
};

/** A comparator with its operator: the test that most filters make. HBase: CompareFilter. */
export class Comparison {
  readonly #operator: number;
  readonly #comparator: Comparator;

  constructor(operator: CompareOperator, comparator: Comparator) {
    this.#operator = OPERATORS[operator];
    this.#comparator = comparator;
  }

  /** Whether "part OP value" holds; NO_OP never does. */
  holds(buf: Uint8Array, at: number, length: number): boolean {
    if (this.#operator === NO_OP) return false;
    const order = this.#comparator.compare(buf, at, length);
    switch (this.#operator) {
      case LESS:
        return order > 0;
      case LESS_OR_EQUAL:
        return order >= 0;
      case EQUAL:
        return order === 0;
      case NOT_EQUAL:
        return order !== 0;
      case GREATER_OR_EQUAL:
        return order <= 0;
      default:
        return order < 0;
    }
  }
}

export class BinaryComparator implements Comparator {
  readonly #value: Uint8Array;

  constructor(value: Uint8Array) {
    this.#value = value;
  }

  compare(buf: Uint8Array, at: number, length: number): number {
    return compareRanges(this.#value, 0, this.#value.length, buf, at, length);
  }
}

/** Compares only as many bytes of the part as the value has. */
export class BinaryPrefixComparator implements Comparator {
  readonly #value: Uint8Array;

  constructor(value: Uint8Array) {
    this.#value = value;
  }

  compare(buf: Uint8Array, at: number, length: number): number {
    const value = this.#value;
    return compareRanges(value, 0, value.length, buf, at, Math.min(value.length, length));
  }
}

/**
 * Compares the value with as many bytes of the part, from `offset` on. A part that ends before counts as shorter; HBase
 * reads on into whatever follows.
 */
export class BinaryComponentComparator implements Comparator {
  readonly #value: Uint8Array;
  readonly #offset: number;

  constructor(value: Uint8Array, offset: number) {
    this.#value = value;
    this.#offset = offset;
  }

  compare(buf: Uint8Array, at: number, length: number): number {
    const value = this.#value;
    const from = Math.min(this.#offset, length);
    const count = Math.min(value.length, length - from);
    return compareRanges(value, 0, value.length, buf, at + from, count);
  }
}

export const BIT_AND = 0;
export const BIT_OR = 1;
export const BIT_XOR = 2;

/** Equal if lengths agree and any bit is left of (value op part); else greater. */
export class BitComparator implements Comparator {
  readonly #value: Uint8Array;
  readonly #operator: number;

  constructor(value: Uint8Array, operator: number) {
    this.#value = value;
    this.#operator = operator;
  }

  compare(buf: Uint8Array, at: number, length: number): number {
    const value = this.#value;
    if (length !== value.length) return 1;
    for (let i = 0; i < length; i++) {
      const a = value[i]!;
      const b = buf[at + i]!;
      const bits = this.#operator === BIT_AND ? a & b : this.#operator === BIT_OR ? a | b : a ^ b;
      if (bits !== 0) return 0;
    }
    return 1;
  }
}

/** Signed 64-bit numbers in 8 bytes. Another length of part is refused, as in HBase. */
export class LongComparator implements Comparator {
  readonly #high: number;
  readonly #low: number;

  constructor(value: bigint) {
    this.#high = Number(BigInt.asIntN(32, value >> 32n));
    this.#low = Number(BigInt.asUintN(32, value));
  }

  compare(buf: Uint8Array, at: number, length: number): number {
    if (length !== 8) {
      throw new IllegalArgumentException(`LongComparator wants 8 bytes, not ${length}`);
    }
    return this.#high - (u32(buf, at) | 0) || this.#low - u32(buf, at + 4);
  }
}

/** Decimal numbers: int32 scale, then the unscaled value, big-endian two's complement. A part below 5 bytes is refused. */
export class BigDecimalComparator implements Comparator {
  readonly #unscaled: bigint;
  readonly #scale: number;

  constructor(unscaled: bigint, scale: number) {
    this.#unscaled = unscaled;
    this.#scale = scale;
  }

  compare(buf: Uint8Array, at: number, length: number): number {
    const part = readDecimal(buf, at, length);
    return compareDecimals(this.#unscaled, this.#scale, part.unscaled, part.scale);
  }
}

/** A number longer than this is refused: its digits would take too long. */
const DECIMAL_LENGTH_MAX = 1024;

function compareDecimals(a: bigint, aScale: number, b: bigint, bScale: number): number {
  const sign = signOf(a);
  if (sign !== signOf(b) || sign === 0) return sign - signOf(b);
  const left = absolute(a).toString();
  const right = absolute(b).toString();
  // Digits before the point: where they differ, the greater number has more.
  const magnitudes = left.length - aScale - (right.length - bScale);
  if (magnitudes !== 0) return sign * magnitudes;
  const length = Math.max(left.length, right.length);
  const order = left.padEnd(length, '0') < right.padEnd(length, '0') ? -1 : 1;
  return left.padEnd(length, '0') === right.padEnd(length, '0') ? 0 : sign * order;
}

const absolute = (value: bigint): bigint => (value < 0n ? -value : value);
const signOf = (value: bigint): number => (value < 0n ? -1 : value > 0n ? 1 : 0);

/** HBase's `Bytes.toBigDecimal`. Throws IllegalArgumentException below 5 and above 1024 bytes. */
export function readDecimal(
  buf: Uint8Array,
  at: number,
  length: number,
): { unscaled: bigint; scale: number } {
  if (length < 5) {
    throw new IllegalArgumentException(
      `BigDecimalComparator wants a scale and a number in at least 5 bytes, not ${length}`,
    );
  }
  if (length > DECIMAL_LENGTH_MAX) {
    throw new IllegalArgumentException(`a decimal number of ${length} bytes is too long`);
  }
  const hex = Buffer.from(buf.buffer, buf.byteOffset + at + 4, length - 4).toString('hex');
  return { unscaled: BigInt.asIntN((length - 4) * 8, BigInt(`0x${hex}`)), scale: u32(buf, at) | 0 };
}

/** Parts of cells are never null, so it is never equal: HBase's way to ask for absent columns in conditions. */
export class NullComparator implements Comparator {
  compare(): number {
    return 1;
  }
}

/** Finds text without regard to case; 0 when found, else 1. */
export class SubstringComparator implements Comparator {
  readonly #text: string;
  /** The text as bytes, when all of it is ASCII. */
  readonly #ascii: Uint8Array | null;

  constructor(text: string) {
    this.#text = text.toLowerCase();
    const bytes = Buffer.from(this.#text, 'utf8');
    this.#ascii = bytes.every((byte) => byte < 0x80) ? bytes : null;
  }

  compare(buf: Uint8Array, at: number, length: number): number {
    // Only text beyond ASCII needs decoding: some of its letters become ASCII in lower case.
    const found =
      this.#ascii !== null && Utf8Text.isAscii(buf, at, length)
        ? findsAscii(this.#ascii, buf, at, length)
        : Buffer.from(buf.buffer, buf.byteOffset + at, length)
            .toString('utf8')
            .toLowerCase()
            .includes(this.#text);
    return found ? 0 : 1;
  }
}

function findsAscii(wanted: Uint8Array, buf: Uint8Array, at: number, length: number): boolean {
  const last = at + length - wanted.length;
  for (let from = at; from <= last; from++) {
    let i = 0;
    while (i < wanted.length && lowerAscii(buf[from + i]!) === wanted[i]) i++;
    if (i === wanted.length) return true;
  }
  return false;
}

const lowerAscii = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);
