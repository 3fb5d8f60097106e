/**
 * Crash point 26 of transactions.md section 7: what was PREPARED at the moment of a restore or fork comes back PREPARED, with its
 * label, id and digest, and can be decided; what was committed is there, what was aborted is not.
 */
import { describe, expect, test } from 'vitest';
import {
  listBackups,
  mergeBackups,
  restoreBackup,
  summaryOf,
  verifyBackups,
} from '../../src/backup/index.ts';
import { open } from '../../src/embedded/index.ts';
import type { StoreConnection, StoreOptions } from '../../src/embedded/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import type { SeededRandom, SimEnv } from '../../src/io/index.ts';
import type { LoadOperation, TransactionPhase } from '../../src/model/index.ts';
import { SMALL, codeOf, contentOf } from '../txn/support.ts';

/** Above it a transaction is staged. */
const SPILL = 120;
const OPTIONS: StoreOptions = { ...SMALL, transactions: { txn_spill_bytes: SPILL } };
const DEADLINE_MS = 20_000_000;

const openAt = (env: SimEnv, dir: string): Promise<StoreConnection> =>
  open(dir, { ...OPTIONS, env });

interface Known {
  state: TransactionPhase;
  readonly isStaged: boolean;
  readonly tables: readonly string[];
  /** Lines as `contentOf` gives them, by table. */
  readonly cells: Readonly<Record<string, readonly string[]>>;
  readonly txnId: bigint;
  readonly digest: string | null;
  tso: bigint | null;
}

/** A store's life: what was in it, and who was PREPARED, at each moment. */
class Life {
  readonly connection: StoreConnection;
  readonly chance: SeededRandom;
  readonly known = new Map<string, Known>();
  readonly moments: { readonly tso: bigint; readonly known: Map<string, Known> }[] = [];
  #next = 0;

  constructor(connection: StoreConnection, chance: SeededRandom) {
    this.connection = connection;
    this.chance = chance;
  }

  async tell(): Promise<bigint> {
    const table = this.connection.table('a');
    await table.put('~clock', { 'f:n': String(this.moments.length) });
    const { tso } = (await table.get('~clock'))!.cells[0]!;
    const known = new Map([...this.known].map(([label, one]) => [label, { ...one }]));
    this.moments.push({ tso, known });
    return tso;
  }

  async prepare(tables: readonly string[], isStaged: boolean): Promise<string> {
    const label = `job-${this.#next++}`;
    const { transactions } = this.connection;
    await transactions.begin({ label });
    const cells: Record<string, string[]> = {};
    for (const [seq, table] of tables.entries()) {
      const operations: LoadOperation[] = [];
      cells[table] = [];
      for (let i = 0; i < (isStaged ? 12 : 1); i++) {
        const row = `${'akz'[i % 3]}-${label}-${i}`;
        operations.push({ put: row, values: { 'f:q': `${label} ${i}` } });
        cells[table].push(`${row} f:q=${label} ${i}`);
      }
      await transactions.load({ label }, seq, operations, { table });
    }
    const { txnId, digest } = await transactions.prepare({ label });
    const one: Known = { state: 'PREPARED', isStaged, tables, cells, txnId, digest, tso: null };
    this.known.set(label, one);
    return label;
  }

  async decide(label: string, isCommit: boolean): Promise<void> {
    const one = this.known.get(label)!;
    const { transactions } = this.connection;
    if (isCommit) one.tso = (await transactions.commit({ label })).tso;
    else await transactions.rollback({ label });
    one.state = isCommit ? 'COMMITTED' : 'ABORTED';
  }

  async step(): Promise<void> {
    const { chance, connection } = this;
    const waiting = [...this.known].filter(([, { state }]) => state === 'PREPARED');
    const pick = chance.int(10);
    if (pick < 4) {
      const tables = [['a'], ['b'], ['a', 'b']][chance.int(3)]!;
      await this.prepare(tables, chance.int(2) === 0);
    } else if (pick < 7 && waiting.length > 0) {
      await this.decide(waiting[chance.int(waiting.length)]![0], chance.int(2) === 0);
    } else if (pick === 7) await connection.admin.flush('ab'[chance.int(2)]!);
    else if (pick === 8) await connection.admin.compact('a', { major: chance.int(2) === 0 });
    await this.tell();
  }

  at(tso: bigint): Map<string, Known> {
    return this.moments.findLast((moment) => moment.tso <= tso)!.known;
  }
}

const committedLines = (known: ReadonlyMap<string, Known>, table: string): string[] =>
  [...known.values()]
    .filter(({ state }) => state === 'COMMITTED')
    .flatMap(({ cells }) => cells[table] ?? []);

