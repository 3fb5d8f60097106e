/** The filters of the filter language, from their arguments. HBase: each class's createFilterFromArguments. */
import { IllegalArgumentException, shown } from '../model/index.ts';
import type {
  ColumnValueFilterSpec,
  CompareOperator,
  ComparatorSpec,
  FilterSpec,
} from '../model/index.ts';

/** One argument: what stood in quotes, or the bare word. */
export interface LanguageArgument {
  readonly bytes: Uint8Array;
  readonly isQuoted: boolean;
  readonly at: number;
}

type Arguments = readonly LanguageArgument[];

/** Filters that the language knows; the others are for programs only. */
export const LANGUAGE_FILTERS: ReadonlySet<string> = new Set([
  'KeyOnlyFilter',
  'FirstKeyOnlyFilter',
  'PrefixFilter',
  'ColumnPrefixFilter',
  'MultipleColumnPrefixFilter',
  'ColumnCountGetFilter',
  'PageFilter',
  'ColumnPaginationFilter',
  'InclusiveStopFilter',
  'TimestampsFilter',
  'RowFilter',
  'FamilyFilter',
  'QualifierFilter',
  'ValueFilter',
  'ColumnRangeFilter',
  'SingleColumnValueFilter',
  'SingleColumnValueExcludeFilter',
  'DependentColumnFilter',
  'ColumnValueFilter',
]);

const OPERATORS: ReadonlyMap<string, CompareOperator> = new Map([
  ['<', 'LESS'],
  ['<=', 'LESS_OR_EQUAL'],
  ['=', 'EQUAL'],
  ['!=', 'NOT_EQUAL'],
  ['>', 'GREATER'],
  ['>=', 'GREATER_OR_EQUAL'],
]);

/** Pattern's DOTALL and CASE_INSENSITIVE, which `regexstringnocase` stands for. */
const NO_CASE_FLAGS = 34;
const LONG_MAX = 0x7fffffffffffffffn;
const INT_MAX = 0x7fffffffn;

/** `name` is one of LANGUAGE_FILTERS. Throws IllegalArgumentException that says what is wrong with the arguments. */
export function specFromArguments(name: string, args: Arguments): FilterSpec {
  switch (name) {
    case 'KeyOnlyFilter':
    case 'FirstKeyOnlyFilter':
      requireCount(args, [0]);
      return { type: name };
    case 'PrefixFilter':
    case 'ColumnPrefixFilter':
      requireCount(args, [1]);
      return { type: name, prefix: stringAt(args, 0) };
    case 'MultipleColumnPrefixFilter':
      return { type: name, prefixes: args.map((_, index) => stringAt(args, index)) };
    case 'ColumnCountGetFilter':
      requireCount(args, [1]);
      return { type: name, limit: positiveIntAt(args, 0) };
    case 'PageFilter':
      requireCount(args, [1]);
      return { type: name, pageSize: positiveLongAt(args, 0) };
    case 'ColumnPaginationFilter':
      requireCount(args, [2]);
      return { type: name, limit: positiveIntAt(args, 0), offset: positiveIntAt(args, 1) };
    case 'InclusiveStopFilter':
      requireCount(args, [1]);
      return { type: name, stopRow: stringAt(args, 0) };
    case 'TimestampsFilter':
      return { type: name, timestamps: args.map((_, index) => positiveLongAt(args, index)) };
    case 'RowFilter':
    case 'FamilyFilter':
    case 'QualifierFilter':
    case 'ValueFilter':
      requireCount(args, [2]);
      return { type: name, ...comparisonAt(args, 0) };
    case 'ColumnRangeFilter':
      return columnRange(args);
    case 'SingleColumnValueFilter':
    case 'SingleColumnValueExcludeFilter':
      return singleColumnValue(name, args);
    case 'DependentColumnFilter':
      return dependentColumn(args);
    case 'ColumnValueFilter':
      requireCount(args, [4]);
      return columnValue(args);
    default:
      throw new IllegalArgumentException(`Filter Name ${name} not supported`);
  }
}

function columnRange(args: Arguments): FilterSpec {
  requireCount(args, [4]);
  const min = stringAt(args, 0);
  const max = stringAt(args, 2);
  return {
    type: 'ColumnRangeFilter',
    min: min.length === 0 ? null : min,
    minInclusive: booleanAt(args, 1),
    max: max.length === 0 ? null : max,
    maxInclusive: booleanAt(args, 3),
  };
}

function columnValue(args: Arguments): ColumnValueFilterSpec {
  return {
    type: 'ColumnValueFilter',
    family: stringAt(args, 0),
    qualifier: stringAt(args, 1),
    ...comparisonAt(args, 2),
  };
}

