/**
 * Writes protobuf messages (proto2; wire format: proto_reader.ts) into one growing buffer. Fields are written in the order of
 * the calls. A message within another is written in place: `begin` leaves a byte for its length, `end` fills it in and
 * moves the content only when the length needs more.
 */
import { invariant } from '../io/index.ts';
import { WIRE_BYTES, WIRE_FIXED64, WIRE_VARINT } from './proto_reader.ts';

const INITIAL_SIZE = 256;

export class ProtoWriter {
  buf: Buffer;
  /** Bytes written. */
  at = 0;

  constructor(size: number = INITIAL_SIZE) {
    this.buf = Buffer.allocUnsafe(size);
  }

  /** The message written: a view of the writer's buffer, the caller's once nothing more is written. */
  take(): Uint8Array {
    return this.buf.subarray(0, this.at);
  }

  /** Makes room for `length` more bytes. */
  reserve(length: number): void {
    const need = this.at + length;
    if (need <= this.buf.length) return;
    const grown = Buffer.allocUnsafe(Math.max(need, this.buf.length * 2));
    this.buf.copy(grown, 0, 0, this.at);
    this.buf = grown;
  }

  /** An unsigned number up to 2^32-1; an enum. */
  uint32(field: number, value: number): void {
    this.reserve(10);
    this.#bare((field << 3) | WIRE_VARINT);
    this.#bare(value);
  }

  /** A signed number; a negative one takes 10 bytes. */
  int32(field: number, value: number): void {
    if (value >= 0) this.uint32(field, value);
    else this.uint64(field, 0xffffffff, value >>> 0);
  }

  bool(field: number, value: boolean): void {
    this.uint32(field, value ? 1 : 0);
  }

  /** A 64-bit number in halves. */
  uint64(field: number, high: number, low: number): void {
    this.reserve(15);
    this.#bare((field << 3) | WIRE_VARINT);
    let h = high >>> 0;
    let l = low >>> 0;
    while (h !== 0) {
      this.buf[this.at++] = (l & 0x7f) | 0x80;
      l = ((l >>> 7) | (h << 25)) >>> 0;
      h >>>= 7;
    }
    this.#bare(l);
  }

  /** A non-negative number up to 2^53. */
  count(field: number, value: number): void {
    this.uint64(field, Math.floor(value / 0x100000000), value >>> 0);
  }

  bigint(field: number, value: bigint): void {
    const bits = BigInt.asUintN(64, value);
    this.uint64(field, Number(bits >> 32n), Number(bits & 0xffffffffn));
  }

  double(field: number, value: number): void {
    this.reserve(13);
    this.#bare((field << 3) | WIRE_FIXED64);
    this.at = this.buf.writeDoubleLE(value, this.at);
  }

  bytes(field: number, value: Uint8Array): void {
    this.bytesOf(field, value, 0, value.length);
  }

  /** The bytes `value[from, to)`. */
  bytesOf(field: number, value: Uint8Array, from: number, to: number): void {
    const length = to - from;
    this.reserve(10 + length);
    this.#bare((field << 3) | WIRE_BYTES);
    this.#bare(length);
    const { buf, at } = this;
    if (length >= 40)
      buf.set(from === 0 && to === value.length ? value : value.subarray(from, to), at);
    else for (let i = 0; i < length; i++) buf[at + i] = value[from + i]!;
    this.at = at + length;
  }

  string(field: number, value: string): void {
    const length = Buffer.byteLength(value, 'utf8');
    this.reserve(10 + length);
    this.#bare((field << 3) | WIRE_BYTES);
    this.#bare(length);
    this.at += this.buf.write(value, this.at, 'utf8');
  }

  /** Begins the message of a field and gives a mark for `end`. */
  begin(field: number): number {
    this.reserve(6);
    this.#bare((field << 3) | WIRE_BYTES);
    return this.at++;
  }

  /** Ends the message begun at `mark`. */
  end(mark: number): void {
    const length = this.at - mark - 1;
    invariant(length >= 0, 'a message ends after it began', mark, this.at);
    if (length < 0x80) {
      this.buf[mark] = length;
      return;
    }
    let extra = 0;
    for (let rest = length >>> 7; rest !== 0; rest >>>= 7) extra++;
    this.reserve(extra);
    this.buf.copyWithin(mark + 1 + extra, mark + 1, this.at);
    const end = this.at + extra;
    this.at = mark;
    this.#bare(length);
    this.at = end;
  }

  /** An empty message. */
  empty(field: number): void {
    this.end(this.begin(field));
  }

  /** Bytes as they are, e.g. of a message written before. */
  raw(value: Uint8Array): void {
    this.reserve(value.length);
    this.buf.set(value, this.at);
    this.at += value.length;
  }

  /** A varint without field number, e.g. the length before a message. */
  uint32Bare(value: number): void {
    this.reserve(5);
    this.#bare(value);
  }

  /** A varint; there is room for it. */
  #bare(value: number): void {
    const { buf } = this;
    let rest = value >>> 0;
    while (rest >= 0x80) {
      buf[this.at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buf[this.at++] = rest;
  }
}
