/** Writers that wait for memory are let on as flushes make room, however often that takes. */
import { expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';

test.each([{ where: 'memory' }, { where: 'folder' }])(
  'more writes at once than memory holds, $where',
  async ({ where }) => {
    const env = simEnv({ seed: 3 });
    await env.drive(
      (async (): Promise<void> => {
        const options = { env, blockingSync: false, memstoreBytes: 1 << 20 };
        const connection = await open(where === 'memory' ? undefined : '/data', options);
        await connection.admin.createTable({ name: 't', families: ['d'] });
        const table = connection.table('t');
        const puts = Array.from({ length: 1500 }, (_, i) =>
          table.put(`z${i}`, { 'd:x': Buffer.alloc(3000) }),
        );
        const outcomes = await Promise.allSettled(puts);
        expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
        expect(await table.count()).toBe(1500);
        await connection.close();
      })(),
    );
  },
);

/** Forty regions, none of which holds a fair share of the memory: the fullest go to files together. */
test.each([{ failures: 0 }, { failures: 3 }])(
  'many small regions are flushed together; $failures files that cannot be written',
  async ({ failures }) => {
    const env = simEnv({ seed: 5 });
    const options = { env, blockingSync: false, memstoreBytes: 1 << 20, autoCompact: false };
    const rowOf = (i: number): string =>
      String(i * 7919)
        .padStart(8, '0')
        .slice(-4) + String(i);
    const rows = 1000;
    let failing = failures;
    env.fs.failWhen = ({ kind, path }) =>
      kind === 'sync' && path.includes('/data/data/') && failing-- > 0 ? 'io' : null;
    await env.drive(
      (async (): Promise<void> => {
        const connection = await open('/data', options);
        const SPLITS = Array.from({ length: 39 }, (_, i) => String((i + 1) * 250).padStart(4, '0'));
        await connection.admin.createTable({ name: 't', families: ['d', 'e'], SPLITS });
        const table = connection.table('t');
        for (let from = 0; from < rows; from += 100) {
          const puts = Array.from({ length: 100 }, (_, i) =>
            table.put(rowOf(from + i), { 'd:x': Buffer.alloc(800, i), 'e:y': `${from + i}` }),
          );
          await Promise.all(puts);
        }
        const { flusher } = connection.server.background;
        const files = connection.server.catalog
          .get('t')
          .regions.flatMap(({ stores }) => stores.flatMap((store) => store.files));
        // A flush gives an eighth of the memory free: several regions at a time, of two families each.
        expect(files.length).toBeGreaterThan(4 * flusher.flushes);
        expect(flusher.flushes).toBeGreaterThan(0);
        expect(flusher.failures > 0).toBe(failures > 0);
        expect(await table.count()).toBe(rows);
      })(),
    );
    env.fs.failWhen = null;
    const after = env.crash({ keepUnsynced: 0 });
    await after.drive(
      (async (): Promise<void> => {
        const connection = await open('/data', { ...options, env: after });
        const table = connection.table('t');
        for (let i = 0; i < rows; i += 7) {
          const result = await table.get(rowOf(i));
          expect(Buffer.from(result!.value('e:y')!).toString()).toBe(`${i}`);
          expect(Buffer.from(result!.value('d:x')!)).toEqual(Buffer.alloc(800, i % 100));
        }
        expect(await table.count()).toBe(rows);
        await connection.close();
      })(),
    );
  },
);
