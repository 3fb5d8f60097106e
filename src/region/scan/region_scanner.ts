/**
 * Reads the rows of a region: one store scanner a family, in byte order of the families, whose cells of one row make one
 * result. HBase: RegionScannerImpl.
 */
import { END, READY, WAIT, compareRanges } from '../../cell/index.ts';
import type { CellSource, CellView, SourceState } from '../../cell/index.ts';
import type { CellFilter } from '../../filter/index.ts';
import { invariant } from '../../io/index.ts';
import { IncompatibleFilterException, STORE_LIMIT_NONE } from '../../model/index.ts';
import type { FamilySettings, ScanSpec, TimeRangeSpec } from '../../model/index.ts';
import type { BatchLimits, CellBatch } from './cell_batch.ts';
import type { CellTally } from './explain_cells.ts';
import { KeptBytes, SeekTarget, sameRowAs } from './keys.ts';
import { LazyStores } from './lazy_stores.ts';
import { ROW_DONE, ROW_END_OF_SCAN, ROW_PAUSE, ROW_WAIT, StoreScanner } from './store_scanner.ts';
import type { RowState } from './store_scanner.ts';

/** One family's part of a scan. */
export interface ScanStore {
  readonly settings: FamilySettings;
  /** All cells of the family; a reversed scan needs a source made by `mergeOf(…, true)`. The scanner closes it. */
  readonly source: CellSource;
  /** In byte order, each once, not empty; null for the whole family. */
  readonly qualifiers: readonly Uint8Array[] | null;
  readonly timeRange: TimeRangeSpec;
  readonly tally?: CellTally | null;
}

export interface RegionScanOptions {
  /** In byte order of the family names. */
  readonly stores: readonly ScanStore[];
  /** `from` and `to` already cut to the region. */
  readonly spec: ScanSpec;
  /** Cells with a write number at or below this are seen; all ones for READ_UNCOMMITTED. */
  readonly readHigh: number;
  readonly readLow: number;
  /** Judges TTL. */
  readonly nowMs: number;
  readonly filter: CellFilter | null;
}

const SEEK_FIRST = 0;
const SEEK_ROW = 1;
const IN_ROW = 2;
const ENDED = 3;
/** The filter has passed the row: families that it did not need are being read. */
const IN_LAZY = 4;
type Stage = typeof SEEK_FIRST | typeof SEEK_ROW | typeof IN_ROW | typeof ENDED | typeof IN_LAZY;

export class RegionScanner {
  /** Rows read so far, and those of them that were dropped: by the filter, or since nothing of them is visible. */
  rowsScanned = 0;
  rowsFiltered = 0;
  readonly #stores: readonly StoreScanner[];
  /** Families that are read only for rows that the filter has passed. */
  readonly #lazy: LazyStores;
  readonly #spec: ScanSpec;
  readonly #filter: CellFilter | null;
  readonly #filtersRows: boolean;
  readonly #cellsMax: number;
  readonly #row: KeptBytes = new KeptBytes();
  readonly #start: SeekTarget = new SeekTarget();
  #stage: Stage = SEEK_FIRST;
  /** The store that the stage has come to. */
  #storeAt = 0;
  #rowsLeft: number;
  /** The filter has been told that a row is over. */
  #isReset = false;
  #waiting: CellSource | null = null;

