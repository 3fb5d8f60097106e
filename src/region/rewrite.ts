/**
 * Rewrites cells of one store into a store file: a flush (of frozen memstores) or a compaction (of files). What HBase's
 * rules keep goes into the store file; what they drop, with its write number, into a history file beside it, so that
 * reads as of before the switch still find it. Runs on a worker: everything it needs is in its input.
 */
import { READY, WAIT } from '../cell/index.ts';
import type { CellSource, CellView } from '../cell/index.ts';
import type { Env, Job } from '../io/index.ts';
import {
  BlockCache,
  HFileReader,
  HFileWriter,
  encodingNamed,
  compressionNamed,
} from '../hfile/index.ts';
import type { FileStamp, HFileSummary } from '../hfile/index.ts';
import type { FamilySettings } from '../model/index.ts';
import { imageCursor } from './memstore/index.ts';
import type { MemstoreImage } from './memstore/index.ts';
import { CompactionMatcher, mergeOf } from './scan/index.ts';
import type { CompactionKind } from './scan/index.ts';
import { rowRangeOf } from './row_range_source.ts';

/** A file to read. */
export interface RewriteFile {
  readonly path: string;
  readonly stamp: FileStamp | null;
  /** Only rows in [fromRow, toRow) count, as for a half of a split file; empty: no bound. */
  readonly fromRow: Uint8Array;
  readonly toRow: Uint8Array;
}

/** Survives structured cloning. */
export interface RewriteInput {
  readonly kind: CompactionKind;
  readonly settings: FamilySettings;
  /** Newest first, before the files. */
  readonly memstores: readonly MemstoreImage[];
  /** Newest first. */
  readonly files: readonly RewriteFile[];
  /** Where the new files go; they must not exist. */
  readonly outputPath: string;
  /** Null: nothing that is dropped is kept. */
  readonly historyPath: string | null;
  /** Cells above this write number pass through and count for nothing. */
  readonly readHigh: number;
  readonly readLow: number;
  /** Judges TTL. */
  readonly nowMs: number;
  readonly purgeDeletesAfterMs: number;
  readonly hasTags: boolean;
  readonly isSynced: boolean;
  /** Bytes of cells a second at most; 0: as fast as it goes. */
  readonly bytesPerSecondMax: number;
}

export interface RewriteOutput {
  /** Null when nothing was kept. */
  readonly file: HFileSummary | null;
  /** Null when nothing was dropped. */
  readonly history: HFileSummary | null;
  readonly cellsRead: number;
}

/** The rewrite as a job for the executor. */
export function rewriteJob(input: RewriteInput): Job<RewriteInput, RewriteOutput> {
  return { module: import.meta.url, run: rewrite, input };
}

/** The job of a worker. Removes what it wrote when it fails. */
export async function rewrite(input: RewriteInput, env: Env): Promise<RewriteOutput> {
  const cache = new BlockCache(4 * 1024 * 1024);
  const readers: HFileReader[] = [];
  const output = new Output(env, input, input.outputPath, input.kind === 'major');
  const history =
    input.historyPath === null ? null : new Output(env, input, input.historyPath, false);
  try {
    const sources: CellSource[] = input.memstores.map(imageCursor);
    for (const file of input.files) {
      const reader = await HFileReader.open(env.fs, file.path, cache, { stamp: file.stamp });
      readers.push(reader);
      const cursor = reader.cursor({ cacheBlocks: false, sequential: true });
      sources.push(rowRangeOf(cursor, file.fromRow, file.toRow));
    }
    const matcher = new CompactionMatcher({ ...input, ...earliestPutOf(readers) });
    const source = mergeOf(sources, false);
    const cellsRead = await copyCells({ env, input, matcher, source, output, history });
    return {
      file: await output.finish(),
      history: history === null ? null : await history.finish(),
      cellsRead,
    };
  } catch (error) {
    await output.abort();
    await history?.abort();
    throw error;
  } finally {
    for (const reader of readers) await reader.close();
  }
}