async function linesOf(connection: StoreConnection, table: string): Promise<string[]> {
  return (await contentOf(connection, table)).filter((line) => !line.startsWith('~')).sort();
}

/** Names of tables in the restored store by those they had. */
type Names = Readonly<Record<'a' | 'b', string>>;
const SAME: Names = { a: 'a', b: 'b' };

/** The store is as it was, and everything that was PREPARED can be decided, half one way, half the other. */
async function judge(
  connection: StoreConnection,
  known: ReadonlyMap<string, Known>,
  names: Names = SAME,
): Promise<void> {
  const { transactions } = connection;
  for (const table of ['a', 'b'] as const) {
    expect(await linesOf(connection, names[table])).toEqual(committedLines(known, table).sort());
  }
  const wanted = [...known].filter(([, { state }]) => state === 'PREPARED');
  const listed = await transactions.list({ state: 'PREPARED', limit: 1000 });
  expect(listed.map(({ label, txnId, digest }) => [label, txnId, digest])).toEqual(
    wanted.map(([label, { txnId, digest }]) => [label, txnId, digest]),
  );
  for (const [label, { state, tso }] of known) {
    if (state === 'COMMITTED') {
      expect(await transactions.commit({ label })).toMatchObject({ already: true, tso });
    } else if (state === 'ABORTED') {
      expect(await codeOf(transactions.commit({ label }))).toBe('TXN_ABORTED');
    }
  }
  const after = new Map([...known].map(([label, one]) => [label, { ...one }]));
  for (const [i, [label]] of wanted.entries()) {
    const one = after.get(label)!;
    if (i % 2 === 0) {
      const { tso } = await transactions.commit({ label });
      expect(tso).toBeGreaterThan(one.txnId);
      one.state = 'COMMITTED';
    } else {
      await transactions.rollback({ label });
      one.state = 'ABORTED';
    }
  }
  for (const table of ['a', 'b'] as const) {
    expect(await linesOf(connection, names[table])).toEqual(committedLines(after, table).sort());
  }
  expect(await transactions.list({ state: 'PREPARED' })).toEqual([]);
}

async function newLife(env: SimEnv, seed: number): Promise<Life> {
  const connection = await openAt(env, '/data');
  await connection.admin.createTable({ name: 'a', families: ['f'], SPLITS: ['k'] });
  await connection.admin.createTable({ name: 'b', families: ['g', 'f'] });
  const life = new Life(connection, seeded(seed));
  await life.tell();
  return life;
}

/** Runs `work` on a fresh machine. */
function onLife(seed: number, work: (life: Life, env: SimEnv) => Promise<void>): Promise<void> {
  const env = simEnv({ seed });
  const run = async (): Promise<void> => {
    const life = await newLife(env, seed);
    await work(life, env);
    await life.connection.close();
  };
  return env.drive(run(), DEADLINE_MS);
}

describe('against a model', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'any moment of a chain, seed %i',
    async (seed) => {
      await onLife(seed, async (life, env) => {
        const { connection, chance } = life;
        for (let i = 0; i < chance.int(6); i++) await life.step();
        const { toTso: from } = await connection.backups.create('/backups');
        for (let round = 0; round < 3; round++) {
          for (let i = 0; i < 8; i++) await life.step();
          await connection.backups.create('/backups', { incremental: true });
        }
        const set = await listBackups(env, '/backups');
        for (const backup of set.backups) {
          const wanted = [...life.at(backup.toTso)].filter(([, one]) => one.state === 'PREPARED');
          const labels = summaryOf(backup).prepared!.map(({ label }) => label);
          expect(labels.sort()).toEqual(wanted.map(([label]) => label).sort());
        }
        expect((await verifyBackups(env, '/backups', null)).faults).toEqual([]);
        if (seed % 2 === 0) {
          await mergeBackups(
            env,
            '/backups',
            set.backups.slice(seed % 4 === 0 ? 0 : 1).map(({ id }) => id),
          );
          expect((await verifyBackups(env, '/backups', null)).faults).toEqual([]);
        }
        const covered = life.moments.filter(({ tso }) => tso >= from);
        for (let i = 0; i < 6; i++) {
          const { tso } = covered[chance.int(covered.length - 1)]!;
          const report = await restoreBackup(env, '/backups', `/restored${i}`, { asOf: tso });
          const known = life.at(tso);
          expect(report.prepared).toBe(
            [...known.values()].filter(({ state }) => state === 'PREPARED').length,
          );
          const restored = await openAt(env, `/restored${i}`);
          await judge(restored, known);
          // And once more after everything that rewrites files.
          await restored.admin.flush('a');
          await restored.admin.compact('a', { major: true });
          await restored.close();
        }
      });
    },
    60_000,
  );
});
