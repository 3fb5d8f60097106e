/**
 * The data index while a file is being written (HBase: HFileBlockIndex.BlockIndexWriter; formats in index_chunk.ts). Leaves
 * are written between data blocks as they fill up; what leads to them is kept until the end and split into levels then.
 */
import { invariant } from '../io/index.ts';
import { putU32, u16 } from '../cell/index.ts';
import {
  MAGIC_INTERMEDIATE_INDEX,
  MAGIC_LEAF_INDEX,
  MAGIC_ROOT_INDEX,
  type BlockOutput,
} from './block.ts';
import { putVlong, vlongSizeOf } from './varlen.ts';

/** Bytes of an entry beside its key: offset and size. */
const ENTRY_OVERHEAD = 12;
const LEVELS_MAX = 16;
const MID_KEY_SIZE = 16;

function putOffset(buf: Uint8Array, at: number, offset: number): number {
  putU32(buf, at, Math.floor(offset / 2 ** 32));
  putU32(buf, at + 4, offset % 2 ** 32);
  return at + 8;
}

/** Entries in order of keys. */
export class IndexEntryList {
  readonly keys: Uint8Array[] = [];
  readonly offsets: number[] = [];
  readonly sizes: number[] = [];
  /** Leaf entries under this and the entries before, for the middle key. */
  readonly leafEntryCounts: number[] = [];
  #keysSize = 0;
  #rootSize = 0;

  get count(): number {
    return this.keys.length;
  }

  add(key: Uint8Array, offset: number, sizeOnDisk: number, leafEntries: number = 0): void {
    this.keys.push(key);
    this.offsets.push(offset);
    this.sizes.push(sizeOnDisk);
    this.leafEntryCounts.push((this.leafEntryCounts.at(-1) ?? 0) + leafEntries);
    this.#keysSize += key.length;
    this.#rootSize += ENTRY_OVERHEAD + vlongSizeOf(0, key.length) + key.length;
  }

  clear(): void {
    this.keys.length = 0;
    this.offsets.length = 0;
    this.sizes.length = 0;
    this.leafEntryCounts.length = 0;
    this.#keysSize = 0;
    this.#rootSize = 0;
  }

  get rootSize(): number {
    return this.#rootSize;
  }

  get nonRootSize(): number {
    return 4 + 4 * (this.count + 1) + ENTRY_OVERHEAD * this.count + this.#keysSize;
  }

  /** Writes the entries as a root index has them and gives the offset after them. */
  putRoot(buf: Uint8Array, at: number): number {
    let end = at;
    for (let i = 0; i < this.count; i++) {
      const key = this.keys[i]!;
      end = putOffset(buf, end, this.offsets[i]!);
      putU32(buf, end, this.sizes[i]!);
      end = putVlong(buf, end + 4, 0, key.length);
      buf.set(key, end);
      end += key.length;
    }
    return end;
  }

  /** The data of a leaf or intermediate block. */
  nonRoot(): Uint8Array {
    const buf = new Uint8Array(this.nonRootSize);
    putU32(buf, 0, this.count);
    const base = 4 + 4 * (this.count + 1);
    let end = base;
    for (let i = 0; i < this.count; i++) {
      const key = this.keys[i]!;
      putU32(buf, 4 + 4 * i, end - base);
      end = putOffset(buf, end, this.offsets[i]!);
      putU32(buf, end, this.sizes[i]!);
      buf.set(key, end + 4);
      end += 4 + key.length;
    }
    putU32(buf, 4 + 4 * this.count, end - base);
    return buf;
  }
}

export interface IndexSummary {
  readonly rootOffset: number;
  readonly rootCount: number;
  readonly levels: number;
  /** Plain bytes of all its blocks. */
  readonly plainSize: number;
  /** Plain bytes with headers of the blocks that `writeRoot` wrote, without the root: they count into the file's plain size. */
  readonly intermediatePlainSize: number;
}

export class IndexWriter {
  readonly #output: BlockOutput;
  readonly #chunkBytes: number;
  readonly #entriesMin: number;
  readonly #leaf: IndexEntryList = new IndexEntryList();
  #top: IndexEntryList = new IndexEntryList();
  #levels = 1;
  #plainSize = 0;

  constructor(output: BlockOutput, chunkBytes: number, entriesMin: number) {
    this.#output = output;
    this.#chunkBytes = chunkBytes;
    this.#entriesMin = entriesMin;
  }

  /** Adds a data block. The key is kept. */
  add(key: Uint8Array, offset: number, sizeOnDisk: number): void {
    this.#leaf.add(key, offset, sizeOnDisk);
  }

