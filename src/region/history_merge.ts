/**
 * Merges history files of one store into one, each cell with its own drop TSO in a tag (drop_tag.ts), without the cells
 * that no read may ask for any more. Runs on a worker: everything it needs is in its input.
 */
import { READY, WAIT } from '../cell/index.ts';
import type { CellSource, CellView, SeekKey, SourceState } from '../cell/index.ts';
import type { Env, Job } from '../io/index.ts';
import {
  BlockCache,
  HFileReader,
  HFileWriter,
  compressionNamed,
  encodingNamed,
} from '../hfile/index.ts';
import type { FileStamp, HFileSummary } from '../hfile/index.ts';
import type { FamilySettings } from '../model/index.ts';
import { CellCopy, dropHighOf, dropLowOf, isDroppedAfter } from './drop_tag.ts';
import { rowRangeOf } from './row_range_source.ts';
import { mergeOf } from './scan/index.ts';

/** A history file to read. */
export interface HistoryInput {
  readonly path: string;
  readonly stamp: FileStamp | null;
  readonly fromRow: Uint8Array;
  readonly toRow: Uint8Array;
  /** The drop TSO of all its cells, in halves; of none if the cells have their own. */
  readonly dropHigh: number;
  readonly dropLow: number;
  readonly dropsByCell: boolean;
}

/** Survives structured cloning. */
export interface HistoryMergeInput {
  readonly settings: FamilySettings;
  /** Newest first. */
  readonly files: readonly HistoryInput[];
  /** It must not exist. */
  readonly outputPath: string;
  /** No read asks for a moment below this TSO (in halves): cells dropped at or before it go. */
  readonly oldestHigh: number;
  readonly oldestLow: number;
  readonly nowMs: number;
}

export interface HistoryMergeOutput {
  /** Null when no cell is needed any more. */
  readonly file: HFileSummary | null;
  /** Greatest drop TSO of the cells that went, in halves; 0, 0 if none did. */
  readonly goneHigh: number;
  readonly goneLow: number;
}

/** The merge as a job for the executor. */
export function historyMergeJob(
  input: HistoryMergeInput,
): Job<HistoryMergeInput, HistoryMergeOutput> {
  return { module: import.meta.url, run: mergeHistory, input };
}

/** The job of a worker. Removes what it wrote when it fails. */
export async function mergeHistory(
  input: HistoryMergeInput,
  env: Env,
): Promise<HistoryMergeOutput> {
  const cache = new BlockCache(1024 * 1024);
  const readers: HFileReader[] = [];
  const merge = new Merge(env, input);
  try {
    const sources: CellSource[] = [];
    for (const file of input.files) {
      const reader = await HFileReader.open(env.fs, file.path, cache, { stamp: file.stamp });
      readers.push(reader);
      const cursor = reader.cursor({ cacheBlocks: false, sequential: true });
      const source = rowRangeOf(cursor, file.fromRow, file.toRow);
      const { dropHigh, dropLow } = file;
      sources.push(file.dropsByCell ? source : new WithDrop(source, dropHigh, dropLow));
    }
    await merge.copy(mergeOf(sources, false));
    return await merge.finish();
  } catch (error) {
    await merge.abort();
    throw error;
  } finally {
    for (const reader of readers) await reader.close();
  }
}

class Merge {
  readonly #env: Env;
  readonly #input: HistoryMergeInput;
  #writer: HFileWriter | null = null;
  #goneHigh = 0;
  #goneLow = 0;

  constructor(env: Env, input: HistoryMergeInput) {
    this.#env = env;
    this.#input = input;
  }

  async copy(source: CellSource): Promise<void> {
    const { oldestHigh, oldestLow } = this.#input;
    let state = source.seekToFirst();
    for (; state === WAIT; state = source.seekToFirst()) await source.load();
    while (state === READY) {
      const { cell } = source;
      if (isDroppedAfter(cell, oldestHigh, oldestLow)) {
        this.#writer ??= await this.#create();
        if (this.#writer.append(cell)) await this.#writer.drain();
      } else if (isDroppedAfter(cell, this.#goneHigh, this.#goneLow)) {
        this.#goneHigh = dropHighOf(cell);
        this.#goneLow = dropLowOf(cell);
      }
      state = source.next();
      for (; state === WAIT; state = source.next()) await source.load();
    }
  }

  #create(): Promise<HFileWriter> {
    const { settings, outputPath, nowMs } = this.#input;
    return HFileWriter.create(this.#env.fs, outputPath, {
      createdMs: nowMs,
      blockSizeBytes: settings.blockSizeBytes,
      encoding: encodingNamed(settings.dataBlockEncoding) ?? 'NONE',
      compression: compressionNamed(settings.compression) ?? 'NONE',
      bloomType: settings.bloomFilter,
      bloomPrefixLength: settings.bloomPrefixLength,
      hasTags: true,
      isSynced: true,
    });
  }

  async finish(): Promise<HistoryMergeOutput> {
    const file = this.#writer === null ? null : await this.#writer.finish();
    return { file, goneHigh: this.#goneHigh, goneLow: this.#goneLow };
  }

  async abort(): Promise<void> {
    await this.#writer?.abort();
  }
}

/** The cells of a history file with its drop TSO in each. Read from front to back only. */
class WithDrop implements CellSource {
  readonly #source: CellSource;
  readonly #dropHigh: number;
  readonly #dropLow: number;
  readonly #copy: CellCopy = new CellCopy();

  constructor(source: CellSource, dropHigh: number, dropLow: number) {
    this.#source = source;
    this.#dropHigh = dropHigh;
    this.#dropLow = dropLow;
  }

  get cell(): CellView {
    return this.#copy;
  }

  #tagged(state: SourceState): SourceState {
    if (state === READY) {
      this.#copy.setWithDrop(this.#source.cell, this.#dropHigh, this.#dropLow);
    }
    return state;
  }

  seek(key: SeekKey): SourceState {
    return this.#tagged(this.#source.seek(key));
  }

  seekToFirst(): SourceState {
    return this.#tagged(this.#source.seekToFirst());
  }

  next(): SourceState {
    return this.#tagged(this.#source.next());
  }

  reseek(key: SeekKey): SourceState {
    return this.#tagged(this.#source.reseek(key));
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    return this.#tagged(this.#source.seekBeforeRow(row, rowAt, rowLength));
  }

  seekToLastRow(): SourceState {
    return this.#tagged(this.#source.seekToLastRow());
  }

  load(): Promise<void> {
    return this.#source.load();
  }

  close(): void {
    this.#source.close();
  }
}
