/** Forks, folders and backups opened in place, differences, replay of the log. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createBackup,
  diffMoments,
  diffStores,
  forkStore,
  logOfBackups,
  logOfServer,
  openReadOnly,
  replayInto,
  replayToHFiles,
} from '../../src/backup/index.ts';
import type { Difference, TableDifference } from '../../src/backup/index.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { Env } from '../../src/io/index.ts';
import { Transfers, readState, setUp, sorted } from './transfers.ts';

let env: Env;
let store: EmbeddedConnection;

beforeEach(async () => {
  env = memoryEnv();
  store = await open('source', { env });
});

afterEach(() => store.close());

async function texts(differences: AsyncGenerator<Difference | TableDifference>): Promise<string[]> {
  const lines: string[] = [];
  const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();
  for await (const difference of differences) {
    const { kind, table } = difference;
    if (!('before' in difference)) {
      lines.push(`${kind} table ${table}`);
      continue;
    }
    const { before, after } = difference;
    const cell = after ?? before!;
    lines.push(
      `${kind} ${table} ${text(cell.row)} ${text(cell.qualifier)}@${cell.ts} ${cell.type} ${text(before?.value)}>${text(after?.value)}`,
    );
  }
  return lines;
}

/** Every path below a folder, with its content. */
async function treeOf(dir: string): Promise<Map<string, string>> {
  const tree = new Map<string, string>();
  for (const name of await env.fs.list(dir)) {
    const path = `${dir}/${name}`;
    if ((await env.fs.stat(path))?.isDirectory === true) {
      for (const [below, content] of await treeOf(path)) tree.set(below, content);
    } else tree.set(path, Buffer.from(await env.fs.readFile(path)).toString('base64'));
  }
  return tree;
}

describe('forks', () => {
  test('a fork has the tables as they are and goes its own way', async () => {
    await setUp(store);
    const transfers = new Transfers(store, 5);
    await transfers.begin();
    await store.admin.flush();
    await store.admin.split('a', 'r06');
    for (let i = 0; i < 30; i++) await transfers.step();
    const { tso } = await forkStore(store.server, 'fork');
    const fork = await open('fork', { env });
    expect(sorted(await readState(fork))).toEqual(sorted(transfers.at(tso)));
    expect(fork.server.manifest.store.serverId).not.toBe(store.server.manifest.store.serverId);
    expect((await fork.regions('a')).length).toBe(2);
    await fork.table('a').put('r00', { 'f:n': '1', 'g:n': '1' });
    for (const name of ['a', 'ns:b', 'c']) await fork.admin.compact(name, { major: true });
    expect(sorted(await readState(store))).toEqual(sorted(transfers.at(await store.tso())));
    await store.admin.compact('a', { major: true });
    await store.admin.disableTable('c');
    await store.admin.dropTable('c');
    expect(await fork.table('c').count()).toBe(12);
    await fork.close();
    const again = await open('fork', { env });
    expect((await again.table('a').get('r00'))?.text('f:n')).toBe('1');
    await again.close();
    await expect(forkStore(store.server, 'fork')).rejects.toThrow(/is not empty/);
  });
});

describe('in place', () => {
  test('a data folder is read and not changed, also after a kill', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    const first = await store.table('t').put('r', { 'f:q': '1' });
    await store.admin.flush();
    await store.table('t').put('r', { 'f:q': '2' });
    await expect(openReadOnly(env, 'source')).rejects.toMatchObject({
      code: 'FolderLockedException',
    });
    await store.close();
    const before = await treeOf('source');
    const view = await openReadOnly(env, 'source');
    expect((await view.table('t').get('r'))?.text('f:q')).toBe('2');
    expect((await view.table('t').get('r', { asOf: first }))?.text('f:q')).toBe('1');
    await expect(view.table('t').put('r', { 'f:q': '3' })).rejects.toThrow(
      'source is opened read only',
    );
    await expect(view.admin.createTable({ name: 'u', families: ['f'] })).rejects.toThrow(
      'source is opened read only',
    );
    await view.close();
    expect(await treeOf('source')).toEqual(before);
    await expect(openReadOnly(env, 'nowhere')).rejects.toMatchObject({
      code: 'FileNotFoundException',
    });
  });

  test('backups are read in place as of any moment', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    await store.table('t').put('r', { 'f:q': '1' });
    const full = await createBackup(store.server, 'backups');
    const second = await store.table('t').put('r', { 'f:q': '2' });
    await store.table('t').put('r', { 'f:q': '3' });
    await createBackup(store.server, 'backups', { incremental: true });
    const before = await treeOf('backups');
    const read = async (dir: string, asOf?: bigint): Promise<string | null | undefined> => {
      const view = await openReadOnly(env, dir, asOf === undefined ? {} : { asOf });
      const text = (await view.table('t').get('r'))?.text('f:q');
      await expect(view.table('t').put('r', { 'f:q': 'no' })).rejects.toThrow(/opened read only/);
      await view.close();
      return text;
    };
    expect(await read('backups')).toBe('3');
    expect(await read('backups', second)).toBe('2');
    expect(await read('backups', full.toTso)).toBe('1');
    expect(await read(`backups/${full.id}`)).toBe('1');
    expect(await treeOf('backups')).toEqual(before);
  });
});

