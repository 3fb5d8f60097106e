/** Transactions over the rows of one region. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import { TransactionConflictException, WrongRegionException } from '../../src/model/index.ts';
import type { GroupTransaction, Table } from '../../src/model/index.ts';

const run = (
  seed: number,
  work: (connection: EmbeddedConnection, table: Table, pause: () => Promise<void>) => Promise<void>,
): Promise<void> => {
  const env = simEnv({ seed });
  return env.drive(
    (async (): Promise<void> => {
      const connection = await open('/data', { env, blockingSync: false });
      await connection.admin.createTable({ name: 't', families: ['f'], SPLITS: ['m'] });
      await work(connection, connection.table('t'), () => env.timers.sleep(1));
      await connection.close();
    })(),
    10_000_000,
  );
};

const move = async (tx: GroupTransaction, from: string, to: string, by: bigint): Promise<void> => {
  const read = async (row: string): Promise<bigint> =>
    (await tx.get(row, { columns: ['f:n'] }))?.int64('f:n') ?? 0n;
  const [left, right] = [await read(from), await read(to)];
  tx.put(from, { 'f:n': left - by });
  tx.put(to, { 'f:n': right + by });
};

describe('transact', () => {
  test('reads its own writes, commits all at once, and nothing if its work throws', async () => {
    await run(1, async (connection, table) => {
      await table.put('a1', { 'f:q': 'old', 'f:r': 'kept' });
      const { tso, value, attempts } = await table.transact('a', async (tx) => {
        expect((await tx.get('a1'))?.text('f:q')).toBe('old');
        tx.put('a1', { 'f:q': 'new' });
        tx.put('a2', { 'f:q': 'x' });
        tx.delete('a1', { columns: ['f:r'] });
        expect((await tx.get('a1'))?.text('f:q')).toBe('new');
        expect((await tx.get('a1'))?.text('f:r')).toBeNull();
        expect(await tx.increment('a2', { 'f:n': 5 })).toEqual({ 'f:n': 5n });
        expect(await tx.increment('a2', { 'f:n': -2n })).toEqual({ 'f:n': 3n });
        const rows = await tx.scan({ prefix: 'a' });
        expect(rows.map(({ rowText }) => rowText)).toEqual(['a1', 'a2']);
        // Nobody else sees any of it.
        expect((await table.get('a1'))?.text('f:q')).toBe('old');
        expect(await table.exists('a2')).toBe(false);
        return 'answer';
      });
      expect([value, attempts]).toEqual(['answer', 1]);
      const [a1, a2] = await table.getMany(['a1', 'a2']);
      expect([a1?.text('f:q'), a1?.text('f:r')]).toEqual(['new', null]);
      expect([a2?.text('f:q'), a2?.int64('f:n')]).toEqual(['x', 3n]);
      expect((await table.get('a1', { asOf: tso! - 1n }))?.text('f:q')).toBe('old');
      expect((await table.get('a2', { asOf: tso! }))?.text('f:q')).toBe('x');
      const failing = table.transact('a', async (tx) => {
        tx.put('a1', { 'f:q': 'never' });
        throw new RangeError('no');
      });
      await expect(failing).rejects.toThrow(RangeError);
      expect((await table.get('a1'))?.text('f:q')).toBe('new');
      expect(connection.status().counters['transact_conflicts']).toBe(0);
    });
  });

  test('is of one region: named by a prefix, a row or the region; other rows are refused by name', async () => {
    await run(2, async (connection, table) => {
      let works = 0;
      const crossing = table.transact('a', async (tx) => {
        works++;
        tx.put('b', { 'f:q': '1' });
        tx.put('zoo', { 'f:q': '1' });
      });
      await expect(crossing).rejects.toThrow(WrongRegionException);
      await expect(crossing).rejects.toThrow(/row='zoo'/);
      expect(works).toBe(1);
      expect(await table.count()).toBe(0);
      const [, right] = await connection.regions('t');
      await table.transact({ region: right!.encodedName }, async (tx) => {
        tx.put('zoo', { 'f:q': '1' });
        expect(await tx.check('zoo', { column: 'f:q', value: '1' })).toBe(true);
        expect(await tx.check('n', { column: 'f:q', value: null })).toBe(true);
      });
      expect(await table.count()).toBe(1);
    });
  });

  test('starts over when what it read was written meanwhile: rows, absent rows and ranges', async () => {
    await run(3, async (connection, table) => {
      await table.put('a1', { 'f:q': '0' });
      const meddlers: [(tx: GroupTransaction) => Promise<unknown>, () => Promise<unknown>][] = [
        [(tx) => tx.get('a1'), () => table.put('a1', { 'f:q': '1' })],
        [(tx) => tx.exists('a2'), () => table.put('a2', { 'f:q': '1' })],
        [(tx) => tx.scan({ prefix: 'a' }), () => table.put('a15', { 'f:q': '1' })],
        [(tx) => tx.get('a1'), () => table.delete('a1')],
        [
          (tx) => tx.get('a15'),
          async () => {
            await table.put('a15', { 'f:q': '2' });
            await connection.admin.flush('t');
          },
        ],
        [(tx) => tx.get('a2'), () => connection.admin.split('t', 'a2')],
      ];
      for (const [read, meddle] of meddlers) {
        let works = 0;
        const { attempts } = await table.transact('a1', async (tx) => {
          await read(tx).catch((error: unknown) => {
            // After the split the row is another region's.
            if (works !== 1 || !(error instanceof WrongRegionException)) throw error;
          });
          if (works++ === 0) await meddle();
          tx.put('a1', { 'f:done': String(works) });
        });
        expect([attempts, works]).toEqual([2, 2]);
      }
      // What was not read may change.
      const { attempts } = await table.transact('a1', async (tx) => {
        await tx.get('a1');
        await table.put('a0', { 'f:q': '1' });
        tx.put('a1', { 'f:q': 'end' });
      });
      expect(attempts).toBe(1);
      const hopeless = table.transact(
        'a1',
        async (tx) => {
          await table.increment('a1', { 'f:n': 1 });
          await tx.get('a1');
          await table.increment('a1', { 'f:n': 1 });
          tx.put('a1', { 'f:q': 'x' });
        },
        { attemptsMax: 3 },
      );
      await expect(hopeless).rejects.toThrow(TransactionConflictException);
    });
  });

  test('money is neither made nor lost, while regions are split and merged', async () => {
    await run(4, async (connection, table, pause) => {
      const random = seeded(5);
      const groups = ['a', 'c', 'k', 'r'];
      const accounts = (group: string): string[] => [0, 1, 2, 3].map((i) => `${group}|${i}`);
      for (const group of groups) {
        for (const account of accounts(group)) await table.put(account, { 'f:n': 100n });
      }
      let isOver = false;
      let changes = 0;
      const teller = async (): Promise<void> => {
        for (let i = 0; i < 25 || changes < 8; i++) {
          const group = groups[random.int(groups.length)]!;
          const [from, to] = [random.int(4), random.int(4)].map((n) => accounts(group)[n]!);
          if (from === to) continue;
          await table.transact(`${group}|`, (tx) => move(tx, from!, to!, BigInt(random.int(30))));
        }
      };
      const auditor = async (): Promise<void> => {
        while (!isOver) {
          await pause();
          const sums = new Map<string, bigint>();
          for await (const result of table.scan()) {
            const group = result.rowText[0]!;
            sums.set(group, (sums.get(group) ?? 0n) + result.int64('f:n')!);
          }
          expect([...sums]).toEqual(groups.map((group) => [group, 400n]));
        }
      };
      const borders = ['c', 'k', 'r', 'b'];
      const surveyor = async (): Promise<void> => {
        while (!isOver) {
          await pause();
          const regions = await connection.regions('t');
          if (regions.length > 3 || (regions.length > 1 && random.chance(0.4))) {
            const at = random.int(regions.length - 1);
            const [one, other] = [regions[at]!, regions[at + 1]!];
            await connection.admin.mergeRegions('t', one.encodedName, other.encodedName);
            changes++;
          } else {
            const border = borders[random.int(borders.length)]!;
            const known = regions.map(({ startKey }) => Buffer.from(startKey).toString());
            if (known.includes(border)) continue;
            await connection.admin.split('t', border);
            changes++;
          }
        }
      };
      const others = [auditor(), surveyor()];
      await Promise.all([teller(), teller(), teller(), teller()]);
      isOver = true;
      await Promise.all(others);
      expect(connection.status().counters['splits']).toBeGreaterThan(1);
      expect(connection.status().counters['merges']).toBeGreaterThan(1);
    });
  });
});
