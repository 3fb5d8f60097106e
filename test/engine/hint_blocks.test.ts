/**
 * Seek hints move the scanner over blocks that are never read: for each filter that gives them, the data blocks read of a file
 * with many small ones. The same for families that a filter does not need.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import {
  columnPaginationFilter,
  columnPrefixFilter,
  columnRangeFilter,
  fuzzyRowFilter,
  multiRowRangeFilter,
  multipleColumnPrefixFilter,
  mustPassAll,
  mustPassOne,
  prefixFilter,
  qualifierFilter,
  rowFilter,
  singleColumnValueFilter,
  timestampsFilter,
  valueFilter,
} from '../../src/filter/builders.ts';
import type { FilterInput, ReadExplanation, ScanOptions } from '../../src/model/index.ts';

const COUNT = 2000;
const VALUE = 'v'.repeat(50);
const numbered = (letter: string, i: number): string => `${letter}${String(i).padStart(4, '0')}`;

let env: SimEnv;
let store: EmbeddedConnection;

/**
 * `wide`: one row of 2,000 columns. `tall`: 2,000 rows of one column in each of two families; of a, every row has its number.
 * `deep`: one column of 2,000 versions. Each family is one file of blocks of 1 KiB, none of which stays in memory.
 */
beforeAll(async () => {
  env = simEnv({ seed: 3, startMs: 1_700_000_000_000 });
  store = await env.drive(
    open('/data', { env, blockingSync: false, autoCompact: false, blockCacheBytes: 0 }),
  );
  const family = (letter: string): object => ({ name: letter, BLOCKSIZE: 1024, VERSIONS: 5000 });
  const families = { wide: ['f'], tall: ['a', 'b'], deep: ['f'] };
  for (const [table, letters] of Object.entries(families)) {
    const spec = {
      name: table,
      families: letters.map((letter) => family(letter) as { name: string }),
    };
    await env.drive(store.admin.createTable(spec));
  }
  const indexes = Array.from({ length: COUNT }, (_, i) => i);
  const columns = indexes.map((i) => [`f:${numbered('c', i)}`, VALUE]);
  await env.drive(
    store.table('wide').put('r', Object.fromEntries(columns) as Record<string, string>),
  );
  await env.drive(store.table('wide').put('s', { 'f:c1003': VALUE }));
  await env.drive(
    store.table('tall').batch(
      indexes.map((i) => ({
        put: numbered('r', i),
        values: { 'a:q': String(i).padEnd(50), 'b:q': VALUE },
      })),
    ),
  );
  const versions = indexes.map((ts) => ({ family: 'f', qualifier: 'q', value: VALUE, ts }));
  await env.drive(store.table('deep').put('r', versions));
  await env.drive(store.admin.flush());
});

afterAll(async () => env.drive(store.close()));

const explain = (table: string, scan: ScanOptions): Promise<ReadExplanation> =>
  env.drive(store.table(table).explain({ scan }));

const blocksOf = ({ totals: { blocks } }: ReadExplanation): number =>
  blocks.data.fromCache + blocks.data.fromDisk;

/** The filter, cells found, and blocks read at most: those with what is found, one before each jump, and the start. */
type Case = readonly [string, FilterInput, number, number];

function expectFew({ given, cells, blocks }: Record<'given' | 'cells' | 'blocks', number>): {
  check(explanation: ReadExplanation): void;
} {
  return {
    check: (explanation) => {
      expect(explanation.totals.cells.returned).toBe(cells);
      expect(explanation.totals.hints.followed).toBeGreaterThanOrEqual(given);
      expect(blocksOf(explanation)).toBeLessThanOrEqual(blocks);
      expect(blocksOf(explanation)).toBeGreaterThan(0);
    },
  };
}

describe('columns of a wide row', () => {
  test('without a hint every block is read', async () => {
    const all = await explain('wide', {});
    expect(all.totals.cells.returned).toBe(COUNT + 1);
    expect(blocksOf(all)).toBeGreaterThan(140);
    const walked = await explain('wide', { filter: valueFilter('EQUAL', 'x') });
    expect(blocksOf(walked)).toBe(blocksOf(all));
    const byName = await explain('wide', { filter: qualifierFilter('EQUAL', 'c1000') });
    expect(blocksOf(byName)).toBe(blocksOf(all));
  });

  const cases: readonly Case[] = [
    [
      'ColumnRangeFilter',
      columnRangeFilter({ min: 'c1000', max: 'c1009', maxInclusive: true }),
      11,
      4,
    ],
    ['ColumnPrefixFilter', columnPrefixFilter('c100'), 11, 4],
    ['MultipleColumnPrefixFilter', multipleColumnPrefixFilter('c050', 'c100', 'c150'), 31, 9],
    [
      'ColumnPaginationFilter from a column',
      columnPaginationFilter({ limit: 10, columnOffset: 'c1000' }),
      11,
      4,
    ],
    [
      'all of two',
      mustPassAll(columnPrefixFilter('c10'), columnRangeFilter({ min: 'c1000', max: 'c1005' })),
      6,
      4,
    ],
    [
      'all, the hint last',
      mustPassAll(valueFilter('EQUAL', VALUE), columnPrefixFilter('c100')),
      11,
      4,
    ],
    ['one of two', mustPassOne(columnPrefixFilter('c050'), columnPrefixFilter('c100')), 21, 6],
    [
      'one of two, nested',
      mustPassAll(
        mustPassOne(columnPrefixFilter('c050'), columnPrefixFilter('c100')),
        columnRangeFilter({ min: 'c0505' }),
      ),
      16,
      6,
    ],
  ];
  test.each(cases)('%s', async (name, filter, cells, blocks) => {
    expectFew({ given: 1, cells, blocks }).check(await explain('wide', { filter }));
    // Backwards, a list walks within a row.
    if (/^(?:one|all)/.test(name)) return;
    expectFew({ given: 1, cells, blocks }).check(await explain('wide', { filter, reversed: true }));
  });

  test('one of two, of which one gives no hint, reads on', async () => {
    const filter = mustPassOne(columnPrefixFilter('c100'), valueFilter('EQUAL', 'x'));
    expect(blocksOf(await explain('wide', { filter }))).toBeGreaterThan(140);
  });

  test('ColumnPaginationFilter leaves the row behind its last column', async () => {
    const filter = columnPaginationFilter({ limit: 10, offset: 0 });
    const explanation = await explain('wide', { filter });
    expect(explanation.totals.cells.returned).toBe(11);
    expect(blocksOf(explanation)).toBeLessThanOrEqual(4);
  });
});

