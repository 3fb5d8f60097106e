/** What the writer writes: HBase's bytes for HBase's cells, and for every setting what the reader then reads. */
import { describe, expect, test } from 'vitest';
import {
  BlockCache,
  HFileReader,
  HFileWriter,
  type BloomType,
  type CompressionName,
  type EncodingName,
  type HFileSummary,
  type HFileWriterOptions,
} from '../../src/hfile/index.ts';
import { memoryEnv, type FileSystem } from '../../src/io/index.ts';
import {
  GOLDEN_FILES,
  goldenBytes,
  goldenCells,
  plainOf,
  readAll,
  viewOf,
  type PlainCell,
} from './support.ts';

async function writeFile(
  fs: FileSystem,
  path: string,
  cells: readonly PlainCell[],
  options: Partial<HFileWriterOptions>,
): Promise<HFileSummary> {
  const writer = await HFileWriter.create(fs, path, { createdMs: 1700000000000, ...options });
  for (const cell of cells) if (writer.append(viewOf(cell))) await writer.drain();
  return writer.finish();
}

function goldenOptions(name: string): Partial<HFileWriterOptions> {
  const encoding = /^enc-([a-z0-9_]+)/.exec(name)?.[1]?.toUpperCase() ?? 'NONE';
  const compression = /^comp-(.*)$/.exec(name)?.[1]?.toUpperCase() ?? 'NONE';
  let bloomType: BloomType = name === 'mvcc-rowbloom' || name === 'tags' ? 'ROW' : 'NONE';
  if (name === 'rowcolbloom') bloomType = 'ROWCOL';
  return {
    encoding: encoding as EncodingName,
    compression: compression as CompressionName,
    bloomType,
    hasTags: name.includes('tags'),
    hasWriteNumbers: hasMvcc(name),
    blockSizeBytes: 300,
    indexChunkBytes: 160,
    indexEntriesMin: 2,
    maxSequenceId: 42n,
  };
}

const hasMvcc = (name: string): boolean =>
  /^(?:mvcc|tags)/.test(name) || (name.startsWith('enc-') && !name.endsWith('-tags'));

describe('golden cells written again', () => {
  test.each(GOLDEN_FILES.filter((name) => !name.startsWith('comp-')))(
    '%s is the same file, byte for byte',
    async (name) => {
      const { fs } = memoryEnv();
      const cells = goldenCells({ tags: name.includes('tags'), mvcc: hasMvcc(name) });
      await writeFile(fs, '/f', cells, goldenOptions(name));
      const written = Buffer.from(await fs.readFile('/f'));
      const golden = goldenBytes(name);
      expect(written.subarray(0, -4096).toString('latin1')).toBe(
        golden.subarray(0, -4096).toString('latin1'),
      );
      expect(written.equals(golden)).toBe(true);
    },
  );

  // Compressors are free in what they choose, so only what comes out again is the same.
  test.each(['comp-gz', 'comp-snappy', 'comp-lz4', 'comp-zstd'])(
    '%s has the same cells',
    async (name) => {
      const { fs } = memoryEnv();
      const cells = goldenCells({ tags: false, mvcc: false });
      await writeFile(fs, '/f', cells, goldenOptions(name));
      const reader = await HFileReader.open(fs, '/f', new BlockCache());
      expect(reader.compression).toBe(goldenOptions(name).compression);
      expect(await readAll(reader.cursor())).toEqual(cells);
    },
  );
});

const ENCODINGS: readonly EncodingName[] = ['NONE', 'PREFIX', 'DIFF', 'FAST_DIFF', 'ROW_INDEX_V1'];
const CODECS: readonly CompressionName[] = ['NONE', 'GZ', 'SNAPPY', 'LZ4', 'ZSTD'];

/** Cells with everything that encoders tell apart: shared and unshared rows, lengths, timestamps near and far, types, values. */
function variedCells(count: number): PlainCell[] {
  const cells: PlainCell[] = [];
  const timestamps = [1n << 62n, 1700000000123n, 1700000000122n, 300n, 7n, 0n];
  for (let i = 0; cells.length < count; i++) {
    const row = `r${String(Math.floor(i / 3)).padStart(4, '0')}${i % 9 < 3 ? 'x'.repeat(i % 60) : ''}`;
    const base = { row, family: 'fam', write: (BigInt(i) << 18n) + 468412345614336017n };
    if (i % 3 !== 0) continue;
    for (const qualifier of ['', 'a', 'a long qualifier', 'a long qualifier too']) {
      for (const [k, timestamp] of timestamps.entries()) {
        if ((i + k) % 4 === 0) continue;
        const type = k === 3 ? 12 : k === 4 && qualifier === '' ? 14 : 4;
        const value = k % 2 === 0 ? 'same value' : 'v'.repeat((i * 7 + k) % 300);
        const tags = (i + k) % 5 === 0 ? '000508aabbccdd' : '';
        cells.push({ ...base, qualifier, timestamp, type, value, tags });
      }
    }
  }
  return cells.sort(compareCells).slice(0, count);
}

function compareCells(a: PlainCell, b: PlainCell): number {
  if (a.row !== b.row) return a.row < b.row ? -1 : 1;
  if (a.qualifier !== b.qualifier) return a.qualifier < b.qualifier ? -1 : 1;
  if (a.timestamp !== b.timestamp) return a.timestamp > b.timestamp ? -1 : 1;
  return b.type - a.type;
}

