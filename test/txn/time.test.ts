/** Time-outs, deadlines over restarts, clocks that are set, labels that are forgotten. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/embedded/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import type { StoreConnection } from '../../src/embedded/index.ts';
import { SnapshotNotVisible } from '../../src/model/index.ts';
import { codeOf, onStore, openOn } from './support.ts';

const HOUR = 3_600_000;

async function prepare(
  connection: StoreConnection,
  label: string,
  preparedTimeoutMs: number,
): Promise<void> {
  const txn = connection.transaction({ label, preparedTimeoutMs });
  await txn.begin();
  await txn.load([{ put: 'r', values: { 'f:q': label } }], { table: 't' });
  await txn.prepare();
}

describe('time-outs', () => {
  test('open, idle and prepared transactions end with their reasons; half-time is warned of', async () => {
    const warnings: string[] = [];
    const logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: (_: unknown, text?: string) => void warnings.push(text ?? ''),
      error: () => undefined,
    };
    await onStore(
      1,
      async (connection, env) => {
        const { transactions } = connection;
        await transactions.begin({ label: 'open', timeoutMs: 5_000 });
        await transactions.begin({ label: 'idle', idleTimeoutMs: 2_000 });
        await prepare(connection, 'prepared', 20_000);
        await env.timers.sleep(1_900);
        await transactions.load({ label: 'idle' }, 0, [{ put: 'x', values: { 'f:q': '' } }], {
          table: 't',
        });
        await env.timers.sleep(1_500);
        expect((await transactions.list({ state: 'OPEN' })).map(({ label }) => label)).toEqual([
          'open',
          'idle',
        ]);
        await env.timers.sleep(2_500);
        const reasonOf = async (label: string): Promise<string | null> =>
          (await transactions.status({ label })).reason;
        expect([await reasonOf('open'), await reasonOf('idle')]).toEqual([
          'TIMEOUT',
          'IDLE_TIMEOUT',
        ]);
        await env.timers.sleep(6_000);
        expect(warnings.filter((text) => text.includes('half of its time'))).toHaveLength(1);
        expect((await transactions.status({ label: 'prepared' })).state).toBe('PREPARED');
        await env.timers.sleep(10_000);
        expect(await reasonOf('prepared')).toBe('PREPARED_TIMEOUT');
        expect(await codeOf(transactions.commit({ label: 'prepared' }))).toBe('TXN_ABORTED');
      },
      { logger },
    );
  });

  test('time in which the server was down does not count; nor does a clock that was set forward', async () => {
    const env = simEnv({ seed: 2 });
    const live = async (
      machine: SimEnv,
      work: (connection: StoreConnection) => Promise<void>,
    ): Promise<void> =>
      machine.drive(
        (async (): Promise<void> => {
          const connection = await openOn(machine);
          await work(connection);
        })(),
        100_000_000,
      );
    await live(env, async (connection) => {
      await connection.admin.createTable({ name: 't', families: ['f'] });
      await prepare(connection, 'p', HOUR);
      await env.timers.sleep(HOUR / 2);
      await connection.table('t').put('later', { 'f:q': '' });
    });
    const next = env.kill();
    next.clock.step(3 * HOUR);
    await live(next, async (connection) => {
      await next.timers.sleep(HOUR / 4);
      expect((await connection.transactions.status({ label: 'p' })).state).toBe('PREPARED');
      // Set forward while it runs: time-outs rest until the clock is right again.
      next.clock.step(2 * HOUR);
      await next.timers.sleep(2_000);
      expect((await connection.transactions.status({ label: 'p' })).state).toBe('PREPARED');
      next.clock.step(-2 * HOUR);
      await next.timers.sleep(HOUR / 2);
      expect((await connection.transactions.status({ label: 'p' })).reason).toBe(
        'PREPARED_TIMEOUT',
      );
      await connection.close();
    });
  });

  test('labels are forgotten after their time; a 404 says since when records are kept', async () => {
    await onStore(
      3,
      async (connection, env) => {
        const { transactions } = connection;
        await prepare(connection, 'old', HOUR);
        const { txnId } = await transactions.commit({ label: 'old' });
        await env.timers.sleep(200_000);
        expect(await codeOf(transactions.status({ label: 'old' }))).toBe('TXN_NOT_FOUND');
        const error: unknown = await transactions
          .commit({ txnId })
          .catch((caught: unknown) => caught);
        expect(error).toMatchObject({ code: 'TXN_NOT_FOUND', facts: { recordsSince: txnId + 1n } });
        expect(transactions.metrics.labelsForgotten).toBe(1);
        // The label may be used again.
        await prepare(connection, 'old', HOUR);
      },
      { transactions: { label_keep_max_second: 10 } },
    );
  });
});

describe('clocks', () => {
  test('set back by less than the threshold, TSOs go on; by more, writing waits for the clock', async () => {
    const env = simEnv({ seed: 4 });
    const reopened = async (
      machine: SimEnv,
      work: (connection: StoreConnection) => Promise<void>,
    ): Promise<SimEnv> => {
      await machine.drive(
        (async (): Promise<void> => {
          const connection = await open('/data', { env: machine, blockingSync: false });
          await work(connection);
        })(),
        100_000_000,
      );
      return machine.kill();
    };
    let last = 0n;
    const write = async (connection: StoreConnection): Promise<void> => {
      const tso = await connection.table('t').put('r', { 'f:q': '' });
      expect(tso).toBeGreaterThan(last);
      last = tso;
    };
    let machine = await reopened(env, async (connection) => {
      await connection.admin.createTable({ name: 't', families: ['f'] });
      await write(connection);
    });
    for (const step of [-600_000, 600_000, 3_600_000, -1_700_000]) {
      machine.clock.step(step);
      machine = await reopened(machine, write);
    }
    machine.clock.step(-2 * 1_800_000);
    await reopened(machine, async (connection) => {
      await expect(write(connection)).rejects.toMatchObject({ code: 'TsoNotCalibrated' });
      expect(await connection.table('t').exists('r')).toBe(true);
      const begun = connection.transactions.begin({ label: 'x' });
      await expect(begun).rejects.toMatchObject({ code: 'TsoNotCalibrated', retryable: true });
      machine.clock.step(2 * 1_800_000);
      await machine.timers.sleep(1_000);
      await write(connection);
      await connection.close();
    });
  });

  test('a read as of a TSO whose commit is not yet on the disk waits, but not for ever', async () => {
    await onStore(5, async (connection, env) => {
      const t = connection.table('t');
      await t.put('r', { 'f:q': 'old' });
      const before = connection.status().readPoint;
      const put = t.put('r', { 'f:q': 'new' }, { durability: 'FSYNC_WAL' });
      const cursor = (): bigint => connection.server.oracle.cursor();
      for (let i = 0; i < 1000 && cursor() <= before; i++) await Promise.resolve();
      const asOf = cursor();
      expect(connection.status().readPoint).toBeLessThan(asOf);
      expect(() => t.getSync('r', { asOf })).toThrow(SnapshotNotVisible);
      await connection.setKnob('change_visible_timeout_ms', 0);
      await expect(t.get('r', { asOf })).rejects.toMatchObject({
        code: 'SnapshotNotVisible',
        retryable: true,
      });
      await connection.setKnob('change_visible_timeout_ms', 10_000);
      expect((await t.get('r', { asOf }))?.text('f:q')).toBe('new');
      expect(await put).toBe(asOf);
      await env.timers.sleep(1);
      await expect(t.get('r', { asOf: asOf + (1n << 40n) })).rejects.toMatchObject({
        code: 'SnapshotInFuture',
      });
    });
  });
});
