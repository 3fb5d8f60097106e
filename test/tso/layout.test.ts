import { expect, test } from 'vitest';
import {
  composeTso,
  formatTso,
  highHalf,
  highOf,
  logicalOf,
  lowHalf,
  lowOf,
  LOGICAL_MAX,
  PHYSICAL_LIMIT_MS,
  physicalMsOf,
  physicalMsOfHalves,
  tsoAsOf,
  tsoBefore,
  tsoFrom,
  tsoOfHalves,
} from '../../src/tso/index.ts';

test.each([
  { ms: 1786851294000, logical: 17, tso: 468412345614336017n },
  { ms: 1786851294123, logical: 41, tso: 468412345646579753n },
  { ms: 1753950000123, logical: 5, tso: 459787468832243717n },
  { ms: 0, logical: 1, tso: 1n },
  { ms: PHYSICAL_LIMIT_MS - 1, logical: LOGICAL_MAX, tso: 2n ** 63n - 1n },
])('$tso is $ms ms and $logical', ({ ms, logical, tso }) => {
  expect(composeTso(ms, logical)).toBe(tso);
  expect([physicalMsOf(tso), logicalOf(tso)]).toEqual([ms, logical]);
  const [high, low] = [highOf(ms), lowOf(ms, logical)];
  expect([high, low]).toEqual([highHalf(tso), lowHalf(tso)]);
  expect(tsoOfHalves(high, low)).toBe(tso);
  expect(physicalMsOfHalves(high, low)).toBe(ms);
});

test('bounds of a time', () => {
  const t = 1786851294123;
  expect(tsoFrom(t)).toBe(BigInt(t) << 18n);
  expect(tsoBefore(t)).toBe(BigInt(t) << 18n);
  expect(tsoAsOf(t)).toBe((BigInt(t) << 18n) | 262143n);
  expect(tsoAsOf(t)).toBe(tsoFrom(t + 1) - 1n);
});

test('a TSO for people', () => {
  expect(formatTso(468412345646579753n)).toBe('2026-08-16T03:34:54.123Z+41');
  expect(new Date('2026-08-16T03:34:54.123Z').getTime()).toBe(1786851294123);
});
