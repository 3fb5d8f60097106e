/** The cache's budget and its order of eviction. Blocks stand in as Bloom chunks of a given size. */
import { describe, expect, test } from 'vitest';
import { BlockCache, type CacheFile, type CachePriority } from '../../src/hfile/index.ts';
import { BloomChunk } from '../../src/hfile/bloom.ts';
import { seeded } from '../../src/io/index.ts';

const SIZE = 1000; // With the 300 bytes counted for the object.
const chunk = (offset: number): BloomChunk => new BloomChunk(offset, new Uint8Array(SIZE - 300));

function add(file: CacheFile, from: number, to: number, priority: CachePriority = 'normal'): void {
  for (let offset = from; offset < to; offset++) file.add(chunk(offset), priority);
}

/** Reads as a cursor does: a block not there is loaded and added. Gives how many were there. */
function read(
  file: CacheFile,
  from: number,
  to: number,
  priority: CachePriority = 'normal',
): number {
  let hits = 0;
  for (let offset = from; offset < to; offset++) {
    if (file.get(offset) === undefined) file.add(chunk(offset), priority);
    else hits++;
  }
  return hits;
}

describe('eviction', () => {
  test('never exceeds its budget', () => {
    const cache = new BlockCache(20 * SIZE);
    const files = [cache.file(), cache.file(), cache.file()];
    const random = seeded(1);
    for (let i = 0; i < 5000; i++) {
      const file = files[random.int(3)]!;
      const at = random.int(40);
      const priority = (['normal', 'inMemory', 'index'] as const)[random.int(3)]!;
      read(file, at, at + 1, priority);
      expect(cache.sizeBytes).toBeLessThanOrEqual(20 * SIZE);
      if (i % 1000 === 999) {
        const { blockCount, sizeBytes } = cache.metrics();
        expect(sizeBytes).toBe(blockCount * SIZE);
        expect(files.reduce((sum, each) => sum + each.blockCount, 0)).toBe(blockCount);
      }
    }
  });

  test('a full scan leaves the hot set alone', () => {
    const cache = new BlockCache(100 * SIZE);
    const file = cache.file();
    read(file, 0, 50);
    read(file, 0, 50);
    read(file, 1000, 2000);
    expect(read(file, 0, 50)).toBe(50);
  });

  test('a new hot set takes the place of one that is no longer read', () => {
    const cache = new BlockCache(100 * SIZE);
    const file = cache.file();
    for (let round = 0; round < 3; round++) read(file, 0, 90);
    for (let round = 0; round < 60; round++) read(file, 1000, 1050);
    expect(read(file, 1000, 1050)).toBe(50);
  });

  test('index blocks keep a third while data blocks pass, and give way above it', () => {
    const cache = new BlockCache(90 * SIZE);
    const file = cache.file();
    add(file, 0, 30, 'index');
    read(file, 1000, 1500);
    expect(read(file, 0, 30, 'index')).toBe(30);
    add(file, 30, 80, 'index');
    expect(cache.metrics().indexSizeBytes).toBeLessThanOrEqual(30 * SIZE);
    expect(cache.metrics().indexSizeBytes).toBeGreaterThanOrEqual(29 * SIZE);
  });

  test('blocks of IN_MEMORY families outlive a scan', () => {
    const cache = new BlockCache(100 * SIZE);
    const memory = cache.file();
    const other = cache.file();
    add(memory, 0, 20, 'inMemory');
    read(other, 0, 500);
    expect(read(memory, 0, 20, 'inMemory')).toBe(20);
  });

  test('a block larger than the budget is not kept', () => {
    const cache = new BlockCache(SIZE - 1);
    const file = cache.file();
    add(file, 0, 1);
    expect([file.has(0), cache.sizeBytes]).toEqual([false, 0]);
  });
});

test('a closed file has no blocks left and takes none', () => {
  const cache = new BlockCache(100 * SIZE);
  const [one, two] = [cache.file(), cache.file()];
  read(one, 0, 10);
  read(two, 0, 10);
  one.close();
  add(one, 0, 10);
  expect([one.blockCount, two.blockCount, cache.sizeBytes]).toEqual([0, 10, 10 * SIZE]);
});

test('counts hits, misses and evictions', () => {
  const cache = new BlockCache(10 * SIZE);
  const file = cache.file();
  read(file, 0, 12);
  read(file, 10, 12);
  expect(cache.metrics()).toEqual({
    hits: 2,
    misses: 12,
    evictions: 2,
    blockCount: 10,
    sizeBytes: 10 * SIZE,
    indexSizeBytes: 0,
    budgetBytes: 10 * SIZE,
  });
});
