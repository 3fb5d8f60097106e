/**
 * The cells of one store (a region's family) that are not in a store file yet: slabs of bytes (slabs.ts) under an ordered
 * index of refs (sorted_index.ts), about 28 bytes a cell beyond its own.
 */
import { KEY_AT, TYPE_PUT, putU32, u32 } from '../../cell/index.ts';
import { invariant } from '../../io/index.ts';
import { MemstoreCursor } from './cursor.ts';
import type { MemstoreImage } from './image.ts';
import { RUN_CAPACITY_DEFAULT } from './run.ts';
import type { Run } from './run.ts';
import { KEY_VALUE_LENGTH_MIN, storedLength } from './slab_cell.ts';
import {
  CELL_HEADER_SIZE,
  NO_REF,
  Slabs,
  TAGS_FLAG,
  blockOf,
  keyValueAt,
  slabSizeOf,
} from './slabs.ts';
import { SortedIndex } from './sorted_index.ts';
import { countCell, emptyStats } from './stats.ts';
import type { MemstoreStats } from './stats.ts';

/** Up to this length a loop copies faster than a call of `set` with a fresh view (about 100 ns for that alone). */
const LOOP_COPY_MAX = 40;
/** Room that a reservation takes for each cell beside its KeyValue: the write number and alignment. */
const RESERVE_OVERHEAD = 11;

export interface MemstoreOptions {
  /** Entries of a full run of the index, even, at least 4 (default 512). Tests take few, for a deep index. */
  readonly runCapacity?: number;
}

/**
 * Order: row, qualifier ascending, timestamp, type, write number descending. Cells that differ in the write number alone
 * are all kept, for readers at older read points.
 *
 * Everything is synchronous and of one thread; cursors stay valid across inserts. Memory is freed when the memstore, its
 * cursors and its images are unreachable.
 */
export class Memstore {
  readonly #slabs: Slabs = new Slabs();
  readonly #index: SortedIndex;
  readonly #stats: MemstoreStats = emptyStats();
  #frozen = false;
  #image: MemstoreImage | null = null;

  constructor(options: MemstoreOptions = {}) {
    this.#index = new SortedIndex(this.#slabs.blocks, options.runCapacity ?? RUN_CAPACITY_DEFAULT);
  }

  /** Live: changes with each insert. Not to be changed by the caller. */
  get stats(): Readonly<MemstoreStats> {
    return this.#stats;
  }

  get cellCount(): number {
    return this.#stats.cellCount;
  }

  /** Sum of the KeyValues' lengths. */
  get cellBytes(): number {
    return this.#stats.cellBytes;
  }

  /** Every byte allocated: slabs with their free ends, and the index. */
  get heapBytes(): number {
    return this.#slabs.bytes + this.#index.bytes;
  }

  get isFrozen(): boolean {
    return this.#frozen;
  }

  /**
   * Makes sure that `cellCount` cells of together `cellBytes` bytes of KeyValues can be inserted: the inserts that follow
   * cannot fail. Reservations do not add up: reserve all of a commit at once, right before its inserts. False: the
   * memstore's limit (slabs.ts) or the machine's memory does not allow it, and nothing has changed.
   */
  reserve(cellCount: number, cellBytes: number): boolean {
    return this.#slabs.reserve(cellBytes + cellCount * RESERVE_OVERHEAD);
  }

  /**
   * Copies the KeyValue of `length` bytes at `at` with its write number (upper half below 2^31) and indexes it. There are
   * tags if `length` exceeds the key and the value. The bytes must be well formed (`keyValueFault`): checked where they
   * came from. An equal full key with the same write number, as when a log is replayed, is replaced.
   */
  insert(buf: Uint8Array, at: number, length: number, writeHigh: number, writeLow: number): void {
    invariant(!this.#frozen, 'insert into a frozen memstore');
    invariant(writeHigh >= 0 && writeHigh < TAGS_FLAG, 'write number out of range', writeHigh);
    invariant(length >= KEY_VALUE_LENGTH_MIN && at + length <= buf.length, 'cell out of range');
    const index = this.#index;
    const probe = index.probe;
    probe.setKeyValue(buf, at, writeHigh, writeLow);
    const withoutTags = KEY_AT + u32(buf, at) + u32(buf, at + 4);
    invariant(probe.rowLength > 0 && probe.qualifierLength >= 0, 'key of a cell is malformed');
    invariant(withoutTags === length || withoutTags + 2 < length, 'cell’s lengths differ', length);
    const slabs = this.#slabs;
    const ref = slabs.place(slabSizeOf(length));
    const block = blockOf(slabs.blocks, ref);
    const to = keyValueAt(ref);
    putU32(
      block,
      to - CELL_HEADER_SIZE,
      length === withoutTags ? writeHigh : writeHigh + TAGS_FLAG,
    );
    putU32(block, to - CELL_HEADER_SIZE + 4, writeLow);
    if (length <= LOOP_COPY_MAX) for (let i = 0; i < length; i++) block[to + i] = buf[at + i]!;
    else block.set(new Uint8Array(buf.buffer, buf.byteOffset + at, length), to);
    countCell(this.#stats, probe, length);
    if (length !== withoutTags) this.#stats.tagCount++;
    const replaced = index.insert(ref);
    if (replaced !== NO_REF) this.#uncount(replaced, ref);
  }

  /** Opens a cursor that stands on no cell yet. */
  cursor(): MemstoreCursor {
    return new MemstoreCursor(this.#index, this.#slabs.blocks);
  }

  /** Makes the memstore read-only for good. Idempotent. */
  freeze(): void {
    this.#frozen = true;
  }

  /** The frozen memstore for a worker: 4 bytes a cell are copied, the cells are shared. Made once. */
  sharedImage(): MemstoreImage {
    invariant(this.#frozen, 'image of a memstore that is not frozen');
    this.#image ??= this.#makeImage();
    return this.#image;
  }

  /** Asserts the invariants of the whole index; for tests, as it reads every cell. */
  check(): void {
    this.#index.check();
  }

  /** A cell was counted that only replaces another of equal key. */
  #uncount(replaced: number, ref: number): void {
    const blocks = this.#slabs.blocks;
    const block = blockOf(blocks, ref);
    const at = keyValueAt(ref);
    const isPut = block[at + KEY_AT + u32(block, at) - 1] === TYPE_PUT;
    this.#stats.cellCount--;
    this.#stats.cellBytes -= storedLength(blocks, replaced);
    if (!isPut) this.#stats.deleteCount--;
  }

  #makeImage(): MemstoreImage {
    const shared = new SharedArrayBuffer(this.cellCount * 4);
    const refs = new Int32Array(shared);
    let count = 0;
    let leaf: Run | null = this.#index.firstLeaf;
    while (leaf !== null) {
      refs.set(leaf.refs.subarray(0, leaf.count), count);
      count += leaf.count;
      leaf = leaf.next;
    }
    invariant(count === this.cellCount, 'index has not as many entries as cells', count);
    return { slabs: [...this.#slabs.buffers], refs: shared, stats: { ...this.#stats } };
  }
}
