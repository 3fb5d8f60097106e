/**
 * Crash point 28 of transactions.md section 7, beside faults.test.ts: loads that go to the disk, a prepare that merges what they left,
 * and the verbs around. A full disk is told as such, nothing of the verb is half done, and once there is space again it succeeds.
 */
import { describe, expect, test } from 'vitest';
import type { StoreConnection, StoreOptions } from '../../src/embedded/index.ts';
import { DiskFullException, StoreException, simEnv } from '../../src/io/index.ts';
import type { FsOp, SimEnv } from '../../src/io/index.ts';
import type { LoadOperation } from '../../src/model/index.ts';
import { codeOf, contentOf, openOn } from './support.ts';

const NAME = { label: 'job' };
const SPILLED: StoreOptions = { transactions: { txn_spill_bytes: 20 } };

/** A request of more than a transaction keeps in memory with SPILLED. */
const wide = (seq: number): readonly LoadOperation[] =>
  Array.from({ length: 8 }, (_, i) => ({
    put: `${'az'[i % 2]}${seq}-${i}`,
    values: { 'f:q': `${seq} ${i} ${'x'.repeat(100)}`, 'g:q': 'y' },
  }));
const linesOf = (...seqs: readonly number[]): string[] =>
  seqs
    .flatMap((seq) =>
      wide(seq).flatMap((one) => {
        const { put, values } = one as { put: string; values: Record<string, string> };
        return Object.entries(values).map(([column, value]) => `${put} ${column}=${value}`);
      }),
    )
    .sort();

interface Case {
  readonly options: StoreOptions;
  /** What is done before, with space. */
  readonly before: (connection: StoreConnection) => Promise<unknown>;
  readonly verb: (connection: StoreConnection) => Promise<unknown>;
  /** How it is while the verb has failed; null: not looked at. */
  readonly failed: ((connection: StoreConnection) => Promise<void>) | null;
  readonly done: (connection: StoreConnection) => Promise<void>;
}

const load = (connection: StoreConnection, seq: number): Promise<unknown> =>
  connection.transactions.load(NAME, seq, wide(seq), { table: 't' });

const begun = async ({ transactions }: StoreConnection): Promise<void> => {
  await transactions.begin(NAME);
};

async function loaded(connection: StoreConnection): Promise<void> {
  await begun(connection);
  for (const seq of [0, 1, 2]) await load(connection, seq);
}

async function prepared(connection: StoreConnection): Promise<void> {
  await loaded(connection);
  await connection.transactions.prepare(NAME);
}

const stateIs =
  (state: string, rows: number) =>
  async ({ transactions }: StoreConnection): Promise<void> => {
    expect(await transactions.status(NAME)).toMatchObject({ state, rows });
  };

async function committed(connection: StoreConnection): Promise<void> {
  await connection.transactions.prepare(NAME);
  await connection.transactions.commit(NAME);
  expect((await contentOf(connection)).sort()).toEqual(linesOf(0, 1, 2));
}

