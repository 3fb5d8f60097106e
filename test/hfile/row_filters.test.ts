/** Filters asked together: what they exclude is what each file excludes for itself, whatever is in the cache. */
import { expect, test } from 'vitest';
import {
  BlockCache,
  HFileReader,
  HFileWriter,
  KeyHash,
  PROBE_ABSENT,
  RowFilters,
  type BloomType,
} from '../../src/hfile/index.ts';
import { memoryEnv, seeded, type FileSystem } from '../../src/io/index.ts';
import { viewOf } from './support.ts';

async function fileOf(
  fs: FileSystem,
  cache: BlockCache,
  rows: readonly string[],
  bloomType: BloomType = 'ROW',
): Promise<HFileReader> {
  const path = `/f${rows[0] ?? ''}${rows.length}${bloomType}`;
  // Small chunks, so that a file has many; the last is folded to another size.
  const options = { createdMs: 0, bloomType, bloomChunkBytes: 64 };
  const writer = await HFileWriter.create(fs, path, options);
  for (const row of rows) {
    const cell = { row, family: 'f', qualifier: 'q', timestamp: 1n, type: 4, value: 'v' };
    if (writer.append(viewOf({ ...cell, write: 0n, tags: '' }))) await writer.drain();
  }
  await writer.finish();
  return HFileReader.open(fs, path, cache);
}

const rowOf = (n: number): string => `row${String(n).padStart(6, '0')}`;

/** Rows of three files, one of which ends early and one begins late. */
async function threeFiles(cache: BlockCache): Promise<{ files: HFileReader[]; has: Set<string> }> {
  const { fs } = memoryEnv();
  const random = seeded(5);
  const has = new Set<string>();
  const files: HFileReader[] = [];
  for (const [from, to] of [
    [0, 900],
    [1000, 6000],
    [3000, 9000],
  ] as const) {
    const rows: string[] = [];
    for (let n = from; n < to; n++) if (random.int(5) === 0) rows.push(rowOf(n));
    rows.forEach((row) => has.add(row));
    files.push(await fileOf(fs, cache, rows));
  }
  return { files, has };
}

async function warm(files: readonly HFileReader[]): Promise<void> {
  for (const { bloom, load } of files.map((file) => ({
    bloom: file.bloom!,
    load: (offset: number, sizeOnDisk: number) => file.load({ kind: 'bloom', offset, sizeOnDisk }),
  }))) {
    for (let i = 0; i < bloom.chunks.count; i++) {
      await load(bloom.chunks.offsets[i]!, bloom.chunks.sizes[i]!);
    }
  }
}

function askedOf(filters: RowFilters): (row: string) => boolean {
  const hash = new KeyHash();
  return (row) => {
    const bytes = Buffer.from(`-${row}`);
    hash.set(bytes, 1, row.length);
    return filters.excludes(bytes, 1, row.length, hash);
  };
}

const excludedByEach = (files: readonly HFileReader[], row: string): boolean => {
  const bytes = Buffer.from(row);
  return files.every(({ probe }) => probe.mightContainRow(bytes, 0, bytes.length) === PROBE_ABSENT);
};

test('they exclude exactly the rows that every file excludes', async () => {
  const { files, has } = await threeFiles(new BlockCache());
  await warm(files);
  expect(files.every(({ bloom }) => bloom!.chunks.count > 1)).toBe(true);
  const isExcluded = askedOf(RowFilters.of(files)!);
  let excluded = 0;
  for (let n = 0; n < 9500; n++) {
    for (const row of [rowOf(n), `${rowOf(n)}x`, rowOf(n).slice(0, 7)]) {
      expect(isExcluded(row), row).toBe(excludedByEach(files, row));
      if (has.has(row)) expect(isExcluded(row), row).toBe(false);
      if (isExcluded(row)) excluded++;
    }
  }
  expect(excluded).toBeGreaterThan(15_000);
  expect([isExcluded('a'), isExcluded('s'), isExcluded('r')]).toEqual(
    ['a', 's', 'r'].map((row) => excludedByEach(files, row)),
  );
});

test('what is not in memory, or has left it, excludes nothing', async () => {
  const cache = new BlockCache(4000);
  const { files, has } = await threeFiles(cache);
  const isExcluded = askedOf(RowFilters.of(files)!);
  expect(isExcluded(`${rowOf(4000)}x`)).toBe(false);
  const random = seeded(6);
  const counts = { excluded: 0, unknown: 0 };
  for (let i = 0; i < 3000; i++) {
    const row = `${rowOf(random.int(9000))}${random.int(2) === 0 ? '' : 'x'}`;
    if (isExcluded(row)) {
      counts.excluded++;
      expect(has.has(row), row).toBe(false);
    } else if (!has.has(row)) counts.unknown++;
    const file = files[random.int(3)]!;
    await file.probe.loadForRow(Buffer.from(row), 0, row.length);
  }
  expect(counts.excluded).toBeGreaterThan(100);
  expect(counts.unknown).toBeGreaterThan(100);
  // Closed files have left the cache.
  await Promise.all(files.map((file) => file.close()));
  expect(isExcluded(`${rowOf(4000)}x`)).toBe(false);
});

test('there are none where a file has no filter of whole rows', async () => {
  const cache = new BlockCache();
  const { fs } = memoryEnv();
  const good = await fileOf(fs, cache, ['a', 'b']);
  const others = ['NONE', 'ROWCOL'] as const;
  for (const type of others) {
    expect(RowFilters.of([good, await fileOf(fs, cache, ['c'], type)]), type).toBeNull();
  }
  expect(RowFilters.of([])).toBeNull();
  expect(RowFilters.of([good])).not.toBeNull();
});
