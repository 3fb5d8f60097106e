/** Flush and compaction, seen from the API: the same answers before and after, also as of moments before. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type { Result } from '../../src/model/index.ts';

const env = simEnv({ seed: 7 });
const start = (): Promise<EmbeddedConnection> => open('/data', { env, blockingSync: false });

const cellsOf = (results: readonly Result[]): string[] =>
  results.flatMap((result) =>
    result.cells.map(
      (cell) =>
        `${result.rowText} ${cell.family}:${Buffer.from(cell.qualifier).toString()}@${cell.ts}=${Buffer.from(cell.value).toString()}`,
    ),
  );

async function everything(connection: EmbeddedConnection, asOf?: bigint): Promise<string[]> {
  const options = { versions: 10, ...(asOf === undefined ? {} : { asOf }) };
  return cellsOf(await connection.table('t').scan(options).nextBatch(10_000));
}

describe('flush and compaction', () => {
  test('answers stay, the past stays readable, files come and go', async () => {
    await env.drive(
      (async (): Promise<void> => {
        let connection = await start();
        await connection.admin.createTable({
          name: 't',
          families: [
            { name: 'f', VERSIONS: 2 },
            { name: 'g', DATA_BLOCK_ENCODING: 'FAST_DIFF' },
          ],
        });
        const table = connection.table('t');
        const moments: { tso: bigint; seen: string[] }[] = [];
        for (let round = 0; round < 6; round++) {
          for (let i = 0; i < 30; i++) {
            await table.put(`row${i % 10}`, { 'f:a': `${round}.${i}`, [`g:q${i % 3}`]: 'x' });
          }
          await table.delete('row3', { columns: ['f:a'] });
          await table.delete('row4', { families: ['g'] });
          const tso = await table.put('row5', { 'f:a': 'last' });
          moments.push({ tso, seen: await everything(connection) });
          await connection.admin.flush('t');
          expect(await everything(connection)).toEqual(moments.at(-1)!.seen);
          if (round % 3 === 2) {
            await connection.admin.compact('t', { major: round === 5 });
            expect(await everything(connection)).toEqual(moments.at(-1)!.seen);
          }
          for (const moment of moments) {
            expect(await everything(connection, moment.tso)).toEqual(moment.seen);
          }
        }
        const files = await connection.files('t');
        expect(files.filter((file) => file.kind === 'store')).toHaveLength(2);
        expect(files.some((file) => file.kind === 'history' && file.dropTso !== null)).toBe(true);
        await connection.close();
        connection = await start();
        expect(connection.recovery.cells).toBe(0);
        for (const moment of moments) {
          expect(await everything(connection, moment.tso)).toEqual(moment.seen);
        }
        expect(await connection.table('t').count()).toBe(10);
        expect((await connection.table('t').get('row5'))?.text('f:a')).toBe('last');
        expect(await connection.table('t').get('nothing')).toBeNull();
        await connection.close();
      })(),
    );
  });
});
