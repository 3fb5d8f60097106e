/**
 * Protobuf messages (proto2) read and written field by field. What administration sends is small and seldom, so its
 * messages need no classes: who handles one knows its field numbers (protocol/messages).
 *
 *     field    varint (number << 3 | wire type), then by wire type
 *       0      varint: bool, enum, int32, int64, uint32, uint64 (64 bits, two's complement)
 *       1      8 bytes, little-endian: double, fixed64
 *       2      varint length, then bytes: bytes, string (UTF-8), message
 *       5      4 bytes, little-endian: float, fixed32
 * Fields that are not asked for are passed over. A message cut short or with another wire type is DoNotRetryIOException.
 */
import { DoNotRetryIOException } from '../../model/index.ts';

const VARINT = 0;
const FIXED_64 = 1;
const DELIMITED = 2;
const FIXED_32 = 5;
const VARINT_BYTES_MAX = 10;
const U64 = (1n << 64n) - 1n;
const SMALL_MAX = 0x7fffffff;

/** The fields of a message. Bytes handed out are views of the message. */
export class Fields {
  readonly #values = new Map<number, (bigint | Uint8Array)[]>();

  /** Throws DoNotRetryIOException for bytes that are no message. */
  constructor(message: Uint8Array) {
    const cursor = new Cursor(message);
    while (!cursor.isAtEnd) {
      const key = Number(cursor.varint());
      const value = cursor.value(key & 7);
      const kept = this.#values.get(key >>> 3);
      if (kept === undefined) this.#values.set(key >>> 3, [value]);
      else kept.push(value);
    }
  }

  has(number: number): boolean {
    return this.#values.has(number);
  }

  /** The last value of a field, as protobuf has it; null if absent. */
  bytes(number: number): Uint8Array | null {
    return bytesOf(number, this.#values.get(number)?.at(-1));
  }

  allBytes(number: number): Uint8Array[] {
    return (this.#values.get(number) ?? []).map((value) => bytesOf(number, value)!);
  }

  /** Throws DoNotRetryIOException when a required field is absent. */
  required(number: number, name: string): Uint8Array {
    const value = this.bytes(number);
    if (value === null) {
      throw new DoNotRetryIOException(`Message missing required fields: ${name}`);
    }
    return value;
  }

  text(number: number): string | null {
    const value = this.bytes(number);
    return value === null ? null : Buffer.from(value).toString('utf8');
  }

  message(number: number): Fields | null {
    const value = this.bytes(number);
    return value === null ? null : new Fields(value);
  }

  messages(number: number): Fields[] {
    return this.allBytes(number).map((value) => new Fields(value));
  }

  bool(number: number, absent: boolean): boolean {
    const value = this.big(number);
    return value === null ? absent : value !== 0n;
  }

  /** As an unsigned 64-bit number; null if absent. */
  big(number: number): bigint | null {
    const value = this.#values.get(number)?.at(-1);
    if (value === undefined) return null;
    if (typeof value !== 'bigint') throw malformed(`field ${number} is no number`);
    return value;
  }

  /** An int32, int64 or enum; numbers beyond 53 bits are rounded. */
  int(number: number, absent: number): number {
    const value = this.big(number);
    return value === null ? absent : Number(BigInt.asIntN(64, value));
  }

  /** A repeated enum or int, packed or not. */
  ints(number: number): number[] {
    return (this.#values.get(number) ?? []).flatMap((value) => {
      if (typeof value === 'bigint') return [Number(BigInt.asIntN(64, value))];
      const cursor = new Cursor(value);
      const packed: number[] = [];
      while (!cursor.isAtEnd) packed.push(Number(BigInt.asIntN(64, cursor.varint())));
      return packed;
    });
  }
}

function bytesOf(number: number, value: bigint | Uint8Array | undefined): Uint8Array | null {
  if (value === undefined) return null;
  if (typeof value === 'bigint') throw malformed(`field ${number} is no bytes`);
  return value;
}

function malformed(what: string): DoNotRetryIOException {
  return new DoNotRetryIOException(`A protobuf message is malformed: ${what}`);
}

/** Walks over a message. */
class Cursor {
  readonly #buf: Uint8Array;
  #at = 0;

  constructor(buf: Uint8Array) {
    this.#buf = buf;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#buf.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const byte = this.#buf[this.#at++];
      if (byte === undefined) throw malformed('it is cut short');
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return value & U64;
    }
    throw malformed('a number has more than 10 bytes');
  }

  value(wireType: number): bigint | Uint8Array {
    switch (wireType) {
      case VARINT:
        return this.varint();
      case FIXED_64:
        return Buffer.from(this.#take(8)).readBigUInt64LE();
      case DELIMITED:
        return this.#take(Number(this.varint()));
      case FIXED_32:
        return BigInt(Buffer.from(this.#take(4)).readUInt32LE());
      default:
        throw malformed(`wire type ${wireType}`);
    }
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#buf.length) throw malformed('it is cut short');
    const taken = this.#buf.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

/** Writes a message; fields in the order of the calls. Null and undefined leave a field out. */
export class MessageWriter {
  readonly #parts: Uint8Array[] = [];

  bytes(number: number, value: Uint8Array | null | undefined): this {
    if (value === null || value === undefined) return this;
    this.#parts.push(smallVarint(number * 8 + DELIMITED), smallVarint(value.length), value);
    return this;
  }

  allBytes(number: number, values: Iterable<Uint8Array>): this {
    for (const value of values) this.bytes(number, value);
    return this;
  }

  text(number: number, value: string | null | undefined): this {
    if (value === null || value === undefined) return this;
    return this.bytes(number, Buffer.from(value, 'utf8'));
  }

  texts(number: number, values: Iterable<string>): this {
    for (const value of values) this.text(number, value);
    return this;
  }

  bool(number: number, value: boolean | null | undefined): this {
    if (value === null || value === undefined) return this;
    return this.int(number, value ? 1 : 0);
  }

  /** Also int64, uint64 and enum; a negative number takes ten bytes. */
  int(number: number, value: number | bigint | null | undefined): this {
    if (value === null || value === undefined) return this;
    const isSmall = typeof value === 'number' && value >= 0 && value <= SMALL_MAX;
    const bytes = isSmall ? smallVarint(value) : varint(BigInt(value) & U64);
    this.#parts.push(smallVarint(number * 8), bytes);
    return this;
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts);
  }
}

/** Of a number that is an int32. */
function smallVarint(value: number): Uint8Array {
  if (value < 0x80) return Uint8Array.of(value);
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

/** A message without fields. */
export const EMPTY_MESSAGE: Uint8Array = new Uint8Array(0);