const CASES: Readonly<Record<string, Case>> = {
  'a load that is spilled': {
    options: SPILLED,
    before: async (connection) => {
      await begun(connection);
      await load(connection, 0);
    },
    verb: (connection) => load(connection, 1),
    failed: stateIs('OPEN', 8),
    done: async (connection) => {
      expect(await connection.transactions.load(NAME, 1, wide(1), { table: 't' })).toMatchObject({
        duplicate: true,
      });
      await load(connection, 2);
      await committed(connection);
    },
  },
  'a prepare that merges runs': {
    options: SPILLED,
    before: loaded,
    verb: ({ transactions }) => transactions.prepare(NAME),
    failed: stateIs('OPEN', 24),
    done: async (connection) => {
      await stateIs('PREPARED', 24)(connection);
      await committed(connection);
    },
  },
  'a commit of files': {
    options: SPILLED,
    before: prepared,
    verb: ({ transactions }) => transactions.commit(NAME),
    failed: stateIs('PREPARED', 24),
    done: committed,
  },
  'a commit in one phase, staged': {
    options: SPILLED,
    before: loaded,
    verb: ({ transactions }) => transactions.commit(NAME, { onePhase: true }),
    failed: async ({ transactions }) => {
      expect(['OPEN', 'PREPARED']).toContain((await transactions.status(NAME)).state);
    },
    done: committed,
  },
  'a commit in one phase, in memory': {
    options: {},
    before: loaded,
    verb: ({ transactions }) => transactions.commit(NAME, { onePhase: true }),
    failed: stateIs('OPEN', 24),
    done: committed,
  },
  'a rollback of files': {
    options: SPILLED,
    before: prepared,
    verb: ({ transactions }) => transactions.rollback(NAME),
    failed: stateIs('PREPARED', 24),
    done: async ({ transactions }) => {
      expect(await codeOf(transactions.commit(NAME))).toBe('TXN_ABORTED');
    },
  },
  'a tombstone': {
    options: {},
    before: () => Promise.resolve(),
    verb: ({ transactions }) => transactions.rollback(NAME, { tombstone: true }),
    failed: async ({ transactions }) => {
      expect(await codeOf(transactions.status(NAME))).toBe('TXN_NOT_FOUND');
    },
    done: async ({ transactions }) => {
      expect(await codeOf(transactions.begin(NAME))).toBe('LABEL_ALREADY_EXISTS');
    },
  },
  fence: {
    options: {},
    before: ({ transactions }) => transactions.fence('somebody'),
    verb: ({ transactions }) => transactions.fence('somebody'),
    failed: null,
    done: async ({ transactions }) => {
      const { epoch } = await transactions.fence('somebody');
      expect(epoch).toBeGreaterThanOrEqual(3);
      const old = { ...NAME, producer: 'somebody', epoch: 1 };
      expect(await codeOf(transactions.begin(old))).toBe('FENCED');
    },
  },
  forget: {
    options: {},
    before: async (connection) => {
      await prepared(connection);
      await connection.transactions.rollback(NAME);
    },
    verb: ({ transactions }) => transactions.forget(NAME),
    failed: null,
    done: async ({ transactions }) => {
      expect(await codeOf(transactions.begin(NAME))).toBe('OK');
    },
  },
};

const CHANGES: ReadonlySet<string> = new Set([
  'open',
  'write',
  'truncate',
  'ensureFolder',
  'copy',
  'rename',
]);

/** The verb's n-th change of the disk finds it full. Answers whether there was one. */
async function fullAt(env: SimEnv, one: Case, n: number): Promise<boolean> {
  let connection = await openOn(env, one.options);
  await connection.admin.createTable({ name: 't', families: ['f', 'g'], SPLITS: ['m'] });
  await connection.transactions.fence('ledger');
  await one.before(connection);
  let seen = 0;
  env.fs.failWhen = ({ kind, path }: FsOp) =>
    CHANGES.has(kind) && path.startsWith('/data/') && seen++ === n ? 'full' : null;
  const failure: unknown = await one.verb(connection).then(
    () => null,
    (error: unknown) => error,
  );
  env.fs.failWhen = null;
  if (failure !== null) {
    expect(failure).toBeInstanceOf(StoreException);
    const isKnown = failure instanceof DiskFullException || (failure as StoreException).retryable;
    expect(isKnown, (failure as Error).message).toBe(true);
    expect(await contentOf(connection)).toEqual([]);
    if (connection.status().fatal !== null) {
      // A log or manifest that failed takes nothing more; what was not prepared goes with the process.
      await connection.close();
      connection = await openOn(env, one.options);
      await connection.close();
      return seen > n;
    }
    await one.failed?.(connection);
    await one.verb(connection);
  }
  await one.done(connection);
  await connection.close();
  const left = (await env.fs.stat('/data/txn')) === null ? [] : await env.fs.list('/data/txn');
  expect(left).toEqual([]);
  return seen > n;
}

describe('a full disk at each change of', () => {
  test.each(Object.keys(CASES))(
    '%s',
    async (what) => {
      const one = CASES[what]!;
      let n = 0;
      for (; n < 60; n += n < 10 ? 1 : 5) {
        const env = simEnv({ seed: n });
        if (!(await env.drive(fullAt(env, one, n), 10_000_000))) break;
      }
      // The verb reaches the disk, so that there was something to find full.
      expect(n).toBeGreaterThan(0);
    },
    60_000,
  );
});
