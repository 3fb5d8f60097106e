/**
 * Every kind of file that a backup has, flipped, cut, and gone: `verify` finds it, `restore` refuses it and leaves nothing. The
 * kinds: the manifest, store files of a full backup, those that came by bulk loads and clones, those that cover commits which
 * skipped the log, history files, log segments, and all of them once more in a merged backup.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createBackup,
  exportTables,
  listBackups,
  mergeBackups,
  restoreBackup,
  restoreIntoServer,
  verifyBackups,
} from '../../src/backup/index.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { Env } from '../../src/io/index.ts';

let env: Env;
let store: EmbeddedConnection;
const OPTIONS = { logSegmentBytes: 65_536, autoCompact: false };
const REFUSED = /damaged|changed|missing|bytes|CRC|no whole|cut|JSON/;

beforeEach(async () => {
  env = memoryEnv();
  store = await open('source', { env, ...OPTIONS });
});

afterEach(() => store.close());

async function write(path: string, bytes: Uint8Array): Promise<void> {
  await env.fs.remove(path);
  const handle = await env.fs.open(path, 'create');
  await handle.write(bytes, 0);
  await handle.close();
}

const DAMAGES = ['first', 'middle', 'last', 'cut', 'empty', 'gone'] as const;

/** The file with one bit flipped, cut, emptied; null: without it. */
function damaged(whole: Uint8Array, damage: (typeof DAMAGES)[number]): Uint8Array | null {
  if (damage === 'gone') return null;
  if (damage === 'cut') return whole.subarray(0, whole.length - 1);
  if (damage === 'empty') return new Uint8Array(0);
  const bytes = Uint8Array.from(whole);
  const at = damage === 'first' ? 0 : damage === 'middle' ? whole.length >> 1 : whole.length - 2;
  bytes[at] = bytes[at]! ^ 4;
  return bytes;
}

async function putRows(prefix: string): Promise<void> {
  for (let i = 0; i < 30; i++) {
    const durability = i % 9 === 0 ? 'SKIP_WAL' : 'FSYNC_WAL';
    await store.table('t').put(`${prefix}${i}`, { 'f:q': 'v' }, { durability });
  }
}

/** A full backup, and an incremental one with each kind of file. */
async function fill(): Promise<void> {
  const donor = await open('donor', { env });
  await donor.admin.createTable({ name: 't', families: ['f'] });
  await donor.table('t').put('bulk', { 'f:q': 'v' });
  await exportTables(donor, env, ['t'], 'bulk', { format: 'hfile' });
  await donor.close();
  await store.admin.createTable({ name: 't', families: ['f'] });
  await putRows('r');
  await createBackup(store.server, 'backups');
  await putRows('s');
  await store.admin.bulkLoad('t', 'bulk/default/t');
  await createBackup(store.server, 'backups', { incremental: true });
}

async function filesByKind(): Promise<Map<string, string>> {
  const { backups } = await listBackups(env, 'backups');
  const kinds = new Map<string, string>();
  for (const { id, kind, parts } of backups) {
    kinds.set(`backups/${id}/backup.json`, `${kind} manifest`);
    for (const { files, log } of parts) {
      for (const { path, records } of files) {
        kinds.set(`backups/${id}/${path}`, records.map(({ role }) => role).join(' '));
      }
      for (const { path } of log) kinds.set(`backups/${id}/${path}`, 'log');
    }
  }
  return kinds;
}

async function expectRefused(path: string, what: string, id: string): Promise<void> {
  const { faults } = await verifyBackups(env, 'backups', null);
  expect(faults.length, what).toBeGreaterThan(0);
  const at = path.slice(0, path.lastIndexOf('/'));
  expect(
    faults.some((fault) => fault.path.startsWith(path) || fault.path === at),
    `${what}: ${JSON.stringify(faults)}`,
  ).toBe(true);
  await expect(restoreBackup(env, 'backups', 'restored', { id }), what).rejects.toThrow(REFUSED);
  expect(await env.fs.stat('restored')).toBeNull();
  expect(await env.fs.stat('restored.restoring')).toBeNull();
}

async function damageEach(id: string): Promise<Set<string>> {
  const kinds = await filesByKind();
  for (const [path, kind] of kinds) {
    const whole = await env.fs.readFile(path);
    for (const damage of DAMAGES) {
      const bytes = damaged(whole, damage);
      if (bytes === null) await env.fs.remove(path);
      else await write(path, bytes);
      await expectRefused(path, `${kind} ${path} ${damage}`, id);
    }
    await write(path, whole);
  }
  expect((await verifyBackups(env, 'backups', null)).faults).toEqual([]);
  return new Set(kinds.values());
}

const KINDS = ['live', 'loaded', 'covering', 'log'];

test('of a full and an incremental backup', async () => {
  await fill();
  const { backups } = await listBackups(env, 'backups');
  const found = await damageEach(backups[1]!.id);
  expect([...found].sort()).toEqual([...KINDS, 'full manifest', 'incremental manifest'].sort());
  await restoreBackup(env, 'backups', 'restored');
  const restored = await open('restored', { env });
  expect(await restored.table('t').count()).toBe(61);
  await restored.close();
});

/**
 * A full backup that has history files, as every one has whose own flush drops versions: they left the live files
 * after the capture's moment. Answers the paths of their copies.
 */
async function fillHistory(): Promise<string[]> {
  await store.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 1 }] });
  for (let i = 0; i < 6; i++) await store.table('t').put(`r${i}`, { 'f:q': 'old' });
  for (let i = 0; i < 6; i++) await store.table('t').put(`r${i}`, { 'f:q': 'new' });
  await createBackup(store.server, 'backups');
  const [backup] = (await listBackups(env, 'backups')).backups;
  return backup!.parts.flatMap(({ files }) =>
    files
      .filter(({ records }) => records.some(({ role }) => role === 'history'))
      .map(({ path }) => `backups/${backup!.id}/${path}`),
  );
}

test('of history files', async () => {
  const paths = await fillHistory();
  expect(paths.length).toBeGreaterThan(0);
  const { id } = (await listBackups(env, 'backups')).backups[0]!;
  for (const path of paths) {
    const whole = await env.fs.readFile(path);
    for (const damage of DAMAGES) {
      const bytes = damaged(whole, damage);
      if (bytes === null) await env.fs.remove(path);
      else await write(path, bytes);
      await expectRefused(path, `history ${damage}`, id);
    }
    await write(path, whole);
  }
  expect((await verifyBackups(env, 'backups', null)).faults).toEqual([]);
  await restoreBackup(env, 'backups', 'restored');
  const restored = await open('restored', { env });
  expect((await restored.table('t').get('r3'))?.text('f:q')).toBe('new');
  await restored.close();
});

test('of a merged one', async () => {
  await fill();
  const { backups } = await listBackups(env, 'backups');
  const ids = backups.map(({ id }) => id);
  const { id } = await mergeBackups(env, 'backups', ids);
  expect([...(await damageEach(id))].sort()).toEqual([...KINDS, 'full manifest'].sort());
});

test('a store that is there is as it was when a restore into it is refused', async () => {
  await fill();
  const files = await store.files();
  for (const [path, kind] of await filesByKind()) {
    if (kind.endsWith('manifest')) continue;
    const whole = await env.fs.readFile(path);
    await write(path, damaged(whole, 'middle')!);
    await expect(
      restoreIntoServer(store.server, 'backups', { overwrite: true }),
      kind,
    ).rejects.toThrow(REFUSED);
    expect(await store.files()).toEqual(files);
    expect(await store.admin.listTables()).toEqual(['t']);
    await write(path, whole);
  }
});
