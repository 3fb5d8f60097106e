/**
 * A data block in memory: plain cells, checked once, and an index over them that makes a search logarithmic.
 *
 *     bytes     cells, each: KeyValue · [u16 tags length · tags] · [vlong write number], up to `end`
 *     entries   offset of every 2^shift-th cell (every one, if cells are not small)
 *     prefixes  of the same cells: six bytes of the row (of the qualifier, if the whole block is one row) after those that all
 *               keys of the block share, as an exact number. Shorter keys count as padded with zeros: order is kept, equal
 *               numbers need the bytes.
 *
 * Prefixes are made at the first search: a scan never needs them. The bytes are never changed after construction.
 */
import {
  BEFORE_LOW,
  KEY_OVERHEAD,
  LATEST_HIGH,
  LATEST_LOW,
  putU32,
  u16,
  u32,
} from '../cell/index.ts';
import type { SeekKey } from '../cell/index.ts';
import { check } from './fault.ts';
import { isVlongNegative, vlongSize } from './varlen.ts';
import type { CellsShape, PlainCells } from './block_decoding.ts';

/**
 * What stands for all cells of a file whose own numbers do not count (bulk load, staged transactions). The halves are
 * unsigned. Without a timestamp the cells keep theirs.
 */
export interface FileStamp {
  readonly writeHigh: number;
  readonly writeLow: number;
  /** Takes the place of LATEST. */
  readonly timestamp: { readonly high: number; readonly low: number } | null;
}

/** Cells smaller than this on average are indexed every second or fourth. */
const SPARSE_BELOW_BYTES = 64;

/** Fixed overhead of a cached block beside its arrays, roughly: objects and map entry. */
const OBJECT_BYTES = 400;

/** The row-and-qualifier prefix that a number holds. */
const PREFIX_LENGTH = 6;

/** Up to six bytes at `at` as a number, padded with zeros: of the `length` bytes there. */
export function prefixNumber(buf: Uint8Array, at: number, length: number): number {
  if (length >= PREFIX_LENGTH) return u16(buf, at) * 2 ** 32 + u32(buf, at + 2);
  let value = 0;
  for (let i = 0; i < PREFIX_LENGTH; i++) value = value * 256 + (i < length ? buf[at + i]! : 0);
  return value;
}

/** Count of leading bytes that two ranges share. */
export function sharedLength(
  a: Uint8Array,
  aAt: number,
  aLength: number,
  b: Uint8Array,
  bAt: number,
  bLength: number,
): number {
  const max = aLength < bLength ? aLength : bLength;
  let shared = 0;
  while (shared < max && a[aAt + shared] === b[bAt + shared]) shared++;
  return shared;
}

/** Orders the cell at `at` against a place to seek to: negative if the cell is before it, 0 or positive if at or after. */
export function compareCellToKey(buf: Uint8Array, at: number, key: SeekKey): number {
  const rowLength = u16(buf, at + 8);
  const rowOrder = compareShort(buf, at + 10, rowLength, key.row, key.rowAt, key.rowLength);
  if (rowOrder !== 0) return rowOrder;
  if (key.qualifier === null) return 1;
  const qualifierAt = at + 11 + rowLength + buf[at + 10 + rowLength]!;
  const timestampAt = at + u32(buf, at) - 1;
  const order = compareShort(
    buf,
    qualifierAt,
    timestampAt - qualifierAt,
    key.qualifier,
    key.qualifierAt,
    key.qualifierLength,
  );
  return order !== 0 ? order : compareVersion(buf, timestampAt, key);
}

/** Orders timestamp and type, newest and greatest first. */
export function compareVersion(buf: Uint8Array, timestampAt: number, key: SeekKey): number {
  const high = u32(buf, timestampAt);
  if (high !== key.timestampHigh) return key.timestampHigh - high;
  const low = u32(buf, timestampAt + 4);
  if (low !== key.timestampLow) return key.timestampLow - low;
  return key.type - buf[timestampAt + 8]!;
}

