/** What is done with backups beside taking and restoring them: checking, merging, deleting. */
import type { Env } from '../io/index.ts';
import { StoreException } from '../io/index.ts';
import { BlockCache, HFileReader } from '../hfile/index.ts';
import { READY, WAIT } from '../cell/index.ts';
import { LogReader } from '../wal/index.ts';
import {
  BACKUP_MANIFEST,
  PARTIAL_PREFIX,
  entriesOf,
  sealedOf,
  sizeOf,
  writeBackup,
} from './backup_format.ts';
import type { Backup, BackupPart, PreparedName } from './backup_format.ts';
import { chainOf, dependentsOf, findBackup, firstTso, listBackups, partialsIn } from './chains.ts';
import type { BackupSet } from './chains.ts';
import { copyChecked, entryFault, syncFolders } from './checked_file.ts';
import { BackupException } from './errors.ts';
import type { Fault, VerifyOptions, VerifyReport } from './verify.ts';
import { transactionFaults } from './verify_transactions.ts';
import { Work } from './work.ts';
import type { WorkOptions } from './work.ts';

/**
 * Checks backups: every file's length and checksum, every cell and log record that can be read, and that the chains hang
 * together. `ids` null: all.
 */
export async function verifyBackups(
  env: Env,
  dest: string,
  ids: readonly string[] | null,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const work = new Work(env, options);
  const set = await listBackups(env, dest);
  const chosen = ids === null ? set.backups : ids.map((id) => findBackup(set, id));
  const faults: Fault[] = [];
  if (ids === null) {
    faults.push(...set.broken.map(({ id, what }) => ({ path: `${dest}/${id}`, what })));
  }
  let cells = 0;
  let files = 0;
  for (const backup of chosen) {
    work.bytesTotal += sizeOf(backup);
    faults.push(...chainFaults(set, backup));
    const found = await verifyOne(work, dest, backup, options.quick === true);
    faults.push(...found.faults);
    // What is damaged was told; whose it is, too, would be said twice.
    if (found.faults.length === 0) {
      faults.push(...(await transactionFaults(work, set, backup, options.quick === true)));
    }
    cells += found.cells;
    files += entriesOf(backup).length;
  }
  const bytes = chosen.reduce((sum, backup) => sum + sizeOf(backup), 0);
  return { files, bytes, cells, faults };
}

function chainFaults(set: BackupSet, backup: Backup): Fault[] {
  try {
    chainOf(set, backup);
    return [];
  } catch (error) {
    if (!(error instanceof BackupException)) throw error;
    return [{ path: `${set.dir}/${backup.id}`, what: error.message }];
  }
}

async function verifyOne(
  work: Work,
  dest: string,
  backup: Backup,
  quick: boolean,
): Promise<{ readonly faults: readonly Fault[]; readonly cells: number }> {
  const dir = `${dest}/${backup.id}`;
  const faults: Fault[] = [];
  let cells = 0;
  for (const part of backup.parts) {
    for (const entry of [...part.files, ...part.log]) {
      work.begin(entry.path);
      const path = `${dir}/${entry.path}`;
      const fault = await entryFault(work, dir, entry);
      if (fault !== null) {
        faults.push({ path, what: fault });
        continue;
      }
      if (quick || part.log.includes(entry)) continue;
      const found = await countCells(work, path);
      if (typeof found === 'string') faults.push({ path, what: found });
      else cells += found;
    }
    if (!quick && faults.length === 0) {
      const found = await countLog(work, dir, part);
      if (typeof found === 'string') faults.push({ path: `${dir}/log`, what: found });
      else cells += found;
    }
  }
  return { faults, cells };
}

async function countCells(work: Work, path: string): Promise<number | string> {
  return guarded(async () => {
    const reader = await HFileReader.open(work.env.fs, path, new BlockCache(1 << 20));
    try {
      const source = reader.cursor({ cacheBlocks: false, sequential: true });
      let count = 0;
      let state = source.seekToFirst();
      for (; state === WAIT; state = source.seekToFirst()) await source.load();
      while (state === READY) {
        count++;
        state = source.next();
        for (; state === WAIT; state = source.next()) {
          await source.load();
          work.check();
        }
      }
      return count;
    } finally {
      await reader.close();
    }
  });
}

