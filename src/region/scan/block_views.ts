/**
 * Copies cells out of blocks four bytes at a time. Measured on cells of 20 to 250 bytes that takes a third of the time of a loop
 * over bytes, half of that of `set` with a view of the source, and leaves no garbage; above, the native copy is faster.
 *
 * Needs a DataView of both sides. Those of the blocks that were copied from of late are kept: a merge takes turns between some
 * blocks. One is made when a block is met for the second time, so that a read of one cell pays for none.
 */

/** From here on a native copy is faster. */
export const VIEW_COPY_MAX = 256;
const SLOTS = 4;

export class BlockViews {
  readonly #blocks: (Uint8Array | null)[] = Array.from({ length: SLOTS }, () => null);
  readonly #views: (DataView | null)[] = Array.from({ length: SLOTS }, () => null);
  #last = 0;

  /** A view of the whole block; null if it was not met of late. */
  of(block: Uint8Array): DataView | null {
    const blocks = this.#blocks;
    if (blocks[this.#last] !== block) {
      const slot = blocks.indexOf(block);
      if (slot < 0) {
        this.#last = (this.#last + 1) % SLOTS;
        blocks[this.#last] = block;
        this.#views[this.#last] = null;
        return null;
      }
      this.#last = slot;
    }
    return (this.#views[this.#last] ??= viewOf(block));
  }

  /** Lets go of the blocks. */
  clear(): void {
    this.#blocks.fill(null);
    this.#views.fill(null);
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
