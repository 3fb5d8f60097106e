/** Bad arguments of every operation: a typed error that names the thing, and nothing written or lost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { Operation, Table } from '../../src/model/index.ts';
import { contentOf, expectFault, faultOf, openAt } from './support.ts';

const env = memoryEnv();
let store: EmbeddedConnection;
let table: Table;
let before: string[];

beforeAll(async () => {
  store = await openAt(env);
  await store.admin.createTable({
    name: 't',
    families: [{ name: 'f', VERSIONS: 3 }, 'g'],
    SPLITS: ['m'],
  });
  table = store.table('t');
  await table.put('a', { 'f:q': 'one', 'g:n': 5n }, { ts: 5 });
  await table.put('z', { 'f:q': 'two' }, { ts: 6 });
  before = await contentOf(store);
});

afterAll(async () => {
  expect(await contentOf(store)).toEqual(before);
  await store.close();
  store = await openAt(env);
  expect(await contentOf(store)).toEqual(before);
  await store.close();
});

/** Calls with arguments that the types forbid: what a caller without types may pass. */
interface Loose {
  put(...args: unknown[]): Promise<unknown>;
  get(...args: unknown[]): Promise<unknown>;
  getSync(...args: unknown[]): unknown;
  getMany(...args: unknown[]): Promise<unknown>;
  exists(...args: unknown[]): Promise<unknown>;
  delete(...args: unknown[]): Promise<unknown>;
  scan(...args: unknown[]): { nextBatch(count?: unknown): Promise<unknown> };
  count(...args: unknown[]): Promise<unknown>;
  batch(...args: unknown[]): Promise<unknown>;
  mutateRow(...args: unknown[]): Promise<unknown>;
  mutateRows(...args: unknown[]): Promise<unknown>;
  increment(...args: unknown[]): Promise<unknown>;
  append(...args: unknown[]): Promise<unknown>;
  checkAndMutate(...args: unknown[]): Promise<unknown>;
}

interface Case {
  readonly name: string;
  readonly call: (t: Loose) => unknown;
  readonly code?: string;
  readonly text: string;
}

const loose = (): Loose => table;

async function check({ call, code = 'IllegalArgumentException', text }: Case): Promise<void> {
  expectFault(await faultOf(() => call(loose())), code, text);
}

const PUT = { 'f:q': 'x' };
const FAMILY = 'NoSuchColumnFamilyException';
const REFUSED = 'DoNotRetryIOException';
const OTHER_ROW = 'WrongRowIOException';

const withRow: readonly [string, (row: unknown) => (t: Loose) => unknown][] = [
  ['put', (row) => (t) => t.put(row, PUT)],
  ['get', (row) => (t) => t.get(row)],
  ['getSync', (row) => (t) => t.getSync(row)],
  ['getMany', (row) => (t) => t.getMany(['a', row])],
  ['exists', (row) => (t) => t.exists(row)],
  ['delete', (row) => (t) => t.delete(row)],
  ['increment', (row) => (t) => t.increment(row, { 'f:n': 1 })],
  ['append', (row) => (t) => t.append(row, PUT)],
  ['mutateRow', (row) => (t) => t.mutateRow(row, [{ put: row, values: PUT }])],
  ['mutateRows', (row) => (t) => t.mutateRows([{ put: row, values: PUT }])],
  [
    'checkAndMutate',
    (row) => (t) =>
      t.checkAndMutate(row, { column: 'f:q', value: null }, { put: 'a', values: PUT }),
  ],
];

describe.each(withRow)('row of %s', (_, call) => {
  test.each([
    { name: 'empty text', row: '', text: 'Row length is 0' },
    { name: 'empty bytes', row: new Uint8Array(0), text: 'Row length is 0' },
    { name: '32768 bytes', row: new Uint8Array(32_768), text: 'Row length 32768 is > 32767' },
    { name: '16384 letters of 2 bytes', row: 'ä'.repeat(16_384), text: '32768 is > 32767' },
    { name: 'a number', row: 7, text: 'Row must be bytes or a string, not 7' },
    { name: 'null', row: null, text: 'Row must be bytes or a string, not null' },
    { name: 'undefined', row: undefined, text: 'not undefined' },
    { name: 'an object', row: {}, text: 'not an object' },
    { name: 'half a pair', row: 'r\ud800', text: 'half a surrogate pair' },
  ])('$name', ({ row, text }) => check({ name: '', call: call(row), text }));
});

