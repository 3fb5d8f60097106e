/**
 * Long work on a store as data, so that a running server can be asked for it: what to do, with which options. In JSON, 64-bit
 * numbers, bytes and times are objects (`plainOf`).
 */
import type { EmbeddedConnection } from '../engine/index.ts';
import type { Env } from '../io/index.ts';
import { IllegalArgumentException } from '../model/index.ts';
import type { AsOf, ExplainTarget, ReadExplanation } from '../model/index.ts';
import { TransactionManager } from '../txn/index.ts';
import { createBackup, reconcile } from './create_backup.ts';
import type { BackupOptions } from './create_backup.ts';
import { diffMoments, scanBytes } from './diff.ts';
import type { DiffOptions, Difference } from './diff.ts';
import { exportTables } from './export.ts';
import type { ExportOptions } from './export.ts';
import type { ExportManifest } from './export_manifest.ts';
import { forkStore } from './fork.ts';
import type { ForkOptions, ForkReport } from './fork.ts';
import { importTables } from './import.ts';
import type { ImportOptions, ImportedTable } from './import.ts';
import { summaryOf } from './backup_admin.ts';
import type { BackupSummary } from './backup_admin.ts';
import { keepLog } from './log_keeping.ts';
import type { LogKeeping } from './log_keeping.ts';
import { readFor } from './read_task.ts';
import type { ReadReport, ReadRows, ReadTask } from './read_task.ts';
import { restoreIntoServer } from './restore.ts';
import type { RestoreOptions, RestoreReport } from './restore_run.ts';
import { replayInto, withLogSource } from './wal_replay.ts';
import type { ReplayOptions, ReplayReport } from './wal_replay.ts';
import { Work } from './work.ts';
import type { WorkOptions } from './work.ts';

export type Task =
  | {
      readonly task: 'export';
      readonly tables: readonly string[] | null;
      readonly out: string;
      readonly options: ExportOptions;
    }
  | { readonly task: 'import'; readonly dir: string; readonly options: ImportOptions }
  | { readonly task: 'backup'; readonly dest: string; readonly options: BackupOptions }
  | { readonly task: 'restore'; readonly dest: string; readonly options: RestoreOptions }
  | { readonly task: 'fork'; readonly dir: string; readonly options: ForkOptions }
  | { readonly task: 'replay'; readonly src: string; readonly options: ReplayOptions }
  /** Keeps the log from now on (true), or no longer (false); null: as it is. */
  | { readonly task: 'archive'; readonly keep: boolean | null }
  | {
      readonly task: 'diff';
      readonly table: string;
      readonly from: AsOf;
      readonly to: AsOf;
      readonly options: Pick<DiffOptions, 'raw' | 'versions'>;
    }
  | { readonly task: 'explain'; readonly table: string; readonly target: ExplainTarget }
  | ({ readonly task: 'read'; readonly table: string } & ReadTask)
  /** Backups in this folder were deleted: the log that only they needed may go. */
  | { readonly task: 'reconcile'; readonly dest: string };

export interface TaskResults {
  readonly export: ExportManifest;
  readonly import: readonly ImportedTable[];
  readonly backup: BackupSummary;
  readonly restore: RestoreReport;
  readonly fork: ForkReport;
  readonly replay: ReplayReport;
  readonly archive: LogKeeping;
  /** The count of differences, each of which was an item. */
  readonly diff: { readonly count: number };
  readonly explain: ReadExplanation;
  readonly read: ReadReport;
  readonly reconcile: null;
}

/** How the work is stopped and told of, and where what it finds goes one by one. */
export interface TaskWork extends WorkOptions {
  /** Settles when there is room for more; false: nobody wants any more. */
  readonly onItem?: (item: Difference | ReadRows) => Promise<boolean>;
}

/** Does the work on an open store; exports go to, and imports come from, the files of `env`. Throws what it throws. */
export function runTask<T extends Task>(
  connection: EmbeddedConnection,
  task: T,
  work: TaskWork,
  env?: Env,
): Promise<TaskResults[T['task']]>;
export async function runTask(
  connection: EmbeddedConnection,
  task: Task,
  work: TaskWork,
  env: Env = connection.server.env,
): Promise<TaskResults[keyof TaskResults]> {
  return connection.server.track(() => run(connection, task, work, env));
}

async function run(
  connection: EmbeddedConnection,
  task: Task,
  work: TaskWork,
  env: Env,
): Promise<TaskResults[keyof TaskResults]> {
  const { server } = connection;
  switch (task.task) {
    case 'export':
      return exportTables(connection, env, task.tables, task.out, { ...task.options, ...work });
    case 'import':
      return importTables(connection, env, task.dir, { ...task.options, ...work });
    case 'backup':
      return summaryOf(await createBackup(server, task.dest, { ...task.options, ...work }));
    case 'restore':
      return restoreIntoServer(
        server,
        task.dest,
        { ...task.options, ...work },
        managerOf(connection),
      );
    case 'fork':
      return forkStore(server, task.dir, { ...task.options, ...work });
    case 'replay':
      return withLogSource(env, task.src, server, (source) =>
        replayInto(source, connection, { ...task.options, ...work }),
      );
    case 'archive':
      return keepLog(server, task.keep);
    case 'diff':
      return diff(connection, task, work, env);
    case 'read':
      return readFor(connection, task.table, task, work, env);
    case 'explain':
      return connection.table(task.table).explain(task.target);
    case 'reconcile':
      await reconcile(server, task.dest);
      await server.archive.prune();
      return null;
  }
}

