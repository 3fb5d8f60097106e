/**
 * Compound Bloom filters (HBase: CompoundBloomFilter, BloomFilterUtil; protocol/files.md section 1.9).
 *
 * Meta block, integers big-endian: u32 version 3 · i64 bytes · u32 hash count · u32 hash type · i64 key count · i64 key limit ·
 * u32 chunk count · vint comparator name length · name · root-style index entries, each with the first key of a chunk.
 * A chunk is its bits; bit p is byte[p >> 3] & (1 << (p & 7)). The i-th of `hash count` positions of a key is
 * |(h1 + i·h2) rem bits|, h1 the hash with seed 0, h2 with seed h1, in 32-bit arithmetic.
 */
import { NO_BYTES, compareRanges, putU16, u16 } from '../cell/index.ts';
import { check } from './fault.ts';
import { HASH_MURMUR, HASH_MURMUR3, hashBytes } from './hashes.ts';
import { readRootEntries } from './index_chunk.ts';
import type { IndexEntries } from './index_chunk.ts';
import { ByteReader } from './varlen.ts';

export type BloomType = 'NONE' | 'ROW' | 'ROWCOL' | 'ROWPREFIX_FIXED_LENGTH';

/** On disk. */
export const BLOOM_VERSION = 3;
/** The name in the meta block of a filter whose keys are cells; row keys have none. */
export const BLOOM_CELL_COMPARATOR = 'org.apache.hadoop.hbase.CellComparatorImpl';

const HASHES_MAX = 64;

export interface BloomMeta {
  readonly sizeBytes: number;
  readonly hashCount: number;
  readonly hashType: number;
  readonly keyCount: number;
  readonly keysMax: number;
  readonly comparator: string;
  /** Chunks by first key. */
  readonly chunks: IndexEntries;
}

/** Decodes the data of a Bloom meta block. Throws FormatFault. */
export function decodeBloomMeta(data: Uint8Array, fileSize: number): BloomMeta {
  const reader = new ByteReader(data);
  check(reader.u32() === BLOOM_VERSION, 'a Bloom filter has an unknown version');
  const sizeBytes = reader.int64();
  const hashCount = reader.u32();
  const hashType = reader.u32();
  check(hashCount >= 1 && hashCount <= HASHES_MAX, 'a Bloom filter has an impossible hash count');
  check(hashType <= HASH_MURMUR3, 'a Bloom filter has an unknown hash');
  const keyCount = reader.int64();
  const keysMax = reader.int64();
  const chunkCount = reader.u32();
  const comparator = Buffer.from(reader.bytes(reader.vint())).toString('latin1');
  const chunks = readRootEntries(reader, chunkCount, fileSize);
  check(chunkCount > 0, 'a Bloom filter has no chunk');
  return { sizeBytes, hashCount, hashType, keyCount, keysMax, comparator, chunks };
}

