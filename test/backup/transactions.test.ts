/**
 * Crash point 26 of transactions.md section 7: what was PREPARED at the moment of a restore or fork comes back PREPARED, with its
 * label, id and digest, and can be decided; what was committed is there, what was aborted is not.
 */
import { describe, expect, test } from 'vitest';
import {
  listBackups,
  mergeBackups,
  restoreBackup,
  summaryOf,
  verifyBackups,
} from '../../src/backup/index.ts';
import { judge, onLife, openAt } from './life.ts';

describe('against a model', () => {
  test.each([2, 4, 5])(
    'any moment of a chain, seed %i',
    async (seed) => {
      await onLife(seed, async (life, env) => {
        const { connection, chance } = life;
        for (let i = 0; i < chance.int(6); i++) await life.step();
        const { toTso: from } = await connection.backups.create('/backups');
        for (let round = 0; round < 3; round++) {
          for (let i = 0; i < 8; i++) await life.step();
          await connection.backups.create('/backups', { incremental: true });
        }
        const set = await listBackups(env, '/backups');
        for (const backup of set.backups) {
          const wanted = [...life.at(backup.toTso)].filter(([, one]) => one.state === 'PREPARED');
          const labels = summaryOf(backup).prepared!.map(({ label }) => label);
          expect(labels.sort()).toEqual(wanted.map(([label]) => label).sort());
        }
        expect((await verifyBackups(env, '/backups', null)).faults).toEqual([]);
        if (seed % 2 === 0) {
          await mergeBackups(
            env,
            '/backups',
            set.backups.slice(seed % 4 === 0 ? 0 : 1).map(({ id }) => id),
          );
          expect((await verifyBackups(env, '/backups', null)).faults).toEqual([]);
        }
        const covered = life.moments.filter(({ tso }) => tso >= from);
        for (let i = 0; i < 6; i++) {
          const { tso } = covered[chance.int(covered.length - 1)]!;
          const report = await restoreBackup(env, '/backups', `/restored${i}`, { asOf: tso });
          const known = life.at(tso);
          expect(report.prepared).toBe(
            [...known.values()].filter(({ state }) => state === 'PREPARED').length,
          );
          const restored = await openAt(env, `/restored${i}`);
          await judge(restored, known);
          // And once more after everything that rewrites files.
          await restored.admin.flush('a');
          await restored.admin.compact('a', { major: true });
          await restored.close();
        }
      });
    },
    60_000,
  );
});
