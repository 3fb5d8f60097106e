/** Seek hints: they change how far a scan moves, never what it finds. */
import { describe, expect, test } from 'vitest';
import { END, WAIT } from '../../src/cell/index.ts';
import { FILTER_SEEK_NEXT_USING_HINT, FILTER_SKIP, filterMaker } from '../../src/filter/index.ts';
import {
  columnCountGetFilter,
  columnPaginationFilter,
  columnPrefixFilter,
  columnRangeFilter,
  dependentColumnFilter,
  familyFilter,
  filterFromJson,
  filterToJson,
  firstKeyOnlyFilter,
  fuzzyRowFilter,
  inclusiveStopFilter,
  keyOnlyFilter,
  multiRowRangeFilter,
  multipleColumnPrefixFilter,
  mustPassAll,
  mustPassOne,
  pageFilter,
  prefixFilter,
  qualifierFilter,
  regexStringComparator,
  rowFilter,
  singleColumnValueFilter,
  skipFilter,
  substringComparator,
  timestampsFilter,
  valueFilter,
  whileMatchFilter,
} from '../../src/filter/index.ts';
import { normalizeScan } from '../../src/model/index.ts';
import type { CellFilter, FilterContext, FilterSpec, ScanOptions } from '../../src/model/index.ts';
import { CellBatch, RegionScanner, openStores } from '../../src/region/scan/index.ts';
import { TestStore, runScan, TYPES } from '../region/scan/support.ts';
import type { Random, TestCell } from '../region/scan/support.ts';
import { NOW, pick, randomCase } from '../region/scan/random_cases.ts';

const ROUNDS = 800;
const COLUMNS = ['a', 'b', 'ba', 'c'];
const ROW_NAMES = ['a', 'aa', 'b', 'ba', 'c', 'd', ''];
const OPERATORS = [
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
] as const;

/** A filter whose state does not depend on which cells it is shown, so that a missed hint changes nothing. */
function randomFilter(random: Random, depth: number): FilterSpec {
  const kind = Math.floor(random() * (depth > 1 ? 13 : 19));
  const column = (): string => pick(random, COLUMNS);
  const row = (): string => pick(random, ROW_NAMES);
  const operator = pick(random, OPERATORS);
  switch (kind) {
    case 0:
      return columnPrefixFilter(column());
    case 1:
      return multipleColumnPrefixFilter(...new Set([column(), column()]));
    case 2:
      return columnRangeFilter({
        min: pick(random, [null, column()]),
        minInclusive: random() < 0.5,
        max: pick(random, [null, column()]),
        maxInclusive: random() < 0.5,
      });
    case 3:
      return prefixFilter(row());
    case 4:
      return fuzzyRowFilter([
        { pattern: pick(random, ['a', 'b', 'c']), mask: [0] },
        { pattern: pick(random, ['b', 'c', 'd']), mask: [0] },
      ]);
    case 5:
    case 6:
      return multiRowRangeFilter(
        [0, 1].map(() => {
          const [start, stop] = [row(), row()].sort() as [string, string];
          const inclusive = random() < 0.5 || start === stop;
          return { start, startInclusive: inclusive, stop, stopInclusive: inclusive };
        }),
      );
    case 7:
      return timestampsFilter([NOW - 9000, NOW - 6000, NOW - 4000]);
    case 8:
      return valueFilter(operator, `v${Math.floor(random() * 9)}`);
    case 9:
      return qualifierFilter(operator, column());
    case 10:
      return rowFilter(operator, row());
    case 11:
      return pick(random, [familyFilter(operator, 'f'), keyOnlyFilter(), inclusiveStopFilter('b')]);
    case 12:
      return valueFilter('EQUAL', substringComparator('V1'));
    case 13:
      return skipFilter(randomFilter(random, depth + 1));
    case 14:
      return whileMatchFilter(randomFilter(random, depth + 1));
    default: {
      const count = Math.floor(random() * 4);
      const filters = Array.from({ length: count }, () => randomFilter(random, depth + 1));
      const list = random() < 0.5 ? mustPassAll(...filters) : mustPassOne(...filters);
      return random() < 0.2 ? mustPassAll(list, pageFilter(2)) : list;
    }
  }
}

/** The same filter, whose hints nobody follows. */
function withoutHints(filter: CellFilter): CellFilter {
  return {
    reset: () => filter.reset(),
    filterAllRemaining: () => filter.filterAllRemaining(),
    filterRowKey: (cell) => filter.filterRowKey(cell),
    filterCell: (cell) => {
      const code = filter.filterCell(cell);
      if (code !== FILTER_SEEK_NEXT_USING_HINT) return code;
      // The hint is asked for all the same: a filter may find there that nothing is left.
      filter.nextCellHint(cell);
      return FILTER_SKIP;
    },
    transformCell: (cell) => filter.transformCell(cell),
    nextCellHint: () => null,
    hasFilterRow: () => filter.hasFilterRow(),
    filterRowCells: (row) => filter.filterRowCells(row),
    filterRow: () => filter.filterRow(),
  };
}

