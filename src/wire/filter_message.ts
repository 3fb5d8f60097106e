/**
 * Filters from the wire (Filter.proto): `Filter` { 1 class name · 2 its own message }. They become specs, which the filter layer
 * checks and builds. Bytes stay views.
 */
import { DoNotRetryIOException } from '../model/index.ts';
import type {
  ColumnPaginationFilterSpec,
  CompareOperator,
  ComparatorSpec,
  FilterSpec,
  FuzzyKey,
  RowRangeSpec,
  SingleColumnValueFilterSpec,
} from '../model/index.ts';
import { compareOperatorOf, readComparator, simpleName } from './comparator_message.ts';
import { COUNT_ON_ROW_FILTER, countOnRowFilter } from './count_on_row_filter.ts';
import { ProtoReader } from './proto_reader.ts';

/** Filters within each other: a deeper one is refused. */
const DEPTH_MAX = 100;
const EMPTY: Uint8Array = new Uint8Array(0);

/** Reads the Filter that the reader has begun. Throws DoNotRetryIOException for a class that is not known. */
export function readFilter(reader: ProtoReader, depth: number): FilterSpec {
  if (depth > DEPTH_MAX) {
    throw new DoNotRetryIOException(`filters are nested deeper than ${DEPTH_MAX}`);
  }
  let className = '';
  let body = EMPTY;
  while (reader.next()) {
    if (reader.field === 1) className = reader.string();
    else if (reader.field === 2) body = reader.bytes();
    else reader.skip();
  }
  if (className === COUNT_ON_ROW_FILTER) return countOnRowFilter(body);
  return filterOf(className, new ProtoReader(body), depth);
}

function filterOf(className: string, body: ProtoReader, depth: number): FilterSpec {
  const type = simpleName(className);
  switch (type) {
    case 'FirstKeyOnlyFilter':
    case 'FilterAllFilter':
      return { type };
    case 'KeyOnlyFilter':
      return { type, lenAsVal: firstNumber(body) !== 0 };
    case 'FirstKeyValueMatchingQualifiersFilter':
      return { type, qualifiers: firstList(body) };
    case 'PrefixFilter':
      return { type, prefix: firstBytes(body) };
    case 'PageFilter':
      return { type, pageSize: firstLong(body) };
    case 'InclusiveStopFilter':
      return { type, stopRow: firstBytes(body) ?? EMPTY };
    case 'RowFilter':
    case 'FamilyFilter':
    case 'QualifierFilter':
    case 'ValueFilter':
      return { type, ...comparisonIn(new ProtoReader(firstBytes(body) ?? EMPTY)) };
    case 'DependentColumnFilter':
      return dependentColumn(body);
    case 'SingleColumnValueFilter':
      return singleColumnValue(type, body);
    case 'SingleColumnValueExcludeFilter':
      return singleColumnValue(type, new ProtoReader(firstBytes(body) ?? EMPTY));
    case 'ColumnValueFilter':
      return columnValue(body);
    case 'ColumnPrefixFilter':
      return { type, prefix: firstBytes(body) ?? EMPTY };
    case 'MultipleColumnPrefixFilter':
      return { type, prefixes: firstList(body) };
    case 'ColumnRangeFilter':
      return columnRange(body);
    case 'ColumnPaginationFilter':
      return columnPagination(body);
    case 'ColumnCountGetFilter':
      return { type, limit: firstNumber(body) };
    case 'TimestampsFilter':
      return timestamps(body);
    case 'RandomRowFilter':
      return { type, chance: firstFloat(body) };
    case 'FuzzyRowFilter':
      return fuzzyRow(body);
    case 'MultiRowRangeFilter':
      return { type, ranges: messagesIn(body).map(rowRange) };
    case 'SkipFilter':
    case 'WhileMatchFilter':
      return { type, filter: within(firstBytes(body), depth) };
    case 'FilterWrapper':
      return within(firstBytes(body), depth);
    case 'FilterList':
      return filterList(body, depth);
    default:
      throw new DoNotRetryIOException(`java.lang.ClassNotFoundException: ${className}`);
  }
}

function within(body: Uint8Array | null, depth: number): FilterSpec {
  return readFilter(new ProtoReader(body ?? EMPTY), depth + 1);
}

