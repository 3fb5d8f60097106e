/**
 * HBase's `Result` message, as Export writes it into SequenceFiles: cells by their fields (Client.proto: Result, Cell.proto:
 * Cell; protocol/files.md section 2).
 *
 *     Result: 1 cell (repeated)  2 associated_cell_count  3 exists  4 stale  5 partial
 *     Cell:   1 row  2 family  3 qualifier  4 timestamp  5 cell_type  6 value  7 tags
 */
import { PACKED_CELL_HEADER } from '../model/index.ts';
import type { Result } from '../model/index.ts';
import { u16, u32, writeKeyValue, keyValueSize } from '../cell/index.ts';

const TAG_CELL = 0x0a;
const TAG_STALE = 0x20;
const TAG_PARTIAL = 0x28;
const CELL_ROW = 0x0a;
const CELL_FAMILY = 0x12;
const CELL_QUALIFIER = 0x1a;
const CELL_TIMESTAMP = 0x20;
const CELL_TYPE = 0x28;
const CELL_VALUE = 0x32;
const CELL_TAGS = 0x3a;
const SEVEN_BITS = 128;
/** Up to this length a loop copies faster than a call of `set` with a fresh view. */
const LOOP_COPY_MAX = 128;

function varintSize(value: number): number {
  if (value < SEVEN_BITS) return 1;
  let size = 1;
  for (let rest = value; rest >= SEVEN_BITS; rest = Math.floor(rest / SEVEN_BITS)) size++;
  return size;
}

function varint64Size(high: number, low: number): number {
  if (high === 0) return varintSize(low);
  // 28 bits of the low half fill four groups; its last 4 bits and the high half make the others.
  return 4 + varintSize(high * 16 + (low >>> 28));
}

/** Writes results into one buffer that grows. */
export class ResultWriter {
  #buf: Buffer = Buffer.allocUnsafeSlow(64 * 1024);
  #at = 0;

  /** The message of a result with its length before it: a view, valid until the next call. */
  delimited(result: Result): Uint8Array {
    const { packed } = result;
    let size = 4;
    for (let at = 0; at < packed.length; at += PACKED_CELL_HEADER + u32(packed, at)) {
      const cell = cellSize(packed, at);
      size += 1 + varintSize(cell) + cell;
    }
    if (this.#buf.length < size + 10) this.#buf = Buffer.allocUnsafeSlow(2 * size + 10);
    this.#at = 0;
    this.#varint(size);
    for (let at = 0; at < packed.length; at += PACKED_CELL_HEADER + u32(packed, at)) {
      this.#cell(packed, at);
    }
    this.#byte(TAG_STALE);
    this.#byte(0);
    this.#byte(TAG_PARTIAL);
    this.#byte(result.partial ? 1 : 0);
    return this.#buf.subarray(0, this.#at);
  }

  #cell(packed: Uint8Array, packedAt: number): void {
    const at = packedAt + PACKED_CELL_HEADER;
    const keyEnd = at + 8 + u32(packed, at);
    const rowLength = u16(packed, at + 8);
    const familyAt = at + 11 + rowLength;
    const familyLength = packed[familyAt - 1]!;
    const qualifierAt = familyAt + familyLength;
    const valueLength = u32(packed, at + 4);
    const tagsAt = keyEnd + valueLength + 2;
    const end = at + u32(packed, packedAt);
    this.#byte(TAG_CELL);
    this.#varint(cellSize(packed, packedAt));
    this.#bytes(CELL_ROW, packed, at + 10, rowLength);
    this.#bytes(CELL_FAMILY, packed, familyAt, familyLength);
    this.#bytes(CELL_QUALIFIER, packed, qualifierAt, keyEnd - 9 - qualifierAt);
    this.#byte(CELL_TIMESTAMP);
    this.#varint64(u32(packed, keyEnd - 9), u32(packed, keyEnd - 5));
    this.#byte(CELL_TYPE);
    this.#byte(packed[keyEnd - 1]!);
    this.#bytes(CELL_VALUE, packed, keyEnd, valueLength);
    if (end > tagsAt) this.#bytes(CELL_TAGS, packed, tagsAt, end - tagsAt);
  }

  #byte(value: number): void {
    this.#buf[this.#at++] = value;
  }

  #varint(value: number): void {
    let rest = value;
    for (; rest >= SEVEN_BITS; rest = Math.floor(rest / SEVEN_BITS)) {
      this.#buf[this.#at++] = (rest % SEVEN_BITS) | 0x80;
    }
    this.#buf[this.#at++] = rest;
  }

  #varint64(high: number, low: number): void {
    if (high === 0) return this.#varint(low);
    for (let i = 0; i < 4; i++) this.#byte(((low >>> (7 * i)) & 0x7f) | 0x80);
    this.#varint(high * 16 + (low >>> 28));
  }

  #bytes(tag: number, from: Uint8Array, at: number, length: number): void {
    this.#byte(tag);
    this.#varint(length);
    const buf = this.#buf;
    const to = this.#at;
    if (length <= LOOP_COPY_MAX) for (let i = 0; i < length; i++) buf[to + i] = from[at + i]!;
    else buf.set(from.subarray(at, at + length), to);
    this.#at = to + length;
  }
}