  /** Writes the leaf if it is full, or at the end if there are others; gives its plain size with header, 0 if none was. */
  writeLeaf(isClosing: boolean): number {
    const leaf = this.#leaf;
    if (leaf.count === 0) return 0;
    if (isClosing ? this.#top.count === 0 : leaf.nonRootSize < this.#chunkBytes) return 0;
    const data = leaf.nonRoot();
    const offset = this.#output.offset;
    const sizes = this.#output.add(MAGIC_LEAF_INDEX, data, data.length);
    this.#top.add(leaf.keys[0]!, offset, sizes.sizeOnDisk, leaf.count);
    this.#levels = 2;
    this.#plainSize += data.length;
    leaf.clear();
    return sizes.plainSizeWithHeader;
  }

  /** Writes intermediate levels as needed and the root. After the last `writeLeaf(true)`. */
  writeRoot(): IndexSummary {
    let top = this.#top;
    if (this.#levels === 1) top = this.#leaf;
    else invariant(this.#leaf.count === 0, 'the last leaf of the index is written');
    const midKey = this.#levels > 1 ? midKeyOf(top) : new Uint8Array(0);
    let intermediatePlainSize = 0;
    while (
      this.#levels > 1 &&
      top.rootSize > this.#chunkBytes &&
      top.count > this.#entriesMin &&
      this.#levels < LEVELS_MAX
    ) {
      const parent = new IndexEntryList();
      intermediatePlainSize += this.#writeLevel(top, parent);
      top = parent;
      this.#levels++;
    }
    const data = new Uint8Array(top.rootSize + midKey.length);
    data.set(midKey, top.putRoot(data, 0));
    const rootOffset = this.#output.offset;
    this.#output.add(MAGIC_ROOT_INDEX, data, data.length);
    this.#plainSize += data.length;
    return {
      rootOffset,
      rootCount: top.count,
      levels: this.#levels,
      plainSize: this.#plainSize,
      intermediatePlainSize,
    };
  }

  /** Writes `level` as intermediate blocks, their entries into `parent`; gives their plain size with headers. */
  #writeLevel(level: IndexEntryList, parent: IndexEntryList): number {
    const chunk = new IndexEntryList();
    let size = 0;
    for (let i = 0; i < level.count; i++) {
      chunk.add(level.keys[i]!, level.offsets[i]!, level.sizes[i]!);
      const isFull = chunk.count >= this.#entriesMin && chunk.rootSize >= this.#chunkBytes;
      if (!isFull && i < level.count - 1) continue;
      const data = chunk.nonRoot();
      const offset = this.#output.offset;
      const sizes = this.#output.add(MAGIC_INTERMEDIATE_INDEX, data, data.length);
      parent.add(chunk.keys[0]!, offset, sizes.sizeOnDisk);
      this.#plainSize += data.length;
      size += sizes.plainSizeWithHeader;
      chunk.clear();
    }
    return size;
  }
}

/** Offset and size of the leaf that holds the middle data block, and its number in it. */
function midKeyOf(top: IndexEntryList): Uint8Array {
  const total = top.leafEntryCounts.at(-1)!;
  const middle = Math.floor((total - 1) / 2);
  const leaf = top.leafEntryCounts.findIndex((count) => count > middle);
  const before = leaf === 0 ? 0 : top.leafEntryCounts[leaf - 1]!;
  const buf = new Uint8Array(MID_KEY_SIZE);
  putOffset(buf, 0, top.offsets[leaf]!);
  putU32(buf, 8, top.sizes[leaf]!);
  putU32(buf, 12, middle - before);
  return buf;
}

/** Shortest bytes above `left` and not above `right`, both given as ranges; null if they are equal. Left must not be above right. */
function between(left: Uint8Array, right: Uint8Array): Uint8Array | null {
  const common = Math.min(left.length, right.length);
  let same = 0;
  while (same < common && left[same] === right[same]) same++;
  if (same < common) {
    const middle = Uint8Array.from(left.subarray(0, same + 1));
    middle[same] = middle[same]! + 1;
    return middle;
  }
  if (left.length === right.length) return null;
  const middle = Uint8Array.from(right.subarray(0, same + 1));
  middle[same] = 0;
  return middle;
}

/** A flat key that no cell has, before all cells of the row (empty family) or of the column. */
function fakeKey(row: Uint8Array, family: Uint8Array, qualifier: Uint8Array): Uint8Array {
  const head = Uint8Array.of(row.length >> 8, row.length & 0xff);
  const tail = Uint8Array.of(0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
  return Buffer.concat([head, row, Uint8Array.of(family.length), family, qualifier, tail]);
}

/**
 * The index key of a block whose first flat key is `right`, after one whose last is `left`: as short as possible (HBase:
 * HFileWriterImpl#getMidpoint). Both are of one family; null for `left`: the first block.
 */
export function indexKeyBetween(left: Uint8Array | null, right: Uint8Array): Uint8Array {
  if (left === null) return right;
  const rowOf = (key: Uint8Array): Uint8Array => key.subarray(2, 2 + u16(key, 0));
  const row = between(rowOf(left), rowOf(right));
  const none = new Uint8Array(0);
  if (row !== null) return fakeKey(row, none, none);
  const familyAt = 2 + u16(right, 0);
  const qualifierAt = familyAt + 1 + right[familyAt]!;
  const qualifierOf = (key: Uint8Array): Uint8Array => key.subarray(qualifierAt, key.length - 9);
  const qualifier = between(qualifierOf(left), qualifierOf(right));
  if (qualifier === null) return right;
  return fakeKey(rowOf(right), right.subarray(familyAt + 1, qualifierAt), qualifier);
}
