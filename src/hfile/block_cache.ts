/**
 * Blocks of store files in memory, within a budget of bytes.
 *
 * Four lists, each with the most recently used in front:
 *     probation   data blocks read once. A scan passes through here and leaves the rest alone.
 *     protected   data blocks read again; at most PROTECTED_SHARE of the budget, what falls out goes back to probation.
 *     inMemory    data blocks of IN_MEMORY families; at most IN_MEMORY_SHARE are preferred (HBase: LruBlockCache).
 *     index       index blocks and Bloom chunks; at most INDEX_SHARE are preferred.
 * Room is made from index or inMemory if over its share, else from probation while it is over its own, else from protected,
 * inMemory, index, probation, in this order.
 *
 * A block taken out stays alive while a cursor refers to it: cursors need no pins. A hit looks in one map by number and
 * allocates nothing; it moves the block in its list only when something was added since its last move.
 */
import { invariant } from '../io/index.ts';
import type { DataBlock } from './data_block.ts';
import type { IndexChunk } from './index_chunk.ts';
import type { BloomChunk } from './bloom.ts';

export type CachedBlock = DataBlock | IndexChunk | BloomChunk;

/** What kind of block stands at a place that an index names. */
export type BlockKind = CachedBlock['kind'];

/** A block that a caller needs and that is not in memory. */
export interface BlockRequest {
  readonly kind: BlockKind;
  readonly offset: number;
  /** Size on disk as the index says. */
  readonly sizeOnDisk: number;
}

export type CachePriority = 'normal' | 'inMemory' | 'index';

export const CACHE_SIZE_DEFAULT: number = 64 * 1024 * 1024;
const PROTECTED_SHARE = 0.6;
/** Probation keeps this much whatever the others want, or no new block would live to be read again. */
const PROBATION_SHARE = 0.1;
/**
 * A protected block not read while this many times the cache's blocks were added is no longer hot: else a set that is no
 * longer read would hold its share for ever against one read round and round, which probation is too small to keep.
 */
const STALE_FACTOR = 16;
const IN_MEMORY_SHARE = 0.25;
const INDEX_SHARE = 1 / 3;

export interface BlockCacheMetrics {
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
  readonly blockCount: number;
  readonly sizeBytes: number;
  readonly indexSizeBytes: number;
  readonly budgetBytes: number;
}

/** A block's place in the cache, for who asks for it again and again. */
export interface BlockHandle {
  /** Null once it has left the cache. */
  readonly block: CachedBlock | null;
  /** Counts as a use. */
  touch(): void;
}

class Entry implements BlockHandle {
  readonly file: CacheFile;
  readonly offset: number;
  block: CachedBlock | null;
  readonly sizeBytes: number;
  list: List;
  movedAt: number;
  before: Entry | null = null;
  after: Entry | null = null;

  constructor(file: CacheFile, block: CachedBlock, list: List, tick: number) {
    this.file = file;
    this.offset = block.offset;
    this.block = block;
    this.sizeBytes = block.sizeBytes;
    this.list = list;
    this.movedAt = tick;
  }

  touch(): void {
    if (this.block !== null) this.file.touch(this);
  }
}

/** A doubly linked list that knows its bytes. */
class List {
  sizeBytes = 0;
  first: Entry | null = null;
  last: Entry | null = null;

  addFirst(entry: Entry): void {
    entry.list = this;
    entry.before = null;
    entry.after = this.first;
    if (this.first === null) this.last = entry;
    else this.first.before = entry;
    this.first = entry;
    this.sizeBytes += entry.sizeBytes;
  }

  remove(entry: Entry): void {
    if (entry.before === null) this.first = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === null) this.last = entry.before;
    else entry.after.before = entry.before;
    entry.before = null;
    entry.after = null;
    this.sizeBytes -= entry.sizeBytes;
  }
}

/** What looks for blocks of one file. */
export interface BlockLookup {
  get(offset: number): CachedBlock | undefined;
  peek(offset: number): CachedBlock | undefined;
  has(offset: number): boolean;
}

/** The blocks of one file. Made by `BlockCache#file`, closed by the reader. */
export class CacheFile {
  readonly #cache: BlockCache;
  readonly #entries: Map<number, Entry> = new Map();
  #isClosed = false;

  constructor(cache: BlockCache) {
    this.#cache = cache;
  }

  /** The block at an offset of the file; undefined counts as a miss. */
  get(offset: number): CachedBlock | undefined {
    const entry = this.#entries.get(offset);
    return entry === undefined ? this.#cache.countMiss() : this.#cache.touch(entry);
  }

  /** As `get`, for a caller that has another way: a block that is not there counts as nothing. */
  peek(offset: number): CachedBlock | undefined {
    const entry = this.#entries.get(offset);
    return entry === undefined ? undefined : this.#cache.touch(entry);
  }

  /** The block's place, as `peek`. */
  handle(offset: number): BlockHandle | undefined {
    const entry = this.#entries.get(offset);
    if (entry !== undefined) this.#cache.touch(entry);
    return entry;
  }

