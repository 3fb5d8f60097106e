/**
 * Building data blocks cell by cell, plain or encoded; the formats are in block_decoding.ts. The bytes are those that
 * HBase's encoders write for the same cells.
 */
import { putU16, putU32, u16, u32 } from '../cell/index.ts';
import type { CellView } from '../cell/index.ts';
import type { CellsShape, EncodingName } from './block_decoding.ts';
import {
  DIFF_SAME_KEY_LENGTH,
  DIFF_SAME_TYPE,
  DIFF_SAME_VALUE_LENGTH,
  DIFF_TIMESTAMP_IS_DIFF,
  DIFF_TIMESTAMP_SHIFT,
  DIFF_TIMESTAMP_SIGN,
  ENCODING_IDS,
  FAST_SAME_KEY_LENGTH,
  FAST_SAME_TYPE,
  FAST_SAME_VALUE,
  FAST_SAME_VALUE_LENGTH,
} from './block_decoding.ts';
import { bytesOf, putVarint, putVlong, vlongSizeOf } from './varlen.ts';

/** Bytes that a cell may add beyond its own: flags, varints, write number, family, row index entry. */
const CELL_SLACK = 256;

/** A copy of this cell's KeyValue without tags, kept because the encoders refer to it and its source may move on. */
class PreviousCell {
  buf: Buffer = Buffer.allocUnsafeSlow(1024);
  exists = false;
  keyLength = 0;
  valueLength = 0;
  rowLength = 0;
  qualifierLength = 0;

  keep(cell: CellView, keyLength: number): void {
    const length = 8 + keyLength + cell.valueLength;
    if (this.buf.length < length) this.buf = Buffer.allocUnsafeSlow(2 * length);
    copyBytes(cell.block, cell.at, this.buf, 0, length);
    this.exists = true;
    this.keyLength = keyLength;
    this.valueLength = cell.valueLength;
    this.rowLength = cell.rowLength;
    this.qualifierLength = cell.qualifierLength;
  }

  get timestampAt(): number {
    return 8 + this.keyLength - 9;
  }
}

function copyBytes(from: Uint8Array, at: number, to: Buffer, toAt: number, length: number): void {
  // Measured: a loop wins below some 48 bytes, a call into `set` above.
  if (length >= 48) {
    to.set(from.subarray(at, at + length), toAt);
    return;
  }
  for (let i = 0; i < length; i++) to[toAt + i] = from[at + i]!;
}

/** The data block being built. `bytes` up to `length` are its plain data, valid until the next `append`. */
export class DataBlockBuilder {
  readonly #encoding: EncodingName;
  readonly #shape: CellsShape;
  readonly #previous: PreviousCell = new PreviousCell();
  /** Offsets of the rows' first cells, for ROW_INDEX_V1. */
  readonly #rowsAt: number[] = [];
  bytes: Buffer;
  length = 0;
  cellCount = 0;
  /** Size of the cells had they not been encoded, tags and write numbers included. */
  plainSize = 0;

  constructor(encoding: EncodingName, shape: CellsShape, blockSizeBytes: number) {
    this.#encoding = encoding;
    this.#shape = shape;
    this.bytes = Buffer.allocUnsafeSlow(2 * blockSizeBytes + 4096);
    this.reset();
  }

  /** Bytes of encoded cells so far, as HBase counts them for closing a block. */
  get encodedSize(): number {
    return this.length - this.#headSize + 4 * this.#rowsAt.length;
  }

  get isEncoded(): boolean {
    return this.#encoding !== 'NONE';
  }

  /** Encoding id, and for the delta encodings the plain size, stand before the cells. */
  get #headSize(): number {
    if (this.#encoding === 'NONE') return 0;
    return this.#encoding === 'ROW_INDEX_V1' ? 2 : 6;
  }

  reset(): void {
    this.length = this.#headSize;
    this.cellCount = 0;
    this.plainSize = 0;
    this.#previous.exists = false;
    this.#rowsAt.length = 0;
  }

  /** Adds a cell. `startsRow`: its row differs from that of the cell before. */
  append(cell: CellView, startsRow: boolean): void {
    const keyLength = cell.timestampAt + 9 - cell.at - 8;
    this.#reserve(cell.length + CELL_SLACK);
    switch (this.#encoding) {
      case 'ROW_INDEX_V1':
        if (startsRow || this.cellCount === 0) this.#rowsAt.push(this.length - 2);
        this.#plain(cell, keyLength);
        break;
      case 'NONE':
        this.#plain(cell, keyLength);
        break;
      case 'PREFIX':
        this.#prefix(cell, keyLength);
        break;
      case 'DIFF':
        this.#diff(cell, keyLength);
        break;
      case 'FAST_DIFF':
        this.#fastDiff(cell, keyLength);
        break;
    }
    this.cellCount++;
  }

