/** A writer of transfers over three tables that keep a sum, and a model that knows the state at every commit. */
import { commitOptions, transactOverAll } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import type { Connection } from '../../src/model/index.ts';

export const TABLES = ['a', 'ns:b', 'c'];
export const ROWS = 12;
export const SUM = TABLES.length * ROWS * 100;

/** Rows of a state: `table/row` to balance. */
export type State = ReadonlyMap<string, number>;

/** A small generator of its own, so that a run can be repeated. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }
}

export const rowName = (i: number): string => `r${String(i).padStart(2, '0')}`;

/** Makes tables and first balances. */
export async function setUp(store: EmbeddedConnection): Promise<void> {
  await store.admin.createNamespace('ns');
  for (const name of TABLES) {
    const splits = name === 'c' ? { SPLITS: ['r06'] } : {};
    await store.admin.createTable({
      name,
      families: [{ name: 'f', VERSIONS: 3 }, 'g'],
      ...splits,
    });
  }
}

/** Each row is an account, its balance in a column of both families. A transfer is one commit: of two rows of one region, or of any two tables. */
export class Transfers {
  readonly #store: EmbeddedConnection;
  readonly #chance: Chance;
  /** States by the TSO from which they hold. */
  readonly history: { readonly tso: bigint; readonly state: State }[] = [];
  #state = new Map<string, number>();
  /** The commit that wrote a row last, by `table/row`; as of each entry of `history`. */
  readonly writers: ReadonlyMap<string, bigint>[] = [];
  #writers = new Map<string, bigint>();
  commits = 0;

  constructor(store: EmbeddedConnection, seed: number) {
    this.#store = store;
    this.#chance = new Chance(seed);
  }

  async begin(): Promise<void> {
    for (const table of TABLES) {
      for (let i = 0; i < ROWS; i++) await this.#put(table, rowName(i), 100);
    }
  }

  async #put(table: string, row: string, balance: number): Promise<void> {
    const tso = await this.#store
      .table(table)
      .put(row, { 'f:n': String(balance), 'g:n': `${balance}` });
    this.#state = new Map(this.#state).set(`${table}/${row}`, balance);
    this.#note(tso, this.#state, [`${table}/${row}`]);
  }

  #note(tso: bigint, state: State, rows: readonly string[]): void {
    this.history.push({ tso, state });
    this.#writers = new Map(this.#writers);
    for (const row of rows) this.#writers.set(row, tso);
    this.writers.push(this.#writers);
    this.commits++;
  }

  /** Moves an amount between two rows in one commit: of one region of a table, or of two tables. */
  async step(): Promise<void> {
    const table = TABLES[this.#chance.below(TABLES.length)]!;
    const half = this.#chance.below(2) * (ROWS / 2);
    const from = rowName(half + this.#chance.below(ROWS / 2));
    const to = rowName(half + this.#chance.below(ROWS / 2));
    const amount = this.#chance.below(50);
    const other = TABLES[this.#chance.below(TABLES.length)]!;
    if (other !== table) return this.#move([table, from], [other, to], amount);
    if (from !== to) return this.#move([table, from], [table, to], amount);
  }

  async #move(
    from: readonly [table: string, row: string],
    to: readonly [table: string, row: string],
    amount: number,
  ): Promise<void> {
    const next = new Map(this.#state);
    const sides = [from, to].map(([table, row]) => ({ table, row, key: `${table}/${row}` }));
    for (const [i, { key }] of sides.entries()) {
      next.set(key, next.get(key)! + (i === 0 ? -amount : amount));
    }
    const values = (key: string): Record<string, string> => {
      const balance = String(next.get(key)!);
      return { 'f:n': balance, 'g:n': balance };
    };
    const tso =
      from[0] === to[0]
        ? await this.#store
            .table(from[0])
            .mutateRows(sides.map(({ row, key }) => ({ put: row, values: values(key) })))
        : await this.#overTables(sides, values);
    this.#state = next;
    this.#note(
      tso,
      next,
      sides.map(({ key }) => key),
    );
  }

  /** Reads the rows that it writes, as a transfer does; the balances must be those of the model. */
  async #overTables(
    sides: readonly { readonly table: string; readonly row: string; readonly key: string }[],
    values: (key: string) => Record<string, string>,
  ): Promise<bigint> {
    const { server } = this.#store;
    const parts: Parameters<typeof transactOverAll>[0] = {
      server,
      options: (table, mutation, durability) =>
        commitOptions(server, table, mutation, { durability }),
    };
    const { tso } = await transactOverAll(
      parts,
      async (transaction) => {
        for (const { table, row, key } of sides) {
          const balance = (await transaction.table(table).get(row))?.text('f:n');
          if (balance !== String(this.#state.get(key)!)) throw new Error(`${key} has ${balance}`);
          transaction.table(table).put(row, values(key));
        }
      },
      {},
    );
    if (tso === null) throw new Error('a transfer writes');
    return tso;
  }

  /** The state at a TSO. */
  at(tso: bigint): State {
    let found: State = new Map();
    for (const { tso: from, state } of this.history) {
      if (from > tso) break;
      found = state;
    }
    return found;
  }
}

/** An export of a table as of a TSO, `jsonl` or `csv`, byte for byte: by the model and the documents alone. */
export function exportText(
  transfers: Transfers,
  tso: bigint,
  table: string,
  format: 'jsonl' | 'csv',
): string {
  const at = transfers.history.findLastIndex((entry) => entry.tso <= tso);
  const { state } = transfers.history[at]!;
  const writers = transfers.writers[at]!;
  let text = '';
  for (let i = 0; i < ROWS; i++) {
    const row = rowName(i);
    const value = state.get(`${table}/${row}`);
    if (value === undefined) continue;
    const ts = writers.get(`${table}/${row}`)! >> 18n; // The physical part: milliseconds.
    for (const family of ['f', 'g']) {
      text +=
        format === 'jsonl'
          ? `{"row":"${row}","family":"${family}","qualifier":"n","ts":${ts},"type":"Put","value":"${value}"}\n`
          : `${row},${family},n,${ts},Put,${value},\n`;
    }
  }
  return text;
}

/** What a store holds, as a state. */
export async function readState(
  store: Connection,
  asOf?: bigint,
  rename: (table: string) => string = (table) => table,
): Promise<State> {
  const state = new Map<string, number>();
  for (const table of TABLES) {
    const options = asOf === undefined ? {} : { asOf };
    for await (const result of store.table(rename(table)).scan(options)) {
      const balance = Number(result.text('f:n'));
      if (result.text('g:n') !== String(balance)) throw new Error('families differ');
      state.set(`${table}/${result.rowText}`, balance);
    }
  }
  return state;
}

export const sumOf = (state: State): number => [...state.values()].reduce((a, b) => a + b, 0);

export const sorted = (state: State): [string, number][] =>
  [...state].sort(([a], [b]) => (a < b ? -1 : 1));
