/**
 * The machine is cut off or killed at random steps of a backup, an incremental one, a merge, a restore, an export: what has the name of a
 * backup is whole, the store goes on, the next backups and restores give the states that they should.
 */
import { describe, expect, test } from 'vitest';
import {
  createBackup,
  exportTables,
  importTables,
  listBackups,
  mergeBackups,
  restoreBackup,
  restoreIntoServer,
  verifyBackups,
  verifyExport,
} from '../../src/backup/index.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import { Transfers, readState, setUp, sorted } from './transfers.ts';

const start = (env: SimEnv, dir = '/data'): Promise<EmbeddedConnection> =>
  open(dir, { env, blockingSync: false, logSegmentBytes: 1 << 16, autoCompact: false });

/** Runs `work`; answers copies of the machine as crashes at some of its steps leave it. */
async function crashesOf(env: SimEnv, seed: number, work: () => Promise<void>): Promise<SimEnv[]> {
  const chance = seeded(seed);
  const crashed: SimEnv[] = [];
  let until = 1 + chance.int(6);
  env.fs.failWhen = () => {
    if (--until <= 0 && crashed.length < 14) {
      until = 1 + chance.int(25);
      const pick = chance.int(3);
      crashed.push(pick === 0 ? env.kill() : env.crash({ keepUnsynced: pick === 1 ? 0 : 0.5 }));
    }
    return null;
  };
  await env.drive(work());
  env.fs.failWhen = null;
  return crashed;
}

/** After a crash. */
async function judge(env: SimEnv, transfers: Transfers): Promise<void> {
  if ((await env.fs.stat('/backups')) !== null) {
    const { broken } = await listBackups(env, '/backups');
    expect(broken).toEqual([]);
    expect((await verifyBackups(env, '/backups', null)).faults).toEqual([]);
  }
  const store = await start(env);
  const now = sorted(transfers.at(2n ** 62n));
  expect(sorted(await readState(store))).toEqual(now);
  const hasBackup = store.server.manifest.size('backup') > 0;
  // What a crash left of a full backup may be a record only: then the next one is a full one.
  const backup = await createBackup(store.server, '/backups', { incremental: hasBackup }).catch(
    (error: unknown) => {
      if (!hasBackup || !String(error).includes('take a full backup')) throw error;
      return createBackup(store.server, '/backups');
    },
  );
  expect(
    (await env.fs.list('/backups')).filter((name) => /^\.partial-[0-9a-f]{8}-/.test(name)),
  ).toEqual([]);
  await store.close();
  await restoreBackup(env, '/backups', '/restored', {});
  const restored = await start(env, '/restored');
  expect(sorted(await readState(restored))).toEqual(now);
  expect(backup.toTso).toBeGreaterThan(0n);
  await restored.close();
}

async function prepared(
  seed: number,
): Promise<{ env: SimEnv; store: EmbeddedConnection; transfers: Transfers }> {
  const env = simEnv({ seed });
  const store = await env.drive(start(env));
  const transfers = new Transfers(store, seed);
  await env.drive(
    (async () => {
      await setUp(store);
      await transfers.begin();
    })(),
  );
  return { env, store, transfers };
}

