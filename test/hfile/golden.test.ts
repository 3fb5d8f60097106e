/** The files that HBase 2.6.3 wrote, read with the cells they were written from. */
import { describe, expect, test } from 'vitest';
import { END, READY } from '../../src/cell/index.ts';
import {
  BlockCache,
  HFileReader,
  PROBE_ABSENT,
  PROBE_MAYBE,
  PROBE_WAIT,
} from '../../src/hfile/index.ts';
import {
  GOLDEN_FILES,
  fsWith,
  goldenBytes,
  goldenCells,
  keyOf,
  plainOf,
  readAll,
  settle,
} from './support.ts';

const hasMvcc = (name: string): boolean =>
  /^(?:mvcc|tags)/.test(name) || (name.startsWith('enc-') && !name.endsWith('-tags'));

async function openGolden(name: string, budget = 1 << 20): Promise<HFileReader> {
  const fs = await fsWith(`/${name}.hfile`, goldenBytes(name));
  return HFileReader.open(fs, `/${name}.hfile`, new BlockCache(budget));
}

describe.each(GOLDEN_FILES)('%s', (name) => {
  const want = goldenCells({ tags: name.includes('tags'), mvcc: hasMvcc(name) });

  test('has the cells it was written from, with and without a cache', async () => {
    for (const budget of [1 << 20, 0]) {
      const reader = await openGolden(name, budget);
      expect(await readAll(reader.cursor())).toEqual(want);
      expect(reader.trailer.cellCount).toBe(want.length);
      await reader.close();
    }
  });

  test('finds every cell by its own key, and the next row before it', async () => {
    const reader = await openGolden(name);
    const cursor = reader.cursor();
    for (const cell of want) {
      const key = keyOf(cell.row, cell.qualifier, cell.timestamp, cell.type);
      expect(await settle(cursor, () => cursor.seek(key))).toBe(READY);
      expect(plainOf(cursor.cell)).toEqual(cell);
      const row = Buffer.from(cell.row);
      const state = await settle(cursor, () => cursor.seekBeforeRow(row, 0, row.length));
      const before = want.filter((other) => other.row < cell.row).at(-1);
      expect(state).toBe(before === undefined ? END : READY);
      if (before === undefined) continue;
      expect(plainOf(cursor.cell)).toEqual(want.find((other) => other.row === before.row));
    }
    await reader.close();
  });
});

test('minimal.hfile of an independent writer', async () => {
  const reader = await openGolden('minimal');
  const cells = await readAll(reader.cursor());
  expect(cells).toHaveLength(50);
  for (const [i, cell] of cells.entries()) {
    expect(cell).toEqual({
      row: `py-${String(i).padStart(3, '0')}`,
      family: 'f',
      qualifier: 'q',
      timestamp: BigInt(5000 + i),
      type: 4,
      value: `val${i}`,
      write: 0n,
      tags: '',
    });
  }
  expect(reader.properties.timeRange).toBeNull();
});

describe('Bloom filters', () => {
  test('ROW: every row may be there, a foreign one is known to be absent', async () => {
    const reader = await openGolden('mvcc-rowbloom');
    const probe = async (row: string): Promise<number> => {
      const bytes = Buffer.from(row);
      if (reader.probe.mightContainRow(bytes, 0, bytes.length) === PROBE_WAIT) {
        await reader.probe.loadForRow(bytes, 0, bytes.length);
      }
      return reader.probe.mightContainRow(bytes, 0, bytes.length);
    };
    for (const { row } of goldenCells({ tags: false, mvcc: true })) {
      expect(await probe(row)).toBe(PROBE_MAYBE);
    }
    let maybe = 0;
    for (let i = 0; i < 200; i++) if ((await probe(`row-${i}x`)) === PROBE_MAYBE) maybe++;
    expect(maybe).toBeLessThan(20);
    expect(await probe('a')).toBe(PROBE_ABSENT);
  });

  test('ROWCOL by row and qualifier', async () => {
    const reader = await openGolden('rowcolbloom');
    const probe = async (row: string, qualifier: string): Promise<number> => {
      const r = Buffer.from(row);
      const q = Buffer.from(qualifier);
      await reader.probe.loadForColumn(r, 0, r.length, q, 0, q.length);
      return reader.probe.mightContainColumn(r, 0, r.length, q, 0, q.length);
    };
    for (const { row, qualifier } of goldenCells({ tags: false, mvcc: false })) {
      expect(await probe(row, qualifier)).toBe(PROBE_MAYBE);
    }
    let maybe = 0;
    for (let i = 0; i < 200; i++) if ((await probe('row-0003', `x${i}`)) === PROBE_MAYBE) maybe++;
    expect(maybe).toBeLessThan(20);
  });

  test('delete-family rows', async () => {
    const reader = await openGolden('none');
    const probe = async (row: string): Promise<number> => {
      const r = Buffer.from(row);
      await reader.probe.loadForDeleteFamily(r, 0, r.length);
      return reader.probe.mightDeleteFamily(r, 0, r.length);
    };
    expect(await probe('row-0005')).toBe(PROBE_MAYBE);
    expect(await probe('row-0007')).toBe(PROBE_MAYBE);
    const others = ['row-0000', 'row-0006', 'row-0009', 'row-0012', 'row-0015'];
    const answers = await Promise.all(others.map(probe));
    expect(answers.filter((answer) => answer === PROBE_ABSENT).length).toBeGreaterThanOrEqual(4);
  });
});

test('file info as the manifest states it', async () => {
  const { properties, trailer } = await openGolden('tags');
  expect(properties).toMatchObject({
    createdMs: 1700000000000n,
    hasTags: true,
    hasWriteNumbers: true,
    writeNumberMax: 115n,
    encoding: 'NONE',
    bloomType: 'ROW',
    deleteFamilyCount: 2n,
    timeRange: { min: 0n, max: 1700000000015n },
    earliestPutMs: 2000n,
    maxSequenceId: 42n,
    isMajorCompacted: false,
  });
  expect(trailer).toMatchObject({
    fileInfoOffset: 4394,
    loadOnOpenOffset: 4201,
    dataIndexCount: 3,
    plainSize: 9101,
    dataIndexSize: 525,
    dataIndexLevels: 2,
    lastDataBlockOffset: 3674,
  });
});
