/**
 * Every filter and comparator once through every read of the public API, by each way in: built, as JSON, as text, within a list;
 * and with each of its members broken: a typed error that says what is wrong, never one of JavaScript's own.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { FILTER_TYPES, filterFromJson, filterToJson, parseFilter } from '../../src/filter/index.ts';
import {
  bigDecimalComparator,
  binaryComparator,
  binaryComponentComparator,
  binaryPrefixComparator,
  bitComparator,
  columnCountGetFilter,
  columnPaginationFilter,
  columnPrefixFilter,
  columnRangeFilter,
  columnValueFilter,
  dependentColumnFilter,
  familyFilter,
  firstKeyOnlyFilter,
  firstKeyValueMatchingQualifiersFilter,
  fuzzyRowFilter,
  inclusiveStopFilter,
  keyOnlyFilter,
  longComparator,
  multiRowRangeFilter,
  multipleColumnPrefixFilter,
  mustPassAll,
  mustPassOne,
  nullComparator,
  pageFilter,
  prefixFilter,
  qualifierFilter,
  randomRowFilter,
  regexStringComparator,
  rowFilter,
  singleColumnValueExcludeFilter,
  singleColumnValueFilter,
  skipFilter,
  substringComparator,
  timestampsFilter,
  valueFilter,
  whileMatchFilter,
} from '../../src/filter/builders.ts';
import { StoreException } from '../../src/io/index.ts';
import { IllegalArgumentException } from '../../src/model/index.ts';
import type {
  ComparatorSpec,
  FilterInput,
  FilterSpec,
  Result,
  ScanOptions,
  Table,
} from '../../src/model/index.ts';

let store: EmbeddedConnection;
let table: Table;

/** r1 and r2: f:a=1 at 1, f:b=2 at 2, g:c=3 at 3; r3: g:c=0 at 3. */
beforeAll(async () => {
  store = await open();
  await store.admin.createTable({ name: 't', families: ['f', 'g'] });
  table = store.table('t');
  for (const row of ['r1', 'r2']) {
    await table.put(row, { 'f:a': '1' }, { ts: 1 });
    await table.put(row, { 'f:b': '2' }, { ts: 2 });
    await table.put(row, { 'g:c': '3' }, { ts: 3 });
  }
  await table.put('r3', { 'g:c': '0' }, { ts: 3 });
});
afterAll(async () => store.close());

const cellsText = (results: readonly Result[]): string =>
  results
    .map((result) => {
      const cells = result.cells.map(({ family, qualifier, value }) => {
        return `${family}:${Buffer.from(qualifier).toString()}=${Buffer.from(value).toString('latin1')}`;
      });
      return `${result.rowText}(${cells.join(' ')})`;
    })
    .join(' ');

async function scanned(filter: FilterInput, options: ScanOptions = {}): Promise<string> {
  return cellsText(await table.scan({ ...options, filter }).nextBatch());
}

const R1 = 'r1(f:a=1 f:b=2 g:c=3)';
const R2 = 'r2(f:a=1 f:b=2 g:c=3)';
const R3 = 'r3(g:c=0)';
const ALL = `${R1} ${R2} ${R3}`;

