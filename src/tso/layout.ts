/**
 * The 64 bits of a TSO: physical milliseconds (46 bits, kept below 2^45) « 18 | logical counter (18 bits). Logical 0 is
 * never given: it is the bound of its millisecond. A TSO is a `bigint`, or two unsigned 32-bit halves on hot paths; never a
 * `number`.
 */

export const LOGICAL_BITS = 18;
/** The greatest logical counter, 262143. */
export const LOGICAL_MAX: number = 2 ** LOGICAL_BITS - 1;
/** Physical milliseconds stay below this, so that a TSO is a positive signed 64-bit integer. */
export const PHYSICAL_LIMIT_MS: number = 2 ** 45;

const SHIFT = 18n;
const LOGICAL_MASK = 0x3ffffn;
/** Physical milliseconds per unit of the high half. */
const MS_PER_HIGH: number = 2 ** (32 - LOGICAL_BITS);
const LOW_UNIT: number = 2 ** LOGICAL_BITS;

export function composeTso(physicalMs: number, logical: number): bigint {
  return (BigInt(physicalMs) << SHIFT) | BigInt(logical);
}

/** The high half of a TSO with this physical part. */
export function highOf(physicalMs: number): number {
  return Math.floor(physicalMs / MS_PER_HIGH);
}

export function lowOf(physicalMs: number, logical: number): number {
  return (physicalMs % MS_PER_HIGH) * LOW_UNIT + logical;
}

export function tsoOfHalves(high: number, low: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}

export function highHalf(tso: bigint): number {
  return Number(tso >> 32n);
}

export function lowHalf(tso: bigint): number {
  return Number(tso & 0xffffffffn);
}

/** Unix milliseconds of a TSO, exact. */
export function physicalMsOf(tso: bigint): number {
  return Number(tso >> SHIFT);
}

/** Unix milliseconds of a TSO in halves. */
export function physicalMsOfHalves(high: number, low: number): number {
  return high * MS_PER_HIGH + (low >>> LOGICAL_BITS);
}

export function logicalOf(tso: bigint): number {
  return Number(tso & LOGICAL_MASK);
}

/** The inclusive lower bound of a range that starts at `ms`. */
export function tsoFrom(ms: number): bigint {
  return composeTso(ms, 0);
}

/** The exclusive upper bound of a range that ends before `ms`. */
export function tsoBefore(ms: number): bigint {
  return composeTso(ms, 0);
}

/** The inclusive TSO of a read as of the end of `ms`. */
export function tsoAsOf(ms: number): bigint {
  return composeTso(ms, LOGICAL_MAX);
}

/** `2026-08-16T03:34:54.123Z+41`: the time of a TSO and its counter, for people. */
export function formatTso(tso: bigint): string {
  return `${new Date(physicalMsOf(tso)).toISOString()}+${logicalOf(tso)}`;
}