describe('what is written is read back', () => {
  const varied = variedCells(400);
  const settings = ENCODINGS.flatMap((encoding) =>
    CODECS.flatMap((compression) =>
      [false, true].flatMap((hasTags) =>
        [false, true].map((hasWriteNumbers) => ({
          encoding,
          compression,
          hasTags,
          hasWriteNumbers,
        })),
      ),
    ),
  );

  test.each(settings)(
    '$encoding $compression tags $hasTags write numbers $hasWriteNumbers',
    async (setting) => {
      const { fs } = memoryEnv();
      const cells = varied.map((cell) => ({
        ...cell,
        tags: setting.hasTags ? cell.tags : '',
        write: setting.hasWriteNumbers ? cell.write : 0n,
      }));
      const summary = await writeFile(fs, '/f', cells, {
        ...setting,
        blockSizeBytes: 1500,
        indexChunkBytes: 256,
        indexEntriesMin: 4,
        syncStepBytes: 8192,
      });
      expect(summary.sizeBytes).toBe((await fs.stat('/f'))!.sizeBytes);
      const reader = await HFileReader.open(fs, '/f', new BlockCache(1 << 16));
      expect(reader.properties.encoding).toBe(setting.encoding);
      expect(reader.trailer.dataIndexLevels).toBeGreaterThan(1);
      expect(await readAll(reader.cursor())).toEqual(cells);
      await reader.close();
    },
  );

  test('cells of several megabytes, at the limits of rows and qualifiers', async () => {
    const { fs } = memoryEnv();
    const cells: PlainCell[] = [3, 70_000, 3_000_000].map((length, i) => ({
      row: `${i}`.padEnd(32767, 'r'),
      family: 'f',
      qualifier: 'q'.repeat(100_000),
      timestamp: 0x7ffffffffffffffen,
      type: 4,
      value: 'v'.repeat(length),
      write: 0x7fffffffffffffffn,
      tags: '',
    }));
    for (const encoding of ENCODINGS) {
      const compression = encoding === 'NONE' ? 'SNAPPY' : 'LZ4';
      await writeFile(fs, `/${encoding}`, cells, { encoding, compression });
      const reader = await HFileReader.open(fs, `/${encoding}`, new BlockCache());
      const read = await readAll(reader.cursor());
      expect(read.map(({ row }) => row)).toEqual(cells.map(({ row }) => row));
      expect(read.every((cell, i) => cell.value === cells[i]!.value)).toBe(true);
    }
  });
});

test('the summary counts what was written', async () => {
  const { fs } = memoryEnv();
  const cells = goldenCells({ tags: true, mvcc: true });
  const summary = await writeFile(fs, '/f', cells, { ...goldenOptions('tags') });
  expect(summary).toMatchObject({
    path: '/f',
    cellCount: 68,
    rowCount: 16,
    dataBlockCount: 10,
    timestampMin: 2000n,
    timestampMax: 1700000000015n,
    timeRangeMin: 0n,
    writeMin: 100n,
    writeMax: 115n,
    putCount: 64,
    deleteCount: 4,
    deleteFamilyCount: 2,
    hasTags: true,
  });
});

test('an empty file is whole', async () => {
  const { fs } = memoryEnv();
  const summary = await writeFile(fs, '/f', [], { bloomType: 'ROW' });
  expect(summary).toMatchObject({ cellCount: 0, firstKey: null, lastKey: null });
  const reader = await HFileReader.open(fs, '/f', new BlockCache());
  expect(await readAll(reader.cursor())).toEqual([]);
  expect(reader.properties.timeRange).toBeNull();
  expect(reader.trailer.firstDataBlockOffset).toBe(-1);
});

test('cells out of order, of two families, or with tags in a file without are refused', async () => {
  const { fs } = memoryEnv();
  const cell = goldenCells({ tags: false, mvcc: true })[5]!;
  const refuse = async (...cells: PlainCell[]): Promise<void> => {
    const writer = await HFileWriter.create(fs, '/refused', { createdMs: 0 });
    expect(() => cells.forEach((each) => writer.append(viewOf(each)))).toThrow('cell');
    await writer.abort();
    expect(await fs.stat('/refused')).toBeNull();
  };
  await refuse(cell, { ...cell, row: 'a' });
  await refuse(cell, { ...cell, qualifier: 'a' });
  await refuse(cell, { ...cell, timestamp: cell.timestamp + 1n });
  await refuse(cell, { ...cell, type: 14 });
  await refuse(cell, { ...cell, write: cell.write + 1n });
  await refuse(cell, { ...cell, family: 'other' });
  await refuse({ ...cell, tags: '000508aabbccdd' });
});

test('a cell is copied when it is added', async () => {
  const { fs } = memoryEnv();
  const cells = goldenCells({ tags: false, mvcc: true });
  const writer = await HFileWriter.create(fs, '/f', { createdMs: 0, encoding: 'FAST_DIFF' });
  for (const cell of cells) {
    const view = viewOf(cell);
    writer.append(view);
    expect(plainOf(view)).toEqual(cell);
    view.block.fill(0xee);
  }
  await writer.finish();
  const reader = await HFileReader.open(fs, '/f', new BlockCache());
  expect(await readAll(reader.cursor())).toEqual(cells);
});
