/**
 * Tables on their way into a store: files that are copied as they are, and cells that are gathered and written as files of
 * their own, nothing dropped. The files lie in the data folder under names that no record knows until the tables are placed: a
 * crash before leaves nothing that an opening would not sweep.
 */
import { END, READY, WAIT, compareBytes, u16 } from '../cell/index.ts';
import type { CellSource } from '../cell/index.ts';
import {
  BlockCache,
  HFileReader,
  HFileWriter,
  compressionNamed,
  encodingNamed,
} from '../hfile/index.ts';
import type { HFileSummary } from '../hfile/index.ts';
import type { RegionServer } from '../engine/index.ts';
import { highOf, lowOf } from '../engine/index.ts';
import type { FileRecord } from '../manifest/index.ts';
import { tablePath } from '../manifest/index.ts';
import { familySettings } from '../model/index.ts';
import type { FamilySettings, TableSchema } from '../model/index.ts';
import { Memstore, mergeOf, regionIndexOf, rowRangeOf } from '../region/index.ts';
import { foldersOf, syncFolders } from './checked_file.ts';
import type { Work } from './work.ts';

/** A record but for what placing it decides. */
export type FileFacts = Omit<FileRecord, 'id' | 'tableId' | 'regionId' | 'familyId' | 'addedTso'>;

export interface BuiltFile {
  readonly region: number;
  readonly family: string;
  readonly facts: FileFacts;
}

/** Memory of the cells gathered, over all tables, beyond which they are written. */
const GATHER_BYTES_DEFAULT: number = 48 * 1024 * 1024;

/** The cells of one family of one region, and where they go. */
class Gathered {
  readonly region: number;
  readonly family: FamilySettings;
  memstore: Memstore = new Memstore();

  constructor(region: number, family: FamilySettings) {
    this.region = region;
    this.family = family;
  }
}

export class BuiltTable {
  readonly schema: TableSchema;
  readonly startKeys: readonly Uint8Array[];
  readonly enabled: boolean;
  files: BuiltFile[] = [];
  /** The greatest write number in its files. */
  maxWriteNumber = 0n;
  readonly #builder: TableBuilder;
  readonly #families: ReadonlyMap<string, FamilySettings>;
  readonly #regions: readonly { readonly startKey: Uint8Array }[];
  readonly #gathered = new Map<string, Gathered>();
  readonly #folders: string[] = [];