describe('differences', () => {
  test('of two moments', async () => {
    await store.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 2 }] });
    const table = store.table('t');
    await table.put('a', { 'f:q': '1' }, { ts: 1 });
    await table.put('b', { 'f:q': '1', 'f:r': '1' }, { ts: 1 });
    const from = await table.put('c', { 'f:q': '1' }, { ts: 1 });
    await table.put('a', { 'f:q': '2' }, { ts: 2 });
    await table.put('b', { 'f:q': 'x' }, { ts: 1 });
    await table.delete('c');
    const to = await table.put('d', { 'f:q': '1' }, { ts: 7 });
    await table.put('e', { 'f:q': '1' });
    expect(await texts(diffMoments(store, 't', from, to))).toEqual([
      'added t a q@2 Put >2',
      'changed t b q@1 Put 1>x',
      'removed t c q@1 Put 1>',
      'added t d q@7 Put >1',
    ]);
    expect(await texts(diffMoments(store, 't', to, to))).toEqual([]);
  });

  test('of a store and its restored self: none; of others: tables, descriptions, cells', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    await store.admin.createTable({ name: 'gone', families: ['f'] });
    await store.table('t').put('r', { 'f:q': '1' }, { ts: 1 });
    await store.table('t').delete('s', { ts: 4 });
    await forkStore(store.server, 'fork');
    const fork = await open('fork', { env });
    expect(await texts(diffStores(store, fork))).toEqual([]);
    await fork.admin.alterTable({ name: 't', families: [{ name: 'f', VERSIONS: 3 }] });
    await fork.admin.createTable({ name: 'made', families: ['f'] });
    await fork.admin.disableTable('gone');
    await fork.admin.dropTable('gone');
    await fork.table('t').put('r', { 'f:q': '2' }, { ts: 1 });
    expect(await texts(diffStores(store, fork))).toEqual([
      'removed table gone',
      'added table made',
      'changed table t',
      'changed t r q@1 Put 1>2',
    ]);
    await fork.close();
  });
});

describe('replay of the log', () => {
  test('a stretch, of chosen tables, renamed, into tables and into HFiles; from a store and from backups', async () => {
    for (const name of ['a', 'b']) await store.admin.createTable({ name, families: ['f', 'g'] });
    await createBackup(store.server, 'backups');
    await store.table('a').put('r', { 'f:q': '1' }, { ts: 1 });
    const from = await store.table('a').put('r', { 'f:q': '2', 'g:q': 'x' }, { ts: 2 });
    await store.table('b').put('r', { 'f:q': 'b' });
    const to = await store.table('a').delete('r', { columns: ['f:q'], ts: 1 });
    await store.table('a').put('r', { 'f:q': '9' }, { ts: 9 });
    await createBackup(store.server, 'backups', { incremental: true });
    const options = { from, to, tables: ['a'], rename: { a: 'c' } };
    const raw = async (table: string): Promise<string[]> => {
      const found: string[] = [];
      for await (const result of store.table(table).scan({ raw: true, versions: 9 })) {
        found.push(...result.cells.map(({ family, ts, type }) => `${family}@${ts} ${type}`));
      }
      return found;
    };
    const want = ['f@2 Put', 'f@1 DeleteColumn', 'g@2 Put'];
    await expect(replayInto(logOfServer(store.server), store, options)).rejects.toThrow(
      /'c' was not found/,
    );
    for (const source of [logOfServer(store.server), await logOfBackups(env, 'backups')]) {
      await store.admin.createTable({ name: 'c', families: ['f', 'g'] });
      const report = await replayInto(source, store, options);
      expect(report).toMatchObject({ commits: 2, cells: 3, dropped: 0, tables: ['c'] });
      expect(await raw('c')).toEqual(want);
      await store.admin.disableTable('c');
      await store.admin.dropTable('c');
    }
    await replayToHFiles(logOfServer(store.server), env, 'out', options);
    await store.admin.createTable({ name: 'c', families: ['f', 'g'] });
    await store.admin.bulkLoad('c', 'out/default/c');
    expect(await raw('c')).toEqual(want);
  });
});