/** That of the connection, if it takes transactions. */
export function managerOf(connection: EmbeddedConnection): TransactionManager | null {
  const { transactions } = connection as { readonly transactions?: unknown };
  return transactions instanceof TransactionManager ? transactions : null;
}

async function diff(
  connection: EmbeddedConnection,
  { table, from, to, options }: Extract<Task, { readonly task: 'diff' }>,
  { onItem, ...rest }: TaskWork,
  env: Env,
): Promise<TaskResults['diff']> {
  const work = new Work(env, rest);
  work.bytesTotal = 2 * scanBytes(connection, [table]);
  // One moment for the whole comparison.
  const until = to === 'now' ? await connection.tso() : to;
  let count = 0;
  for await (const found of diffMoments(connection, table, from, until, { ...options, work })) {
    count++;
    if ((await onItem?.(found)) === false) break;
  }
  return { count };
}

const KINDS: ReadonlySet<string> = new Set([
  'export',
  'import',
  'backup',
  'restore',
  'fork',
  'replay',
  'archive',
  'diff',
  'explain',
  'read',
  'reconcile',
]);

/** Checks what came from outside: kind and paths; options are checked by the work itself. Throws IllegalArgumentException. */
export function taskOf(value: unknown): Task {
  const task = value as Readonly<Record<string, unknown>> | null;
  const kind = task?.['task'];
  if (typeof kind !== 'string' || !KINDS.has(kind)) {
    throw new IllegalArgumentException(`task is one of ${[...KINDS].join(', ')}`);
  }
  if (kind === 'explain') return explainOf(task!);
  if (kind === 'read') return readOf(task!);
  if (kind === 'diff') return diffOf(task!);
  if (kind === 'archive') return archiveOf(task!);
  const place = PLACES[kind] ?? 'dest';
  const path = task![place];
  if (typeof path !== 'string' || !isAbsolute(path)) {
    throw new IllegalArgumentException(`${place} must be an absolute path on the server's machine`);
  }
  const { tables = null } = task!;
  if (
    tables !== null &&
    !(Array.isArray(tables) && tables.every((name) => typeof name === 'string'))
  ) {
    throw new IllegalArgumentException('tables must be a list of names, or null for all');
  }
  const options = task!['options'] ?? {};
  if (typeof options !== 'object') throw new IllegalArgumentException('options must be an object');
  return { ...task, tables, options } as object as Task;
}

/** The member that names the folder. */
const PLACES: Readonly<Record<string, string>> = {
  export: 'out',
  import: 'dir',
  fork: 'dir',
  replay: 'src',
};

function archiveOf({ keep = null }: Readonly<Record<string, unknown>>): Task {
  if (keep !== null && typeof keep !== 'boolean') {
    throw new IllegalArgumentException('keep must be true, false or null');
  }
  return { task: 'archive', keep };
}

function diffOf(task: Readonly<Record<string, unknown>>): Task {
  const { table, from, to = 'now', options = {} } = task;
  if (typeof table !== 'string') throw new IllegalArgumentException('table must be a name');
  if (!isMoment(from) || !isMoment(to)) {
    throw new IllegalArgumentException("from and to must be TSOs, times or 'now'");
  }
  if (typeof options !== 'object' || options === null) {
    throw new IllegalArgumentException('options must be an object');
  }
  return { task: 'diff', table, from, to, options };
}

/** The table's name and which of the three; the read itself is checked where it is done. */
function readOf(task: Readonly<Record<string, unknown>>): Task {
  const { table, get, scan, count, options } = task;
  if (typeof table !== 'string') throw new IllegalArgumentException('table must be a name');
  if (get instanceof Uint8Array) {
    return { task: 'read', table, get, options: options ?? {} };
  }
  if (typeof scan === 'object' && scan !== null) return { task: 'read', table, scan };
  if (typeof count === 'object' && count !== null) return { task: 'read', table, count };
  throw new IllegalArgumentException('a read is a get of bytes, a scan or a count with options');
}

const isMoment = (value: unknown): value is AsOf =>
  value === 'now' || typeof value === 'bigint' || value instanceof Date;

/** The table's name; the read itself is checked by `explain`. */
function explainOf({ table, target }: Readonly<Record<string, unknown>>): Task {
  if (typeof table !== 'string') throw new IllegalArgumentException('table must be a name');
  return { task: 'explain', table, target: target as ExplainTarget };
}

const isAbsolute = (path: string): boolean => path.startsWith('/') || /^[A-Za-z]:[/\\]/.test(path);
