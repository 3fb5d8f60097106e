/** Backups and restores: states of any moment equal a model's, under writers, splits, flushes and compactions. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createBackup,
  deleteBackups,
  listBackups,
  mergeBackups,
  pruneBackups,
  restoreBackup,
  restoreIntoServer,
  verifyBackups,
} from '../../src/backup/index.ts';
import type { Backup } from '../../src/backup/index.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { Env } from '../../src/io/index.ts';
import type { Connection } from '../../src/model/index.ts';
import { SUM, Transfers, readState, setUp, sorted, sumOf } from './transfers.ts';

let env: Env;
let store: EmbeddedConnection;

const OPTIONS = { logSegmentBytes: 65_536, autoCompact: false };

beforeEach(async () => {
  env = memoryEnv();
  store = await open('source', { env, ...OPTIONS });
});

afterEach(() => store.close());

/** Raw cells with their write numbers. */
async function rawCells(connection: Connection, table: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const result of connection.table(table).scan({ raw: true, versions: 1000 })) {
    for (const { family, qualifier, ts, type, value, tags, tso } of result.cells) {
      const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
      lines.push(
        `${result.rowText} ${family}:${text(qualifier)}@${ts} ${type} ${text(value)} ${text(tags)} #${tso}`,
      );
    }
  }
  return lines;
}

async function withRestored<T>(
  options: Parameters<typeof restoreBackup>[3],
  work: (restored: EmbeddedConnection) => Promise<T>,
): Promise<T> {
  await env.fs.remove('restored');
  await restoreBackup(env, 'backups', 'restored', options);
  const restored = await open('restored', { env, ...OPTIONS });
  try {
    return await work(restored);
  } finally {
    await restored.close();
  }
}

