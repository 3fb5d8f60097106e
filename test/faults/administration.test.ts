/** Bad names, descriptors and options: a typed error that names the thing, and nothing made or lost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection, OpenOptions } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import { expectFault, faultOf, openAt } from './support.ts';

let store: EmbeddedConnection;
const PUT = { 'f:q': 'x' };
const REFUSED = 'DoNotRetryIOException';

beforeAll(async () => {
  store = await openAt(memoryEnv());
  await store.admin.createTable({ name: 't', families: ['f', 'g'] });
});

afterAll(() => store.close());

describe('names', () => {
  test.each([
    { name: '', text: 'Table qualifier must not be empty' },
    { name: '.t', text: 'Illegal first character <.> at 0' },
    { name: '-t', text: 'Illegal first character <->' },
    { name: 'a b', text: 'Illegal character code:32' },
    { name: 'a/b', text: 'a/b' },
    { name: '..', text: '..' },
    { name: 'a:b:c', text: 'b:c' },
    { name: 'n-s:t', text: 'Namespaces may only contain' },
    { name: ':t', text: 'Namespace name must not be empty' },
    { name: 'zookeeper', text: "may not be named 'zookeeper'" },
    { name: 'x'.repeat(256), text: 'Table name of 256 bytes' },
    { name: 5, text: 'name' },
    { name: null, text: 'name' },
  ])('table $name', async ({ name, text }) => {
    const spec = { name: name as string, families: ['f'] };
    const code = 'IllegalArgumentException';
    expectFault(await faultOf(() => store.admin.createTable(spec)), code, text);
    expectFault(await faultOf(() => store.table(name as string).get('a')), code, text);
    expectFault(await faultOf(() => store.table(name as string).put('a', PUT)), code, text);
    expectFault(await faultOf(() => store.admin.dropTable(name as string)), code, text);
  });

  test.each([
    { name: '', text: 'can not be empty' },
    { name: '.f', text: 'cannot start with a period: .f' },
    { name: 'a:b', text: 'Illegal character <58>' },
    { name: 'a/b', text: 'Illegal character <47>' },
    { name: 'ä', text: 'Illegal character' },
    { name: 'x'.repeat(128), text: 'bigger than 127' },
    { name: 'recovered.edits', text: 'recovered.edits' },
    { name: 5, text: 'name' },
  ])('family $name', async ({ name, text }) => {
    const family = name as string;
    const code = 'IllegalArgumentException';
    const create = (): Promise<void> =>
      store.admin.createTable({ name: 'u', families: [{ name: family }] });
    expectFault(await faultOf(create), code, text);
    expectFault(await faultOf(() => store.admin.addFamily('t', { name: family })), code, text);
    expect(await store.admin.tableExists('u')).toBe(false);
  });

  test.each(['', 'a-b', 'a b', 'a/b', '..', 'zookeeper', 'x'.repeat(256), 5, null])(
    'namespace %s',
    async (name) => {
      const error = await faultOf(() => store.admin.createNamespace(name as string));
      expectFault(error, 'IllegalArgumentException', 'amespace');
      expect(await store.admin.listNamespaces()).toEqual(['default', 'hbase']);
    },
  );
});

describe('administration', () => {
  interface LooseAdmin {
    createTable(...args: unknown[]): Promise<unknown>;
    alterTable(...args: unknown[]): Promise<unknown>;
    addFamily(...args: unknown[]): Promise<unknown>;
    modifyFamily(...args: unknown[]): Promise<unknown>;
    dropFamily(...args: unknown[]): Promise<unknown>;
    compact(...args: unknown[]): Promise<unknown>;
    listTables(...args: unknown[]): Promise<unknown>;
    createNamespace(...args: unknown[]): Promise<unknown>;
    dropNamespace(...args: unknown[]): Promise<unknown>;
    dropTable(...args: unknown[]): Promise<unknown>;
    enableTable(...args: unknown[]): Promise<unknown>;
    truncateTable(...args: unknown[]): Promise<unknown>;
    describeTable(...args: unknown[]): Promise<unknown>;
    flush(...args: unknown[]): Promise<unknown>;
  }
  const illegal = 'IllegalArgumentException';
  test.each<{ name: string; call: (a: LooseAdmin) => unknown; code: string; text: string }>([
    {
      name: 'table exists',
      call: (a) => a.createTable({ name: 't', families: ['f'] }),
      code: 'TableExistsException',
      text: 't',
    },
    {
      name: 'namespace absent',
      call: (a) => a.createTable({ name: 'no:t', families: ['f'] }),
      code: 'NamespaceNotFoundException',
      text: 'no',
    },
    {
      name: 'namespace exists',
      call: (a) => a.createNamespace('default'),
      code: 'NamespaceExistException',
      text: 'default',
    },
    {
      name: 'namespace to drop absent',
      call: (a) => a.dropNamespace('no'),
      code: 'NamespaceNotFoundException',
      text: 'no',
    },
    {
      name: 'namespace reserved',
      call: (a) => a.dropNamespace('hbase'),
      code: 'ConstraintException',
      text: 'hbase',
    },
    {
      name: 'option of a table',
      call: (a) => a.createTable({ name: 'u', families: ['f'], MAX_FILESIZ: 1 }),
      code: illegal,
      text: 'MAX_FILESIZ',
    },
    {
      name: 'option of a family',
      call: (a) => a.createTable({ name: 'u', families: [{ name: 'f', VERSION: 3 }] }),
      code: illegal,
      text: 'VERSION',
    },
    {
      name: 'no families',
      call: (a) => a.createTable({ name: 'u', families: [] }),
      code: REFUSED,
      text: 'at least one column family',
    },
    {
      name: 'families no list',
      call: (a) => a.createTable({ name: 'u', families: 'f' }),
      code: illegal,
      text: 'families',
    },
    { name: 'no spec', call: (a) => a.createTable(null), code: illegal, text: 'null' },
    {
      name: 'spec to alter',
      call: (a) => a.alterTable(undefined),
      code: illegal,
      text: 'undefined',
    },
    {
      name: 'VERSIONS 0',
      call: (a) => a.createTable({ name: 'u', families: [{ name: 'f', VERSIONS: 0 }] }),
      code: illegal,
      text: 'VERSIONS',
    },
    {
      name: 'TTL of text',
      call: (a) => a.createTable({ name: 'u', families: [{ name: 'f', TTL: 'soon' }] }),
      code: illegal,
      text: 'soon',
    },
    {
      name: 'family twice',
      call: (a) => a.createTable({ name: 'u', families: ['f', 'f'] }),
      code: illegal,
      text: 'f',
    },
    {
      name: 'family exists',
      call: (a) => a.addFamily('t', 'f'),
      code: 'InvalidFamilyOperationException',
      text: 'f',
    },
    {
      name: 'family to modify absent',
      call: (a) => a.modifyFamily('t', { name: 'x' }),
      code: 'InvalidFamilyOperationException',
      text: 'x',
    },
    {
      name: 'family to drop absent',
      call: (a) => a.dropFamily('t', 'x'),
      code: 'InvalidFamilyOperationException',
      text: 'x',
    },
    {
      name: 'split twice',
      call: (a) => a.createTable({ name: 'u', families: ['f'], SPLITS: ['a', 'a'] }),
      code: illegal,
      text: 'a',
    },
    {
      name: 'table to alter absent',
      call: (a) => a.alterTable({ name: 'no', families: [] }),
      code: 'TableNotFoundException',
      text: "'no'",
    },
    {
      name: 'table to flush absent',
      call: (a) => a.flush('no'),
      code: 'TableNotFoundException',
      text: "'no'",
    },
    {
      name: 'table to compact absent',
      call: (a) => a.compact('no'),
      code: 'TableNotFoundException',
      text: "'no'",
    },
    {
      name: 'table to truncate absent',
      call: (a) => a.truncateTable('no'),
      code: 'TableNotFoundException',
      text: "'no'",
    },
    {
      name: 'table to describe absent',
      call: (a) => a.describeTable('no'),
      code: 'TableNotFoundException',
      text: "'no'",
    },
    {
      name: 'table to drop enabled',
      call: (a) => a.dropTable('t'),
      code: 'TableNotDisabledException',
      text: 't',
    },
    {
      name: 'table to enable enabled',
      call: (a) => a.enableTable('t'),
      code: 'TableNotDisabledException',
      text: 't',
    },
    {
      name: 'option of compact',
      call: (a) => a.compact('t', { mayor: true }),
      code: illegal,
      text: "'major'?",
    },
    {
      name: 'option of listTables',
      call: (a) => a.listTables({ namespac: 'x' }),
      code: illegal,
      text: "'namespace'?",
    },
    {
      name: 'pattern of listTables',
      call: (a) => a.listTables({ pattern: '(' }),
      code: illegal,
      text: '(',
    },
  ])('$name', async ({ call, code, text }) => {
    expectFault(await faultOf(() => call(store.admin)), code, text);
    expect(await store.admin.listTables()).toEqual(['t']);
  });
});

describe('options of open', () => {
  test.each<{ options: Record<string, unknown>; text: string }>([
    { options: { durabilty: 'SYNC_WAL' }, text: "'durability'?" },
    { options: { durability: 'fsync' }, text: "'fsync'" },
    { options: { durability: 'USE_DEFAULT' }, text: 'USE_DEFAULT' },
    { options: { memstoreBytes: 5 }, text: 'memstoreBytes' },
    { options: { memstoreBytes: '64MB' }, text: 'memstoreBytes' },
    { options: { busyTimeoutMs: -1 }, text: 'busyTimeoutMs' },
    { options: { logSegmentBytes: 1.5 }, text: 'logSegmentBytes' },
    { options: { asyncSyncMs: 0 }, text: 'asyncSyncMs' },
    { options: { oracle: { tso_window: 1 } }, text: 'tso_window' },
    {
      options: { oracle: { tso_service_window_duration_ms: -1 } },
      text: 'tso_service_window_duration_ms',
    },
    { options: { mustExist: 'yes' }, text: 'mustExist' },
    { options: { blockingSync: 1 }, text: 'blockingSync' },
    { options: { salvage: 'no' }, text: 'salvage' },
    { options: { autoCompact: 0 }, text: 'autoCompact' },
    { options: { address: 5 }, text: 'address' },
  ])('$options', async ({ options, text }) => {
    const elsewhere = memoryEnv();
    const given = { env: elsewhere, ...options } as OpenOptions;
    expectFault(await faultOf(() => open('/other', given)), 'IllegalArgumentException', text);
    expect(await elsewhere.fs.stat('/other')).toBeNull();
  });

  test.each([null, 5, 'x'])('%s', async (options) => {
    const call = (): Promise<unknown> => open('/other', options as OpenOptions | undefined);
    expectFault(await faultOf(call), 'IllegalArgumentException', 'open');
  });

  test.each(['', 5, null])('folder %s', async (dir) => {
    const call = (): Promise<unknown> => open(dir as string, { env: memoryEnv() });
    expectFault(await faultOf(call), 'IllegalArgumentException', 'folder');
  });
});