test('random filters find the same with their hints and without', async () => {
  let hinted = 0;
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const { random, stores, options, readPoint } = randomCase(seed);
    const spec = normalizeScan({
      ...options,
      raw: false,
      batch: 100_000,
      reversed: random() < 0.5,
    });
    const filterSpec = randomFilter(random, 0);
    const make = filterMaker(filterSpec);
    const context: FilterContext = { reversed: spec.reversed, random: () => 0 };
    const run = { spec: { ...spec, batch: 0x7fffffff }, readPoint, nowMs: NOW };
    const want = await runScan(stores, { ...run, filter: withoutHints(make(context)) });
    for (const chance of [0, 0.3]) {
      for (const store of stores) Object.assign(store, { waits: random, chance });
      const got = await runScan(stores, { ...run, filter: make(context) });
      expect(got, `seed ${seed}: ${filterToJson(filterSpec)} ${JSON.stringify(options)}`).toEqual(
        want,
      );
    }
    if (want.length > 0) hinted++;
    expect(filterFromJson(filterToJson(filterSpec))).toEqual(filterSpec);
  }
  expect(hinted).toBeGreaterThan(ROUNDS / 8);
});

/** Of `randomCase`. */
const CASE_COLUMNS = ['b', 'q', 'qq', 'r', 'c04', 'c12'];

/** One that counts or remembers the cells it is shown. */
function countingFilter(random: Random): FilterSpec {
  const count = Math.floor(random() * 4);
  switch (Math.floor(random() * 6)) {
    case 0:
      return columnCountGetFilter(count);
    case 1:
      return columnPaginationFilter({ limit: 2, offset: count });
    case 2:
      return firstKeyOnlyFilter();
    case 3:
      return dependentColumnFilter(['f', pick(random, CASE_COLUMNS)]);
    case 4:
      return singleColumnValueFilter(['f', pick(random, CASE_COLUMNS)], 'LESS', 'v5');
    default:
      return skipFilter(qualifierFilter('NOT_EQUAL', pick(random, CASE_COLUMNS)));
  }
}

test('backwards, filters that count see all cells of a row, whatever hints others of the list give', async () => {
  let found = 0;
  for (let seed = 1; seed <= ROUNDS / 2; seed++) {
    const { random, stores, readPoint } = randomCase(seed);
    const spec = normalizeScan({ reversed: true });
    const column = pick(random, CASE_COLUMNS);
    const hinting = pick(random, [
      columnPrefixFilter(column),
      columnRangeFilter({ min: column }),
      multipleColumnPrefixFilter(column),
      columnPaginationFilter({ limit: 2, columnOffset: column }),
    ]);
    const list = mustPassAll(countingFilter(random), hinting);
    const make = filterMaker(random() < 0.3 ? mustPassAll(list) : list);
    const context: FilterContext = { reversed: true, random: () => 0 };
    const run = { spec, readPoint, nowMs: NOW };
    const want = await runScan(stores, { ...run, filter: withoutHints(make(context)) });
    const got = await runScan(stores, { ...run, filter: make(context) });
    expect(got, `seed ${seed}: ${filterToJson(list)}`).toEqual(want);
    if (want.length > 0) found++;
  }
  expect(found).toBeGreaterThan(ROUNDS / 20);
});

test('a list of one of several within another finds what one list of them all finds', async () => {
  let found = 0;
  for (let seed = 1; seed <= ROUNDS / 2; seed++) {
    const { random, stores, options, readPoint } = randomCase(seed);
    const spec = normalizeScan({ ...options, raw: false, batch: 100_000, reversed: false });
    const a = randomFilter(random, 2);
    // One leaves the family of a row, the other the row: the list of both must not leave the row's other family.
    const column = pick(random, ['', 'a', 'p', 'c0', 'c1']);
    const b = pick(random, [columnPrefixFilter(column), columnRangeFilter({ max: column })]);
    const c = prefixFilter(pick(random, ROW_NAMES));
    const run = { spec: { ...spec, batch: 0x7fffffff }, readPoint, nowMs: NOW };
    const rowsOf = (filter: FilterSpec): Promise<unknown> => {
      const context: FilterContext = { reversed: false, random: () => 0 };
      return runScan(stores, { ...run, filter: filterMaker(filter)(context) });
    };
    const want = await rowsOf(mustPassOne(a, b, c));
    for (const nested of [
      mustPassOne(a, mustPassOne(b, c)),
      mustPassOne(mustPassOne(a, b), c),
      mustPassOne(a, mustPassAll(mustPassOne(b, c))),
    ]) {
      expect(await rowsOf(nested), `seed ${seed}: ${filterToJson(nested)}`).toEqual(want);
    }
    if (JSON.stringify(want).length > 100) found++;
  }
  expect(found).toBeGreaterThan(ROUNDS / 16);
});