/** The smallest timestamp of a put in the files: 0 if one of them does not say. */
function earliestPutOf(readers: readonly HFileReader[]): {
  earliestPutHigh: number;
  earliestPutLow: number;
} {
  let earliest: bigint | null = null;
  for (const { properties, stamp } of readers) {
    const of = stamp === null ? (properties.earliestPutMs ?? 0n) : 0n;
    if (earliest === null || of < earliest) earliest = of;
  }
  const ms = earliest ?? 0n;
  return { earliestPutHigh: Number(ms >> 32n), earliestPutLow: Number(ms & 0xffffffffn) };
}

interface Copy {
  readonly env: Env;
  readonly input: RewriteInput;
  readonly matcher: CompactionMatcher;
  readonly source: CellSource;
  readonly output: Output;
  readonly history: Output | null;
}

async function copyCells(copy: Copy): Promise<number> {
  const { env, input, matcher, source, output, history } = copy;
  const pace = new Pace(env, input.bytesPerSecondMax);
  let cellsRead = 0;
  let state = source.seekToFirst();
  for (; state === WAIT; state = source.seekToFirst()) await source.load();
  while (state === READY) {
    const { cell } = source;
    cellsRead++;
    const target = matcher.keeps(cell) ? output : history;
    if (target !== null) {
      if (!target.isOpen) await target.open();
      if (target.append(cell)) {
        await target.drain();
        await pace.keep(target.drainedBytes);
      }
    }
    state = source.next();
    for (; state === WAIT; state = source.next()) await source.load();
  }
  return cellsRead;
}

/** A file that is created when the first cell comes. */
class Output {
  readonly #env: Env;
  readonly #input: RewriteInput;
  readonly #path: string;
  readonly #isMajor: boolean;
  #writer: HFileWriter | null = null;
  /** Bytes that the last drain wrote. */
  drainedBytes = 0;
  #sizeBefore = 0;

  constructor(env: Env, input: RewriteInput, path: string, isMajor: boolean) {
    this.#env = env;
    this.#input = input;
    this.#path = path;
    this.#isMajor = isMajor;
  }

  get isOpen(): boolean {
    return this.#writer !== null;
  }

  async open(): Promise<void> {
    const { settings, hasTags, isSynced, nowMs } = this.#input;
    this.#writer = await HFileWriter.create(this.#env.fs, this.#path, {
      createdMs: nowMs,
      blockSizeBytes: settings.blockSizeBytes,
      encoding: encodingNamed(settings.dataBlockEncoding) ?? 'NONE',
      compression: compressionNamed(settings.compression) ?? 'NONE',
      bloomType: settings.bloomFilter,
      bloomPrefixLength: settings.bloomPrefixLength,
      hasTags,
      isSynced,
      isMajorCompaction: this.#isMajor,
    });
  }

  append(cell: CellView): boolean {
    return this.#writer!.append(cell);
  }

  async drain(): Promise<void> {
    const writer = this.#writer!;
    await writer.drain();
    this.drainedBytes = writer.sizeBytes - this.#sizeBefore;
    this.#sizeBefore = writer.sizeBytes;
  }

  async finish(): Promise<HFileSummary | null> {
    return this.#writer === null ? null : this.#writer.finish();
  }

  async abort(): Promise<void> {
    await this.#writer?.abort();
  }
}

/** Holds back a writer that is faster than it may be. */
class Pace {
  readonly #env: Env;
  readonly #bytesPerSecondMax: number;
  readonly #startMs: number;
  #bytes = 0;

  constructor(env: Env, bytesPerSecondMax: number) {
    this.#env = env;
    this.#bytesPerSecondMax = bytesPerSecondMax;
    this.#startMs = env.clock.monotonicMs();
  }

  async keep(bytes: number): Promise<void> {
    if (this.#bytesPerSecondMax === 0) return;
    this.#bytes += bytes;
    const dueMs = this.#startMs + (this.#bytes / this.#bytesPerSecondMax) * 1000;
    const aheadMs = dueMs - this.#env.clock.monotonicMs();
    if (aheadMs > 1) await this.#env.timers.sleep(aheadMs);
  }
}
