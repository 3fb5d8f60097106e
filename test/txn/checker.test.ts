/**
 * Histories of transactions replay in the order of their TSOs (history.ts), and a store that breaks a promise is found out.
 * CELLAR_CHECK_OPS makes them longer; `npm run txn:check -- --ops 1000000` is quicker for many.
 */
import { describe, expect, test } from 'vitest';
import type { StoreConnection } from '../../src/embedded/index.ts';
import type { Transaction, TransactionOptions } from '../../src/model/index.ts';
import { checkHistory } from './history.ts';
import type { CheckedStore } from './history.ts';

const OPERATIONS = Number(process.env['CELLAR_CHECK_OPS'] ?? 600);

test.each([1, 2])(
  'commits replay in the order of their TSOs (seed %i)',
  async (seed) => {
    const history = await checkHistory({
      seed,
      operations: OPERATIONS,
      spillBytes: seed === 2 ? 60 : 262_144,
    });
    expect(history.commits.length).toBeGreaterThan(OPERATIONS * 0.6);
    expect(history.asOfReads.length).toBeGreaterThan(OPERATIONS * 0.1);
  },
  600_000,
);

/** A connection of which some members are others. */
function withOther(connection: StoreConnection, other: Partial<CheckedStore>): CheckedStore {
  return {
    table: (name) => connection.table(name),
    transact: (work, options) => connection.transact(work, options),
    transaction: (options) => connection.transaction(options),
    status: () => connection.status(),
    admin: connection.admin,
    ...other,
  };
}

/** The third load comes a moment after the commit of the others. */
function inTwoSteps(connection: StoreConnection, options: TransactionOptions): Transaction {
  const txn = connection.transaction(options);
  const late: (() => Promise<unknown>)[] = [];
  let loads = 0;
  return {
    label: txn.label,
    get txnId() {
      return txn.txnId;
    },
    begin: () => txn.begin(),
    load: (operations, to) => {
      if (++loads < 3) return txn.load(operations, to);
      const last = connection.transaction({ label: `${options.label}-late` });
      late.push(async () => {
        await last.begin();
        await last.load(operations, to);
        await last.commit({ onePhase: true });
      });
      return Promise.resolve({ seq: 2, rows: 1, cells: 1, bytes: 1, duplicate: false });
    },
    prepare: (how) => txn.prepare(how),
    commit: async (how) => {
      const answer = await txn.commit(how);
      for (const step of late) await step();
      return answer;
    },
    rollback: (how) => txn.rollback(how),
    status: () => txn.status(),
  };
}

const DOUBLES: Readonly<Record<string, (connection: StoreConnection) => CheckedStore>> = {
  'what transactions read is not validated': (connection) =>
    withOther(connection, {
      transact: (work) => connection.transact(work, { isolation: 'snapshot' }),
    }),
  'the reads of an attempt that failed are answered': (connection) =>
    withOther(connection, {
      transact: async (work, options) => {
        const attempts: Awaited<ReturnType<typeof work>>[] = [];
        const done = await connection.transact(async (tx) => {
          attempts.push(await work(tx));
          return attempts[0]!;
        }, options);
        return done;
      },
    }),
  'a commit becomes visible in two steps': (connection) =>
    withOther(connection, { transaction: (options) => inTwoSteps(connection, options) }),
  'a read as of a moment misses the commit of that moment': (connection) => {
    const madeAt = connection.status().readPoint;
    return withOther(connection, {
      table: (name) => {
        const table = connection.table(name);
        return {
          put: (row, values, options) => table.put(row, values, options),
          delete: (row, spec) => table.delete(row, spec),
          get: (row, options) => {
            const asked = options?.asOf as bigint;
            // The tables were made at the point where the double took over.
            return table.get(row, { ...options, asOf: asked > madeAt ? asked - 1n : asked });
          },
        };
      },
    });
  },
  'a commit answers a TSO that is not its own': (connection) =>
    withOther(connection, {
      table: (name) => {
        const table = connection.table(name);
        return {
          put: async (row, values, options) =>
            (await table.put(row, values, options)) - (1n << 18n),
          delete: (row, spec) => table.delete(row, spec),
          get: (row, options) => table.get(row, options),
        };
      },
    }),
};

describe('a store that breaks a promise is found out', () => {
  test.each(Object.keys(DOUBLES))('%s', async (name) => {
    const check = checkHistory({
      seed: 1,
      operations: 300,
      spillBytes: 262_144,
      double: DOUBLES[name]!,
    });
    await expect(check).rejects.toThrow(/the model has|twice|ended after/);
  });
});
