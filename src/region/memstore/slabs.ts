/**
 * Where a memstore keeps its cells: append-only slabs in shared memory, addressed by 32-bit refs.
 *
 * A cell in a slab, at a multiple of 4 (in memory only, big-endian):
 *
 *     offset  size  field
 *          0     4  upper half of the write number (at most 2^31-1); its top bit is set when the cell has tags
 *          4     4  lower half of the write number
 *          8     n  the KeyValue (cell/key_value.ts)
 *
 * A ref is an int32: the slab's number in the upper 13 bits, offset / 4 in the lower 19. A slab larger than 2 MiB takes
 * one number for each 2 MiB begun, so that every offset in it can be named; `blocks[number]` is a view from there to the
 * slab's end, so a cell is always whole within its block. Bytes once written never move or change.
 *
 * Limit: 8,192 numbers, that is 16 GiB in cells below 512 KiB and never less than 4 GiB.
 */
import { invariant } from '../../io/index.ts';

export const REF_OFFSET_BITS = 19;
export const REF_OFFSET_MASK: number = (1 << REF_OFFSET_BITS) - 1;
export const REF_ALIGNMENT_BITS = 2;
/** Bytes before the KeyValue of a cell: its write number. */
export const CELL_HEADER_SIZE = 8;
/** In the first header word: tags follow the value. */
export const TAGS_FLAG = 0x80000000;
/** No cell has this ref: the first slab starts behind it. */
export const NO_REF = 0;
/** Bytes of a slab that one number covers, and the size of all slabs but the first few and the large. */
export const SLAB_SIZE = 2097152;
export const SLAB_COUNT_MAX = 8192;

const SLAB_SIZE_MIN = 8192;
/** A cell (or reservation) of this size gets a slab of just its size, so that no slab wastes more than a quarter. */
const LARGE_SIZE = 524288;
const ALIGNMENT = 4;
const EMPTY = new Uint8Array(0);

/** Bytes that a KeyValue of `length` bytes takes in a slab. */
export function slabSizeOf(length: number): number {
  return (CELL_HEADER_SIZE + length + ALIGNMENT - 1) & -ALIGNMENT;
}

/** The views by slab number over slabs in the order they were made; used by the owner and by readers of an image. */
export function addBlocks(blocks: Uint8Array[], slab: SharedArrayBuffer): void {
  for (let at = 0; at < slab.byteLength; at += SLAB_SIZE) blocks.push(new Uint8Array(slab, at));
}

/** A slab that still has room. */
interface OpenSlab {
  number: number;
  used: number;
  size: number;
}

/** Append-only storage. Two slabs are open at a time, so that a large cell does not close a slab with much room. */
export class Slabs {
  /** By slab number. The array grows in place: holders of it see new slabs. */
  readonly blocks: Uint8Array[] = [];
  readonly buffers: SharedArrayBuffer[] = [];
  /** Bytes of all slabs. */
  bytes = 0;
  #older: OpenSlab = { number: 0, used: 0, size: 0 };
  #newer: OpenSlab = { number: 0, used: 0, size: 0 };
  #nextSize = SLAB_SIZE_MIN;

  /**
   * Makes sure that cells of together `size` bytes (sum of `slabSizeOf`) can be placed without allocating.
   * False if the limit of slabs or the machine's memory forbids it; then nothing has changed.
   */
  reserve(size: number): boolean {
    if (roomOf(this.#older) >= size || roomOf(this.#newer) >= size) return true;
    if (this.blocks.length + Math.ceil((size + ALIGNMENT) / SLAB_SIZE) > SLAB_COUNT_MAX)
      return false;
    try {
      this.#open(size);
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }

  /** Gives the ref of `size` fresh bytes (from `slabSizeOf`). Allocates a slab if none has room. */
  place(size: number): number {
    let slab = this.#older;
    if (roomOf(slab) < size) {
      slab = this.#newer;
      if (roomOf(slab) < size) slab = this.#open(size);
    }
    const at = slab.used;
    slab.used = at + size;
    const number = slab.number + Math.floor(at / SLAB_SIZE);
    return (number << REF_OFFSET_BITS) | ((at % SLAB_SIZE) >>> REF_ALIGNMENT_BITS);
  }

  /** Opens a slab with room for `size` bytes and gives up the fuller of the two open ones. */
  #open(size: number): OpenSlab {
    const used = this.blocks.length === 0 ? ALIGNMENT : 0; // Keeps NO_REF free.
    let slabSize = size + used;
    let nextSize = this.#nextSize;
    if (slabSize < LARGE_SIZE) {
      while (nextSize < slabSize) nextSize *= 2;
      slabSize = nextSize;
      nextSize = Math.min(nextSize * 2, SLAB_SIZE);
    }
    const number = this.blocks.length;
    const count = Math.ceil(slabSize / SLAB_SIZE);
    invariant(number + count <= SLAB_COUNT_MAX, 'memstore has no slab numbers left', number, count);
    const buffer = new SharedArrayBuffer(slabSize);
    addBlocks(this.blocks, buffer);
    this.buffers.push(buffer);
    this.bytes += slabSize;
    this.#nextSize = nextSize;
    if (roomOf(this.#newer) > roomOf(this.#older)) this.#older = this.#newer;
    this.#newer = { number, used, size: slabSize };
    return this.#newer;
  }
}

function roomOf(slab: OpenSlab): number {
  return slab.size - slab.used;
}

/** The block of a ref. */
export function blockOf(blocks: readonly Uint8Array[], ref: number): Uint8Array {
  return blocks[ref >>> REF_OFFSET_BITS] ?? EMPTY;
}

/** Offset of the KeyValue of a ref in its block. */
export function keyValueAt(ref: number): number {
  return ((ref & REF_OFFSET_MASK) << REF_ALIGNMENT_BITS) + CELL_HEADER_SIZE;
}