  /** Completes the block: after it `bytes[0 … length)` is what the block's frame takes. */
  finish(): void {
    if (this.#encoding === 'NONE') return;
    putU16(this.bytes, 0, ENCODING_IDS[this.#encoding]);
    if (this.#encoding !== 'ROW_INDEX_V1') {
      putU32(this.bytes, 2, this.plainSize);
      return;
    }
    const cellsSize = this.length - 2;
    this.#reserve(8 + 4 * this.#rowsAt.length);
    putU32(this.bytes, this.length, this.#rowsAt.length);
    this.length += 4;
    for (const rowAt of this.#rowsAt) {
      putU32(this.bytes, this.length, rowAt);
      this.length += 4;
    }
    putU32(this.bytes, this.length, cellsSize);
    this.length += 4;
  }

  #reserve(size: number): void {
    if (this.length + size <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, this.length + size));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  #plain(cell: CellView, keyLength: number): void {
    const buf = this.bytes;
    const at = this.length;
    const length = 8 + keyLength + cell.valueLength;
    copyBytes(cell.block, cell.at, buf, at, length);
    let end = at + length;
    if (this.#shape.hasTags) {
      putU16(buf, end, cell.tagsLength);
      copyBytes(cell.block, cell.tagsAt, buf, end + 2, cell.tagsLength);
      end += 2 + cell.tagsLength;
    }
    if (this.#shape.hasWriteNumbers) end = putVlong(buf, end, cell.writeHigh, cell.writeLow);
    this.length = end;
    this.plainSize += end - at;
  }

  /** Adds the parts that follow every cell of a delta encoding, and takes it as the previous one. */
  #afterDelta(cell: CellView, keyLength: number): void {
    this.plainSize += 8 + keyLength + cell.valueLength;
    if (this.#shape.hasTags) {
      this.length = putVarint(this.bytes, this.length, cell.tagsLength);
      this.#copy(cell.block, cell.tagsAt, cell.tagsLength);
      this.plainSize += 2 + cell.tagsLength;
    }
    if (this.#shape.hasWriteNumbers) {
      this.length = putVlong(this.bytes, this.length, cell.writeHigh, cell.writeLow);
      this.plainSize += vlongSizeOf(cell.writeHigh, cell.writeLow);
    }
    this.#previous.keep(cell, keyLength);
  }

  #copy(from: Uint8Array, at: number, length: number): void {
    copyBytes(from, at, this.bytes, this.length, length);
    this.length += length;
  }

  #varint(value: number): void {
    this.length = putVarint(this.bytes, this.length, value);
  }

