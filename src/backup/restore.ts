/**
 * Restores the state of any commit that a chain of backups covers. The files of the full backup are copied and checked on the
 * way; over them goes the log, record by record up to the moment, and what came into tables without it. Nothing is dropped:
 * every cell, version and marker is there with its write number.
 *
 * A new folder is built beside its place and gets its name last; into a store that is there the tables are placed by one commit.
 */
import { openServer } from '../engine/index.ts';
import type { RegionServer } from '../engine/index.ts';
import { IoException } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { canonicalTableName } from '../model/index.ts';
import { TransactionManager } from '../txn/index.ts';
import type { Backup } from './backup_format.ts';
import { chooseChain, listBackups } from './chains.ts';
import type { AsOfMoment, ChosenChain } from './chains.ts';
import { ensureDurableFolder } from './checked_file.ts';
import { Restore } from './restore_run.ts';
import type { RestoreOptions, RestoreReport, RestoreTarget } from './restore_run.ts';
import { Work } from './work.ts';

/**
 * Restores from `dest` into the folder `dir`: a new store, or tables of one that is there. Throws BackupException,
 * CorruptionException for damaged backups, TableExistsException, FolderLockedException, InterruptedIOException; then the
 * target is as it was.
 */
export async function restoreBackup(
  env: Env,
  dest: string,
  dir: string,
  options: RestoreOptions = {},
): Promise<RestoreReport> {
  const chosen = await chooseForRestore(env, dest, options);
  const stat = await env.fs.stat(dir);
  if (stat !== null && !stat.isDirectory) throw new IoException(`${dir} is a file`, dir);
  if (stat !== null && (await env.fs.list(dir)).length > 0) {
    const server = await openServer(dir, openOptions(env, options, true));
    try {
      return await withManager(server, (manager) =>
        restoreInto({ server, manager, isNew: false }, dest, chosen, options),
      );
    } finally {
      await server.close();
    }
  }
  return restoreNew(env, dest, dir, chosen, options);
}

/** The transactions of a store that nobody else has open. */
export async function withManager<T>(
  server: RegionServer,
  work: (manager: TransactionManager) => Promise<T>,
): Promise<T> {
  const manager = await TransactionManager.open(server);
  try {
    return await work(manager);
  } finally {
    await manager.close();
  }
}

const openOptions = (
  env: Env,
  { logger }: RestoreOptions,
  mustExist: boolean,
): Parameters<typeof openServer>[1] => ({
  env,
  mustExist,
  ...(logger === undefined ? {} : { logger }),
});

async function chooseForRestore(
  env: Env,
  dest: string,
  options: RestoreOptions,
): Promise<ChosenChain> {
  const asOf: AsOfMoment = options.asOf ?? null;
  const tables = options.tables?.map(canonicalTableName) ?? null;
  return chooseChain(await listBackups(env, dest), asOf, { id: options.id ?? null, tables });
}

function restoreNew(
  env: Env,
  dest: string,
  dir: string,
  chosen: ChosenChain,
  options: RestoreOptions,
): Promise<RestoreReport> {
  return buildStore(env, dir, options, (server) =>
    withManager(server, (manager) =>
      restoreInto({ server, manager, isNew: true }, dest, chosen, options),
    ),
  );
}

/** Makes a new store in `dir`, which is absent or an empty folder: built beside its place, it gets its name last. */
export async function buildStore<T>(
  env: Env,
  dir: string,
  options: RestoreOptions,
  fill: (server: RegionServer) => Promise<T>,
): Promise<T> {
  const at = dir.lastIndexOf('/');
  const parent = at < 0 ? '.' : dir.slice(0, at) || '/';
  const building = `${dir}.restoring`;
  await env.fs.remove(building); // What a crash left.
  await ensureDurableFolder(env, parent);
  try {
    const server = await openServer(building, openOptions(env, options, false));
    let filled: T;
    try {
      filled = await fill(server);
    } finally {
      await server.close();
    }
    await env.fs.remove(dir); // An empty folder.
    await env.fs.rename(building, dir);
    await env.fs.syncFolder(parent);
    return filled;
  } catch (error) {
    await env.fs.remove(building);
    throw error;
  }
}

/** As `restoreBackup`, into a store that is open, under its other work; `manager` is that of its transactions. */
export async function restoreIntoServer(
  server: RegionServer,
  dest: string,
  options: RestoreOptions = {},
  manager: TransactionManager | null = null,
): Promise<RestoreReport> {
  const chosen = await chooseForRestore(server.env, dest, options);
  return restoreInto({ server, manager, isNew: false }, dest, chosen, options);
}

async function restoreInto(
  target: RestoreTarget,
  dest: string,
  { chain, tso }: ChosenChain,
  options: RestoreOptions,
): Promise<RestoreReport> {
  const work = new Work(target.server.env, options);
  const dirOf = (backup: Backup): string => `${dest}/${backup.id}`;
  const restore = new Restore({ target, work, dirOf, chain, tso, options });
  await restore.check();
  return restore.run();
}

/** Brings a state whose files lie in `dir`, unchecked, into a store: a fork's. */
export async function restoreFrom(
  target: RestoreTarget,
  dir: string,
  state: Backup,
  options: RestoreOptions,
): Promise<RestoreReport> {
  const work = new Work(target.server.env, options);
  return new Restore({
    target,
    work,
    dirOf: () => dir,
    chain: [state],
    tso: state.toTso,
    options,
  }).run();
}
