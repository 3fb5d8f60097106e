/** Cases 31 to 43 of the shared cases that are about filters, filters through every door, and filters of the user's own. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import {
  BaseFilter,
  FILTER_INCLUDE,
  FILTER_SKIP,
  columnPaginationFilter,
  columnPrefixFilter,
  customFilter,
  fuzzyRowFilter,
  keyOnlyFilter,
  longComparator,
  bigDecimalComparator,
  binaryComponentComparator,
  bitComparator,
  multiRowRangeFilter,
  mustPassAll,
  mustPassOne,
  nullComparator,
  pageFilter,
  parseFilter,
  prefixFilter,
  randomRowFilter,
  regexStringComparator,
  rowFilter,
  singleColumnValueFilter,
  timestampsFilter,
  valueFilter,
} from '../../src/filter/index.ts';
import type { FilterCode } from '../../src/filter/index.ts';
import type { CellView } from '../../src/cell/index.ts';
import type { FilterInput, Table } from '../../src/model/index.ts';
import { openCases, putCells, resultText, scanText } from './table.ts';

let store: EmbeddedConnection;
let table: Table;

async function start(splits: readonly string[] = []): Promise<void> {
  store = await open();
  const families = ['f', 'g'].map((name) => ({ name, VERSIONS: 5 }));
  await store.admin.createTable({ name: 't', families, SPLITS: splits });
  table = store.table('t');
}

beforeEach(async () => start());
afterEach(async () => store.close());

async function fill(rows: Readonly<Record<string, string>>): Promise<void> {
  for (const [row, cells] of Object.entries(rows)) await putCells(table, row, cells);
}

const rowsOf = async (filter: FilterInput, options: object = {}): Promise<string> =>
  (await scanText(table, { ...options, filter })).replaceAll(/\{(\S+)[^}]*\}/g, '$1');

describe('shared cases', () => {
  test('31: a list of prefix and pagination, in both orders', async () => {
    await fill({ r: 'f:a1@1=v f:a2@1=v f:b1@1=v f:b2@1=v f:b3@1=v' });
    const page = columnPaginationFilter({ limit: 2, offset: 0 });
    const prefix = columnPrefixFilter('b');
    expect(await scanText(table, { filter: mustPassAll(prefix, page) })).toBe(
      '{r f:b1@1=v f:b2@1=v}',
    );
    expect(await scanText(table, { filter: mustPassAll(page, prefix) })).toBe('{r f:b1@1=v}');
  });

  test('32: pagination counts columns, not versions', async () => {
    await fill({ r: 'f:a@1=1 f:a@2=2 f:a@3=3 f:b@1=1 f:c@1=1' });
    const filter = columnPaginationFilter({ limit: 2, offset: 0 });
    expect(await scanText(table, { filter, versions: 3 })).toBe('{r f:a@3=3 f:b@1=1}');
  });

  test('33: a filter of whole rows and batch exclude each other', async () => {
    await fill({ r: 'f:a@1=1' });
    const filter = singleColumnValueFilter(['f', 'a'], 'EQUAL', '1');
    await expect(scanText(table, { filter, batch: 1000 })).rejects.toThrow(
      'Cannot set batch on a scan using a filter that returns true for filter.hasFilterRow',
    );
    expect(await scanText(table, { filter })).toBe('{r f:a@1=1}');
    await expect(table.count({ filter, batch: 2 })).rejects.toThrow('Cannot set batch');
  });

  test('34: a column that is not read counts as missing', async () => {
    await fill({ r1: 'f:a@1=1 f:b@1=x f:b@2=y', r2: 'f:a@1=1' });
    const test = (options: object): FilterInput =>
      singleColumnValueFilter(['f', 'b'], 'EQUAL', 'x', options);
    expect(await rowsOf(test({}), { columns: ['f:a'] })).toBe('r1 r2');
    expect(await rowsOf(test({ filterIfMissing: true }), { columns: ['f:a'] })).toBe('');
    expect(await rowsOf(test({ filterIfMissing: true }), { versions: 2 })).toBe('');
    const any = { filterIfMissing: true, latestVersionOnly: false };
    expect(await rowsOf(test(any), { versions: 2 })).toBe('r1');
  });

  test('35: not equal to nothing', async () => {
    await fill({ empty: 'f:q@1= f:z@1=1', full: 'f:q@1=x', missing: 'f:z@1=1' });
    expect(await rowsOf(singleColumnValueFilter(['f', 'q'], 'NOT_EQUAL', ''))).toBe('full missing');
  });

  test('36: one of two expressions on the row', async () => {
    await fill({ '/b=A': 'f:q@1=1', '/b=B': 'f:q@1=1', '/b=C': 'f:q@1=1' });
    const row = (pattern: string) => rowFilter('EQUAL', regexStringComparator(pattern));
    expect(await rowsOf(mustPassOne(row('A$'), row('C$')))).toBe('/b=A /b=C');
  });

  test("37: one branch's hint does not pass over what the other wants", async () => {
    await fill({ aa1: 'f:c@1=1', aa2: 'f:c@1=2', bb1: 'f:c@1=2', bb2: 'f:c@1=1' });
    const fuzzy = fuzzyRowFilter([{ pattern: 'aa?', mask: [0, 0, 1] }]);
    const filter = mustPassOne(fuzzy, singleColumnValueFilter(['f', 'c'], 'EQUAL', '2'));
    expect(await rowsOf(filter)).toBe('aa1 aa2 bb1');
    expect(await rowsOf(filter, { reversed: true })).toBe('bb1 aa2 aa1');
  });

  test('38: PageFilter counts in each region, the limit over all', async () => {
    await store.close();
    await start(['m']);
    await fill({ a: 'f:q@1=1', b: 'f:q@1=1', x: 'f:q@1=1', y: 'f:q@1=1' });
    expect(await rowsOf(pageFilter(1))).toBe('a x');
    expect(await rowsOf(pageFilter(1), { reversed: true })).toBe('y b');
    expect(await rowsOf(pageFilter(3), { limit: 1 })).toBe('a');
    expect(await table.count({ filter: pageFilter(1) })).toBe(2);
  });

  test('40: reversed with column and row hints', async () => {
    await fill({ a: 'f:p1@1=1 f:q@1=1', b: 'f:p2@1=1', c: 'f:p3@1=1 f:q@1=1', d: 'f:p4@1=1' });
    const ranges = multiRowRangeFilter([
      { start: 'a', stop: 'b', stopInclusive: true },
      { start: 'c', startInclusive: false },
    ]);
    const filter = mustPassAll(columnPrefixFilter('p'), ranges);
    expect(await scanText(table, { filter })).toBe('{a f:p1@1=1} {b f:p2@1=1} {d f:p4@1=1}');
    const reversed = await scanText(table, { filter, reversed: true });
    expect(reversed).toBe('{d f:p4@1=1} {b f:p2@1=1} {a f:p1@1=1}');
  });

  test('42: prefixes of 0xff', async () => {
    const rows = [
      'a\\xFE',
      'a\\xFF',
      'a\\xFF\\x00',
      'b',
      '\\xFF\\xFE',
      '\\xFF\\xFF',
      '\\xFF\\xFF\\x01',
    ];
    for (const row of rows) await putCells(table, row, 'f:q@1=1');
    for (const [prefix, want] of [
      [[0x61, 0xff], 'a\\xFF a\\xFF\\x00'],
      [[0xff, 0xff], '\\xFF\\xFF \\xFF\\xFF\\x01'],
      [[], [...rows].join(' ')],
    ] as const) {
      const filter = prefixFilter(Uint8Array.from(prefix));
      expect(await rowsOf(filter)).toBe(want);
      expect(await rowsOf(filter, { reversed: true })).toBe(want.split(' ').reverse().join(' '));
    }
  });
});

describe('comparators', () => {
  test('numbers and bits', async () => {
    const bytes = (value: bigint): Buffer => {
      const buf = Buffer.alloc(8);
      buf.writeBigInt64BE(value);
      return buf;
    };
    for (const value of [-5n, 3n, 70_000_000_000n]) {
      await table.put(`n${value}`, [{ family: 'f', qualifier: 'q', value: bytes(value) }]);
    }
    const values = (operator: 'LESS' | 'EQUAL' | 'GREATER_OR_EQUAL', value: bigint) =>
      rowsOf(valueFilter(operator, longComparator(value)));
    expect(await values('LESS', 3n)).toBe('n-5');
    expect(await values('GREATER_OR_EQUAL', 3n)).toBe('n3 n70000000000');
    expect(await values('EQUAL', 70_000_000_000n)).toBe('n70000000000');
    const bit = bitComparator(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1), 'AND');
    expect(await rowsOf(valueFilter('EQUAL', bit))).toBe('n-5 n3');
    expect(await rowsOf(valueFilter('EQUAL', nullComparator()))).toBe('');
    expect(await rowsOf(rowFilter('EQUAL', binaryComponentComparator('-', 1)))).toBe('n-5');
    await table.put('short', { 'f:q': 'abc' });
    await expect(values('LESS', 3n)).rejects.toThrow('8 bytes, not 3');
  });

  test('decimals compare by value, whatever their scale', async () => {
    const stored: Readonly<Record<string, readonly number[]>> = {
      '1.5': [0, 0, 0, 1, 15],
      '1.50': [0, 0, 0, 2, 0, 150],
      '-20': [0, 0, 0, 0, 236],
      '2e3': [0xff, 0xff, 0xff, 0xfd, 2],
      '0.0': [0, 0, 0, 1, 0],
    };
    for (const [row, value] of Object.entries(stored)) {
      await table.put(row, [{ family: 'f', qualifier: 'q', value: Uint8Array.from(value) }]);
    }
    const which = (operator: 'LESS' | 'EQUAL' | 'GREATER', value: string | Uint8Array) =>
      rowsOf(valueFilter(operator, bigDecimalComparator(value)));
    expect(await which('EQUAL', '1.500')).toBe('1.5 1.50');
    expect(await which('GREATER', '1.5')).toBe('2e3');
    expect(await which('EQUAL', '2000')).toBe('2e3');
    expect(await which('LESS', '0')).toBe('-20');
    expect(await which('EQUAL', Uint8Array.of(0, 0, 0, 0, 0))).toBe('0.0');
  });
});

describe('doors', () => {
  beforeEach(async () => {
    await store.close();
    store = await openCases();
    table = store.table('t');
  });

  test('get, getSync, getMany, exists and count take filters', async () => {
    const filter = valueFilter('EQUAL', 'c0');
    const shown = (result: Awaited<ReturnType<Table['get']>>): string | null =>
      result === null ? null : resultText(result);
    expect(shown(await table.get('r2', { filter }))).toBe('{r2 f:c@3=c0}');
    expect(shown(table.getSync('r2', { filter }))).toBe('{r2 f:c@3=c0}');
    expect(await table.get('r1', { filter })).toBeNull();
    expect(table.getSync('r0', { filter })).toBeNull();
    const many = await table.getMany(['r1', 'r2', 'r4'], { filter: "ValueFilter(=,'binary:c0')" });
    expect(many.map(shown)).toEqual([null, '{r2 f:c@3=c0}', '{r4 f:c@3=c0}']);
    expect(await table.exists('r3', { filter })).toBe(false);
    expect(await table.count({ filter })).toBe(2);
    await store.admin.flush('t');
    expect(shown(await table.get('r2', { filter, versions: 2 }))).toBe('{r2 f:c@3=c0}');
  });

  test('a filter of the user: an object, a function for each region, one among others', async () => {
    class Even extends BaseFilter {
      override filterCell(cell: CellView): FilterCode {
        return cell.block[cell.rowAt + 1]! % 2 === 0 ? FILTER_INCLUDE : FILTER_SKIP;
      }
    }
    expect(await rowsOf(new Even())).toBe('r2 r4');
    expect(await rowsOf(() => new Even())).toBe('r2 r4');
    const list = mustPassAll(
      customFilter(() => new Even()),
      pageFilter(1),
      keyOnlyFilter(),
    );
    expect(await scanText(table, { filter: list, families: ['g'] })).toBe('{r2 g:a@2= g:z@9=}');
  });

  test('chance comes from the engine', async () => {
    const filter = randomRowFilter(0.5);
    const counts = await Promise.all(Array.from({ length: 40 }, () => table.count({ filter })));
    expect(new Set(counts).size).toBeGreaterThan(1);
  });

  test('mistakes show before anything is read', () => {
    for (const [filter, want] of [
      [{ type: 'PrefxFilter', prefix: 'a' }, "did you mean 'PrefixFilter'"],
      [pageFilter(-1), 'pageSize must be positive: -1'],
      [multiRowRangeFilter([]), 'No ranges found'],
      [multiRowRangeFilter([{ start: 'b', stop: 'a' }]), 'Invalid range'],
      [fuzzyRowFilter([{ pattern: 'ab', mask: [0] }]), 'lengths do not match'],
      [timestampsFilter([-1]), 'cannot be negative'],
      [rowFilter('EQUAL', regexStringComparator('(')), 'near index'],
      ["RowFilter(>,'regexstring:a')", 'can only be used with EQUAL and NOT_EQUAL'],
      ["PrefixFilter('a') AND", 'at position 21'],
      ["PrefixFilter('a'))", 'Mismatched parenthesis at position 17'],
      ["PageFilter('1')", 'at position 11 is not an integer'],
      [7, 'filter must be a filter'],
    ] as const) {
      expect(() => table.scan({ filter: filter as FilterInput })).toThrow(want);
    }
  });

  test('the language nests, and knows SKIP and WHILE before parentheses', () => {
    const text =
      "SKIP (ValueFilter(!=,'binary:0') AND WHILE PrefixFilter('a')) OR KeyOnlyFilter( )";
    expect(parseFilter(text)).toEqual({
      type: 'FilterList',
      operator: 'MUST_PASS_ONE',
      filters: [
        {
          type: 'SkipFilter',
          filter: {
            type: 'FilterList',
            operator: 'MUST_PASS_ALL',
            filters: [
              {
                type: 'ValueFilter',
                operator: 'NOT_EQUAL',
                comparator: { type: 'BinaryComparator', value: Uint8Array.from([0x30]) },
              },
              {
                type: 'WhileMatchFilter',
                filter: { type: 'PrefixFilter', prefix: Uint8Array.from([0x61]) },
              },
            ],
          },
        },
        { type: 'KeyOnlyFilter' },
      ],
    });
  });
});