  constructor(
    builder: TableBuilder,
    schema: TableSchema,
    startKeys: readonly Uint8Array[],
    enabled: boolean,
  ) {
    this.#builder = builder;
    this.schema = schema;
    this.startKeys = startKeys.length === 0 ? [new Uint8Array(0)] : startKeys;
    this.enabled = enabled;
    this.#families = new Map(
      schema.families.map((family) => [family.name, familySettings(family)]),
    );
    this.#regions = this.startKeys.map((startKey) => ({ startKey }));
  }

  /** Whether the table has the family. */
  hasFamily(name: string): boolean {
    return this.#families.has(name);
  }

  endKey(region: number): Uint8Array {
    return this.startKeys[region + 1] ?? new Uint8Array(0);
  }

  /** A path, relative to the data folder, for a file of this region and family; its folder is there. */
  async newPath(region: number, family: string, ending: string = ''): Promise<string> {
    const { env, layout } = this.#builder.server;
    const hex = (): string => Buffer.from(env.random.bytes(16)).toString('hex');
    this.#folders[region] ??= hex();
    const folder = `data/${tablePath(this.schema.name)}/${this.#folders[region]}/${family}`;
    await env.fs.ensureFolder(layout.resolve(folder));
    const path = `${folder}/${hex()}${ending}`;
    this.#builder.made(path);
    return path;
  }

  add(file: BuiltFile): void {
    this.files.push(file);
    const newest = file.facts.stamp?.writeNumber ?? file.facts.maxWriteNumber;
    if (newest > this.maxWriteNumber) this.maxWriteNumber = newest;
  }

  /** Gathers a cell, copying it. The family must be one of the table's. */
  gather(
    family: string,
    buf: Uint8Array,
    at: number,
    length: number,
    writeHigh: number,
    writeLow: number,
  ): void {
    const region = this.#regionOf(buf, at);
    const key = `${region}/${family}`;
    let gathered = this.#gathered.get(key);
    if (gathered === undefined) {
      gathered = new Gathered(region, this.#families.get(family)!);
      this.#gathered.set(key, gathered);
    }
    const before = gathered.memstore.heapBytes;
    gathered.memstore.insert(buf, at, length, writeHigh, writeLow);
    this.#builder.gatheredBytes += gathered.memstore.heapBytes - before;
  }

  #regionOf(buf: Uint8Array, at: number): number {
    if (this.#regions.length === 1) return 0;
    return regionIndexOf(this.#regions, buf.subarray(at + 10, at + 10 + u16(buf, at + 8)));
  }

  /** Writes what was gathered. */
  async spill(): Promise<void> {
    for (const { region, family, memstore } of this.#gathered.values()) {
      const path = await this.newPath(region, family.name);
      const summary = await writeCells(this.#builder, family, path, memstore.cursor(), {
        hasTags: memstore.stats.tagCount > 0,
        unique: false,
      });
      if (summary !== null) this.#addWritten(region, family.name, path, summary);
    }
    this.#gathered.clear();
  }

  #addWritten(region: number, family: string, path: string, summary: HFileSummary): void {
    this.add({ region, family, facts: factsOf(path, summary) });
  }

  /**
   * Makes one file of all files of each region and family, equal keys once, the newest: their write numbers can then be given
   * anew by one stamp. `stamp` is that of the commit that places the table.
   */
  async mergeFiles(): Promise<void> {
    const groups = new Map<string, BuiltFile[]>();
    for (const file of this.files) {
      const key = `${file.region}/${file.family}`;
      groups.set(key, [...(groups.get(key) ?? []), file]);
    }
    const old = new Set(this.files.map(({ facts }) => facts.path));
    this.files = [];
    this.maxWriteNumber = 0n;
    for (const group of groups.values()) {
      const { region, family } = group[0]!;
      const path = await this.newPath(region, family);
      const summary = await this.#mergeGroup(group, path);
      if (summary !== null) this.#addWritten(region, family, path, summary);
    }
    // One physical file may be part of several groups.
    for (const path of old) await this.#builder.unmake(path);
  }

  async #mergeGroup(group: readonly BuiltFile[], path: string): Promise<HFileSummary | null> {
    const opened = await this.#open(group);
    try {
      const { source, hasTags } = opened;
      const family = this.#families.get(group[0]!.family)!;
      return await writeCells(this.#builder, family, path, source, { hasTags, unique: true });
    } finally {
      await opened.close();
    }
  }

  /** All cells of the files of a region's family, merged; null: it has none. To be closed. */
  async open(region: number, family: string): Promise<OpenedCells | null> {
    const group = this.files.filter((file) => file.region === region && file.family === family);
    return group.length === 0 ? null : this.#open(group);
  }

  async #open(group: readonly BuiltFile[]): Promise<OpenedCells & { readonly hasTags: boolean }> {
    const { fs } = this.#builder.server.env;
    const { layout } = this.#builder.server;
    const cache = new BlockCache(4 << 20);
    const readers: HFileReader[] = [];
    const sources: CellSource[] = [];
    let hasTags = false;
    const close = async (): Promise<void> => {
      for (const source of sources) source.close();
      for (const reader of readers) await reader.close();
    };
    try {
      for (const { facts, region } of group) {
        const reader = await HFileReader.open(fs, layout.resolve(facts.path), cache, {
          stamp: stampOf(facts),
        });
        readers.push(reader);
        hasTags ||= reader.properties.hasTags;
        const cursor = reader.cursor({ cacheBlocks: false, sequential: true });
        const { fromRow, toRow } = facts.reference ?? {
          fromRow: this.startKeys[region]!,
          toRow: this.endKey(region),
        };
        sources.push(rowRangeOf(cursor, fromRow, toRow));
      }
    } catch (error) {
      await close();
      throw error;
    }
    return { source: mergeOf(sources, false), hasTags, close };
  }
}

/** Cells of files, read as one. */
export interface OpenedCells {
  readonly source: CellSource;
  close(): Promise<void>;
}

function stampOf({ stamp }: FileFacts): {
  writeHigh: number;
  writeLow: number;
  timestamp: { high: number; low: number } | null;
} | null {
  if (stamp === null) return null;
  const { writeNumber, timestamp } = stamp;
  return {
    writeHigh: highOf(writeNumber),
    writeLow: lowOf(writeNumber),
    timestamp: timestamp === null ? null : { high: highOf(timestamp), low: lowOf(timestamp) },
  };
}