describe('text that UTF-8 has no bytes for', () => {
  const half = 'x\udc00';
  test.each<Case>([
    {
      name: 'a value',
      call: (t) => t.put('a', { 'f:q': half }),
      text: 'The value of f:q has half',
    },
    { name: 'an appended one', call: (t) => t.append('a', { 'f:q': half }), text: 'has half' },
    { name: 'a qualifier', call: (t) => t.put('a', { [`f:${half}`]: 'x' }), text: 'has half' },
    { name: 'a pair', call: (t) => t.get('a', { columns: [['f', half]] }), text: 'has half' },
    { name: 'one to read', call: (t) => t.get('a', { columns: [`f:${half}`] }), text: 'has half' },
    { name: 'a prefix', call: (t) => t.count({ prefix: half }), text: 'has half' },
  ])('$name', check);

  test('whole pairs are text', async () => {
    await table.put('\u{1f600}', { 'f:\u{1f600}': '\u{1f600}' });
    expect(table.getSync('\u{1f600}')?.text('f:\u{1f600}')).toBe('\u{1f600}');
    await table.delete('\u{1f600}');
  });
});

test('the longest row is taken', async () => {
  const row = new Uint8Array(32_767).fill(0x61);
  await table.put(row, PUT);
  expect((await table.get(row))?.text('f:q')).toBe('x');
  await table.delete(row);
});

describe('families', () => {
  const unknown: readonly Case[] = [
    { name: 'put', call: (t) => t.put('a', { 'x:q': '1' }), text: 'x' },
    {
      name: 'put of cells',
      call: (t) => t.put('a', [{ family: 'x', qualifier: 'q', value: '' }]),
      text: 'x',
    },
    { name: 'get', call: (t) => t.get('a', { columns: ['x:q'] }), text: 'x' },
    { name: 'get of a family', call: (t) => t.get('a', { families: ['x'] }), text: 'x' },
    { name: 'getSync', call: (t) => t.getSync('a', { families: ['x'] }), text: 'x' },
    { name: 'exists', call: (t) => t.exists('a', { families: ['x'] }), text: 'x' },
    { name: 'scan', call: (t) => t.scan({ families: ['x'] }).nextBatch(), text: 'x' },
    { name: 'count', call: (t) => t.count({ columns: ['x:q'] }), text: 'x' },
    { name: 'increment', call: (t) => t.increment('a', { 'x:n': 1 }), text: 'x' },
    { name: 'append', call: (t) => t.append('a', { 'x:n': '1' }), text: 'x' },
    { name: 'delete of a column', call: (t) => t.delete('a', { columns: ['x:q'] }), text: 'x' },
    { name: 'delete of a version', call: (t) => t.delete('a', { versions: ['x:q'] }), text: 'x' },
    { name: 'delete of a family', call: (t) => t.delete('a', { families: ['x'] }), text: 'x' },
    {
      name: 'condition',
      call: (t) => t.checkAndMutate('a', { column: 'x:q', value: null }, { put: 'a', values: PUT }),
      text: 'x',
    },
    {
      name: 'action',
      call: (t) =>
        t.checkAndMutate(
          'a',
          { column: 'f:none', value: null },
          { put: 'a', values: { 'x:q': '1' } },
        ),
      text: 'x',
    },
    {
      name: 'mutateRow',
      call: (t) => t.mutateRow('a', [{ delete: 'a', spec: { families: ['x'] } }]),
      text: 'x',
    },
    {
      name: 'mutateRows',
      call: (t) =>
        t.mutateRows([
          { put: 'a', values: PUT },
          { put: 'b', values: { 'x:q': '1' } },
        ]),
      text: 'x',
    },
  ];
  test.each(unknown)('unknown: $name', ({ call, text }) =>
    check({
      name: '',
      call,
      code: FAMILY,
      text: `Column family ${text} does not exist in table t`,
    }),
  );

  test.each<Case>([
    { name: 'a number as column', call: (t) => t.delete('a', { columns: [5] }), text: '5' },
    { name: 'null as column', call: (t) => t.get('a', { columns: [null] }), text: 'null' },
    {
      name: 'qualifier of a number',
      call: (t) => t.delete('a', { columns: [['f', 5]] }),
      text: '5',
    },
    {
      name: 'family of a number',
      call: (t) => t.put('a', [{ family: 5, qualifier: 'q', value: '' }]),
      text: 'must be a string, not 5',
    },
    {
      name: 'columns no list',
      call: (t) => t.get('a', { columns: 'f:q' }),
      text: "columns must be an array, not 'f:q'",
    },
    {
      name: 'columns to delete no list',
      call: (t) => t.delete('a', { columns: 'f:q' }),
      text: 'columns of delete must be an array',
    },
    {
      name: 'versions to delete no list',
      call: (t) => t.delete('a', { versions: 'f:q' }),
      text: 'versions of delete must be an array',
    },
    {
      name: 'families to delete no list',
      call: (t) => t.delete('a', { families: 'f' }),
      text: 'families of delete must be an array',
    },
    {
      name: 'family versions no list',
      call: (t) => t.delete('a', { familyVersions: 'f', ts: 1 }),
      text: 'familyVersions of delete must be an array',
    },
    {
      name: 'family versions without ts',
      call: (t) => t.delete('a', { familyVersions: ['f'] }),
      text: 'needs a ts',
    },
  ])('$name', check);
});

