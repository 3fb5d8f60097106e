/**
 * A store file as readers use it: opened when the first of them needs it (opening a store reads the manifest, not the
 * data), ruled out without opening by key range, time range or Bloom filter, kept on the disk while a reader holds it.
 */
import { CellFields, END, READY, WAIT, compareRanges } from '../cell/index.ts';
import type { CellSource, CellView, NewestTimestamp, SeekKey, SourceState } from '../cell/index.ts';
import { invariant } from '../io/index.ts';
import type { FileSystem } from '../io/index.ts';
import { HFileReader, PROBE_ABSENT, PROBE_WAIT, WatchedFile } from '../hfile/index.ts';
import type {
  BlockCache,
  BloomProbe,
  CursorOptions,
  HFileCursor,
  HFileReaderOptions,
} from '../hfile/index.ts';
import { ColumnFilter } from './column_filter.ts';
import type { SourceTally } from './explain_sources.ts';
import type { FileWindow } from './file_window.ts';
import type { SourceRuledOut } from '../model/index.ts';
import type { PlacedSource } from './row_places.ts';
import { rowRangeOf } from './row_range_source.ts';
import type { RowSeek } from './row_seek.ts';
import { sameRowAs } from './scan/keys.ts';
import type { StoreFileInfo } from './store_file_info.ts';

/** What files of one engine share. */
export interface FileContext {
  readonly fs: FileSystem;
  readonly cache: BlockCache;
  readonly readerOptions: HFileReaderOptions;
}

export class StoreFile {
  readonly info: StoreFileInfo;
  readonly #context: FileContext;
  #reader: HFileReader | null = null;
  #opening: Promise<HFileReader> | null = null;
  #holders = 0;
  /** Set when the file has left its store: what to do once nobody holds it. */
  #retire: (() => void) | null = null;

  constructor(info: StoreFileInfo, context: FileContext) {
    this.info = info;
    this.#context = context;
  }

  /** Cursors that hold the file. */
  get holders(): number {
    return this.#holders;
  }

  get isOpen(): boolean {
    return this.#reader !== null;
  }

  /** A cursor over the file's rows of this region. It holds the file until it is closed. */
  cursor(options: CursorOptions = {}, tally: SourceTally | null = null): CellSource {
    this.#holders++;
    const source = new LazySource(this, options, tally);
    return rowRangeOf(source, this.info.fromRow, this.info.toRow);
  }

  /**
   * A cursor for reads of single rows: a seek to a row that the file cannot hold, or for times that it does not have
   * (`window`, set before each seek), answers END without reading. `seek` is shared by the files of one store.
   */
  pointCursor(
    options: CursorOptions = {},
    window: FileWindow | null = null,
    seek: RowSeek | null = null,
    tally: SourceTally | null = null,
  ): CellSource {
    this.#holders++;
    return new PointSource(this, options, window, seek, tally);
  }

  /** The open reader, or null: `open` first. */
  get reader(): HFileReader | null {
    return this.#reader;
  }

  open(): Promise<HFileReader> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<HFileReader> {
    const { fs, cache, readerOptions } = this.#context;
    try {
      const { path, stamp, inMemory } = this.info;
      this.#reader = await HFileReader.open(fs, path, cache, { ...readerOptions, stamp, inMemory });
      return this.#reader;
    } catch (error) {
      // The next reader tries again: what failed may have been the machine, not the file.
      this.#opening = null;
      throw error;
    }
  }

