/**
 * MessagePack as the manifest uses it: one value a payload, nothing behind it, no maps, floats only for integers above 2^32,
 * no extension types. msgpack-lite writes it. Reading is done here: an open reads a thousand file records of 22 fields, and
 * msgpack-lite takes most of 0.1 ms for one; and nesting is bounded here.
 */
import msgpack from 'msgpack-lite';
import { u16, u32 } from '../cell/index.ts';

/** Lists in lists beyond this are not ours. */
const DEPTH_MAX = 16;

/** Encodes and decodes payloads. One a manifest: the codec object is mutable inside. */
export class Packer {
  readonly #codec: msgpack.Codec = msgpack.createCodec({ usemap: true });

  /** `value`: null, booleans, numbers, text, Buffers and arrays of them, as `Field#pack` gives them. */
  encode(value: unknown): Uint8Array {
    return msgpack.encode(value, { codec: this.#codec });
  }

  /** Throws an Error for what is not exactly one value of the kinds above; bytes in the result are copies. */
  decode(payload: Uint8Array): unknown {
    const reader = new Reader(payload);
    const value = reader.read(0);
    if (reader.at !== payload.length) throw new Error('bytes behind the value');
    return value;
  }
}

class Reader {
  at = 0;
  readonly #buf: Buffer;

  constructor(payload: Uint8Array) {
    this.#buf = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  }

  read(depth: number): unknown {
    const type = this.#buf[this.#take(1)]!;
    if (type <= 0x7f) return type;
    if (type >= 0xe0) return type - 0x100;
    if (type >= 0xa0 && type <= 0xbf) return this.#text(type & 0x1f);
    if (type >= 0x90 && type <= 0x9f) return this.#list(type & 0x0f, depth);
    switch (type) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
        return this.#bytes(this.#uint8());
      case 0xc5:
        return this.#bytes(this.#uint16());
      case 0xc6:
        return this.#bytes(this.#uint32());
      case 0xcb:
        return this.#buf.readDoubleBE(this.#take(8));
      case 0xcc:
        return this.#uint8();
      case 0xcd:
        return this.#uint16();
      case 0xce:
        return this.#uint32();
      case 0xd9:
        return this.#text(this.#uint8());
      case 0xda:
        return this.#text(this.#uint16());
      case 0xdb:
        return this.#text(this.#uint32());
      case 0xdc:
        return this.#list(this.#uint16(), depth);
      case 0xdd:
        return this.#list(this.#uint32(), depth);
      default:
        throw new Error(`type 0x${type.toString(16)} is not used`);
    }
  }

  /** Moves on by `length` bytes and gives where they start. */
  #take(length: number): number {
    const at = this.at;
    if (at + length > this.#buf.length) throw new Error('the value is cut short');
    this.at = at + length;
    return at;
  }

  #uint8(): number {
    return this.#buf[this.#take(1)]!;
  }

  #uint16(): number {
    return u16(this.#buf, this.#take(2));
  }

  #uint32(): number {
    return u32(this.#buf, this.#take(4));
  }

  #bytes(length: number): Buffer {
    const at = this.#take(length);
    return Buffer.from(this.#buf.subarray(at, at + length));
  }

  #text(length: number): string {
    const at = this.#take(length);
    return this.#buf.toString('utf8', at, at + length);
  }

  #list(length: number, depth: number): unknown[] {
    if (depth === DEPTH_MAX) throw new Error('lists are nested too deep');
    // Each element takes a byte at least: no memory is taken for a length that cannot be.
    if (length > this.#buf.length - this.at) throw new Error('the value is cut short');
    const values: unknown[] = [];
    for (let i = 0; i < length; i++) values.push(this.read(depth + 1));
    return values;
  }
}
