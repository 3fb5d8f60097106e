/** Comparators from their specs. Everything throws IllegalArgumentException naming what is wrong. */
import {
  IllegalArgumentException,
  isCompareOperator,
  shown,
  toArgumentBytes,
} from '../model/index.ts';
import type { Bytes, CompareOperator, ComparatorSpec, RegexSpec } from '../model/index.ts';
import {
  BIT_AND,
  BIT_OR,
  BIT_XOR,
  BigDecimalComparator,
  BinaryComparator,
  BinaryComponentComparator,
  BinaryPrefixComparator,
  BitComparator,
  Comparison,
  LongComparator,
  NullComparator,
  SubstringComparator,
  readDecimal,
} from './comparators.ts';
import type { Comparator } from './comparators.ts';
import type { Meter } from './meter.ts';
import { compileRegex } from './regex/index.ts';
import { RegexStringComparator } from './regex_comparator.ts';
import { codePointsOf } from './text.ts';

/** java.util.regex.Pattern.DOTALL, HBase's default. */
const REGEX_FLAGS_DEFAULT = 32;
/** Java refuses exponents of text beyond int32; nobody writes out more digits than this. */
const DECIMAL_TEXT = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$/;
const DECIMAL_DIGITS_MAX = 2000;

/** Bytes of a spec, copied: the caller may change its own afterwards. */
export function ownBytes(value: Bytes, what: string): Uint8Array {
  return new Uint8Array(toArgumentBytes(value, what));
}

/** The test "part OP value" of a filter. */
export function comparisonOf(
  operator: CompareOperator,
  comparator: ComparatorSpec,
  meter: Meter,
): Comparison {
  if (!isCompareOperator(operator)) {
    throw new IllegalArgumentException(`Unknown compare operator ${shown(operator)}`);
  }
  return new Comparison(operator, comparatorOf(comparator, meter));
}

/** `meter` is told what regular expressions cost. */
export function comparatorOf(spec: ComparatorSpec, meter: Meter): Comparator {
  if (typeof spec !== 'object' || spec === null) {
    throw new IllegalArgumentException(`a comparator must be an object, not ${shown(spec)}`);
  }
  switch (spec.type) {
    case 'BinaryComparator':
      return new BinaryComparator(ownBytes(spec.value, 'value of a BinaryComparator'));
    case 'BinaryPrefixComparator':
      return new BinaryPrefixComparator(ownBytes(spec.value, 'value of a BinaryPrefixComparator'));
    case 'BinaryComponentComparator':
      return componentOf(spec.value, spec.offset);
    case 'BitComparator':
      return new BitComparator(
        ownBytes(spec.value, 'value of a BitComparator'),
        bitOperatorOf(spec.bitOperator),
      );
    case 'LongComparator':
      return new LongComparator(longOf(spec.value));
    case 'BigDecimalComparator':
      return decimalOf(spec.value);
    case 'NullComparator':
      return new NullComparator();
    case 'RegexStringComparator':
      return regexOf(spec, meter);
    case 'SubstringComparator':
      if (typeof spec.value !== 'string') {
        throw new IllegalArgumentException(
          `value of a SubstringComparator must be a string, not ${shown(spec.value)}`,
        );
      }
      return new SubstringComparator(spec.value);
    default:
      throw new IllegalArgumentException(
        `Unknown comparator ${shown((spec as { type?: unknown }).type)}`,
      );
  }
}

function componentOf(value: Bytes, offset: number): Comparator {
  if (!Number.isSafeInteger(offset) || offset < 0) {
    throw new IllegalArgumentException(
      `offset of a BinaryComponentComparator must be an integer from 0, not ${shown(offset)}`,
    );
  }
  return new BinaryComponentComparator(
    ownBytes(value, 'value of a BinaryComponentComparator'),
    offset,
  );
}

function bitOperatorOf(operator: string): number {
  switch (operator) {
    case 'AND':
      return BIT_AND;
    case 'OR':
      return BIT_OR;
    case 'XOR':
      return BIT_XOR;
    default:
      throw new IllegalArgumentException(
        `bitOperator must be AND, OR or XOR, not ${shown(operator)}`,
      );
  }
}

function longOf(value: bigint | number): bigint {
  const isNumber = typeof value === 'number' && Number.isSafeInteger(value);
  if (!isNumber && typeof value !== 'bigint') {
    throw new IllegalArgumentException(
      `value of a LongComparator must be a bigint or a safe integer, not ${shown(value)}`,
    );
  }
  const long = BigInt(value);
  if (long !== BigInt.asIntN(64, long)) {
    throw new IllegalArgumentException(`value ${long} of a LongComparator does not fit 64 bits`);
  }
  return long;
}

function decimalOf(value: Bytes): Comparator {
  if (typeof value !== 'string') {
    const bytes = toArgumentBytes(value, 'value of a BigDecimalComparator');
    const { unscaled, scale } = readDecimal(bytes, 0, bytes.length);
    return new BigDecimalComparator(unscaled, scale);
  }
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = DECIMAL_TEXT.exec(value) ?? [];
  const digits = whole + fraction;
  if (digits === '' || digits.length > DECIMAL_DIGITS_MAX) {
    throw new IllegalArgumentException(
      `value of a BigDecimalComparator must be a decimal number, not ${shown(value)}`,
    );
  }
  const unscaled = BigInt(digits) * (sign === '-' ? -1n : 1n);
  return new BigDecimalComparator(unscaled, fraction.length - Number(exponent));
}

function regexOf(spec: RegexSpec, meter: Meter): Comparator {
  const { pattern, flags = REGEX_FLAGS_DEFAULT, charset = 'UTF-8' } = spec;
  if (typeof pattern !== 'string' || !Number.isInteger(flags)) {
    throw new IllegalArgumentException(
      'a RegexStringComparator takes a pattern (string) and flags (integer)',
    );
  }
  return new RegexStringComparator(compileRegex(pattern, flags), codePointsOf(charset), meter);
}
