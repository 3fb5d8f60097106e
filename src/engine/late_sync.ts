/**
 * Store files that are not synced at close (HBASE-5954 names the switch; here the attribute STORE_FILE_SYNC => 'false' of a
 * table or family). A flush of such a store is live as soon as its file is written; the file is synced behind its back, and
 * until that is done the log still counts as the only copy:
 *
 *     at the switch     the manifest names the file, with a setting `unsynced.<file id>`; `flushed` stays as it was
 *     after the sync    the setting goes and `flushed` is set, in one commit; now the log may go, too
 *     at the next open  files that still have the setting are forgotten: the log is replayed over what was before them
 *
 * So nothing is lost that the log holds, whatever the power does; what skipped the log lives as long as the unsynced file.
 * Files of compactions are always synced: those that they replace go. A sync that fails ends writing (design: a failed
 * sync is never tried again), and the log keeps everything.
 */
import type { Env } from '../io/index.ts';
import { StoreException } from '../io/index.ts';
import { put, remove } from '../manifest/index.ts';
import type { DataLayout, Edit, FileRecord, Manifest } from '../manifest/index.ts';
import type { Logger } from './logger.ts';
import { isLess, highOf, lowOf } from './read_point.ts';
import type { FilePlace } from './store_files.ts';
import type { TableState } from './table_state.ts';

/** On disk. */
const PREFIX = 'unsynced.';

const settingOf = (fileId: number): string => `${PREFIX}${fileId}`;

/** Edits that mark files as not synced yet. */
export const markUnsynced = (files: readonly FileRecord[]): Edit[] =>
  files.map(({ id }) => put('setting', { name: settingOf(id), value: '' }));

/**
 * Forgets the files that a crash found unsynced; the log holds what they held. Before any file is attached; the sweep
 * removes them.
 */
export async function forgetUnsynced(manifest: Manifest, logger: Logger): Promise<void> {
  const ids: number[] = [];
  for (const { name } of manifest.all('setting')) {
    if (name.startsWith(PREFIX)) ids.push(Number(name.slice(PREFIX.length)));
  }
  const edits = ids.flatMap((id) => {
    const setting = remove('setting', settingOf(id));
    return manifest.get('file', id) === undefined ? [setting] : [remove('file', id), setting];
  });
  await manifest.commit(edits);
  if (ids.length > 0)
    logger.info({ files: ids.length }, 'unsynced files are replayed from the log');
}

/** Files of one flush of one store. */
interface Pending {
  readonly place: FilePlace;
  readonly files: readonly FileRecord[];
  readonly flushedTso: bigint;
  /** The least write number in them: the log is needed from there. */
  readonly minWrite: bigint;
}

/** The store takes no writes until it is opened again and has replayed its log. */
export class StoreFileSyncFailedException extends StoreException {
  readonly code: string = 'StoreFileSyncFailedException';
  readonly retryable: boolean = false;

  constructor(reason: string, options: ErrorOptions) {
    super(`a store file could not be synced: ${reason}`, options);
  }
}

export class LateSyncs {
  readonly #env: Env;
  readonly #manifest: Manifest;
  readonly #layout: DataLayout;
  readonly #failed: (error: StoreException) => void;
  readonly #pending = new Set<Pending>();
  /** The last sync of each table: they follow one another, so that `flushed` never runs ahead of an older file. */
  readonly #running = new Map<TableState, Promise<void>>();
  #failure: StoreException | null = null;

  constructor(parts: {
    readonly env: Env;
    readonly manifest: Manifest;
    readonly layout: DataLayout;
    /** A store file could not be synced: no more writes. */
    readonly failed: (error: StoreException) => void;
  }) {
    this.#env = parts.env;
    this.#manifest = parts.manifest;
    this.#layout = parts.layout;
    this.#failed = parts.failed;
  }

  /** Syncs files, which the manifest names and has marked, in the background. In the step in which they become live. */
  begin(place: FilePlace, files: readonly FileRecord[], flushedTso: bigint): void {
    const minWrite = files.reduce<bigint>(
      (least, { minWriteNumber }) => (minWriteNumber < least ? minWriteNumber : least),
      flushedTso,
    );
    const pending = { place, files, flushedTso, minWrite };
    this.#pending.add(pending);
    const { table } = place;
    const before = this.#running.get(table) ?? Promise.resolve();
    const run = before.then(() => this.#run(pending));
    this.#running.set(table, run);
    void run.finally(() => {
      if (this.#running.get(table) === run) this.#running.delete(table);
    });
  }

  /** Where the log is still needed from; null: nowhere. */
  oldest(): { readonly high: number; readonly low: number } | null {
    let oldest: { high: number; low: number } | null = null;
    for (const { minWrite } of this.#pending) {
      const high = highOf(minWrite);
      const low = lowOf(minWrite);
      if (oldest === null || isLess(high, low, oldest.high, oldest.low)) oldest = { high, low };
    }
    return oldest;
  }

  /** Waits until every file of the table, or of all, that was live at the call is synced. Rejects if one could not be. */
  async settled(table?: TableState): Promise<void> {
    if (table === undefined) await Promise.all(this.#running.values());
    else await this.#running.get(table);
    if (this.#failure !== null) throw this.#failure;
  }

  /** Waits for what is under way, whatever comes of it. */
  async stop(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #run(pending: Pending): Promise<void> {
    if (this.#failure !== null) return;
    try {
      for (const { path } of pending.files) await this.#sync(this.#layout.resolve(path));
      await this.#manifest.commit(this.#editsOf(pending));
      this.#pending.delete(pending);
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      const failure = new StoreFileSyncFailedException(cause, { cause: error });
      this.#failure = failure;
      this.#failed(failure);
    }
  }

  async #sync(path: string): Promise<void> {
    const { fs } = this.#env;
    // One that a drop, with its history at an end, has removed meanwhile needs no sync.
    if ((await fs.stat(path)) === null) return;
    const handle = await fs.open(path, 'write');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    await fs.syncFolder(path.slice(0, path.lastIndexOf('/')));
  }

  #editsOf({ place, files, flushedTso }: Pending): Edit[] {
    const { table, region, store } = place;
    const edits: Edit[] = files.map(({ id }) => remove('setting', settingOf(id)));
    if (table.holds(region, store)) {
      const { familyId } = store;
      edits.push(put('flushed', { regionId: region.id, familyId, tso: flushedTso }));
    }
    return edits;
  }
}