  released(): void {
    this.#holders--;
    invariant(this.#holders >= 0, 'a store file is released as often as it is held', this.info.id);
    if (this.#holders === 0) this.#retire?.();
  }

  /** The file has left its store: `done` runs when nobody holds it any more, perhaps at once. */
  retire(done: () => void): void {
    this.#retire = done;
    if (this.#holders === 0) done();
  }

  async close(): Promise<void> {
    const reader = this.#opening === null ? null : await this.#opening;
    this.#opening = null;
    this.#reader = null;
    await reader?.close();
  }

  /** False only if no row of the file can be this one, by its key range. */
  mayHoldRow(row: Uint8Array, rowAt: number, rowLength: number): boolean {
    const { firstRow, lastRow, fromRow, toRow } = this.info;
    if (firstRow === null || lastRow === null) return false;
    return (
      compareRanges(row, rowAt, rowLength, firstRow, 0, firstRow.length) >= 0 &&
      compareRanges(row, rowAt, rowLength, lastRow, 0, lastRow.length) <= 0 &&
      (fromRow.length === 0 ||
        compareRanges(row, rowAt, rowLength, fromRow, 0, fromRow.length) >= 0) &&
      (toRow.length === 0 || compareRanges(row, rowAt, rowLength, toRow, 0, toRow.length) < 0)
    );
  }
}

/** Opens its file when the first move needs it. */
class LazySource implements CellSource {
  readonly file: StoreFile;
  readonly newest: NewestTimestamp;
  readonly #options: CursorOptions;
  readonly #noCell: CellView = new CellFields();
  cursor: HFileCursor | null = null;
  probe: BloomProbe | null = null;
  /** Told what is used of the file, for explanations. */
  readonly tally: SourceTally | null;
  #isClosed = false;

  constructor(file: StoreFile, options: CursorOptions, tally: SourceTally | null) {
    this.file = file;
    this.newest = { high: file.info.maxTimestampHigh, low: file.info.maxTimestampLow };
    this.#options = options;
    this.tally = tally;
    this.attach();
  }

  get cell(): CellView {
    return this.cursor === null ? this.#noCell : this.cursor.cell;
  }

  /** True once the file is open. */
  attach(): boolean {
    if (this.cursor !== null) return true;
    const { reader } = this.file;
    if (reader === null) return false;
    const used = this.tally === null ? reader : new WatchedFile(reader, this.tally);
    this.cursor = used.cursor(this.#options);
    this.probe = used.probe;
    return true;
  }

  seek(key: SeekKey): SourceState {
    return this.attach() ? this.cursor!.seek(key) : WAIT;
  }

  seekToFirst(): SourceState {
    return this.attach() ? this.cursor!.seekToFirst() : WAIT;
  }

  next(): SourceState {
    return this.attach() ? this.cursor!.next() : WAIT;
  }

  reseek(key: SeekKey): SourceState {
    return this.attach() ? this.cursor!.reseek(key) : WAIT;
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    return this.attach() ? this.cursor!.seekBeforeRow(row, rowAt, rowLength) : WAIT;
  }

  seekToLastRow(): SourceState {
    return this.attach() ? this.cursor!.seekToLastRow() : WAIT;
  }

  async load(): Promise<void> {
    if (this.cursor !== null) await this.cursor.load();
    else {
      if (this.tally !== null) this.tally.opened = true;
      await this.file.open();
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.cursor?.close();
    this.file.released();
  }
}

/** Answers seeks to rows; asks key range and Bloom filter before the index, or goes where the row is known to be. */
class PointSource extends LazySource implements PlacedSource {
  readonly owner: RowSeek | null;
  readonly numbers: Map<number, number> = new Map();
  generation = 0;
  readonly #window: FileWindow | null;
  #waitsForBloom = false;
  #waitsForColumns = false;
  #columns: ColumnFilter | null = null;
  #key: SeekKey | null = null;

  constructor(
    file: StoreFile,
    options: CursorOptions,
    window: FileWindow | null,
    seek: RowSeek | null,
    tally: SourceTally | null,
  ) {
    super(file, options, tally);
    this.#window = window;
    this.owner = seek;
    seek?.join(file);
  }

  override seek(key: SeekKey): SourceState {
    const { owner } = this;
    if (owner !== null && owner.isNowhere) return END;
    if (owner !== null && owner.known !== null) {
      if (owner.known !== this) return END;
      const refused = this.#window === null ? null : this.#window.refusesTimes(this.file.info);
      return refused === null ? READY : END;
    }
    this.#waitsForBloom = false;
    this.#waitsForColumns = false;
    const { row, rowAt, rowLength } = key;
    if (!this.file.mayHoldRow(row, rowAt, rowLength)) return this.#refuse('key range');
    const refused = this.#window === null ? null : this.#window.refusesTimes(this.file.info);
    if (refused !== null) {
      owner?.leaveOut();
      return this.#refuse(refused);
    }
    if (!this.attach()) return WAIT;
    const hash = owner === null ? null : owner.hash;
    const answer = this.probe!.mightContainRow(row, rowAt, rowLength, hash);
    if (answer === PROBE_ABSENT) return this.#refuse('row Bloom filter');
    if (answer === PROBE_WAIT) {
      this.#waitsForBloom = true;
      this.#key = key;
      return WAIT;
    }
    if (this.probe!.knowsColumns && this.#window !== null) {
      const refusedColumns = this.#askColumns(this.#window, key);
      if (refusedColumns !== READY) return refusedColumns;
    }
    const state = this.cursor!.seek(key);
    if (owner !== null && state === READY && sameRowAs(this.cell, row, rowAt, rowLength)) {
      owner.found(this);
    }
    return state;
  }

  standAt(offset: number, place: number): boolean {
    return this.cursor !== null && this.cursor.standAt(offset, place);
  }

  get rowBlock(): number {
    return this.cursor === null ? -1 : this.cursor.rowBlock;
  }

  /** READY: go on. */
  #askColumns({ qualifiers }: FileWindow, key: SeekKey): SourceState {
    const { row, rowAt, rowLength } = key;
    this.#columns ??= new ColumnFilter(this.probe!);
    const answer = this.#columns.mayHold(row, rowAt, rowLength, qualifiers);
    if (answer === PROBE_WAIT) {
      this.#waitsForColumns = true;
      this.#key = key;
      return WAIT;
    }
    if (answer !== PROBE_ABSENT) return READY;
    // The file may hold the row all the same.
    this.owner?.leaveOut();
    return this.#refuse('column Bloom filter');
  }

  override async load(): Promise<void> {
    if (this.#key === null || !(this.#waitsForBloom || this.#waitsForColumns)) return super.load();
    const { row, rowAt, rowLength } = this.#key;
    const qualifiers = this.#window?.qualifiers ?? null;
    if (this.#waitsForColumns && qualifiers !== null) {
      return this.#columns!.load(row, rowAt, rowLength, qualifiers);
    }
    await this.probe!.loadForRow(row, rowAt, rowLength);
  }

  #refuse(why: SourceRuledOut): SourceState {
    if (this.tally !== null) this.tally.ruledOut = why;
    return END;
  }

  override close(): void {
    this.owner?.forget(this);
    super.close();
  }
}
