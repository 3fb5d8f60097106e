/** Cursor moves at random against a sorted array, over files of several index levels and caches too small for them. */
import { describe, expect, test } from 'vitest';
import { END, READY, WAIT } from '../../src/cell/index.ts';
import {
  BlockCache,
  HFileReader,
  HFileWriter,
  type EncodingName,
  type FileStamp,
  type HFileReaderOptions,
  type HFileWriterOptions,
} from '../../src/hfile/index.ts';
import { CorruptionException, memoryEnv, seeded, type SeededRandom } from '../../src/io/index.ts';
import { keyOf, plainOf, readAll, settle, viewOf, type PlainCell } from './support.ts';

const LATEST = 0x7fffffffffffffffn;

function compareCells(a: PlainCell, b: PlainCell): number {
  if (a.row !== b.row) return a.row < b.row ? -1 : 1;
  if (a.qualifier !== b.qualifier) return a.qualifier < b.qualifier ? -1 : 1;
  if (a.timestamp !== b.timestamp) return a.timestamp > b.timestamp ? -1 : 1;
  if (a.type !== b.type) return b.type - a.type;
  return a.write > b.write ? -1 : a.write < b.write ? 1 : 0;
}

/** Rows and qualifiers of few letters, so that they are often equal or prefixes of each other. */
function word(random: SeededRandom, lengthMin: number, lengthMax: number): string {
  const length = lengthMin + random.int(lengthMax - lengthMin + 1);
  return Array.from({ length }, () => 'ab\0\xff'[random.int(4)]).join('');
}

function randomCells(random: SeededRandom, count: number, rows: readonly string[]): PlainCell[] {
  const cells = Array.from({ length: count }, (_, i) => ({
    row: rows[random.int(rows.length)]!,
    family: 'f',
    qualifier: word(random, 0, 3),
    timestamp: BigInt(random.int(6)),
    type: [4, 4, 4, 8, 12][random.int(5)]!,
    value: 'v'.repeat(random.int(random.int(10) === 0 ? 300 : 20)),
    write: BigInt(i + 1),
    tags: '',
  }));
  return cells.sort(compareCells);
}

async function openWritten(
  cells: readonly PlainCell[],
  options: Partial<HFileWriterOptions>,
  cacheBytes: number,
  readerOptions: HFileReaderOptions = {},
): Promise<HFileReader> {
  const { fs } = memoryEnv();
  const writer = await HFileWriter.create(fs, '/f', { createdMs: 1, ...options });
  for (const cell of cells) if (writer.append(viewOf(cell))) await writer.drain();
  await writer.finish();
  return HFileReader.open(fs, '/f', new BlockCache(cacheBytes), readerOptions);
}

/** The position of the first cell at or after a place; `qualifier` null: the start of the row. */
function lowerBound(
  cells: readonly PlainCell[],
  row: string,
  qualifier: string | null,
  timestamp: bigint,
  type: number,
): number {
  const at = cells.findIndex((cell) => {
    if (cell.row !== row) return cell.row > row;
    if (qualifier === null) return true;
    if (cell.qualifier !== qualifier) return cell.qualifier > qualifier;
    if (cell.timestamp !== timestamp) return cell.timestamp < timestamp;
    return cell.type <= type;
  });
  return at < 0 ? cells.length : at;
}

const SHAPES = [
  { name: 'many rows', rows: 400, blockSizeBytes: 300 },
  { name: 'wide rows', rows: 3, blockSizeBytes: 300 },
  { name: 'one row', rows: 1, blockSizeBytes: 2000 },
  { name: 'large blocks', rows: 100, blockSizeBytes: 20000 },
];
const ENCODINGS: readonly EncodingName[] = ['NONE', 'FAST_DIFF', 'ROW_INDEX_V1'];

describe.each(SHAPES)('$name', ({ rows: rowCount, blockSizeBytes }) => {
  test.each(ENCODINGS)('%s', async (encoding) => {
    const random = seeded(rowCount * 31 + encoding.length);
    const rows = Array.from({ length: rowCount }, () => `common-${word(random, 1, 9)}`);
    const cells = randomCells(random, 400, rows);
    for (const cacheBytes of [0, 20_000, 1 << 20]) {
      const reader = await openWritten(
        cells,
        { encoding, blockSizeBytes, indexChunkBytes: 250, indexEntriesMin: 2 },
        cacheBytes,
      );
      if (blockSizeBytes === 300) expect(reader.indexLevels).toBeGreaterThan(2);
      expect(await readAll(reader.cursor())).toEqual(cells);
      await randomMoves(reader, cells, random);
      await reader.close();
    }
  });
});