/** A filter of each type, what it passes, and the same in the language, where that knows it. */
const FILTERS: readonly (readonly [FilterSpec, string, string?])[] = [
  [keyOnlyFilter(), 'r1(f:a= f:b= g:c=) r2(f:a= f:b= g:c=) r3(g:c=)', 'KeyOnlyFilter()'],
  [firstKeyOnlyFilter(), 'r1(f:a=1) r2(f:a=1) r3(g:c=0)', 'FirstKeyOnlyFilter()'],
  [{ type: 'FilterAllFilter' }, ''],
  [firstKeyValueMatchingQualifiersFilter('b'), 'r1(f:a=1 f:b=2) r2(f:a=1 f:b=2) r3(g:c=0)'],
  [prefixFilter('r2'), R2, "PrefixFilter('r2')"],
  [pageFilter(2), `${R1} ${R2}`, 'PageFilter(2)'],
  [inclusiveStopFilter('r2'), `${R1} ${R2}`, "InclusiveStopFilter('r2')"],
  [columnPrefixFilter('a'), 'r1(f:a=1) r2(f:a=1)', "ColumnPrefixFilter('a')"],
  [
    multipleColumnPrefixFilter('a', 'c'),
    'r1(f:a=1 g:c=3) r2(f:a=1 g:c=3) r3(g:c=0)',
    "MultipleColumnPrefixFilter('a','c')",
  ],
  [columnCountGetFilter(3), ALL, 'ColumnCountGetFilter(3)'],
  [
    columnPaginationFilter({ limit: 1, offset: 1 }),
    'r1(f:b=2) r2(f:b=2)',
    'ColumnPaginationFilter(1,1)',
  ],
  [columnPaginationFilter({ limit: 1, columnOffset: 'b' }), 'r1(f:b=2) r2(f:b=2) r3(g:c=0)'],
  [
    columnRangeFilter({ min: 'b', max: 'c', maxInclusive: true }),
    'r1(f:b=2 g:c=3) r2(f:b=2 g:c=3) r3(g:c=0)',
    "ColumnRangeFilter('b',true,'c',true)",
  ],
  [timestampsFilter([1, 3]), 'r1(f:a=1 g:c=3) r2(f:a=1 g:c=3) r3(g:c=0)', 'TimestampsFilter(1,3)'],
  [randomRowFilter(2), ALL],
  [multiRowRangeFilter([{ start: 'r2', stop: 'r3' }]), R2],
  [fuzzyRowFilter([{ pattern: '?2', mask: [1, 0] }]), R2],
  [skipFilter(valueFilter('NOT_EQUAL', '0')), `${R1} ${R2}`, "SKIP ValueFilter(!=,'binary:0')"],
  [whileMatchFilter(rowFilter('NOT_EQUAL', 'r2')), R1, "WHILE RowFilter(!=,'binary:r2')"],
  [rowFilter('GREATER', 'r1'), `${R2} ${R3}`, "RowFilter(>,'binary:r1')"],
  [familyFilter('EQUAL', 'f'), 'r1(f:a=1 f:b=2) r2(f:a=1 f:b=2)', "FamilyFilter(=,'binary:f')"],
  [qualifierFilter('LESS', 'b'), 'r1(f:a=1) r2(f:a=1)', "QualifierFilter(<,'binary:b')"],
  [valueFilter('EQUAL', '0'), R3, "ValueFilter(=,'binary:0')"],
  [dependentColumnFilter(['f', 'a']), 'r1(f:a=1) r2(f:a=1)', "DependentColumnFilter('f','a')"],
  [
    singleColumnValueFilter(['f', 'a'], 'EQUAL', '1', { filterIfMissing: true }),
    `${R1} ${R2}`,
    "SingleColumnValueFilter('f','a',=,'binary:1',true,true)",
  ],
  [
    singleColumnValueExcludeFilter(['f', 'a'], 'EQUAL', '1', { filterIfMissing: true }),
    'r1(f:b=2 g:c=3) r2(f:b=2 g:c=3)',
    "SingleColumnValueExcludeFilter('f','a',=,'binary:1',true,true)",
  ],
  [
    columnValueFilter(['f', 'a'], 'EQUAL', '1'),
    'r1(f:a=1) r2(f:a=1)',
    "ColumnValueFilter('f','a',=,'binary:1')",
  ],
  [
    mustPassAll(columnPrefixFilter('a'), rowFilter('EQUAL', 'r1')),
    'r1(f:a=1)',
    "ColumnPrefixFilter('a') AND RowFilter(=,'binary:r1')",
  ],
  [
    mustPassOne(columnPrefixFilter('a'), rowFilter('EQUAL', 'r3')),
    `r1(f:a=1) r2(f:a=1) ${R3}`,
    "ColumnPrefixFilter('a') OR RowFilter(=,'binary:r3')",
  ],
];

