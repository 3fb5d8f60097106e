/**
 * Copies cells out of blocks four bytes at a time. Measured on cells of 20 to 250 bytes that takes a third of the time of a loop
 * over bytes, half of that of `set` with a view of the source, and leaves no garbage; above, the native copy is faster.
 *
 * Needs a DataView of both sides. Those of the blocks that were copied from of late are kept: a merge, or a memstore that was
 * filled in no order, takes turns between blocks. One is made when a block is met for the second time, so that a read of one cell
 * pays for none.
 */

/** From here on a native copy is faster. */
export const VIEW_COPY_MAX = 256;
const BLOCKS_MAX = 64;

export class BlockViews {
  /** Null for a block that was met once. */
  readonly #views = new Map<Uint8Array, DataView | null>();
  #last: Uint8Array | null = null;
  #lastView: DataView | null = null;

  /** A view of the whole block; null if it was not met of late. */
  of(block: Uint8Array): DataView | null {
    if (this.#last !== block || this.#lastView === null) {
      this.#last = block;
      this.#lastView = this.#find(block);
    }
    return this.#lastView;
  }

  #find(block: Uint8Array): DataView | null {
    const views = this.#views;
    let view = views.get(block);
    if (view === undefined) {
      if (views.size >= BLOCKS_MAX) views.clear();
      views.set(block, null);
      return null;
    }
    if (view === null) {
      view = viewOf(block);
      views.set(block, view);
    }
    return view;
  }

  /** Lets go of the blocks. */
  clear(): void {
    this.#views.clear();
    this.#last = null;
    this.#lastView = null;
  }
}

export function viewOf(block: Uint8Array): DataView {
  return new DataView(block.buffer, block.byteOffset, block.length);
}

/** Copies `length` bytes between views. The ranges do not overlap. */
export function copyViewed(
  from: DataView,
  fromAt: number,
  to: DataView,
  toAt: number,
  length: number,
): void {
  const whole = length & ~3;
  for (let i = 0; i < whole; i += 4) to.setInt32(toAt + i, from.getInt32(fromAt + i, true), true);
  for (let i = whole; i < length; i++) to.setUint8(toAt + i, from.getUint8(fromAt + i));
}
