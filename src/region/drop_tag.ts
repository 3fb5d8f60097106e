/**
 * The drop TSO of a cell in a merged history file. A history file as a flush or compaction writes it holds cells that left
 * the live files at one moment, which its record names; once such files are merged, each cell carries its own moment in a
 * tag, the last of its tags:
 *
 *     offset  size  field
 *          0     2  length  9
 *          2     1  type    TAG_DROP_TSO
 *          3     8  the drop TSO, big-endian
 *
 * The tag is ours, in the range that HBase leaves to its users, and never leaves the history: readers do not see it.
 */
import { END, KEY_AT, READY, WAIT, compareRanges, putU16, putU32, u32 } from '../cell/index.ts';
import type { CellSource, CellView, SeekKey, SourceState } from '../cell/index.ts';

/** Moves of DroppedAfter that begin anew when they are made again. */
const NEXT = 0;
const SEEK = 1;
const SEEK_TO_FIRST = 2;
const SEEK_BEFORE_ROW = 3;
const SEEK_TO_LAST_ROW = 4;

/** Tag type of a cell's drop TSO. On disk: never changes. */
export const TAG_DROP_TSO = 200;
const TAG_SIZE = 11;
const TAGS_LENGTH_SIZE = 2;

/** A cell in a buffer of its own, with the drop tag added or taken away. */
export class CellCopy implements CellView {
  block: Uint8Array = Buffer.allocUnsafeSlow(256);
  at = 0;
  length = 0;
  rowAt = 0;
  rowLength = 0;
  qualifierAt = 0;
  qualifierLength = 0;
  timestampAt = 0;
  valueAt = 0;
  valueLength = 0;
  tagsAt = 0;
  tagsLength = 0;
  writeHigh = 0;
  writeLow = 0;

  /** Takes a cell over with a drop tag behind its own tags. */
  setWithDrop(cell: CellView, dropHigh: number, dropLow: number): void {
    const tagsLength = cell.tagsLength + TAG_SIZE;
    this.#set(cell, tagsLength);
    const at = this.tagsAt + cell.tagsLength;
    putU16(this.block, at, TAG_SIZE - 2);
    this.block[at + 2] = TAG_DROP_TSO;
    putU32(this.block, at + 3, dropHigh);
    putU32(this.block, at + 7, dropLow);
  }

  /** Takes a cell over without its last tag, which is its drop tag. */
  setWithoutDrop(cell: CellView): void {
    this.#set(cell, cell.tagsLength - TAG_SIZE);
  }

  /** Copies the cell, its tags cut or made longer; what is behind its own tags is the caller's to fill. */
  #set(cell: CellView, tagsLength: number): void {
    const bare = KEY_AT + u32(cell.block, cell.at) + cell.valueLength;
    const length = bare + (tagsLength === 0 ? 0 : TAGS_LENGTH_SIZE + tagsLength);
    if (length > this.block.length) this.block = Buffer.allocUnsafeSlow(2 * length);
    const { block } = this;
    block.set(cell.block.subarray(cell.at, cell.at + bare), 0);
    const tagsAt = bare + TAGS_LENGTH_SIZE;
    if (tagsLength > 0) {
      putU16(block, bare, tagsLength);
      const kept = Math.min(tagsLength, cell.tagsLength);
      block.set(cell.block.subarray(cell.tagsAt, cell.tagsAt + kept), tagsAt);
    }
    this.length = length;
    this.rowAt = cell.rowAt - cell.at;
    this.rowLength = cell.rowLength;
    this.qualifierAt = cell.qualifierAt - cell.at;
    this.qualifierLength = cell.qualifierLength;
    this.timestampAt = cell.timestampAt - cell.at;
    this.valueAt = cell.valueAt - cell.at;
    this.valueLength = cell.valueLength;
    this.tagsAt = tagsLength > 0 ? tagsAt : bare;
    this.tagsLength = tagsLength;
    this.writeHigh = cell.writeHigh;
    this.writeLow = cell.writeLow;
  }
}

/** Whether the cell, of a merged history file, left the live files after this TSO (in halves). */
export function isDroppedAfter(cell: CellView, high: number, low: number): boolean {
  const at = cell.tagsAt + cell.tagsLength - TAG_SIZE + 3;
  const dropHigh = u32(cell.block, at);
  return dropHigh > high || (dropHigh === high && u32(cell.block, at + 4) > low);
}

/** The high half of the drop TSO of a cell of a merged history file. */
export const dropHighOf = (cell: CellView): number =>
  u32(cell.block, cell.tagsAt + cell.tagsLength - 8);

/** The low half. */
export const dropLowOf = (cell: CellView): number =>
  u32(cell.block, cell.tagsAt + cell.tagsLength - 4);