async function countLog(work: Work, dir: string, part: BackupPart): Promise<number | string> {
  const first = part.log[0];
  if (first === undefined) return 0;
  const folder = `${dir}/${first.path.slice(0, first.path.lastIndexOf('/'))}`;
  return guarded(async () => {
    const reader = new LogReader(work.env, [folder]);
    try {
      let count = 0;
      while (await reader.nextBatch()) {
        while (reader.next()) {
          while (reader.record.nextGroup()) while (reader.record.nextCell()) count++;
        }
        work.check();
      }
      return count;
    } finally {
      await reader.close();
    }
  });
}

async function guarded(count: () => Promise<number>): Promise<number | string> {
  try {
    return await count();
  } catch (error) {
    if (error instanceof StoreException && error.code === 'CorruptionException')
      return error.message;
    throw error;
  }
}

/**
 * Makes one backup of several that follow each other in a chain, with or without the full one; every moment that they covered
 * stays covered. The others go. Answers the new one.
 */
export async function mergeBackups(
  env: Env,
  dest: string,
  ids: readonly string[],
  options: WorkOptions = {},
): Promise<Backup> {
  const work = new Work(env, options);
  const set = await listBackups(env, dest);
  const row = rowOf(set, ids);
  const first = row[0]!;
  const last = row.at(-1)!;
  const id = `${last.id}m${row.length}`;
  const partial = `${dest}/${MERGING}${id}`;
  await sweepAdmin(env, dest);
  try {
    const parts: BackupPart[] = [];
    for (const backup of row) {
      for (const part of backup.parts) {
        parts.push(await movePart(work, `${dest}/${backup.id}`, partial, part, parts.length));
      }
    }
    const { storeId, createdMs, toTso, all, tables, prepared } = last;
    const merged = {
      id,
      storeId,
      createdMs,
      toTso,
      all,
      tables,
      kind: first.kind,
      parentId: first.parentId,
      fromTso: first.fromTso,
      linked: row.some(({ linked }) => linked),
      replaces: row.flatMap((backup) => [backup.id, ...backup.replaces]),
      ...(prepared === undefined ? {} : { prepared }),
      parts,
    };
    await env.fs.ensureFolder(partial);
    await writeBackup(env, partial, merged);
    await env.fs.rename(partial, `${dest}/${id}`);
    await env.fs.syncFolder(dest);
    for (const backup of row) await removeFolder(env, dest, backup.id);
    return sealedOf(merged);
  } catch (error) {
    await env.fs.remove(partial);
    throw error;
  }
}

/** The backups in order; each hangs on the one before. */
function rowOf(set: BackupSet, ids: readonly string[]): Backup[] {
  const row = ids.map((id) => findBackup(set, id)).sort((a, b) => (a.toTso < b.toTso ? -1 : 1));
  if (row.length < 2) throw new BackupException('name at least two backups to merge');
  for (const [i, backup] of row.entries()) {
    const before = row[i - 1];
    if (before === undefined) continue;
    const hangs = [before.id, ...before.replaces].includes(backup.parentId ?? '');
    if (!hangs || before.toTso !== backup.fromTso) {
      throw new BackupException(
        `backup ${backup.id} does not hang on ${before.id}: they cannot be merged`,
      );
    }
  }
  return row;
}

/** Gives the files of a part their place in the new folder: by links where that is possible. */
async function movePart(
  work: Work,
  from: string,
  to: string,
  part: BackupPart,
  index: number,
): Promise<BackupPart> {
  const { env } = work;
  const folders = new Set<string>();
  const move = async <T extends { path: string; sizeBytes: number; crc32: string }>(
    entry: T,
  ): Promise<T> => {
    const path = `${index}/${entry.path}`;
    const folder = `${to}/${path.slice(0, path.lastIndexOf('/'))}`;
    await env.fs.ensureFolder(folder);
    folders.add(folder);
    try {
      await env.fs.link(`${from}/${entry.path}`, `${to}/${path}`);
    } catch (error) {
      if (!(error instanceof StoreException)) throw error;
      await copyChecked(work, `${from}/${entry.path}`, `${to}/${path}`, entry);
    }
    return { ...entry, path };
  };
  const files = [];
  for (const entry of part.files) files.push(await move(entry));
  const log = [];
  for (const entry of part.log) log.push(await move(entry));
  if (folders.size > 0) await syncFolders(env, folders, to);
  return { ...part, files, log };
}

/** The manifest goes first: what is left of the folder is no backup. */
async function removeFolder(env: Env, dest: string, id: string): Promise<void> {
  await env.fs.rename(`${dest}/${id}`, `${dest}/${DELETING}${id}`);
  await env.fs.syncFolder(dest);
  await env.fs.remove(`${dest}/${DELETING}${id}`);
}