async function randomMoves(
  reader: HFileReader,
  cells: readonly PlainCell[],
  random: SeededRandom,
): Promise<void> {
  const cursor = reader.cursor({ readAheadBytes: random.int(2) === 0 ? 0 : 2000 });
  let position = 0;
  let isPlaced = false;
  const expectAt = (state: number, want: number): void => {
    expect(state).toBe(want < cells.length ? READY : END);
    isPlaced = want < cells.length;
    if (isPlaced) expect(plainOf(cursor.cell)).toEqual(cells[want]);
    position = want;
  };
  for (let i = 0; i < 200; i++) {
    const near = cells[random.int(cells.length)]!;
    const row = random.int(4) === 0 ? `${near.row.slice(0, -1)}${word(random, 0, 2)}` : near.row;
    const qualifier = random.int(4) === 0 ? word(random, 0, 3) : near.qualifier;
    const at = [
      { qualifier: null, timestamp: LATEST, type: 255 },
      { qualifier, timestamp: LATEST, type: 255 },
      { qualifier, timestamp: near.timestamp, type: near.type },
      { qualifier, timestamp: BigInt(random.int(7)), type: [0, 4, 255][random.int(3)]! },
    ][random.int(4)]!;
    const key = keyOf(row, at.qualifier, at.timestamp, at.type);
    const want = lowerBound(cells, row, at.qualifier, at.timestamp, at.type);
    const bytes = Buffer.from(row, 'latin1');
    switch (random.int(isPlaced ? 6 : 3)) {
      case 0:
        expectAt(await settle(cursor, () => cursor.seek(key)), want);
        break;
      case 1: {
        const state = await settle(cursor, () => cursor.seekBeforeRow(bytes, 0, bytes.length));
        const before = cells.findLastIndex((cell) => cell.row < row);
        const first =
          before < 0 ? cells.length : cells.findIndex((cell) => cell.row === cells[before]!.row);
        expectAt(state, first);
        break;
      }
      case 2: {
        const last = cells.findIndex((cell) => cell.row === cells.at(-1)!.row);
        expectAt(await settle(cursor, () => cursor.seekToLastRow()), last);
        break;
      }
      case 3:
        expectAt(await settle(cursor, () => cursor.reseek(key)), Math.max(want, position));
        break;
      default:
        for (let n = random.int(40); n >= 0 && isPlaced; n--) {
          expectAt(await settle(cursor, () => cursor.next()), position + 1);
        }
    }
  }
}

test('a WAIT leaves the current cell where it was', async () => {
  const random = seeded(3);
  const cells = randomCells(random, 200, ['a', 'b', 'c']);
  const reader = await openWritten(cells, { blockSizeBytes: 300 }, 0);
  const cursor = reader.cursor();
  await settle(cursor, () => cursor.seekToFirst());
  const before = plainOf(cursor.cell);
  expect(cursor.seek(keyOf('c'))).toBe(WAIT);
  expect(plainOf(cursor.cell)).toEqual(before);
  expect(await settle(cursor, () => cursor.next())).toBe(READY);
  expect(plainOf(cursor.cell)).toEqual(cells[1]);
});

test('what is in the cache is reached without loading', async () => {
  const cells = randomCells(seeded(4), 300, ['a', 'b', 'c', 'd']);
  const reader = await openWritten(
    cells,
    { blockSizeBytes: 300, indexChunkBytes: 200, indexEntriesMin: 2 },
    1 << 20,
  );
  await readAll(reader.cursor());
  const cursor = reader.cursor();
  let state = cursor.seekToFirst();
  let count = 0;
  while (state === READY) {
    count++;
    state = cursor.next();
  }
  expect([state, count]).toEqual([END, cells.length]);
});

test('a scan that does not cache leaves nothing in the cache but the index', async () => {
  const cells = randomCells(seeded(5), 300, ['a', 'b', 'c', 'd']);
  const reader = await openWritten(cells, { blockSizeBytes: 300 }, 1 << 20);
  expect(await readAll(reader.cursor({ cacheBlocks: false, sequential: true }))).toEqual(cells);
  expect(reader.cached.blockCount).toBe(0);
});

describe('a file-level stamp', () => {
  const stamp: FileStamp = { writeHigh: 7, writeLow: 9, timestamp: { high: 0, low: 5000 } };
  const cells: PlainCell[] = [];
  for (let i = 0; i < 300; i++) {
    const base = { row: `r${String(Math.floor(i / 40)).padStart(3, '0')}`, family: 'f', tags: '' };
    const qualifier = `q${String(i % 40).padStart(2, '0')}`;
    cells.push({ ...base, qualifier, timestamp: LATEST, type: 12, value: '', write: 3n });
    cells.push({ ...base, qualifier, timestamp: LATEST, type: 4, value: `v${i}`, write: 3n });
  }

  test.each(ENCODINGS)('stands for LATEST and the write numbers: %s', async (encoding) => {
    const options = { encoding, blockSizeBytes: 100, indexChunkBytes: 250, indexEntriesMin: 2 };
    const reader = await openWritten(cells, options, 1 << 20, { stamp });
    const want = cells.map((cell) => ({ ...cell, timestamp: 5000n, write: (7n << 32n) | 9n }));
    expect(await readAll(reader.cursor())).toEqual(want);
    const cursor = reader.cursor();
    for (const [i, cell] of want.entries()) {
      for (const [timestamp, type, at] of [
        [5000n, cell.type, i],
        [5001n, 0, cell.type === 12 ? i : i - 1],
        [LATEST, 255, cell.type === 12 ? i : i - 1],
        [4999n, 255, cell.type === 12 ? i + 2 : i + 1],
      ] as const) {
        const key = keyOf(cell.row, cell.qualifier, timestamp, type);
        const state = await settle(cursor, () => cursor.seek(key));
        expect(state).toBe(at < want.length ? READY : END);
        if (at < want.length) expect(plainOf(cursor.cell)).toEqual(want[at]);
      }
    }
  });
});

test('an error of reading reaches the caller, and the cursor can try again', async () => {
  const cells = randomCells(seeded(6), 100, ['a', 'b']);
  const { fs } = memoryEnv();
  const writer = await HFileWriter.create(fs, '/f', { createdMs: 1, blockSizeBytes: 300 });
  for (const cell of cells) writer.append(viewOf(cell));
  await writer.finish();
  const handle = await fs.open('/f', 'write');
  const byte = new Uint8Array(1);
  await handle.read(byte, 700);
  await handle.write(Uint8Array.of(byte[0]! ^ 1), 700);
  const reader = await HFileReader.open(fs, '/f', new BlockCache());
  await expect(readAll(reader.cursor({ sequential: true }))).rejects.toBeInstanceOf(
    CorruptionException,
  );
  await handle.write(byte, 700);
  expect(await readAll(reader.cursor())).toEqual(cells);
  await handle.close();
});
