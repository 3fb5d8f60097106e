/**
 * Reads protobuf messages (proto2) where they lie, field by field, without making objects:
 *
 *     tag     varint: field number « 3 | wire type
 *     type 0  varint, up to 10 bytes, 7 bits each, least first
 *     type 1  8 bytes, little-endian
 *     type 2  varint length, then that many bytes
 *     type 5  4 bytes, little-endian
 *
 *     reader.begin(buf, from, to);
 *     while (reader.next()) {
 *       switch (reader.field) {
 *         case 1: row = reader.bytes(); break;
 *         default: reader.skip();
 *       }
 *     }
 *
 * Each field's value is read or skipped exactly once. Everything is bounded by `to`; what does not fit throws
 * MalformedMessageException.
 */
import { MalformedMessageException } from './errors.ts';

export const WIRE_VARINT = 0;
export const WIRE_FIXED64 = 1;
export const WIRE_BYTES = 2;
export const WIRE_FIXED32 = 5;

const EMPTY: Uint8Array = new Uint8Array(0);

export class ProtoReader {
  buf: Uint8Array = EMPTY;
  at = 0;
  end = 0;
  /** Of the field that `next` has come to. */
  field = 0;
  wireType = 0;
  /** Of the last 64-bit number read: its halves, unsigned. */
  high = 0;
  low = 0;

  constructor(buf?: Uint8Array, from = 0, to: number = buf?.length ?? 0) {
    if (buf !== undefined) this.begin(buf, from, to);
  }

  /** Begins a message in `buf[from, to)`. */
  begin(buf: Uint8Array, from: number, to: number): void {
    this.buf = buf;
    this.at = from;
    this.end = to;
  }

  /** Comes to the next field; false at the end of the message. */
  next(): boolean {
    if (this.at >= this.end) return false;
    const tag = this.uint32Bare();
    this.field = tag >>> 3;
    this.wireType = tag & 7;
    if (this.field === 0) this.#fail('a field has number 0');
    return true;
  }

  /** Passes over the value. */
  skip(): void {
    switch (this.wireType) {
      case WIRE_VARINT:
        this.#varint();
        return;
      case WIRE_FIXED64:
        this.#pass(8);
        return;
      case WIRE_BYTES:
        this.#pass(this.uint32Bare());
        return;
      case WIRE_FIXED32:
        this.#pass(4);
        return;
      default:
        this.#fail(`wire type ${this.wireType} is unknown`);
    }
  }

  /** The low 32 bits of a varint, unsigned. */
  uint32(): number {
    this.#expect(WIRE_VARINT);
    return this.uint32Bare();
  }

  int32(): number {
    return this.uint32() | 0;
  }

  bool(): boolean {
    this.#expect(WIRE_VARINT);
    this.#varint();
    return this.low !== 0 || this.high !== 0;
  }

  /** A 64-bit varint into `high` and `low`. */
  uint64(): void {
    this.#expect(WIRE_VARINT);
    this.#varint();
  }

  /** A 64-bit varint that counts something: exact up to 2^53. */
  count(): number {
    this.uint64();
    return this.high * 0x100000000 + this.low;
  }

  /** A 64-bit varint, unsigned. */
  bigUint64(): bigint {
    this.uint64();
    return (BigInt(this.high) << 32n) | BigInt(this.low);
  }

  float(): number {
    this.#expect(WIRE_FIXED32);
    const at = this.at;
    this.#pass(4);
    return viewOf(this.buf).getFloat32(at, true);
  }

  double(): number {
    this.#expect(WIRE_FIXED64);
    const at = this.at;
    this.#pass(8);
    return viewOf(this.buf).getFloat64(at, true);
  }

  /** A view of the bytes: no copy. */
  bytes(): Uint8Array {
    const end = this.enter();
    const { buf, at } = this;
    this.at = end;
    // Not by `subarray`: a Buffer's takes twice as long.
    return new Uint8Array(buf.buffer, buf.byteOffset + at, end - at);
  }

  /** A copy of the bytes, for who keeps them. */
  ownBytes(): Uint8Array {
    return new Uint8Array(this.bytes());
  }

  string(): string {
    const end = this.enter();
    const text = Buffer.from(this.buf.buffer, this.buf.byteOffset, this.buf.length).toString(
      'utf8',
      this.at,
      end,
    );
    this.at = end;
    return text;
  }

  /** Stands before the bytes of a length-delimited field and gives their end; the caller moves `at` there. */
  enter(): number {
    this.#expect(WIRE_BYTES);
    const length = this.uint32Bare();
    if (length > this.end - this.at) this.#fail(`a field of ${length} bytes reaches past the end`);
    return this.at + length;
  }

  /** A reader for the message in this field; this one goes on behind it. */
  message(): ProtoReader {
    const end = this.enter();
    const reader = new ProtoReader(this.buf, this.at, end);
    this.at = end;
    return reader;
  }

  /** A varint that is no field, e.g. the length before a message. */
  uint32Bare(): number {
    const { buf } = this;
    if (this.at < this.end && buf[this.at]! < 0x80) return buf[this.at++]!;
    this.#varint();
    return this.low;
  }

  /** As `uint64`, of a varint that is no field: one of a packed list. */
  uint64Bare(): void {
    this.#varint();
  }

  #varint(): void {
    const { buf, end } = this;
    let at = this.at;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (at >= end) this.#fail('a number reaches past the end');
      const byte = buf[at++]!;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else if (shift < 63) high |= bits << (shift - 32);
      else high |= bits << 31;
      if (byte < 0x80) {
        this.at = at;
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    this.#fail('a number has more than 10 bytes');
  }

  #expect(wireType: number): void {
    if (this.wireType !== wireType) {
      this.#fail(`field ${this.field} has wire type ${this.wireType}, not ${wireType}`);
    }
  }

  #pass(length: number): void {
    if (length > this.end - this.at) this.#fail(`a field of ${length} bytes reaches past the end`);
    this.at += length;
  }

  #fail(what: string): never {
    throw new MalformedMessageException(`Malformed message: ${what} (at byte ${this.at})`);
  }
}

function viewOf(buf: Uint8Array): DataView {
  return new DataView(buf.buffer, buf.byteOffset, buf.length);
}
