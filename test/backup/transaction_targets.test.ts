/** Where prepared transactions of backups come back to: new folders, stores at work, forks; renamed, in part, broken off. */
import { describe, expect, test } from 'vitest';
import { forkStore, listBackups, restoreBackup, summaryOf } from '../../src/backup/index.ts';
import { BackupException } from '../../src/backup/errors.ts';
import type { SimEnv } from '../../src/io/index.ts';
import { RowLockedByTransaction } from '../../src/model/index.ts';
import { codeOf, contentOf } from '../txn/support.ts';
import { committedLines, judge, linesOf, onLife, openAt } from './life.ts';
import type { Life } from './life.ts';

/** One of each kind, in `a` alone, in `b` alone and in both. */
async function prepareAll(life: Life): Promise<void> {
  for (const isStaged of [false, true]) {
    for (const tables of [['a'], ['b'], ['a', 'b']]) await life.prepare(tables, isStaged);
  }
}

const preparedIn = async (env: SimEnv, dir: string): Promise<string[]> => {
  const restored = await openAt(env, dir);
  const labels = (await restored.transactions.list({ state: 'PREPARED' })).map((one) => one.label);
  await restored.close();
  return labels;
};

test('between prepare and abort: as it was then, though its files are gone from the store', async () => {
  await onLife(31, async (life, env) => {
    const { connection } = life;
    await connection.backups.create('/backups');
    const small = await life.prepare(['a'], false);
    const staged = await life.prepare(['a', 'b'], true);
    const between = await life.tell();
    await life.decide(small, false);
    await life.decide(staged, false);
    const after = await life.tell();
    const { prepared } = await connection.backups.create('/backups', { incremental: true });
    expect(prepared).toEqual([]);
    // What only the backup needed of it has left the store with the backup.
    const named = [...connection.server.manifest.all('file')];
    expect(named.filter(({ path }) => path.endsWith('.staged'))).toEqual([]);
    for (const asOf of [between, after]) {
      await restoreBackup(env, '/backups', `/at${asOf}`, { asOf });
      const restored = await openAt(env, `/at${asOf}`);
      if (asOf === after) {
        // The label of an aborted one is free.
        expect(await codeOf(restored.transactions.begin({ label: small }))).toBe('OK');
        await restored.transactions.rollback({ label: small });
      }
      if (asOf === between) await judge(restored, life.at(asOf));
      await restored.close();
    }
  });
});

test('a staged one that stays prepared over a chain is in it once', async () => {
  await onLife(32, async (life, env) => {
    const { connection } = life;
    await connection.backups.create('/backups');
    const label = await life.prepare(['a'], true);
    for (let i = 0; i < 3; i++) {
      await life.tell();
      await connection.backups.create('/backups', { incremental: true });
    }
    const { backups } = await listBackups(env, '/backups');
    const files = backups.map(({ parts }) => parts.flatMap((part) => part.files).length);
    expect(files.slice(1).filter((count) => count > 0)).toHaveLength(1);
    expect(backups.map((backup) => summaryOf(backup).prepared!.length)).toEqual([0, 1, 1, 1]);
    expect(backups.map(({ version }) => version)).toEqual([1, 2, 2, 2]);
    await life.decide(label, true);
    await restoreBackup(env, '/backups', '/restored');
    const restored = await openAt(env, '/restored');
    await judge(restored, life.at(backups.at(-1)!.toTso));
    await restored.close();
  });
});

