/**
 * Fields of manifest records: how a value of one type becomes a MessagePack value and comes back. MessagePack as
 * msgpack-lite writes it loses -0, undefined, functions, lone surrogates and integers above 2^53 without a word, so every
 * value is checked on both sides of the disk: `pack` asserts (our own code made the value), `unpack` throws
 * `FieldMismatch` (the bytes came from outside).
 */
import { invariant } from '../io/index.ts';

/** A decoded value is not of the field's type. The journal wraps it into a CorruptionException with file and offset. */
export class FieldMismatch extends Error {
  override readonly name = 'FieldMismatch';
}

/** A record holds more fields than this program knows: a newer program wrote it. */
export class UnknownFields extends Error {
  override readonly name = 'UnknownFields';
}

/** One field. `missing` stands for a field that older records do not have. */
export interface Field<T> {
  pack(value: T): unknown;
  unpack(raw: unknown): T;
  readonly missing?: { readonly value: T };
}

function mismatch(wanted: string, raw: unknown): FieldMismatch {
  return new FieldMismatch(`${wanted} expected, found ${raw === null ? 'null' : typeof raw}`);
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && !Object.is(value, -0);

/** An integer from 0 to 2^53 - 1. */
export const count: Field<number> = {
  pack(value) {
    invariant(isCount(value), 'a count is an integer from 0 to 2^53 - 1', value);
    return value;
  },
  unpack(raw) {
    if (!isCount(raw)) throw mismatch('integer from 0 to 2^53 - 1', raw);
    return raw;
  },
};

/** An integer from 0 to 2^64 - 1: on disk 8 bytes, big-endian, in a bin. */
export const u64: Field<bigint> = {
  pack(value) {
    invariant(
      typeof value === 'bigint' && BigInt.asUintN(64, value) === value,
      '64 bits, unsigned',
    );
    const buf = Buffer.allocUnsafe(8);
    buf.writeBigUInt64BE(value);
    return buf;
  },
  unpack(raw) {
    if (!Buffer.isBuffer(raw) || raw.length !== 8) throw mismatch('8 bytes', raw);
    return raw.readBigUInt64BE();
  },
};

export const flag: Field<boolean> = {
  pack(value) {
    invariant(typeof value === 'boolean', 'a flag is true or false');
    return value;
  },
  unpack(raw) {
    if (typeof raw !== 'boolean') throw mismatch('boolean', raw);
    return raw;
  },
};

const LONE_SURROGATE = /[\uD800-\uDFFF]/u;

/** Unicode text without lone surrogates. */
export const text: Field<string> = {
  pack(value) {
    invariant(typeof value === 'string' && !LONE_SURROGATE.test(value), 'text is well-formed');
    return value;
  },
  unpack(raw) {
    if (typeof raw !== 'string') throw mismatch('text', raw);
    return raw;
  },
};

/** Bytes. The decoded ones belong to the record; a packed value is copied when it is encoded. */
export const bytes: Field<Uint8Array> = {
  pack(value) {
    invariant(value instanceof Uint8Array, 'bytes are a Uint8Array');
    if (Buffer.isBuffer(value)) return value;
    // A plain Uint8Array would be written as something else (msgpack-lite).
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  },
  unpack(raw) {
    if (!Buffer.isBuffer(raw)) throw mismatch('bytes', raw);
    return raw;
  },
};

/** One of a few words. The words are on disk. */
export function oneOf<T extends string>(...words: readonly T[]): Field<T> {
  const known = (value: unknown): value is T => words.some((word) => word === value);
  return {
    pack(value) {
      invariant(known(value), `one of ${words.join(', ')} expected`, value);
      return value;
    },
    unpack(raw) {
      if (!known(raw)) throw mismatch(words.join(' or '), raw);
      return raw;
    },
  };
}

export function nullable<T>(field: Field<T>): Field<T | null> {
  return {
    pack: (value) => (value === null ? null : field.pack(value)),
    unpack: (raw) => (raw === null ? null : field.unpack(raw)),
  };
}

export function list<T>(field: Field<T>): Field<readonly T[]> {
  return {
    pack: (values) => values.map((value) => field.pack(value)),
    unpack(raw) {
      if (!Array.isArray(raw)) throw mismatch('list', raw);
      return raw.map((value) => field.unpack(value));
    },
  };
}

/** An object with text keys, kept as a list of [key, value] in the object's order. */
export function dictionary<T>(field: Field<T>): Field<Readonly<Record<string, T>>> {
  const pairs = list<readonly [string, T]>({
    pack: ([key, value]) => [text.pack(key), field.pack(value)],
    unpack(raw) {
      if (!Array.isArray(raw) || raw.length !== 2) throw mismatch('pair', raw);
      return [text.unpack(raw[0]), field.unpack(raw[1])];
    },
  });
  return {
    pack: (value) => pairs.pack(Object.entries(value)),
    // `fromEntries` defines own properties, so that a key `__proto__` is harmless.
    unpack: (raw) => Object.fromEntries(pairs.unpack(raw)),
  };
}

/** A field that older records lack: it reads as `value` there. Only at the end of a struct. */
export function added<T>(field: Field<T>, value: T): Field<T> {
  return { ...field, missing: { value } };
}

/**
 * An object as a list of its fields' values, in the order in which they are written here: that order is on disk. New
 * fields go to the end, `added`; fields are never removed.
 */
export function struct<T extends object>(fields: {
  readonly [K in keyof T]-?: Field<T[K]>;
}): Field<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  return {
    pack: (value) => names.map((name) => fields[name].pack(value[name])),
    unpack(raw) {
      if (!Array.isArray(raw)) throw mismatch('record', raw);
      if (raw.length > names.length) {
        throw new UnknownFields(`${raw.length} fields, ${names.length} known`);
      }
      const result: Partial<T> = {};
      for (const [i, name] of names.entries()) {
        result[name] = unpackField(fields[name], name, raw, i);
      }
      return result as T;
    },
  };
}

function unpackField<T>(field: Field<T>, name: string, raw: readonly unknown[], at: number): T {
  if (at >= raw.length) {
    if (field.missing === undefined) throw new FieldMismatch(`field ${name} is missing`);
    return field.missing.value;
  }
  try {
    return field.unpack(raw[at]);
  } catch (error) {
    if (!(error instanceof FieldMismatch)) throw error;
    throw new FieldMismatch(`${name}: ${error.message}`);
  }
}
