/** Large transactions: staged as files, made visible in one step, through flushes, splits, compactions and crashes. */
import { describe, expect, test } from 'vitest';
import type { StoreConnection } from '../../src/embedded/index.ts';
import { changesOf } from '../../src/backup/feed/index.ts';
import type { LoadOperation } from '../../src/model/index.ts';
import { codeOf, contentOf, onStore, openOn } from './support.ts';

const SMALL_SPILL = { transactions: { txn_spill_bytes: 200 } };
const rowOf = (n: number): string => `${'amz'[n % 3]}${String(n).padStart(4, '0')}`;

async function loadMany(
  connection: StoreConnection,
  label: string,
  rows: number,
): Promise<string[]> {
  const txn = connection.transaction({ label });
  await txn.begin();
  const wanted: string[] = [];
  for (let n = 0; n < rows; n += 50) {
    const operations: LoadOperation[] = [];
    for (let i = n; i < n + 50; i++) {
      operations.push({ put: rowOf(i), values: { 'f:q': `${label}-${i}`, 'g:r': 'x'.repeat(50) } });
      wanted.push(`${rowOf(i)} f:q=${label}-${i}`, `${rowOf(i)} g:r=${'x'.repeat(50)}`);
    }
    await txn.load(operations, { table: 't' });
  }
  await txn.prepare();
  return wanted.sort();
}

describe('staged transactions', () => {
  test('runs, files cut at the regions’ borders, one TSO, and the same after every rewrite', async () => {
    await onStore(
      1,
      async (connection) => {
        const table = connection.table('t');
        await table.put('a0000', { 'f:q': 'old', 'f:z': 'kept' });
        const wanted = await loadMany(connection, 'big', 300);
        expect(await contentOf(connection)).toEqual(['a0000 f:q=old', 'a0000 f:z=kept']);
        const status = await connection.transactions.status({ label: 'big' });
        expect([status.rows, status.cells]).toEqual([300, 600]);
        const { tso } = await connection.transactions.commit({ label: 'big' });
        const now = ['a0000 f:z=kept', ...wanted].sort();
        expect((await contentOf(connection)).sort()).toEqual(now);
        expect(await contentOf(connection, 't', tso! - 1n)).toHaveLength(2);
        const stamped = await table.get('m0001');
        expect(stamped!.cells.map(({ ts }) => ts)).toEqual([tso! >> 18n, tso! >> 18n]);
        await table.put('a0003', { 'f:q': 'newer' });
        await connection.admin.split('t', 'm0100');
        await connection.admin.flush('t');
        await connection.admin.compact('t', { major: true });
        const later = now.map((line) => (line.startsWith('a0003 f:q') ? 'a0003 f:q=newer' : line));
        expect((await contentOf(connection)).sort()).toEqual(later);
        expect((await contentOf(connection, 't', tso!)).sort()).toEqual(now);
      },
      SMALL_SPILL,
    );
  });

  test('deletes and puts are folded over all runs', async () => {
    await onStore(
      2,
      async (connection) => {
        for (const row of ['b1', 'b2', 'n1']) {
          await connection.table('t').put(row, { 'f:a': 'old', 'f:b': 'old', 'g:c': 'old' });
        }
        const filler = (seq: number): LoadOperation[] =>
          Array.from({ length: 60 }, (_, i) => ({
            put: `k${seq}-${i}`,
            values: { 'f:x': 'y'.repeat(100) },
          }));
        const txn = connection.transaction({ label: 'fold' });
        await txn.begin();
        await txn.load([...filler(0), { delete: 'b1' }, { put: 'b2', values: { 'f:a': 'lost' } }], {
          table: 't',
        });
        await txn.load(
          [
            ...filler(1),
            { put: 'b1', values: { 'f:a': 'new' } },
            { delete: 'b2', spec: { columns: ['f:a'] } },
          ],
          { table: 't' },
        );
        await txn.prepare();
        await txn.commit();
        await connection.admin.flush('t');
        await connection.admin.compact('t', { major: true });
        const rest = (await contentOf(connection)).filter((line) => !line.startsWith('k'));
        expect(rest).toEqual([
          'b1 f:a=new',
          'b2 f:b=old',
          'b2 g:c=old',
          'n1 f:a=old',
          'n1 f:b=old',
          'n1 g:c=old',
        ]);
        // A put right after it is not hidden by its markers.
        const last = connection.transaction({ label: 'erase' });
        await last.begin();
        await last.load([...filler(2), { delete: 'n1' }], { table: 't' });
        await last.prepare();
        await last.commit();
        await connection.table('t').put('n1', { 'f:a': 'again' });
        expect((await connection.table('t').get('n1'))?.text('f:a')).toBe('again');
      },
      SMALL_SPILL,
    );
  });

  test('prepared files outlive the server, a split before the commit, and show in the feed', async () => {
    await onStore(
      3,
      async (connection, env) => {
        const wanted = await loadMany(connection, 'p', 150);
        await loadMany(connection, 'gone', 100);
        await connection.transactions.rollback({ label: 'gone' });
        const next = env.crash({ keepUnsynced: 0 });
        await next.drive(
          (async (): Promise<void> => {
            const again = await openOn(next, SMALL_SPILL);
            await again.admin.split('t', 'm0040');
            await again.admin.flush('t');
            await again.admin.compact('t', { major: true });
            expect(await contentOf(again)).toEqual([]);
            const dropping = again.admin.truncateTable('t');
            await expect(dropping).rejects.toThrow(/p/);
            const { tso } = await again.transactions.commit({ label: 'p' });
            expect((await contentOf(again)).sort()).toEqual(wanted);
            const seen: string[] = [];
            for await (const change of changesOf(again.server, { from: tso! })) {
              if (change.kind !== 'commit' || change.tso !== tso) continue;
              for (const { row, family, qualifier, value } of change.cells) {
                const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
                seen.push(`${text(row)} ${family}:${text(qualifier)}=${text(value)}`);
              }
            }
            expect(seen.sort()).toEqual(wanted);
            const third = next.kill();
            await third.drive(
              (async (): Promise<void> => {
                const last = await openOn(third, SMALL_SPILL);
                expect((await contentOf(last)).sort()).toEqual(wanted);
                expect(await codeOf(last.transactions.commit({ label: 'gone' }))).toBe(
                  'TXN_ABORTED',
                );
                await last.close();
              })(),
              10_000_000,
            );
            await again.close();
          })(),
          10_000_000,
        );
      },
      SMALL_SPILL,
    );
  });
});
