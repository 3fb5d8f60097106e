/**
 * Encoded data blocks back to plain ones (HBase: DataBlockEncoding and its encoders; protocol/files.md section 1.5).
 *
 * Every decoder gives cells as an unencoded block has them: KeyValue · [u16 tags length · tags] · [vlong write number].
 * PREFIX, DIFF and FAST_DIFF begin with a u32: the size of exactly that. `common` is the count of leading bytes of the
 * flat key that equal the previous cell's.
 *
 *     PREFIX     varint suffix length · varint value length · varint common · suffix · value
 *     DIFF       [u8 family length · family, once] · flags · [varint key length] · [varint value length] · varint common ·
 *                key part · timestamp, little-endian · [type] · value
 *     FAST_DIFF  flags · [varint key length] · [varint value length] · varint common · key part · timestamp tail · [type] · [value]
 *     then for each cell: [varint tags length · tags] · [vlong write number]
 *     ROW_INDEX_V1  plain cells · u32 row count n · n × u32 offset · u32 size of the cells
 */
import { KEY_OVERHEAD, ROW_LENGTH_MAX, putU16, putU32, u16, u32 } from '../cell/index.ts';
import { BLOCK_SIZE_MAX } from './block.ts';
import { check } from './fault.ts';
import { ByteReader, vlongSize } from './varlen.ts';

export type EncodingName = 'NONE' | 'PREFIX' | 'DIFF' | 'FAST_DIFF' | 'ROW_INDEX_V1';

/** On disk. */
export const ENCODING_IDS: Readonly<Record<EncodingName, number>> = {
  NONE: 0,
  PREFIX: 2,
  DIFF: 3,
  FAST_DIFF: 4,
  ROW_INDEX_V1: 7,
};

/** Flags of DIFF. On disk. */
export const DIFF_SAME_KEY_LENGTH = 1;
export const DIFF_SAME_VALUE_LENGTH = 2;
export const DIFF_SAME_TYPE = 4;
export const DIFF_TIMESTAMP_IS_DIFF = 8;
export const DIFF_TIMESTAMP_SHIFT = 4; // Three bits: bytes of the timestamp, less one.
export const DIFF_TIMESTAMP_SIGN = 0x80;

/** Flags of FAST_DIFF. On disk. The low three bits count the leading timestamp bytes that are as before. */
export const FAST_SAME_KEY_LENGTH = 8;
export const FAST_SAME_VALUE_LENGTH = 16;
export const FAST_SAME_TYPE = 32;
export const FAST_SAME_VALUE = 64;

export interface CellsShape {
  /** Every cell is followed by a u16 tags length and tags. */
  readonly hasTags: boolean;
  /** Every cell ends with a vlong write number. */
  readonly hasWriteNumbers: boolean;
}

export interface PlainCells {
  readonly bytes: Uint8Array;
  /** Where the cells end in `bytes`. */
  readonly end: number;
}

export function encodingNamed(name: string): EncodingName | null {
  const upper = name.toUpperCase();
  return Object.hasOwn(ENCODING_IDS, upper) ? (upper as EncodingName) : null;
}

/** The cells of a block with the given encoding. The bytes may be `data` itself. Throws FormatFault. */
export function decodeCells(encodingId: number, data: Uint8Array, shape: CellsShape): PlainCells {
  switch (encodingId) {
    case ENCODING_IDS.NONE:
      return { bytes: data, end: data.length };
    case ENCODING_IDS.ROW_INDEX_V1: {
      check(data.length >= 8, 'a row index is cut off');
      const end = u32(data, data.length - 4);
      check(end <= data.length - 8, 'a row index reaches past its block');
      check(u32(data, end) * 4 === data.length - 8 - end, 'a row index has a wrong count');
      return { bytes: data, end };
    }
    case ENCODING_IDS.PREFIX:
    case ENCODING_IDS.DIFF:
    case ENCODING_IDS.FAST_DIFF: {
      const decoder = new DeltaDecoder(data, shape);
      const bytes = decoder.decode(encodingId);
      return { bytes, end: bytes.length };
    }
    default:
      check(false, 'a block has an unknown encoding');
      return { bytes: data, end: 0 };
  }
}

/** Room kept beyond the current cell, so that the fixed parts need no check of their own. */
const SLACK = 64;

/** Decodes one block. `#previousAt` is the cell before in the output, -1 before the first. */
class DeltaDecoder {
  readonly #in: ByteReader;
  readonly #shape: CellsShape;
  readonly #size: number;
  #out: Buffer;
  #outAt = 0;
  #previousAt = -1;
  #family: Uint8Array = new Uint8Array(0);