describe('states of any moment', () => {
  test('a full backup and incremental ones under a writer, restored at every commit', async () => {
    await setUp(store);
    const transfers = new Transfers(store, 7);
    await transfers.begin();
    const running = { on: true };
    const writer = (async (): Promise<void> => {
      while (running.on) {
        await transfers.step();
        await env.timers.sleep(1);
      }
    })();
    const backups: Backup[] = [await createBackup(store.server, 'backups')];
    await store.admin.flush('a');
    backups.push(await createBackup(store.server, 'backups', { incremental: true }));
    await store.admin.split('ns:b', 'r06');
    await store.admin.compact('a', { major: true });
    await store.admin.flush();
    backups.push(await createBackup(store.server, 'backups', { incremental: true }));
    await store.admin.compact('c', { major: true });
    backups.push(await createBackup(store.server, 'backups', { incremental: true }));
    running.on = false;
    await writer;
    expect((await verifyBackups(env, 'backups', null)).faults).toEqual([]);
    const first = backups[0]!.toTso;
    const last = backups.at(-1)!.toTso;
    const covered = transfers.history
      .map(({ tso }) => tso)
      .filter((tso) => tso >= first && tso <= last);
    expect(covered.length).toBeGreaterThan(5);
    const moments = [
      first,
      last,
      ...covered.filter((_, i) => i % Math.ceil(covered.length / 12) === 0),
    ];
    for (const asOf of moments) {
      await withRestored({ asOf }, async (restored) => {
        const state = await readState(restored);
        expect(sumOf(state)).toBe(SUM);
        expect(sorted(state)).toEqual(sorted(transfers.at(asOf)));
        const tso = await restored.table('a').put('new', { 'f:n': '0', 'g:n': '0' });
        expect(tso).toBeGreaterThan(asOf);
      });
    }
    // As-of reads of the source agree.
    for (const asOf of moments)
      expect(sorted(await readState(store, asOf))).toEqual(sorted(transfers.at(asOf)));
  });

  test('moments between the last commit and the backup are covered', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    await store.table('t').put('r', { 'f:q': '1' });
    await env.timers.sleep(5);
    const quiet = new Date(env.clock.nowMs());
    await env.timers.sleep(5);
    const full = await createBackup(store.server, 'backups');
    expect(full.toTso >> 18n).toBeGreaterThan(BigInt(quiet.getTime()));
    await env.timers.sleep(5);
    const later = new Date(env.clock.nowMs());
    await env.timers.sleep(5);
    await createBackup(store.server, 'backups', { incremental: true });
    await withRestored({ asOf: later }, async (restored) => {
      expect((await restored.table('t').get('r'))?.text('f:q')).toBe('1');
    });
  });

  test('every cell, version and marker comes back with its write number', async () => {
    await store.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 2 }] });
    const table = store.table('t');
    for (let i = 1; i <= 5; i++) await table.put('r', { 'f:q': `v${i}` }, { ts: i });
    await table.delete('r', { columns: ['f:q'], ts: 2 });
    const atFull = await rawCells(store, 't');
    await createBackup(store.server, 'backups');
    await table.put('r', { 'f:q': 'w' }, { ts: 4 });
    await table.put('s', { 'f:p': 'x' }, { ttl: 1_000_000 });
    await table.delete('s', { familyVersions: ['f'], ts: 9 });
    await createBackup(store.server, 'backups', { incremental: true });
    // What the flush of the full backup dropped is there, too: the state is that of its moment.
    const { backups } = await listBackups(env, 'backups');
    await withRestored({ asOf: backups[0]!.toTso }, async (restored) => {
      expect(await rawCells(restored, 't')).toEqual(atFull);
    });
    const asOf = backups[1]!.toTso;
    await withRestored({ gatherBytes: 1 }, async (restored) => {
      const cells = await rawCells(restored, 't');
      // The put at 4 has the key of an older one, which even raw scans pass over.
      const kept = atFull.filter((cell) => !cell.startsWith('r f:q@4 '));
      for (const cell of kept) expect(cells).toContain(cell);
      expect(cells.length).toBe(kept.length + 3);
      expect(
        (await restored.table('t').get('r', { versions: 9 }))?.cells.map(({ ts }) => ts),
      ).toEqual([5n, 4n]);
    });
    expect(asOf).toBeGreaterThan(backups[0]!.toTso);
  });

  test('83: puts, deletes and increments between backups, read as of each', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    const table = store.table('t');
    const first = await table.put('r', { 'f:a': '1' });
    await createBackup(store.server, 'backups');
    const second = await table.put('r', { 'f:b': '2' });
    const third = await table.delete('r', { columns: ['f:a'] });
    await createBackup(store.server, 'backups', { incremental: true });
    await table.put('r', { 'f:c': 'after' });
    const at = (asOf: bigint): Promise<Record<string, string> | undefined> =>
      withRestored({ asOf }, async (restored) => (await restored.table('t').get('r'))?.toJSON());
    const { backups } = await listBackups(env, 'backups');
    expect(await at(backups[0]!.toTso)).toEqual({ 'f:a': '1' });
    expect(await at(second)).toEqual({ 'f:a': '1', 'f:b': '2' });
    expect(await at(third)).toEqual({ 'f:b': '2' });
    expect(await at(backups[1]!.toTso)).toEqual({ 'f:b': '2' });
    await expect(restoreBackup(env, 'backups', 'x', { asOf: first - 1n })).rejects.toThrow(
      /no backup in backups covers/,
    );
    await expect(
      restoreBackup(env, 'backups', 'x', { asOf: backups[1]!.toTso + 1n }),
    ).rejects.toThrow(/no backup in backups covers/);
    expect(await env.fs.stat('x')).toBeNull();
  });
});

