/**
 * Reads single rows: gets and existence. One reader serves many reads of a region, so that a read costs little beyond the seek. (A get with a filter is a scan of one row.)
 */
import { END, READY, WAIT } from '../../cell/index.ts';
import type { CellSource, CellView, SourceState } from '../../cell/index.ts';
import type { FamilySettings, ReadSpec, Result } from '../../model/index.ts';
import type { FileWindow } from '../file_window.ts';
import type { RowSeek } from '../row_seek.ts';
import { CellBatch } from './cell_batch.ts';
import type { CellTally } from './explain_cells.ts';
import { KeptBytes, SeekTarget, sameRowAs } from './keys.ts';
import { MergeSource, mergeOf } from './merge_source.ts';
import { selectFamily } from './selection.ts';
import { ROW_WAIT, StoreScanner } from './store_scanner.ts';
import type { StoreScanSpec } from './store_scanner.ts';

/** Small, since a result that is kept keeps its chunk. */
const CHUNK_SIZE = 8 * 1024;
const NO_LIMITS = { resultsMax: Infinity, bytesMax: Infinity };

/** What a point reader reads of a family. */
export interface PointStoreParts {
  readonly settings: FamilySettings;
  /** Newest first. */
  readonly sources: readonly CellSource[];
  /** What the sources were made with: set for each read. */
  readonly window?: FileWindow;
  readonly tally?: CellTally | null;
  /** What the sources of its files were made with. */
  readonly seek?: RowSeek | null;
}

/** One family, as a point reader keeps it. */
class PointStore {
  readonly settings: FamilySettings;
  readonly source: CellSource;
  readonly window: FileWindow | null;
  readonly seek: RowSeek | null;
  readonly scanner: StoreScanner;
  readonly tally: CellTally | null;
  /** What the current spec reads of it; null for nothing. */
  spec: StoreScanSpec | null = null;

  constructor({ settings, sources, window, seek, tally = null }: PointStoreParts, row: KeptBytes) {
    this.settings = settings;
    this.window = window ?? null;
    this.seek = seek ?? null;
    this.tally = tally;
    this.source = mergeOf(sources, false, tally);
    this.scanner = new StoreScanner(this.source, row, 'point');
  }
}

export class PointReader {
  /** After READY: the row's visible cells; null after END. Owned by whoever takes it. */
  result: Result | null = null;
  readonly #stores: readonly PointStore[];
  readonly #batch: CellBatch = new CellBatch(CHUNK_SIZE);
  readonly #row: KeptBytes = new KeptBytes();
  readonly #target: SeekTarget = new SeekTarget();
  #spec: ReadSpec | null = null;
  #isReading = false;
  #storeAt = 0;
  #inStore = false;
  #isSeeking = false;
  #waiting: CellSource | null = null;

  /**
   * `stores` in byte order of the families; `sources` newest first, closed by this reader. A new reader is needed when a store gets
   * other settings, memstores or files.
   */
  constructor(stores: readonly PointStoreParts[]) {
    this.#stores = stores.map((parts) => new PointStore(parts, this.#row));
    this.#batch.begin(NO_LIMITS, Infinity);
  }

  /**
   * Reads a row: READY with a result, END if nothing of it is visible, WAIT when bytes must be loaded: then `load` and
   * call again with the same arguments, or `abandon`. Cells with a write number above (readHigh, readLow) are not seen;
   * `nowMs` judges TTL. A spec that was read last time is not looked at again.
   */
  read(
    row: Uint8Array,
    spec: ReadSpec,
    readHigh: number,
    readLow: number,
    nowMs: number,
  ): SourceState {
    if (!this.#isReading) {
      if (spec !== this.#spec) this.#select(spec);
      this.#begin(row);
    }
    const stores = this.#stores;
    for (; this.#storeAt < stores.length; this.#storeAt++) {
      const store = stores[this.#storeAt]!;
      if (store.spec === null) continue;
      if (!this.#inStore) {
        if (store.window !== null) {
          store.window.setTimes(store.settings, store.spec.timeRange, false, nowMs);
          store.window.qualifiers = store.spec.qualifiers;
        }
        const state = this.#seek(store);
        if (state === WAIT) return this.#wait(store);
        if (state === END || !this.#isInRow(store.source.cell)) continue;
        store.scanner.begin(store.spec, readHigh, readLow, nowMs);
        store.scanner.startRow();
        this.#inStore = true;
      }
      if (store.scanner.readRow(this.#batch) === ROW_WAIT) return this.#wait(store);
      this.#inStore = false;
    }
    return this.#finish();
  }

  /** Fetches what the last WAIT wanted. Rejects with IoException or CorruptionException. */
  async load(): Promise<void> {
    await this.#waiting?.load();
  }

  /** Gives up a read that met WAIT. */
  abandon(): void {
    this.#isReading = false;
    for (const { source } of this.#stores) if (source instanceof MergeSource) source.reset();
  }

  close(): void {
    for (const store of this.#stores) store.source.close();
  }

  #select(spec: ReadSpec): void {
    const { versions, storeLimit, storeOffset } = spec;
    for (const store of this.#stores) {
      const { settings } = store;
      const selected = selectFamily(spec, settings.name);
      store.spec =
        selected === null
          ? null
          : {
              settings,
              qualifiers: selected.qualifiers,
              timeRange: selected.timeRange,
              versions,
              raw: false,
              filter: null,
              storeLimit,
              storeOffset,
              tally: store.tally,
            };
    }
    this.#spec = spec;
  }

  #begin(row: Uint8Array): void {
    this.result = null;
    this.#isReading = true;
    this.#inStore = false;
    this.#isSeeking = false;
    this.#storeAt = 0;
    this.#row.set(row, 0, row.length);
    this.#target.toRow(this.#row.buf, 0, row.length);
    this.#batch.reset();
  }

  #seek(store: PointStore): SourceState {
    const { seek } = store;
    if (seek === null) return store.source.seek(this.#target);
    // A seek that met WAIT goes on where it was.
    if (!this.#isSeeking) seek.begin(this.#row.buf, 0, this.#row.length);
    const state = store.source.seek(this.#target);
    this.#isSeeking = state === WAIT;
    if (state === READY) seek.end();
    return state;
  }

  #isInRow(cell: CellView): boolean {
    return sameRowAs(cell, this.#row.buf, 0, this.#row.length);
  }

  #wait(store: PointStore): SourceState {
    this.#waiting = store.source;
    return WAIT;
  }

  #finish(): SourceState {
    this.#isReading = false;
    const batch = this.#batch;
    if (batch.openCells === 0) return END;
    batch.closeRow(false);
    this.result = batch.result(0);
    return READY;
  }
}
