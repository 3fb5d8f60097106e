/**
 * Long work on a store as data, so that a running server can be asked for it: what to do, with which options. In JSON, 64-bit
 * numbers, bytes and times are objects (`plainOf`).
 */
import type { EmbeddedConnection } from '../engine/index.ts';
import type { Env } from '../io/index.ts';
import { IllegalArgumentException } from '../model/index.ts';
import type { ExplainTarget, ReadExplanation } from '../model/index.ts';
import { createBackup, reconcile } from './create_backup.ts';
import type { BackupOptions } from './create_backup.ts';
import { exportTables } from './export.ts';
import type { ExportOptions } from './export.ts';
import type { ExportManifest } from './export_manifest.ts';
import { forkStore } from './fork.ts';
import type { ForkOptions, ForkReport } from './fork.ts';
import { importTables } from './import.ts';
import type { ImportOptions, ImportedTable } from './import.ts';
import { summaryOf } from './backup_admin.ts';
import type { BackupSummary } from './backup_admin.ts';
import { restoreIntoServer } from './restore.ts';
import type { RestoreOptions, RestoreReport } from './restore.ts';
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
  | { readonly task: 'explain'; readonly table: string; readonly target: ExplainTarget }
  /** Backups in this folder were deleted: the log that only they needed may go. */
  | { readonly task: 'reconcile'; readonly dest: string };

export interface TaskResults {
  readonly export: ExportManifest;
  readonly import: readonly ImportedTable[];
  readonly backup: BackupSummary;
  readonly restore: RestoreReport;
  readonly fork: ForkReport;
  readonly explain: ReadExplanation;
  readonly reconcile: null;
}

/** Does the work on an open store; exports go to, and imports come from, the files of `env`. Throws what it throws. */
export function runTask<T extends Task>(
  connection: EmbeddedConnection,
  task: T,
  work: WorkOptions,
  env?: Env,
): Promise<TaskResults[T['task']]>;
export async function runTask(
  connection: EmbeddedConnection,
  task: Task,
  work: WorkOptions,
  env: Env = connection.server.env,
): Promise<TaskResults[keyof TaskResults]> {
  return connection.server.track(() => run(connection, task, work, env));
}

async function run(
  connection: EmbeddedConnection,
  task: Task,
  work: WorkOptions,
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
      return restoreIntoServer(server, task.dest, { ...task.options, ...work });
    case 'fork':
      return forkStore(server, task.dir, { ...task.options, ...work });
    case 'explain':
      return connection.table(task.table).explain(task.target);
    case 'reconcile':
      await reconcile(server, task.dest);
      await server.archive.prune();
      return null;
  }
}

const KINDS: ReadonlySet<string> = new Set([
  'export',
  'import',
  'backup',
  'restore',
  'fork',
  'explain',
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
  const place = kind === 'export' ? 'out' : kind === 'import' || kind === 'fork' ? 'dir' : 'dest';
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

/** The table's name; the read itself is checked by `explain`. */
function explainOf({ table, target }: Readonly<Record<string, unknown>>): Task {
  if (typeof table !== 'string') throw new IllegalArgumentException('table must be a name');
  return { task: 'explain', table, target: target as ExplainTarget };
}

const isAbsolute = (path: string): boolean => path.startsWith('/') || /^[A-Za-z]:[/\\]/.test(path);