describe('what changes beside cells', () => {
  test('tables made, altered, truncated, dropped, families added and dropped between backups', async () => {
    await store.admin.createTable({ name: 't', families: ['f', 'g'] });
    await store.table('t').put('r', { 'f:q': '1', 'g:q': '1' });
    await createBackup(store.server, 'backups');
    const moments: [bigint, object][] = [];
    const note = async (want: object): Promise<void> =>
      void moments.push([await store.tso(), want]);
    await store.admin.addFamily('t', 'h');
    await store.table('t').put('r', { 'h:q': '2' });
    await note({ t: { 'f:q': '1', 'g:q': '1', 'h:q': '2' } });
    await store.admin.dropFamily('t', 'g');
    await store.admin.createTable({ name: 'u', families: ['f'], SPLITS: ['m'] });
    await store.table('u').put('r', { 'f:q': 'u' });
    await note({ t: { 'f:q': '1', 'h:q': '2' }, u: { 'f:q': 'u' } });
    await store.admin.addFamily('t', 'g');
    await store.admin.truncateTable('u');
    await store.table('t').put('r', { 'g:p': '3' });
    await note({ t: { 'f:q': '1', 'h:q': '2', 'g:p': '3' }, u: undefined });
    await store.admin.disableTable('t');
    await store.admin.dropTable('t');
    await note({ u: undefined });
    await createBackup(store.server, 'backups', { incremental: true });
    for (const [asOf, want] of moments) {
      await withRestored({ asOf }, async (restored) => {
        expect(await restored.admin.listTables()).toEqual(Object.keys(want));
        for (const [name, row] of Object.entries(want)) {
          if (!(await restored.admin.isEnabled(name))) await restored.admin.enableTable(name);
          expect((await restored.table(name).get('r'))?.toJSON(), name).toEqual(row);
        }
      });
    }
  });

  test('89: bulk loads, whole and across regions, also when they were compacted away since', async () => {
    const donor = await open('donor', { env });
    await donor.admin.createTable({ name: 't', families: ['f'] });
    for (const row of ['a', 'n', 'z']) await donor.table('t').put(row, { 'f:q': row }, { ts: 5 });
    const { exportTables } = await import('../../src/backup/index.ts');
    await exportTables(donor, env, ['t'], 'bulk', { format: 'hfile' });
    await donor.close();
    await store.admin.createTable({ name: 't', families: ['f'], SPLITS: ['m'] });
    await createBackup(store.server, 'backups');
    const { tso } = await store.admin.bulkLoad('t', 'bulk/default/t');
    const deleted = await store.table('t').delete('n', { ts: 10 });
    await store.admin.flush();
    await store.admin.compact('t', { major: true });
    await createBackup(store.server, 'backups', { incremental: true });
    const rows = async (asOf: bigint): Promise<string[]> =>
      withRestored({ asOf }, async (restored) => {
        const found: string[] = [];
        for await (const result of restored.table('t').scan()) found.push(result.rowText);
        return found;
      });
    expect(await rows(tso! - 1n)).toEqual([]);
    expect(await rows(tso!)).toEqual(['a', 'n', 'z']);
    expect(await rows(deleted)).toEqual(['a', 'z']);
  });

  test('clones of snapshots and restored tables belong to what an incremental backup takes', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    await store.table('t').put('r', { 'f:q': '1' });
    await createBackup(store.server, 'backups');
    await store.admin.snapshot('s', 't');
    await store.admin.cloneSnapshot('s', 'copy');
    await restoreIntoServer(store.server, 'backups', { rename: { t: 'again' } });
    await store.table('again').put('s', { 'f:q': '2' });
    await store.admin.compact('copy', { major: true });
    await createBackup(store.server, 'backups', { incremental: true });
    await withRestored({}, async (restored) => {
      expect(await restored.admin.listTables()).toEqual(['again', 'copy', 't']);
      expect((await restored.table('copy').get('r'))?.text('f:q')).toBe('1');
      expect((await restored.table('again').get('r'))?.text('f:q')).toBe('1');
      expect((await restored.table('again').get('s'))?.text('f:q')).toBe('2');
    });
  });

  test('commits that skipped the log are taken from files', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    const table = store.table('t');
    await table.put('r', { 'f:a': 'before' }, { durability: 'SKIP_WAL' });
    await createBackup(store.server, 'backups');
    const skipped = await table.put('r', { 'f:b': 'skipped' }, { durability: 'SKIP_WAL' });
    const logged = await table.put('r', { 'f:c': 'logged' });
    await table.put('r', { 'f:d': 'skipped last' }, { durability: 'SKIP_WAL' });
    await createBackup(store.server, 'backups', { incremental: true });
    await table.put('r', { 'f:e': 'too late' }, { durability: 'SKIP_WAL' });
    await createBackup(store.server, 'backups', { incremental: true });
    const at = (asOf?: bigint): Promise<string[]> =>
      withRestored(asOf === undefined ? {} : { asOf }, async (restored) => {
        const cells = await rawCells(restored, 't');
        return cells.map((cell) => cell.slice(2, 5));
      });
    expect(await at(skipped)).toEqual(['f:a', 'f:b']);
    expect(await at(logged)).toEqual(['f:a', 'f:b', 'f:c']);
    const { backups } = await listBackups(env, 'backups');
    expect(await at(backups[1]!.toTso)).toEqual(['f:a', 'f:b', 'f:c', 'f:d']);
    expect(await at()).toEqual(['f:a', 'f:b', 'f:c', 'f:d', 'f:e']);
  });
});

