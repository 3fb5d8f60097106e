/**
 * Files of large transactions, written on a worker. A run holds loaded cells, sorted, each with its place in the order of
 * loading as its write number (seq « 32 | number within the request). Sealing merges the runs, folds each row (fold.ts), and
 * writes the files that the commit will link: cut at the borders of the regions, those that wait for the commit's time apart
 * from those with timestamps of their own, so that each stays sorted.
 */
import {
  BEFORE_LOW,
  CellFields,
  KEY_AT,
  LATEST_HIGH,
  LATEST_LOW,
  READY,
  ROW_AT,
  WAIT,
  compareBytes,
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
import { Memstore, mergeOf } from '../region/index.ts';
import { foldRowCells } from './fold.ts';
import type { RowCell } from './fold.ts';
import type { LoadBatch } from './staging.ts';

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
  /** What was not spilled. */
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
}

export interface SealOutput {
  readonly files: readonly SealedFile[];
  readonly cells: number;
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

/** Cells by table and family, sorted, in memory. */
function memstoresOf(batches: readonly LoadBatch[]): Map<string, Memstore> {
  const stores = new Map<string, Memstore>();
  for (const { seq, buf, at, length, tableId, familyId } of batches) {
    for (let i = 0; i < at.length; i++) {
      const key = `${tableId[i]}/${familyId[i]}`;
      let store = stores.get(key);
      if (store === undefined) stores.set(key, (store = new Memstore()));
      store.insert(buf, at[i]!, length[i]!, seq, i);
    }
  }
  return stores;
}

/** The job of a worker: one run a table and family. */
export async function writeRuns(input: RunInput, env: Env): Promise<RunOutput> {
  const runs: { tableId: number; familyId: number; path: string }[] = [];
  for (const [key, store] of memstoresOf(input.batches)) {
    const [tableId, familyId] = key.split('/').map(Number);
    const path = `${input.prefix}-${tableId}-${familyId}`;
    const writer = await HFileWriter.create(env.fs, path, {
      createdMs: input.nowMs,
      bloomType: 'NONE',
      hasTags: store.stats.tagCount > 0,
      isSynced: false,
    });
    try {
      const source = store.cursor();
      for (let state = source.seekToFirst(); state === READY; state = source.next()) {
        if (writer.append(source.cell)) await writer.drain();
      }
      source.close();
      await writer.finish();
    } catch (error) {
      await writer.abort();
      throw error;
    }
    runs.push({ tableId: tableId!, familyId: familyId!, path });
  }
  return { runs };
}

/** The job of a worker. Removes what it wrote when it fails. */
export async function sealFiles(input: SealInput, env: Env): Promise<SealOutput> {
  const stores = memstoresOf(input.batches);
  const seal = new Seal(input, env);
  try {
    for (const family of input.families) {
      const own = stores.get(`${family.tableId}/${family.familyId}`) ?? null;
      await sealFamily(seal, family, own, env);
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
  own: Memstore | null,
  env: Env,
): Promise<void> {
  const readers: HFileReader[] = [];
  const sources: CellSource[] = own === null ? [] : [own.cursor()];
  try {
    for (const path of family.runs) {
      const reader = await HFileReader.open(env.fs, path, new BlockCache(1 << 20));
      readers.push(reader);
      sources.push(reader.cursor({ cacheBlocks: false, sequential: true }));
    }
    if (sources.length === 0) return;
    await foldSource(seal, family, mergeOf(sources, false));
  } finally {
    for (const source of sources) source.close();
    for (const reader of readers) await reader.close();
  }
  await seal.closeWriters();
}

interface OrderedCell extends RowCell {
  readonly seq: number;
  readonly index: number;
}

async function foldSource(seal: Seal, family: SealFamily, source: CellSource): Promise<void> {
  let row: OrderedCell[] = [];
  let state = source.seekToFirst();
  for (; state === WAIT; state = source.seekToFirst()) await source.load();
  while (state === READY) {
    const { block, at, length, writeHigh: seq, writeLow: index } = source.cell;
    const bytes = Uint8Array.prototype.slice.call(block, at, at + length);
    if (row.length > 0 && !isSameRow(row[0]!.bytes, bytes)) {
      await seal.row(family, row);
      row = [];
    }
    row.push({ bytes, seq, index, loadedMs: seal.loadedMs(seq) });
    state = source.next();
    for (; state === WAIT; state = source.next()) await source.load();
  }
  if (row.length > 0) await seal.row(family, row);
}

function isSameRow(a: Uint8Array, b: Uint8Array): boolean {
  const length = u16(a, KEY_AT);
  if (length !== u16(b, KEY_AT)) return false;
  return (
    Buffer.compare(a.subarray(ROW_AT, ROW_AT + length), b.subarray(ROW_AT, ROW_AT + length)) === 0
  );
}

/** The files under way. */
class Seal {
  readonly #input: SealInput;
  readonly #env: Env;
  readonly #cell: CellFields = new CellFields();
  readonly #files: SealedFile[] = [];
  /** Of the region under way: [with timestamps of their own, waiting for the commit's]. */
  #writers: [HFileWriter | null, HFileWriter | null] = [null, null];
  #family: SealFamily | null = null;
  #regionIndex = 0;
  #cells = 0;
  #crc = 0;
  #isFresh = false;
  #hasLatestMarkers = false;
  readonly #head: Uint8Array = new Uint8Array(12);

  constructor(input: SealInput, env: Env) {
    this.#input = input;
    this.#env = env;
  }

  loadedMs(seq: number): number {
    return this.#input.loadedMs.get(seq) ?? this.#input.nowMs;
  }

  /** The cells of one row, in any order. */
  async row(family: SealFamily, cells: readonly OrderedCell[]): Promise<void> {
    if (this.#family !== family) {
      this.#family = family;
      this.#regionIndex = 0;
    }
    const ordered = [...cells].sort((a, b) => a.seq - b.seq || a.index - b.index);
    const folded = foldRowCells(ordered, this.#input.timestamps);
    this.#isFresh ||= folded.isFresh;
    const first = folded.cells[0];
    if (first === undefined) return;
    await this.#enterRegion(family, first.subarray(ROW_AT, ROW_AT + u16(first, KEY_AT)));
    for (const bytes of folded.cells) await this.#append(family, bytes);
  }

  async #enterRegion(family: SealFamily, row: Uint8Array): Promise<void> {
    for (let next = family.startKeys[this.#regionIndex + 1]; next !== undefined;) {
      if (compareBytes(row, next) < 0) break;
      await this.closeWriters();
      this.#regionIndex++;
      next = family.startKeys[this.#regionIndex + 1];
    }
  }

  async #append(family: SealFamily, bytes: Uint8Array): Promise<void> {
    const stampAt = timestampAt(bytes, 0);
    const low = u32(bytes, stampAt + 4);
    const isLatest =
      u32(bytes, stampAt) === LATEST_HIGH && (low === LATEST_LOW || low === BEFORE_LOW);
    if (isLatest && low === LATEST_LOW && bytes[stampAt + 8] !== 4) this.#hasLatestMarkers = true;
    const writer = (this.#writers[isLatest ? 1 : 0] ??= await this.#open(family));
    putU32(this.#head, 0, family.tableId);
    putU32(this.#head, 4, family.familyId);
    putU32(this.#head, 8, bytes.length);
    this.#crc = crc32c(bytes, 0, bytes.length, crc32c(this.#head, 0, 12, this.#crc));
    this.#cells++;
    standOn(this.#cell, bytes);
    if (writer.append(this.#cell)) await writer.drain();
  }

  #open(family: SealFamily): Promise<HFileWriter> {
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
    const writers = this.#writers;
    this.#writers = [null, null];
    for (const [i, writer] of writers.entries()) {
      if (writer === null || family === null) continue;
      const summary = await writer.finish();
      this.#files.push({
        tableId: family.tableId,
        familyId: family.familyId,
        regionIndex: this.#regionIndex,
        hasLatest: i === 1,
        summary,
      });
    }
  }

  async finish(): Promise<SealOutput> {
    await this.closeWriters();
    return {
      files: this.#files,
      cells: this.#cells,
      crc: this.#crc,
      isFresh: this.#isFresh,
      hasLatestMarkers: this.#hasLatestMarkers,
    };
  }

  async abort(): Promise<void> {
    for (const writer of this.#writers) await writer?.abort();
    for (const { summary } of this.#files) await this.#env.fs.remove(summary.path);
  }
}

/** Makes the view stand on a KeyValue that begins its buffer. */
function standOn(cell: CellFields, bytes: Uint8Array): void {
  const rowLength = u16(bytes, KEY_AT);
  const keyEnd = KEY_AT + u32(bytes, 0);
  const valueLength = u32(bytes, 4);
  cell.block = bytes;
  cell.at = 0;
  cell.length = bytes.length;
  cell.rowAt = ROW_AT;
  cell.rowLength = rowLength;
  cell.qualifierAt = ROW_AT + rowLength + 1 + bytes[ROW_AT + rowLength]!;
  cell.timestampAt = keyEnd - 9;
  cell.qualifierLength = cell.timestampAt - cell.qualifierAt;
  cell.valueAt = keyEnd;
  cell.valueLength = valueLength;
  const tagsLength = bytes.length - keyEnd - valueLength;
  cell.tagsAt = keyEnd + valueLength + 2;
  cell.tagsLength = tagsLength > 2 ? tagsLength - 2 : 0;
  cell.writeHigh = 0;
  cell.writeLow = 0;
}

/** What a file's cells are: for the digest after a restart. */
export interface DigestInput {
  readonly files: readonly {
    readonly tableId: number;
    readonly familyId: number;
    readonly path: string;
  }[];
}

export function digestJob(input: DigestInput): Job<DigestInput, { cells: number; bytes: number }> {
  return { module: import.meta.url, run: digestFiles, input };
}

/** The job of a worker: reads every block, whose checksums tell damage. Rejects with CorruptionException. */
export async function digestFiles(
  input: DigestInput,
  env: Env,
): Promise<{ cells: number; bytes: number }> {
  let cells = 0;
  let bytes = 0;
  for (const { path } of input.files) {
    const reader = await HFileReader.open(env.fs, path, new BlockCache(1 << 20));
    try {
      const source = reader.cursor({ cacheBlocks: false, sequential: true });
      let state = source.seekToFirst();
      for (; state === WAIT; state = source.seekToFirst()) await source.load();
      while (state === READY) {
        cells++;
        bytes += source.cell.length;
        state = source.next();
        for (; state === WAIT; state = source.next()) await source.load();
      }
      source.close();
    } finally {
      await reader.close();
    }
  }
  return { cells, bytes };
}