/** As `compareRanges` of cell/bytes.ts, kept here as a small function that is inlined: keys are mostly short. */
export function compareShort(
  a: Uint8Array,
  aAt: number,
  aLength: number,
  b: Uint8Array,
  bAt: number,
  bLength: number,
): number {
  const common = aLength < bLength ? aLength : bLength;
  for (let i = 0; i < common; i++) {
    const difference = a[aAt + i]! - b[bAt + i]!;
    if (difference !== 0) return difference;
  }
  return aLength - bLength;
}

/** Collects offsets while a block is checked; shared by the blocks of one reader, so that it grows once. */
export class OffsetList {
  items: Uint32Array = new Uint32Array(1024);
  count = 0;

  push(offset: number): void {
    if (this.count === this.items.length) {
      const grown = new Uint32Array(2 * this.items.length);
      grown.set(this.items);
      this.items = grown;
    }
    this.items[this.count++] = offset;
  }
}

export class DataBlock {
  readonly kind = 'data';
  /** Offset in the file. */
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly end: number;
  readonly cellCount: number;
  readonly lastCellAt: number;
  readonly hasTags: boolean;
  readonly hasWriteNumbers: boolean;
  readonly #entries: Uint32Array;
  readonly #shift: number;
  #prefixes: Float64Array | null = null;
  /** Count of shared leading bytes of rows, or of qualifiers when all cells are of one row. */
  #skip = 0;
  #isOneRow = false;

  /**
   * Takes over the bytes of `cells`. Checks that every cell is whole and well formed, so that cursors need not; throws
   * FormatFault. The timestamp of a stamp is written into the cells.
   */
  constructor(
    offset: number,
    cells: PlainCells,
    shape: CellsShape,
    stamp: FileStamp | null,
    scratch: OffsetList,
  ) {
    this.offset = offset;
    this.bytes = cells.bytes;
    this.end = cells.end;
    this.hasTags = shape.hasTags;
    this.hasWriteNumbers = shape.hasWriteNumbers;
    this.cellCount = checkCells(cells, shape, scratch);
    check(this.cellCount > 0, 'a data block is empty');
    this.lastCellAt = scratch.items[this.cellCount - 1]!;
    if (stamp !== null && stamp.timestamp !== null) {
      stampLatest(cells.bytes, scratch, stamp.timestamp.high, stamp.timestamp.low);
    }
    this.#shift = shiftFor(this.end / this.cellCount);
    this.#entries = everyNth(scratch, this.#shift);
  }

  /** Bytes this block occupies, with the prefixes that the first search will make. */
  get sizeBytes(): number {
    return OBJECT_BYTES + this.bytes.length + 12 * this.#entries.length;
  }

