/**
 * A cursor over the cells of one HFile.
 *
 * It stands on a cell of `#block`; `#path[l]` and `#pathAt[l]` say which entry of which index block of each level led there,
 * so that the block after is found without a search. A move that needs a block which is not in memory notes it in
 * `#wanted`, leaves everything else as it was and answers WAIT.
 *
 * Blocks that `load` brought are in `#held` until the move they were for has been made, whatever the cache does with them
 * meanwhile: so every load is progress. Blocks read ahead are in `#ahead` until the scan has passed them.
 */
import { CellFields, END, NO_BYTES, READY, WAIT, compareRanges, u16, u32 } from '../cell/index.ts';
import type { CellSource, SeekKey, SourceState } from '../cell/index.ts';
import { CorruptionException, invariant } from '../io/index.ts';
import type { BlockKind, BlockLookup, BlockRequest, CachedBlock } from './block_cache.ts';
import { compareCellToKey } from './data_block.ts';
import type { DataBlock, FileStamp } from './data_block.ts';
import type { IndexChunk } from './index_chunk.ts';
import { vlongHigh, vlongLow } from './varlen.ts';

/** Bytes read at once when a scan runs through a file whose blocks are not in memory. */
export const READ_AHEAD_DEFAULT: number = 256 * 1024;

/** Blocks passed one after the other before a scan counts as sequential and reads ahead. */
const SEQUENTIAL_MIN = 2;

/** What a cursor needs of its reader. */
export interface BlockSource {
  readonly path: string;
  readonly root: IndexChunk;
  readonly indexLevels: number;
  readonly stamp: FileStamp | null;
  readonly cached: BlockLookup;
  load(request: BlockRequest, isKept: boolean): Promise<CachedBlock>;
  loadRun(requests: readonly BlockRequest[]): Promise<CachedBlock[]>;
  keep(block: CachedBlock): void;
}

export interface CursorOptions {
  /** Whether blocks it reads go into the cache (HBase: Scan#setCacheBlocks). Default true. */
  readonly cacheBlocks?: boolean;
  /** 0 reads block by block. */
  readonly readAheadBytes?: number;
  /** Reads ahead from the first block on: for compactions. */
  readonly sequential?: boolean;
}

/** The start of a row, as a place to seek to. */
class RowKey implements SeekKey {
  row: Uint8Array = NO_BYTES;
  rowAt = 0;
  rowLength = 0;
  readonly qualifier = null;
  readonly qualifierAt = 0;
  readonly qualifierLength = 0;
  readonly timestampHigh = 0;
  readonly timestampLow = 0;
  readonly type = 0;
}

/** Answers of the inner steps, beside a block. */
const NEED_LOAD = 0;

export class HFileCursor implements CellSource {
  readonly cell: CellFields = new CellFields();
  readonly #reader: BlockSource;
  readonly #cacheBlocks: boolean;
  readonly #readAheadBytes: number;
  readonly #levels: number;
  readonly #hasStamp: boolean;
  readonly #path: IndexChunk[];
  readonly #pathAt: number[];
  /** The path being looked for; takes the place of `#path` when its data block is there. */
  readonly #nextPath: IndexChunk[];
  readonly #nextPathAt: number[];
  #block: DataBlock | null = null;
  /** `#path` leads to the block; not so after `standAt`. */
  #isOnPath = false;
  /** Offset after the current cell in `#block`. */
  #nextAt = 0;
  #wanted: BlockRequest | null = null;
  #held: Map<number, CachedBlock> | null = null;
  #ahead: Map<number, CachedBlock> | null = null;
  /** Blocks passed since the last jump, up to SEQUENTIAL_MIN, and what it is after a jump. */
  #sequentialBlocks: number;
  readonly #sequentialFrom: number;
  #rowKey: RowKey | null = null;

  constructor(reader: BlockSource, options: CursorOptions) {
    this.#reader = reader;
    this.#cacheBlocks = options.cacheBlocks ?? true;
    this.#readAheadBytes = options.readAheadBytes ?? READ_AHEAD_DEFAULT;
    this.#sequentialFrom = options.sequential === true ? SEQUENTIAL_MIN : 0;
    this.#sequentialBlocks = this.#sequentialFrom;
    this.#levels = reader.indexLevels;
    this.#hasStamp = reader.stamp !== null;
    this.#path = new Array<IndexChunk>(this.#levels).fill(reader.root);
    this.#pathAt = new Array<number>(this.#levels).fill(0);
    this.#nextPath = [...this.#path];
    this.#nextPathAt = [...this.#pathAt];
  }

