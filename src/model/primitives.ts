/** The values that requests are made of. */

export type Bytes = Uint8Array | string;
/** A value to store: bytes, a string's UTF-8, or a bigint as 8 bytes big-endian (HBase's `Bytes.toBytes(long)`). */
export type Value = Uint8Array | string | bigint;
export type Timestamp = bigint | number;
export type Column = string | readonly [family: string, qualifier: Bytes];

/** The operators of comparisons, in the order of their numbers in HBase.proto's CompareType. */
export const COMPARE_OPERATORS = [
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
  'NO_OP',
] as const;
export type CompareOperator = (typeof COMPARE_OPERATORS)[number];

/** Whether this is an operator: callers in JavaScript may pass anything. */
export function isCompareOperator(operator: unknown): operator is CompareOperator {
  return COMPARE_OPERATORS.some((known) => known === operator);
}
