/**
 * The crash points of transactions (transactions.md section 7, 8 to 28): power cuts and kills before each change of the disk, in
 * the middle of verbs, flushes, compactions, splits, backups and the log's archive, and once more in the recovery. What was answered holds; a transaction is
 * there wholly or not at all, and if not decided, it can be.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { StoreConnection, StoreOptions } from '../../src/embedded/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import { TransactionException } from '../../src/model/index.ts';
import type { TransactionStatus } from '../../src/model/index.ts';
import { crashesOf } from '../engine/store_support.ts';
import { codeOf, contentOf, openOn } from './support.ts';
import { simEnv } from '../../src/io/index.ts';

/** How far the client has got answers. */
interface Progress {
  stage: 'none' | 'begun' | 'loaded' | 'prepared' | 'committed';
  tso: bigint | null;
}

interface Crashed {
  readonly env: SimEnv;
  readonly progress: Progress;
}

const ROWS = 24;
/** CELLAR_CRASHES=1000 tries them all. */
const CRASHES_MAX = Number(process.env['CELLAR_CRASHES'] ?? 25);
const wantedLines = (): string[] =>
  Array.from({ length: ROWS }, (_, i) => [
    `${'anz'[i % 3]}${i} f:q=${i}`,
    `${'anz'[i % 3]}${i} g:r=${'v'.repeat(20)}`,
  ])
    .flat()
    .sort();

async function start(env: SimEnv, options: StoreOptions): Promise<StoreConnection> {
  const connection = await openOn(env, { ...options, memstoreBytes: 1 << 20 });
  if (!(await connection.admin.tableExists('t'))) {
    await connection.admin.createTable({ name: 't', families: ['f', 'g'], SPLITS: ['m'] });
    // The ledger is made by the first transaction of all.
    await connection.transactions.fence('somebody');
  }
  return connection;
}

async function client(
  connection: StoreConnection,
  progress: Progress,
  meddle: (stage: Progress['stage']) => Promise<void>,
): Promise<void> {
  const txn = connection.transaction({ label: 'job' });
  await txn.begin();
  progress.stage = 'begun';
  await txn.load(
    Array.from({ length: ROWS }, (_, i) => ({
      put: `${'anz'[i % 3]}${i}`,
      values: { 'f:q': String(i), 'g:r': 'v'.repeat(20) },
    })),
    { table: 't' },
  );
  progress.stage = 'loaded';
  await meddle('loaded');
  await txn.prepare();
  progress.stage = 'prepared';
  await meddle('prepared');
  const { tso } = await txn.commit();
  progress.tso = tso;
  progress.stage = 'committed';
  await meddle('committed');
}

const READS: ReadonlySet<string> = new Set(['read', 'readFile', 'list', 'stat', 'lock']);

/** The machines after a crash at each step, with what the client knew then. */
async function crashes(
  seed: number,
  options: StoreOptions,
  meddle: (connection: StoreConnection, stage: Progress['stage']) => Promise<void>,
): Promise<Crashed[]> {
  const env = simEnv({ seed });
  const connection = await env.drive(start(env, options));
  const progress: Progress = { stage: 'none', tso: null };
  const known: Progress[] = [];
  const machines = await env.drive(
    crashesOf(env, async () => {
      const fork = env.fs.failWhen;
      env.fs.failWhen = (op) => {
        if (!READS.has(op.kind)) known.push({ ...progress });
        return fork?.(op) ?? null;
      };
      await client(connection, progress, (stage) => meddle(connection, stage));
    }),
    10_000_000,
  );
  known.push({ ...progress });
  expect(known).toHaveLength(machines.length);
  await env.drive(connection.close(), 10_000_000);
  return machines.map((machine, i) => ({ env: machine, progress: known[i]! }));
}

/** Cut off or killed again while it recovers, twice. */
async function crashedAgain(env: SimEnv, options: StoreOptions): Promise<SimEnv> {
  let machine = env;
  for (let again = 0; again < 2; again++) {
    const here = machine;
    const machines = await here.drive(
      crashesOf(here, async () => {
        await start(here, options);
      }),
      10_000_000,
    );
    machine = machines[Math.floor(machines.length / (2 + again))]!;
  }
  return machine;
}

async function statusOf(connection: StoreConnection): Promise<TransactionStatus | null> {
  try {
    return await connection.transactions.status({ label: 'job' });
  } catch (error) {
    if (error instanceof TransactionException && error.code === 'TXN_NOT_FOUND') return null;
    throw error;
  }
}

