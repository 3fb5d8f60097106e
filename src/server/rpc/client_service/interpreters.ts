/**
 * HBase's column interpreters (org.apache.hadoop.hbase.client.coprocessor): how the bytes of a cell are a number.
 *
 *     LongColumnInterpreter        8 bytes, two's complement     LongMsg { 1 int64 }
 *     DoubleColumnInterpreter      8 bytes, IEEE                 DoubleMsg { 1 double }
 *     BigDecimalColumnInterpreter  int32 scale, unscaled value   BigDecimalMsg { 1 bytes }
 */
import { ProtoWriter } from '../../../wire/index.ts';

export interface Interpreter<T> {
  readonly zero: T;
  /** Null for bytes that are no such number. */
  value(bytes: Uint8Array): T | null;
  plus(a: T, b: T): T;
  times(a: T, b: T): T;
  compare(a: T, b: T): number;
  /** The message of a cell's number, and that of a sum. */
  cell(value: T): Uint8Array;
  promoted(value: T): Uint8Array;
}

const PACKAGE = 'org.apache.hadoop.hbase.client.coprocessor.';

interface Decimal {
  readonly unscaled: bigint;
  readonly scale: number;
}

/** Calls `use` with the interpreter of the class; null for a class that is not known. */
export function withInterpreter<R>(
  className: string,
  use: <T>(interpreter: Interpreter<T>) => R,
): R | null {
  switch (className.startsWith(PACKAGE) ? className.slice(PACKAGE.length) : '') {
    case 'LongColumnInterpreter':
      return use(LONG);
    case 'DoubleColumnInterpreter':
      return use(DOUBLE);
    case 'BigDecimalColumnInterpreter':
      return use(DECIMAL);
    default:
      return null;
  }
}

const LONG: Interpreter<bigint> = {
  zero: 0n,
  value: (bytes) => (bytes.length === 8 ? Buffer.from(bytes).readBigInt64BE() : null),
  plus: (a, b) => BigInt.asIntN(64, a + b),
  times: (a, b) => BigInt.asIntN(64, a * b),
  compare: (a, b) => (a < b ? -1 : a > b ? 1 : 0),
  cell: longMessage,
  promoted: longMessage,
};

function longMessage(value: bigint): Uint8Array {
  const writer = new ProtoWriter(16);
  writer.bigint(1, value);
  return writer.take();
}

const DOUBLE: Interpreter<number> = {
  zero: 0,
  value: (bytes) => (bytes.length === 8 ? Buffer.from(bytes).readDoubleBE() : null),
  plus: (a, b) => a + b,
  times: (a, b) => a * b,
  compare: (a, b) => a - b,
  cell: doubleMessage,
  promoted: doubleMessage,
};

function doubleMessage(value: number): Uint8Array {
  const writer = new ProtoWriter(16);
  writer.double(1, value);
  return writer.take();
}

const DECIMAL: Interpreter<Decimal> = {
  zero: { unscaled: 0n, scale: 0 },
  value: decimalOf,
  plus: (a, b) => {
    const scale = Math.max(a.scale, b.scale);
    return { unscaled: unscaledAt(a, scale) + unscaledAt(b, scale), scale };
  },
  times: (a, b) => ({ unscaled: a.unscaled * b.unscaled, scale: a.scale + b.scale }),
  compare: (a, b) => {
    const scale = Math.max(a.scale, b.scale);
    return LONG.compare(unscaledAt(a, scale), unscaledAt(b, scale));
  },
  cell: decimalMessage,
  promoted: decimalMessage,
};

/** Scales beyond this are refused: nobody writes out so many digits. */
const SCALE_MAX = 10_000;

function decimalOf(bytes: Uint8Array): Decimal | null {
  if (bytes.length < 5) return null;
  const buf = Buffer.from(bytes);
  const scale = buf.readInt32BE();
  if (Math.abs(scale) > SCALE_MAX) return null;
  const digits = buf.subarray(4);
  const unsigned = BigInt(`0x${digits.toString('hex')}`);
  return { unscaled: BigInt.asIntN(digits.length * 8, unsigned), scale };
}

function unscaledAt({ unscaled, scale }: Decimal, wanted: number): bigint {
  return unscaled * 10n ** BigInt(wanted - scale);
}

function decimalMessage({ unscaled, scale }: Decimal): Uint8Array {
  let length = 1;
  while (BigInt.asIntN(length * 8, unscaled) !== unscaled) length++;
  const bytes = Buffer.alloc(4 + length);
  bytes.writeInt32BE(scale);
  let rest = BigInt.asUintN(length * 8, unscaled);
  for (let i = length - 1; i >= 0; i--, rest >>= 8n) bytes[4 + i] = Number(rest & 0xffn);
  const writer = new ProtoWriter(16 + bytes.length);
  writer.bytes(1, bytes);
  return writer.take();
}
