import { expect, test } from 'vitest';
import {
  GROWTH_RUNS,
  KEY_SPACE,
  cutsOf,
  growthKeyNumber,
  hotKeyNumber,
} from '../../bench/engine/growth_keys.ts';
import { Random, keyOf } from '../../bench/engine/rows.ts';
import type { Row, Subject } from '../../bench/engine/subject.ts';
import {
  loadVersions,
  oldTime,
  timeOf,
  versionKey,
  versionReader,
  versionReaderSync,
} from '../../bench/engine/versions.ts';

const numbersOf = (rows: number): Set<number> =>
  new Set(Array.from({ length: rows }, (_, i) => growthKeyNumber(i, rows)));

test.each([1000, 5000, 23_400])('%i rows of a growth curve have keys of their own', (rows) => {
  const numbers = numbersOf(rows);
  expect(numbers.size).toBe(rows);
  expect([...numbers].every((number) => number < KEY_SPACE)).toBe(true);
});

test('keys stay exact at fifty million rows', () => {
  const rows = 50_000_000;
  const stride = BigInt(2_654_435_761);
  for (const i of [0, 1, 65_535, 65_536, 1_234_567, rows - 1]) {
    const row = Number((BigInt(i) * stride) % BigInt(rows));
    const inRun = rows / GROWTH_RUNS;
    const want = Math.floor(row / inRun) * (KEY_SPACE / GROWTH_RUNS) + (row % inRun);
    expect(growthKeyNumber(i, rows)).toBe(want);
  }
});

test('the hot rows are in every store of the curves, all over the regions', () => {
  const hot = Array.from({ length: 600 }, (_, n) => hotKeyNumber(n, 600));
  expect(new Set(hot).size).toBe(600);
  for (const rows of [1000, 5000, 10_000]) {
    const numbers = numbersOf(rows);
    expect(hot.every((number) => numbers.has(number))).toBe(true);
  }
  const regions = new Set(hot.map((number) => Math.floor(number / (KEY_SPACE / 10))));
  expect(regions.size).toBe(10);
});

test('cuts make regions of equal size', () => {
  expect(cutsOf(1)).toEqual([]);
  expect(cutsOf(4)).toEqual(['user000250000000', 'user000500000000', 'user000750000000']);
});

test('behind a key, later times come first', () => {
  const key = keyOf(5);
  const later = Buffer.from(versionKey(key, timeOf(3)));
  const earlier = Buffer.from(versionKey(key, timeOf(2)));
  expect(later.compare(earlier)).toBe(-1);
  expect(earlier.compare(versionKey(keyOf(6), timeOf(3)))).toBe(-1);
});

/** Rows in order, as a peer would have them. */
class Sorted implements Subject {
  readonly name = 'sorted';
  readonly rows: Row[] = [];

  async putBatch(keys: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void> {
    keys.forEach((key, i) => this.rows.push({ key, value: values[i]! }));
    this.rows.sort((a, b) => Buffer.compare(a.key, b.key));
  }

  firstSync(start: Uint8Array): Row | undefined {
    return this.rows.find(({ key }) => Buffer.compare(key, start) >= 0);
  }

  async scanShort(
    start: Uint8Array,
    count: number,
    consume: (key: Uint8Array, value: Uint8Array) => void,
  ): Promise<void> {
    const from = this.rows.filter(({ key }) => Buffer.compare(key, start) >= 0);
    for (const { key, value } of from.slice(0, count)) consume(key, value);
  }

  async settle(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {
    return;
  }
}

test('the newest version not newer than a time, where a store has no versions', async () => {
  const subject = new Sorted();
  const key = keyOf(1);
  const times = [timeOf(0), timeOf(1), timeOf(2)];
  const values = times.map((_, i) => Buffer.from(`v${i}`));
  await subject.putBatch(
    times.map((time) => versionKey(key, time)),
    values,
  );
  const read = versionReader(subject)!;
  const readSync = versionReaderSync(subject)!;
  for (const [time, want] of [
    [timeOf(0), values[0]],
    [timeOf(1) + 9, values[1]],
    [timeOf(9), values[2]],
    [timeOf(0) - 1, undefined],
  ] as const) {
    expect(await read(1, time)).toEqual(want);
    expect(readSync(1, time)).toEqual(want);
  }
  // Another row's versions are not this one's.
  expect(await read(0, timeOf(2))).toBeUndefined();
  expect(readSync(2, timeOf(2))).toBeUndefined();
});

test('all versions of all rows are loaded, each once', async () => {
  const subject = new Sorted();
  await loadVersions(subject, { rows: 7, versions: 5, parts: 2 });
  const keys = new Set(subject.rows.map(({ key }) => Buffer.from(key).toString('hex')));
  expect(keys.size).toBe(35);
  for (let row = 0; row < 7; row++) {
    for (let n = 0; n < 5; n++) {
      expect(keys.has(Buffer.from(versionKey(keyOf(row), timeOf(n))).toString('hex'))).toBe(true);
    }
  }
});

test('old times lie before the newest version', () => {
  const random = new Random(5);
  for (let i = 0; i < 200; i++) {
    const time = oldTime(random, 100);
    expect(time).toBeGreaterThanOrEqual(timeOf(0));
    expect(time).toBeLessThan(timeOf(99));
  }
});