async function judge({ env, progress }: Crashed, options: StoreOptions): Promise<string> {
  let connection = await start(env, options);
  const status = await statusOf(connection);
  const state = status?.state ?? 'none';
  if (progress.stage === 'prepared') expect(['PREPARED', 'COMMITTED']).toContain(state);
  if (progress.stage === 'committed') {
    expect([state, status?.tso]).toEqual(['COMMITTED', progress.tso]);
  }
  expect(await contentOf(connection)).toEqual(state === 'COMMITTED' ? wantedLines() : []);
  if (state === 'none') {
    expect(await codeOf(connection.transactions.commit({ label: 'job' }))).toBe('TXN_NOT_FOUND');
    await client(connection, { stage: 'none', tso: null }, async () => undefined);
  } else {
    const { tso } = await connection.transactions.commit({ label: 'job' });
    if (status?.tso !== null) expect(tso).toBe(status?.tso);
    await connection.close();
    connection = await start(env, options);
    expect((await statusOf(connection))?.tso).toBe(tso);
  }
  expect((await contentOf(connection)).sort()).toEqual(wantedLines());
  await connection.close();
  return state;
}

const work = {
  nothing: async (): Promise<void> => undefined,
  flushes: async (connection: StoreConnection): Promise<void> => {
    await connection.admin.flush();
  },
  splits: async (connection: StoreConnection, stage: Progress['stage']): Promise<void> => {
    await connection.admin.split(
      't',
      stage === 'loaded' ? 'n' : stage === 'prepared' ? 'a2' : 'z2',
    );
    if (stage !== 'loaded') await connection.admin.compact('t', { major: true });
  },
} as const;

/**
 * What a first backup loads is loaded before: an import takes real time, in which a simulated clock finds nothing to wait for
 * and goes on to the time-outs.
 */
beforeAll(async () => {
  const env = simEnv({ seed: 9 });
  const backedUp = async (): Promise<void> => {
    const connection = await start(env, {});
    await connection.backups.create('/backups');
    await connection.close();
  };
  await env.drive(backedUp(), 10_000_000);
});

/** Flushes, compactions and incremental backups, which archive the log, under way beside the decision itself. */
function besideTheDecision(): typeof work.splits {
  let beside: Promise<unknown> = Promise.resolve();
  return async (connection, stage) => {
    await beside;
    if (stage === 'loaded') await connection.backups.create('/backups');
    else {
      beside = Promise.all([
        connection.admin.flush().then(() => connection.admin.compact('t', { major: true })),
        connection.backups.create('/backups', { incremental: true }),
      ]);
    }
    if (stage === 'committed') await beside;
  };
}

describe('a crash at each step of a transaction', () => {
  test.each([
    ['in memory', 1, {}, work.nothing],
    ['in memory, with flushes', 2, {}, work.flushes],
    ['staged', 3, { transactions: { txn_spill_bytes: 100 } }, work.nothing],
    [
      'staged, with splits and compactions',
      4,
      { transactions: { txn_spill_bytes: 100 } },
      work.splits,
    ],
    ['in memory, beside backups, flushes and compactions', 5, {}, besideTheDecision()],
    [
      'staged, beside backups, flushes and compactions',
      6,
      { transactions: { txn_spill_bytes: 100 } },
      besideTheDecision(),
    ],
  ] as const)(
    '%s: none, PREPARED or COMMITTED, with all rows once',
    async (_, seed, options, meddle) => {
      const seen = new Set<string>();
      const all = await crashes(seed, options, meddle);
      const step = Math.max(1, Math.floor(all.length / CRASHES_MAX));
      const isWaiting = ({ progress }: Crashed): boolean => progress.stage === 'prepared';
      const first = all.findIndex(isWaiting);
      for (let i = 0; i < all.length; i++) {
        // Those right before the decision always, of the others as many as time allows.
        if (i % step !== seed % step && (i < first || i > first + 4)) continue;
        const { env, progress } = all[i]!;
        const machine = i % 4 === 0 ? await crashedAgain(env, options) : env;
        seen.add(await machine.drive(judge({ env: machine, progress }, options), 10_000_000));
      }
      expect([...seen].sort()).toEqual(['COMMITTED', 'PREPARED', 'none']);
    },
    60_000,
  );
});
