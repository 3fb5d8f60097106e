/** Interactive transactions over any rows, regions and tables. */
import { describe, expect, test } from 'vitest';
import { seeded } from '../../src/io/index.ts';
import { TransactionConflictException } from '../../src/model/index.ts';
import type { WorkOptions } from '../../src/model/index.ts';
import type { StoreConnection } from '../../src/embedded/index.ts';
import { contentOf, onStore } from './support.ts';

const numberOf = async (connection: StoreConnection, table: string, row: string): Promise<bigint> =>
  (await connection.table(table).get(row))?.int64('f:n') ?? 0n;

describe('transact over the whole store', () => {
  test('one TSO over tables and regions, or nothing', async () => {
    await onStore(1, async (connection) => {
      await connection.admin.createTable({ name: 'u', families: ['f'] });
      const { tso } = await connection.transact(async (tx) => {
        tx.table('t').put('a', { 'f:q': '1' });
        tx.table('t').put('z', { 'g:q': '2' });
        tx.table('u').put('b', { 'f:q': '3' });
        expect((await tx.table('t').get('z'))?.text('g:q')).toBe('2');
        expect(await tx.table('t').scan()).toHaveLength(2);
      });
      expect(await contentOf(connection, 't', tso!)).toEqual(['a f:q=1', 'z g:q=2']);
      expect(await contentOf(connection, 't', tso! - 1n)).toEqual([]);
      expect(await contentOf(connection, 'u', tso!)).toEqual(['b f:q=3']);
      expect(await contentOf(connection, 'u', tso! - 1n)).toEqual([]);
      const failing = connection.transact(async (tx) => {
        tx.table('u').put('c', { 'f:q': '4' });
        tx.table('absent').put('c', { 'f:q': '4' });
      });
      await expect(failing).rejects.toThrow(/absent/);
      expect(await contentOf(connection, 'u')).toEqual(['b f:q=3']);
    });
  });

  test('appends, and reads with filters, see the transaction’s own writes', async () => {
    await onStore(4, async (connection) => {
      await connection.table('t').put('a', { 'f:q': 'one', 'f:r': '1' });
      await connection.table('t').put('z', { 'f:q': 'two' });
      const { value } = await connection.transact(async (tx) => {
        const table = tx.table('t');
        expect(Buffer.from((await table.append('a', { 'f:q': ', more' }))['f:q']!)).toEqual(
          Buffer.from('one, more'),
        );
        await table.append('n', { 'f:q': 'new' });
        table.put('p', { 'f:q': 'put' });
        const filter = "ValueFilter (=, 'regexstring:^(one|new|put)')";
        const found = (await table.scan({ filter })).map(({ rowText }) => rowText);
        const cut = await table.get('a', { filter: "QualifierFilter (=, 'binary:r')" });
        return [...found, ...cut!.cells.map(({ qualifier }) => Buffer.from(qualifier).toString())];
      });
      expect(value).toEqual(['a', 'n', 'p', 'r']);
      expect(await contentOf(connection)).toEqual([
        'a f:q=one, more',
        'a f:r=1',
        'n f:q=new',
        'p f:q=put',
        'z f:q=two',
      ]);
    });
  });

  test('serializable by default: no write skew; snapshot allows it, and keeps the first committer', async () => {
    await onStore(2, async (connection) => {
      const onCall = async (options: WorkOptions): Promise<bigint[]> => {
        for (const row of ['alice', 'zoe']) await connection.table('t').put(row, { 'f:n': 1n });
        let arrived = 0;
        let release: () => void = () => undefined;
        const both = new Promise<void>((resolve) => (release = resolve));
        const leave = (own: string): Promise<unknown> =>
          connection.transact(async (tx) => {
            const rows = await tx.table('t').scan({ columns: ['f:n'] });
            const sum = rows.reduce((total, row) => total + row.int64('f:n')!, 0n);
            if (++arrived === 2) release();
            await both;
            if (sum > 1n) tx.table('t').put(own, { 'f:n': 0n });
          }, options);
        await Promise.all([leave('alice'), leave('zoe')]);
        return [await numberOf(connection, 't', 'alice'), await numberOf(connection, 't', 'zoe')];
      };
      const serial = await onCall({});
      expect(serial[0]! + serial[1]!).toBe(1n);
      expect(await onCall({ isolation: 'snapshot' })).toEqual([0n, 0n]);
      let works = 0;
      const { attempts } = await connection.transact(
        async (tx) => {
          const before = (await tx.table('t').get('alice'))?.int64('f:n') ?? 0n;
          if (works++ === 0) await connection.table('t').put('alice', { 'f:n': 10n });
          tx.table('t').put('alice', { 'f:n': before + 1n });
        },
        { isolation: 'snapshot' },
      );
      expect([attempts, await numberOf(connection, 't', 'alice')]).toEqual([2, 11n]);
      const hopeless = connection.transact(
        async (tx) => {
          await tx.table('t').get('zoe');
          await connection.table('t').put('zoe', { 'f:n': 5n });
          tx.table('t').put('zoe', { 'f:n': 6n });
        },
        { attemptsMax: 2 },
      );
      await expect(hopeless).rejects.toThrow(TransactionConflictException);
    });
  });

  test('transfers over three tables keep their sum, in every read as of any moment', async () => {
    await onStore(3, async (connection, env) => {
      const random = seeded(7);
      const tables = ['t', 'u', 'v'];
      for (const name of ['u', 'v']) {
        await connection.admin.createTable({ name, families: ['f'] });
      }
      for (const name of tables) {
        for (const row of ['a', 'k', 'z']) await connection.table(name).put(row, { 'f:n': 100n });
      }
      const sumOf = async (asOf: bigint): Promise<bigint> => {
        let sum = 0n;
        for (const name of tables) {
          for await (const row of connection.table(name).scan({ asOf })) sum += row.int64('f:n')!;
        }
        return sum;
      };
      const stamps: bigint[] = [];
      const teller = async (): Promise<void> => {
        for (let i = 0; i < 30; i++) {
          const [from, to] = [0, 1].map(() => ({
            table: tables[random.int(3)]!,
            row: ['a', 'k', 'z'][random.int(3)]!,
          }));
          const { tso } = await connection.transact(async (tx) => {
            await tx.table(from!.table).increment(from!.row, { 'f:n': -1 });
            if (random.chance(0.3)) await env.timers.sleep(1);
            await tx.table(to!.table).increment(to!.row, { 'f:n': 1 });
          });
          stamps.push(tso!);
          if (i === 10) await connection.admin.flush('t');
        }
      };
      await Promise.all([teller(), teller(), teller()]);
      expect(new Set(stamps).size).toBe(90);
      for (const tso of stamps) expect(await sumOf(tso)).toBe(900n);
    });
  });
});
