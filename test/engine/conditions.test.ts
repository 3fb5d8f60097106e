/** checkAndMutate: conditions by column and by filter, every action, alone and in batches. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import {
  columnValueFilter,
  mustPassAll,
  singleColumnValueExcludeFilter,
  singleColumnValueFilter,
  skipFilter,
  whileMatchFilter,
} from '../../src/filter/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { Condition, FilterSpec, Mutation, Table } from '../../src/model/index.ts';

let connection: EmbeddedConnection;
let table: Table;

beforeEach(async () => {
  connection = await open('/conditions', { env: memoryEnv(), blockingSync: false });
  await connection.admin.createTable({ name: 't', families: ['f', 'g'] });
  table = connection.table('t');
  await table.put('r', { 'f:a': 'x', 'f:n': 5n }, { ts: 100 });
});

afterEach(async () => connection.close());

const passes = (text: string): Condition => ({ filter: `ValueFilter(=, 'binary:${text}')` });
const value = async (column: string): Promise<string | null> =>
  (await table.get('r'))?.text(column) ?? null;

test.each<[string, Condition, boolean]>([
  ['a filter that passes a cell', passes('x'), true],
  ['a filter that passes none', passes('y'), false],
  ['within the time range', { ...passes('x'), timeRange: { min: 100, max: 101 } }, true],
  ['outside the time range', { ...passes('x'), timeRange: { min: 101 } }, false],
  [
    'a filter as an object',
    { filter: singleColumnValueFilter(['f', 'a'], 'EQUAL', 'x', { filterIfMissing: true }) },
    true,
  ],
  ['a column', { column: 'f:a', value: 'x' }, true],
  [
    'a column, outside the time range',
    { column: 'f:a', value: 'x', timeRange: { min: 101 } },
    false,
  ],
  ['an absent column', { column: 'g:none', value: null }, true],
  ['an absent column compared', { column: 'g:none', value: 'v', operator: 'NOT_EQUAL' }, false],
])('%s', async (_name, condition, want) => {
  const put: Mutation = { put: 'r', values: { 'g:p': 'new' } };
  const { processed } = await table.checkAndMutate('r', condition, put);
  expect(processed).toBe(want);
  expect(await value('g:p')).toBe(want ? 'new' : null);
});

/** Of one or two columns; those that look at one family alone are read family by family by gets and scans. */
const NEEDY: readonly FilterSpec[] = [
  singleColumnValueFilter(['f', 'a'], 'EQUAL', 'x'),
  singleColumnValueFilter(['g', 'a'], 'EQUAL', 'x', { filterIfMissing: true }),
  singleColumnValueFilter(['f', 'a'], 'NOT_EQUAL', 'x', { latestVersionOnly: false }),
  singleColumnValueExcludeFilter(['f', 'a'], 'EQUAL', 'x', { filterIfMissing: true }),
  singleColumnValueExcludeFilter(['f', 'a'], 'NOT_EQUAL', 'x', { latestVersionOnly: false }),
  columnValueFilter(['g', 'a'], 'EQUAL', 'y'),
];

test('a condition by filter reads all families at once, as HBase’s, also those that a get would read on demand', async () => {
  await table.put('r', { 'g:a': 'y' }, { ts: 100 });
  await table.put('s', { 'f:a': 'x', 'g:a': 'y' }, { ts: 100 });
  let others = 0;
  for (const row of ['r', 's']) {
    for (const needy of NEEDY) {
      const wrapped = [skipFilter(needy), whileMatchFilter(needy), mustPassAll(needy)];
      for (const filter of [needy, ...wrapped]) {
        const want = await table.exists(row, { filter, loadColumnFamiliesOnDemand: false });
        if ((await table.exists(row, { filter })) !== want) others++;
        const action: Mutation = { delete: row, spec: { columns: ['f:none'] } };
        const one = await table.checkAndMutate(row, { filter }, action);
        expect(one.processed, JSON.stringify(filter)).toBe(want);
        const all = await table.checkAndMutateAll([
          { checkAndMutate: row, condition: { filter }, action },
        ]);
        expect(all, JSON.stringify(filter)).toMatchObject([{ processed: want }]);
      }
    }
  }
  expect(others).toBeGreaterThan(2);
});