describe('values', () => {
  test.each<Case>([
    { name: 'a number', call: (t) => t.put('a', { 'f:q': 5 }), text: 'f:q' },
    { name: 'null', call: (t) => t.put('a', { 'f:q': null }), text: 'not null' },
    { name: 'undefined', call: (t) => t.put('a', { 'f:q': undefined }), text: 'not undefined' },
    { name: 'an object', call: (t) => t.put('a', { 'f:q': {} }), text: 'f:q' },
    {
      name: 'a bigint of 65 bits',
      call: (t) => t.put('a', { 'f:q': 1n << 63n }),
      text: '9223372036854775808',
    },
    {
      name: 'of a cell',
      call: (t) => t.put('a', [{ family: 'f', qualifier: 'q', value: 5 }]),
      text: 'f:q',
    },
    { name: 'of an append', call: (t) => t.append('a', { 'f:q': 5 }), text: '5' },
    {
      name: 'of a condition',
      call: (t) => t.checkAndMutate('a', { column: 'f:q', value: 5 }, { put: 'a', values: PUT }),
      text: '5',
    },
    { name: 'amount of text', call: (t) => t.increment('a', { 'g:n': '1' }), text: '1' },
    { name: 'amount with a fraction', call: (t) => t.increment('a', { 'g:n': 1.5 }), text: '1.5' },
    { name: 'amount NaN', call: (t) => t.increment('a', { 'g:n': NaN }), text: 'NaN' },
    {
      name: 'amount of 65 bits',
      call: (t) => t.increment('a', { 'g:n': 1n << 63n }),
      text: '9223372036854775808',
    },
    { name: 'values null', call: (t) => t.put('a', null), text: 'null' },
    { name: 'values undefined', call: (t) => t.put('a'), text: 'undefined' },
    { name: 'values a text', call: (t) => t.put('a', 'f:q'), text: "'f:q'" },
    { name: 'values bytes', call: (t) => t.put('a', new Uint8Array(3)), text: '3 bytes' },
    { name: 'a cell that is null', call: (t) => t.put('a', [null]), text: 'null' },
    { name: 'amounts null', call: (t) => t.increment('a', null), text: 'null' },
    { name: 'amounts undefined', call: (t) => t.increment('a'), text: 'undefined' },
    { name: 'appended null', call: (t) => t.append('a', null), text: 'null' },
    { name: 'an empty put', call: (t) => t.put('a', {}), text: 'No columns to insert' },
    { name: 'an empty put of cells', call: (t) => t.put('a', []), text: 'No columns to insert' },
    {
      name: 'an empty increment',
      call: (t) => t.increment('a', {}),
      text: 'No columns to increment',
    },
    { name: 'an empty append', call: (t) => t.append('a', {}), text: 'No columns to append' },
    {
      name: 'increment of no long',
      call: (t) => t.increment('a', { 'f:q': 1 }),
      code: REFUSED,
      text: "Field is not a long, it's 3 bytes wide",
    },
  ])('$name', check);

  test('the limit of 10 MiB counts the whole cell: at it taken, above it refused', async () => {
    const most = 10_485_760 - 20 - 'big'.length - 'f'.length - 'q'.length;
    await table.put('big', { 'f:q': new Uint8Array(most) }, { ts: 1 });
    expect((await table.get('big'))?.value('f:q')?.length).toBe(most);
    const text = 'Cell[f:q] with size 10485761 exceeds limit of 10485760 bytes';
    await check({
      name: '',
      call: (t) => t.put('big', { 'f:q': new Uint8Array(most + 1) }),
      code: REFUSED,
      text,
    });
    await check({ name: '', call: (t) => t.append('big', { 'f:q': 'x' }), code: REFUSED, text });
    expect((await table.get('big'))?.value('f:q')?.length).toBe(most);
    await table.delete('big', { families: ['f'] });
  });
});