  /**
   * Shared leading bytes of this and the previous flat key up to the end of the qualifiers, as HBase counts them: whole
   * parts first (HBase: PrivateCellUtil#findCommonPrefixInFlatKey).
   */
  #common(cell: CellView): number {
    const previous = this.#previous;
    const buf = previous.buf;
    if (cell.rowLength !== previous.rowLength) {
      return u16(cell.block, cell.at + 8) >> 8 === u16(buf, 8) >> 8 ? 1 : 0;
    }
    let common = 0;
    while (common < cell.rowLength && cell.block[cell.rowAt + common] === buf[10 + common])
      common++;
    if (common < cell.rowLength) return 2 + common;
    const qualifierAt = cell.qualifierAt - cell.at;
    const max = Math.min(cell.qualifierLength, previous.qualifierLength);
    let same = 0;
    while (same < max && cell.block[cell.qualifierAt + same] === buf[qualifierAt + same]) same++;
    return qualifierAt - 8 + same;
  }

  #prefix(cell: CellView, keyLength: number): void {
    const previous = this.#previous;
    let common = 0;
    if (previous.exists) {
      common = this.#common(cell);
      // The shared part may reach into timestamp and type, if the qualifiers are equal.
      if (keyLength === previous.keyLength && common === keyLength - 9) {
        while (
          common < keyLength &&
          cell.block[cell.at + 8 + common] === previous.buf[8 + common]
        ) {
          common++;
        }
      }
    }
    this.#varint(keyLength - common);
    this.#varint(cell.valueLength);
    this.#varint(common);
    this.#copy(cell.block, cell.at + 8 + common, keyLength - common + cell.valueLength);
    this.#afterDelta(cell, keyLength);
  }

  /** The key part of DIFF and FAST_DIFF: rest of the row and the qualifier, or the rest of the qualifier. */
  #keyPart(cell: CellView, common: number): void {
    const keyAt = cell.at + 8;
    if (this.#previous.exists && common >= 2 + cell.rowLength) {
      this.#copy(cell.block, keyAt + common, cell.timestampAt - keyAt - common);
      return;
    }
    this.#copy(cell.block, keyAt + common, 2 + cell.rowLength - common);
    this.#copy(cell.block, cell.qualifierAt, cell.qualifierLength);
  }

  #diff(cell: CellView, keyLength: number): void {
    const previous = this.#previous;
    const block = cell.block;
    let high = u32(block, cell.timestampAt);
    let low = u32(block, cell.timestampAt + 4);
    let flags = 0;
    let common = 0;
    let timestampLength = high === 0 ? bytesOf(low) : 4 + bytesOf(high);
    if (!previous.exists) {
      const familyAt = cell.rowAt + cell.rowLength;
      this.#copy(block, familyAt, 1 + block[familyAt]!);
    } else {
      common = this.#common(cell);
      if (keyLength === previous.keyLength) flags |= DIFF_SAME_KEY_LENGTH;
      if (cell.valueLength === previous.valueLength) flags |= DIFF_SAME_VALUE_LENGTH;
      if (block[cell.timestampAt + 8] === previous.buf[previous.timestampAt + 8]) {
        flags |= DIFF_SAME_TYPE;
      }
      // The difference to the previous timestamp, as sign and magnitude.
      const previousHigh = u32(previous.buf, previous.timestampAt);
      const previousLow = u32(previous.buf, previous.timestampAt + 4);
      const isMinus = previousHigh < high || (previousHigh === high && previousLow < low);
      const largerLow = isMinus ? low : previousLow;
      const smallerLow = isMinus ? previousLow : low;
      const borrow = largerLow < smallerLow ? 1 : 0;
      const diffHigh = (Math.abs(previousHigh - high) - borrow) >>> 0;
      const diffLow = (largerLow - smallerLow) >>> 0;
      const diffLength = diffHigh === 0 ? bytesOf(diffLow) : 4 + bytesOf(diffHigh);
      if (diffLength < timestampLength) {
        flags |= DIFF_TIMESTAMP_IS_DIFF;
        if (isMinus) flags |= DIFF_TIMESTAMP_SIGN;
        timestampLength = diffLength;
        high = diffHigh;
        low = diffLow;
      }
    }
    flags |= (timestampLength - 1) << DIFF_TIMESTAMP_SHIFT;
    this.bytes[this.length++] = flags;
    if ((flags & DIFF_SAME_KEY_LENGTH) === 0) this.#varint(keyLength);
    if ((flags & DIFF_SAME_VALUE_LENGTH) === 0) this.#varint(cell.valueLength);
    this.#varint(common);
    this.#keyPart(cell, common);
    for (let i = 0; i < timestampLength; i++) {
      this.bytes[this.length++] = i < 4 ? low >>> (8 * i) : high >>> (8 * (i - 4));
    }
    if ((flags & DIFF_SAME_TYPE) === 0) this.bytes[this.length++] = block[cell.timestampAt + 8]!;
    this.#copy(block, cell.valueAt, cell.valueLength);
    this.#afterDelta(cell, keyLength);
  }

  #fastDiff(cell: CellView, keyLength: number): void {
    const previous = this.#previous;
    const block = cell.block;
    if (!previous.exists) {
      this.bytes[this.length++] = 0;
      this.#varint(keyLength);
      this.#varint(cell.valueLength);
      this.#varint(0);
      this.#copy(block, cell.at + 8, keyLength + cell.valueLength);
      this.#afterDelta(cell, keyLength);
      return;
    }
    const common = this.#common(cell);
    const previousTimestampAt = previous.timestampAt;
    let flags = 0;
    while (
      flags < 7 &&
      block[cell.timestampAt + flags] === previous.buf[previousTimestampAt + flags]
    ) {
      flags++;
    }
    const sameBytes = flags;
    if (keyLength === previous.keyLength) flags |= FAST_SAME_KEY_LENGTH;
    if (cell.valueLength === previous.valueLength) {
      flags |= FAST_SAME_VALUE_LENGTH;
      if (this.#isValueSame(cell)) flags |= FAST_SAME_VALUE;
    }
    if (block[cell.timestampAt + 8] === previous.buf[previousTimestampAt + 8])
      flags |= FAST_SAME_TYPE;
    this.bytes[this.length++] = flags;
    if ((flags & FAST_SAME_KEY_LENGTH) === 0) this.#varint(keyLength);
    if ((flags & FAST_SAME_VALUE_LENGTH) === 0) this.#varint(cell.valueLength);
    this.#varint(common);
    this.#keyPart(cell, common);
    this.#copy(block, cell.timestampAt + sameBytes, 8 - sameBytes);
    if ((flags & FAST_SAME_TYPE) === 0) this.bytes[this.length++] = block[cell.timestampAt + 8]!;
    if ((flags & FAST_SAME_VALUE) === 0) this.#copy(block, cell.valueAt, cell.valueLength);
    this.#afterDelta(cell, keyLength);
  }

  #isValueSame(cell: CellView): boolean {
    const valueAt = 8 + this.#previous.keyLength;
    for (let i = 0; i < cell.valueLength; i++) {
      if (cell.block[cell.valueAt + i] !== this.#previous.buf[valueAt + i]) return false;
    }
    return true;
  }
}