  /** Offset of the first cell at or after `key`, not before the cell at `from`; `end` if there is none. */
  search(key: SeekKey, from: number): number {
    const prefixes = this.#prefixes ?? this.#makePrefixes();
    const wanted = this.#prefixOf(key);
    let low = wanted === AFTER ? prefixes.length : 0;
    if (wanted >= 0) {
      let high = prefixes.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (prefixes[middle]! < wanted) low = middle + 1;
        else high = middle;
      }
      // Entries before `low` are before the key. Those from it on whose prefix equals the wanted one need their bytes, mostly one.
      if (low < prefixes.length && prefixes[low] === wanted && this.#isBefore(low, key)) {
        low = this.#searchEqual(key, wanted, low + 1);
      }
    }
    return this.#refine(key, low, from);
  }

  #isBefore(index: number, key: SeekKey): boolean {
    return compareCellToKey(this.bytes, this.#entries[index]!, key) < 0;
  }

  /** First entry from `from` on that is at or after the key, when the one before `from` has the wanted prefix and is before it. */
  #searchEqual(key: SeekKey, wanted: number, from: number): number {
    const prefixes = this.#prefixes!;
    let low = from;
    let high = prefixes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (prefixes[middle]! === wanted && this.#isBefore(middle, key)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** From entry `index`, the first at or after the key, to the first such cell: with sparse entries it may stand before. */
  #refine(key: SeekKey, index: number, from: number): number {
    const entries = this.#entries;
    if (this.#shift === 0 || index === 0) {
      const at = index < entries.length ? entries[index]! : this.end;
      return at < from ? from : at;
    }
    let at = entries[index - 1]!;
    if (at < from) at = from;
    while (at < this.end && compareCellToKey(this.bytes, at, key) < 0) at = this.after(at);
    return at;
  }

  /** Offset after the cell at `at`. */
  after(at: number): number {
    const bytes = this.bytes;
    let end = at + 8 + u32(bytes, at) + u32(bytes, at + 4);
    if (this.hasTags) end += 2 + u16(bytes, end);
    if (this.hasWriteNumbers) end += vlongSize(bytes[end]!);
    return end;
  }

  /** Offset of the cell before the one at `at` (which may be `end`); -1 if `at` is the first. */
  before(at: number): number {
    if (at === 0) return -1;
    const entries = this.#entries;
    let low = 0;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (entries[middle]! < at) low = middle + 1;
      else high = middle;
    }
    let found = entries[low - 1]!;
    for (let next = this.after(found); next < at; next = this.after(found)) found = next;
    return found;
  }

  #makePrefixes(): Float64Array {
    const bytes = this.bytes;
    const entries = this.#entries;
    const last = this.lastCellAt;
    const firstRowLength = u16(bytes, 8);
    const lastRowLength = u16(bytes, last + 8);
    this.#skip = sharedLength(bytes, 10, firstRowLength, bytes, last + 10, lastRowLength);
    this.#isOneRow = this.#skip === firstRowLength && this.#skip === lastRowLength;
    const prefixes = new Float64Array(entries.length);
    if (this.#isOneRow) {
      const qualifierFrom = 11 + firstRowLength + bytes[10 + firstRowLength]!;
      const firstEnd = u32(bytes, 0) - 1;
      const lastEnd = last + u32(bytes, last) - 1;
      const lastFrom = last + 11 + lastRowLength + bytes[last + 10 + lastRowLength]!;
      const skip = sharedLength(
        bytes,
        qualifierFrom,
        firstEnd - qualifierFrom,
        bytes,
        lastFrom,
        lastEnd - lastFrom,
      );
      this.#skip = skip;
      for (let i = 0; i < entries.length; i++) {
        const at = entries[i]!;
        const from = at + 11 + firstRowLength + bytes[at + 10 + firstRowLength]! + skip;
        prefixes[i] = prefixNumber(bytes, from, at + u32(bytes, at) - 1 - from);
      }
    } else {
      const skip = this.#skip;
      for (let i = 0; i < entries.length; i++) {
        const at = entries[i]!;
        prefixes[i] = prefixNumber(bytes, at + 10 + skip, u16(bytes, at + 8) - skip);
      }
    }
    this.#prefixes = prefixes;
    return prefixes;
  }

  /** The prefix of a wanted key, or BEFORE or AFTER when what the block shares already decides. */
  #prefixOf(key: SeekKey): number {
    const bytes = this.bytes;
    const skip = this.#skip;
    if (!this.#isOneRow) {
      const order = compareStart(key.row, key.rowAt, key.rowLength, bytes, 10, skip);
      if (order !== 0) return order < 0 ? BEFORE : AFTER;
      return prefixNumber(key.row, key.rowAt + skip, key.rowLength - skip);
    }
    const rowLength = u16(bytes, 8);
    const order = compareShort(key.row, key.rowAt, key.rowLength, bytes, 10, rowLength);
    if (order !== 0) return order < 0 ? BEFORE : AFTER;
    if (key.qualifier === null) return BEFORE;
    const qualifierAt = 11 + rowLength + bytes[10 + rowLength]!;
    const start = compareStart(
      key.qualifier,
      key.qualifierAt,
      key.qualifierLength,
      bytes,
      qualifierAt,
      skip,
    );
    if (start !== 0) return start < 0 ? BEFORE : AFTER;
    return prefixNumber(key.qualifier, key.qualifierAt + skip, key.qualifierLength - skip);
  }
}

const BEFORE = -1;
const AFTER = -2;