/** Index of the chunk that holds a row key, -1 if no chunk does. */
export function findRowChunk(
  chunks: IndexEntries,
  buf: Uint8Array,
  at: number,
  length: number,
): number {
  let low = 0;
  let high = chunks.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareRanges(
      chunks.keys,
      chunks.keysAt[middle]!,
      chunks.keyLengths[middle]!,
      buf,
      at,
      length,
    );
    if (order > 0) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

/** The same for a ROWCOL key (see `putColumnKey`), which is ordered by row and qualifier. */
export function findColumnChunk(chunks: IndexEntries, key: Uint8Array, length: number): number {
  let low = 0;
  let high = chunks.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareColumnKeys(
      chunks.keys,
      chunks.keysAt[middle]!,
      chunks.keyLengths[middle]!,
      key,
      0,
      length,
    );
    if (order > 0) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

/** Bytes of a column key beside row and qualifier: row length, family length, timestamp, type. */
const COLUMN_KEY_OVERHEAD = 12;

function compareColumnKeys(
  a: Uint8Array,
  aAt: number,
  aLength: number,
  b: Uint8Array,
  bAt: number,
  bLength: number,
): number {
  const aRow = u16(a, aAt);
  const bRow = u16(b, bAt);
  const order = compareRanges(a, aAt + 2, aRow, b, bAt + 2, bRow);
  if (order !== 0) return order;
  const aQualifier = Math.max(aLength - COLUMN_KEY_OVERHEAD - aRow, 0);
  const bQualifier = bLength - COLUMN_KEY_OVERHEAD - bRow;
  return compareRanges(a, aAt + 3 + aRow, aQualifier, b, bAt + 3 + bRow, bQualifier);
}

export function columnKeySize(rowLength: number, qualifierLength: number): number {
  return COLUMN_KEY_OVERHEAD + rowLength + qualifierLength;
}

/** Writes the ROWCOL key of a column at 0 and gives its length: the first possible flat key of it, without family. */
export function putColumnKey(
  out: Uint8Array,
  row: Uint8Array,
  rowAt: number,
  rowLength: number,
  qualifier: Uint8Array,
  qualifierAt: number,
  qualifierLength: number,
): number {
  putU16(out, 0, rowLength);
  for (let i = 0; i < rowLength; i++) out[2 + i] = row[rowAt + i]!;
  let end = 2 + rowLength;
  out[end++] = 0;
  for (let i = 0; i < qualifierLength; i++) out[end++] = qualifier[qualifierAt + i]!;
  out[end++] = 0x7f;
  for (let i = 0; i < 8; i++) out[end++] = 0xff; // The rest of LATEST, and type Maximum.
  return end;
}

/** Both hashes of one key, computed once however many filters are asked. */
export class KeyHash {
  first = 0;
  #type = HASH_MURMUR;
  #second = 0;
  #hasSecond = false;
  #buf: Uint8Array = NO_BYTES;
  #at = 0;
  #length = -1;

  /** The bytes must stay as they are until the next `set`. The hash type is the usual one of HBase's filters. */
  set(buf: Uint8Array, at: number, length: number, hashType: number = HASH_MURMUR): void {
    this.#type = hashType;
    this.#buf = buf;
    this.#at = at;
    this.#length = length;
    this.#hasSecond = false;
    this.first = hashBytes(hashType, buf, at, length, 0);
  }

  /** Whether these are the hashes of so long a key in a filter of this type. */
  fits(hashType: number, length: number): boolean {
    return hashType === this.#type && length === this.#length;
  }

  second(): number {
    if (!this.#hasSecond) {
      this.#second = hashBytes(this.#type, this.#buf, this.#at, this.#length, this.first);
      this.#hasSecond = true;
    }
    return this.#second;
  }
}

const OBJECT_BYTES = 300;

/** The bits of one chunk in memory. */
export class BloomChunk {
  readonly kind = 'bloom';
  /** Offset in the file. */
  readonly offset: number;
  readonly #bits: Uint8Array;
  /** The usual sizes are powers of two: a remainder is a mask then, else 0. */
  readonly #mask: number;

  /** Takes over `bits`. Throws FormatFault if there are none. */
  constructor(offset: number, bits: Uint8Array) {
    check(bits.length > 0 && bits.length <= 0x0fffffff, 'a Bloom chunk is empty or too large');
    this.offset = offset;
    this.#bits = bits;
    this.#mask = (bits.length & (bits.length - 1)) === 0 ? bits.length * 8 - 1 : 0;
  }

  get sizeBytes(): number {
    return OBJECT_BYTES + this.#bits.length;
  }

  /** False: the key with these hashes was certainly never added. */
  mightContain(hashCount: number, h1: number, h2: number): boolean {
    const bits = this.#bits;
    const mask = this.#mask;
    if (mask !== 0) return isInBits(bits, mask, hashCount, h1, h2);
    const bitCount = bits.length * 8;
    let sum = h1;
    for (let i = 0; i < hashCount; i++) {
      const position = Math.abs(sum % bitCount);
      if ((bits[position >> 3]! & (1 << (position & 7))) === 0) return false;
      sum = (sum + h2) | 0;
    }
    return true;
  }
}

/**
 * `mightContain` of 2^n = `mask` + 1 bits. The first bits of absent keys are like thrown coins, which processors guess badly:
 * three are looked at in one go, so that their cache misses overlap and a wrong guess is rare.
 */
function isInBits(
  bits: Uint8Array,
  mask: number,
  hashCount: number,
  h1: number,
  h2: number,
): boolean {
  let sum = h1;
  let i = 0;
  for (; i + 3 <= hashCount; i += 3) {
    const a = absolute(sum) & mask;
    const b = absolute(sum + h2) & mask;
    const c = absolute(sum + 2 * h2) & mask;
    const all =
      (bits[a >> 3]! >> (a & 7)) & (bits[b >> 3]! >> (b & 7)) & (bits[c >> 3]! >> (c & 7));
    if ((all & 1) === 0) return false;
    sum = (sum + 3 * h2) | 0;
  }
  for (; i < hashCount; i++) {
    const position = absolute(sum) & mask;
    if ((bits[position >> 3]! & (1 << (position & 7))) === 0) return false;
    sum = (sum + h2) | 0;
  }
  return true;
}

/** Of 32 bits, without a branch. */
function absolute(value: number): number {
  const low = value | 0;
  const sign = low >> 31;
  return (low ^ sign) - sign;
}

/** Sets the bits of a key; the counterpart of `mightContain`. */
export function addToBits(
  bits: Uint8Array,
  hashType: number,
  hashCount: number,
  buf: Uint8Array,
  at: number,
  length: number,
): void {
  const bitCount = bits.length * 8;
  const h1 = hashBytes(hashType, buf, at, length, 0);
  const h2 = hashBytes(hashType, buf, at, length, h1);
  let sum = h1;
  for (let i = 0; i < hashCount; i++) {
    const position = Math.abs(sum % bitCount);
    bits[position >> 3]! |= 1 << (position & 7);
    sum = (sum + h2) | 0;
  }
}
