/** Operations on tables that are disabled, dropped or read-only, and on a store that was closed. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { Scanner, Table } from '../../src/model/index.ts';
import { contentOf, expectFault, faultOf, openAt } from './support.ts';

const env = memoryEnv();
let store: EmbeddedConnection;
let table: Table;
const PUT = { 'f:q': 'x' };

beforeEach(async () => {
  store = await openAt(env);
  if (!(await store.admin.tableExists('t'))) {
    await store.admin.createTable({ name: 't', families: ['f'] });
    await store.table('t').put('a', { 'f:q': 'one', 'f:n': 1n });
  }
  table = store.table('t');
});

afterEach(() => store.close());

const WRITES: readonly [string, () => Promise<unknown>][] = [
  ['put', () => table.put('a', PUT)],
  ['delete', () => table.delete('a')],
  ['delete of a version', () => table.delete('a', { versions: ['f:q'] })],
  ['increment', () => table.increment('a', { 'f:n': 1 })],
  ['append', () => table.append('a', PUT)],
  ['mutateRow', () => table.mutateRow('a', [{ put: 'a', values: PUT }])],
  ['mutateRows', () => table.mutateRows([{ put: 'a', values: PUT }])],
  [
    'checkAndMutate',
    () => table.checkAndMutate('a', { column: 'f:q', value: 'one' }, { put: 'a', values: PUT }),
  ],
  ['put with a nonce', () => table.put('a', PUT, { nonce: { group: 1n, nonce: 1n } })],
];
const READS: readonly [string, () => Promise<unknown>][] = [
  ['get', () => table.get('a')],
  ['get of a moment', () => table.get('a', { asOf: new Date(1) })],
  ['getSync', async () => table.getSync('a')],
  ['getMany', () => table.getMany(['a'])],
  ['exists', () => table.exists('a')],
  ['scan', () => table.scan().nextBatch()],
  ['count', () => table.count()],
];

describe('a disabled table', () => {
  test('refuses reads and writes, and has its data when it is enabled again', async () => {
    const before = await contentOf(store);
    await store.admin.disableTable('t');
    for (const [name, call] of [...WRITES, ...READS]) {
      // What a moment before the table shows does not depend on its state now.
      if (name === 'get of a moment') continue;
      expectFault(await faultOf(call), 'TableNotEnabledException', 'Table t is disabled');
    }
    const [outcome] = await table.batch([{ put: 'a', values: PUT }]);
    expect(outcome).toMatchObject({ ok: false, error: { code: 'TableNotEnabledException' } });
    expectFault(
      await faultOf(() => store.admin.disableTable('t')),
      'TableNotEnabledException',
      't',
    );
    await store.close();
    store = await openAt(env);
    table = store.table('t');
    expect(await store.admin.isEnabled('t')).toBe(false);
    expectFault(await faultOf(() => table.put('a', PUT)), 'TableNotEnabledException', 't');
    await store.admin.enableTable('t');
    expect(await contentOf(store)).toEqual(before);
  });
});

describe('a read-only table', () => {
  test('refuses writes only', async () => {
    const before = await contentOf(store);
    await store.admin.alterTable({ name: 't', families: [], READONLY: true });
    for (const [, call] of WRITES) {
      expectFault(await faultOf(call), 'DoNotRetryIOException', 'Table t is read only');
    }
    expect(await contentOf(store)).toEqual(before);
    expect(await table.count()).toBe(1);
    await store.admin.alterTable({ name: 't', families: [], READONLY: false });
    await table.put('a', { 'f:q': 'one' });
  });
});

describe('a dropped table', () => {
  test('is unknown, from one who held it too', async () => {
    const scanner = table.scan();
    await store.admin.disableTable('t');
    await store.admin.dropTable('t');
    for (const [name, call] of [...WRITES, ...READS]) {
      if (name === 'get of a moment') continue;
      expectFault(await faultOf(call), 'TableNotFoundException', "'t'");
    }
    expectFault(await faultOf(() => scanner.nextBatch()), 'TableNotFoundException', "'t'");
    expectFault(await faultOf(() => store.files('t')), 'TableNotFoundException', "'t'");
    await store.close();
    store = await openAt(env);
    expect(await store.admin.tableExists('t')).toBe(false);
  });
});

describe('a closed store', () => {
  test('says so to everyone, and closes twice', async () => {
    const scanner: Scanner = table.scan();
    const running = table.scan({ batch: 1 });
    await running.nextBatch(1);
    await store.close();
    for (const [name, call] of [...WRITES, ...READS]) {
      expectFault(await faultOf(call), 'StoreClosedException', 'closed');
      expect(name).not.toBe('');
    }
    const { admin } = store;
    const others: readonly (() => unknown)[] = [
      () => table.batch([{ get: 'a' }]),
      () => scanner.nextBatch(),
      () => running.nextBatch(),
      () => store.tso(),
      () => store.sync(),
      () => store.files(),
      () => admin.createTable({ name: 'u', families: ['f'] }),
      () => admin.addFamily('t', 'h'),
      () => admin.createNamespace('n'),
      () => admin.disableTable('t'),
      () => admin.dropTable('t'),
      () => admin.truncateTable('t'),
      () => admin.listTables(),
      () => admin.listNamespaces(),
      () => admin.describeTable('t'),
      () => admin.tableExists('t'),
      () => admin.isEnabled('t'),
      () => admin.flush(),
      () => admin.compact('t'),
    ];
    for (const [i, call] of others.entries()) {
      expectFault(await faultOf(call), 'StoreClosedException', 'closed');
      expect(i).toBeGreaterThanOrEqual(0);
    }
    await store.close();
    expect(store.status().fatal).toBeNull();
  });

  test('acknowledges or refuses what was under way, and keeps what it acknowledged', async () => {
    const puts = Array.from({ length: 50 }, (_, i) => table.put(`under${i}`, PUT));
    const closing = store.close();
    const late = faultOf(() => table.put('late', PUT));
    const outcomes = await Promise.allSettled(puts);
    await closing;
    expectFault(await late, 'StoreClosedException', 'closed');
    store = await openAt(env);
    table = store.table('t');
    expect(store.recovery.cleanClose).toBe(true);
    for (const [i, { status }] of outcomes.entries()) {
      if (status === 'fulfilled') expect(await table.exists(`under${i}`)).toBe(true);
    }
    expect(await table.exists('late')).toBe(false);
  });
});
