/**
 * HBase's choice of files (RatioBasedCompactionPolicy) and its off-peak hours (OffPeakHours), against the rules written down
 * anew: brute force over all runs of files for the ratio, a table for the hours.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  COMPACTION_RULES,
  OFF_PEAK_RATIO,
  isOffPeak,
  selectCompaction,
} from '../../src/region/index.ts';

const MIB = 1024 * 1024;
const filesOf = (...mib: number[]): { sizeBytes: number }[] =>
  mib.map((size) => ({ sizeBytes: size * MIB }));

describe('the choice of files', () => {
  test('an old large file is passed over until the newer ones are in proportion', () => {
    const files = filesOf(1000, 200, 200, 200);
    expect(selectCompaction(files, COMPACTION_RULES, false)).toEqual({ from: 1, to: 4 });
    // 1000 <= 5 x 600
    const quiet = { ...COMPACTION_RULES, ratio: OFF_PEAK_RATIO };
    expect(selectCompaction(files, quiet, false)).toEqual({ from: 0, to: 4 });
  });

  test('fewer than three files are left alone, unless there are too many elsewhere', () => {
    expect(selectCompaction(filesOf(1, 1), COMPACTION_RULES, false)).toBeNull();
    expect(selectCompaction(filesOf(900, 400, 200), COMPACTION_RULES, false)).toBeNull();
    expect(selectCompaction(filesOf(900, 400, 200), COMPACTION_RULES, true)).toEqual({
      from: 0,
      to: 3,
    });
  });

  test('the first file taken is in proportion, and none before it is', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 30 });
    fc.assert(
      fc.property(sizes, fc.constantFrom(1.2, 5), (mib, ratio) => {
        const rules = { ...COMPACTION_RULES, ratio };
        const chosen = selectCompaction(filesOf(...mib), rules, false);
        // HBase: a file is too large if it exceeds `ratio` times the up to nine files behind it, and the least size.
        const isTooLarge = (i: number): boolean => {
          const newer = mib.slice(i + 1, i + rules.filesMax).reduce((a, b) => a + b, 0);
          return mib[i]! * MIB > Math.max(rules.sizeMin, newer * MIB * ratio);
        };
        const first = mib.findIndex((_, i) => mib.length - i < rules.filesMin || !isTooLarge(i));
        const left = first < 0 ? 0 : mib.length - first;
        if (left < rules.filesMin) expect(chosen).toBeNull();
        else expect(chosen).toEqual({ from: first, to: first + Math.min(left, rules.filesMax) });
      }),
    );
  });
});

test.each([
  [{ start: 1, end: 5 }, [1, 2, 3, 4]],
  [{ start: 22, end: 2 }, [0, 1, 22, 23]],
  [{ start: 0, end: 0 }, []],
  [{ start: 23, end: 0 }, [23]],
])('off-peak hours %o', (hours, expected) => {
  const all = Array.from({ length: 24 }, (_, hour) => hour);
  expect(all.filter((hour) => isOffPeak(hours, hour))).toEqual(expected);
});