describe('crashes', () => {
  test.each([1, 2])(
    'of full and incremental backups, and of merging them (seed %s)',
    async (seed) => {
      const { env, store, transfers } = await prepared(seed);
      const crashed = await crashesOf(env, seed, async () => {
        await createBackup(store.server, '/backups');
      });
      for (const after of crashed) await after.drive(judge(after, transfers));
      await env.drive(transfers.step());
      const more = await crashesOf(env, seed + 100, async () => {
        await createBackup(store.server, '/backups', { incremental: true });
      });
      for (const after of more) await after.drive(judge(after, transfers));
      const merged = await crashesOf(env, seed + 200, async () => {
        const { backups } = await listBackups(env, '/backups');
        await mergeBackups(
          env,
          '/backups',
          backups.map(({ id }) => id),
        );
      });
      for (const after of merged) {
        await after.drive(
          (async () => {
            const { backups, broken } = await listBackups(after, '/backups');
            expect(broken).toEqual([]);
            expect(backups.length).toBeGreaterThan(0);
            await judge(after, transfers);
          })(),
        );
      }
      expect(crashed.length + more.length + merged.length).toBeGreaterThan(20);
      await env.drive(store.close());
    },
  );

  test('of a restore: the target is as it was, or restored', async () => {
    const { env, store, transfers } = await prepared(3);
    const backup = await env.drive(createBackup(store.server, '/backups'));
    for (let i = 0; i < 5; i++) await env.drive(transfers.step());
    const before = sorted(transfers.at(2n ** 62n));
    const then = sorted(transfers.at(backup.toTso));
    const fresh = await crashesOf(env, 30, async () => {
      await restoreBackup(env, '/backups', '/restored');
    });
    let made = 0;
    for (const after of fresh) {
      await after.drive(
        (async () => {
          if ((await after.fs.stat('/restored')) !== null) {
            made++;
            const restored = await start(after, '/restored');
            expect(sorted(await readState(restored))).toEqual(then);
            await restored.close();
            await after.fs.remove('/restored');
          }
          await restoreBackup(after, '/backups', '/restored');
          const again = await start(after, '/restored');
          expect(sorted(await readState(again))).toEqual(then);
          await again.close();
        })(),
      );
    }
    const into = await crashesOf(env, 31, async () => {
      await restoreIntoServer(store.server, '/backups', { overwrite: true });
    });
    let restoredCount = 0;
    for (const after of into) {
      await after.drive(
        (async () => {
          const recovered = await start(after);
          const state = sorted(await readState(recovered));
          if (JSON.stringify(state) === JSON.stringify(then)) restoredCount++;
          else expect(state).toEqual(before);
          const named = new Set((await recovered.files()).map(({ path }) => path));
          for (const path of named)
            expect(await after.fs.stat(`/data/${path}`), path).not.toBeNull();
          await recovered.close();
        })(),
      );
    }
    expect(into.length).toBeGreaterThan(5);
    expect(made + restoredCount).toBeLessThan(fresh.length + into.length);
    await env.drive(store.close());
  });

  test('of an export: what has a manifest is whole, the rest is replaced by the next', async () => {
    const { env, store } = await prepared(4);
    const crashed = await crashesOf(env, 40, async () => {
      await exportTables(store, env, null, '/out', { format: 'hfile' });
    });
    for (const after of crashed) {
      await after.drive(
        (async () => {
          const names = (await after.fs.stat('/out')) === null ? [] : await after.fs.list('/out');
          if (names.includes('_cellar.json')) {
            expect((await verifyExport(after, '/out')).faults).toEqual([]);
            return;
          }
          const recovered = await start(after);
          await exportTables(recovered, after, null, '/out', { format: 'hfile' });
          expect((await verifyExport(after, '/out')).faults).toEqual([]);
          await recovered.close();
        })(),
      );
    }
    await env.drive(store.close());
  });

  test('of an import: the same command goes on, and every cell is there once', async () => {
    const { env, store, transfers } = await prepared(9);
    await env.drive(exportTables(store, env, null, '/out'));
    const wanted = sorted(transfers.at(2n ** 62n));
    const target = await env.drive(start(env, '/target'));
    await env.drive(target.admin.createNamespace('ns'));
    const crashed = await crashesOf(env, 9, async () => {
      await importTables(target, env, '/out', { create: true, batch: 7 });
    });
    expect(crashed.length).toBeGreaterThan(5);
    for (const after of crashed) {
      await after.drive(
        (async (): Promise<void> => {
          const again = await start(after, '/target');
          const done = await importTables(again, after, '/out', { create: true });
          const cells = done.reduce((sum, { puts, resumed }) => sum + puts + resumed, 0);
          expect(cells).toBe(2 * wanted.length);
          expect(sorted(await readState(again))).toEqual(wanted);
          await again.close();
        })(),
      );
    }
  });
});
