/**
 * A backup: a folder `DEST/<id>` whose `backup.json` (sealed_json.ts) is written last and says what it holds.
 *
 *     DEST/<id>/backup.json
 *     DEST/<id>/files/…            store files, under their paths in the data folder
 *     DEST/<id>/log/<n>/…          log segments with the records of one part (wal/format.ts), whole records as they were
 *     DEST/.partial-<id>/          under way, or broken off
 *
 *     format "cellar-backup", version 1; 2 with a ledger in some part
 *     id, kind (full, incremental), parentId, storeId, createdMs, fromTso, toTso
 *     all, tables     whose tables: all, those made later, too, or those named
 *     linked          files are links to those of the store: to damage one is to damage both
 *     replaces        backups that were merged into this one
 *     prepared        transactions that were PREPARED at toTso; absent: not known
 *     parts           in the order of time, each [fromTso, toTso]:
 *       kind base     the state at toTso: files
 *       kind log      the commits in (fromTso, toTso]: log, files that the log does not carry, ranges that skipped the log
 *       catalog       tables and regions as they were at the end of the part
 *       ledger        the same of the table that holds the transactions' states, whose files and commits are among the others; absent: none
 *
 * In JSON a 64-bit number is {"$n":"digits"}, bytes are {"$x":"hex"}, a time is {"$t":milliseconds}; an object with a key of its own
 * that begins with $ is {"$o":[[key,value],…]}.
 */
import type { Env } from '../io/index.ts';
import { CorruptionException } from '../io/index.ts';
import type { FileRecord, NamespaceRecord, RegionRecord, TableRecord } from '../manifest/index.ts';
import type { FamilyOrigin } from '../txn/index.ts';
import type { LogPlace } from '../wal/index.ts';
import type { FileEntry } from './checked_file.ts';
import { readSealed, writeSealed } from './sealed_json.ts';

export const BACKUP_MANIFEST = 'backup.json';
export const PARTIAL_PREFIX = '.partial-';
const FORMAT = 'cellar-backup';
const VERSION_MAX = 2;

/**
 * live: of the state. history: of the state, too, with `dropTso` above it. loaded: came whole at `addedTso`. covering: has commits
 * that skipped the log. staged: of a transaction that was PREPARED for some time of the part.
 */
export type FileRole = 'live' | 'history' | 'loaded' | 'covering' | 'staged';

export interface BackedRecord {
  readonly role: FileRole;
  readonly record: FileRecord;
  /** Of a staged file: whose it is. Its records follow each other in the order of their ids. */
  readonly txnId?: bigint;
}

/** One physical file and what stands for it. */
export interface BackedFile extends FileEntry {
  readonly records: readonly BackedRecord[];
}

export interface CatalogTable {
  readonly record: TableRecord;
  /** Those that it had at the end of the part; of a dropped table those of its end. */
  readonly regions: readonly RegionRecord[];
}

export interface BackupCatalog {
  readonly namespaces: readonly NamespaceRecord[];
  /** Those that were dropped within the part, too. */
  readonly tables: readonly CatalogTable[];
}

/** A transaction that was PREPARED at the end of a backup. */
export interface PreparedName {
  readonly txnId: bigint;
  readonly namespace: string;
  readonly label: string;
  readonly rows: number;
  readonly cells: number;
  readonly bytes: number;
  /** Over its cells, with ids of where it was prepared: `origins` says which. */
  readonly digest: string | null;
  /** Its cells lie in staged files, not in the ledger. */
  readonly isStaged: boolean;
  readonly origins?: readonly FamilyOrigin[];
}

/** First and last TSO of commits that skipped the log. */
export interface SkippedRange {
  readonly first: bigint;
  readonly last: bigint;
}

export interface BackupPart {
  readonly kind: 'base' | 'log';
  readonly fromTso: bigint;
  readonly toTso: bigint;
  readonly catalog: BackupCatalog;
  readonly ledger?: CatalogTable;
  readonly files: readonly BackedFile[];
  /** In order; all in one folder. */
  readonly log: readonly FileEntry[];
  readonly skipped: readonly SkippedRange[];
  /** Where the store's log was when the part was taken: every record above `toTso` lies there or behind. */
  readonly logAt?: LogPlace;
}

