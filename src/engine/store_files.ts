/**
 * The store files of an open store: made from the manifest's records, named, placed, and removed from the disk once they
 * have left their store and nobody reads them any more.
 */
import { highOf, lowOf } from './read_point.ts';
import { invariant } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { BlockCache, Codecs, javascriptChecksums, loadChecksums } from '../hfile/index.ts';
import type { HFileSummary } from '../hfile/index.ts';
import type { DataLayout, FileRecord, Manifest } from '../manifest/index.ts';
import type { FileDescription } from '../model/index.ts';
import { RowPlaces, StoreFile } from '../region/index.ts';
import type { FileContext, Region, Store } from '../region/index.ts';
import type { Logger } from './logger.ts';
import type { TableState } from './table_state.ts';

/** The part of the cache's budget that remembers where rows are: one in so many bytes. */
const PLACES_SHARE = 16;

const NO_KEY: Uint8Array = new Uint8Array(0);

/** Of a history file whose cells carry their drop TSOs. */
export const MERGED_FLAG = 'merged';

/** Of a file that other regions have a part in, too: only the rows within the region's borders count. */
export const PART_FLAG = 'part';

/** Store files lie in data/<namespace>/<table>/<region>/<family>: the fifth folder down. */
const FILE_DEPTH = 5;

/** Where a new file belongs. */
export interface FilePlace {
  readonly table: TableState;
  readonly region: Region;
  readonly store: Store;
}

export class StoreFiles {
  readonly cache: BlockCache;
  /** Where gets have found rows. */
  readonly places: RowPlaces;
  readonly #env: Env;
  readonly #layout: DataLayout;
  readonly #manifest: Manifest;
  readonly #logger: Logger;
  readonly #context: FileContext;
  /** Folders that are known to be on the disk. */
  readonly #folders = new Set<string>();
  /** Removals under way. */
  readonly #removals = new Set<Promise<void>>();
  readonly #open = new Set<StoreFile>();
  /** How many store files and holds need a physical file, by its path. */
  readonly #users = new Map<string, number>();

  private constructor(parts: {
    readonly env: Env;
    readonly layout: DataLayout;
    readonly manifest: Manifest;
    readonly logger: Logger;
    readonly context: FileContext;
    readonly places: RowPlaces;
  }) {
    this.#env = parts.env;
    this.#layout = parts.layout;
    this.#manifest = parts.manifest;
    this.#logger = parts.logger;
    this.#context = parts.context;
    this.cache = parts.context.cache;
    this.places = parts.places;
  }

  static async create(parts: {
    readonly env: Env;
    readonly layout: DataLayout;
    readonly manifest: Manifest;
    readonly logger: Logger;
    readonly cacheBytes: number;
    /** Load the machine's own checksums; not in a simulation, where nothing may wait for the real world. */
    readonly nativeChecksums: boolean;
  }): Promise<StoreFiles> {
    const placeBytes = Math.floor(parts.cacheBytes / PLACES_SHARE);
    const context: FileContext = {
      fs: parts.env.fs,
      cache: new BlockCache(parts.cacheBytes - placeBytes),
      readerOptions: {
        checksums: parts.nativeChecksums ? await loadChecksums() : javascriptChecksums,
        codecs: new Codecs(),
      },
    };
    return new StoreFiles({ ...parts, context, places: new RowPlaces(placeBytes) });
  }

  /** Gives the stores of a table the files that the manifest names. Reads no file. */
  attach(table: TableState): void {
    for (const region of table.regions) this.attachRegion(region);
  }

  /** As `attach`, for one region. */
  attachRegion(region: Region): void {
    const stores = [...region.stores, ...region.formerStores];
    const byFamily = new Map(stores.map((store) => [store.familyId, store]));
    const records = [...this.#manifest.filesOf(region.id)].filter(
      (record) => record.removedTso === null,
    );
    records.sort((a, b) => compareAge(b, a));
    for (const record of records) {
      const store = byFamily.get(record.familyId);
      if (store !== undefined) this.#attachTo(region, store, record);
    }
    region.formerStores = region.formerStores.filter(
      ({ files, history }) => files.length + history.length > 0,
    );
    for (const store of region.stores) {
      const flushed = this.#manifest.flushedTo(region.id, store.familyId) ?? 0n;
      store.flushedHigh = highOf(flushed);
      store.flushedLow = lowOf(flushed);
    }
  }