describe('versions of a column', () => {
  const deep = { versions: 5000 };

  test('TimestampsFilter', async () => {
    const all = await explain('deep', deep);
    expect(all.totals.cells.returned).toBe(COUNT);
    expect(blocksOf(all)).toBeGreaterThan(140);
    const walked = await explain('deep', { ...deep, filter: timestampsFilter([500, 1000]) });
    expect(walked.totals.cells.returned).toBe(2);
    // Down to the least of them, version by version.
    expect(blocksOf(walked)).toBeGreaterThan(100);
    const filter = timestampsFilter([500, 1000], { canHint: true });
    expectFew({ given: 2, cells: 2, blocks: 6 }).check(await explain('deep', { ...deep, filter }));
    const listed = mustPassAll(timestampsFilter([500], { canHint: true }), columnPrefixFilter('q'));
    expectFew({ given: 1, cells: 1, blocks: 4 }).check(
      await explain('deep', { ...deep, filter: listed }),
    );
  });
});

describe('rows of a tall table', () => {
  const scan = { families: ['b'] };

  test('without a hint every block is read', async () => {
    const all = await explain('tall', scan);
    expect(blocksOf(all)).toBeGreaterThan(140);
    const filter = rowFilter('EQUAL', 'r1000');
    expect(blocksOf(await explain('tall', { ...scan, filter }))).toBe(blocksOf(all));
  });

  const fuzzy = fuzzyRowFilter([{ pattern: 'r?500', mask: Uint8Array.of(0, 1, 0, 0, 0) }]);
  const ranges = multiRowRangeFilter([
    { start: 'r0500', stop: 'r0503' },
    { start: 'r1500', stop: 'r1501', stopInclusive: true },
  ]);
  const cases: readonly Case[] = [
    ['FuzzyRowFilter', fuzzy, 2, 7],
    ['MultiRowRangeFilter', ranges, 5, 7],
    ['PrefixFilter', prefixFilter('r150'), 10, 4],
    ['all of two', mustPassAll(ranges, fuzzy), 2, 7],
    [
      'one of two',
      mustPassOne(fuzzy, multiRowRangeFilter([{ start: 'r1000', stop: 'r1002' }])),
      4,
      9,
    ],
    ['all, the hint last', mustPassAll(valueFilter('EQUAL', VALUE), ranges), 5, 7],
  ];
  test.each(cases)('%s', async (_, filter, cells, blocks) => {
    expectFew({ given: 1, cells, blocks }).check(await explain('tall', { ...scan, filter }));
  });

  test('MultiRowRangeFilter and FuzzyRowFilter, reversed', async () => {
    for (const [filter, cells] of [
      [ranges, 5],
      [fuzzy, 2],
    ] as const) {
      const explanation = await explain('tall', { ...scan, filter, reversed: true });
      expectFew({ given: 1, cells, blocks: 9 }).check(explanation);
    }
  });
});

describe('families that the filter does not need', () => {
  const blocksOfFamily = (explanation: ReadExplanation, family: string): number => {
    const found = explanation.regions[0]!.families.find((one) => one.family === family)!;
    return found.sources.reduce(
      (sum, { blocks: { data } }) => sum + data.fromCache + data.fromDisk,
      0,
    );
  };

  test('are read for the rows it has passed', async () => {
    const value = String(1000).padEnd(50);
    const filter = mustPassOne(
      singleColumnValueFilter(['a', 'q'], 'EQUAL', value, { filterIfMissing: true }),
      singleColumnValueFilter(['a', 'q'], 'EQUAL', String(500).padEnd(50), {
        filterIfMissing: true,
      }),
    );
    const onDemand = await explain('tall', { filter });
    expect(onDemand.totals).toMatchObject({ rowsReturned: 2, cells: { returned: 4 } });
    expect(blocksOfFamily(onDemand, 'a')).toBeGreaterThan(140);
    expect(blocksOfFamily(onDemand, 'b')).toBeLessThanOrEqual(4);
    const atOnce = await explain('tall', { filter, loadColumnFamiliesOnDemand: false });
    expect(atOnce.totals.rowsReturned).toBe(2);
    expect(blocksOfFamily(atOnce, 'b')).toBeGreaterThan(140);
  });

  test('are not read at all when it passes none', async () => {
    const filter = singleColumnValueFilter(['a', 'q'], 'EQUAL', 'none', { filterIfMissing: true });
    const explanation = await explain('tall', { filter });
    expect(explanation.totals.rowsReturned).toBe(0);
    expect(blocksOfFamily(explanation, 'b')).toBe(0);
  });
});
