/**
 * Opens a data folder or a backup in place, to read only: nothing on the disk is changed. Store files are read where they lie;
 * the log and the manifest are brought into memory, as is what a backup's log adds to its files.
 */
import { EmbeddedConnection, openServer } from '../engine/index.ts';
import type { Logger, RegionServer } from '../engine/index.ts';
import { FileNotFoundException, FolderLockedException, viewEnv } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { DataLayout } from '../manifest/index.ts';
import { DoNotRetryIOException } from '../model/index.ts';
import { BACKUP_MANIFEST } from './backup_format.ts';
import { holdsBackups } from './backup_admin.ts';
import { restoreBackup } from './restore.ts';
import type { WorkOptions } from './work.ts';

/** Where a view's own files lie, in a file system of its own. */
const VIEW_ROOT = '/cellar-view';

export interface ReadOnlyOptions extends WorkOptions {
  /** Of a backup: the moment to restore; of a data folder reads say it themselves. */
  readonly asOf?: bigint | Date;
  /** Of a folder of backups: whose chain. */
  readonly id?: string;
  readonly logger?: Logger;
}

/**
 * Opens `dir`: a data folder, a folder of backups, or one backup of it. Writes throw DoNotRetryIOException. Throws
 * FolderLockedException for a data folder that is in use, FileNotFoundException, and what restoring throws.
 */
export async function openReadOnly(
  env: Env,
  dir: string,
  options: ReadOnlyOptions = {},
): Promise<EmbeddedConnection> {
  const server = await openView(env, dir, options);
  server.queue.stop(new DoNotRetryIOException(`${dir} is opened read only`));
  return new EmbeddedConnection(server);
}

async function openView(env: Env, dir: string, options: ReadOnlyOptions): Promise<RegionServer> {
  const view = viewEnv(env, VIEW_ROOT);
  const root = `${VIEW_ROOT}/store`;
  await view.fs.ensureFolder(VIEW_ROOT);
  const { logger } = options;
  const open = (): Promise<RegionServer> =>
    openServer(root, {
      env: view,
      autoCompact: false,
      ...(logger === undefined ? {} : { logger }),
    });
  const backup = await backupAt(env, dir, options.id ?? null);
  if (backup !== null) {
    const { asOf } = options;
    await restoreBackup(view, backup.dest, root, {
      ...options,
      link: true,
      // Nobody could decide them here.
      transactions: 'leave',
      ...(backup.id === null ? {} : { id: backup.id }),
      ...(asOf === undefined ? {} : { asOf }),
    });
    return open();
  }
  await refuseUnlessFree(env, dir);
  await linkTree(env, view, dir, root);
  return open();
}

/** The folder of backups, and which one of it. */
async function backupAt(
  env: Env,
  dir: string,
  id: string | null,
): Promise<{ readonly dest: string; readonly id: string | null } | null> {
  if ((await env.fs.stat(`${dir}/${BACKUP_MANIFEST}`)) !== null) {
    const at = dir.lastIndexOf('/');
    return at < 0
      ? { dest: '.', id: dir }
      : { dest: dir.slice(0, at) || '/', id: dir.slice(at + 1) };
  }
  return (await holdsBackups(env, dir)) ? { dest: dir, id } : null;
}

async function refuseUnlessFree(env: Env, dir: string): Promise<void> {
  if ((await env.fs.stat(new DataLayout(dir).manifest)) === null) {
    throw new FileNotFoundException(`${dir} holds neither a store nor backups`, dir);
  }
  const holder = await env.fs.lockHolder(dir);
  if (holder === null) return;
  throw new FolderLockedException(
    `${dir} is in use by process ${holder.pid}: it cannot be looked at from outside`,
    dir,
    { pid: holder.pid, address: holder.address },
  );
}

async function linkTree(env: Env, view: Env, from: string, to: string): Promise<void> {
  await view.fs.ensureFolder(to);
  for (const name of await env.fs.list(from)) {
    if (name === 'LOCK' || name === 'tmp') continue;
    const stat = await env.fs.stat(`${from}/${name}`);
    if (stat?.isDirectory === true) await linkTree(env, view, `${from}/${name}`, `${to}/${name}`);
    else if (stat !== null) await view.fs.link(`${from}/${name}`, `${to}/${name}`);
  }
}