describe('times', () => {
  const bad = [
    { name: 'negative', ts: -1, text: 'Timestamp cannot be negative' },
    { name: 'negative bigint', ts: -1n, text: 'Timestamp cannot be negative' },
    { name: 'above 2^63-1', ts: 1n << 63n, text: '9223372036854775808 is above 2^63-1' },
    { name: 'with a fraction', ts: 1.5, text: '1.5' },
    { name: 'NaN', ts: NaN, text: 'NaN' },
    { name: 'above the safe integers', ts: 2 ** 60, text: String(2 ** 60) },
    { name: 'text', ts: '5', text: "'5'" },
    { name: 'null', ts: null, text: 'null' },
  ];
  const places: readonly [string, (ts: unknown) => (t: Loose) => unknown][] = [
    ['put', (ts) => (t) => t.put('a', PUT, { ts })],
    ['a cell', (ts) => (t) => t.put('a', [{ family: 'f', qualifier: 'q', value: '', ts }])],
    ['get', (ts) => (t) => t.get('a', { ts })],
    ['scan', (ts) => (t) => t.scan({ ts }).nextBatch()],
    ['delete', (ts) => (t) => t.delete('a', { ts })],
    ['increment', (ts) => (t) => t.increment('a', { 'g:n': 1 }, { ts })],
    ['append', (ts) => (t) => t.append('a', PUT, { ts })],
    ['a time range', (ts) => (t) => t.get('a', { timeRange: { min: ts } })],
    [
      'a range of increment',
      (ts) => (t) => t.increment('a', { 'g:n': 1 }, { timeRange: { max: ts } }),
    ],
  ];
  test.each(places)('timestamp of %s', async (_, call) => {
    for (const { ts, text } of bad) await check({ name: '', call: call(ts), text });
  });

  test.each<Case>([
    { name: 'ttl 0', call: (t) => t.put('a', PUT, { ttl: 0 }), text: 'ttl' },
    { name: 'negative ttl', call: (t) => t.put('a', PUT, { ttl: -5 }), text: 'ttl' },
    { name: 'ttl of text', call: (t) => t.put('a', PUT, { ttl: '5' }), text: 'ttl' },
    {
      name: 'ttl of a cell',
      call: (t) => t.put('a', [{ family: 'f', qualifier: 'q', value: '', ttl: 1.5 }]),
      text: 'ttl',
    },
    {
      name: 'empty range',
      call: (t) => t.get('a', { timeRange: { min: 9, max: 3 } }),
      text: '[9, 3)',
    },
    { name: 'asOf a number', call: (t) => t.get('a', { asOf: 5 }), text: 'asOf' },
    { name: 'asOf no date', call: (t) => t.get('a', { asOf: new Date(NaN) }), text: 'asOf' },
    { name: 'asOf negative', call: (t) => t.get('a', { asOf: -1n }), text: 'asOf' },
    {
      name: 'asOf the future',
      call: (t) => t.get('a', { asOf: 1n << 62n }),
      code: 'SnapshotInFuture',
      text: String(1n << 62n),
    },
  ])('$name', check);
});

