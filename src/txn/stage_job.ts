/**
 * Files of large transactions, written on a worker. A run holds loaded cells, sorted, each with its place in the order of
 * loading as its write number (seq « 32 | number within the request). Sealing merges the runs, folds each row (fold.ts), and
 * writes the files that the commit will link: cut at the borders of the regions, those that wait for the commit's time apart
 * from those with timestamps of their own, so that each stays sorted.
 */
import {
  BEFORE_LOW,
  KEY_AT,
  LATEST_HIGH,
  LATEST_LOW,
  READY,
  ROW_AT,
  TYPE_PUT,
  WAIT,
  compareRanges,
  crc32c,
  putU32,
  timestampAt,
  u16,
  u32,
} from '../cell/index.ts';
import type { CellSource } from '../cell/index.ts';
import {
  BlockCache,
  HFileReader,
  HFileWriter,
  compressionNamed,
  encodingNamed,
} from '../hfile/index.ts';
import type { HFileSummary } from '../hfile/index.ts';
import type { Env, Job } from '../io/index.ts';
import type { FamilySettings, TransactionTimestamps } from '../model/index.ts';
import { PackedCell, mergeOf } from '../region/index.ts';
import { Folder } from './fold.ts';
import type { LoadPlace } from './fold.ts';
import { sortLoaded } from './load_order.ts';
import type { StoreCells } from './load_order.ts';
import type { LoadBatch } from './staging.ts';

/** Small: what a merge of many runs holds is blocks of each. */
const RUN_BLOCK_BYTES: number = 16 * 1024;
/** What a merge reads ahead, over all runs, and of each at least and at most. */
const MERGE_AHEAD_BYTES: number = 8 * 1024 * 1024;
const RUN_AHEAD_MIN: number = 2 * RUN_BLOCK_BYTES;
const RUN_AHEAD_MAX: number = 256 * 1024;

export interface RunInput {
  readonly batches: readonly LoadBatch[];
  /** Folder and first part of the names of the runs; each gets `-<table>-<family>`. */
  readonly prefix: string;
  readonly nowMs: number;
}

export interface RunOutput {
  readonly runs: readonly {
    readonly tableId: number;
    readonly familyId: number;
    readonly path: string;
  }[];
}

/** One family's part of a seal. */
export interface SealFamily {
  readonly tableId: number;
  readonly familyId: number;
  readonly settings: FamilySettings;
  readonly runs: readonly string[];
  /** Of the table's regions, in order; the first is empty. */
  readonly startKeys: readonly Uint8Array[];
  /** Where the files of each region go. */
  readonly folders: readonly string[];
}

export interface SealInput {
  readonly families: readonly SealFamily[];
  /** Of a transaction without runs. */
  readonly batches: readonly LoadBatch[];
  readonly timestamps: TransactionTimestamps;
  /** When each request was loaded, for `load`. */
  readonly loadedMs: ReadonlyMap<number, number>;
  readonly nowMs: number;
}

export interface SealedFile {
  readonly tableId: number;
  readonly familyId: number;
  readonly regionIndex: number;
  /** Its cells wait for the commit's time. */
  readonly hasLatest: boolean;
  readonly summary: HFileSummary;
  /** CRC-32C of its KeyValues. */
  readonly crc: number;
}

export interface SealOutput {
  readonly files: readonly SealedFile[];
  readonly cells: number;
  /** Of all files (`crcOfFiles`). */
  readonly crc: number;
  readonly isFresh: boolean;
  /** Some marker waits for the commit's time. */
  readonly hasLatestMarkers: boolean;
}

export function runJob(input: RunInput): Job<RunInput, RunOutput> {
  return { module: import.meta.url, run: writeRuns, input };
}

export function sealJob(input: SealInput): Job<SealInput, SealOutput> {
  return { module: import.meta.url, run: sealFiles, input };
}

