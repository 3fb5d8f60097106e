/** A store whose transactions are prepared and decided while a model keeps what it must hold at each moment. */
import { expect } from 'vitest';
import { open } from '../../src/embedded/index.ts';
import type { StoreConnection, StoreOptions } from '../../src/embedded/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import type { SeededRandom, SimEnv } from '../../src/io/index.ts';
import type { LoadOperation, TransactionPhase } from '../../src/model/index.ts';
import { SMALL, codeOf, contentOf } from '../txn/support.ts';

/** Above it a transaction is staged. */
const SPILL = 120;
export const OPTIONS: StoreOptions = { ...SMALL, transactions: { txn_spill_bytes: SPILL } };
export const DEADLINE_MS = 20_000_000;

export const openAt = (env: SimEnv, dir: string): Promise<StoreConnection> =>
  open(dir, { ...OPTIONS, env });

/** A transaction as the model knows it. */
export interface Known {
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
export class Life {
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
    } else if (pick === 7) await connection.admin.flush('ab'[chance.int(2)]);
    else if (pick === 8) await connection.admin.compact('a', { major: chance.int(2) === 0 });
    await this.tell();
  }

  at(tso: bigint): Map<string, Known> {
    return this.moments.findLast((moment) => moment.tso <= tso)!.known;
  }
}

export const committedLines = (known: ReadonlyMap<string, Known>, table: string): string[] =>
  [...known.values()]
    .filter(({ state }) => state === 'COMMITTED')
    .flatMap(({ cells }) => cells[table] ?? []);

/** What is visible but for the clock's row. */
export async function linesOf(connection: StoreConnection, table: string): Promise<string[]> {
  return (await contentOf(connection, table)).filter((line) => !line.startsWith('~')).sort();
}

/** Names of tables in the restored store by those they had. */
export type Names = Readonly<Record<'a' | 'b', string>>;
const SAME: Names = { a: 'a', b: 'b' };

/** The store is as it was, and everything that was PREPARED can be decided, half one way, half the other. */
export async function judge(
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
export function onLife(
  seed: number,
  work: (life: Life, env: SimEnv) => Promise<void>,
): Promise<void> {
  const env = simEnv({ seed });
  const run = async (): Promise<void> => {
    const life = await newLife(env, seed);
    await work(life, env);
    await life.connection.close();
  };
  return env.drive(run(), DEADLINE_MS);
}