/** 40 rows r00 … r39 of 40 columns c00 … c39. */
function grid(): TestStore {
  const two = (n: number): string => String(n).padStart(2, '0');
  const cells: TestCell[] = [];
  for (let row = 0; row < 40; row++) {
    for (let column = 0; column < 40; column++) {
      cells.push({
        row: `r${two(row)}`,
        qualifier: `c${two(column)}`,
        ts: 1,
        type: TYPES.Put,
        value: 'v',
        write: 1,
      });
    }
  }
  return new TestStore({ name: 'f' }, [cells]);
}

const GRID = grid();
const AT_ONE = { high: 1, low: 0, nowMs: NOW };

async function examined(
  filter: FilterSpec,
  options: ScanOptions = {},
): Promise<{ cells: number; looks: number }> {
  const spec = normalizeScan(options);
  const scanner = new RegionScanner({
    stores: openStores([GRID], spec, AT_ONE),
    spec,
    readHigh: 1,
    readLow: 0,
    nowMs: NOW,
    filter: filterMaker(filter)({ reversed: spec.reversed, random: () => 0 }),
  });
  const batch = new CellBatch();
  let looks = 0;
  let cells = 0;
  for (;;) {
    const state = scanner.next(batch, { resultsMax: 1, bytesMax: Infinity });
    looks += batch.examined;
    for (let i = 0; i < batch.size; i++) cells += batch.result(i).size;
    batch.clear();
    if (state === WAIT) await scanner.load();
    if (state === END) return { cells, looks };
  }
}

describe('a hint moves the scanner', () => {
  // Cells and rows looked at, of 1,600 cells; a filter that hints looks at one cell before it jumps.
  test.each<[string, FilterSpec, { cells: number; looks: number }]>([
    ['ColumnPrefix', columnPrefixFilter('c3'), { cells: 400, looks: 481 }],
    ['ColumnRange', columnRangeFilter({ min: 'c38' }), { cells: 80, looks: 161 }],
    ['MultipleColumnPrefix', multipleColumnPrefixFilter('c1', 'c39'), { cells: 440, looks: 561 }],
    [
      'ColumnPagination',
      columnPaginationFilter({ limit: 1, columnOffset: 'c30' }),
      { cells: 40, looks: 161 },
    ],
    ['Prefix', prefixFilter('r39'), { cells: 40, looks: 44 }],
    [
      'MultiRowRange',
      multiRowRangeFilter([{ start: 'r20', stop: 'r21' }, { start: 'r39' }]),
      { cells: 80, looks: 87 },
    ],
    ['FuzzyRow', fuzzyRowFilter([{ pattern: 'r?7', mask: [0, 1, 0] }]), { cells: 160, looks: 175 }],
  ])('%s', async (_, filter, want) => {
    expect(await examined(filter)).toEqual(want);
    const reversed = await examined(filter, { reversed: true });
    expect(reversed.cells).toBe(want.cells);
    expect(reversed.looks).toBeLessThan(1600);
  });

  test('a list takes the farthest hint of all, the nearest of any', async () => {
    const both = mustPassAll(columnPrefixFilter('c3'), columnPrefixFilter('c30'));
    expect(await examined(both)).toEqual({ cells: 40, looks: 161 });
    const either = mustPassOne(columnPrefixFilter('c20'), columnPrefixFilter('c30'));
    const { cells, looks } = await examined(either);
    expect(cells).toBe(80);
    expect(looks).toBeLessThan(800);
  });
});

test('a costly expression ends its turn early', () => {
  const spec = normalizeScan({});
  const pattern = regexStringComparator('(x+x+)+y|(v|v?)*w');
  const scanner = new RegionScanner({
    stores: openStores([GRID], spec, AT_ONE),
    spec,
    readHigh: 1,
    readLow: 0,
    nowMs: NOW,
    filter: filterMaker(valueFilter('EQUAL', pattern))({ reversed: false, random: () => 0 }),
  });
  const batch = new CellBatch();
  let turns = 1;
  while (scanner.next(batch, { resultsMax: 9, bytesMax: 9, examinedMax: 100 }) !== END) turns++;
  // 1,640 looks at cells and rows would be 17 turns.
  expect(turns).toBeGreaterThan(25);
});
