/** A frozen memstore as plain data over shared memory, so that a worker flushes it without a copy of its cells. */
import { END, READY } from '../../cell/index.ts';
import type { CellSource, SeekKey, SourceState } from '../../cell/index.ts';
import { invariant } from '../../io/index.ts';
import { Probe } from './probe.ts';
import { SlabCell, sameRow } from './slab_cell.ts';
import { addBlocks } from './slabs.ts';
import type { MemstoreStats } from './stats.ts';

/** Survives structured cloning; the buffers are shared, not copied. Readers must not write to them. */
export interface MemstoreImage {
  /** In the order they were made. */
  readonly slabs: readonly SharedArrayBuffer[];
  /** Refs (slabs.ts) of all cells in key order, as Int32. */
  readonly refs: SharedArrayBuffer;
  readonly stats: MemstoreStats;
}

/** Opens a cursor over an image, in any thread. It answers as one over the memstore would, and never WAIT. */
export function imageCursor(image: MemstoreImage): CellSource {
  return new ImageCursor(image);
}

class ImageCursor implements CellSource {
  readonly cell: SlabCell = new SlabCell();
  readonly #blocks: Uint8Array[] = [];
  readonly #refs: Int32Array;
  readonly #probe: Probe = new Probe();
  #at = -1;

  constructor(image: MemstoreImage) {
    for (const slab of image.slabs) addBlocks(this.#blocks, slab);
    this.#refs = new Int32Array(image.refs);
    invariant(this.#refs.length === image.stats.cellCount, 'image has not as many refs as cells');
  }

  seek(key: SeekKey): SourceState {
    this.#probe.setSeek(key);
    return this.#stand(this.#find(0));
  }

  seekToFirst(): SourceState {
    return this.#stand(0);
  }

  next(): SourceState {
    return this.#stand(this.#at + 1);
  }

  reseek(key: SeekKey): SourceState {
    this.#probe.setSeek(key);
    return this.#stand(this.#find(Math.max(this.#at, 0)));
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    this.#probe.setRowStart(row, rowAt, rowLength);
    return this.#standOnRowOf(this.#find(0) - 1);
  }

  seekToLastRow(): SourceState {
    return this.#standOnRowOf(this.#refs.length - 1);
  }

  load(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#at = this.#refs.length;
  }

  #standOnRowOf(at: number): SourceState {
    const refs = this.#refs;
    if (at < 0) return this.#stand(refs.length);
    if (at > 0 && !sameRow(this.#blocks, refs[at]!, refs[at - 1]!)) return this.#stand(at);
    const probe = this.#probe;
    probe.setStored(this.#blocks, refs[at]!);
    probe.setRowStart(probe.row, probe.rowAt, probe.rowLength);
    return this.#stand(this.#find(0));
  }

  #stand(at: number): SourceState {
    const refs = this.#refs;
    if (at >= refs.length) {
      this.#at = refs.length;
      return END;
    }
    this.#at = at;
    this.cell.load(this.#blocks, refs[at]!);
    return READY;
  }

  /** The first entry at or after the probe, from entry `from` on. */
  #find(from: number): number {
    let low = from;
    let high = this.#refs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#probe.compare(this.#blocks, this.#refs[middle]!, 0) > 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