describe('chains', () => {
  async function three(): Promise<Backup[]> {
    await store.admin.createTable({ name: 't', families: ['f'] });
    const backups: Backup[] = [];
    for (let i = 0; i < 3; i++) {
      await store.table('t').put('r', { 'f:q': `${i}` });
      backups.push(await createBackup(store.server, 'backups', { incremental: i > 0 }));
    }
    return backups;
  }

  test('a missing link is named; what others hang on is not deleted by itself', async () => {
    const [full, one, two] = await three();
    await expect(deleteBackups(env, 'backups', [one!.id], false)).rejects.toThrow(
      new RegExp(`${two!.id} hang`),
    );
    await env.fs.remove(`backups/${one!.id}`);
    await expect(restoreBackup(env, 'backups', 'x')).rejects.toThrow(
      `backup ${two!.id} hangs on ${one!.id}, which is missing from backups`,
    );
    expect((await verifyBackups(env, 'backups', null)).faults).toEqual([
      {
        path: `backups/${two!.id}`,
        what: `backup ${two!.id} hangs on ${one!.id}, which is missing from backups`,
      },
    ]);
    await expect(createBackup(store.server, 'backups', { incremental: true })).rejects.toThrow(
      /which is missing/,
    );
    expect(await deleteBackups(env, 'backups', [full!.id], true)).toEqual([full!.id]);
  });

  test('merged backups cover every moment that they covered', async () => {
    const [full, one, two] = await three();
    const moment = await store.table('t').put('r', { 'f:q': 'last' });
    const three_ = await createBackup(store.server, 'backups', { incremental: true });
    const merged = await mergeBackups(env, 'backups', [two!.id, one!.id]);
    expect(merged).toMatchObject({ kind: 'incremental', fromTso: full!.toTso, toTso: two!.toTso });
    expect((await verifyBackups(env, 'backups', null)).faults).toEqual([]);
    const at = (asOf: bigint): Promise<string | null | undefined> =>
      withRestored({ asOf }, async (restored) => (await restored.table('t').get('r'))?.text('f:q'));
    expect(await at(one!.toTso)).toBe('1');
    expect(await at(moment)).toBe('last');
    const all = await mergeBackups(env, 'backups', [full!.id, merged.id, three_.id]);
    expect(all.kind).toBe('full');
    expect((await listBackups(env, 'backups')).backups).toHaveLength(1);
    expect(await at(full!.toTso)).toBe('0');
    expect(await at(two!.toTso)).toBe('2');
    expect(await at(moment)).toBe('last');
    // The chain goes on from the merged one.
    await store.table('t').put('r', { 'f:q': 'on' });
    const next = await createBackup(store.server, 'backups', { incremental: true });
    expect(await at(next.toTso)).toBe('on');
  });

  test('prune keeps the newest chains', async () => {
    const [full] = await three();
    await createBackup(store.server, 'backups');
    const gone = await pruneBackups(env, 'backups', { chains: 1 });
    expect(gone).toHaveLength(3);
    expect(gone).toContain(full!.id);
    expect((await listBackups(env, 'backups')).backups).toHaveLength(1);
    expect(await pruneBackups(env, 'backups', { ageMs: 0 })).toEqual([]);
  });

  test('90: a table stays in the set while its full backup lives', async () => {
    for (const name of ['x', 'y']) await store.admin.createTable({ name, families: ['f'] });
    await createBackup(store.server, 'backups', { tables: ['x', 'y'] });
    const second = await createBackup(store.server, 'backups', { tables: ['x'] });
    await deleteBackups(env, 'backups', [second.id], false);
    await store.table('y').put('r', { 'f:q': '1' });
    await createBackup(store.server, 'backups', { tables: ['x', 'y'], incremental: true });
    await withRestored({}, async (restored) => {
      expect((await restored.table('y').get('r'))?.text('f:q')).toBe('1');
    });
  });

  test('the log is kept for the chain and given free with it; without it an incremental backup is refused', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    const write = async (): Promise<void> => {
      for (let i = 0; i < 200; i++) await store.table('t').put(`r${i}`, { 'f:q': 'x'.repeat(300) });
      await store.admin.flush();
    };
    await createBackup(store.server, 'alone', { standalone: true });
    await write();
    expect(await env.fs.stat('source/archive/wal')).toBeNull();
    await expect(createBackup(store.server, 'alone', { incremental: true })).rejects.toThrow(
      /does not keep its log for the backups in alone: take a full backup first/,
    );
    await createBackup(store.server, 'backups');
    await write();
    await store.server.background.releaseLog();
    expect((await env.fs.list('source/archive/wal')).length).toBeGreaterThan(0);
    await store.close();
    store = await open('source', { env, ...OPTIONS });
    await createBackup(store.server, 'backups', { incremental: true });
    await withRestored({}, async (restored) => expect(await restored.table('t').count()).toBe(200));
    await write();
    expect((await env.fs.list('source/archive/wal')).length).toBeGreaterThan(0);
    for (const name of await env.fs.list('source/archive/wal'))
      await env.fs.remove(`source/archive/wal/${name}`);
    await expect(createBackup(store.server, 'backups', { incremental: true })).rejects.toThrow(
      /the log reaches back to \d+ only, and not to \d+, where the last backup ended: take a full backup/,
    );
    await env.fs.remove('backups');
    await env.fs.ensureFolder('backups');
    await createBackup(store.server, 'backups', { standalone: true });
    await write();
    expect(await env.fs.list('source/archive/wal')).toEqual([]);
  });
});

