/**
 * Who needs the log's records beyond what recovery needs: backup chains, holds of the manifest (feeds, replicas), readers of
 * this process, and the setting of `cellar wal archive`. While somebody does, released segments go into the archive, and what
 * the log does not carry, the files of bulk loads and clones, is named once more by records of their own, so that it is
 * still there when a backup takes the commits of that time.
 *
 *     setting            value
 *     log.archive.from   TSO in decimal digits: the log above it is kept until the setting goes
 */
import type { Env } from '../io/index.ts';
import { remove } from '../manifest/index.ts';
import type { BackupRecord, DataLayout, FileRecord, Manifest } from '../manifest/index.ts';
import { tsoFrom } from '../tso/index.ts';
import type { Oracle } from '../tso/index.ts';
import { pruneArchive } from '../wal/index.ts';
import type { LogWriter } from '../wal/index.ts';
import { highOf, lowOf } from './read_point.ts';
import type { StoreFiles } from './store_files.ts';

/** Name of the setting that keeps the log whoever needs it. */
export const ARCHIVE_SETTING = 'log.archive.from';

/** Of a record that names a file once more for the archive. */
export const ARCHIVED_FLAG = 'archived';

/** Somebody who needs the log above a TSO. */
export interface LogNeed {
  readonly tso: bigint;
  readonly owner: string;
}

export interface ArchiveHold {
  /** Moves the need up. */
  advance(tso: bigint): void;
  /** Idempotent. */
  release(): void;
}

export class LogArchive {
  readonly #env: Env;
  readonly #layout: DataLayout;
  readonly #manifest: Manifest;
  readonly #files: StoreFiles;
  readonly #log: LogWriter | null;
  readonly #oracle: Oracle;
  /** Folders that backups of this process are being written to. */
  readonly underWay: Set<string> = new Set();
  readonly #holds = new Set<{ tso: bigint; owner: string }>();
  #pruning: Promise<number> = Promise.resolve(0);

  constructor(parts: {
    readonly env: Env;
    readonly layout: DataLayout;
    readonly manifest: Manifest;
    readonly files: StoreFiles;
    readonly log: LogWriter | null;
    readonly oracle: Oracle;
  }) {
    this.#env = parts.env;
    this.#layout = parts.layout;
    this.#manifest = parts.manifest;
    this.#files = parts.files;
    this.#log = parts.log;
    this.#oracle = parts.oracle;
  }

  /** Keeps the log above `tso`, live and archived, while this process reads it. */
  hold(tso: bigint, owner: string): ArchiveHold {
    const held = { tso, owner };
    this.#holds.add(held);
    return {
      advance: (to) => void (held.tso = to > held.tso ? to : held.tso),
      release: () => void this.#holds.delete(held),
    };
  }

  /** Everybody who needs it. */
  needs(): LogNeed[] {
    const nowMs = this.#env.clock.nowMs();
    const needs: LogNeed[] = [...this.#holds].map(({ tso, owner }) => ({ tso, owner }));
    for (const { log, tso, owner, expiresMs } of this.#manifest.all('hold')) {
      if (log && (expiresMs === null || nowMs <= expiresMs)) needs.push({ tso, owner });
    }
    needs.push(...backupNeeds([...this.#manifest.all('backup')]));
    const setting = this.#manifest.get('setting', ARCHIVE_SETTING);
    const { enable_feature_binlog: isFed, binlog_ttl_seconds: seconds } = this.#oracle.knobs;
    if (isFed) {
      needs.push({ tso: tsoFrom(Math.max(0, nowMs - seconds * 1000)), owner: 'change feed' });
    }
    if (setting !== undefined) needs.push({ tso: BigInt(setting.value), owner: 'wal archive' });
    return needs;
  }

  /** Records above this TSO are needed; null: nobody needs more than recovery does. */
  neededAbove(): bigint | null {
    let least: bigint | null = null;
    for (const { tso } of this.needs()) if (least === null || tso < least) least = tso;
    return least;
  }

  get isWanted(): boolean {
    return this.neededAbove() !== null;
  }

  /**
   * Records that name the files of these once more, if somebody will want them: for the commit that makes the files a
   * table's without writing their cells to the log.
   */
  copiesOf(records: readonly FileRecord[]): FileRecord[] {
    if (!this.isWanted) return [];
    return records.map((record) => ({
      ...record,
      id: this.#manifest.takeId('file'),
      regionId: null,
      kind: 'reference',
      flags: [...record.flags, ARCHIVED_FLAG],
    }));
  }

  /** Removes what nobody needs any more: segments, then records of files. Gives the count of segments. */
  prune(): Promise<number> {
    const run = (): Promise<number> => this.#prune();
    // Whether an earlier pass failed does not matter here: its caller was told.
    this.#pruning = this.#pruning.then(run, run);
    return this.#pruning;
  }

  async #prune(): Promise<number> {
    const needed = this.neededAbove();
    const first = this.#log?.segments[0] ?? null;
    const above = needed === null ? null : { high: highOf(needed), low: lowOf(needed) };
    const removed = await pruneArchive(this.#env, this.#layout.archivedWal, above, first);
    const gone = [...this.#manifest.all('file')].filter(
      ({ kind, flags, addedTso }) =>
        kind === 'reference' &&
        flags.includes(ARCHIVED_FLAG) &&
        (needed === null || addedTso <= needed),
    );
    if (gone.length > 0) {
      const release = this.#files.hold(gone.map(({ path }) => path));
      try {
        await this.#manifest.commit(gone.map(({ id }) => remove('file', id)));
      } finally {
        await release();
      }
    }
    return removed;
  }
}

/** What the manifest keeps of a registered backup beside its fields. */
export interface BackupDetail {
  /** Tables made later belong to the chain, too. */
  readonly all: boolean;
  readonly tables: readonly string[];
}

export function packBackupDetail(detail: BackupDetail): Uint8Array {
  return Buffer.from(JSON.stringify(detail), 'utf8');
}

/** An unreadable detail is one of all tables: that keeps most. */
export function backupDetail(record: BackupRecord): BackupDetail {
  try {
    const { all, tables } = JSON.parse(Buffer.from(record.detail).toString('utf8')) as BackupDetail;
    return { all: all === true, tables: Array.isArray(tables) ? tables : [] };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { all: true, tables: [] };
  }
}

/** The newest backup of each chain, unless a newer chain at the same place has all its tables. */
function backupNeeds(records: readonly BackupRecord[]): LogNeed[] {
  // An incremental one that is under way still needs what its parent needs.
  const live = records.filter(
    ({ state, kind }) => state === 'complete' || (state === 'running' && kind === 'full'),
  );
  const parents = new Set(live.map(({ parentId }) => parentId));
  const newest = live.filter(({ id }) => !parents.has(id));
  return newest
    .filter((record) => !newest.some((other) => supersedes(other, record)))
    .map(({ id, toTso, location }) => ({
      tso: toTso,
      owner: `backup ${id} in ${location.slice(0, location.lastIndexOf('#'))}`,
    }));
}

/** The part of a backup's location that stays when its folder is moved or named otherwise: what follows the last '#'. */
export function locationKey({ location }: Pick<BackupRecord, 'location'>): string {
  return location.slice(location.lastIndexOf('#') + 1);
}

function supersedes(newer: BackupRecord, older: BackupRecord): boolean {
  if (newer.id === older.id || locationKey(newer) !== locationKey(older)) return false;
  if (newer.state !== 'complete' || newer.toTso <= older.toTso) return false;
  const a = backupDetail(newer);
  const b = backupDetail(older);
  return a.all || (!b.all && b.tables.every((table) => a.tables.includes(table)));
}