/**
 * The cells of a merged history file that a reader at this TSO must see, without their drop tags. Every cell is copied:
 * reads of the past are rare, and whoever looks at a cell's tags or length finds them consistent. A move that waits behind hidden
 * cells goes on from there when it is made again: a cache too small for two blocks would never let it pass otherwise.
 */
export class DroppedAfter implements CellSource {
  readonly #source: CellSource;
  readonly #high: number;
  readonly #low: number;
  readonly #copy: CellCopy = new CellCopy();
  #row: Uint8Array = new Uint8Array(0);
  /** The last move, and whether its source met WAIT behind hidden cells and has loaded since: made again, it goes on there. */
  #move: number = NEXT;
  #isBehind = false;
  #isLoaded = false;
  /** A backward move: it had passed the row, and waits for the one before. */
  #isLeaving = false;

  constructor(source: CellSource, high: number, low: number) {
    this.#source = source;
    this.#high = high;
    this.#low = low;
  }

  get cell(): CellView {
    return this.#copy;
  }

  seek(key: SeekKey): SourceState {
    return this.#resumes(SEEK)
      ? this.#forward(this.#source.next())
      : this.#forward(this.#source.seek(key));
  }

  seekToFirst(): SourceState {
    return this.#resumes(SEEK_TO_FIRST)
      ? this.#forward(this.#source.next())
      : this.#forward(this.#source.seekToFirst());
  }

  next(): SourceState {
    this.#move = NEXT;
    return this.#forward(this.#source.next());
  }

  reseek(key: SeekKey): SourceState {
    this.#move = NEXT;
    return this.#forward(this.#source.reseek(key));
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    return this.#resumes(SEEK_BEFORE_ROW)
      ? this.#goOnBackward()
      : this.#backward(this.#source.seekBeforeRow(row, rowAt, rowLength));
  }

  seekToLastRow(): SourceState {
    return this.#resumes(SEEK_TO_LAST_ROW)
      ? this.#goOnBackward()
      : this.#backward(this.#source.seekToLastRow());
  }

  async load(): Promise<void> {
    await this.#source.load();
    this.#isLoaded = true;
  }

  close(): void {
    this.#source.close();
  }

  /** Begins a move. True: it is the one that met WAIT behind hidden cells and is made again after the load. */
  #resumes(move: number): boolean {
    const resumes = this.#isBehind && this.#isLoaded && this.#move === move;
    this.#move = move;
    this.#isBehind = false;
    this.#isLoaded = false;
    return resumes;
  }

  /** The source waits, with hidden cells passed: the block that these are in may be gone from the cache. */
  #waitBehind(): typeof WAIT {
    this.#isBehind = true;
    this.#isLoaded = false;
    return WAIT;
  }

  /** Passes over hidden cells. */
  #forward(first: SourceState): SourceState {
    let state = first;
    while (state === READY && !isDroppedAfter(this.#source.cell, this.#high, this.#low)) {
      state = this.#source.next();
      if (state === WAIT) return this.#waitBehind();
    }
    if (state === READY) this.#copy.setWithoutDrop(this.#source.cell);
    return state;
  }

  /** Passes over hidden cells of a row, and over rows that have no other. */
  #backward(first: SourceState): SourceState {
    let state = first;
    while (state === READY) {
      const { block, rowAt, rowLength } = this.#source.cell;
      this.#row = Uint8Array.prototype.slice.call(block, rowAt, rowAt + rowLength);
      state = this.#passInRow(READY);
      if (state !== END) return state;
      state = this.#leaveRow();
    }
    return state;
  }

  /** A backward move goes on where it met WAIT. */
  #goOnBackward(): SourceState {
    if (this.#isLeaving) return this.#backward(this.#leaveRow());
    const state = this.#passInRow(this.#source.next());
    return state === END ? this.#backward(this.#leaveRow()) : state;
  }

  /** READY on a cell of the row that is shown; END if the row has none. */
  #passInRow(first: SourceState): SourceState {
    let state = first;
    while (state === READY && this.#isInRow()) {
      if (isDroppedAfter(this.#source.cell, this.#high, this.#low)) {
        this.#copy.setWithoutDrop(this.#source.cell);
        return READY;
      }
      state = this.#source.next();
    }
    if (state !== WAIT) return END;
    this.#isLeaving = false;
    return this.#waitBehind();
  }

  /** To the row before. */
  #leaveRow(): SourceState {
    const state = this.#source.seekBeforeRow(this.#row, 0, this.#row.length);
    if (state !== WAIT) return state;
    this.#isLeaving = true;
    return this.#waitBehind();
  }

  #isInRow(): boolean {
    const { block, rowAt, rowLength } = this.#source.cell;
    return compareRanges(block, rowAt, rowLength, this.#row, 0, this.#row.length) === 0;
  }
}
