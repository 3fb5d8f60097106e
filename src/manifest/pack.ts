/** MessagePack as the manifest uses it: one value a payload, nothing behind it, no extension types. */
import msgpack from 'msgpack-lite';

/** Encodes and decodes payloads. One a manifest: the codec object is mutable inside. */
export class Packer {
  readonly #codec: msgpack.Codec = msgpack.createCodec({ usemap: true });

  /** `value`: null, booleans, numbers, text, Buffers and arrays of them, as `Field#pack` gives them. */
  encode(value: unknown): Uint8Array {
    return msgpack.encode(value, { codec: this.#codec });
  }

  /** Throws any Error for what is not exactly one value; bytes in the result are copies. */
  decode(payload: Uint8Array): unknown {
    const decoder = msgpack.Decoder({ codec: this.#codec });
    decoder.write(payload);
    const value: unknown = decoder.fetch();
    if (decoder.offset !== payload.length) throw new Error('bytes behind the value');
    return value;
  }
}