test('every action is applied, and new cells are answered', async () => {
  const increment: Mutation = { increment: 'r', amounts: { 'f:n': 2 } };
  const counted = await table.checkAndMutate('r', passes('x'), increment);
  expect(counted.result?.int64('f:n')).toBe(7n);
  const append: Mutation = { append: 'r', values: { 'f:a': 'y' } };
  const appended = await table.checkAndMutate('r', passes('x'), append);
  expect(appended.result?.text('f:a')).toBe('xy');
  const all = await table.checkAndMutate('r', passes('xy'), [
    { put: 'r', values: { 'g:p': 'p' } },
    { increment: 'r', amounts: { 'f:n': 1 } },
    { delete: 'r', spec: { columns: ['f:a'] } },
  ]);
  expect(all.processed).toBe(true);
  expect(all.result?.int64('f:n')).toBe(8n);
  expect(await value('f:a')).toBe(null);
  expect(await value('g:p')).toBe('p');
});

test('in a batch each sees what those before it wrote, and fails alone', async () => {
  const check = (
    text: string,
    next: string,
  ): Parameters<Table['checkAndMutateAll']>[0][number] => ({
    checkAndMutate: 'r',
    condition: { column: 'f:a', value: text },
    action: { put: 'r', values: { 'f:a': next }, options: { ts: 200 } },
  });
  const outcomes = await table.checkAndMutateAll([
    check('x', 'y'),
    check('x', 'z'),
    { ...check('y', 'z'), action: { put: 'r', values: { 'none:a': 'v' } } },
    check('y', 'w'),
  ]);
  expect(outcomes.map((one) => (one.ok ? one.processed : one.error.name))).toEqual([
    true,
    false,
    'NoSuchColumnFamilyException',
    true,
  ]);
  expect(await value('f:a')).toBe('w');
  const mixed = await table.batch([check('w', 'v'), { get: 'r' }]);
  expect(mixed[0]).toMatchObject({ ok: true, processed: true });
  expect(mixed[1]?.ok === true && mixed[1].result?.text('f:a')).toBe('v');
});

test('a put is not older than the cell that the condition saw; a delete goes by the clock', async () => {
  const ahead = Date.now() + 100_000_000;
  await table.put('r', { 'f:b': 'ahead' }, { ts: ahead });
  const put: Mutation = { put: 'r', values: { 'f:b': 'new' } };
  await table.checkAndMutate('r', { column: 'f:b', value: 'ahead' }, put);
  expect(await value('f:b')).toBe('new');
  const remove: Mutation = { delete: 'r', spec: { columns: ['f:b'] } };
  const removed = await table.checkAndMutate('r', { column: 'f:b', value: 'new' }, remove);
  expect(removed.processed).toBe(true);
  expect(await value('f:b')).toBe('new');
});

test('what is no condition, and NO_OP with a value', async () => {
  const put: Mutation = { put: 'r', values: { 'f:a': 'z' } };
  const both = { column: 'f:a', value: 'x', filter: 'PageFilter(1)' } as Condition;
  await expect(table.checkAndMutate('r', both, put)).rejects.toMatchObject({
    code: 'IllegalArgumentException',
  });
  const noOp: Condition = { column: 'f:a', value: 'x', operator: 'NO_OP' };
  await expect(table.checkAndMutate('r', noOp, put)).rejects.toMatchObject({
    code: 'IOException',
    retryable: true,
  });
  const operator = Object.create(null) as 'EQUAL';
  await expect(
    table.checkAndMutate('r', { column: 'f:a', value: 'x', operator }, put),
  ).rejects.toMatchObject({ code: 'IllegalArgumentException' });
  expect(await value('f:a')).toBe('x');
});
