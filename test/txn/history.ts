/**
 * The checker of transactions.md section 7: writers of every kind at once, then all commits are replayed in the order of their TSOs
 * against a plain model. Every read must have seen the model's state at its moment, and what began after another had ended
 * has the greater TSO. The replay sorts once and then looks at each commit and each value read once.
 */
import type { StoreConnection } from '../../src/embedded/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import type { SeededRandom, SimEnv } from '../../src/io/index.ts';
import type { Table } from '../../src/model/index.ts';
import { openOn } from './support.ts';

const WORKERS = 12;
const TABLES = ['t', 'u', 'v'];
const ROWS = 8;

/** `table/row` → value; null: absent. */
type Values = ReadonlyMap<string, string | null>;

export interface Done {
  readonly tso: bigint;
  /** The greatest TSO of those that had ended when it began. */
  readonly after: bigint;
  /** What it saw, right before itself. */
  readonly reads: Values;
  readonly writes: Values;
}

export interface AsOfRead {
  readonly tso: bigint;
  readonly values: Values;
}

/** What is checked: a store, or a double of one that breaks a promise. */
export interface CheckedStore extends Pick<
  StoreConnection,
  'transact' | 'transaction' | 'admin' | 'status'
> {
  table(name: string): Pick<Table, 'put' | 'delete' | 'get'>;
}

/** A history of `operations` operations on one store. */
export class History {
  readonly connection: CheckedStore;
  readonly operations: number;
  readonly random: SeededRandom;
  readonly env: SimEnv;
  readonly commits: Done[] = [];
  readonly asOfReads: AsOfRead[] = [];
  #ended = 0n;
  #count = 0;

  constructor(connection: CheckedStore, env: SimEnv, seed: number, operations: number) {
    this.connection = connection;
    this.operations = operations;
    this.env = env;
    this.random = seeded(seed);
  }

  place(): { table: string; row: string; key: string } {
    const table = TABLES[this.random.int(TABLES.length)]!;
    const row = `${'az'[this.random.int(2)]}${this.random.int(ROWS)}`;
    return { table, row, key: `${table}/${row}` };
  }

  async work(): Promise<void> {
    while (this.#count < this.operations) {
      const n = this.#count++;
      const after = this.#ended;
      const pick = this.random.int(10);
      const done =
        pick < 3
          ? await this.put(`${n}`)
          : pick < 6
            ? await this.transact(`${n}`)
            : pick < 8
              ? await this.twoPhase(`${n}`)
              : await this.read();
      if (done !== null) {
        this.commits.push({ ...done, after });
        if (done.tso > this.#ended) this.#ended = done.tso;
      }
      if (n % 500 === 250) await this.connection.admin.flush(TABLES[this.random.int(3)]);
    }
  }

  async put(value: string): Promise<Omit<Done, 'after'>> {
    const { table, row, key } = this.place();
    const isDelete = this.random.chance(0.2);
    const on = this.connection.table(table);
    const tso = isDelete ? await on.delete(row) : await on.put(row, { 'f:q': value });
    return { tso, reads: new Map(), writes: new Map([[key, isDelete ? null : value]]) };
  }

  async transact(value: string): Promise<Omit<Done, 'after'> | null> {
    const [from, to, also] = [this.place(), this.place(), this.place()];
    const { tso, value: reads } = await this.connection.transact(async (tx) => {
      const seen = new Map<string, string | null>();
      for (const { table, row, key } of [from, also]) {
        seen.set(key, (await tx.table(table).get(row))?.text('f:q') ?? null);
      }
      if (this.random.chance(0.3)) await this.env.timers.sleep(1);
      tx.table(to.table).put(to.row, { 'f:q': value });
      return seen;
    });
    return { tso: tso!, reads, writes: new Map([[to.key, value]]) };
  }

  async twoPhase(value: string): Promise<Omit<Done, 'after'>> {
    const txn = this.connection.transaction({ label: `l${value}` });
    const writes = new Map<string, string | null>();
    await txn.begin();
    for (let i = 0; i < 3; i++) {
      const { table, row, key } = this.place();
      const isDelete = this.random.chance(0.3);
      await txn.load(
        [isDelete ? { delete: row } : { put: row, values: { 'f:q': `${value}.${i}` } }],
        { table },
      );
      writes.set(key, isDelete ? null : `${value}.${i}`);
    }
    if (this.random.chance(0.8)) {
      await txn.prepare();
      if (this.random.chance(0.3)) await this.env.timers.sleep(1);
      const { tso } = await txn.commit();
      return { tso: tso!, reads: new Map(), writes };
    }
    const { tso } = await txn.commit({ onePhase: true });
    return { tso: tso!, reads: new Map(), writes };
  }

  async read(): Promise<null> {
    const known = this.commits[this.random.int(Math.max(1, this.commits.length))];
    const tso =
      known === undefined || this.random.chance(0.5)
        ? this.connection.status().readPoint
        : known.tso;
    const values = new Map<string, string | null>();
    for (let i = 0; i < 4; i++) {
      const { table, row, key } = this.place();
      const result = await this.connection.table(table).get(row, { asOf: tso });
      values.set(key, result?.text('f:q') ?? null);
    }
    this.asOfReads.push({ tso, values });
    return null;
  }

  /** Replays in the order of the TSOs. Throws what does not hold. */
  check(): void {
    const order = [...this.commits].sort((a, b) => (a.tso < b.tso ? -1 : 1));
    const reads = [...this.asOfReads].sort((a, b) => (a.tso < b.tso ? -1 : 1));
    const state = new Map<string, string | null>();
    let nextRead = 0;
    const compare = (tso: bigint, seen: Values): void => {
      for (const [key, value] of seen) {
        if ((state.get(key) ?? null) !== value) {
          throw new Error(`at ${tso} ${key} was ${value}, the model has ${state.get(key) ?? null}`);
        }
      }
    };
    for (const [i, done] of order.entries()) {
      for (; nextRead < reads.length && reads[nextRead]!.tso < done.tso; nextRead++) {
        compare(reads[nextRead]!.tso, reads[nextRead]!.values);
      }
      if (i > 0 && order[i - 1]!.tso === done.tso) throw new Error(`${done.tso} twice`);
      if (done.after >= done.tso)
        throw new Error(`${done.tso} ended after it began, yet ${done.after}`);
      compare(done.tso, done.reads);
      for (const [key, value] of done.writes) state.set(key, value);
    }
    for (; nextRead < reads.length; nextRead++)
      compare(reads[nextRead]!.tso, reads[nextRead]!.values);
  }
}

export interface HistoryOptions {
  readonly seed: number;
  readonly operations: number;
  /** From how many bytes on a two-phase transaction is staged in files. */
  readonly spillBytes: number;
  /** Puts a double in the store's place. */
  readonly double?: (connection: StoreConnection) => CheckedStore;
}

/** Runs a history on a simulated machine and checks it. Throws what does not hold. */
export async function checkHistory(options: HistoryOptions): Promise<History> {
  const { seed, operations, spillBytes, double } = options;
  const env = simEnv({ seed });
  const history = await env.drive(
    (async (): Promise<History> => {
      const connection = await openOn(env, { transactions: { txn_spill_bytes: spillBytes } });
      for (const name of TABLES)
        await connection.admin.createTable({ name, families: ['f'], SPLITS: ['m'] });
      const made = new History(double?.(connection) ?? connection, env, seed, operations);
      await Promise.all(Array.from({ length: WORKERS }, () => made.work()));
      await connection.close();
      return made;
    })(),
    1_000_000_000,
  );
  history.check();
  return history;
}
