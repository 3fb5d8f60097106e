/**
 * Reads the newest visible cell of a column: the old value that increment, append and checkAndMutate go by. A deleted or
 * expired cell counts as absent (protocol/semantics.md sections 8 and 9).
 */
import { END, READY, WAIT } from '../../cell/index.ts';
import type { CellSource, CellView, SourceState } from '../../cell/index.ts';
import { STORE_LIMIT_NONE } from '../../model/index.ts';
import type { FamilySettings, TimeRangeSpec } from '../../model/index.ts';
import { CellBatch, PackedCell } from './cell_batch.ts';
import { KeptBytes, SeekTarget, sameRowAs } from './keys.ts';
import { MergeSource, mergeOf } from './merge_source.ts';
import { ROW_WAIT, StoreScanner } from './store_scanner.ts';
import type { StoreScanSpec } from './store_scanner.ts';

const NO_LIMITS = { resultsMax: Infinity, bytesMax: Infinity };

/** One store's reader; serves many reads. */
export class NewestReader {
  /** After READY: a copy of the cell, valid until the next read. */
  readonly cell: CellView;
  readonly #view: PackedCell = new PackedCell();
  readonly #settings: FamilySettings;
  readonly #source: CellSource;
  readonly #scanner: StoreScanner;
  readonly #batch: CellBatch = new CellBatch();
  readonly #row: KeptBytes = new KeptBytes();
  readonly #target: SeekTarget = new SeekTarget();
  #isReading = false;
  #isInRow = false;
  #spec: StoreScanSpec | null = null;

  /** `sources` newest first, closed by this reader. A new one is needed when the store gets other settings or sources. */
  constructor(settings: FamilySettings, sources: readonly CellSource[]) {
    this.cell = this.#view;
    this.#settings = settings;
    this.#source = mergeOf(sources, false);
    this.#scanner = new StoreScanner(this.#source, this.#row, 'point');
    this.#batch.begin(NO_LIMITS, Infinity);
  }

  /**
   * READY: `cell` is the newest visible cell of the column within `timeRange`; END: there is none; WAIT: `load`, then
   * call again with the same arguments, or `abandon`. To read the newest applied state, pass its write number as
   * (readHigh, readLow).
   */
  read(
    row: Uint8Array,
    qualifier: Uint8Array,
    timeRange: TimeRangeSpec,
    readHigh: number,
    readLow: number,
    nowMs: number,
  ): SourceState {
    if (!this.#isReading) this.#begin(row);
    const source = this.#source;
    if (!this.#isInRow) {
      const state = source.seek(this.#target);
      if (state === WAIT) return WAIT;
      if (state === END || !sameRowAs(source.cell, this.#row.buf, 0, row.length)) {
        this.#isReading = false;
        return END;
      }
      this.#scanner.begin(this.#specOf(qualifier, timeRange), readHigh, readLow, nowMs);
      this.#scanner.startRow();
      this.#isInRow = true;
    }
    if (this.#scanner.readRow(this.#batch) === ROW_WAIT) return WAIT;
    this.#isReading = false;
    const batch = this.#batch;
    if (batch.openCells === 0) return END;
    batch.viewOpen(this.#view);
    return READY;
  }

  /** After READY: the read met no delete marker, so none stands at or above the cell's timestamp. */
  get isUnmarked(): boolean {
    return !this.#scanner.metMarker;
  }

  /** Fetches what the last WAIT wanted. Rejects with IoException or CorruptionException. */
  async load(): Promise<void> {
    await this.#source.load();
  }

  /** Gives up a read that met WAIT. */
  abandon(): void {
    this.#isReading = false;
    if (this.#source instanceof MergeSource) this.#source.reset();
  }

  close(): void {
    this.#source.close();
  }

  /** What to read; that of a counter hit again and again is made once. `qualifier` is never changed by its owner. */
  #specOf(qualifier: Uint8Array, timeRange: TimeRangeSpec): StoreScanSpec {
    const known = this.#spec;
    if (known !== null && known.qualifiers?.[0] === qualifier && known.timeRange === timeRange) {
      return known;
    }
    this.#spec = {
      settings: this.#settings,
      qualifiers: [qualifier],
      timeRange,
      versions: 1,
      raw: false,
      filter: null,
      storeLimit: STORE_LIMIT_NONE,
      storeOffset: 0,
    };
    return this.#spec;
  }

  #begin(row: Uint8Array): void {
    this.#isReading = true;
    this.#isInRow = false;
    this.#row.set(row, 0, row.length);
    this.#target.toRow(this.#row.buf, 0, row.length);
    this.#batch.reset();
  }
}
