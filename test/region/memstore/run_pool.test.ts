import { expect, test } from 'vitest';
import { RunPool } from '../../../src/region/memstore/run_pool.ts';
import type { RunArrays } from '../../../src/region/memstore/run_pool.ts';
import { seeded } from './model.ts';

const fill = (arrays: RunArrays, mark: number): void => {
  arrays.prefixes.fill(mark);
  arrays.refs.fill(mark);
};
const holds = (arrays: RunArrays, mark: number): boolean =>
  arrays.prefixes.every((value) => value === mark) && arrays.refs.every((value) => value === mark);

test('arrays in use never overlap, and given ones are used again', () => {
  const chance = seeded(11);
  const pool = new RunPool();
  const used: { arrays: RunArrays; mark: number }[] = [];
  let entries = 0;
  let entriesMost = 0;
  for (let mark = 1; mark <= 3000; mark++) {
    if (chance(5) < 2 || used.length > 150) {
      const gone = used.splice(chance(used.length), 1)[0];
      if (gone === undefined) continue;
      expect(holds(gone.arrays, gone.mark)).toBe(true);
      entries -= gone.arrays.capacity;
      pool.give(gone.arrays);
      continue;
    }
    const arrays = pool.take([16, 64, 128, 256, 384, 512, 2048, 4096, 8192][chance(9)]!);
    fill(arrays, mark);
    used.push({ arrays, mark });
    entries += arrays.capacity;
    entriesMost = Math.max(entriesMost, entries);
  }
  for (const { arrays, mark } of used) expect(holds(arrays, mark)).toBe(true);
  expect(pool.bytes).toBeGreaterThanOrEqual(entries * 12);
  expect(pool.bytes).toBeLessThan(entriesMost * 12 * 1.5);
});

test('the first arrays of any size fit', () => {
  for (const capacity of [128, 1024, 2048, 4096, 4224]) {
    expect(new RunPool().take(capacity).refs.length).toBe(capacity);
  }
});
