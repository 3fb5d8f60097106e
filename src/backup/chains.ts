/** The backups in a folder and how they hang together: each incremental one on the backup at whose TSO it begins. */
import type { Env } from '../io/index.ts';
import { StoreException } from '../io/index.ts';
import { physicalMsOf, tsoAsOf } from '../tso/index.ts';
import { BACKUP_MANIFEST, PARTIAL_PREFIX, readBackup } from './backup_format.ts';
import type { Backup } from './backup_format.ts';
import { requireFolder } from './checked_file.ts';
import { BackupException } from './errors.ts';

/** A folder that should hold a backup and cannot be read as one. */
export interface BrokenBackup {
  readonly id: string;
  readonly what: string;
}

export interface BackupSet {
  readonly dir: string;
  /** By their TSO, then by their ids. */
  readonly backups: readonly Backup[];
  readonly broken: readonly BrokenBackup[];
}

/** Reads the manifests of all backups in a folder. Throws FileNotFoundException. */
export async function listBackups(env: Env, dir: string): Promise<BackupSet> {
  await requireFolder(env, dir);
  const backups: Backup[] = [];
  const broken: BrokenBackup[] = [];
  for (const id of await env.fs.list(dir)) {
    if (id.startsWith('.')) continue;
    const stat = await env.fs.stat(`${dir}/${id}`);
    if (stat?.isDirectory !== true) continue;
    if ((await env.fs.stat(`${dir}/${id}/${BACKUP_MANIFEST}`)) === null) {
      broken.push({ id, what: `${BACKUP_MANIFEST} is missing` });
      continue;
    }
    try {
      backups.push(await readBackup(env, `${dir}/${id}`));
    } catch (error) {
      if (!(error instanceof StoreException)) throw error;
      broken.push({ id, what: error.message });
    }
  }
  backups.sort((a, b) => (a.toTso < b.toTso ? -1 : a.toTso > b.toTso ? 1 : a.id < b.id ? -1 : 1));
  return { dir, backups, broken };
}

/** Folders of backups that were broken off. */
export async function partialsIn(env: Env, dir: string): Promise<string[]> {
  return (await env.fs.list(dir)).filter((name) => name.startsWith(PARTIAL_PREFIX));
}

/** Whether the backup is of this id, or that was merged into it. */
export const isBackupOf = (backup: Backup, id: string): boolean =>
  backup.id === id || backup.replaces.includes(id);

/** Throws BackupException, naming what there is. */
export function findBackup(set: BackupSet, id: string): Backup {
  const found = set.backups.find((backup) => isBackupOf(backup, id));
  if (found !== undefined) return found;
  const broken = set.broken.find((backup) => backup.id === id);
  if (broken !== undefined) throw new BackupException(`backup ${id} in ${set.dir}: ${broken.what}`);
  throw new BackupException(`${set.dir} has no backup ${id}`);
}

/** The backup and those it hangs on, from the full one on. Throws BackupException naming the link that is missing. */
export function chainOf(set: BackupSet, backup: Backup): Backup[] {
  const chain = [backup];
  for (let at = backup; at.kind === 'incremental'; at = chain[0]!) {
    const parentId = at.parentId ?? '';
    const parent = set.backups.find((other) => other !== at && isBackupOf(other, parentId));
    const broken = set.broken.find((other) => other.id === parentId);
    if (broken !== undefined) {
      throw new BackupException(
        `backup ${at.id} hangs on ${parentId}, which is damaged: ${broken.what}`,
      );
    }
    if (parent === undefined) {
      throw new BackupException(
        `backup ${at.id} hangs on ${parentId}, which is missing from ${set.dir}`,
      );
    }
    if (parent.storeId !== at.storeId || parent.toTso !== at.fromTso || chain.includes(parent)) {
      throw new BackupException(
        `backup ${at.id} begins at ${at.fromTso}, but ${parent.id}, on which it hangs, ends at ${parent.toTso}`,
      );
    }
    chain.unshift(parent);
  }
  return chain;
}

/** Those that hang on the backup, directly or not. */
export function dependentsOf(set: BackupSet, backup: Backup): Backup[] {
  const found: Backup[] = [];
  for (const other of set.backups) {
    const parents = [backup, ...found];
    const hangs = parents.some(({ id, replaces }) =>
      [id, ...replaces].includes(other.parentId ?? ''),
    );
    if (other !== backup && hangs) found.push(other);
  }
  return found;
}

/** A moment that is asked for. */
export type AsOfMoment = bigint | Date | null;

export interface ChosenChain {
  readonly chain: readonly Backup[];
  readonly tso: bigint;
}

/**
 * The chain that covers a moment (null: the newest there is) with these tables: up to the backup in which it lies. With `id`
 * only that backup's chain. Throws BackupException, saying what is covered.
 */
export function chooseChain(
  set: BackupSet,
  asOf: AsOfMoment,
  options: { readonly id: string | null; readonly tables: readonly string[] | null },
): ChosenChain {
  const candidates =
    options.id === null ? [...set.backups].reverse() : [findBackup(set, options.id)];
  const fitting = candidates.filter((backup) => hasTables(backup, options.tables));
  const newest = fitting[0];
  if (newest === undefined) {
    throw new BackupException(
      candidates.length === 0
        ? `${set.dir} holds no whole backup${brokenText(set)}`
        : `no backup in ${set.dir} has tables ${(options.tables ?? []).join(', ')}`,
    );
  }
  if (asOf === null) return { chain: chainOf(set, newest), tso: newest.toTso };
  const tso = typeof asOf === 'bigint' ? asOf : tsoAsOf(asOf.getTime());
  const reasons: string[] = [];
  for (const backup of fitting) {
    try {
      const chain = chainOf(set, backup);
      const base = firstTso(chain[0]!);
      if (tso < base || tso > backup.toTso) {
        reasons.push(`${backup.id}: ${rangeText(base, backup.toTso)}`);
        continue;
      }
      const last = chain.findIndex((link) => tso <= link.toTso);
      return { chain: chain.slice(0, last + 1), tso };
    } catch (error) {
      if (!(error instanceof BackupException)) throw error;
      reasons.push(error.message);
    }
  }
  const wanted = `${tso} (${new Date(physicalMsOf(tso)).toISOString()})`;
  throw new BackupException(
    `no backup in ${set.dir} covers ${wanted}; ${reasons.join('; ')}${brokenText(set)}`,
  );
}

/** The first moment that a full backup gives. */
export const firstTso = (full: Backup): bigint => full.parts[0]?.toTso ?? full.toTso;

const rangeText = (from: bigint, to: bigint): string =>
  `from ${from} (${new Date(physicalMsOf(from)).toISOString()}) to ${to} (${new Date(physicalMsOf(to)).toISOString()})`;

const brokenText = ({ broken }: BackupSet): string =>
  broken.length === 0
    ? ''
    : `; damaged: ${broken.map(({ id, what }) => `${id} (${what})`).join(', ')}`;

export const hasTables = (backup: Backup, tables: readonly string[] | null): boolean =>
  backup.all || (tables ?? []).every((table) => backup.tables.includes(table));
