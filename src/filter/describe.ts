/** Filters as HBase's `toString` shows them: for logs, `explain` and tests. */
import { compareBytes, toBytes, toStringBinary } from '../cell/index.ts';
import type { Bytes, ComparatorSpec, FilterSpec } from '../model/index.ts';

/** Members of a list that are shown. */
const SHOWN_MAX = 5;

/** One line; long lists are cut. The spec is taken to be valid. */
export function describeFilter(spec: FilterSpec): string {
  const { type } = spec;
  switch (spec.type) {
    case 'PrefixFilter':
      return `${type} ${spec.prefix === null ? 'null' : shown(spec.prefix)}`;
    case 'ColumnPrefixFilter':
      return `${type} ${shown(spec.prefix)}`;
    case 'PageFilter':
      return `${type} ${spec.pageSize}`;
    case 'InclusiveStopFilter':
      return `${type} ${shown(spec.stopRow)}`;
    case 'ColumnCountGetFilter':
      return `${type} ${spec.limit}`;
    case 'ColumnPaginationFilter':
      return spec.columnOffset === undefined || spec.columnOffset === null
        ? `${type} (${spec.limit}, ${spec.offset ?? 0})`
        : `${type}(${spec.limit}, ${shown(spec.columnOffset)})`;
    case 'ColumnRangeFilter': {
      const { min = null, minInclusive = true, max = null, maxInclusive = false } = spec;
      const ends = `${min === null ? 'null' : shown(min)}, ${max === null ? 'null' : shown(max)}`;
      return `${type} ${minInclusive ? '[' : '('}${ends}${maxInclusive ? ']' : ')'}`;
    }
    case 'TimestampsFilter': {
      const sorted = [...new Set(spec.timestamps.map(BigInt))].sort((a, b) => (a < b ? -1 : 1));
      return `${type} ${listed(sorted.map(String))} canHint: [${spec.canHint ?? false}]`;
    }
    case 'MultipleColumnPrefixFilter': {
      const sorted = spec.prefixes.map(toBytes).sort(compareBytes);
      return `${type} ${listed(sorted.map(toStringBinary))}`;
    }
    case 'RowFilter':
    case 'FamilyFilter':
    case 'QualifierFilter':
    case 'ValueFilter':
      return `${type} (${spec.operator}, ${comparable(spec.comparator)})`;
    case 'SingleColumnValueFilter':
    case 'SingleColumnValueExcludeFilter':
    case 'ColumnValueFilter': {
      const column = `${shown(spec.family)}, ${shown(spec.qualifier)}`;
      return `${type} (${column}, ${spec.operator}, ${comparable(spec.comparator)})`;
    }
    case 'DependentColumnFilter': {
      const { operator = 'NO_OP', comparator = null, dropDependentColumn = false } = spec;
      const column = `${shown(spec.family)}, ${shown(spec.qualifier)}`;
      const value = comparator === null ? 'null' : comparable(comparator);
      return `${type} (${column}, ${dropDependentColumn}, ${operator}, ${value})`;
    }
    case 'SkipFilter':
    case 'WhileMatchFilter':
      return `${type} ${describeFilter(spec.filter)}`;
    case 'FilterList': {
      const operator = spec.operator === 'MUST_PASS_ALL' ? 'AND' : 'OR';
      return `${type} ${operator} ${listed(spec.filters.map(describeFilter))}`;
    }
    default:
      return type;
  }
}

const shown = (bytes: Bytes): string => toStringBinary(toBytes(bytes));

function listed(items: readonly string[]): string {
  const first = items.slice(0, SHOWN_MAX);
  return `(${first.length}/${items.length}): [${first.join(', ')}]`;
}

function comparable(spec: ComparatorSpec): string {
  switch (spec.type) {
    case 'NullComparator':
      return '';
    case 'RegexStringComparator':
      return shown(spec.pattern);
    case 'SubstringComparator':
      return shown(spec.value.toLowerCase());
    case 'LongComparator': {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64BE(BigInt(spec.value));
      return toStringBinary(bytes);
    }
    default:
      return shown(spec.value);
  }
}
