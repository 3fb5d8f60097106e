/** Damage of what backups hold of transactions: found by verify, refused by a restore or, at the latest, by the commit. */
import { describe, expect, test } from 'vitest';
import { listBackups, restoreBackup, summaryOf, verifyBackups } from '../../src/backup/index.ts';
import type { BackedFile, BackupBody } from '../../src/backup/backup_format.ts';
import { readBackup, writeBackup } from '../../src/backup/backup_format.ts';
import { CorruptionException } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import { LEDGER_TABLE } from '../../src/txn/index.ts';
import { codeOf } from '../txn/support.ts';
import { judge, linesOf, onLife, openAt } from './life.ts';
import type { Life } from './life.ts';

/** A full backup with a small and a staged one prepared; answers its folder. */
async function backedUp(life: Life): Promise<string> {
  await life.prepare(['a', 'b'], false);
  await life.prepare(['a', 'b'], true);
  await life.tell();
  const { id } = await life.connection.backups.create('/backups');
  return `/backups/${id}`;
}

/** Files that only transactions need. */
async function filesOf(env: SimEnv, dir: string): Promise<BackedFile[]> {
  const [part] = (await readBackup(env, dir)).parts;
  const ledgerId = part!.ledger!.record.id;
  return part!.files.filter(({ records }) =>
    records.some(({ role, record }) => role === 'staged' || record.tableId === ledgerId),
  );
}

async function bodyIn(env: SimEnv, dir: string): Promise<BackupBody> {
  const { format, version, ...body } = await readBackup(env, dir);
  expect([format, version]).toEqual(['cellar-backup', 2]);
  return body;
}

async function expectRefused(env: SimEnv, path: string): Promise<void> {
  const { faults } = await verifyBackups(env, '/backups', null);
  expect(faults.map((fault) => fault.path)).toContain(path);
  await expect(restoreBackup(env, '/backups', '/restored')).rejects.toThrow(CorruptionException);
  expect(await env.fs.stat('/restored')).toBeNull();
}

describe('each file of the ledger and each staged one', () => {
  test.each(['a byte', 'the end', 'all of it'])('without or with another: %s', async (what) => {
    await onLife(51, async (life, env) => {
      const dir = await backedUp(life);
      const files = await filesOf(env, dir);
      expect(files.some(({ records }) => records[0]!.role === 'staged')).toBe(true);
      for (const file of files) {
        const path = `${dir}/${file.path}`;
        const whole = Uint8Array.from(await env.fs.readFile(path));
        await env.fs.remove(path);
        if (what !== 'all of it') {
          const damaged = what === 'the end' ? whole.slice(0, -1) : Uint8Array.from(whole);
          if (what === 'a byte') damaged[Math.floor(damaged.length / 2)]! ^= 1;
          await write(env, path, damaged);
        }
        await expectRefused(env, path);
        await env.fs.remove(path);
        await write(env, path, whole);
      }
      expect((await verifyBackups(env, '/backups', null)).faults).toEqual([]);
    });
  });
});

async function write(env: SimEnv, path: string, bytes: Uint8Array): Promise<void> {
  const handle = await env.fs.open(path, 'create');
  await handle.write(bytes, 0);
  await handle.sync();
  await handle.close();
}

test('the log of an incremental one, where its transactions are', async () => {
  await onLife(52, async (life, env) => {
    await life.connection.backups.create('/backups');
    await life.prepare(['a'], false);
    const { id } = await life.connection.backups.create('/backups', { incremental: true });
    const [part] = (await readBackup(env, `/backups/${id}`)).parts;
    const log = part!.log.at(-1)!;
    env.fs.flip(`/backups/${id}/${log.path}`, log.sizeBytes - 30);
    await expectRefused(env, `/backups/${id}/${log.path}`);
  });
});

test('staged files that are whole, but not those that were prepared', async () => {
  await onLife(53, async (life, env) => {
    const dir = await backedUp(life);
    const body = await bodyIn(env, dir);
    const prepared = body.prepared!.map((one) =>
      one.isStaged ? { ...one, digest: 'crc32c:00000000' } : one,
    );
    await writeBackup(env, dir, { ...body, prepared });
    const { faults } = await verifyBackups(env, '/backups', null);
    expect(faults.map(({ what }) => what).join()).toMatch(/job-1: its files have the digest/);
    expect((await verifyBackups(env, '/backups', null, { quick: true })).faults).toEqual([]);
    const files = body.parts[0]!.files.filter(({ records }) => records[0]!.role !== 'staged');
    await writeBackup(env, dir, { ...body, parts: [{ ...body.parts[0]!, files }] });
    const found = await verifyBackups(env, '/backups', null, { quick: true });
    expect(found.faults.map(({ what }) => what).join()).toMatch(/no staged files of .*job-1/);
    await expect(restoreBackup(env, '/backups', '/restored')).rejects.toThrow(
      /job-1: the backups do not have its staged files/,
    );
    await restoreBackup(env, '/backups', '/restored', { transactions: 'leave' });
  });
});

test('what is damaged after the restore is not committed; the rest is', async () => {
  await onLife(54, async (life, env) => {
    const dir = await backedUp(life);
    await restoreBackup(env, '/backups', '/restored');
    const restored = await openAt(env, '/restored');
    const staged = [...restored.server.manifest.all('file')].find(({ kind }) => kind === 'staged');
    await restored.close();
    env.fs.flip(`/restored/${staged!.path}`, 60);
    const again = await openAt(env, '/restored');
    expect(await codeOf(again.transactions.commit({ label: 'job-1' }))).toBe('TXN_DATA_CORRUPT');
    expect(await codeOf(again.transactions.commit({ label: 'job-0' }))).toBe('OK');
    expect(await linesOf(again, 'b')).toEqual(life.known.get('job-0')!.cells['b']);
    expect(await codeOf(again.transactions.rollback({ label: 'job-1' }))).toBe('OK');
    await again.close();
    // The backup is as it was.
    expect((await verifyBackups(env, '/backups', null)).faults, dir).toEqual([]);
  });
});

test('a chain that an older program began goes on without transactions, and says so', async () => {
  await onLife(55, async (life, env) => {
    const dir = await backedUp(life);
    // As the older program left it: without the ledger, the files of it, and those that are staged.
    const { prepared, ...body } = await bodyIn(env, dir);
    expect(prepared).toHaveLength(2);
    const [{ ledger, ...part }] = body.parts as [(typeof body.parts)[0]];
    expect(ledger!.record.name).toBe(LEDGER_TABLE);
    const own = new Set((await filesOf(env, dir)).map(({ path }) => path));
    const files = part.files.filter(({ path }) => !own.has(path));
    await writeBackup(env, dir, { ...body, parts: [{ ...part, files }] });
    expect((await readBackup(env, dir)).version).toBe(1);
    await life.decide('job-0', true);
    const next = await life.connection.backups.create('/backups', { incremental: true });
    expect(next.prepared).toBeNull();
    const report = await restoreBackup(env, '/backups', '/restored');
    expect(report.prepared).toBe(0);
    const restored = await openAt(env, '/restored');
    expect(await restored.transactions.list({})).toEqual([]);
    expect(await linesOf(restored, 'b')).toEqual(life.known.get('job-0')!.cells['b']);
    await restored.close();
    // A full one begins anew.
    await life.connection.backups.create('/anew');
    const [full] = (await listBackups(env, '/anew')).backups;
    expect(summaryOf(full!).prepared).toHaveLength(1);
    await restoreBackup(env, '/anew', '/again');
    const again = await openAt(env, '/again');
    await judge(again, life.known);
    await again.close();
  });
});
