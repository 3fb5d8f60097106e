/**
 * Several sources of one store read as one. The sources stand in a small array in key order, the current one in front;
 * a move of the front shifts it to its new place, which is mostly the old one.
 *
 * A step that meets WAIT stops where it is: sources that have moved stay moved, the one that waits keeps its place, and
 * the same move made again goes on from there. Between the WAIT and that move `cell` means nothing (after `next` it is
 * unchanged).
 *
 * Lazy seeks (HBase: KeyValueHeap#requestSeek): a source that knows its newest timestamp is not moved to a column at once.
 * It is taken to stand on a cell of that column with that timestamp, the first that it could have; only when this comes
 * to the front is it really moved. Where a newer file has the column, older ones are never asked for it.
 */
import {
  CellFields,
  END,
  LATEST_HIGH,
  LATEST_LOW,
  NO_BYTES,
  READY,
  TYPE_MAXIMUM,
  WAIT,
  compareRanges,
  putU32,
} from '../../cell/index.ts';
import type {
  CellSource,
  CellView,
  NewestTimestamp,
  SeekKey,
  SourceState,
} from '../../cell/index.ts';
import { invariant } from '../../io/index.ts';
import { copyBytes } from './cell_batch.ts';
import type { CellTally } from './explain_cells.ts';
import { KeptBytes, SeekTarget, compareCellToKey, compareCells, sameRowAs } from './keys.ts';

/** What the merge keeps of one source. */
class Slot {
  readonly source: CellSource;
  /** The source's cell, at hand without a call. */
  cell: CellView;
  /** Among equal keys and write numbers the smaller one, the newer source, comes first. */
  readonly age: number;
  /** Where it stands until it is really moved, with `isLazy`: `cell` is this then. */
  readonly bound: BoundCell | null;
  isLazy = false;
  /** Reversed only: it has no row before the one asked for. */
  exhausted = false;
  /** Reversed only: it has no cell in the row being read, but stands on its greatest row before it (or is exhausted). */
  parked = false;
  constructor(source: CellSource, age: number) {
    this.source = source;
    this.cell = source.cell;
    this.age = age;
    this.bound = isKnown(source.newest) ? new BoundCell(source.newest) : null;
  }
}

/** The one source itself, or a merge. `sources` are newest first and belong to the result. */
export function mergeOf(
  sources: readonly CellSource[],
  reversed: boolean,
  tally: CellTally | null = null,
): CellSource {
  return sources.length === 1 ? sources[0]! : new MergeSource(sources, reversed, tally);
}

export class MergeSource implements CellSource {
  cell: CellView;
  readonly #slots: readonly Slot[];
  /** The first `#live` entries stand on a cell, in order. */
  readonly #order: Slot[];
  #live = 0;
  readonly #reversed: boolean;
  /** Counts seeks that are put off, for explanations. */
  readonly #tally: CellTally | null;
  /** A move is done but for the front, which is lazy and met WAIT. */
  #isAnswering = false;
  /** Progress of the step under way: slots below it are done. */
  #step = 0;
  #waiting: CellSource | null = null;
  /** Reversed: the row being read, and whether slots stand relative to it. */
  readonly #row: KeptBytes = new KeptBytes();
  #inRow = false;

  /**
   * `sources` are newest first; the merge closes them. A reversed merge is moved by `seekBeforeRow` and
   * `seekToLastRow` only, and reads one row at a time: behind its last cell `next` and `reseek` answer END.
   */
  constructor(
    sources: readonly CellSource[],
    reversed: boolean = false,
    tally: CellTally | null = null,
  ) {
    this.#slots = sources.map((source, age) => new Slot(source, age));
    this.#order = [...this.#slots];
    this.#reversed = reversed;
    this.#tally = tally;
    this.cell = sources.length > 0 ? sources[0]!.cell : NO_CELL;
  }

  seek(key: SeekKey): SourceState {
    this.#begin();
    for (; this.#step < this.#slots.length; this.#step++) {
      const slot = this.#slots[this.#step]!;
      const state = slot.source.seek(key);
      if (state === WAIT) return this.#wait(slot);
      if (state === READY) this.#insert(slot);
    }
    this.#step = 0;
    return this.#answer();
  }

  seekToFirst(): SourceState {
    this.#begin();
    for (; this.#step < this.#slots.length; this.#step++) {
      const slot = this.#slots[this.#step]!;
      const state = slot.source.seekToFirst();
      if (state === WAIT) return this.#wait(slot);
      if (state === READY) this.#insert(slot);
    }
    this.#step = 0;
    return this.#answer();
  }