/** Orders the start of `a` against the `skip` shared bytes at `bAt`; an `a` that ends within them is before. */
export function compareStart(
  a: Uint8Array,
  aAt: number,
  aLength: number,
  b: Uint8Array,
  bAt: number,
  skip: number,
): number {
  const max = aLength < skip ? aLength : skip;
  for (let i = 0; i < max; i++) {
    const difference = a[aAt + i]! - b[bAt + i]!;
    if (difference !== 0) return difference;
  }
  return aLength < skip ? -1 : 0;
}

function shiftFor(averageSize: number): number {
  if (averageSize >= SPARSE_BELOW_BYTES) return 0;
  return averageSize >= SPARSE_BELOW_BYTES / 2 ? 1 : 2;
}

function everyNth(list: OffsetList, shift: number): Uint32Array {
  if (shift === 0) return list.items.slice(0, list.count);
  const count = Math.ceil(list.count / 2 ** shift);
  const entries = new Uint32Array(count);
  for (let i = 0; i < count; i++) entries[i] = list.items[i << shift]!;
  return entries;
}

/** Fills `list` with the offsets of the cells and gives their count. Throws FormatFault on the first that is not well formed. */
function checkCells(cells: PlainCells, shape: CellsShape, list: OffsetList): number {
  const { bytes, end } = cells;
  const { hasTags, hasWriteNumbers } = shape;
  list.count = 0;
  let at = 0;
  while (at < end) {
    check(end - at >= 8 + KEY_OVERHEAD, 'a cell is cut off');
    const keyLength = u32(bytes, at);
    const valueLength = u32(bytes, at + 4);
    check(keyLength + valueLength <= end - at - 8, 'a cell reaches past its block');
    const rowLength = u16(bytes, at + 8);
    check(rowLength > 0 && rowLength < 0x8000, 'a cell has no row');
    check(rowLength + KEY_OVERHEAD <= keyLength, 'a row is longer than its key');
    const familyLength = bytes[at + 10 + rowLength]!;
    check(rowLength + familyLength + KEY_OVERHEAD <= keyLength, 'a family is longer than its key');
    let next = at + 8 + keyLength + valueLength;
    if (hasTags) {
      check(end - next >= 2, 'the tags of a cell are cut off');
      const tagsLength = u16(bytes, next);
      next += 2;
      if (tagsLength > 0) checkTags(bytes, next, next + tagsLength, end);
      next += tagsLength;
    }
    if (hasWriteNumbers) {
      check(next < end && !isVlongNegative(bytes[next]!), 'a write number is missing or negative');
      next += vlongSize(bytes[next]!);
    }
    check(next <= end, 'a cell reaches past its block');
    list.push(at);
    at = next;
  }
  return list.count;
}

function checkTags(bytes: Uint8Array, from: number, tagsEnd: number, end: number): void {
  check(tagsEnd <= end, 'the tags of a cell reach past their block');
  let at = from;
  while (at < tagsEnd) {
    const length = at + 2 <= tagsEnd ? u16(bytes, at) : 0;
    check(length > 0 && at + 2 + length <= tagsEnd, 'a tag reaches past the tags of its cell');
    at += 2 + length;
  }
}

/** Puts the stamp's time in the place of LATEST, and the millisecond before it in that of 2^63-2 (staged markers). */
export function replaceLatest(bytes: Uint8Array, at: number, high: number, low: number): void {
  if (u32(bytes, at) !== LATEST_HIGH) return;
  const wanted = u32(bytes, at + 4);
  if (wanted === LATEST_LOW) {
    putU32(bytes, at, high);
    putU32(bytes, at + 4, low);
  } else if (wanted === BEFORE_LOW) {
    putU32(bytes, at, low === 0 ? high - 1 : high);
    putU32(bytes, at + 4, low === 0 ? 0xffffffff : low - 1);
  }
}

function stampLatest(bytes: Uint8Array, list: OffsetList, high: number, low: number): void {
  for (let i = 0; i < list.count; i++) {
    const at = list.items[i]!;
    replaceLatest(bytes, at + u32(bytes, at) - 1, high, low);
  }
}