  #attachTo(region: Region, store: Store, record: FileRecord): void {
    const file = this.make(record, store, region);
    if (record.kind !== 'history') {
      store.files = [...store.files, file];
      return;
    }
    const drop = record.dropTso ?? 0n;
    const dropHigh = highOf(drop);
    const dropLow = lowOf(drop);
    const dropsByCell = record.flags.includes(MERGED_FLAG);
    store.history = [...store.history, { file, dropHigh, dropLow, dropsByCell }];
    region.droppedAt(dropHigh, dropLow);
  }

  /** What the manifest says of the table's files, newest first for each store. */
  describe(table: TableState): FileDescription[] {
    return table.regions.flatMap((region) => {
      const records = [...this.#manifest.filesOf(region.id)].filter(
        (file) => file.removedTso === null,
      );
      records.sort((a, b) => a.familyId - b.familyId || compareAge(b, a));
      return records.flatMap((record) => {
        const store = region.stores.find(({ familyId }) => familyId === record.familyId);
        return store === undefined ? [] : [describeFile(record, table, region, store)];
      });
    });
  }

  /** The file of a record, not opened. One that is a part needs its region. */
  make(record: FileRecord, store: Store, region: Region | null = null): StoreFile {
    const { stamp } = record;
    const { fromRow, toRow } = rowsOf(record, region);
    const file = new StoreFile(
      {
        id: record.id,
        path: this.#layout.resolve(record.path),
        sizeBytes: record.sizeBytes,
        cellCount: record.cellCount,
        level: record.level,
        hasTags: record.flags.includes('tags'),
        firstRow: record.firstRow,
        lastRow: record.lastRow,
        minTimestampHigh: highOf(record.minTimestamp),
        minTimestampLow: lowOf(record.minTimestamp),
        maxTimestampHigh: highOf(record.maxTimestamp),
        maxTimestampLow: lowOf(record.maxTimestamp),
        minWriteHigh: highOf(record.minWriteNumber),
        minWriteLow: lowOf(record.minWriteNumber),
        maxWriteHigh: highOf(stamp?.writeNumber ?? record.maxWriteNumber),
        maxWriteLow: lowOf(stamp?.writeNumber ?? record.maxWriteNumber),
        stamp:
          stamp === null
            ? null
            : {
                writeHigh: highOf(stamp.writeNumber),
                writeLow: lowOf(stamp.writeNumber),
                timestamp:
                  stamp.timestamp === null
                    ? null
                    : { high: highOf(stamp.timestamp), low: lowOf(stamp.timestamp) },
              },
        inMemory: store.settings.inMemory,
        isReference: record.reference !== null,
        fromRow,
        toRow,
      },
      this.#context,
    );
    this.#open.add(file);
    this.#use(file.info.path);
    return file;
  }

  #use(path: string): void {
    this.#users.set(path, (this.#users.get(path) ?? 0) + 1);
  }

  /** True if that was the last user and no record of the manifest names the file. */
  #unuse(path: string): boolean {
    const users = (this.#users.get(path) ?? 0) - 1;
    invariant(users >= 0, 'a file is given up as often as it is used', users);
    if (users > 0) this.#users.set(path, users);
    else this.#users.delete(path);
    return users === 0 && !this.#isNamed(this.#layout.relative(path));
  }

  /** Whether a table, history, clone or snapshot names the file, or may name it at the next open. */
  #isNamed(path: string): boolean {
    if (this.#manifest.hasFailed) return true;
    for (const record of this.#manifest.all('file')) if (record.path === path) return true;
    return false;
  }

  /**
   * Keeps these files on the disk, whoever lets go of them, until the release; then those that nothing names go. Paths as
   * in the manifest's records.
   */
  hold(paths: readonly string[]): () => Promise<void> {
    const held = paths.map((path) => this.#layout.resolve(path));
    for (const path of held) this.#use(path);
    return async () => {
      for (const path of held) if (this.#unuse(path)) await this.#env.fs.remove(path);
    };
  }

  /** Paths of a new store file and of the history file beside it; their folder is made, durably. */
  async place(where: FilePlace): Promise<{ path: string; historyPath: string }> {
    const { table, region, store } = where;
    const folder = this.#layout.family(table.name, region.encodedName, store.settings.name);
    await this.#ensureFolder(folder);
    const name = Buffer.from(this.#env.random.bytes(16)).toString('hex');
    return { path: `${folder}/${name}`, historyPath: `${folder}/${name}.history` };
  }

  /** Makes a folder and its parents below the data folder, and syncs each parent's entry. */
  async #ensureFolder(folder: string): Promise<void> {
    if (this.#folders.has(folder)) return;
    const { fs } = this.#env;
    await fs.ensureFolder(folder);
    for (let at = folder; at.length > this.#layout.dir.length;) {
      at = at.slice(0, at.lastIndexOf('/'));
      await fs.syncFolder(at);
    }
    this.#folders.add(folder);
  }

  /** Syncs the entries of the folder that a new file is in. */
  async syncFolderOf(path: string): Promise<void> {
    await this.#env.fs.syncFolder(path.slice(0, path.lastIndexOf('/')));
  }

  /** The manifest's record of a file that was just written. */
  recordOf(
    summary: HFileSummary,
    where: FilePlace,
    facts: Pick<FileRecord, 'kind' | 'maxFlushedTso' | 'dropTso' | 'flags' | 'addedTso' | 'level'>,
  ): FileRecord {
    return {
      id: this.#manifest.takeId('file'),
      tableId: where.table.id,
      regionId: where.region.id,
      familyId: where.store.familyId,
      path: this.#layout.relative(summary.path),
      sizeBytes: summary.sizeBytes,
      cellCount: summary.cellCount,
      firstRow: rowOfKey(summary.firstKey),
      lastRow: rowOfKey(summary.lastKey),
      minTimestamp: summary.timeRangeMin,
      maxTimestamp: summary.timestampMax,
      minWriteNumber: summary.writeMin,
      maxWriteNumber: summary.writeMax,
      stamp: null,
      reference: null,
      removedTso: null,
      ...facts,
      flags: summary.hasTags ? [...facts.flags, 'tags'] : facts.flags,
    };
  }

  /** Removes files that were written and that nothing will name: what they were for has gone meanwhile. */
  async discard(paths: readonly string[]): Promise<void> {
    for (const path of paths) await this.#env.fs.remove(path);
  }

  /** The file has left its store and the manifest: it goes from the disk when nobody reads it any more. */
  retire(file: StoreFile): void {
    file.retire(() => {
      const removal = this.#remove(file);
      this.#removals.add(removal);
      void removal.finally(() => this.#removals.delete(removal));
    });
  }

  async #remove(file: StoreFile): Promise<void> {
    try {
      this.#open.delete(file);
      await file.close();
      if (this.#unuse(file.info.path)) await this.#env.fs.remove(file.info.path);
    } catch (error) {
      // What stays is swept at the next open.
      this.#logger.warn(
        { err: error, path: file.info.path },
        'a retired file could not be removed',
      );
    }
  }

  /**
   * Removes files in the data folders that the manifest does not name: what a crash left. Gives their count. Only before
   * the first flush: a file that is being written is not named yet.
   */
  async sweep(): Promise<number> {
    const { fs } = this.#env;
    const named = new Set<string>();
    for (const record of this.#manifest.all('file')) named.add(this.#layout.resolve(record.path));
    let removed = 0;
    const visit = async (folder: string, depth: number): Promise<void> => {
      for (const name of await fs.list(folder)) {
        const path = `${folder}/${name}`;
        const stat = await fs.stat(path);
        if (stat?.isDirectory === true) {
          if (depth < FILE_DEPTH) await visit(path, depth + 1);
        } else if (stat !== null && depth === FILE_DEPTH && !named.has(path)) {
          await fs.remove(path);
          removed++;
        }
      }
    };
    if ((await fs.stat(this.#layout.data)) !== null) await visit(this.#layout.data, 1);
    return removed;
  }

  async close(): Promise<void> {
    await Promise.all(this.#removals);
    for (const file of this.#open) await file.close();
    this.#open.clear();
  }
}

/** The rows of its physical file that a record stands for; empty bounds are open. */
export function rowsOf(
  record: FileRecord,
  region: { readonly startKey: Uint8Array; readonly endKey: Uint8Array } | null,
): { readonly fromRow: Uint8Array; readonly toRow: Uint8Array } {
  if (record.reference !== null) return record.reference;
  if (!record.flags.includes(PART_FLAG)) return { fromRow: NO_KEY, toRow: NO_KEY };
  invariant(region !== null, 'a part of a file has a region', record.id);
  return { fromRow: region.startKey, toRow: region.endKey };
}

function describeFile(
  record: FileRecord,
  table: TableState,
  region: Region,
  store: Store,
): FileDescription {
  return {
    table: table.name,
    region: region.encodedName,
    family: store.settings.name,
    path: record.path,
    kind: record.kind,
    sizeBytes: record.sizeBytes,
    cells: record.cellCount,
    level: record.level,
    firstRow: record.firstRow,
    lastRow: record.lastRow,
    minTimestamp: record.minTimestamp,
    maxTimestamp: record.maxTimestamp,
    minTso: record.stamp?.writeNumber ?? record.minWriteNumber,
    maxTso: record.stamp?.writeNumber ?? record.maxWriteNumber,
    dropTso: record.dropTso,
    flags: record.flags,
  };
}

/** Older files first: by their newest commit, which a compaction does not change. */
function compareAge(a: FileRecord, b: FileRecord): number {
  const aNewest = a.stamp?.writeNumber ?? a.maxWriteNumber;
  const bNewest = b.stamp?.writeNumber ?? b.maxWriteNumber;
  if (aNewest === bNewest) return a.id - b.id;
  return aNewest < bNewest ? -1 : 1;
}

/** The row of a flat key: u16 length, row, … */
function rowOfKey(key: Uint8Array | null): Uint8Array | null {
  if (key === null) return null;
  return key.slice(2, 2 + ((key[0]! << 8) | key[1]!));
}
