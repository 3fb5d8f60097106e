/** The rows [from, to) of a source: a half of a split file, or the part of a file that lies in a region. */
import { END, READY, compareRanges } from '../cell/index.ts';
import type { CellSource, CellView, SeekKey, SourceState } from '../cell/index.ts';

/** The source itself if it is not bounded. Empty bounds are open. */
export function rowRangeOf(source: CellSource, from: Uint8Array, to: Uint8Array): CellSource {
  return from.length === 0 && to.length === 0 ? source : new RowRangeSource(source, from, to);
}

class RowStart implements SeekKey {
  readonly row: Uint8Array;
  readonly rowAt = 0;
  readonly rowLength: number;
  readonly qualifier = null;
  readonly qualifierAt = 0;
  readonly qualifierLength = 0;
  readonly timestampHigh = 0;
  readonly timestampLow = 0;
  readonly type = 0;
  constructor(row: Uint8Array) {
    this.row = row;
    this.rowLength = row.length;
  }
}

class RowRangeSource implements CellSource {
  readonly #source: CellSource;
  readonly #from: RowStart;
  readonly #to: Uint8Array;

  constructor(source: CellSource, from: Uint8Array, to: Uint8Array) {
    this.#source = source;
    this.#from = new RowStart(from);
    this.#to = to;
  }

  get cell(): CellView {
    return this.#source.cell;
  }

  seek(key: SeekKey): SourceState {
    return this.#within(this.#source.seek(this.#isBeforeRange(key) ? this.#from : key));
  }

  seekToFirst(): SourceState {
    const isOpen = this.#from.rowLength === 0;
    return this.#within(isOpen ? this.#source.seekToFirst() : this.#source.seek(this.#from));
  }

  next(): SourceState {
    return this.#within(this.#source.next());
  }

  reseek(key: SeekKey): SourceState {
    return this.#within(this.#source.reseek(key));
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    const to = this.#to;
    const isPast = to.length > 0 && compareRanges(row, rowAt, rowLength, to, 0, to.length) > 0;
    const state = isPast
      ? this.#source.seekBeforeRow(to, 0, to.length)
      : this.#source.seekBeforeRow(row, rowAt, rowLength);
    return this.#notBefore(state);
  }

  seekToLastRow(): SourceState {
    const to = this.#to;
    return this.#notBefore(
      to.length === 0 ? this.#source.seekToLastRow() : this.#source.seekBeforeRow(to, 0, to.length),
    );
  }

  load(): Promise<void> {
    return this.#source.load();
  }

  close(): void {
    this.#source.close();
  }

  #isBeforeRange(key: SeekKey): boolean {
    const { row, rowLength } = this.#from;
    return compareRanges(key.row, key.rowAt, key.rowLength, row, 0, rowLength) < 0;
  }

  #within(state: SourceState): SourceState {
    if (state !== READY || this.#to.length === 0) return state;
    const { block, rowAt, rowLength } = this.#source.cell;
    return compareRanges(block, rowAt, rowLength, this.#to, 0, this.#to.length) < 0 ? READY : END;
  }

  #notBefore(state: SourceState): SourceState {
    if (state !== READY) return state;
    const { block, rowAt, rowLength } = this.#source.cell;
    const { row } = this.#from;
    return compareRanges(block, rowAt, rowLength, row, 0, row.length) >= 0 ? READY : END;
  }
}