  /** For handles only. */
  touch(entry: Entry): void {
    this.#cache.touch(entry);
  }

  /** Whether the block is there; counts as nothing. */
  has(offset: number): boolean {
    return this.#entries.has(offset);
  }

  /** Adds a block just read. A block already there, or a closed file, is left as it is. */
  add(block: CachedBlock, priority: CachePriority): void {
    if (this.#isClosed || this.#entries.has(block.offset)) return;
    const entry = this.#cache.insert(this, block, priority);
    if (entry !== null) this.#entries.set(block.offset, entry);
  }

  get blockCount(): number {
    return this.#entries.size;
  }

  /** For the cache only: forgets an evicted block. */
  forget(offset: number): void {
    this.#entries.delete(offset);
  }

  /** Takes out all blocks of this file; later `add`s do nothing. */
  close(): void {
    this.#isClosed = true;
    for (const entry of this.#entries.values()) this.#cache.drop(entry);
    this.#entries.clear();
  }
}

export class BlockCache {
  readonly #budgetBytes: number;
  readonly #probation: List = new List();
  readonly #protected: List = new List();
  readonly #inMemory: List = new List();
  readonly #index: List = new List();
  #tick = 0;
  #hits = 0;
  #misses = 0;
  #evictions = 0;
  #blockCount = 0;

  /** `budgetBytes` 0 keeps nothing: every block is read when it is needed. */
  constructor(budgetBytes: number = CACHE_SIZE_DEFAULT) {
    this.#budgetBytes = budgetBytes;
  }

  /** A place for the blocks of one open file. */
  file(): CacheFile {
    return new CacheFile(this);
  }

  get sizeBytes(): number {
    return (
      this.#probation.sizeBytes +
      this.#protected.sizeBytes +
      this.#inMemory.sizeBytes +
      this.#index.sizeBytes
    );
  }

  metrics(): BlockCacheMetrics {
    return {
      hits: this.#hits,
      misses: this.#misses,
      evictions: this.#evictions,
      blockCount: this.#blockCount,
      sizeBytes: this.sizeBytes,
      indexSizeBytes: this.#index.sizeBytes,
      budgetBytes: this.#budgetBytes,
    };
  }

  /** For CacheFile only, as are the methods below. */
  countMiss(): undefined {
    this.#misses++;
    return undefined;
  }

  touch(entry: Entry): CachedBlock | undefined {
    this.#hits++;
    if (entry.list === this.#probation) this.#promote(entry);
    else if (entry.movedAt !== this.#tick) {
      entry.list.remove(entry);
      entry.list.addFirst(entry);
      entry.movedAt = this.#tick;
    }
    return entry.block ?? undefined;
  }

  insert(file: CacheFile, block: CachedBlock, priority: CachePriority): Entry | null {
    const list = this.#listFor(priority);
    this.#tick++;
    const entry = new Entry(file, block, list, this.#tick);
    if (entry.sizeBytes > this.#budgetBytes) return null;
    list.addFirst(entry);
    this.#blockCount++;
    this.#makeRoom();
    // A block may be the one that has to go, when only better ones are there.
    return entry.list.first === entry || entry.before !== null ? entry : null;
  }

  drop(entry: Entry): void {
    entry.list.remove(entry);
    // Handles keep no block in memory.
    entry.block = null;
    this.#blockCount--;
  }

  #listFor(priority: CachePriority): List {
    if (priority === 'index') return this.#index;
    return priority === 'inMemory' ? this.#inMemory : this.#probation;
  }

  #promote(entry: Entry): void {
    this.#probation.remove(entry);
    this.#protected.addFirst(entry);
    entry.movedAt = this.#tick;
    const limit = PROTECTED_SHARE * this.#budgetBytes;
    while (this.#protected.sizeBytes > limit) {
      const oldest = this.#protected.last;
      if (oldest === null || oldest === entry) return;
      this.#protected.remove(oldest);
      this.#probation.addFirst(oldest);
    }
  }

  #makeRoom(): void {
    while (this.sizeBytes > this.#budgetBytes) {
      const victim = this.#victim();
      invariant(victim !== null, 'a cache over its budget has a block');
      this.drop(victim);
      victim.file.forget(victim.offset);
      this.#evictions++;
    }
  }

  #victim(): Entry | null {
    if (this.#index.sizeBytes > INDEX_SHARE * this.#budgetBytes) return this.#index.last;
    if (this.#inMemory.sizeBytes > IN_MEMORY_SHARE * this.#budgetBytes) return this.#inMemory.last;
    const stale = this.#protected.last;
    if (stale !== null && this.#tick - stale.movedAt > STALE_FACTOR * this.#blockCount)
      return stale;
    const isProbationLarge = this.#probation.sizeBytes > PROBATION_SHARE * this.#budgetBytes;
    if (isProbationLarge && this.#probation.last !== null) return this.#probation.last;
    return this.#protected.last ?? this.#inMemory.last ?? this.#index.last ?? this.#probation.last;
  }
}
