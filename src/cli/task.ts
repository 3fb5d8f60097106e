/** Runs a task on a data folder, or on the server that has it open: the same commands for both. */
import path from 'node:path';
import { InterruptedIOException, plainOf, richOf, runTask } from '../backup/index.ts';
import type { Task, TaskResults, TaskWork, WorkFigures } from '../backup/index.ts';
import { ApiException, NoAnswerException } from '../client/txn/index.ts';
import type { ApiClient } from '../client/txn/index.ts';
import { EmbeddedConnection } from '../engine/index.ts';
import { FolderLockedException } from '../io/index.ts';
import type { Connection } from '../model/index.ts';
import { apiClientOf } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import { UsageError } from './context.ts';
import type { CliContext, StoreAccess } from './context.ts';
import { guarded, quietProgress, workProgress } from './work_progress.ts';
import type { WorkProgress } from './work_progress.ts';

/**
 * The task's result; null after Ctrl-C. With --server it runs there; a folder that a server has open is that server's, whose
 * address stands in the folder's lock.
 */
export async function runOrAsk<T extends Task>(
  context: CliContext,
  flags: TargetOptions,
  task: T,
  verb: string,
  access: StoreAccess = { mustExist: true },
  onItem?: TaskItem,
): Promise<TaskResults[T['task']] | null> {
  const named = apiClientOf(flags, context);
  // What a read finds is shown as it comes: there is no bar between.
  const progressOf = task.task === 'read' ? quietProgress : workProgress;
  const progress = progressOf(context, verb);
  if (named !== null) return guarded(context, progress, () => ask(named, task, progress, onItem));
  let store: Connection;
  try {
    store = await context.io.openStore(context.dataFolder(flags), access);
  } catch (error) {
    await progress.stop();
    if (!(error instanceof FolderLockedException) || error.holderAddress === null) throw error;
    const holder = apiClientOf({ ...flags, server: error.holderAddress }, context);
    const again = progressOf(context, verb);
    return guarded(context, again, () => ask(holder!, task, again, onItem));
  }
  try {
    if (!(store instanceof EmbeddedConnection)) throw new UsageError('this works on a data folder');
    const connection = store;
    return await guarded(context, progress, () =>
      runTask(connection, task, workOf(progress, onItem), context.io.env),
    );
  } finally {
    await store.close();
  }
}

/** Takes what a comparison finds, one by one; false: nobody wants any more. `progress` is to be cleared before lines are shown. */
export type TaskItem = (
  item: Parameters<NonNullable<TaskWork['onItem']>>[0],
  progress: WorkProgress,
) => Promise<boolean>;

function workOf(progress: WorkProgress, onItem: TaskItem | undefined): TaskWork {
  if (onItem === undefined) return progress.options;
  return { ...progress.options, onItem: (item) => onItem(item, progress) };
}

/** Throws what the work threw there, as ApiException; null when nobody takes items any more. */
async function ask<T extends Task>(
  client: ApiClient,
  task: T,
  progress: WorkProgress,
  onItem?: TaskItem,
): Promise<TaskResults[T['task']] | null> {
  const stop = new AbortController();
  const body = plainOf(absolute(task)) as Readonly<Record<string, unknown>>;
  for await (const line of client.postLines('/api/admin/tasks', body, stop.signal)) {
    const answer = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if ('progress' in answer) progress.options.onProgress(answer['progress'] as WorkFigures);
    if ('item' in answer && onItem !== undefined) {
      const item = richOf(answer['item']) as Parameters<TaskItem>[0];
      // Leaving the loop hangs up.
      if (!(await onItem(item, progress))) return null;
    }
    if ('result' in answer) return richOf(answer['result']) as TaskResults[T['task']];
    if ('error' in answer) {
      const { error, message, retryable } = answer;
      throw new ApiException(String(error), String(message), 500, retryable === true);
    }
    if (!progress.isStopped()) continue;
    stop.abort();
    throw new InterruptedIOException('interrupted');
  }
  throw new NoAnswerException(`${client.url}: the answer broke off`);
}

/** The server's process stands elsewhere: paths are made absolute here. */
function absolute(task: Task): Task {
  switch (task.task) {
    case 'export':
      return { ...task, out: path.resolve(task.out) };
    case 'explain':
    case 'read':
    case 'archive':
    case 'diff':
      return task;
    case 'replay':
      return { ...task, src: path.resolve(task.src) };
    case 'import':
    case 'fork':
      return { ...task, dir: path.resolve(task.dir) };
    default:
      return { ...task, dest: path.resolve(task.dest) };
  }
}