  /** What comes behind the current cell may be a source whose seek was put off: `next` would have to make it. */
  get isNextPutOff(): boolean {
    return this.#live > 1 && this.#order[1]!.isLazy;
  }

  next(): SourceState {
    if (this.#isAnswering) return this.#answer();
    const front = this.#order[0]!;
    const state = front.source.next();
    if (state === READY) {
      front.cell = front.source.cell;
      if (this.#live > 1) this.#settleFront(front);
      return this.#inRow ? this.#answerInRow() : this.#answer();
    }
    if (state === WAIT) {
      this.#waiting = front.source;
      return WAIT;
    }
    this.#dropFront();
    return this.#inRow ? this.#answerInRow() : this.#answer();
  }

  reseek(key: SeekKey): SourceState {
    const mayWait = !this.#reversed && isColumnStart(key);
    while (this.#live > 0) {
      const front = this.#order[0]!;
      if (compareCellToKey(front.cell, key) >= 0) break;
      if (mayWait && front.bound !== null && this.#live > 1) {
        front.bound.set(key);
        front.cell = front.bound;
        front.isLazy = true;
        if (this.#tally !== null) this.#tally.seeksPostponed++;
        this.#settleFront(front);
        continue;
      }
      front.isLazy = false;
      const state = front.source.reseek(key);
      if (state === WAIT) {
        this.#waiting = front.source;
        return WAIT;
      }
      if (state === END) this.#dropFront();
      else {
        front.cell = front.source.cell;
        if (this.#live > 1) this.#settleFront(front);
      }
    }
    return this.#inRow ? this.#answerInRow() : this.#answer();
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    invariant(this.#reversed, 'only a reversed merge moves to earlier rows');
    // A source that stands on a row before both is where this move would put it.
    const keeps =
      this.#inRow && compareRanges(row, rowAt, rowLength, this.#row.buf, 0, this.#row.length) <= 0;
    for (; this.#step < this.#slots.length; this.#step++) {
      const slot = this.#slots[this.#step]!;
      if (keeps && this.#standsBefore(slot, row, rowAt, rowLength)) continue;
      const state = slot.source.seekBeforeRow(row, rowAt, rowLength);
      if (state === WAIT) return this.#wait(slot);
      slot.exhausted = state === END;
      slot.cell = slot.source.cell;
    }
    return this.#enterGreatestRow();
  }

  seekToLastRow(): SourceState {
    invariant(this.#reversed, 'only a reversed merge moves to the last row');
    for (; this.#step < this.#slots.length; this.#step++) {
      const slot = this.#slots[this.#step]!;
      const state = slot.source.seekToLastRow();
      if (state === WAIT) return this.#wait(slot);
      slot.exhausted = state === END;
      slot.cell = slot.source.cell;
    }
    return this.#enterGreatestRow();
  }

  async load(): Promise<void> {
    await this.#waiting?.load();
  }

  close(): void {
    for (const slot of this.#slots) slot.source.close();
    this.#live = 0;
  }

  /** Forgets a step that met WAIT and is not made again: another move may follow. */
  reset(): void {
    this.#step = 0;
    this.#isAnswering = false;
    this.#inRow = false;
  }

  #begin(): void {
    this.#isAnswering = false;
    this.#inRow = false;
    if (this.#step === 0) this.#live = 0;
  }

  #wait(slot: Slot): SourceState {
    this.#waiting = slot.source;
    return WAIT;
  }

  #answer(): SourceState {
    this.#isAnswering = false;
    while (this.#live > 0) {
      const front = this.#order[0]!;
      if (!front.isLazy) {
        this.cell = front.cell;
        return READY;
      }
      const state = front.source.reseek(front.bound!.key);
      if (state === WAIT) {
        this.#isAnswering = true;
        this.#waiting = front.source;
        return WAIT;
      }
      front.isLazy = false;
      if (this.#tally !== null) this.#tally.seeksMade++;
      if (state === END) this.#dropFront();
      else {
        front.cell = front.source.cell;
        if (this.#live > 1) this.#settleFront(front);
      }
    }
    return END;
  }

  #answerInRow(): SourceState {
    if (this.#live === 0) return END;
    const cell = this.#order[0]!.cell;
    if (!sameRowAs(cell, this.#row.buf, 0, this.#row.length)) return END;
    this.cell = cell;
    return READY;
  }

  /** The front has moved forward: it changes places with those that now come before it. */
  #settleFront(front: Slot): void {
    const order = this.#order;
    const live = this.#live;
    let at = 0;
    while (at + 1 < live && before(order[at + 1]!, front)) {
      order[at] = order[at + 1]!;
      at++;
    }
    order[at] = front;
  }

  #dropFront(): void {
    const order = this.#order;
    const front = order[0]!;
    this.#live--;
    for (let i = 0; i < this.#live; i++) order[i] = order[i + 1]!;
    order[this.#live] = front;
  }

  #insert(slot: Slot): void {
    slot.isLazy = false;
    slot.cell = slot.source.cell;
    const order = this.#order;
    let at = this.#live++;
    while (at > 0 && before(slot, order[at - 1]!)) {
      order[at] = order[at - 1]!;
      at--;
    }
    order[at] = slot;
  }

  /** Whether a slot stands on its greatest row before `row` already: it was parked while a greater row was read. */
  #standsBefore(slot: Slot, row: Uint8Array, rowAt: number, rowLength: number): boolean {
    if (!slot.parked || slot.exhausted) return slot.parked;
    const cell = slot.cell;
    return compareRanges(cell.block, cell.rowAt, cell.rowLength, row, rowAt, rowLength) < 0;
  }

  /** All slots stand on their greatest row before the one asked for, or are exhausted: read the greatest of these. */
  #enterGreatestRow(): SourceState {
    this.#step = 0;
    let greatest: CellView | null = null;
    for (const { cell, exhausted } of this.#slots) {
      if (!exhausted && (greatest === null || compareRows(cell, greatest) > 0)) greatest = cell;
    }
    this.#live = 0;
    this.#inRow = true;
    if (greatest === null) {
      this.#inRow = false;
      return END;
    }
    this.#row.set(greatest.block, greatest.rowAt, greatest.rowLength);
    for (const slot of this.#slots) {
      slot.parked = slot.exhausted || compareRows(slot.cell, greatest) !== 0;
      if (!slot.parked) this.#insert(slot);
    }
    return this.#answer();
  }
}

const isKnown = (newest: NewestTimestamp | null | undefined): newest is NewestTimestamp =>
  newest !== null && newest !== undefined;

/** The key is that of a column, before all of its versions. */
const isColumnStart = (key: SeekKey): boolean =>
  key.qualifier !== null && key.timestampHigh === LATEST_HIGH && key.timestampLow === LATEST_LOW;

/** Bytes of a key beside row and qualifier: row length, family length, timestamp and type. */
const BOUND_OVERHEAD = 2 + 1 + 9;

/** The first cell that a source can have in a column, by its newest timestamp. */
class BoundCell extends CellFields {
  /** The same as a place to seek to. */
  readonly key: SeekTarget = new SeekTarget();
  readonly #newest: NewestTimestamp;

  constructor(newest: NewestTimestamp) {
    super();
    this.#newest = newest;
    // It stands before every real cell of this timestamp.
    this.writeHigh = 0xffffffff;
    this.writeLow = 0xffffffff;
  }

  /** Copies the row and column of `column`. */
  set(column: SeekKey): void {
    const { row, rowAt, rowLength, qualifierAt, qualifierLength } = column;
    const length = BOUND_OVERHEAD + rowLength + qualifierLength;
    if (length > this.block.length) this.block = new Uint8Array(Math.max(64, 2 * length));
    const { block, key } = this;
    copyBytes(row, rowAt, block, 0, rowLength);
    copyBytes(column.qualifier!, qualifierAt, block, rowLength, qualifierLength);
    const at = rowLength + qualifierLength;
    putU32(block, at, this.#newest.high);
    putU32(block, at + 4, this.#newest.low);
    block[at + 8] = TYPE_MAXIMUM;
    this.rowLength = rowLength;
    this.qualifierAt = rowLength;
    this.qualifierLength = qualifierLength;
    this.timestampAt = at;
    key.toRow(block, 0, rowLength);
    key.toColumnAt(block, rowLength, qualifierLength);
  }
}

function before(a: Slot, b: Slot): boolean {
  const order = compareCells(a.cell, b.cell);
  return order < 0 || (order === 0 && a.age < b.age);
}

function compareRows(a: CellView, b: CellView): number {
  return compareRanges(a.block, a.rowAt, a.rowLength, b.block, b.rowAt, b.rowLength);
}

/** What a merge of nothing stands on. */
const NO_CELL: CellView = {
  block: NO_BYTES,
  at: 0,
  length: 0,
  rowAt: 0,
  rowLength: 0,
  qualifierAt: 0,
  qualifierLength: 0,
  timestampAt: 0,
  valueAt: 0,
  valueLength: 0,
  tagsAt: 0,
  tagsLength: 0,
  writeHigh: 0,
  writeLow: 0,
};