/** Each comparator in a filter of values or rows, and what it passes. */
const COMPARATORS: readonly (readonly [ComparatorSpec, string])[] = [
  [binaryComparator('2'), 'r1(f:b=2) r2(f:b=2)'],
  [binaryPrefixComparator('2'), 'r1(f:b=2) r2(f:b=2)'],
  [binaryComponentComparator('2', 0), 'r1(f:b=2) r2(f:b=2)'],
  [bitComparator('2', 'AND'), `${R1.replace(' f:b=2', ' f:b=2')} ${R2} ${R3}`],
  [nullComparator(), ''],
  [regexStringComparator('[2]'), 'r1(f:b=2) r2(f:b=2)'],
  [substringComparator('2'), 'r1(f:b=2) r2(f:b=2)'],
];

describe('each filter', () => {
  test('is here', () => {
    const types = new Set<string>(FILTERS.map(([{ type }]) => type));
    expect(FILTER_TYPES.filter((type) => !types.has(type))).toEqual(['CustomFilter']);
  });

  test.each(FILTERS.map(([spec, ...rest]) => [spec.type, spec, ...rest] as const))(
    '%s',
    async (_, spec, wanted, text) => {
      expect(await scanned(spec)).toBe(wanted);
      expect(await scanned(filterFromJson(filterToJson(spec)))).toBe(wanted);
      expect(await scanned(mustPassAll(spec))).toBe(wanted);
      expect(await scanned(mustPassOne(spec))).toBe(wanted);
      if (text !== undefined) {
        expect(await scanned(text)).toBe(wanted);
        expect(await scanned(parseFilter(text))).toBe(wanted);
        expect(await scanned(Buffer.from(text))).toBe(wanted);
      }
      expect(await table.count({ filter: spec })).toBe(
        wanted === '' ? 0 : wanted.split(') ').length,
      );
      const rows = wanted === '' ? [] : wanted.split(/(?<=\)) /);
      const explanation = await table.explain({ scan: { filter: spec } });
      expect(explanation.totals.rowsReturned).toBe(rows.length);
      // A get sees one row: what counts or ends a scan begins anew.
      const got = await table.get('r1', { filter: spec });
      expect(table.getSync('r1', { filter: spec })?.size ?? 0).toBe(got?.size ?? 0);
      const [many] = await table.getMany(['r1'], { filter: spec });
      expect(cellsText(many === null || many === undefined ? [] : [many])).toBe(
        cellsText(got === null ? [] : [got]),
      );
      expect(await table.exists('r1', { filter: spec })).toBe(got !== null);
      const { processed } = await table
        .checkAndMutate('r1', { filter: spec }, { delete: 'other' })
        .catch((error: unknown) => {
          // The action is of another row, so nothing is ever written.
          expect((error as Error).name).toBe('WrongRowIOException');
          return { processed: true };
        });
      expect(processed).toBe(got !== null);
    },
  );

  test.each(FILTERS.map(([spec]) => [spec.type, spec] as const))(
    '%s, reversed',
    async (_, spec) => {
      const forward = await table.count({ filter: spec });
      const backward = await table.count({ filter: spec, reversed: true });
      // What stops somewhere stops elsewhere from the other end.
      const stops = ['InclusiveStopFilter', 'WhileMatchFilter'].includes(spec.type);
      if (!stops) expect(backward).toBe(forward);
    },
  );
});

