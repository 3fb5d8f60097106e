/**
 * The cursor over a live memstore. It stands on a cell, by leaf and place in it; when the leaf has changed since (its
 * version tells), the cursor finds its cell again by key, since that cell's bytes stay where they are. So cells before
 * the cursor never come up again, and cells inserted behind it do or do not: readers filter by write number.
 */
import { END, READY } from '../../cell/index.ts';
import type { CellSource, SeekKey, SourceState } from '../../cell/index.ts';
import { invariant } from '../../io/index.ts';
import type { Run } from './run.ts';
import { SlabCell, sameRow } from './slab_cell.ts';
import { NO_REF, blockOf, keyValueAt } from './slabs.ts';
import type { SortedIndex } from './sorted_index.ts';

/** Cells read ahead at a time; a power of two. */
const TOUCH_COUNT = 16;
/** In refs: cells nearer than 1 KiB are brought by the processor itself. */
const TOUCH_DISTANCE_MIN = 256;

const FRESH = 0;
const ON_CELL = 1;
const AT_END = 2;

/** Reads a memstore in key order. Never answers WAIT. Any number may be open while cells are inserted. */
export class MemstoreCursor implements CellSource {
  readonly cell: SlabCell = new SlabCell();
  readonly #index: SortedIndex;
  readonly #blocks: readonly Uint8Array[];
  #leaf: Run;
  #at = 0;
  #version = 0;
  #ref: number = NO_REF;
  #place = FRESH;
  /** Keeps the reads of `#touch` from being optimized away. */
  #touched = 0;

  /** Made by `Memstore#cursor`. */
  constructor(index: SortedIndex, blocks: readonly Uint8Array[]) {
    this.#index = index;
    this.#blocks = blocks;
    this.#leaf = index.firstLeaf;
  }

  seek(key: SeekKey): SourceState {
    this.#index.probe.setSeek(key);
    return this.#seekProbe();
  }

  seekToFirst(): SourceState {
    return this.#stand(this.#index.firstLeaf, 0);
  }

  next(): SourceState {
    if (this.#leaf.version !== this.#version || this.#place !== ON_CELL) this.#findAgain();
    const leaf = this.#leaf;
    const at = this.#at + 1;
    if (at >= leaf.count) return this.#stand(leaf, at);
    const ref = leaf.refs[at]!;
    this.#at = at;
    this.#ref = ref;
    if ((at & (TOUCH_COUNT - 1)) === 0) this.#touch(leaf, at);
    this.cell.load(this.#blocks, ref);
    return READY;
  }

  /**
   * Reads a byte of each of the next cells, so that their cache misses overlap. Where cells came in at random, a scan takes
   * a third less time; where neighbours lie together, nothing is done.
   */
  #touch(leaf: Run, at: number): void {
    const refs = leaf.refs;
    const end = Math.min(at + TOUCH_COUNT, leaf.count);
    if (end - at < 2 || Math.abs(refs[at + 1]! - refs[at]!) < TOUCH_DISTANCE_MIN) return;
    let sum = 0;
    for (let i = at; i < end; i++) {
      const ref = refs[i]!;
      sum += blockOf(this.#blocks, ref)[keyValueAt(ref)]!;
    }
    this.#touched = (this.#touched + sum) & 0xff;
  }

  reseek(key: SeekKey): SourceState {
    if (this.#place === AT_END) return END;
    const index = this.#index;
    const probe = index.probe;
    if (this.#place === FRESH) return this.seek(key);
    if (this.#leaf.version !== this.#version) this.#findAgain();
    probe.setSeek(key);
    if (probe.compare(this.#blocks, this.#ref, 0) <= 0) return this.#stand(this.#leaf, this.#at);
    const leaf = this.#leaf;
    // The leaf may only be searched for keys between its fences; the current cell has shown the lower.
    if (leaf.highRef !== NO_REF && probe.compare(this.#blocks, leaf.highRef, 0) >= 0) {
      return this.#seekProbe();
    }
    return this.#stand(leaf, index.findInLeaf(leaf, this.#at + 1));
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    this.#index.probe.setRowStart(row, rowAt, rowLength);
    this.#index.find();
    return this.#standOnRowOf(this.#index.leaf, this.#index.at - 1);
  }

  seekToLastRow(): SourceState {
    const leaf = this.#index.lastLeaf();
    return this.#standOnRowOf(leaf, leaf.count - 1);
  }

  /** Nothing to fetch: memory is always there. */
  load(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#leaf = this.#index.firstLeaf;
    this.#place = AT_END;
  }

  #seekProbe(): SourceState {
    this.#index.find();
    return this.#stand(this.#index.leaf, this.#index.at);
  }

  /** Stands on entry `at` of a leaf, or on the next leaf's first when that is its count. */
  #stand(from: Run, index: number): SourceState {
    let leaf = from;
    let at = index;
    if (at >= leaf.count) {
      if (leaf.next === null) {
        this.#place = AT_END;
        return END;
      }
      leaf = leaf.next;
      at = 0;
    }
    const ref = leaf.refs[at]!;
    this.#leaf = leaf;
    this.#at = at;
    this.#version = leaf.version;
    this.#ref = ref;
    this.#place = ON_CELL;
    this.cell.load(this.#blocks, ref);
    return READY;
  }

  /** Stands on the first cell of the row that entry `at` is in; -1 means the last entry of the leaf before. */
  #standOnRowOf(from: Run, index: number): SourceState {
    let leaf = from;
    let at = index;
    if (at < 0) {
      if (leaf.previous === null) {
        this.#place = AT_END;
        return END;
      }
      leaf = leaf.previous;
      at = leaf.count - 1;
    }
    const ref = leaf.refs[at]!;
    // A row of one cell, the commonest, needs no search.
    if (at > 0 && !sameRow(this.#blocks, ref, leaf.refs[at - 1]!)) return this.#stand(leaf, at);
    const probe = this.#index.probe;
    probe.setStored(this.#blocks, ref);
    probe.setRowStart(probe.row, probe.rowAt, probe.rowLength);
    return this.#seekProbe();
  }

  /** After the leaf has changed: finds the current cell's place. */
  #findAgain(): void {
    invariant(this.#place === ON_CELL, 'next or reseek of a cursor that stands on no cell');
    const leaf = this.#leaf;
    if (this.#at < leaf.count && leaf.refs[this.#at] === this.#ref) {
      this.#version = leaf.version;
      return;
    }
    const index = this.#index;
    index.probe.setStored(this.#blocks, this.#ref);
    index.find();
    invariant(index.exact, 'the cell under a cursor has left the memstore');
    this.#leaf = index.leaf;
    this.#at = index.at;
    this.#version = index.leaf.version;
    this.#ref = index.leaf.refs[index.at]!;
  }
}