/** Field 1, bytes; null if absent. */
function firstBytes(reader: ProtoReader): Uint8Array | null {
  let bytes: Uint8Array | null = null;
  while (reader.next()) {
    if (reader.field === 1) bytes = reader.bytes();
    else reader.skip();
  }
  return bytes;
}

/** Field 1, repeated bytes. */
function firstList(reader: ProtoReader): Uint8Array[] {
  const list: Uint8Array[] = [];
  while (reader.next()) {
    if (reader.field === 1) list.push(reader.bytes());
    else reader.skip();
  }
  return list;
}

function messagesIn(reader: ProtoReader): ProtoReader[] {
  return firstList(reader).map((bytes) => new ProtoReader(bytes));
}

function firstNumber(reader: ProtoReader): number {
  let number = 0;
  while (reader.next()) {
    if (reader.field === 1) number = reader.int32();
    else reader.skip();
  }
  return number;
}

function firstLong(reader: ProtoReader): bigint {
  let number = 0n;
  while (reader.next()) {
    if (reader.field === 1) number = BigInt.asIntN(64, reader.bigUint64());
    else reader.skip();
  }
  return number;
}

function firstFloat(reader: ProtoReader): number {
  let number = 0;
  while (reader.next()) {
    if (reader.field === 1) number = reader.float();
    else reader.skip();
  }
  return number;
}

interface ComparisonFields {
  readonly operator: CompareOperator;
  readonly comparator: ComparatorSpec;
}

/** A CompareFilter; without comparator (NO_OP) one that nothing is compared with. */
function comparisonIn(reader: ProtoReader): ComparisonFields {
  let operator: CompareOperator = 'NO_OP';
  let comparator: ComparatorSpec = { type: 'NullComparator' };
  while (reader.next()) {
    if (reader.field === 1) operator = compareOperatorOf(reader.uint32());
    else if (reader.field === 2) comparator = readComparator(reader.message());
    else reader.skip();
  }
  return { operator, comparator };
}

function dependentColumn(reader: ProtoReader): FilterSpec {
  let operator: CompareOperator = 'NO_OP';
  let comparator: ComparatorSpec | null = null;
  let family = EMPTY;
  let qualifier = EMPTY;
  let dropDependentColumn = false;
  while (reader.next()) {
    switch (reader.field) {
      case 1: {
        const bytes = reader.bytes();
        ({ operator } = comparisonIn(new ProtoReader(bytes)));
        comparator = comparatorIn(new ProtoReader(bytes));
        break;
      }
      case 2:
        family = reader.bytes();
        break;
      case 3:
        qualifier = reader.bytes();
        break;
      case 4:
        dropDependentColumn = reader.bool();
        break;
      default:
        reader.skip();
    }
  }
  return {
    type: 'DependentColumnFilter',
    family,
    qualifier,
    dropDependentColumn,
    operator,
    comparator,
  };
}

/** The comparator of a CompareFilter; null if it has none. */
function comparatorIn(reader: ProtoReader): ComparatorSpec | null {
  let comparator: ComparatorSpec | null = null;
  while (reader.next()) {
    if (reader.field === 2) comparator = readComparator(reader.message());
    else reader.skip();
  }
  return comparator;
}

function singleColumnValue(
  type: SingleColumnValueFilterSpec['type'],
  reader: ProtoReader,
): FilterSpec {
  let family = EMPTY;
  let qualifier = EMPTY;
  let operator: CompareOperator = 'NO_OP';
  let comparator: ComparatorSpec = { type: 'NullComparator' };
  let filterIfMissing = false;
  let latestVersionOnly = false;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        family = reader.bytes();
        break;
      case 2:
        qualifier = reader.bytes();
        break;
      case 3:
        operator = compareOperatorOf(reader.uint32());
        break;
      case 4:
        comparator = readComparator(reader.message());
        break;
      case 5:
        filterIfMissing = reader.bool();
        break;
      case 6:
        latestVersionOnly = reader.bool();
        break;
      default:
        reader.skip();
    }
  }
  return { type, family, qualifier, operator, comparator, filterIfMissing, latestVersionOnly };
}