  constructor(data: Uint8Array, shape: CellsShape) {
    this.#in = new ByteReader(data);
    this.#shape = shape;
    this.#size = this.#in.u32();
    check(this.#size <= BLOCK_SIZE_MAX, 'an encoded block is too large');
    // Grown as cells come, so that a damaged size allocates little.
    this.#out = Buffer.allocUnsafeSlow(Math.min(this.#size, 4 * data.length + 1024) + SLACK);
  }

  decode(encodingId: number): Uint8Array {
    const input = this.#in;
    if (encodingId === ENCODING_IDS.DIFF && input.at < input.end) {
      this.#family = input.bytes(input.u8());
    }
    while (input.at < input.end) {
      const at = this.#outAt;
      if (encodingId === ENCODING_IDS.PREFIX) this.#prefixCell();
      else if (encodingId === ENCODING_IDS.DIFF) this.#diffCell();
      else this.#fastDiffCell();
      this.#tagsAndWriteNumber();
      this.#previousAt = at;
    }
    check(this.#outAt === this.#size, 'an encoded block has another size than it says');
    return this.#out.subarray(0, this.#outAt);
  }

  /** Begins a cell: its lengths, and the first `common` bytes of its key taken from the previous one. */
  #begin(keyLength: number, valueLength: number, common: number): void {
    const at = this.#outAt;
    const previousKeyLength = this.#previousAt < 0 ? 0 : u32(this.#out, this.#previousAt);
    check(keyLength > KEY_OVERHEAD, 'a key is too short');
    check(common <= keyLength && common <= previousKeyLength, 'a key shares too many bytes');
    this.#reserve(8 + keyLength + valueLength);
    const out = this.#out;
    putU32(out, at, keyLength);
    putU32(out, at + 4, valueLength);
    const from = this.#previousAt + 8;
    for (let i = 0; i < common; i++) out[at + 8 + i] = out[from + i]!;
    this.#outAt = at + 8 + common;
  }

  #reserve(size: number): void {
    const needed = this.#outAt + size;
    check(needed <= this.#size, 'an encoded block is longer than it says');
    if (needed + SLACK <= this.#out.length) return;
    const capacity = Math.min(Math.max(needed, 2 * this.#out.length), this.#size) + SLACK;
    const grown = Buffer.allocUnsafeSlow(capacity);
    this.#out.copy(grown, 0, 0, this.#outAt);
    this.#out = grown;
  }

  /** Copies `length` bytes of input to the output, for which room was reserved. */
  #copy(length: number): void {
    const from = this.#in.skip(length);
    const buf = this.#in.buf;
    const out = this.#out;
    const at = this.#outAt;
    if (length < 64) for (let i = 0; i < length; i++) out[at + i] = buf[from + i]!;
    else out.set(buf.subarray(from, from + length), at);
    this.#outAt = at + length;
  }

  #prefixCell(): void {
    const input = this.#in;
    const suffixLength = input.varint();
    const valueLength = input.varint();
    const common = input.varint();
    this.#begin(common + suffixLength, valueLength, common);
    this.#copy(suffixLength);
    this.#copy(valueLength);
  }

  #diffCell(): void {
    const input = this.#in;
    const previousAt = this.#previousAt;
    const flags = input.u8();
    const isFirst = previousAt < 0;
    const same =
      DIFF_SAME_KEY_LENGTH | DIFF_SAME_VALUE_LENGTH | DIFF_SAME_TYPE | DIFF_TIMESTAMP_IS_DIFF;
    check(!isFirst || (flags & same) === 0, 'the first cell of a block refers to one before');
    const keyLength =
      (flags & DIFF_SAME_KEY_LENGTH) !== 0 ? u32(this.#out, previousAt) : input.varint();
    const valueLength =
      (flags & DIFF_SAME_VALUE_LENGTH) !== 0 ? u32(this.#out, previousAt + 4) : input.varint();
    const common = input.varint();
    this.#begin(keyLength, valueLength, common);
    this.#keyPart(keyLength, common);
    this.#diffTimestamp(flags);
    if ((flags & DIFF_SAME_TYPE) !== 0) {
      this.#out[this.#outAt++] = this.#out[previousAt + 8 + u32(this.#out, previousAt) - 1]!;
    } else {
      this.#copy(1);
    }
    this.#copy(valueLength);
  }

  /** What stands between the shared bytes and the timestamp: rest of row and family, or only of the qualifier. */
  #keyPart(keyLength: number, common: number): void {
    const at = this.#outAt - common; // Start of this cell's key.
    const previousAt = this.#previousAt;
    const end = at + keyLength - 9;
    if (previousAt >= 0 && common >= 2 + u16(this.#out, previousAt + 8)) {
      check(this.#outAt <= end, 'a key shares its timestamp');
      this.#copy(end - this.#outAt);
      return;
    }
    if (common < 2) this.#copy(2 - common);
    const rowLength = u16(this.#out, at);
    const family = this.#familyOf(previousAt);
    const qualifierAt = at + 2 + rowLength + 1 + family.length;
    check(rowLength <= ROW_LENGTH_MAX && qualifierAt <= end, 'a row is longer than its key');
    check(common <= 2 + rowLength, 'a key shares more than its row');
    this.#copy(at + 2 + rowLength - this.#outAt);
    this.#out[this.#outAt] = family.length;
    this.#out.set(family, this.#outAt + 1);
    this.#outAt += 1 + family.length;
    this.#copy(end - this.#outAt);
  }

  /** One family in a block: DIFF states it at its start, FAST_DIFF has it in the first key. */
  #familyOf(previousAt: number): Uint8Array {
    if (previousAt >= 0 && this.#family.length === 0) {
      const lengthAt = previousAt + 10 + u16(this.#out, previousAt + 8);
      this.#family = Uint8Array.from(
        this.#out.subarray(lengthAt + 1, lengthAt + 1 + this.#out[lengthAt]!),
      );
    }
    return this.#family;
  }

  #diffTimestamp(flags: number): void {
    const length = ((flags >> DIFF_TIMESTAMP_SHIFT) & 7) + 1;
    const from = this.#in.skip(length);
    const buf = this.#in.buf;
    let low = 0;
    let high = 0;
    for (let i = 0; i < length; i++) {
      if (i < 4) low |= buf[from + i]! << (8 * i);
      else high |= buf[from + i]! << (8 * (i - 4));
    }
    low >>>= 0;
    if ((flags & DIFF_TIMESTAMP_SIGN) !== 0) {
      high = low === 0 ? -high : ~high;
      low = -low >>> 0;
    }
    if ((flags & DIFF_TIMESTAMP_IS_DIFF) !== 0) {
      const previousAt = this.#previousAt + 8 + u32(this.#out, this.#previousAt) - 9;
      const previousLow = u32(this.#out, previousAt + 4);
      high = u32(this.#out, previousAt) - high - (previousLow < low ? 1 : 0);
      low = (previousLow - low) >>> 0;
    }
    putU32(this.#out, this.#outAt, high);
    putU32(this.#out, this.#outAt + 4, low);
    this.#outAt += 8;
  }

  #fastDiffCell(): void {
    const input = this.#in;
    const previousAt = this.#previousAt;
    const flags = input.u8();
    check(previousAt >= 0 || flags === 0, 'the first cell of a block refers to one before');
    const keyLength =
      (flags & FAST_SAME_KEY_LENGTH) !== 0 ? u32(this.#out, previousAt) : input.varint();
    const valueLength =
      (flags & FAST_SAME_VALUE_LENGTH) !== 0 ? u32(this.#out, previousAt + 4) : input.varint();
    const common = input.varint();
    this.#begin(keyLength, valueLength, common);
    if (previousAt < 0) {
      this.#copy(keyLength);
      this.#copy(valueLength);
      const rowLength = u16(this.#out, 8);
      const familyLength = this.#out[10 + rowLength]!;
      check(KEY_OVERHEAD + rowLength + familyLength <= keyLength, 'a row is longer than its key');
      return;
    }
    this.#keyPart(keyLength, common);
    const sameBytes = flags & 7;
    const previousTimestampAt = previousAt + 8 + u32(this.#out, previousAt) - 9;
    for (let i = 0; i < sameBytes; i++) {
      this.#out[this.#outAt++] = this.#out[previousTimestampAt + i]!;
    }
    this.#copy(8 - sameBytes);
    if ((flags & FAST_SAME_TYPE) !== 0)
      this.#out[this.#outAt++] = this.#out[previousTimestampAt + 8]!;
    else this.#copy(1);
    if ((flags & FAST_SAME_VALUE) === 0) {
      this.#copy(valueLength);
      return;
    }
    check(valueLength === u32(this.#out, previousAt + 4), 'an equal value has another length');
    const valueAt = previousTimestampAt + 9;
    this.#out.copyWithin(this.#outAt, valueAt, valueAt + valueLength);
    this.#outAt += valueLength;
  }

  #tagsAndWriteNumber(): void {
    const input = this.#in;
    if (this.#shape.hasTags) {
      const length = input.varint();
      check(length <= 0xffff, 'the tags of a cell are too long');
      this.#reserve(2 + length);
      putU16(this.#out, this.#outAt, length);
      this.#outAt += 2;
      this.#copy(length);
    }
    if (this.#shape.hasWriteNumbers) {
      check(input.at < input.end, 'a write number is cut off');
      const size = vlongSize(input.buf[input.at]!);
      this.#reserve(size);
      this.#copy(size);
    }
  }
}
