/** Flushes and compactions of random histories do not change what a reader of everything sees; gets read as scans do. */
import { describe, expect, test } from 'vitest';
import { END, WAIT } from '../../../src/cell/index.ts';
import { ALL_TIME, normalizeRead, normalizeScan } from '../../../src/model/index.ts';
import { NewestReader, PointReader } from '../../../src/region/scan/index.ts';
import type { CompactionKind } from '../../../src/region/scan/index.ts';
import { modelScan } from './model.ts';
import { NOW, pick, randomCase } from './random_cases.ts';
import { TYPES, compareTestCells, runScan, seeded, showResult } from './support.ts';

const HISTORIES = 400;
const READ_ALL = 2 ** 52;

describe('compaction', () => {
  test('a read at the smallest read point is as before', async () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const { random, stores: all } = randomCase(seed);
      // With KEEP_DELETED_CELLS deleted cells count as versions, so that compaction does change reads.
      const stores = all.filter((store) => store.settings.keepDeletedCells === 'FALSE');
      const smallest = random() < 0.5 ? Math.floor(random() * 20) : READ_ALL;
      const spec = normalizeScan({ versions: Infinity });
      // Later readers may see fewer versions: what VERSIONS drops does not come back when a newer one is deleted.
      const readPoints = [smallest];
      const before = readPoints.map((readPoint) =>
        modelScan(stores, spec, { nowMs: NOW, readPoint }),
      );
      const kinds: CompactionKind[] = pick(random, [
        ['flush'],
        ['minor'],
        ['major'],
        ['flush', 'major'],
      ]);
      for (const store of stores) {
        const cells = store.all();
        const dropped = kinds.flatMap((kind) =>
          store.compact({
            kind,
            readHigh: Math.floor(smallest / 2 ** 32),
            readLow: smallest % 2 ** 32,
            nowMs: NOW,
            purgeDeletesAfterMs: 0,
          }),
        );
        expect([...store.all(), ...dropped].sort(compareTestCells)).toEqual(cells);
      }
      for (const [index, readPoint] of readPoints.entries()) {
        const got = await runScan(stores, { spec, readPoint, nowMs: NOW });
        expect(got, `seed ${seed} ${kinds.join()} at ${readPoint}`).toEqual(before[index]);
      }
    }
  });
});

describe('point reads', () => {
  test('a get answers as the scan of its row does', async () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const { random, stores, options, readPoint } = randomCase(seed);
      const names = [
        'columns',
        'families',
        'versions',
        'timeRange',
        'familyTimeRanges',
        'storeLimit',
        'storeOffset',
      ];
      const kept = Object.fromEntries(
        Object.entries(options).filter(([name]) => names.includes(name)),
      );
      const spec = normalizeRead(kept);
      for (const store of stores)
        Object.assign(store, { waits: random, chance: pick(random, [0, 0.3]) });
      const reader = new PointReader(
        stores.map((store) => ({ settings: store.settings, sources: store.sources() })),
      );
      for (const row of ['a', 'aa', 'b', 'c', 'r', 'zz']) {
        const scan = normalizeScan({ ...kept, start: row, stop: row, stopInclusive: true });
        const want = modelScan(stores, scan, { nowMs: NOW, readPoint });
        const read = (): number =>
          reader.read(
            Buffer.from(row),
            spec,
            Math.floor(readPoint / 2 ** 32),
            readPoint % 2 ** 32,
            NOW,
          );
        let state = read();
        while (state === WAIT) {
          await reader.load();
          state = read();
        }
        expect(state === END, `seed ${seed} ${row}`).toBe(want.length === 0);
        const got = reader.result === null ? [] : [showResult(reader.result)];
        expect(got, `seed ${seed} ${row}`).toEqual(want.map(({ text }) => text));
      }
      reader.close();
    }
  });

  test('the newest cell is the first that a get of the column shows', async () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const random = seeded(seed);
      const { stores } = randomCase(seed);
      const store = stores[0]!;
      Object.assign(store, { waits: random, chance: 0.2 });
      const reader = new NewestReader(store.settings, store.sources());
      const columns = [
        ...new Set(store.all().map((cell) => `${cell.row}/${cell.qualifier}`)),
        'a/none',
      ];
      for (const column of columns) {
        const [row, qualifier] = column.split('/') as [string, string];
        const scan = normalizeScan({
          columns: [`f:${qualifier}`],
          start: row,
          stop: row,
          stopInclusive: true,
        });
        const want = modelScan([store], scan, { nowMs: NOW, readPoint: READ_ALL });
        const read = (): number =>
          reader.read(
            Buffer.from(row),
            Buffer.from(qualifier),
            ALL_TIME,
            0xffffffff,
            0xffffffff,
            NOW,
          );
        let state = read();
        while (state === WAIT) {
          await reader.load();
          state = read();
        }
        const { block, valueAt, valueLength } = reader.cell;
        const value = Buffer.from(block.subarray(valueAt, valueAt + valueLength)).toString(
          'latin1',
        );
        const text = want[0]?.text;
        expect(state === END, `seed ${seed} ${column}`).toBe(text === undefined);
        if (text !== undefined) expect(`${value}]`).toBe(text.split('=')[1]);
      }
      expect(TYPES.Put).toBe(4);
    }
  });

  test('a read that was given up leaves the reader usable', () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const { random, stores } = randomCase(seed);
      for (const store of stores) Object.assign(store, { waits: null });
      const spec = normalizeRead({ versions: 2 });
      const sources = stores.map((store) => store.sources());
      const reader = new PointReader(
        stores.map((store, index) => ({ settings: store.settings, sources: sources[index]! })),
      );
      for (let i = 0; i < 6; i++) {
        const row = pick(random, ['a', 'aa', 'b', 'c', 'r']);
        for (const source of sources.flat()) source.waitOnce(random() < 0.2);
        const read = (): number => reader.read(Buffer.from(row), spec, READ_ALL, 0, NOW);
        if (read() === WAIT) {
          reader.abandon();
          continue;
        }
        const scan = normalizeScan({ versions: 2, start: row, stop: row, stopInclusive: true });
        const want = modelScan(stores, scan, { nowMs: NOW, readPoint: READ_ALL });
        const got = reader.result === null ? [] : [showResult(reader.result)];
        expect(got, `seed ${seed}`).toEqual(want.map(({ text }) => text));
      }
    }
  });
});
