/**
 * One block of an index in memory (HBase: HFileBlockIndex; protocol/files.md section 1.7). Integers big-endian.
 *
 *     root      entries { u64 offset · u32 size on disk · vint key length · key }, their count known from elsewhere
 *     non-root  u32 count n · (n+1) × u32 relative offset · entries { u64 offset · u32 size on disk · key }
 *
 * A data index holds flat keys that lie after the last key of the block before and not after the first of the block;
 * HBase shortens them to keys that no cell has, with LATEST and type 255 and perhaps without family or qualifier.
 */
import { KEY_OVERHEAD, u16, u32 } from '../cell/index.ts';
import type { SeekKey } from '../cell/index.ts';
import { BLOCK_HEADER_SIZE, BLOCK_SIZE_MAX } from './block.ts';
import {
  compareShort,
  compareStart,
  compareVersion,
  prefixNumber,
  replaceLatest,
  sharedLength,
} from './data_block.ts';
import type { FileStamp } from './data_block.ts';
import { check } from './fault.ts';
import { ByteReader } from './varlen.ts';

/** Entries of any index: where blocks are and the keys that lead to them. */
export interface IndexEntries {
  readonly count: number;
  /** Offsets in the file; exact, below 2^53. */
  readonly offsets: Float64Array;
  readonly sizes: Uint32Array;
  /** All keys; key i is keys[keysAt[i] … keysAt[i] + keyLengths[i]). */
  readonly keys: Uint8Array;
  readonly keysAt: Uint32Array;
  readonly keyLengths: Uint32Array;
}

/** Smallest entry: offset, size, key length. */
const ROOT_ENTRY_MIN = 13;

/** Reads `count` root-style entries. The keys are a view of the reader's bytes. Throws FormatFault. */
export function readRootEntries(reader: ByteReader, count: number, fileSize: number): IndexEntries {
  check(
    count >= 0 && count <= (reader.end - reader.at) / ROOT_ENTRY_MIN,
    'an index has too many entries',
  );
  const entries = emptyEntries(count, reader.buf);
  for (let i = 0; i < count; i++) {
    entries.offsets[i] = reader.int64();
    entries.sizes[i] = reader.u32();
    const length = reader.vint();
    entries.keyLengths[i] = length;
    entries.keysAt[i] = reader.skip(length);
    checkEntry(entries, i, fileSize);
  }
  return entries;
}

/** Reads a leaf or intermediate index block. The keys are a view of `data`. Throws FormatFault. */
export function readNonRootEntries(data: Uint8Array, fileSize: number): IndexEntries {
  const reader = new ByteReader(data);
  const count = reader.u32();
  check(
    count > 0 && count <= data.length / ROOT_ENTRY_MIN,
    'an index has a wrong count of entries',
  );
  const table = reader.skip(4 * (count + 1));
  const base = reader.at;
  const entries = emptyEntries(count, data);
  for (let i = 0; i < count; i++) {
    const at = u32(data, table + 4 * i);
    const end = u32(data, table + 4 * (i + 1));
    check(end >= at + 12 && base + end <= data.length, 'an index entry reaches past its block');
    reader.at = base + at;
    entries.offsets[i] = reader.int64();
    entries.sizes[i] = reader.u32();
    entries.keysAt[i] = reader.at;
    entries.keyLengths[i] = end - at - 12;
    checkEntry(entries, i, fileSize);
  }
  return entries;
}

function emptyEntries(count: number, keys: Uint8Array): IndexEntries {
  return {
    count,
    offsets: new Float64Array(count),
    sizes: new Uint32Array(count),
    keys,
    keysAt: new Uint32Array(count),
    keyLengths: new Uint32Array(count),
  };
}

function checkEntry(entries: IndexEntries, i: number, fileSize: number): void {
  const offset = entries.offsets[i]!;
  const size = entries.sizes[i]!;
  check(
    offset >= 0 && size >= BLOCK_HEADER_SIZE && size <= BLOCK_SIZE_MAX && offset + size <= fileSize,
    'an index entry points outside of the file',
  );
}

const OBJECT_BYTES = 500;

/** A block of the data index. */
export class IndexChunk {
  readonly kind = 'index';
  /** Offset in the file. */
  readonly offset: number;
  readonly entries: IndexEntries;
  /** Six bytes of each key's row after those that all share; see data_block.ts. */
  readonly #prefixes: Float64Array;
  readonly #skip: number;