const MERGING: string = `${PARTIAL_PREFIX}merge-`;
const DELETING: string = `${PARTIAL_PREFIX}delete-`;

/** Removes what merges and deletions that a crash ended have left. */
async function sweepAdmin(env: Env, dest: string): Promise<void> {
  for (const name of await partialsIn(env, dest)) {
    if (name.startsWith(MERGING) || name.startsWith(DELETING))
      await env.fs.remove(`${dest}/${name}`);
  }
}

/** Deletes backups. Throws BackupException where others hang on one, unless `cascade`; answers what is gone. */
export async function deleteBackups(
  env: Env,
  dest: string,
  ids: readonly string[],
  cascade: boolean,
): Promise<string[]> {
  await sweepAdmin(env, dest);
  const set = await listBackups(env, dest);
  const gone = new Set<Backup>();
  for (const id of ids) {
    const broken = set.broken.find((backup) => backup.id === id);
    if (broken !== undefined) {
      await env.fs.remove(`${dest}/${id}`);
      continue;
    }
    gone.add(findBackup(set, id));
  }
  for (const backup of [...gone]) {
    const dependents = dependentsOf(set, backup).filter((other) => !gone.has(other));
    if (dependents.length > 0 && !cascade) {
      throw new BackupException(
        `${dependents.map(({ id }) => id).join(', ')} hang(s) on backup ${backup.id}: delete them, too (cascade), or merge them`,
      );
    }
    for (const other of dependents) gone.add(other);
  }
  const ordered = [...gone].sort((a, b) => (a.toTso > b.toTso ? -1 : 1));
  for (const { id } of ordered) await removeFolder(env, dest, id);
  return ordered.map(({ id }) => id);
}

/** What `prune` keeps: so many of the newest chains, or those that reach into so many milliseconds before now. */
export type PruneRule = { readonly chains: number } | { readonly ageMs: number };

/** Deletes whole chains that the rule does not keep; the newest chain always stays. */
export async function pruneBackups(env: Env, dest: string, rule: PruneRule): Promise<string[]> {
  const set = await listBackups(env, dest);
  const fulls = set.backups.filter(({ kind }) => kind === 'full').reverse();
  const oldestMs = 'ageMs' in rule ? env.clock.nowMs() - rule.ageMs : 0;
  const gone: string[] = [];
  for (const [i, full] of fulls.entries()) {
    const members = [full, ...dependentsOf(set, full)];
    const newestMs = Math.max(...members.map(({ createdMs }) => createdMs));
    const isKept =
      'chains' in rule ? i < Math.max(1, rule.chains) : i === 0 || newestMs >= oldestMs;
    if (!isKept) gone.push(...(await deleteBackups(env, dest, [full.id], true)));
  }
  return gone;
}

/** A backup in figures. */
export interface BackupSummary {
  readonly id: string;
  readonly kind: 'full' | 'incremental';
  readonly parentId: string | null;
  /** The moments that it gives, together with those it hangs on. */
  readonly fromTso: bigint;
  readonly toTso: bigint;
  readonly createdMs: number;
  readonly all: boolean;
  readonly tables: readonly string[];
  readonly files: number;
  readonly bytes: number;
  readonly logBytes: number;
  readonly linked: boolean;
  readonly replaces: readonly string[];
  /** Ranges of commits that skipped the log. */
  readonly skipped: number;
  /** Transactions that were PREPARED at `toTso`; null: an older program took the backup, they are not in it. */
  readonly prepared: readonly PreparedName[] | null;
}

export function summaryOf(backup: Backup): BackupSummary {
  const { id, kind, parentId, createdMs, all, tables, linked, replaces, parts } = backup;
  const log = parts.flatMap((part) => part.log);
  return {
    id,
    kind,
    parentId,
    fromTso: kind === 'full' ? firstTso(backup) : backup.fromTso,
    toTso: backup.toTso,
    createdMs,
    all,
    tables,
    files: entriesOf(backup).length,
    bytes: sizeOf(backup),
    logBytes: log.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    linked,
    replaces,
    skipped: parts.reduce((sum, part) => sum + part.skipped.length, 0),
    prepared: backup.prepared ?? null,
  };
}

/** Whether a folder holds backups rather than an export. */
export async function holdsBackups(env: Env, dir: string): Promise<boolean> {
  if ((await env.fs.stat(dir))?.isDirectory !== true) return false;
  for (const name of await env.fs.list(dir)) {
    if ((await env.fs.stat(`${dir}/${name}/${BACKUP_MANIFEST}`)) !== null) return true;
  }
  return false;
}