/** Bytes of the Cell message of a packed cell. Types are below 128: one byte. */
function cellSize(packed: Uint8Array, packedAt: number): number {
  const at = packedAt + PACKED_CELL_HEADER;
  const keyLength = u32(packed, at);
  const keyEnd = at + 8 + keyLength;
  const rowLength = u16(packed, at + 8);
  const familyLength = packed[at + 10 + rowLength]!;
  const qualifierLength = keyLength - 12 - rowLength - familyLength;
  const valueLength = u32(packed, at + 4);
  const tagsLength = Math.max(0, at + u32(packed, packedAt) - keyEnd - valueLength - 2);
  return (
    7 +
    varintSize(rowLength) +
    rowLength +
    varintSize(familyLength) +
    familyLength +
    varintSize(qualifierLength) +
    qualifierLength +
    varint64Size(u32(packed, keyEnd - 9), u32(packed, keyEnd - 5)) +
    varintSize(valueLength) +
    valueLength +
    (tagsLength === 0 ? 0 : 1 + varintSize(tagsLength) + tagsLength)
  );
}

/** The message is no Result; who reads the file adds where it lies. */
export class MessageFault extends Error {
  override readonly name = 'MessageFault';
}

/** A message under a reader: every length is checked. */
class Message {
  readonly buf: Uint8Array;
  at: number;
  readonly end: number;

  constructor(buf: Uint8Array, at: number, end: number) {
    this.buf = buf;
    this.at = at;
    this.end = end;
  }

  get more(): boolean {
    return this.at < this.end;
  }

  /** A number below 2^53. */
  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= SEVEN_BITS) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < SEVEN_BITS) return value;
      if (scale > 2 ** 46) throw new MessageFault('a number is too long');
    }
  }

  varint64(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < SEVEN_BITS) return BigInt.asUintN(64, value);
      if (shift > 63n) throw new MessageFault('a number is too long');
    }
  }

  bytes(): Uint8Array {
    const length = this.varint();
    if (length > this.end - this.at) throw new MessageFault('a field reaches past its message');
    this.at += length;
    return this.buf.subarray(this.at - length, this.at);
  }

  skip(wireType: number): void {
    if (wireType === 0) this.varint64();
    else if (wireType === 2) this.bytes();
    else if (wireType === 1) this.#move(8);
    else if (wireType === 5) this.#move(4);
    else throw new MessageFault(`wire type ${wireType} is unknown`);
  }

  #move(count: number): void {
    if (count > this.end - this.at) throw new MessageFault('a field reaches past its message');
    this.at += count;
  }

  #byte(): number {
    if (this.at >= this.end) throw new MessageFault('a message is cut off');
    return this.buf[this.at++]!;
  }
}

const NONE: Uint8Array = new Uint8Array(0);
const PUT = 4;

/** Gives each cell of a delimited Result as a KeyValue of its own. Throws MessageFault. */
export function readResult(buf: Uint8Array, take: (keyValue: Uint8Array) => void): void {
  const head = new Message(buf, 0, buf.length);
  const size = head.varint();
  if (size !== buf.length - head.at) throw new MessageFault('a Result has another length');
  const message = new Message(buf, head.at, buf.length);
  while (message.more) {
    const tag = message.varint();
    if (tag === TAG_CELL) take(readCell(message.bytes()));
    else message.skip(tag & 7);
  }
}

function readCell(bytes: Uint8Array): Uint8Array {
  const message = new Message(bytes, 0, bytes.length);
  const cell = { row: NONE, family: NONE, qualifier: NONE, value: NONE, tags: NONE };
  let timestamp = 0n;
  let type = PUT;
  while (message.more) {
    const tag = message.varint();
    if (tag === CELL_ROW) cell.row = message.bytes();
    else if (tag === CELL_FAMILY) cell.family = message.bytes();
    else if (tag === CELL_QUALIFIER) cell.qualifier = message.bytes();
    else if (tag === CELL_TIMESTAMP) timestamp = message.varint64();
    else if (tag === CELL_TYPE) type = message.varint();
    else if (tag === CELL_VALUE) cell.value = message.bytes();
    else if (tag === CELL_TAGS) cell.tags = message.bytes();
    else message.skip(tag & 7);
  }
  return keyValueOf({ ...cell, timestamp, type });
}

/** The parts of a cell as a KeyValue; lengths that no cell can have throw MessageFault. */
export function keyValueOf(cell: {
  readonly row: Uint8Array;
  readonly family: Uint8Array;
  readonly qualifier: Uint8Array;
  readonly timestamp: bigint;
  readonly type: number;
  readonly value: Uint8Array;
  readonly tags: Uint8Array;
}): Uint8Array {
  const { row, family, qualifier, value, tags, timestamp, type } = cell;
  if (row.length === 0 || row.length > 0x7fff)
    throw new MessageFault(`a row of ${row.length} bytes`);
  if (family.length > 127) throw new MessageFault(`a family of ${family.length} bytes`);
  if (tags.length > 0xffff) throw new MessageFault(`tags of ${tags.length} bytes`);
  if (timestamp >> 63n !== 0n) throw new MessageFault(`timestamp ${timestamp} is out of range`);
  if (type < 0 || type > 255) throw new MessageFault(`cell type ${type}`);
  const size = keyValueSize(row.length, family.length, qualifier.length, value.length, tags.length);
  const buf = Buffer.allocUnsafeSlow(size);
  writeKeyValue(buf, 0, {
    row,
    family,
    qualifier,
    value,
    tags,
    type,
    timestampHigh: Number(timestamp >> 32n),
    timestampLow: Number(timestamp & 0xffffffffn),
  });
  return buf;
}
