/**
 * Families that the filter does not need for its decision: they are read only for rows that it has passed, so the blocks of
 * other rows are never fetched. HBase: the joined heap of RegionScannerImpl.
 */
import { END, READY, WAIT, compareRanges } from '../../cell/index.ts';
import type { CellSource, SourceState } from '../../cell/index.ts';
import type { CellBatch } from './cell_batch.ts';
import { SeekTarget, sameRowAs } from './keys.ts';
import type { KeptBytes } from './keys.ts';
import { ROW_DONE, ROW_END_OF_SCAN, ROW_PAUSE, ROW_WAIT } from './store_scanner.ts';
import type { RowState, StoreScanner } from './store_scanner.ts';

/** Of a store that stands nowhere. */
const NEVER_SOUGHT = -1;

export class LazyStores {
  readonly #stores: readonly StoreScanner[];
  readonly #states: (SourceState | typeof NEVER_SOUGHT)[];
  readonly #row: KeptBytes;
  readonly #target: SeekTarget = new SeekTarget();
  #storeAt = 0;
  /** What the last ROW_WAIT waits for. */
  waiting: CellSource | null = null;

  /** In byte order of the families. `row` is the region scanner's: the row to read. */
  constructor(stores: readonly StoreScanner[], row: KeptBytes) {
    this.#stores = stores;
    this.#states = stores.map(() => NEVER_SOUGHT);
    this.#row = row;
  }

  get isEmpty(): boolean {
    return this.#stores.length === 0;
  }

  /** Adds what the row has in these families. After ROW_WAIT and ROW_PAUSE it goes on with the next call. */
  readRow(batch: CellBatch): RowState {
    for (; this.#storeAt < this.#stores.length; this.#storeAt++) {
      const store = this.#stores[this.#storeAt]!;
      if (!store.isInRow) {
        const state = this.#seek(store);
        if (state === WAIT) {
          this.waiting = store.source;
          return ROW_WAIT;
        }
        if (state === END || !this.#isAtRow(store)) continue;
        store.startRow();
      }
      const state = store.readRow(batch);
      if (state === ROW_WAIT) this.waiting = store.source;
      if (state === ROW_DONE) this.#states[this.#storeAt] = store.leave();
      else if (state === ROW_END_OF_SCAN) {
        store.end();
        this.#states[this.#storeAt] = END;
      }
      if (state === ROW_WAIT || state === ROW_PAUSE) return state;
    }
    this.#storeAt = 0;
    return ROW_DONE;
  }

  close(): void {
    for (const { source } of this.#stores) source.close();
  }

  /** To the row, or to the first behind it. */
  #seek(store: StoreScanner): SourceState {
    const at = this.#storeAt;
    const state = this.#states[at]!;
    if (state === END) return END;
    if (state === READY && !this.#isBeforeRow(store)) return READY;
    this.#target.toRow(this.#row.buf, 0, this.#row.length);
    const { source } = store;
    const moved = state === READY ? source.reseek(this.#target) : source.seek(this.#target);
    this.#states[at] = moved === WAIT ? NEVER_SOUGHT : moved;
    return moved;
  }

  #isAtRow(store: StoreScanner): boolean {
    return sameRowAs(store.source.cell, this.#row.buf, 0, this.#row.length);
  }

  #isBeforeRow({ source }: StoreScanner): boolean {
    const { block, rowAt, rowLength } = source.cell;
    const { buf, length } = this.#row;
    return compareRanges(block, rowAt, rowLength, buf, 0, length) < 0;
  }
}