describe('options that nobody reads', () => {
  test.each<Case>([
    {
      name: 'put',
      call: (t) => t.put('a', PUT, { tss: 1 }),
      text: "'tss' of put (did you mean 'ts'?)",
    },
    {
      name: 'put: durabilty',
      call: (t) => t.put('a', PUT, { durabilty: 'SYNC_WAL' }),
      text: "'durability'?",
    },
    { name: 'delete', call: (t) => t.delete('a', { column: ['f:q'] }), text: "'columns'?" },
    {
      name: 'increment',
      call: (t) => t.increment('a', { 'g:n': 1 }, { returnResult: false }),
      text: "'returnResults'?",
    },
    { name: 'append', call: (t) => t.append('a', PUT, { nonse: 1 }), text: "'nonce'?" },
    { name: 'get', call: (t) => t.get('a', { column: ['f:q'] }), text: "'columns'?" },
    { name: 'getSync', call: (t) => t.getSync('a', { version: 1 }), text: "'versions'?" },
    { name: 'getMany', call: (t) => t.getMany(['a'], { family: ['f'] }), text: "'family'" },
    { name: 'exists', call: (t) => t.exists('a', { colums: ['f:q'] }), text: "'columns'?" },
    { name: 'scan', call: (t) => t.scan({ startRow: 'a' }), text: "'startRow'" },
    { name: 'count', call: (t) => t.count({ prefx: 'a' }), text: "'prefix'?" },
    {
      name: 'a time range',
      call: (t) => t.get('a', { timeRange: { from: 1 } }),
      text: "'from' of timeRange",
    },
    {
      name: 'a condition',
      call: (t) =>
        t.checkAndMutate('a', { column: 'f:q', valu: '1', value: null }, { put: 'a', values: PUT }),
      text: "'valu' of a condition (did you mean 'value'?)",
    },
    {
      name: 'a cell',
      call: (t) => t.put('a', [{ family: 'f', qualifier: 'q', value: '', tts: 1 }]),
      text: "'tts'",
    },
    {
      name: 'a mutation',
      call: (t) => t.mutateRow('a', [{ put: 'a', values: PUT, option: { ts: 1 } }]),
      text: "'option'",
    },
    {
      name: 'a delete as mutation',
      call: (t) => t.mutateRow('a', [{ delete: 'a', columns: ['f:q'] }]),
      text: "'columns'",
    },
    {
      name: 'of mutateRows',
      call: (t) => t.mutateRows([{ delete: 'a', specs: { columns: ['f:q'] } }]),
      text: "'specs'",
    },
    {
      name: 'an action',
      call: (t) =>
        t.checkAndMutate('a', { column: 'f:q', value: 'one' }, { put: 'a', values: PUT, ts: 4 }),
      text: "'ts'",
    },
    { name: 'durability', call: (t) => t.put('a', PUT, { durability: 'FSYNC' }), text: "'FSYNC'" },
    {
      name: 'durability of a delete',
      call: (t) => t.delete('a', { durability: 'NONE' }),
      text: "'NONE'",
    },
    {
      name: 'isolation',
      call: (t) => t.get('a', { isolation: 'SERIALIZABLE' }),
      text: 'SERIALIZABLE',
    },
    {
      name: 'operator',
      call: (t) =>
        t.checkAndMutate(
          'a',
          { column: 'f:q', operator: '=', value: '' },
          { put: 'a', values: PUT },
        ),
      text: "'='",
    },
    {
      name: 'nonce',
      call: (t) => t.put('a', PUT, { nonce: { group: 1, nonce: 2n } }),
      text: 'nonce 1',
    },
    { name: 'nonce null', call: (t) => t.put('a', PUT, { nonce: null }), text: 'nonce' },
    { name: 'options of put null', call: (t) => t.put('a', PUT, null), text: 'put' },
    { name: 'options of put a number', call: (t) => t.put('a', PUT, 5), text: 'put' },
    { name: 'spec of delete null', call: (t) => t.delete('a', null), text: 'delete' },
    { name: 'spec of delete a list', call: (t) => t.delete('a', ['f:q']), text: 'delete' },
    { name: 'options of get null', call: (t) => t.get('a', null), text: 'read' },
    {
      name: 'versions 0',
      call: (t) => t.get('a', { versions: 0 }),
      text: 'versions must be positive: 0',
    },
    { name: 'versions of text', call: (t) => t.get('a', { versions: '3' }), text: 'versions' },
    { name: 'limit below 0', call: (t) => t.scan({ limit: -1 }), text: 'limit' },
    { name: 'batch 0', call: (t) => t.scan({ batch: 0 }), text: 'batch' },
    {
      name: 'prefix and start',
      call: (t) => t.scan({ prefix: 'a', start: 'a' }),
      text: 'prefix and start',
    },
    { name: 'start of a number', call: (t) => t.scan({ start: 5 }), text: 'start' },
    { name: 'nextBatch of 0', call: (t) => t.scan().nextBatch(0), text: 'not 0' },
    {
      name: 'condition null',
      call: (t) => t.checkAndMutate('a', null, { put: 'a', values: PUT }),
      text: 'condition',
    },
    {
      name: 'action null',
      call: (t) => t.checkAndMutate('a', { column: 'f:q', value: 'one' }, null),
      text: 'mutation',
    },
    {
      name: 'no action',
      call: (t) => t.checkAndMutate('a', { column: 'f:q', value: 'one' }, []),
      text: 'No mutations',
    },
  ])('$name', check);
});