describe('each comparator', () => {
  test.each(COMPARATORS.map(([spec, wanted]) => [spec.type, spec, wanted] as const))(
    '%s',
    async (_, spec, wanted) => {
      const filter = valueFilter('EQUAL', spec);
      expect(await scanned(filter)).toBe(wanted);
      expect(await scanned(filterFromJson(filterToJson(filter)))).toBe(wanted);
    },
  );

  test('LongComparator and BigDecimalComparator', async () => {
    const numbers = await open();
    await numbers.admin.createTable({ name: 't', families: ['f'] });
    const decimal = (scale: number, unscaled: number): Uint8Array => {
      const bytes = new Uint8Array(5);
      new DataView(bytes.buffer).setInt32(0, scale);
      bytes[4] = unscaled;
      return bytes;
    };
    await numbers.table('t').put('a', { 'f:long': -5n, 'f:dec': decimal(1, 15) });
    await numbers.table('t').put('b', { 'f:long': 7n, 'f:dec': decimal(0, 2) });
    const count = (column: 'long' | 'dec', comparator: ComparatorSpec): Promise<number> =>
      numbers.table('t').count({ filter: columnValueFilter(['f', column], 'LESS', comparator) });
    expect(await count('long', longComparator(0))).toBe(1);
    expect(await count('long', longComparator(8n))).toBe(2);
    expect(await count('dec', bigDecimalComparator(decimal(2, 160 - 256)))).toBe(0);
    expect(await count('dec', bigDecimalComparator(decimal(0, 2)))).toBe(1);
    await numbers.close();
  });
});

const JUNK: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['a number', 7],
  ['NaN', NaN],
  ['a negative number', -1],
  ['a fraction', 0.5],
  ['a bigint', 2n ** 70n],
  ['text', 'x'],
  ['nothing of text', ''],
  ['true', true],
  ['a symbol', Symbol('s')],
  ['an object', {}],
  ['a bare object', Object.create(null)],
  ['an array', []],
  ['an array of nothing', [null]],
  ['an array of symbols', [Symbol('s')]],
  ['a function', (): number => 1],
  ['a proxy that throws', new Proxy({}, { ownKeys: () => [] })],
];

/** Every copy of a value with one member, however deep, left out or replaced. */
function* broken(value: unknown): Generator<readonly [string, unknown]> {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    const put = (other: unknown): unknown => {
      if (!Array.isArray(value)) return { ...value, [key]: other };
      return value.map((item: unknown, i) => (String(i) === key ? other : item));
    };
    const rest = Object.entries(value).filter(([name]) => name !== key);
    if (!Array.isArray(value)) yield [`without ${key}`, Object.fromEntries(rest)];
    for (const [name, junk] of JUNK) yield [`${key}: ${name}`, put(junk)];
    for (const [name, part] of broken(member)) yield [`${key}.${name}`, put(part)];
  }
}

/** What work ends with that is no error of ours. */
async function foreignError(work: () => Promise<unknown>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof StoreException) return null;
    return String(error);
  }
}

describe('broken', () => {
  test.each(FILTERS.map(([spec]) => [spec.type, spec] as const))('%s', async (_, spec) => {
    const faults: string[] = [];
    for (const [name, filter] of broken(spec)) {
      const input = { filter: filter as FilterInput };
      for (const [read, work] of [
        ['scan', async () => table.scan(input).nextBatch()],
        ['get', async () => table.get('r1', input)],
        ['getSync', async () => table.getSync('r1', input)],
        ['condition', async () => table.checkAndMutate('none', input, { delete: 'none' })],
      ] as const) {
        const fault = await foreignError(work);
        if (fault !== null) faults.push(`${read} ${name}: ${fault}`);
      }
    }
    expect(faults).toEqual([]);
  });

  test('what is no filter at all', async () => {
    for (const [name, filter] of [
      ...JUNK,
      ['a function that makes a number', () => 1],
      ['a function that makes nothing', () => undefined],
      ['a list without filters', { type: 'FilterList' }],
      ['a list of nothing', { type: 'FilterList', operator: 'MUST_PASS_ALL', filters: [null] }],
    ] as const) {
      if (name === 'undefined') continue;
      const input = { filter: filter as FilterInput };
      for (const work of [
        async () => table.scan(input).nextBatch(),
        async () => table.get('r1', input),
        async () => table.getMany(['r1'], input),
        async () => table.exists('r1', input),
        async () => table.count(input),
        async () => table.explain({ scan: input }),
        async () => table.explain({ get: 'r1', options: input }),
        async () => table.checkAndMutate('none', input, { delete: 'none' }),
      ]) {
        await expect(work(), name).rejects.toThrow(IllegalArgumentException);
      }
      expect(() => table.getSync('r1', input), name).toThrow(IllegalArgumentException);
    }
  });
});