  /**
   * Takes over the entries. Checks that the keys are well formed and replaces LATEST in them by the stamp's timestamp,
   * as the cells have it; throws FormatFault.
   */
  constructor(offset: number, entries: IndexEntries, stamp: FileStamp | null) {
    this.offset = offset;
    this.entries = entries;
    const { keys, keysAt, keyLengths, count } = entries;
    checkPlaces(entries, offset);
    for (let i = 0; i < count; i++) checkKey(keys, keysAt[i]!, keyLengths[i]!);
    const timestamp = stamp?.timestamp ?? null;
    if (timestamp !== null) {
      for (let i = 0; i < count; i++) {
        replaceLatest(keys, keysAt[i]! + keyLengths[i]! - 9, timestamp.high, timestamp.low);
      }
    }
    const first = count === 0 ? 0 : keysAt[0]!;
    const last = count === 0 ? 0 : keysAt[count - 1]!;
    this.#skip =
      count === 0
        ? 0
        : sharedLength(keys, first + 2, u16(keys, first), keys, last + 2, u16(keys, last));
    this.#prefixes = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      const at = keysAt[i]!;
      const length = u16(keys, at) - this.#skip;
      this.#prefixes[i] = prefixNumber(keys, at + 2 + this.#skip, Math.max(length, 0));
    }
  }

  get sizeBytes(): number {
    return OBJECT_BYTES + this.entries.keys.length + 28 * this.entries.count;
  }

  /** Index of the last entry whose key is not after `key`: the block that may hold the first cell at or after it. -1: before all. */
  search(key: SeekKey): number {
    const { keys, keysAt, keyLengths, count } = this.entries;
    if (count === 0) return -1;
    const skip = this.#skip;
    const start = compareStart(key.row, key.rowAt, key.rowLength, keys, keysAt[0]! + 2, skip);
    if (start !== 0) return start < 0 ? -1 : count - 1;
    const wanted = prefixNumber(key.row, key.rowAt + skip, key.rowLength - skip);
    const prefixes = this.#prefixes;
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const prefix = prefixes[middle]!;
      const isAfter =
        prefix !== wanted
          ? prefix > wanted
          : compareIndexKey(keys, keysAt[middle]!, keyLengths[middle]!, key) > 0;
      if (isAfter) high = middle;
      else low = middle + 1;
    }
    return low - 1;
  }
}

/** Blocks are written before the index that names them, in its order; so no descent and no scan can go in circles. */
function checkPlaces(entries: IndexEntries, indexOffset: number): void {
  let end = 0;
  for (let i = 0; i < entries.count; i++) {
    check(entries.offsets[i]! >= end, 'the entries of an index are out of order');
    end = entries.offsets[i]! + entries.sizes[i]!;
  }
  check(end <= indexOffset, 'an index names a block behind itself');
}

function checkKey(keys: Uint8Array, at: number, length: number): void {
  check(length >= KEY_OVERHEAD, 'an index key is too short');
  const rowLength = u16(keys, at);
  check(rowLength < 0x8000 && rowLength + KEY_OVERHEAD <= length, 'an index key has no whole row');
  const familyLength = keys[at + 2 + rowLength]!;
  check(rowLength + familyLength + KEY_OVERHEAD <= length, 'an index key has no whole family');
}

/** Orders a flat key against a place to seek to. A key without family stands before every cell of its row. */
export function compareIndexKey(
  keys: Uint8Array,
  at: number,
  length: number,
  key: SeekKey,
): number {
  const rowLength = u16(keys, at);
  const order = compareShort(keys, at + 2, rowLength, key.row, key.rowAt, key.rowLength);
  if (order !== 0) return order;
  const familyLength = keys[at + 2 + rowLength]!;
  if (familyLength === 0) return key.qualifier === null ? 0 : -1;
  if (key.qualifier === null) return 1;
  const qualifierAt = at + 3 + rowLength + familyLength;
  const timestampAt = at + length - 9;
  const qualifierOrder = compareShort(
    keys,
    qualifierAt,
    timestampAt - qualifierAt,
    key.qualifier,
    key.qualifierAt,
    key.qualifierLength,
  );
  return qualifierOrder !== 0 ? qualifierOrder : compareVersion(keys, timestampAt, key);
}