describe('several mutations', () => {
  test.each<Case>([
    {
      name: 'mutateRow with another row',
      call: (t) =>
        t.mutateRow('a', [
          { put: 'a', values: PUT },
          { put: 'b', values: PUT },
        ]),
      code: OTHER_ROW,
      text: "'b'",
    },
    {
      name: 'an action on another row',
      call: (t) =>
        t.checkAndMutate('a', { column: 'f:q', value: 'one' }, { put: 'b', values: PUT }),
      code: OTHER_ROW,
      text: "'b'",
    },
    {
      name: 'mutateRows outside the region',
      call: (t) =>
        t.mutateRows([
          { put: 'a', values: PUT },
          { put: 'z', values: PUT },
        ]),
      code: 'WrongRegionException',
      text: "row='z'",
    },
    {
      name: 'mutateRows with an increment',
      call: (t) => t.mutateRows([{ increment: 'a', amounts: { 'g:n': 1 } }]),
      text: 'mutateRows takes puts and deletes',
    },
    { name: 'mutateRow of nothing', call: (t) => t.mutateRow('a', []), text: 'No mutations' },
    { name: 'mutateRows of nothing', call: (t) => t.mutateRows([]), text: 'No mutations' },
    {
      name: 'mutateRow of null',
      call: (t) => t.mutateRow('a', null),
      text: 'mutations must be an array, not null',
    },
    {
      name: 'mutateRows of an object',
      call: (t) => t.mutateRows({}),
      text: 'mutations must be an array',
    },
    {
      name: 'a mutation that is null',
      call: (t) => t.mutateRow('a', [null]),
      text: 'mutation must be an object, not null',
    },
    {
      name: 'a row that is null',
      call: (t) => t.mutateRows([null]),
      text: 'mutation must be an object, not null',
    },
    {
      name: 'a mutation of no kind',
      call: (t) => t.mutateRow('a', [{}]),
      text: 'needs one of put',
    },
    {
      name: 'a mutation of two kinds',
      call: (t) => t.mutateRow('a', [{ put: 'a', values: PUT, delete: 'a' }]),
      text: 'delete',
    },
    {
      name: 'a batch of null',
      call: (t) => t.batch(null),
      text: 'operations must be an array, not null',
    },
    {
      name: 'rows of getMany null',
      call: (t) => t.getMany(null),
      text: 'rows must be an array, not null',
    },
  ])('$name', check);

  test('a batch with bad operations among good ones applies the good ones', async () => {
    const operations: unknown[] = [
      { put: 'b1', values: { 'f:q': '1' } },
      { put: '', values: PUT },
      null,
      { put: 'b2', values: { 'x:q': '1' } },
      7,
      { gett: 'a' },
      { get: 'b1', options: { version: 2 } },
      { put: 'b3', values: { 'f:q': 3 } },
      { delete: 'b1', spec: { ts: -1 } },
      { increment: 'a', amounts: { 'f:q': 1 } },
      { mutateRow: 'b4', mutations: [{ put: 'b5', values: PUT }] },
      { put: 'b6', values: { 'f:q': '6' } },
      { get: 'b6' },
    ];
    const outcomes = await table.batch(operations as Operation[]);
    expect(outcomes.map(({ ok }) => ok)).toEqual(
      operations.map((_, i) => i === 0 || i === 11 || i === 12),
    );
    const codes = outcomes.map((outcome) => (outcome.ok ? '' : outcome.error.name));
    expect(new Set(codes)).toEqual(
      new Set(['', 'IllegalArgumentException', FAMILY, REFUSED, OTHER_ROW]),
    );
    expect((await table.get('b1'))?.text('f:q')).toBe('1');
    expect(outcomes[12]).toMatchObject({ result: { rowText: 'b6' } });
    await table.delete('b1', { families: ['f'] });
    await table.delete('b6', { families: ['f'] });
  });
});
