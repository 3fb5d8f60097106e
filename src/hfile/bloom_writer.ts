/**
 * A compound Bloom filter while a file is being written (HBase: CompoundBloomFilterWriter, BloomFilterChunk; formats in
 * bloom.ts). Full chunks are written between data blocks; the last is folded to the smallest size that still keeps
 * the error rate: halving a filter whose length is even keeps every key.
 */
import { putU32 } from '../cell/index.ts';
import { MAGIC_BLOOM_CHUNK, type BlockMagic, type BlockOutput } from './block.ts';
import { BLOOM_VERSION, addToBits } from './bloom.ts';
import { HASH_MURMUR } from './hashes.ts';
import { IndexEntryList } from './index_writer.ts';
import { putVlong } from './varlen.ts';

export interface BloomWriterOptions {
  readonly chunkBytes: number;
  readonly errorRate: number;
  /** Name in the meta block; empty for row keys. */
  readonly comparator: string;
}

/** Halvings for which a chunk's length leaves room (HBase: io.storefile.bloom.max.fold). */
const FOLDS_MAX = 7;
const META_FIXED_SIZE = 40;

interface ChunkShape {
  readonly sizeBytes: number;
  readonly hashCount: number;
  readonly keysMax: number;
}

/** Shape of a chunk of about `chunkBytes` (HBase: BloomFilterUtil#createBySize). */
function shapeOf(chunkBytes: number, errorRate: number): ChunkShape {
  const mask = (1 << FOLDS_MAX) - 1;
  const sizeBytes =
    (chunkBytes & mask) === 0 ? chunkBytes : ((chunkBytes >> FOLDS_MAX) + 1) << FOLDS_MAX;
  const bits = sizeBytes * 8;
  const ideal = Math.trunc(bits * ((Math.LN2 * Math.LN2) / -Math.log(errorRate)));
  const hashCount = Math.ceil(Math.LN2 * Math.trunc(bits / ideal));
  const rate = Math.log(1 - Math.exp(Math.log(errorRate) / hashCount));
  return { sizeBytes, hashCount, keysMax: Math.trunc((-bits / hashCount) * rate) };
}

export class BloomWriter {
  readonly #output: BlockOutput;
  readonly #comparator: string;
  readonly #shape: ChunkShape;
  readonly #index: IndexEntryList = new IndexEntryList();
  #bits: Uint8Array;
  #chunkKeyCount = 0;
  #firstKey: Uint8Array = new Uint8Array(0);
  /** A full chunk that waits for the end of a data block. */
  readonly #ready: { bits: Uint8Array; firstKey: Uint8Array }[] = [];
  #lastKey: Uint8Array = new Uint8Array(256);
  #lastKeyLength = 0;
  #keyCount = 0;
  #keysMax = 0;
  #sizeBytes = 0;

  constructor(output: BlockOutput, options: BloomWriterOptions) {
    this.#output = output;
    this.#comparator = options.comparator;
    this.#shape = shapeOf(options.chunkBytes, options.errorRate);
    this.#bits = new Uint8Array(0);
  }

  get keyCount(): number {
    return this.#keyCount;
  }

  /** Adds a key, which differs from the one before. The bytes are copied where needed. */
  add(buf: Uint8Array, at: number, length: number): void {
    if (this.#chunkKeyCount >= this.#shape.keysMax) this.#closeChunk();
    if (this.#chunkKeyCount === 0) {
      this.#bits = new Uint8Array(this.#shape.sizeBytes);
      this.#firstKey = Uint8Array.from(buf.subarray(at, at + length));
    }
    addToBits(this.#bits, HASH_MURMUR, this.#shape.hashCount, buf, at, length);
    this.#chunkKeyCount++;
    this.#keyCount++;
  }

  /** Adds a row unless it is the one added last: rows come in order. */
  addRowOnce(buf: Uint8Array, at: number, length: number): void {
    const last = this.#lastKey;
    if (this.#keyCount > 0 && this.#lastKeyLength === length) {
      let same = 0;
      while (same < length && last[same] === buf[at + same]) same++;
      if (same === length) return;
    }
    this.add(buf, at, length);
    if (last.length < length) this.#lastKey = new Uint8Array(2 * length);
    for (let i = 0; i < length; i++) this.#lastKey[i] = buf[at + i]!;
    this.#lastKeyLength = length;
  }

  /** The row added last. */
  get lastKey(): Uint8Array {
    return this.#lastKey.slice(0, this.#lastKeyLength);
  }

  /** Writes the full chunks, at the end also the last; gives their plain size with headers. */
  writeChunks(isClosing: boolean): number {
    if (this.#chunkKeyCount >= this.#shape.keysMax || isClosing) this.#closeChunk();
    let size = 0;
    for (const { bits, firstKey } of this.#ready) {
      const offset = this.#output.offset;
      const sizes = this.#output.add(MAGIC_BLOOM_CHUNK, bits, bits.length);
      this.#index.add(firstKey, offset, sizes.sizeOnDisk);
      size += sizes.plainSizeWithHeader;
    }
    this.#ready.length = 0;
    return size;
  }

  /** Writes the meta block; gives its plain size with header. */
  writeMeta(magic: BlockMagic): number {
    const name = Buffer.from(this.#comparator, 'latin1');
    const data = new Uint8Array(META_FIXED_SIZE + 9 + name.length + this.#index.rootSize);
    putU32(data, 0, BLOOM_VERSION);
    putLong(data, 4, this.#sizeBytes);
    putU32(data, 12, this.#shape.hashCount);
    putU32(data, 16, HASH_MURMUR);
    putLong(data, 20, this.#keyCount);
    putLong(data, 28, this.#keysMax);
    putU32(data, 36, this.#index.count);
    let end = putVlong(data, META_FIXED_SIZE, 0, name.length);
    data.set(name, end);
    end = this.#index.putRoot(data, end + name.length);
    return this.#output.add(magic, data, end).plainSizeWithHeader;
  }

  #closeChunk(): void {
    if (this.#chunkKeyCount === 0) return;
    let { sizeBytes, keysMax } = this.#shape;
    while ((sizeBytes & 1) === 0 && keysMax > 2 * this.#chunkKeyCount) {
      sizeBytes >>= 1;
      keysMax >>= 1;
    }
    const folded = this.#bits.slice(0, sizeBytes);
    for (let at = sizeBytes; at < this.#bits.length; at += sizeBytes) {
      for (let i = 0; i < sizeBytes; i++) folded[i]! |= this.#bits[at + i]!;
    }
    this.#ready.push({ bits: folded, firstKey: this.#firstKey });
    this.#sizeBytes += sizeBytes;
    this.#keysMax += keysMax;
    this.#chunkKeyCount = 0;
  }
}

function putLong(buf: Uint8Array, at: number, value: number): void {
  putU32(buf, at, Math.floor(value / 2 ** 32));
  putU32(buf, at + 4, value % 2 ** 32);
}
