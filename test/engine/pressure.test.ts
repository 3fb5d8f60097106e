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