export interface Backup {
  readonly format: string;
  readonly version: number;
  readonly id: string;
  readonly kind: 'full' | 'incremental';
  readonly parentId: string | null;
  readonly storeId: string;
  readonly createdMs: number;
  readonly fromTso: bigint;
  readonly toTso: bigint;
  readonly all: boolean;
  readonly tables: readonly string[];
  readonly linked: boolean;
  readonly replaces: readonly string[];
  readonly prepared?: readonly PreparedName[];
  readonly parts: readonly BackupPart[];
}

/** A backup as it is before it is written. */
export type BackupBody = Omit<Backup, 'format' | 'version'>;

/** An older program would take staged files for those of a table: it must not read such a backup. */
export function sealedOf(body: BackupBody): Backup {
  const version = body.parts.some(({ ledger }) => ledger !== undefined) ? 2 : 1;
  return { format: FORMAT, version, ...body };
}

/** 64-bit numbers, bytes and times as objects that JSON knows. */
export function plainOf(value: unknown): unknown {
  if (typeof value === 'bigint') return { $n: value.toString() };
  if (value instanceof Date) return { $t: value.getTime() };
  if (value instanceof Uint8Array) return { $x: Buffer.from(value).toString('hex') };
  if (Array.isArray(value)) return value.map(plainOf);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, plainOf(member)]);
  const isMistakable = entries.some(([key]) => String(key).startsWith('$'));
  return isMistakable ? { $o: entries } : (Object.fromEntries(entries) as object);
}

/** The reverse of `plainOf`. */
export function richOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(richOf);
  if (typeof value !== 'object' || value === null) return value;
  const { $n, $x, $t, $o } = value as Readonly<Record<string, unknown>>;
  if (typeof $n === 'string' && /^-?\d+$/.test($n)) return BigInt($n);
  if (typeof $x === 'string') return new Uint8Array(Buffer.from($x, 'hex'));
  if (typeof $t === 'number') return new Date($t);
  const entries = Array.isArray($o) ? ($o as readonly [string, unknown][]) : Object.entries(value);
  return Object.fromEntries(entries.map(([key, member]) => [key, richOf(member)] as const));
}

export async function writeBackup(env: Env, dir: string, backup: BackupBody): Promise<void> {
  const body = plainOf(sealedOf(backup)) as { format: string; version: number };
  await writeSealed(env, `${dir}/${BACKUP_MANIFEST}`, body);
}

/** Throws FileNotFoundException, CorruptionException, ExportFormatException. */
export async function readBackup(env: Env, dir: string): Promise<Backup> {
  const path = `${dir}/${BACKUP_MANIFEST}`;
  const body = richOf(await readSealed(env, path, { format: FORMAT, version: VERSION_MAX }));
  if (!isBackup(body)) throw new CorruptionException('members of a backup are missing', path, 0);
  return body;
}

function isBackup(body: unknown): body is Backup {
  const { id, fromTso, toTso, parts, tables, replaces } = body as Readonly<Record<string, unknown>>;
  return (
    typeof id === 'string' &&
    typeof fromTso === 'bigint' &&
    typeof toTso === 'bigint' &&
    Array.isArray(tables) &&
    Array.isArray(replaces) &&
    Array.isArray(parts) &&
    (parts as readonly unknown[]).every(isPart)
  );
}

function isPart(part: unknown): boolean {
  const { toTso, files, log, catalog } = part as Readonly<Record<string, unknown>>;
  const { tables } = (catalog ?? {}) as Readonly<Record<string, unknown>>;
  return (
    typeof toTso === 'bigint' && Array.isArray(files) && Array.isArray(log) && Array.isArray(tables)
  );
}

/** Every file of a backup, relative to its folder. */
export function entriesOf(backup: Backup): FileEntry[] {
  return backup.parts.flatMap(({ files, log }) => [...files, ...log]);
}

export const sizeOf = (backup: Backup): number =>
  entriesOf(backup).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
