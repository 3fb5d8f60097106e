/**
 * Reads one store row by row: moves the source as the matcher says and copies what it includes.
 *
 * A move that meets WAIT is remembered and made again by the next call; its target is kept in bytes of our own, since the
 * cell that named it may be gone by then. HBase: StoreScanner.
 */
import { END, READY, WAIT, compareRanges } from '../../cell/index.ts';
import type { CellSource, CellView, SeekKey, SourceState } from '../../cell/index.ts';
import type { CellFilter } from '../../filter/index.ts';
import type { CellBatch } from './cell_batch.ts';
import { HIDDEN_FILTER, HIDDEN_READ_POINT, HIDDEN_STORE_LIMIT } from './explain_cells.ts';
import type { CellTally } from './explain_cells.ts';
import { KeptBytes, SeekTarget, compareCellToKey, sameRowAs } from './keys.ts';
import { MergeSource } from './merge_source.ts';
import {
  MATCH_DONE,
  MATCH_HINT,
  MATCH_INCLUDE,
  MATCH_INCLUDE_NEXT_COLUMN,
  MATCH_INCLUDE_NEXT_ROW,
  MATCH_NEXT_COLUMN,
  MATCH_NEXT_ROW,
  MATCH_SKIP,
  StoreMatcher,
} from './store_matcher.ts';
import type { MatchSpec } from './store_matcher.ts';

/** What `readRow` answers. */
export const ROW_DONE = 0;
export const ROW_WAIT = 1;
/** The batch is full; the row goes on. */
export const ROW_PAUSE = 2;
/** The filter wants nothing more of the store. */
export const ROW_END_OF_SCAN = 3;
export type RowState =
  typeof ROW_DONE | typeof ROW_WAIT | typeof ROW_PAUSE | typeof ROW_END_OF_SCAN;

/** How far `next` is tried before a seek: a seek costs as much as about this many steps. */
const STEPS_MAX = 8;

/** The move that is due before the next cell is looked at. */
const STAY = 0;
const NEXT = 1;
const TO_TARGET = 2;
const TO_NEXT_ROW = 3;
type Move = typeof STAY | typeof NEXT | typeof TO_TARGET | typeof TO_NEXT_ROW;

export interface StoreScanSpec extends MatchSpec {
  /** Cells at most of one row after `storeOffset` skipped ones. */
  readonly storeLimit: number;
  readonly storeOffset: number;
}

/** One row at a time: the next row is asked for by a seek, so the row just read need not be left cell by cell. */
export type RowOrder = 'forward' | 'reversed' | 'point';

export class StoreScanner {
  /** READY: the source stands on a cell of the row being read or of one still to come. */
  state: SourceState = END;
  readonly source: CellSource;
  readonly #merge: MergeSource | null;
  readonly #matcher: StoreMatcher = new StoreMatcher();
  readonly #order: RowOrder;
  #filter: CellFilter | null = null;
  /** The filter, if it says what it costs. */
  #costly: CellFilter | null = null;
  #tally: CellTally | null = null;
  #storeLimitEnd = 0;
  #storeOffset = 0;
  #readHigh = 0;
  #readLow = 0;
  /** The row being read: bytes shared with the region's scanner. */
  readonly #row: KeptBytes;
  #inRow = false;
  #move: Move = STAY;
  #steps = 0;
  #countInRow = 0;
  readonly #target: SeekTarget = new SeekTarget();
  readonly #targetQualifier: KeptBytes = new KeptBytes();
  readonly #targetRow: KeptBytes = new KeptBytes();
  /** Reversed: the filter's hint names an earlier row, which `#targetRow` holds. */
  #hasEarlierRow = false;

  constructor(source: CellSource, row: KeptBytes, order: RowOrder) {
    this.source = source;
    this.#merge = source instanceof MergeSource ? source : null;
    this.#row = row;
    this.#order = order;
  }

  /** Sets what to read. May be called again. Cells with a write number above (readHigh, readLow) are not seen. */
  begin(spec: StoreScanSpec, readHigh: number, readLow: number, nowMs: number): void {
    this.#matcher.begin(spec, nowMs);
    this.#filter = spec.filter;
    this.#costly = spec.filter?.takeWork === undefined ? null : spec.filter;
    this.#tally = spec.tally ?? null;
    this.#storeOffset = spec.storeOffset;
    this.#storeLimitEnd = spec.storeLimit + spec.storeOffset;
    this.#readHigh = readHigh;
    this.#readLow = readLow;
    this.#inRow = false;
    this.#move = STAY;
    this.#hasEarlierRow = false;
  }

  /** Whether cells of the row may be left to read. */
  get isInRow(): boolean {
    return this.#inRow;
  }

