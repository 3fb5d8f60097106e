/**
 * Bulk load: HFiles from outside become store files. Each is brought into the data folder under a name of its own, synced, and
 * looked through there; then one commit makes all of them live: its TSO is the write number of all their cells, and its
 * time the timestamp of those that ask for LATEST (FileStamp). What fails before that commit leaves nothing behind.
 *
 * A file whose rows lie in several regions is kept once: each region has a record of its part.
 */
import { END, WAIT } from '../cell/index.ts';
import { BlockCache, HFileReader } from '../hfile/index.ts';
import { FileNotFoundException, IoException } from '../io/index.ts';
import type { Env, FileHandle } from '../io/index.ts';
import { put } from '../manifest/index.ts';
import type { DataLayout, FileRecord, Manifest } from '../manifest/index.ts';
import { DoNotRetryIOException, IllegalArgumentException } from '../model/index.ts';
import type { BulkLoadResult } from '../model/index.ts';
import type { Region } from '../region/index.ts';
import type { Background } from './background.ts';
import { inspectJob, regionAt } from './bulk_inspect.ts';
import type { Inspection } from './bulk_inspect.ts';
import type { Catalog } from './catalog.ts';
import type { LogArchive } from './log_archive.ts';
import type { Logger } from './logger.ts';
import type { ReadPoint } from './read_point.ts';
import type { Reads } from './reads.ts';
import type { SchemaChanges } from './schema_changes.ts';
import { PART_FLAG } from './store_files.ts';
import type { StoreFiles } from './store_files.ts';
import type { FamilyState, TableState } from './table_state.ts';

const COPY_BYTES: number = 1 << 20;

export interface BulkLoadParts {
  readonly env: Env;
  readonly layout: DataLayout;
  readonly catalog: Catalog;
  readonly manifest: Manifest;
  readonly schema: SchemaChanges;
  readonly files: StoreFiles;
  readonly reads: Reads;
  readonly readPoint: ReadPoint;
  readonly logger: Logger;
  readonly background: Background;
  readonly archive: LogArchive;
}

/** A file to load. */
interface Source {
  readonly path: string;
  readonly familyIndex: number;
}

export interface LoadOptions {
  /** The files leave the place they were in. */
  readonly move: boolean;
  /** Throws for rows that must not be loaded; null: all may. */
  readonly within: ((firstRow: Uint8Array, lastRow: Uint8Array) => void) | null;
}

/** One that lies in the data folder. */
interface Brought extends Source {
  readonly target: string;
  readonly inspection: Inspection;
}

export class BulkLoad {
  readonly #parts: BulkLoadParts;

  constructor(parts: BulkLoadParts) {
    this.#parts = parts;
  }

  async load(tableName: string, dir: string, move: boolean): Promise<BulkLoadResult> {
    const table = this.#parts.catalog.writable(tableName);
    return this.#load(tableName, await this.#sources(table, dir), { move, within: null });
  }

  /** As `load`, of files named one by one. Throws NoSuchColumnFamilyException and what `within` throws. */
  loadFiles(
    tableName: string,
    files: readonly { readonly family: string; readonly path: string }[],
    options: LoadOptions,
  ): Promise<BulkLoadResult> {
    const table = this.#parts.catalog.writable(tableName);
    const sources = files.map(({ family, path }) => ({
      path,
      familyIndex: table.familyIndex(family),
    }));
    return this.#load(tableName, sources, options);
  }