  seek(key: SeekKey): SourceState {
    if (this.#reader.root.entries.count === 0) return END;
    const block = this.#find(key);
    if (block === null) return WAIT;
    if (block !== this.#block) this.#sequentialBlocks = this.#sequentialFrom;
    const at = block.search(key, 0);
    if (at < block.end) {
      this.#enter(block);
      return this.#place(at);
    }
    return this.#enterAfter(block);
  }

  /**
   * Stands on a cell as found before, of the block at an offset of the file; false if that block is not in memory. Only the
   * cells of that block can be read from there.
   */
  standAt(offset: number, at: number): boolean {
    let block: CachedBlock | null | undefined = this.#block;
    if (block === null || block.offset !== offset) {
      block = this.#reader.cached.peek(offset);
      if (block?.kind !== 'data') return false;
      this.#useBlock(block);
      this.#isOnPath = false;
      this.#sequentialBlocks = this.#sequentialFrom;
    }
    this.#place(at);
    return true;
  }

  /** Offset of the block that has the rest of the current row; -1 if the row may go on in the next block. */
  get rowBlock(): number {
    const block = this.#block;
    if (block === null) return -1;
    const { bytes, lastCellAt } = block;
    const length = u16(bytes, lastCellAt + 8);
    const { rowAt, rowLength } = this.cell;
    return compareRanges(bytes, lastCellAt + 10, length, bytes, rowAt, rowLength) === 0
      ? -1
      : block.offset;
  }

  seekToFirst(): SourceState {
    if (this.#reader.root.entries.count === 0) return END;
    this.#nextPath[0] = this.#reader.root;
    this.#nextPathAt[0] = 0;
    const block = this.#descendFirst(1);
    if (block === null) return WAIT;
    this.#enter(block);
    return this.#place(0);
  }

  next(): SourceState {
    const block = this.#block;
    invariant(block !== null, 'a cursor moves on only from a cell');
    if (this.#nextAt < block.end) return this.#place(this.#nextAt);
    const answer = this.#stepBlock();
    if (answer !== READY) return answer;
    if (this.#sequentialBlocks < SEQUENTIAL_MIN) this.#sequentialBlocks++;
    return this.#place(0);
  }

  reseek(key: SeekKey): SourceState {
    const block = this.#block;
    if (block === null) return this.seek(key);
    if (compareCellToKey(block.bytes, this.cell.at, key) >= 0) return READY;
    // Most reseeks go to the next column or row, a cell or two away.
    let at = this.#nextAt;
    if (at < block.end) {
      if (compareCellToKey(block.bytes, at, key) >= 0) return this.#place(at);
      at = block.after(at);
      if (at < block.end && compareCellToKey(block.bytes, at, key) >= 0) return this.#place(at);
    }
    if (compareCellToKey(block.bytes, block.lastCellAt, key) >= 0) {
      return this.#place(block.search(key, at));
    }
    return this.seek(key);
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    if (this.#reader.root.entries.count === 0) return END;
    const key = this.#keyOf(row, rowAt, rowLength);
    const block = this.#find(key);
    if (block === null) return WAIT;
    const before = block.before(block.search(key, 0));
    if (before >= 0) return this.#seekRowOf(block, before);
    const previous = this.#blockBefore();
    if (previous === null) return this.#wanted === null ? this.#end() : WAIT;
    return this.#seekRowOf(previous, previous.lastCellAt);
  }

  seekToLastRow(): SourceState {
    const root = this.#reader.root;
    if (root.entries.count === 0) return END;
    this.#nextPath[0] = root;
    this.#nextPathAt[0] = root.entries.count - 1;
    const block = this.#descendLast(1);
    return block === null ? WAIT : this.#seekRowOf(block, block.lastCellAt);
  }

  async load(): Promise<void> {
    const wanted = this.#wanted;
    if (wanted === null) return;
    const run = wanted.kind === 'data' ? this.#runFrom(wanted) : null;
    if (run === null) {
      this.#held ??= new Map();
      this.#held.set(wanted.offset, await this.#reader.load(wanted, this.#cacheBlocks));
    } else {
      const blocks = await this.#reader.loadRun(run);
      this.#ahead ??= new Map();
      for (const block of blocks) {
        if (this.#cacheBlocks) this.#reader.keep(block);
        this.#ahead.set(block.offset, block);
      }
    }
    this.#wanted = null;
  }

  close(): void {
    this.#block = null;
    this.#held = null;
    this.#ahead = null;
    this.cell.block = NO_BYTES;
  }

  /** The current cell becomes that at `at` of the current block. */
  #place(at: number): SourceState {
    const block = this.#block!;
    const bytes = block.bytes;
    const cell = this.cell;
    const keyEnd = at + 8 + u32(bytes, at);
    const valueLength = u32(bytes, at + 4);
    const rowLength = u16(bytes, at + 8);
    const qualifierAt = at + 11 + rowLength + bytes[at + 10 + rowLength]!;
    cell.block = bytes;
    cell.at = at;
    cell.rowAt = at + 10;
    cell.rowLength = rowLength;
    cell.qualifierAt = qualifierAt;
    cell.timestampAt = keyEnd - 9;
    cell.qualifierLength = keyEnd - 9 - qualifierAt;
    cell.valueAt = keyEnd;
    cell.valueLength = valueLength;
    let end = keyEnd + valueLength;
    let tagsLength = 0;
    cell.length = end - at;
    cell.tagsAt = end;
    if (block.hasTags) {
      tagsLength = u16(bytes, end);
      end += 2 + tagsLength;
      if (tagsLength > 0) {
        // In a file every cell has a tags length; the cells of the engine have it only before tags.
        cell.length = end - at;
        cell.tagsAt = end - tagsLength;
      }
    }
    cell.tagsLength = tagsLength;
    if (block.hasWriteNumbers) {
      const first = bytes[end]!;
      if (!this.#hasStamp) {
        cell.writeHigh = vlongHigh(bytes, end);
        cell.writeLow = vlongLow(bytes, end);
      }
      end += first <= 0x7f ? 1 : 0x91 - first;
    }
    this.#nextAt = end;
    return READY;
  }

  /** Makes `block` the current one, by the path just taken to it. */
  #enter(block: DataBlock): void {
    this.#held = null;
    if (this.#ahead !== null) this.#passAhead(this.#ahead, block.offset);
    for (let level = 0; level < this.#levels; level++) {
      this.#path[level] = this.#nextPath[level]!;
      this.#pathAt[level] = this.#nextPathAt[level]!;
    }
    this.#useBlock(block);
    this.#isOnPath = true;
  }

  #useBlock(block: DataBlock): void {
    this.#block = block;
    if (this.#hasStamp) {
      this.cell.writeHigh = this.#reader.stamp!.writeHigh;
      this.cell.writeLow = this.#reader.stamp!.writeLow;
    }
  }

  /** Forgets the blocks read ahead up to the one entered; all of them, if the scan has left the run. */
  #passAhead(ahead: Map<number, CachedBlock>, offset: number): void {
    const isInRun = ahead.has(offset);
    for (const at of ahead.keys()) {
      if (isInRun && at > offset) break;
      ahead.delete(at);
    }
    if (ahead.size === 0) this.#ahead = null;
  }

  #end(): SourceState {
    this.#held = null;
    return END;
  }

  #keyOf(row: Uint8Array, rowAt: number, rowLength: number): RowKey {
    const key = (this.#rowKey ??= new RowKey());
    key.row = row;
    key.rowAt = rowAt;
    key.rowLength = rowLength;
    return key;
  }

  /** Moves to the first cell of the row of the cell at `at`, which may lie blocks before. */
  #seekRowOf(block: DataBlock, at: number): SourceState {
    return this.seek(this.#keyOf(block.bytes, at + 10, u16(block.bytes, at + 8)));
  }

  /** The data block that may hold the first cell at or after `key`, with `#nextPath` leading there; null: WAIT. */
  #find(key: SeekKey): DataBlock | null {
    let chunk = this.#reader.root;
    for (let level = 0; ; level++) {
      // An index key may lie after the wanted one and still be the first of its block.
      const index = Math.max(chunk.search(key), 0);
      this.#nextPath[level] = chunk;
      this.#nextPathAt[level] = index;
      if (level === this.#levels - 1) return this.#dataBlock(chunk, index);
      const child = this.#indexChunk(chunk, index);
      if (child === null) return null;
      chunk = child;
    }
  }

  /** Descends to the first block below the entry of `#nextPath` above `from`; null: WAIT. */
  #descendFirst(from: number): DataBlock | null {
    for (let level = from; level < this.#levels; level++) {
      const child = this.#indexChunk(this.#nextPath[level - 1]!, this.#nextPathAt[level - 1]!);
      if (child === null) return null;
      this.#nextPath[level] = child;
      this.#nextPathAt[level] = 0;
    }
    const last = this.#levels - 1;
    return this.#dataBlock(this.#nextPath[last]!, this.#nextPathAt[last]!);
  }

  #descendLast(from: number): DataBlock | null {
    for (let level = from; level < this.#levels; level++) {
      const child = this.#indexChunk(this.#nextPath[level - 1]!, this.#nextPathAt[level - 1]!);
      if (child === null) return null;
      this.#nextPath[level] = child;
      this.#nextPathAt[level] = child.entries.count - 1;
    }
    const last = this.#levels - 1;
    return this.#dataBlock(this.#nextPath[last]!, this.#nextPathAt[last]!);
  }

  /** Enters the block after the current one. */
  #stepBlock(): SourceState {
    invariant(this.#isOnPath, 'a cursor that was put somewhere stays in its block');
    for (let level = 0; level < this.#levels; level++) {
      this.#nextPath[level] = this.#path[level]!;
      this.#nextPathAt[level] = this.#pathAt[level]!;
    }
    const block = this.#blockAfter();
    if (block === null) return this.#wanted === null ? this.#end() : WAIT;
    this.#enter(block);
    return READY;
  }

  /** As `seek` when the block found holds only cells before the key: the next begins with the wanted one. */
  #enterAfter(found: DataBlock): SourceState {
    const block = this.#blockAfter();
    if (block !== null) {
      this.#enter(block);
      return this.#place(0);
    }
    if (this.#wanted !== null) return WAIT;
    invariant(found.cellCount > 0, 'a block has cells');
    return this.#end();
  }

  /** The block after that of `#nextPath`, which moves there. Null: there is none, or with `#wanted` set, WAIT. */
  #blockAfter(): DataBlock | null {
    this.#wanted = null;
    let level = this.#levels - 1;
    const from = this.#nextPath[level]!.entries.offsets[this.#nextPathAt[level]!]!;
    while (level >= 0 && this.#nextPathAt[level]! + 1 >= this.#nextPath[level]!.entries.count)
      level--;
    if (level < 0) return null;
    this.#nextPathAt[level]!++;
    const block = this.#descendFirst(level + 1);
    if (block !== null && block.offset <= from) {
      throw new CorruptionException('an index leads backwards', this.#reader.path, block.offset);
    }
    return block;
  }

  #blockBefore(): DataBlock | null {
    this.#wanted = null;
    let level = this.#levels - 1;
    while (level >= 0 && this.#nextPathAt[level] === 0) level--;
    if (level < 0) return null;
    this.#nextPathAt[level]!--;
    return this.#descendLast(level + 1);
  }

  #dataBlock(chunk: IndexChunk, index: number): DataBlock | null {
    const block = this.#get('data', chunk, index);
    if (block === NEED_LOAD) return null;
    invariant(block.kind === 'data', 'a leaf entry names a data block');
    return block;
  }

  #indexChunk(chunk: IndexChunk, index: number): IndexChunk | null {
    const block = this.#get('index', chunk, index);
    if (block === NEED_LOAD) return null;
    invariant(block.kind === 'index', 'an upper entry names an index block');
    return block;
  }