describe('restores', () => {
  test('tables, renamed, into a store that is there; existing ones only with overwrite', async () => {
    await setUp(store);
    const transfers = new Transfers(store, 3);
    await transfers.begin();
    const backup = await createBackup(store.server, 'backups');
    for (let i = 0; i < 20; i++) await transfers.step();
    await expect(
      restoreIntoServer(store.server, 'backups', { tables: ['a'] }),
    ).rejects.toMatchObject({
      code: 'TableExistsException',
    });
    await restoreIntoServer(store.server, 'backups', { tables: ['a'], rename: { a: 'a2' } });
    const all = { rename: { a: 'a3', 'ns:b': 'b3', c: 'new:c3' } };
    await store.admin.createNamespace('new');
    await restoreIntoServer(store.server, 'backups', all);
    const names: Record<string, string> = all.rename;
    const state = await readState(store, undefined, (table) => names[table]!);
    expect(sorted(state)).toEqual(sorted(transfers.at(backup.toTso)));
    const before = await store.tso();
    await restoreIntoServer(store.server, 'backups', { overwrite: true });
    expect(sorted(await readState(store))).toEqual(sorted(transfers.at(backup.toTso)));
    expect(sorted(await readState(store, before))).toEqual(sorted(transfers.at(before)));
    await expect(restoreIntoServer(store.server, 'backups', { tables: ['nope'] })).rejects.toThrow(
      /no backup|there was no table nope/,
    );
  });

  test('76: write numbers ahead of the clock are refused, or given anew', async () => {
    await store.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 5 }] });
    const table = store.table('t');
    for (let i = 1; i <= 3; i++) await table.put('r', { 'f:q': `v${i}` }, { ts: i });
    await table.delete('r', { versions: ['f:q'], ts: 2 });
    await store.admin.flush();
    await table.put('r', { 'f:q': 'v1 again' }, { ts: 1 });
    store.server.oracle.raiseAbove((await store.tso()) + (3_600_000n << 18n));
    const late = await table.put('late', { 'f:q': 'v' }, { ts: 9 });
    await createBackup(store.server, 'backups');
    await expect(restoreBackup(env, 'backups', 'restored')).rejects.toThrow(
      /ahead of the clock.*restamp/,
    );
    expect(await env.fs.stat('restored')).toBeNull();
    await withRestored({ restamp: true }, async (restored) => {
      const cells = (await restored.table('t').get('r', { versions: 5 }))?.cells ?? [];
      expect(cells.map(({ ts, value }) => [ts, Buffer.from(value).toString()])).toEqual([
        [3n, 'v3'],
        [1n, 'v1 again'],
      ]);
      expect(cells.every(({ tso }) => tso < late)).toBe(true);
      expect(await restored.table('t').put('later', { 'f:q': 'v' })).toBeLessThan(late);
    });
  });

  test('a stopped restore leaves its target as it was', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    await store.table('t').put('r', { 'f:q': '1' });
    await createBackup(store.server, 'backups');
    const stopped = { isStopped: () => true };
    await expect(restoreBackup(env, 'backups', 'restored', stopped)).rejects.toMatchObject({
      code: 'InterruptedIOException',
    });
    expect(await env.fs.stat('restored')).toBeNull();
    const files = await store.files();
    await expect(
      restoreIntoServer(store.server, 'backups', { ...stopped, overwrite: true }),
    ).rejects.toMatchObject({ code: 'InterruptedIOException' });
    expect(await store.files()).toEqual(files);
    await expect(createBackup(store.server, 'backups', stopped)).rejects.toMatchObject({
      code: 'InterruptedIOException',
    });
    expect((await env.fs.list('backups')).filter((name) => name.startsWith('.partial'))).toEqual(
      [],
    );
  });
});