function singleColumnValue(
  type: 'SingleColumnValueFilter' | 'SingleColumnValueExcludeFilter',
  args: Arguments,
): FilterSpec {
  requireCount(args, [4, 6]);
  return {
    ...columnValue(args),
    type,
    ...(args.length === 4
      ? {}
      : { filterIfMissing: booleanAt(args, 4), latestVersionOnly: booleanAt(args, 5) }),
  };
}

function dependentColumn(args: Arguments): FilterSpec {
  requireCount(args, [2, 3, 5]);
  return {
    type: 'DependentColumnFilter',
    family: stringAt(args, 0),
    qualifier: stringAt(args, 1),
    ...(args.length > 2 ? { dropDependentColumn: booleanAt(args, 2) } : {}),
    ...(args.length > 3
      ? { operator: operatorAt(args, 3), comparator: comparatorFrom(stringAt(args, 4)) }
      : {}),
  };
}

function comparisonAt(
  args: Arguments,
  index: number,
): { operator: CompareOperator; comparator: ComparatorSpec } {
  const operator = operatorAt(args, index);
  const comparator = comparatorFrom(stringAt(args, index + 1));
  const isOrdered = operator !== 'EQUAL' && operator !== 'NOT_EQUAL';
  const { type } = comparator;
  if (isOrdered && (type === 'RegexStringComparator' || type === 'SubstringComparator')) {
    throw new IllegalArgumentException(
      'A regexstring comparator and substring comparator can only be used with EQUAL and NOT_EQUAL',
    );
  }
  return { operator, comparator };
}

/** `type:value`. */
function comparatorFrom(bytes: Uint8Array): ComparatorSpec {
  const text = Buffer.from(bytes);
  const colon = text.indexOf(':');
  if (colon < 0) throw new IllegalArgumentException('Incorrect Comparator: it has no colon');
  const value = Uint8Array.from(text.subarray(colon + 1));
  switch (text.toString('utf8', 0, colon)) {
    case 'binary':
      return { type: 'BinaryComparator', value };
    case 'binaryprefix':
      return { type: 'BinaryPrefixComparator', value };
    case 'regexstring':
      return { type: 'RegexStringComparator', pattern: utf8(value) };
    case 'regexstringnocase':
      return { type: 'RegexStringComparator', pattern: utf8(value), flags: NO_CASE_FLAGS };
    case 'substring':
      return { type: 'SubstringComparator', value: utf8(value) };
    default:
      throw new IllegalArgumentException(
        `Incorrect comparatorType ${shown(text.toString('utf8', 0, colon))}: binary, binaryprefix, regexstring, regexstringnocase and substring are known`,
      );
  }
}

function requireCount(args: Arguments, counts: readonly number[]): void {
  if (counts.includes(args.length)) return;
  throw new IllegalArgumentException(`Expected ${counts.join(' or ')} but got: ${args.length}`);
}

const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

function stringAt(args: Arguments, index: number): Uint8Array {
  const argument = args[index]!;
  if (argument.isQuoted) return argument.bytes;
  throw bad(argument, 'a string in single quotes');
}

function operatorAt(args: Arguments, index: number): CompareOperator {
  const argument = args[index]!;
  const operator = argument.isQuoted ? undefined : OPERATORS.get(utf8(argument.bytes));
  if (operator === undefined) throw bad(argument, 'an operator (< <= = != > >=)');
  return operator;
}

function booleanAt(args: Arguments, index: number): boolean {
  const argument = args[index]!;
  const word = argument.isQuoted ? '' : utf8(argument.bytes).toLowerCase();
  if (word !== 'true' && word !== 'false') throw bad(argument, 'true or false');
  return word === 'true';
}

function positiveLongAt(args: Arguments, index: number): bigint {
  const argument = args[index]!;
  const word = argument.isQuoted ? '' : utf8(argument.bytes);
  if (!/^-?[0-9]+$/.test(word)) throw bad(argument, 'an integer');
  const value = BigInt(word);
  if (value < 0n) throw bad(argument, 'a positive number');
  if (value > LONG_MAX) throw bad(argument, 'a number of 64 bits');
  return value;
}

function positiveIntAt(args: Arguments, index: number): number {
  const value = positiveLongAt(args, index);
  if (value > INT_MAX) throw bad(args[index]!, 'a number of 32 bits');
  return Number(value);
}

function bad(argument: LanguageArgument, wanted: string): IllegalArgumentException {
  return new IllegalArgumentException(
    `${shown(utf8(argument.bytes))} at position ${argument.at} is not ${wanted}`,
  );
}
