/** The demo store: loads a real data set the first time, and says what a store holds and what to try on it. */
import { gunzip } from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Env } from '../io/index.ts';
import { DoNotRetryIOException, TableExistsException } from '../model/index.ts';
import type { Connection, Operation, Table } from '../model/index.ts';
import {
  DEMO_FAMILIES,
  DEMO_TABLE,
  SOURCE_ROW,
  parseQuakes,
  quakeOperations,
  sourceCells,
} from './demo_data.ts';
import type { DemoSet } from './demo_data.ts';

/** Quakes loaded, of how many. */
export type DemoProgress = (done: number, total: number) => void;

export interface DemoOutcome {
  /** False if the set was there already. */
  readonly loaded: boolean;
  readonly quakes: number;
}

/** The set lies beside `src` and `dist` alike. */
const DATA_URL = new URL('../../data/earthquakes.json.gz', import.meta.url);
const QUAKES_PER_BATCH = 64;

/**
 * Loads the earthquakes into table `quakes` unless they are there. A load that was interrupted is done again from the
 * start: every cell of the set has its own timestamp, so what was there already is merely replaced by itself.
 * `signal` stops between two batches; then its reason is thrown.
 */
export async function loadDemo(
  connection: Connection,
  env: Pick<Env, 'fs'>,
  progress: DemoProgress,
  signal?: AbortSignal,
): Promise<DemoOutcome> {
  const table = connection.table(DEMO_TABLE);
  if (await connection.admin.tableExists(DEMO_TABLE)) {
    const source = await table.get(SOURCE_ROW, { columns: ['event:quakes'] });
    const quakes = source?.text('event:quakes');
    if (quakes != null) return { loaded: false, quakes: Number(quakes) };
  } else {
    await createDemoTable(connection);
  }
  const set = await readDemoSet(env);
  await loadQuakes(table, set, progress, signal);
  await table.put(SOURCE_ROW, sourceCells(set));
  return { loaded: true, quakes: set.quakes.length };
}

async function createDemoTable(connection: Connection): Promise<void> {
  try {
    await connection.admin.createTable({ name: DEMO_TABLE, families: DEMO_FAMILIES });
  } catch (error) {
    // Somebody else was quicker; loading the same cells twice does no harm.
    if (!(error instanceof TableExistsException)) throw error;
  }
}

async function readDemoSet(env: Pick<Env, 'fs'>): Promise<DemoSet> {
  const path = fileURLToPath(DATA_URL).replaceAll('\\', '/');
  const packed = await env.fs.readFile(path);
  return parseQuakes((await promisify(gunzip)(packed)).toString('utf8'));
}

async function loadQuakes(
  table: Table,
  set: DemoSet,
  progress: DemoProgress,
  signal?: AbortSignal,
): Promise<void> {
  const total = set.quakes.length;
  progress(0, total);
  for (let at = 0; at < total; at += QUAKES_PER_BATCH) {
    signal?.throwIfAborted();
    const chunk = set.quakes.slice(at, at + QUAKES_PER_BATCH);
    await writeAll(table, chunk.flatMap(quakeOperations));
    progress(at + chunk.length, total);
  }
}

async function writeAll(table: Table, operations: readonly Operation[]): Promise<void> {
  for (const outcome of await table.batch(operations)) {
    if (!outcome.ok) {
      const message = `loading the demo into table ${table.name} failed`;
      throw new DoNotRetryIOException(message, { cause: outcome.error });
    }
  }
}

/** Rows counted for the listing at most; more is told as "more than". */
const COUNT_MAX = 10_000;

/** One line a table: its name, families with their attributes, and rows. */
export async function describeHoldings(connection: Connection): Promise<string[]> {
  const names = await connection.admin.listTables();
  if (names.length === 0) return ['no tables yet'];
  return Promise.all(names.map((name) => describeTable(connection, name)));
}

async function describeTable(connection: Connection, name: string): Promise<string> {
  const { families, enabled } = await connection.admin.describeTable(name);
  const described = families.map((family) => {
    const shown = ['VERSIONS', 'TTL'].flatMap((key) =>
      family.attributes[key] === undefined ? [] : [`${key} ${family.attributes[key]}`],
    );
    return shown.length === 0 ? family.name : `${family.name} (${shown.join(', ')})`;
  });
  const rows = enabled ? await connection.table(name).count({ limit: COUNT_MAX + 1 }) : null;
  return `${name}: ${rowsText(rows)}, families ${described.join(', ')}`;
}

function rowsText(rows: number | null): string {
  if (rows === null) return 'disabled';
  if (rows > COUNT_MAX) return `more than ${COUNT_MAX.toLocaleString('en')} rows`;
  return `${rows.toLocaleString('en')} rows`;
}

/** Commands of `program` to try on the demo set; `target` is how the command line finds the store, e.g. `--data data/demo`. */
export function demoCommands(program: string, target: string): string[] {
  const commands: readonly (readonly [string, string])[] = [
    ['count quakes', 'every quake, and a row for each area'],
    ['get quakes 9qbs --versions 5', 'the last five around The Geysers, as versions'],
    ['scan quakes --prefix 9qbs- --limit 3', 'the same area, newest quake first'],
    ['describe quakes', 'two families, kept in two ways'],
    ['shell', 'the same interactively'],
  ];
  const lines = commands.map(([command]) => `${program} ${command} ${target}`.trimEnd());
  const width = Math.max(...lines.map((line) => line.length));
  return lines.map((line, i) => `${line.padEnd(width)}  # ${commands[i]![1]}`);
}