describe('some tables, other names', () => {
  test('renamed, into a new folder', async () => {
    await onLife(33, async (life, env) => {
      await prepareAll(life);
      const tso = await life.tell();
      await life.connection.backups.create('/backups');
      for (const [dir, rename] of [
        ['/swapped', { a: 'b', b: 'a' }],
        ['/moved', { a: 'c', b: 'd' }],
      ] as const) {
        await restoreBackup(env, '/backups', dir, { rename });
        const restored = await openAt(env, dir);
        await judge(restored, life.at(tso), rename);
        await restored.close();
      }
    });
  });

  test('those whose tables are not all restored: refused, or left out when told so', async () => {
    await onLife(34, async (life, env) => {
      const own = [await life.prepare(['a'], false), await life.prepare(['a'], true)];
      await life.prepare(['b'], false);
      await life.prepare(['b'], true);
      await life.connection.backups.create('/backups');
      const report = await restoreBackup(env, '/backups', '/one', { tables: ['a'] });
      expect(report.prepared).toBe(2);
      expect(await preparedIn(env, '/one')).toEqual(own);
      const across = [await life.prepare(['a', 'b'], false), await life.prepare(['a', 'b'], true)];
      await life.connection.backups.create('/backups', { incremental: true });
      const refused = await restoreBackup(env, '/backups', '/two', { tables: ['a'] }).catch(
        (error: unknown) => error as Error,
      );
      expect(refused).toBeInstanceOf(BackupException);
      for (const label of across) expect((refused as Error).message).toContain(label);
      expect(await env.fs.stat('/two')).toBeNull();
      await restoreBackup(env, '/backups', '/two', { tables: ['a'], transactions: 'leave' });
      expect(await preparedIn(env, '/two')).toEqual([]);
    });
  });

  test('a chain of some tables has what writes them', async () => {
    await onLife(35, async (life, env) => {
      const { connection } = life;
      await connection.backups.create('/backups', { tables: ['a'] });
      const own = [await life.prepare(['a'], true), await life.prepare(['a'], false)];
      await life.prepare(['b'], true);
      const across = await life.prepare(['a', 'b'], true);
      await connection.backups.create('/backups', { incremental: true, tables: ['a'] });
      await expect(restoreBackup(env, '/backups', '/one')).rejects.toThrow(across);
      await life.decide(across, true);
      await connection.backups.create('/backups', { incremental: true, tables: ['a'] });
      await restoreBackup(env, '/backups', '/one');
      expect(await preparedIn(env, '/one')).toEqual(own);
    });
  });
});

describe('a store that is there', () => {
  test('at work: its own transactions stay, those of the backup come and are decided', async () => {
    await onLife(36, async (life, env) => {
      await prepareAll(life);
      const tso = await life.tell();
      await life.connection.backups.create('/backups');
      const other = await openAt(env, '/other');
      await other.admin.createTable({ name: 'own', families: ['f'] });
      await other.transactions.begin({ label: 'own' });
      const line = { put: 'r', values: { 'f:q': 'v' } };
      await other.transactions.load({ label: 'own' }, 0, [line], { table: 'own' });
      await other.transactions.prepare({ label: 'own' });
      const report = await other.backups.restore('/backups');
      expect(report.prepared).toBe(6);
      // Known now: nothing of a second restore is done.
      await expect(
        other.backups.restore('/backups', { rename: { a: 'a2', b: 'b2' } }),
      ).rejects.toThrow(/this store knows its label or id/);
      expect(await other.admin.listTables()).toHaveLength(3);
      const leave = { rename: { a: 'a2', b: 'b2' }, transactions: 'leave' } as const;
      expect((await other.backups.restore('/backups', leave)).prepared).toBe(0);
      await expect(other.admin.truncateTable('b')).rejects.toThrow(/job-1/);
      await other.transactions.commit({ label: 'own' });
      expect(await contentOf(other, 'own')).toEqual(['r f:q=v']);
      await judge(other, life.at(tso));
      await other.close();
    });
  });

  test('the same store knows them all', async () => {
    await onLife(37, async (life) => {
      const { connection } = life;
      const label = await life.prepare(['a'], false);
      await connection.backups.create('/backups');
      const rename = { a: 'a2', b: 'b2' };
      for (const isDecided of [false, true]) {
        if (isDecided) await life.decide(label, true);
        await expect(connection.backups.restore('/backups', { rename })).rejects.toThrow(label);
      }
      await connection.backups.restore('/backups', { rename, transactions: 'leave' });
      expect(await linesOf(connection, 'a2')).toEqual([]);
    });
  });

  test('at every change of the disk: a kill or a full disk leaves all or nothing', async () => {
    await onLife(38, async (life, env) => {
      await life.prepare(['a', 'b'], true);
      await life.prepare(['a'], false);
      const tso = await life.tell();
      await life.connection.backups.create('/backups');
      await (await openAt(env, '/other')).close();
      const all = await brokenOff(env, 'full', 1_000_000, life, tso);
      // Files are copied first; states are written and tables placed at the end.
      for (const [i, what] of (['kill', 'power', 'full'] as const).entries()) {
        for (let n = i; n < all; n += n < 0.6 * all ? 9 : 3) {
          await brokenOff(env, what, n, life, tso);
        }
      }
    });
  }, 60_000);
});

const CHANGES: ReadonlySet<string> = new Set(['write', 'sync', 'rename', 'ensureFolder', 'copy']);

