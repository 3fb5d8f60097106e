/** Comparators from the wire (Comparator.proto): `Comparator` { 1 class name · 2 its own message }. */
import { i64At } from './numbers.ts';
import { COMPARE_OPERATORS, DoNotRetryIOException } from '../model/index.ts';
import type { BitOperator, CompareOperator, ComparatorSpec } from '../model/index.ts';
import { ProtoReader } from './proto_reader.ts';

const PACKAGE = 'org.apache.hadoop.hbase.filter.';
const EMPTY: Uint8Array = new Uint8Array(0);

/** BitComparator.BitwiseOp, from 1. */
const BIT_OPERATORS: readonly BitOperator[] = ['AND', 'OR', 'XOR'];

/** Throws DoNotRetryIOException for a number that names no operator. */
export function compareOperatorOf(number: number): CompareOperator {
  const operator = COMPARE_OPERATORS[number];
  if (operator === undefined) throw new DoNotRetryIOException(`Unknown compare type ${number}`);
  return operator;
}

/** A name of HBase's package without it; other names as they are. */
export function simpleName(className: string): string {
  return className.startsWith(PACKAGE) ? className.slice(PACKAGE.length) : className;
}

/** Reads the Comparator that the reader has begun. Throws DoNotRetryIOException for a class that is not known. */
export function readComparator(reader: ProtoReader): ComparatorSpec {
  let className = '';
  let body = EMPTY;
  while (reader.next()) {
    if (reader.field === 1) className = reader.string();
    else if (reader.field === 2) body = reader.bytes();
    else reader.skip();
  }
  const fields = new ComparatorFields(body);
  const type = simpleName(className);
  switch (type) {
    case 'BinaryComparator':
    case 'BinaryPrefixComparator':
    case 'BigDecimalComparator':
      return { type, value: fields.comparable };
    case 'BinaryComponentComparator':
      return { type, value: fields.bytes, offset: fields.number };
    case 'BitComparator':
      return { type, value: fields.comparable, bitOperator: bitOperatorOf(fields.number) };
    case 'LongComparator':
      return { type, value: longOf(fields.comparable) };
    case 'NullComparator':
      return { type };
    case 'SubstringComparator':
      return { type, value: fields.text };
    case 'RegexStringComparator':
      return {
        type,
        pattern: fields.text,
        flags: fields.number,
        charset: fields.charset,
        ...(fields.engine === '' ? {} : { engine: fields.engine === 'JONI' ? 'JONI' : 'JAVA' }),
      };
    default:
      throw new DoNotRetryIOException(`java.lang.ClassNotFoundException: ${className}`);
  }
}

/**
 * The messages of all comparators at once: field 1 is a ByteArrayComparable { 1 value }, bytes or a string, field 2 a number,
 * 3 and 4 strings.
 */
class ComparatorFields {
  readonly bytes: Uint8Array;
  readonly number: number;
  readonly charset: string;
  readonly engine: string;

  constructor(body: Uint8Array) {
    let bytes = EMPTY;
    let number = 0;
    let charset = 'UTF-8';
    let engine = '';
    const reader = new ProtoReader(body);
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          bytes = reader.bytes();
          break;
        case 2:
          number = reader.int32();
          break;
        case 3:
          charset = reader.string();
          break;
        case 4:
          engine = reader.string();
          break;
        default:
          reader.skip();
      }
    }
    this.bytes = bytes;
    this.number = number;
    this.charset = charset;
    this.engine = engine;
  }

  get text(): string {
    return Buffer.from(this.bytes).toString('utf8');
  }

  get comparable(): Uint8Array {
    const reader = new ProtoReader(this.bytes);
    let value = EMPTY;
    while (reader.next()) {
      if (reader.field === 1) value = reader.bytes();
      else reader.skip();
    }
    return value;
  }
}

function bitOperatorOf(number: number): BitOperator {
  const operator = BIT_OPERATORS[number - 1];
  if (operator === undefined) throw new DoNotRetryIOException(`Unknown bit operator ${number}`);
  return operator;
}

function longOf(value: Uint8Array): bigint {
  if (value.length !== 8) {
    throw new DoNotRetryIOException(`A LongComparator has ${value.length} bytes, not 8`);
  }
  return i64At(value, 0);
}