/** The job of a worker: one run a table and family. */
export async function writeRuns(input: RunInput, env: Env): Promise<RunOutput> {
  const runs: { tableId: number; familyId: number; path: string }[] = [];
  for (const cells of sortLoaded(input.batches)) {
    const { tableId, familyId } = cells;
    const path = `${input.prefix}-${tableId}-${familyId}`;
    const writer = await HFileWriter.create(env.fs, path, {
      createdMs: input.nowMs,
      blockSizeBytes: RUN_BLOCK_BYTES,
      bloomType: 'NONE',
      hasTags: true,
      isSynced: false,
    });
    try {
      await writeRun(writer, cells);
      await writer.finish();
    } catch (error) {
      await writer.abort();
      throw error;
    }
    runs.push({ tableId, familyId, path });
  }
  return { runs };
}

async function writeRun(writer: HFileWriter, cells: StoreCells): Promise<void> {
  const { batches, batch, index, at, order } = cells;
  const cell = new PackedCell();
  for (const i of order) {
    const { buf, length, seq } = batches[batch[i]!]!;
    cell.setKeyValue(buf, at[i]!, length[index[i]!]!);
    cell.writeHigh = seq;
    cell.writeLow = index[i]!;
    if (writer.append(cell)) await writer.drain();
  }
}

/** The job of a worker. Removes what it wrote when it fails. */
export async function sealFiles(input: SealInput, env: Env): Promise<SealOutput> {
  const stores = sortLoaded(input.batches);
  const seal = new Seal(input, env);
  try {
    for (const family of input.families) {
      const isOwn = (one: StoreCells): boolean =>
        one.tableId === family.tableId && one.familyId === family.familyId;
      await sealFamily(seal, family, stores.find(isOwn) ?? null, env);
    }
    return await seal.finish();
  } catch (error) {
    await seal.abort();
    throw error;
  }
}

async function sealFamily(
  seal: Seal,
  family: SealFamily,
  loaded: StoreCells | null,
  env: Env,
): Promise<void> {
  seal.enter(family);
  if (loaded !== null) await foldLoaded(seal, loaded);
  const readers: HFileReader[] = [];
  const sources: CellSource[] = [];
  const share = Math.floor(MERGE_AHEAD_BYTES / Math.max(1, family.runs.length));
  const readAheadBytes = Math.max(RUN_AHEAD_MIN, Math.min(RUN_AHEAD_MAX, share));
  const cache = new BlockCache(1 << 20);
  try {
    for (const path of family.runs) {
      const reader = await HFileReader.open(env.fs, path, cache);
      readers.push(reader);
      sources.push(reader.cursor({ cacheBlocks: false, sequential: true, readAheadBytes }));
    }
    if (sources.length > 0) await foldRuns(seal, mergeOf(sources, false));
  } finally {
    for (const source of sources) source.close();
    for (const reader of readers) await reader.close();
  }
  await seal.closeWriters();
}

async function foldLoaded(seal: Seal, cells: StoreCells): Promise<void> {
  const { batches, batch, index, at, order } = cells;
  for (const i of order) {
    const { buf, length, seq } = batches[batch[i]!]!;
    const cellIndex = index[i]!;
    if (seal.take(buf, at[i]!, length[cellIndex]!, seq, cellIndex)) await seal.settle();
  }
  await seal.endRow();
}

async function foldRuns(seal: Seal, source: CellSource): Promise<void> {
  let state = source.seekToFirst();
  for (; state === WAIT; state = source.seekToFirst()) await source.load();
  while (state === READY) {
    const { block, at, length, writeHigh: seq, writeLow: index } = source.cell;
    if (seal.take(block, at, length, seq, index)) await seal.settle();
    state = source.next();
    for (; state === WAIT; state = source.next()) await source.load();
  }
  await seal.endRow();
}

/** A file under way. */
interface OpenFile {
  readonly writer: HFileWriter;
  crc: number;
}

