/** The verbs of two-phase transactions on one server. */
import { describe, expect, test } from 'vitest';
import { openOn, codeOf, contentOf, onStore } from './support.ts';

describe('two-phase transactions', () => {
  test('begin, load, prepare, commit: invisible before, whole after, one TSO', async () => {
    await onStore(1, async (connection) => {
      await connection.table('t').put('a', { 'f:q': 'old' });
      const txn = connection.transaction({ label: 'job-1' });
      const begun = await txn.begin();
      expect(begun.state).toBe('OPEN');
      await txn.load(
        [
          { put: 'a', values: { 'f:q': 'new' } },
          { put: 'z', values: { 'g:q': 'x' } },
        ],
        { table: 't' },
      );
      expect(await contentOf(connection)).toEqual(['a f:q=old']);
      const prepared = await txn.prepare();
      expect([prepared.state, prepared.rows, prepared.cells]).toEqual(['PREPARED', 2, 2]);
      expect(prepared.digest).toMatch(/^crc32c:[0-9a-f]{8}$/);
      const pending = connection.status().transactions;
      expect(pending).toMatchObject({ open: 0, prepared: 1 });
      expect(pending?.oldestPreparedMs).toBeGreaterThanOrEqual(0);
      expect(await contentOf(connection)).toEqual(['a f:q=old']);
      const committed = await txn.commit();
      expect(committed.state).toBe('COMMITTED');
      expect(await contentOf(connection)).toEqual(['a f:q=new', 'z g:q=x']);
      expect(await contentOf(connection, 't', committed.tso! - 1n)).toEqual(['a f:q=old']);
      const again = await txn.commit();
      expect([again.already, again.tso]).toEqual([true, committed.tso]);
      expect(await codeOf(txn.rollback())).toBe('TXN_COMMITTED');
      expect(await connection.admin.listTables()).toEqual(['t']);
    });
  });

  test('what is prepared outlives the server; open ones do not', async () => {
    await onStore(2, async (connection, env) => {
      const prepared = connection.transaction({ label: 'p' });
      await prepared.begin();
      await prepared.load([{ put: 'a', values: { 'f:q': '1' } }], { table: 't' });
      await prepared.prepare();
      const opened = connection.transaction({ label: 'o' });
      await opened.begin();
      await opened.load([{ put: 'b', values: { 'f:q': '1' } }], { table: 't' });
      const next = env.kill();
      await next.drive(
        (async (): Promise<void> => {
          const again = await openOn(next);
          expect((await again.transactions.list()).map(({ label }) => label)).toEqual(['p']);
          expect(await codeOf(again.transactions.status({ label: 'o' }))).toBe('TXN_NOT_FOUND');
          expect(await contentOf(again)).toEqual([]);
          const { tso } = await again.transactions.commit({ label: 'p' });
          expect(await contentOf(again)).toEqual(['a f:q=1']);
          await again.close();
          const third = await openOn(next);
          const status = await third.transactions.status({ label: 'p' });
          expect([status.state, status.tso]).toEqual(['COMMITTED', tso]);
          expect((await third.transactions.commit({ label: 'p' })).tso).toBe(tso);
          await third.close();
        })(),
      );
    });
  });

  test('folded by seq and line: a put after a delete survives, a delete after a put hides it', async () => {
    await onStore(3, async (connection) => {
      const table = connection.table('t');
      await table.put('k', { 'f:a': 'old', 'f:b': 'old', 'g:c': 'old' });
      await table.put('n', { 'f:a': 'old' });
      const txn = connection.transaction({ label: 'fold' });
      await txn.begin();
      await txn.load([{ put: 'k', values: { 'f:b': 'late' } }, { delete: 'n' }], {
        table: 't',
        seq: 1,
      });
      await txn.load([{ put: 'n', values: { 'f:a': 'early' } }, { delete: 'k' }], {
        table: 't',
        seq: 0,
      });
      await txn.prepare();
      await txn.commit();
      expect(await contentOf(connection)).toEqual(['k f:b=late']);
    });
  });
});