  /** Begins to read the row whose first cell the source stands on. */
  startRow(): void {
    this.#matcher.startRow();
    this.#inRow = true;
    this.#move = STAY;
    this.#countInRow = 0;
  }

  /** Gives the row up without reading on. */
  skipRow(): void {
    this.#inRow = true;
    if (this.#tally !== null) {
      this.#tally.stand(this.source.cell);
      this.#tally.hide(HIDDEN_FILTER);
    }
    this.#leaveRow();
  }

  /** Reads no further rows. */
  end(): void {
    this.state = END;
    this.#inRow = false;
    this.#move = STAY;
  }

  /**
   * Ends the row where it is, for a reader that seeks each of its rows: END if the source is known to have no more cells,
   * else READY.
   */
  leave(): SourceState {
    if (this.#inRow) this.state = READY;
    this.#inRow = false;
    this.#move = STAY;
    return this.state;
  }

  /** Stands on the next row to come, after the row that was read or skipped. READY and END: see `state`. */
  advance(): SourceState {
    if (!this.#inRow) return this.state;
    const state = this.#order === 'forward' ? this.#finishRow() : this.#toEarlierRow();
    if (state === WAIT) return WAIT;
    this.#inRow = false;
    this.#move = STAY;
    this.state = state;
    return state;
  }

  /** The row's read so far met some delete marker. */
  get metMarker(): boolean {
    return this.#matcher.metMarker;
  }

  /** Copies what the matcher includes of the row into `batch`. */
  readRow(batch: CellBatch): RowState {
    const tally = this.#tally;
    for (;;) {
      if (this.#move !== STAY) {
        if (this.#move === TO_NEXT_ROW && this.#order !== 'forward') return this.#rowOver();
        const state = this.#makeMove();
        if (state === WAIT) return ROW_WAIT;
        if (state === END || !this.#isInRow(this.source.cell)) return this.#rowDone(state);
        this.#move = STAY;
      }
      if (batch.isTired) return ROW_PAUSE;
      batch.examined++;
      const cell = this.source.cell;
      if (
        cell.writeHigh > this.#readHigh ||
        (cell.writeHigh === this.#readHigh && cell.writeLow > this.#readLow)
      ) {
        this.#move = NEXT;
        tally?.hide(HIDDEN_READ_POINT);
        continue;
      }
      if (batch.cutsEarly && batch.cut()) return ROW_PAUSE;
      if (tally !== null) tally.stand(cell);
      const match = this.#matcher.match(cell);
      if (this.#costly !== null) batch.examined += this.#costly.takeWork!();
      if (match <= MATCH_INCLUDE_NEXT_ROW) {
        this.#countInRow++;
        // The move is set first: its target is read from the cell's own bytes. Behind the last cell that is wanted the
        // row is left at once: the filter is not asked about the others.
        this.#setMove(this.#countInRow < this.#storeLimitEnd ? match : MATCH_NEXT_ROW, cell);
        const isWanted =
          this.#countInRow > this.#storeOffset && this.#countInRow <= this.#storeLimitEnd;
        if (tally !== null) this.#countKept(tally, isWanted);
        if (isWanted && this.#keep(cell, batch)) return ROW_PAUSE;
      } else if (match === MATCH_DONE) return ROW_END_OF_SCAN;
      else this.#setMove(match, cell);
    }
  }

  #countKept(tally: CellTally, isWanted: boolean): void {
    if (!isWanted) tally.hide(HIDDEN_STORE_LIMIT);
    else tally.kept++;
    if (this.#countInRow >= this.#storeLimitEnd) tally.because(HIDDEN_STORE_LIMIT);
  }

  #keep(cell: CellView, batch: CellBatch): boolean {
    return batch.append(this.#filter === null ? cell : this.#filter.transformCell(cell));
  }

  #isInRow(cell: CellView): boolean {
    return sameRowAs(cell, this.#row.buf, 0, this.#row.length);
  }

  #rowDone(state: SourceState): RowState {
    if (this.#order === 'forward') {
      this.state = state;
      this.#inRow = false;
      this.#move = STAY;
    }
    return this.#rowOver();
  }

  /** HBase asks the filter once more when it sees the next row's cell, still before the filter is told that the row is over. */
  #rowOver(): RowState {
    const isCut = this.#countInRow >= this.#storeLimitEnd;
    return !isCut && this.#filter?.filterAllRemaining() === true ? ROW_END_OF_SCAN : ROW_DONE;
  }

  #setMove(match: number, cell: CellView): void {
    switch (match) {
      case MATCH_INCLUDE:
      case MATCH_SKIP:
        this.#move = NEXT;
        return;
      case MATCH_INCLUDE_NEXT_COLUMN:
      case MATCH_NEXT_COLUMN:
        this.#leaveColumn(cell);
        return;
      case MATCH_INCLUDE_NEXT_ROW:
      case MATCH_NEXT_ROW:
        this.#leaveRow();
        return;
      case MATCH_HINT:
        this.#followHint(cell);
        return;
    }
  }

  #leaveColumn(cell: CellView): void {
    if (cell.qualifierLength === 0) {
      // Markers of the family may stand below cells of the empty column (HBASE-18471).
      this.#move = NEXT;
      return;
    }
    const target = this.#target;
    target.toRow(this.#row.buf, 0, this.#row.length);
    const wanted = this.#matcher.nextColumn;
    if (wanted !== null) target.toColumn(wanted, wanted.length);
    else {
      const kept = this.#targetQualifier;
      kept.set(cell.block, cell.qualifierAt, cell.qualifierLength);
      target.afterColumn(kept.buf, kept.length);
    }
    this.#move = TO_TARGET;
    this.#steps = 0;
  }

  #leaveRow(): void {
    this.#move = TO_NEXT_ROW;
    this.#steps = 0;
    if (this.#order !== 'forward') return;
    // The least row after this one has one more byte, 0.
    const kept = this.#targetRow;
    kept.setWithZero(this.#row.buf, this.#row.length);
    this.#target.toRow(kept.buf, 0, kept.length);
  }

  #followHint(cell: CellView): void {
    const hint = this.#filter!.nextCellHint(cell);
    if (hint === null) {
      this.#move = NEXT;
      return;
    }
    if (this.#tally !== null) this.#tally.hintsGiven++;
    const { row, rowAt, rowLength } = hint;
    const { buf, length } = this.#row;
    const order = compareRanges(row, rowAt, rowLength, buf, 0, length);
    if (order === 0 || (order > 0 && this.#order === 'forward')) {
      this.#seekHint(hint, cell);
      if (this.#tally !== null && this.#move === TO_TARGET) this.#tally.hintsFollowed++;
      return;
    }
    if (this.#order === 'forward') {
      this.#move = NEXT; // A hint backwards is no hint.
      return;
    }
    this.#leaveRow();
    if (order < 0 && this.#order === 'reversed') {
      this.#targetRow.setWithZero(row.subarray(rowAt, rowAt + rowLength), rowLength);
      this.#hasEarlierRow = true;
      if (this.#tally !== null) this.#tally.hintsFollowed++;
    }
  }

  #seekHint(hint: SeekKey, cell: CellView): void {
    // From the empty column no hint is followed within its row: a marker of the family may stand below its cells, as in
    // `#leaveColumn`. (HBase follows it, and what the marker hides comes back.)
    const staysInRow = cell.qualifierLength === 0 && this.#isHere(hint);
    if (staysInRow || compareCellToKey(cell, hint) >= 0) {
      this.#move = NEXT;
      return;
    }
    const target = this.#target;
    this.#targetRow.set(hint.row, hint.rowAt, hint.rowLength);
    target.toRow(this.#targetRow.buf, 0, hint.rowLength);
    if (hint.qualifier !== null) {
      this.#targetQualifier.set(hint.qualifier, hint.qualifierAt, hint.qualifierLength);
      target.toColumn(this.#targetQualifier.buf, hint.qualifierLength);
      target.timestampHigh = hint.timestampHigh;
      target.timestampLow = hint.timestampLow;
      target.type = hint.type;
    }
    this.#move = TO_TARGET;
    this.#steps = STEPS_MAX;
  }

  #isHere({ row, rowAt, rowLength }: SeekKey): boolean {
    const { buf, length } = this.#row;
    return compareRanges(row, rowAt, rowLength, buf, 0, length) === 0;
  }

  #makeMove(): SourceState {
    const { source } = this;
    if (this.#move === NEXT) return source.next();
    while (this.#steps < STEPS_MAX) {
      // Older versions in files that were put off: the seek leaves them where they are.
      if (this.#merge !== null && this.#merge.isNextPutOff) break;
      const state = source.next();
      if (state !== READY) return state;
      this.#steps++;
      if (compareCellToKey(source.cell, this.#target) >= 0) return READY;
      this.#tally?.passOver(source.cell, this.#move === TO_NEXT_ROW);
    }
    return source.reseek(this.#target);
  }

  /** Forward: leaves the row as far as that is still to do. */
  #finishRow(): SourceState {
    for (;;) {
      if (this.#move !== TO_NEXT_ROW) this.#leaveRow();
      const state = this.#makeMove();
      if (state !== READY || !this.#isInRow(this.source.cell)) return state;
      this.#steps = STEPS_MAX;
    }
  }

  #toEarlierRow(): SourceState {
    const row = this.#hasEarlierRow ? this.#targetRow : this.#row;
    const state = this.source.seekBeforeRow(row.buf, 0, row.length);
    if (state !== WAIT) this.#hasEarlierRow = false;
    return state;
  }
}
