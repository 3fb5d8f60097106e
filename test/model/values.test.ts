import { expect, test } from 'vitest';
import { toStringBinary } from '../../src/cell/index.ts';
import { toRow, toTimestamp, toValueBytes } from '../../src/model/index.ts';

test.each([
  { value: 0, want: 0n },
  { value: 5n, want: 5n },
  { value: 2n ** 63n - 1n, want: 2n ** 63n - 1n },
])('timestamp $value', ({ value, want }) => {
  expect(toTimestamp(value, 'ts')).toBe(want);
});

test.each([
  { value: -5, want: 'Timestamp cannot be negative. ts=-5' },
  { value: 2 ** 53, want: 'ts must be a bigint or a safe integer, not 9007199254740992' },
  { value: NaN, want: 'ts must be a bigint or a safe integer, not NaN' },
  { value: '5', want: "ts must be a bigint or a safe integer, not '5'" },
  { value: null, want: 'ts must be a bigint or a safe integer, not null' },
  { value: 2n ** 63n, want: 'ts=9223372036854775808 is above 2^63-1' },
])('refuses timestamp $value', ({ value, want }) => {
  expect(() => toTimestamp(value as number, 'ts')).toThrow(want);
});

test('rows', () => {
  expect(toRow('é')).toEqual(Buffer.from([0xc3, 0xa9]));
  expect(toRow('x'.repeat(32767))).toHaveLength(32767);
  expect(() => toRow('')).toThrow('Row length is 0');
  expect(() => toRow('x'.repeat(32768))).toThrow('Row length 32768 is > 32767');
  expect(() => toRow(7 as never)).toThrow('Row must be bytes or a string, not 7');
});

test('values', () => {
  expect(toStringBinary(toValueBytes(-2n))).toBe('\\xFF\\xFF\\xFF\\xFF\\xFF\\xFF\\xFF\\xFE');
  expect(toStringBinary(toValueBytes('é'))).toBe('\\xC3\\xA9');
  expect(() => toValueBytes(2n ** 63n)).toThrow('Value 9223372036854775808 does not fit 64 bits');
  expect(() => toValueBytes(1.5 as never, 'f:a')).toThrow(
    'f:a must be bytes, a string or a bigint, not 1.5',
  );
});