function columnValue(reader: ProtoReader): FilterSpec {
  let family = EMPTY;
  let qualifier = EMPTY;
  let operator: CompareOperator = 'NO_OP';
  let comparator: ComparatorSpec = { type: 'NullComparator' };
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        family = reader.bytes();
        break;
      case 2:
        qualifier = reader.bytes();
        break;
      case 3:
        operator = compareOperatorOf(reader.uint32());
        break;
      case 4:
        comparator = readComparator(reader.message());
        break;
      default:
        reader.skip();
    }
  }
  return { type: 'ColumnValueFilter', family, qualifier, operator, comparator };
}

function columnRange(reader: ProtoReader): FilterSpec {
  let min: Uint8Array | null = null;
  let minInclusive = false;
  let max: Uint8Array | null = null;
  let maxInclusive = false;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        min = reader.bytes();
        break;
      case 2:
        minInclusive = reader.bool();
        break;
      case 3:
        max = reader.bytes();
        break;
      case 4:
        maxInclusive = reader.bool();
        break;
      default:
        reader.skip();
    }
  }
  return { type: 'ColumnRangeFilter', min, minInclusive, max, maxInclusive };
}

/** With a column offset the number is of no account. */
function columnPagination(reader: ProtoReader): ColumnPaginationFilterSpec {
  let limit = 0;
  let offset = 0;
  let columnOffset: Uint8Array | null = null;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        limit = reader.int32();
        break;
      case 2:
        offset = reader.int32();
        break;
      case 3:
        columnOffset = reader.bytes();
        break;
      default:
        reader.skip();
    }
  }
  const type = 'ColumnPaginationFilter';
  return columnOffset === null ? { type, limit, offset } : { type, limit, columnOffset };
}

/** The timestamps come packed, or as one field each. */
function timestamps(reader: ProtoReader): FilterSpec {
  const list: bigint[] = [];
  let canHint = false;
  while (reader.next()) {
    if (reader.field === 2) canHint = reader.bool();
    else if (reader.field !== 1) reader.skip();
    else if (reader.wireType === 0) list.push(reader.bigUint64());
    else {
      const packed = reader.message();
      while (packed.at < packed.end) {
        packed.uint64Bare();
        list.push((BigInt(packed.high) << 32n) | BigInt(packed.low));
      }
    }
  }
  return { type: 'TimestampsFilter', timestamps: list, canHint };
}

function fuzzyRow(reader: ProtoReader): FilterSpec {
  const keys: FuzzyKey[] = [];
  let isMaskV2 = false;
  while (reader.next()) {
    if (reader.field === 2) isMaskV2 = reader.bool();
    else if (reader.field !== 1) reader.skip();
    else {
      const pair = reader.message();
      let pattern = EMPTY;
      let mask = EMPTY;
      while (pair.next()) {
        if (pair.field === 1) pattern = pair.bytes();
        else if (pair.field === 2) mask = pair.bytes();
        else pair.skip();
      }
      keys.push({ pattern, mask });
    }
  }
  return { type: 'FuzzyRowFilter', keys, maskVersion: isMaskV2 ? 2 : 1 };
}

function rowRange(reader: ProtoReader): RowRangeSpec {
  let start = EMPTY;
  let startInclusive = false;
  let stop = EMPTY;
  let stopInclusive = false;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        start = reader.bytes();
        break;
      case 2:
        startInclusive = reader.bool();
        break;
      case 3:
        stop = reader.bytes();
        break;
      case 4:
        stopInclusive = reader.bool();
        break;
      default:
        reader.skip();
    }
  }
  return { start, startInclusive, stop, stopInclusive };
}

function filterList(reader: ProtoReader, depth: number): FilterSpec {
  let operator: 'MUST_PASS_ALL' | 'MUST_PASS_ONE' = 'MUST_PASS_ALL';
  const filters: FilterSpec[] = [];
  while (reader.next()) {
    if (reader.field === 1) operator = reader.uint32() === 2 ? 'MUST_PASS_ONE' : 'MUST_PASS_ALL';
    else if (reader.field === 2) filters.push(readFilter(reader.message(), depth + 1));
    else reader.skip();
  }
  return { type: 'FilterList', operator, filters };
}