  /** Throws IncompatibleFilterException when a filter of whole rows is to work on parts of rows (`batch`). */
  constructor(options: RegionScanOptions) {
    const { spec, filter } = options;
    this.#spec = spec;
    this.#filter = filter;
    this.#filtersRows = filter !== null && filter.hasFilterRow();
    if (filter !== null) checkBatch(filter, spec);
    this.#cellsMax = spec.batch === STORE_LIMIT_NONE ? Infinity : spec.batch;
    this.#rowsLeft = spec.limit;
    const order = spec.reversed ? 'reversed' : 'forward';
    const isLazy = (store: ScanStore): boolean =>
      !spec.reversed &&
      spec.loadColumnFamiliesOnDemand &&
      filter?.isFamilyEssential?.(Buffer.from(store.settings.name)) === false;
    const open = (store: ScanStore): StoreScanner => {
      const scanner = new StoreScanner(store.source, this.#row, order);
      const { storeLimit, storeOffset, versions, raw } = spec;
      const { settings, qualifiers, timeRange, tally = null } = store;
      scanner.begin(
        { settings, qualifiers, timeRange, versions, raw, filter, storeLimit, storeOffset, tally },
        options.readHigh,
        options.readLow,
        options.nowMs,
      );
      return scanner;
    };
    this.#stores = options.stores.filter((store) => !isLazy(store)).map(open);
    for (const store of options.stores) {
      if (store.tally && isLazy(store)) store.tally.onDemand = true;
    }
    this.#lazy = new LazyStores(options.stores.filter(isLazy).map(open), this.#row);
    if (this.#rowsLeft <= 0 || this.#stores.length === 0) this.#stage = ENDED;
  }

  /**
   * Adds results to `batch` (which the caller clears once it has taken them) until a limit is reached (READY), the scan is over
   * (END), or bytes are wanted (WAIT: `load`, then call again with the same batch). READY and WAIT may come with any
   * number of results, none included.
   */
  next(batch: CellBatch, limits: BatchLimits): SourceState {
    batch.begin(this.#filtersRows ? { ...limits, partsAllowed: false } : limits, this.#cellsMax);
    while (this.#stage !== ENDED) {
      if (batch.isFull) return READY;
      if (this.#stage === IN_ROW) {
        const state = this.#readRow(batch);
        if (state === ROW_WAIT) return WAIT;
        if (state === ROW_PAUSE) return READY;
        this.#finishRow(batch);
      } else if (this.#stage === IN_LAZY) {
        const state = this.#lazy.readRow(batch);
        if (state === ROW_WAIT) {
          this.#waiting = this.#lazy.waiting;
          return WAIT;
        }
        if (state === ROW_PAUSE) return READY;
        this.#finishLazy(batch);
      } else {
        if (this.#seekStores() === WAIT) return WAIT;
        this.#chooseRow();
        batch.examined += 1 + (this.#filter?.takeWork?.() ?? 0);
      }
    }
    return END;
  }

  /**
   * Whether there may be another row behind those that were read: false only if that is known to be the end. Between rows, it
   * looks at what comes next.
   */
  hasMore(): boolean {
    if (this.#stage !== SEEK_ROW) return this.#stage !== ENDED;
    if (this.#seekStores() === WAIT) return true;
    const first = this.#firstStore();
    if (first === null || this.#isPastEnd(first.source.cell)) return false;
    return !this.isFilterDone();
  }

  /** The filter wants nothing more of the region. */
  isFilterDone(): boolean {
    if (this.#stage !== IN_ROW && this.#stage !== IN_LAZY) this.#resetFilter();
    return this.#filter?.filterAllRemaining() === true;
  }

  /**
   * Between two rows, before the filter is asked whether it wants more: what counted within the row does not end the scan.
   * HBase: RegionScannerImpl#nextRaw.
   */
  #resetFilter(): void {
    if (this.#isReset) return;
    this.#isReset = true;
    this.#filter?.reset();
  }

  /** The row that was begun last: a copy. Empty before the first. */
  currentRow(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#row.buf, 0, this.#row.length);
  }

  /** Fetches what the last WAIT wanted. Rejects with IoException or CorruptionException. */
  async load(): Promise<void> {
    await this.#waiting?.load();
  }

  /** Frees the sources. Idempotent. */
  close(): void {
    this.#stage = ENDED;
    for (const store of this.#stores) store.source.close();
    this.#lazy.close();
  }

  /** Brings every store to the first cell of its next row. */
  #seekStores(): SourceState {
    const stores = this.#stores;
    for (; this.#storeAt < stores.length; this.#storeAt++) {
      const store = stores[this.#storeAt]!;
      const state = this.#stage === SEEK_FIRST ? this.#seekFirst(store) : store.advance();
      if (state === WAIT) {
        this.#waiting = store.source;
        return WAIT;
      }
      store.state = state;
    }
    this.#storeAt = 0;
    return READY;
  }

  #seekFirst(store: StoreScanner): SourceState {
    const { from, to, reversed } = this.#spec;
    const { source } = store;
    if (reversed) {
      return to.length === 0 ? source.seekToLastRow() : source.seekBeforeRow(to, 0, to.length);
    }
    if (from.length === 0) return source.seekToFirst();
    this.#start.toRow(from, 0, from.length);
    return source.seek(this.#start);
  }

  /** Picks the next row among the stores and begins it, unless the scan or the filter ends here. */
  #chooseRow(): void {
    const first = this.#firstStore();
    if (first === null || this.#isPastEnd(first.source.cell) || this.isFilterDone()) {
      this.#stage = ENDED;
      return;
    }
    const { cell } = first.source;
    this.#row.set(cell.block, cell.rowAt, cell.rowLength);
    this.#stage = SEEK_ROW;
    this.#isReset = false;
    if (this.#filter?.filterRowKey(cell)) {
      this.rowsScanned++;
      this.rowsFiltered++;
      for (const store of this.#stores) if (this.#isAtRow(store)) store.skipRow();
      return;
    }
    for (const store of this.#stores) if (this.#isAtRow(store)) store.startRow();
    this.#stage = IN_ROW;
  }

  #firstStore(): StoreScanner | null {
    const only = this.#stores[0]!;
    if (this.#stores.length === 1) return only.state === READY ? only : null;
    const { reversed } = this.#spec;
    let first: StoreScanner | null = null;
    for (const store of this.#stores) {
      if (store.state !== READY) continue;
      if (first === null) first = store;
      else {
        const order = compareRows(store.source.cell, first.source.cell);
        if (reversed ? order > 0 : order < 0) first = store;
      }
    }
    return first;
  }

  #isPastEnd(cell: CellView): boolean {
    const { from, to, reversed } = this.#spec;
    const { block, rowAt, rowLength } = cell;
    if (reversed) return compareRanges(block, rowAt, rowLength, from, 0, from.length) < 0;
    return to.length > 0 && compareRanges(block, rowAt, rowLength, to, 0, to.length) >= 0;
  }

  #isAtRow(store: StoreScanner): boolean {
    if (this.#stores.length === 1) return true;
    return (
      store.state === READY && sameRowAs(store.source.cell, this.#row.buf, 0, this.#row.length)
    );
  }

  #readRow(batch: CellBatch): RowState {
    const stores = this.#stores;
    for (; this.#storeAt < stores.length; this.#storeAt++) {
      const store = stores[this.#storeAt]!;
      if (!store.isInRow) continue;
      const state = store.readRow(batch);
      if (state === ROW_DONE) continue;
      if (state === ROW_END_OF_SCAN) {
        // Of this family: the others go on until the filter is asked there. HBase: StoreScanner, DONE_SCAN.
        store.end();
        continue;
      }
      if (state === ROW_WAIT) this.#waiting = store.source;
      return state;
    }
    this.#storeAt = 0;
    return ROW_DONE;
  }

  /** The row's cells are in the batch: they become its last result, unless the filter drops them or there are none. */
  #finishRow(batch: CellBatch): void {
    this.#stage = SEEK_ROW;
    this.rowsScanned++;
    const filter = this.#filter;
    const readsLazy = !this.#lazy.isEmpty && (batch.openCells > 0 || batch.hasParts);
    if (filter !== null && this.#filtersRows) filter.filterRowCells(batch.openRow());
    // A row that the filter has emptied may still have cells in the families not looked at.
    if (batch.openCells === 0 && !readsLazy) {
      if (batch.hasParts) this.#endRow(batch);
      else this.rowsFiltered++;
      return;
    }
    if (filter !== null && batch.openCells > 0 && filter.filterRow()) {
      this.rowsFiltered++;
      batch.dropRow();
      return;
    }
    if (readsLazy) {
      this.#stage = IN_LAZY;
      return;
    }
    batch.closeRow(false);
    this.#countRow();
  }

  #finishLazy(batch: CellBatch): void {
    this.#stage = SEEK_ROW;
    if (batch.openCells === 0) {
      if (batch.hasParts) this.#endRow(batch);
      return;
    }
    batch.sortOpenRow();
    batch.closeRow(false);
    this.#countRow();
  }

  /** The row's parts were all of it. */
  #endRow(batch: CellBatch): void {
    batch.endRow();
    this.#countRow();
  }

  #countRow(): void {
    invariant(this.#rowsLeft > 0, 'a row beyond the limit was read');
    this.#rowsLeft--;
    if (this.#rowsLeft === 0) this.#stage = ENDED;
  }
}

function compareRows(a: CellView, b: CellView): number {
  return compareRanges(a.block, a.rowAt, a.rowLength, b.block, b.rowAt, b.rowLength);
}

/** Refuses filters that decide on whole rows where parts of rows are asked for. Throws IncompatibleFilterException. */
export function checkBatch(filter: CellFilter, spec: ScanSpec): void {
  if (spec.batch === STORE_LIMIT_NONE || !filter.hasFilterRow()) return;
  throw new IncompatibleFilterException(
    'Cannot set batch on a scan using a filter that returns true for filter.hasFilterRow',
  );
}