function factsOf(path: string, summary: HFileSummary): FileFacts {
  return {
    path,
    kind: 'store',
    sizeBytes: summary.sizeBytes,
    cellCount: summary.cellCount,
    firstRow: rowOfKey(summary.firstKey),
    lastRow: rowOfKey(summary.lastKey),
    minTimestamp: summary.timeRangeMin,
    maxTimestamp: summary.timestampMax,
    minWriteNumber: summary.writeMin,
    maxWriteNumber: summary.writeMax,
    maxFlushedTso: null,
    dropTso: null,
    stamp: null,
    reference: null,
    level: 0,
    flags: summary.hasTags ? ['tags'] : [],
    removedTso: null,
  };
}

/** The row of a flat key: u16 length, row, … */
function rowOfKey(key: Uint8Array | null): Uint8Array | null {
  return key === null ? null : key.slice(2, 2 + u16(key, 0));
}

async function writeCells(
  builder: TableBuilder,
  family: FamilySettings,
  path: string,
  source: CellSource,
  options: { readonly hasTags: boolean; readonly unique: boolean },
): Promise<HFileSummary | null> {
  const { server, work } = builder;
  let state = source.seekToFirst();
  for (; state === WAIT; state = source.seekToFirst()) await source.load();
  if (state === END) return null;
  const writer = await HFileWriter.create(server.env.fs, server.layout.resolve(path), {
    createdMs: server.env.clock.nowMs(),
    blockSizeBytes: family.blockSizeBytes,
    encoding: encodingNamed(family.dataBlockEncoding) ?? 'NONE',
    compression: compressionNamed(family.compression) ?? 'NONE',
    bloomType: family.bloomFilter,
    bloomPrefixLength: family.bloomPrefixLength,
    hasTags: options.hasTags,
  });
  try {
    let key: Uint8Array = new Uint8Array(0);
    let drained = 0;
    while (state === READY) {
      const { cell } = source;
      const { block, rowAt, timestampAt } = cell;
      const isRepeat =
        options.unique && compareBytes(block.subarray(rowAt, timestampAt + 9), key) === 0;
      if (options.unique && !isRepeat) key = block.slice(rowAt, timestampAt + 9);
      if (!isRepeat && writer.append(cell)) {
        await writer.drain();
        await work.step(writer.sizeBytes - drained);
        drained = writer.sizeBytes;
      }
      state = source.next();
      for (; state === WAIT; state = source.next()) await source.load();
    }
    return await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  } finally {
    source.close();
  }
}

/** Builds tables for one store. */
export class TableBuilder {
  readonly server: RegionServer;
  readonly work: Work;
  readonly tables: BuiltTable[] = [];
  readonly #gatherBytesMax: number;
  readonly #made = new Set<string>();
  /** Memory of the cells gathered. */
  gatheredBytes = 0;

  constructor(server: RegionServer, work: Work, gatherBytesMax: number = GATHER_BYTES_DEFAULT) {
    this.server = server;
    this.work = work;
    this.#gatherBytesMax = gatherBytesMax;
  }

  table(schema: TableSchema, startKeys: readonly Uint8Array[], enabled: boolean): BuiltTable {
    const table = new BuiltTable(this, schema, startKeys, enabled);
    this.tables.push(table);
    return table;
  }

  /** Notes a file that is to be removed if the tables are not placed. */
  made(path: string): void {
    this.#made.add(path);
  }

  async unmake(path: string): Promise<void> {
    await this.server.env.fs.remove(this.server.layout.resolve(path));
    this.#made.delete(path);
  }

  /** Writes what was gathered if it is much. */
  async relieve(): Promise<void> {
    if (this.gatheredBytes > this.#gatherBytesMax) await this.spill();
  }

  async spill(): Promise<void> {
    for (const table of this.tables) await table.spill();
    this.gatheredBytes = 0;
  }

  /** Brings the entries of all new files onto the disk. */
  async sync(): Promise<void> {
    const { env, layout } = this.server;
    const paths = [...this.#made].map((path) => layout.resolve(path));
    if (paths.length > 0) await syncFolders(env, foldersOf(paths), layout.dir);
  }

  /** The store has its files now: whatever fails later, they stay. */
  placed(): void {
    this.#made.clear();
  }

  /** Removes what was made: the tables are not placed. */
  async discard(): Promise<void> {
    // Whether its last commit is on the disk only the next opening knows: it sweeps what no record names.
    if (this.server.manifest.hasFailed) return;
    for (const path of [...this.#made]) await this.unmake(path);
  }
}