  async #load(
    tableName: string,
    sources: readonly Source[],
    { move, within }: LoadOptions,
  ): Promise<BulkLoadResult> {
    const { catalog, readPoint, files } = this.#parts;
    const table = catalog.writable(tableName);
    const { families, regions } = table;
    const targets: string[] = [];
    const brought: Brought[] = [];
    // Files that no record names yet: kept from removal, and removed in the end if the commit was not made.
    let release = async (): Promise<void> => undefined;
    try {
      for (const source of sources) {
        const target = await this.#bring(table, source, move, targets);
        if (target === null) continue;
        const inspection = await this.#inspect(table, source, target);
        const first = inspection.parts[0];
        const last = inspection.parts.at(-1);
        if (first !== undefined && last !== undefined) within?.(first.firstRow, last.lastRow);
        brought.push({ ...source, target, inspection });
      }
      if (brought.length === 0) return resultOf(null, brought);
      const { layout } = this.#parts;
      for (const folder of new Set(targets.map(folderOf)))
        await this.#parts.env.fs.syncFolder(folder);
      release = files.hold(targets.map((path) => layout.relative(path)));
      targets.length = 0;
      const tso = await this.#commit(tableName, { table, families, regions }, brought);
      await readPoint.whenAllApplied();
      if (move) await this.#removeSources(brought);
      return resultOf(tso, brought);
    } finally {
      await release();
      for (const target of targets) await this.#parts.env.fs.remove(target);
    }
  }

  /** The files below `dir`, by family and name. Throws NoSuchColumnFamilyException and IllegalArgumentException. */
  async #sources(table: TableState, dir: string): Promise<Source[]> {
    const { fs } = this.#parts.env;
    const stat = await fs.stat(dir);
    if (stat?.isDirectory !== true) {
      throw new FileNotFoundException(`Bulk load dir ${dir} is no folder`, dir);
    }
    const sources: Source[] = [];
    for (const family of visible(await fs.list(dir))) {
      const folder = `${dir}/${family}`;
      if ((await fs.stat(folder))?.isDirectory !== true) {
        throw new IllegalArgumentException(
          `${folder} is no family folder: files to load are in ${dir}/<family>/`,
        );
      }
      const familyIndex = table.familyIndex(family);
      for (const name of visible(await fs.list(folder))) {
        const path = `${folder}/${name}`;
        if ((await fs.stat(path))?.isDirectory === true) {
          throw new IllegalArgumentException(`${path} is a folder, not an HFile`);
        }
        sources.push({ path, familyIndex });
      }
    }
    return sources;
  }

  /** The file's path in the data folder, its content on the disk; null if it has no cells. */
  async #bring(
    table: TableState,
    source: Source,
    move: boolean,
    targets: string[],
  ): Promise<string | null> {
    const { files } = this.#parts;
    const row = await this.#firstRow(source.path);
    if (row === null) return null;
    const region = table.regions[regionAt(startKeysOf(table), row)]!;
    const store = region.stores[source.familyIndex]!;
    const { path } = await files.place({ table, region, store });
    targets.push(path);
    if (!move || !(await this.#link(source.path, path))) await this.#copy(source.path, path);
    return path;
  }

  async #firstRow(path: string): Promise<Uint8Array | null> {
    const reader = await HFileReader.open(this.#parts.env.fs, path, new BlockCache(1 << 20));
    try {
      const cursor = reader.cursor();
      let state = cursor.seekToFirst();
      for (; state === WAIT; state = cursor.seekToFirst()) await cursor.load();
      if (state === END) return null;
      const { block, rowAt, rowLength } = cursor.cell;
      return Uint8Array.prototype.slice.call(block, rowAt, rowAt + rowLength);
    } finally {
      await reader.close();
    }
  }

  /** A second name for the file; false where the file system cannot give it, or not surely. */
  async #link(from: string, to: string): Promise<boolean> {
    const { fs } = this.#parts.env;
    try {
      await fs.link(from, to);
      const handle = await fs.open(to, 'read');
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
      return true;
    } catch (error) {
      if (!(error instanceof IoException)) throw error;
      await fs.remove(to);
      return false;
    }
  }

  async #copy(from: string, to: string): Promise<void> {
    const { fs } = this.#parts.env;
    const input = await fs.open(from, 'read');
    try {
      const output = await fs.open(to, 'create');
      try {
        await copyAll(input, output);
      } finally {
        await output.close();
      }
    } finally {
      await input.close();
    }
  }

  async #inspect(table: TableState, source: Source, target: string): Promise<Inspection> {
    const { env, reads } = this.#parts;
    const nowMs = reads.clock.followedMs();
    const inspection = await env.executor.run(
      inspectJob({
        path: target,
        family: table.families[source.familyIndex]!.settings.nameBytes,
        startKeys: startKeysOf(table),
        nowHigh: Math.floor(nowMs / 0x100000000),
        nowLow: nowMs >>> 0,
      }),
    );
    if (inspection.fault !== null) {
      throw new DoNotRetryIOException(`${source.path} cannot be loaded: ${inspection.fault}`);
    }
    return inspection;
  }

  async #commit(
    tableName: string,
    seen: {
      readonly table: TableState;
      readonly families: readonly FamilyState[];
      readonly regions: readonly Region[];
    },
    brought: readonly Brought[],
  ): Promise<bigint> {
    const { schema, catalog } = this.#parts;
    const { table } = seen;
    let tso = 0n;
    await schema.inOrder(async () => {
      const isAsSeen = table.families === seen.families && table.regions === seen.regions;
      if (catalog.writable(tableName) !== table || !isAsSeen) {
        throw new DoNotRetryIOException(
          `Table ${table.name} was changed while files were loaded into it: load them again`,
        );
      }
      const what = `bulk load ${table.name} ${brought.length} files`;
      await schema.perform(what, table, (at) => {
        tso = at;
        const records = brought.flatMap((file) => this.#recordsOf(table, file, at));
        return {
          edits: [...records, ...this.#parts.archive.copiesOf(records)].map((record) =>
            put('file', record),
          ),
          apply: () => this.#apply(table, records),
        };
      });
    });
    return tso;
  }

  /** One record for each region that has rows of the file. */
  #recordsOf(table: TableState, file: Brought, tso: bigint): FileRecord[] {
    const { manifest, layout } = this.#parts;
    const { inspection } = file;
    const { parts, sizeBytes, cellCount } = inspection;
    const flags = ['bulk'];
    if (inspection.hasTags) flags.push('tags');
    if (parts.length > 1) flags.push(PART_FLAG);
    const timestamp = inspection.hasLatest ? tso >> 18n : null;
    const times = [inspection.minTimestamp, inspection.maxTimestamp, timestamp];
    const known = times.filter((time) => time !== null);
    return parts.map((part) => ({
      id: manifest.takeId('file'),
      tableId: table.id,
      regionId: table.regions[part.regionIndex]!.id,
      familyId: table.families[file.familyIndex]!.id,
      path: layout.relative(file.target),
      kind: 'store',
      // Of a part its share, so that compactions judge it by what they would read.
      sizeBytes: Math.round((sizeBytes * part.cellCount) / cellCount),
      cellCount: part.cellCount,
      firstRow: part.firstRow,
      lastRow: part.lastRow,
      minTimestamp: known.reduce((a, b) => (a < b ? a : b)),
      maxTimestamp: known.reduce((a, b) => (a > b ? a : b)),
      minWriteNumber: tso,
      maxWriteNumber: tso,
      maxFlushedTso: null,
      dropTso: null,
      stamp: { writeNumber: tso, timestamp },
      reference: null,
      level: 0,
      flags,
      addedTso: tso,
      removedTso: null,
    }));
  }

  #apply(table: TableState, records: readonly FileRecord[]): void {
    const { files, reads, background } = this.#parts;
    for (const record of records) {
      const region = table.regions.find(({ id }) => id === record.regionId)!;
      const store = region.stores.find(({ familyId }) => familyId === record.familyId)!;
      store.files = [files.make(record, store, region), ...store.files];
      region.layoutVersion++;
      reads.forget(region);
      background.consider(table, region);
    }
    // Read-modify-writes that have read and not yet committed start over: they would miss what was loaded.
    table.version++;
  }

  /** They are in the data folder, durably: what stays of the sources does no harm. */
  async #removeSources(brought: readonly Brought[]): Promise<void> {
    const { env, logger } = this.#parts;
    try {
      for (const { path } of brought) await env.fs.remove(path);
      for (const folder of new Set(brought.map(({ path }) => folderOf(path)))) {
        await env.fs.syncFolder(folder);
      }
    } catch (error) {
      logger.warn({ err: error }, 'files that were loaded could not be removed from their folder');
    }
  }
}

async function copyAll(input: FileHandle, output: FileHandle): Promise<void> {
  const buf = Buffer.allocUnsafe(COPY_BYTES);
  for (let at = 0; ;) {
    const count = await input.read(buf, at);
    if (count === 0) break;
    await output.write(buf.subarray(0, count), at);
    at += count;
    // In steps, so that no sync of the log has to wait for all of it.
    await output.sync();
  }
}

function resultOf(tso: bigint | null, brought: readonly Brought[]): BulkLoadResult {
  return {
    tso,
    files: brought.length,
    cells: brought.reduce((sum, { inspection }) => sum + inspection.cellCount, 0),
    sizeBytes: brought.reduce((sum, { inspection }) => sum + inspection.sizeBytes, 0),
    filesAcrossRegions: brought.filter(({ inspection }) => inspection.parts.length > 1).length,
  };
}

const startKeysOf = (table: TableState): Uint8Array[] =>
  table.regions.map(({ startKey }) => startKey);

const visible = (names: readonly string[]): string[] =>
  names.filter((name) => !name.startsWith('_') && !name.startsWith('.'));

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));