  #get(kind: BlockKind, chunk: IndexChunk, index: number): CachedBlock | typeof NEED_LOAD {
    const offset = chunk.entries.offsets[index]!;
    const current = this.#block;
    if (current !== null && current.offset === offset && kind === 'data') return current;
    // What was loaded for this move comes first: taking it from the cache would count as a second use.
    const own =
      (this.#held === null ? undefined : this.#held.get(offset)) ??
      (this.#ahead === null ? undefined : this.#ahead.get(offset));
    const block = own ?? this.#reader.cached.get(offset);
    if (block !== undefined && block.kind === kind) return block;
    this.#wanted = { kind, offset, sizeOnDisk: chunk.entries.sizes[index]! };
    return NEED_LOAD;
  }

  /** The blocks to read with the wanted one; null to read it alone. */
  #runFrom(wanted: BlockRequest): BlockRequest[] | null {
    if (this.#sequentialBlocks < SEQUENTIAL_MIN || this.#readAheadBytes === 0) return null;
    const last = this.#levels - 1;
    const { entries } = this.#nextPath[last]!;
    let index = this.#nextPathAt[last]!;
    if (entries.offsets[index] !== wanted.offset) return null;
    const run: BlockRequest[] = [];
    let end = wanted.offset;
    while (index < entries.count && entries.offsets[index] === end) {
      const sizeOnDisk = entries.sizes[index]!;
      if (run.length > 0 && end + sizeOnDisk - wanted.offset > this.#readAheadBytes) break;
      if (run.length > 0 && this.#reader.cached.has(end)) break;
      run.push({ kind: 'data', offset: end, sizeOnDisk });
      end += sizeOnDisk;
      index++;
    }
    return run.length > 1 ? run : null;
  }
}
