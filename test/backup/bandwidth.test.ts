/** The limit of bytes a second, on a machine whose clock is simulated: how many bytes went by when. */
import { expect, test } from 'vitest';
import {
  createBackup,
  exportTables,
  restoreBackup,
  verifyBackups,
} from '../../src/backup/index.ts';
import type { WorkOptions } from '../../src/backup/index.ts';
import { loadCrc32 } from '../../src/backup/fast_crc.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';

const RATE = 100_000;
const ROWS = 2000;
/** What one step may be ahead: files are read in pieces of a quarter of a megabyte, cells are written in those of one, and the last of them. */
const PIECE = 1.25 * 1024 * 1024;

async function filled(env: SimEnv): Promise<EmbeddedConnection> {
  const store = await open('/data', { env, blockingSync: false, logSegmentBytes: 1 << 18 });
  const chance = seeded(5);
  await store.admin.createTable({ name: 't', families: ['f'] });
  const rows = Array.from({ length: ROWS }, (_, i) => ({
    put: `r${String(i).padStart(4, '0')}`,
    values: { 'f:q': chance.bytes(2000) },
  }));
  await store.table('t').batch(rows);
  return store;
}

/** Runs limited work; at no moment did more bytes go by than the time allows, but for one piece. Answers bytes and seconds. */
async function paced(
  env: SimEnv,
  work: (options: WorkOptions) => Promise<unknown>,
): Promise<{ readonly bytes: number; readonly seconds: number }> {
  const began = env.clock.monotonicMs();
  let bytes = 0;
  await work({
    bytesPerSecondMax: RATE,
    onProgress: (figures) => {
      bytes = figures.bytes;
      const seconds = (env.clock.monotonicMs() - began) / 1000;
      expect(bytes).toBeLessThanOrEqual(RATE * seconds + PIECE);
    },
  });
  return { bytes, seconds: (env.clock.monotonicMs() - began) / 1000 };
}

test('full and incremental backups, verification, restore and export keep to it, and use it', async () => {
  await loadCrc32(); // Loading code takes no simulated time.
  const env = simEnv({ seed: 3 });
  await env.drive(
    (async (): Promise<void> => {
      const store = await filled(env);
      const works: [string, (options: WorkOptions) => Promise<unknown>][] = [
        ['full', (options) => createBackup(store.server, '/backups', options)],
        [
          'incremental',
          async (options) => {
            await store.table('t').batch(
              Array.from({ length: ROWS }, (_, i) => ({
                put: `s${i}`,
                values: { 'f:q': Buffer.alloc(2000, i) },
              })),
            );
            return createBackup(store.server, '/backups', { ...options, incremental: true });
          },
        ],
        ['verify', (options) => verifyBackups(env, '/backups', null, { ...options, quick: true })],
        ['restore', (options) => restoreBackup(env, '/backups', '/restored', options)],
        ['export', (options) => exportTables(store, env, ['t'], '/out', options)],
      ];
      for (const [what, work] of works) {
        const { bytes, seconds } = await paced(env, work);
        expect(bytes, what).toBeGreaterThan(ROWS * 2000);
        expect(seconds, what).toBeGreaterThan((bytes - PIECE) / RATE);
        // Hardly slower than asked for: the simulated machine takes no time else worth telling.
        expect(seconds, what).toBeLessThan((1.2 * bytes) / RATE + 1);
      }
      await store.close();
    })(),
    10_000_000,
  );
});