/** Breaks a restore off at its n-th change of the target. Answers how many there were. */
async function brokenOff(
  env: SimEnv,
  what: 'kill' | 'power' | 'full',
  n: number,
  life: Life,
  tso: bigint,
): Promise<number> {
  const machine = env.kill();
  let after: SimEnv | null = null;
  let seen = 0;
  const work = async (): Promise<void> => {
    const other = await openAt(machine, '/other');
    machine.fs.failWhen = ({ kind, path }) => {
      if (!CHANGES.has(kind) || !path.startsWith('/other/') || seen++ !== n) return null;
      if (what === 'full') return 'full';
      after = what === 'kill' ? machine.kill() : machine.crash({ keepUnsynced: 0.5 });
      return null;
    };
    const failed = await other.backups.restore('/backups').then(
      () => false,
      () => true,
    );
    machine.fs.failWhen = null;
    if (what === 'full' && failed && other.status().fatal === null) {
      expect(await other.transactions.list({})).toEqual([]);
      expect(await other.admin.listTables()).toEqual([]);
      await other.backups.restore('/backups');
    } else if (!failed) expect(await other.transactions.list({})).toHaveLength(2);
    await other.close();
  };
  await machine.drive(work(), 10_000_000);
  const found = after ?? machine;
  const look = async (): Promise<void> => {
    const other = await openAt(found, '/other');
    const isThere = (await other.admin.listTables()).length > 0;
    expect(await other.transactions.list({})).toHaveLength(isThere ? 2 : 0);
    if (!isThere) await other.backups.restore('/backups');
    await judge(other, life.at(tso));
    await other.close();
  };
  await found.drive(look(), 10_000_000);
  return seen;
}

test('a fork has them, too: each store decides for itself', async () => {
  await onLife(39, async (life, env) => {
    const { connection } = life;
    await prepareAll(life);
    const done = await life.prepare(['a'], true);
    await life.decide(done, true);
    const tso = await life.tell();
    const { prepared } = await forkStore(connection.server, '/fork');
    expect(prepared).toBe(6);
    for (const [label, { state }] of life.known) {
      if (state === 'PREPARED') await life.decide(label, false);
    }
    const fork = await openAt(env, '/fork');
    await judge(fork, life.at(tso));
    await fork.close();
    expect(await linesOf(connection, 'a')).toEqual(committedLines(life.known, 'a').sort());
    await life.prepare(['a', 'b'], true);
    await expect(forkStore(connection.server, '/part', { tables: ['a'] })).rejects.toThrow(
      /writes tables that are not restored/,
    );
    expect(await env.fs.stat('/part')).toBeNull();
  });
});

test('a backup of what was restored, through an opening and a crash', async () => {
  await onLife(40, async (life, env) => {
    await prepareAll(life);
    const tso = await life.tell();
    await life.connection.backups.create('/backups');
    await restoreBackup(env, '/backups', '/one', { rename: { a: 'b', b: 'a' } });
    const one = await openAt(env, '/one');
    await one.backups.create('/again');
    await one.close();
    await restoreBackup(env, '/again', '/two', { rename: { a: 'b', b: 'a' } });
    const machine = env.crash({ keepUnsynced: 0 });
    await machine.drive(
      (async (): Promise<void> => {
        const two = await openAt(machine, '/two');
        await two.admin.split('a', 'm');
        await judge(two, life.at(tso));
        await two.close();
      })(),
      10_000_000,
    );
  });
});

test('intents of a snapshot transaction, its time and XA’s recover', async () => {
  await onLife(41, async (life, env) => {
    const { transactions, backups } = life.connection;
    const name = { label: 'snap' };
    await transactions.begin({ ...name, isolation: 'snapshot' });
    const line = { put: 'r', values: { 'f:q': 'v' } };
    await transactions.load(name, 0, [line], { table: 'a' });
    const { expiresMs } = await transactions.prepare(name);
    const xid = { format: 1, gtrid: 'aa', bqual: '01' };
    await life.connection.xa.start(xid);
    await life.connection.xa.load(xid, 0, [line], { table: 'b' });
    await life.connection.xa.end(xid);
    await life.connection.xa.prepare(xid);
    const { toTso } = await backups.create('/backups');
    const leftMs = expiresMs! - Number(toTso >> 18n);
    // Days pass, more than its time.
    env.clock.step(10 * 86_400_000);
    await restoreBackup(env, '/backups', '/restored');
    const restored = await openAt(env, '/restored');
    const status = await restored.transactions.status(name);
    expect(Math.abs(status.expiresMs! - env.clock.nowMs() - leftMs)).toBeLessThan(60_000);
    await restored.setKnob('txn_intent_wait_ms', 10);
    await expect(restored.table('a').put('r', { 'f:q': 'w' })).rejects.toThrow(
      RowLockedByTransaction,
    );
    await restored.transactions.commit(name);
    await restored.table('a').put('r', { 'f:q': 'w' });
    expect((await restored.xa.recover()).map((one) => one.xid)).toEqual([xid]);
    await restored.xa.commit(xid);
    expect(await contentOf(restored, 'b')).toEqual(['r f:q=v']);
    await restored.close();
  });
});