/** The files under way. */
class Seal {
  readonly #input: SealInput;
  readonly #env: Env;
  readonly #cell: PackedCell = new PackedCell();
  readonly #files: SealedFile[] = [];
  /** Of the region under way: [with timestamps of their own, waiting for the commit's]. */
  #open: [OpenFile | null, OpenFile | null] = [null, null];
  #family: SealFamily | null = null;
  #folder: Folder;
  #regionIndex = 0;
  /** Where the next region begins; null: this is the last. */
  #border: Uint8Array | null = null;
  #cells = 0;
  #isFresh = false;
  #hasLatestMarkers = false;
  /** What `settle` has to do: survivors to write, and a writer to drain. */
  #waiting: Uint8Array[] = [];
  #full: HFileWriter | null = null;

  constructor(input: SealInput, env: Env) {
    this.#input = input;
    this.#env = env;
    this.#folder = new Folder(input.timestamps);
  }

  /** The cells that follow are of this family. */
  enter(family: SealFamily): void {
    this.#family = family;
    this.#folder = new Folder(this.#input.timestamps);
    this.#enterRegion(0);
  }

  #enterRegion(index: number): void {
    this.#regionIndex = index;
    this.#border = this.#family?.startKeys[index + 1] ?? null;
  }

  /** The next cell in the order of keys. True: `settle` before the next. */
  take(buf: Uint8Array, at: number, length: number, seq: number, index: number): boolean {
    const folder = this.#folder;
    if (folder.startsRow(buf, at)) this.#waiting.push(...folder.release());
    if (folder.passes(buf, at, length)) {
      // In order, behind what waits.
      if (this.#waiting.length > 0 || !this.#append(buf, at, length)) {
        this.#waiting.push(Uint8Array.prototype.slice.call(buf, at, at + length));
      }
    } else if (folder.isHolding) folder.hold(buf, at, length, this.#placeOf(seq, index));
    return this.#waiting.length > 0 || this.#full !== null;
  }

  #placeOf(seq: number, index: number): LoadPlace {
    return { seq, index, loadedMs: this.#input.loadedMs.get(seq) ?? this.#input.nowMs };
  }

  /** The last row of the family is whole. */
  async endRow(): Promise<void> {
    this.#waiting.push(...this.#folder.release());
    this.#isFresh ||= this.#folder.isFresh;
    await this.settle();
  }

  /** Writes what waits for a file or a region. */
  async settle(): Promise<void> {
    await this.#drain();
    const waiting = this.#waiting;
    for (const bytes of waiting) {
      while (!this.#append(bytes, 0, bytes.length)) await this.#makeRoom(bytes);
      await this.#drain();
    }
    waiting.length = 0;
  }

  async #drain(): Promise<void> {
    const full = this.#full;
    this.#full = null;
    await full?.drain();
  }

  /** Opens what a cell needs: the next region, or a file of this one. */
  async #makeRoom(bytes: Uint8Array): Promise<void> {
    if (this.#isBehindBorder(bytes, 0)) {
      await this.closeWriters();
      this.#enterRegion(this.#regionIndex + 1);
    } else {
      this.#open[isLatest(bytes, timestampAt(bytes, 0)) ? 1 : 0] ??= {
        writer: await this.#create(this.#family!),
        crc: 0,
      };
    }
  }

  #isBehindBorder(buf: Uint8Array, at: number): boolean {
    const border = this.#border;
    if (border === null) return false;
    const rowLength = u16(buf, at + KEY_AT);
    return compareRanges(buf, at + ROW_AT, rowLength, border, 0, border.length) >= 0;
  }

  /** Adds a survivor to its file; false: it has none yet. */
  #append(buf: Uint8Array, at: number, length: number): boolean {
    if (this.#isBehindBorder(buf, at)) return false;
    const stampAt = timestampAt(buf, at);
    const waits = isLatest(buf, stampAt);
    const file = this.#open[waits ? 1 : 0];
    if (file === null) return false;
    if (waits && buf[stampAt + 8] !== TYPE_PUT && u32(buf, stampAt + 4) === LATEST_LOW) {
      this.#hasLatestMarkers = true;
    }
    file.crc = crc32c(buf, at, length, file.crc);
    this.#cells++;
    this.#cell.setKeyValue(buf, at, length);
    if (file.writer.append(this.#cell)) this.#full = file.writer;
    return true;
  }

  #create(family: SealFamily): Promise<HFileWriter> {
    const { settings } = family;
    const name = Buffer.from(this.#env.random.bytes(16)).toString('hex');
    return HFileWriter.create(this.#env.fs, `${family.folders[this.#regionIndex]}/${name}.staged`, {
      createdMs: this.#input.nowMs,
      blockSizeBytes: settings.blockSizeBytes,
      encoding: encodingNamed(settings.dataBlockEncoding) ?? 'NONE',
      compression: compressionNamed(settings.compression) ?? 'NONE',
      bloomType: settings.bloomFilter,
      bloomPrefixLength: settings.bloomPrefixLength,
      // A row may come with tags after others without.
      hasTags: true,
      hasWriteNumbers: false,
      isSynced: true,
    });
  }

  /** Completes the files of the region under way. */
  async closeWriters(): Promise<void> {
    const family = this.#family;
    const open = this.#open;
    this.#open = [null, null];
    for (const [i, file] of open.entries()) {
      if (file === null || family === null) continue;
      const summary = await file.writer.finish();
      this.#files.push({
        tableId: family.tableId,
        familyId: family.familyId,
        regionIndex: this.#regionIndex,
        hasLatest: i === 1,
        summary,
        crc: file.crc,
      });
    }
  }

  async finish(): Promise<SealOutput> {
    return {
      files: this.#files,
      cells: this.#cells,
      crc: crcOfFiles(this.#files),
      isFresh: this.#isFresh,
      hasLatestMarkers: this.#hasLatestMarkers,
    };
  }

  async abort(): Promise<void> {
    for (const file of this.#open) await file?.writer.abort();
    for (const { summary } of this.#files) await this.#env.fs.remove(summary.path);
  }
}

/** It waits for the commit's time, or for the millisecond before. */
function isLatest(buf: Uint8Array, stampAt: number): boolean {
  if (u32(buf, stampAt) !== LATEST_HIGH) return false;
  const low = u32(buf, stampAt + 4);
  return low === LATEST_LOW || low === BEFORE_LOW;
}

/** CRC-32C over the tables, families and CRCs of these files, in order. */
function crcOfFiles(
  files: readonly { readonly tableId: number; readonly familyId: number; readonly crc: number }[],
): number {
  const head = new Uint8Array(12 * files.length);
  for (const [i, { tableId, familyId, crc }] of files.entries()) {
    putU32(head, 12 * i, tableId);
    putU32(head, 12 * i + 4, familyId);
    putU32(head, 12 * i + 8, crc);
  }
  return crc32c(head, 0, head.length);
}

/** What a file's cells are: for the digest after a restart. */
export interface DigestInput {
  readonly files: readonly {
    readonly tableId: number;
    readonly familyId: number;
    readonly path: string;
  }[];
}

export interface DigestOutput {
  readonly cells: number;
  /** As of the seal. */
  readonly crc: number;
}

export function digestJob(input: DigestInput): Job<DigestInput, DigestOutput> {
  return { module: import.meta.url, run: digestFiles, input };
}

/** The job of a worker: reads every cell. Rejects with CorruptionException for a block that its checksum disowns. */
export async function digestFiles(input: DigestInput, env: Env): Promise<DigestOutput> {
  let cells = 0;
  const files: { tableId: number; familyId: number; crc: number }[] = [];
  for (const { tableId, familyId, path } of input.files) {
    const reader = await HFileReader.open(env.fs, path, new BlockCache(1 << 20));
    try {
      let crc = 0;
      const source = reader.cursor({ cacheBlocks: false, sequential: true });
      let state = source.seekToFirst();
      for (; state === WAIT; state = source.seekToFirst()) await source.load();
      while (state === READY) {
        const { block, at, length } = source.cell;
        cells++;
        crc = crc32c(block, at, length, crc);
        state = source.next();
        for (; state === WAIT; state = source.next()) await source.load();
      }
      source.close();
      files.push({ tableId, familyId, crc });
    } finally {
      await reader.close();
    }
  }
  return { cells, crc: crcOfFiles(files) };
}
