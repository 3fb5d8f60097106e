/**
 * Filters and comparators in TypeScript: each function gives the spec of HBase's class of that name. Specs are plain data;
 * they are checked when a read takes them.
 */
import type {
  Bytes,
  BitOperator,
  ColumnPaginationFilterSpec,
  ColumnRangeFilterSpec,
  ColumnValueFilterSpec,
  CompareFilterSpec,
  CompareOperator,
  ComparatorSpec,
  CustomFilterSpec,
  DependentColumnFilterSpec,
  FilterListSpec,
  FilterMaker,
  FilterSpec,
  FuzzyKey,
  FuzzyRowFilterSpec,
  RegexSpec,
  RowRangeSpec,
  SingleColumnValueFilterSpec,
  Timestamp,
} from '../model/index.ts';

/** Whole parts, as bytes. */
export function binaryComparator(value: Bytes): ComparatorSpec {
  return { type: 'BinaryComparator', value };
}

/** The beginning of parts. */
export function binaryPrefixComparator(value: Bytes): ComparatorSpec {
  return { type: 'BinaryPrefixComparator', value };
}

/** The bytes of parts from `offset` on. */
export function binaryComponentComparator(value: Bytes, offset: number): ComparatorSpec {
  return { type: 'BinaryComponentComparator', value, offset };
}

/** Equal where any bit of (value op part) is set. */
export function bitComparator(value: Bytes, bitOperator: BitOperator): ComparatorSpec {
  return { type: 'BitComparator', value, bitOperator };
}

/** Signed 64-bit numbers in 8 bytes. */
export function longComparator(value: bigint | number): ComparatorSpec {
  return { type: 'LongComparator', value };
}

/** Decimal numbers as HBase's `Bytes.toBytes(BigDecimal)` stores them; `value` as text or in that form. */
export function bigDecimalComparator(value: Bytes): ComparatorSpec {
  return { type: 'BigDecimalComparator', value };
}

/** Equal to what is absent. */
export function nullComparator(): ComparatorSpec {
  return { type: 'NullComparator' };
}

/** A Java regular expression found anywhere in the part. */
export function regexStringComparator(
  pattern: string,
  options: Omit<RegexSpec, 'type' | 'pattern'> = {},
): ComparatorSpec {
  return { type: 'RegexStringComparator', pattern, ...options };
}

/** Text found anywhere in the part, whatever its case. */
export function substringComparator(value: string): ComparatorSpec {
  return { type: 'SubstringComparator', value };
}

/** A value to compare with: bytes mean a BinaryComparator. */
export type Comparable = Bytes | ComparatorSpec;

function comparatorFor(value: Comparable): ComparatorSpec {
  return typeof value === 'string' || value instanceof Uint8Array ? binaryComparator(value) : value;
}

/** Rows whose key compares. */
export function rowFilter(operator: CompareOperator, value: Comparable): CompareFilterSpec {
  return { type: 'RowFilter', operator, comparator: comparatorFor(value) };
}

/** Families that compare. */
export function familyFilter(operator: CompareOperator, value: Comparable): CompareFilterSpec {
  return { type: 'FamilyFilter', operator, comparator: comparatorFor(value) };
}

/** Cells whose qualifier compares. */
export function qualifierFilter(operator: CompareOperator, value: Comparable): CompareFilterSpec {
  return { type: 'QualifierFilter', operator, comparator: comparatorFor(value) };
}

/** Cells whose value compares. */
export function valueFilter(operator: CompareOperator, value: Comparable): CompareFilterSpec {
  return { type: 'ValueFilter', operator, comparator: comparatorFor(value) };
}

export type ColumnName = readonly [family: Bytes, qualifier: Bytes];

/** Cells with a timestamp of the column's. */
export function dependentColumnFilter(
  [family, qualifier]: ColumnName,
  options: Omit<DependentColumnFilterSpec, 'type' | 'family' | 'qualifier'> = {},
): DependentColumnFilterSpec {
  return { type: 'DependentColumnFilter', family, qualifier, ...options };
}

export interface SingleColumnOptions {
  readonly filterIfMissing?: boolean;
  readonly latestVersionOnly?: boolean;
}

/** Whole rows whose column compares. */
export function singleColumnValueFilter(
  [family, qualifier]: ColumnName,
  operator: CompareOperator,
  value: Comparable,
  options: SingleColumnOptions = {},
): SingleColumnValueFilterSpec {
  const comparator = comparatorFor(value);
  return { type: 'SingleColumnValueFilter', family, qualifier, operator, comparator, ...options };
}

/** Whole rows whose column compares, without that column. */
export function singleColumnValueExcludeFilter(
  column: ColumnName,
  operator: CompareOperator,
  value: Comparable,
  options: SingleColumnOptions = {},
): SingleColumnValueFilterSpec {
  const spec = singleColumnValueFilter(column, operator, value, options);
  return { ...spec, type: 'SingleColumnValueExcludeFilter' };
}

/** Only the cells of the column that compare. */
export function columnValueFilter(
  [family, qualifier]: ColumnName,
  operator: CompareOperator,
  value: Comparable,
): ColumnValueFilterSpec {
  const comparator = comparatorFor(value);
  return { type: 'ColumnValueFilter', family, qualifier, operator, comparator };
}

/** Rows that begin with the prefix. */
export function prefixFilter(prefix: Bytes): FilterSpec {
  return { type: 'PrefixFilter', prefix };
}

/** At most this many rows of each region. */
export function pageFilter(pageSize: number | bigint): FilterSpec {
  return { type: 'PageFilter', pageSize };
}

/** Rows up to this one, and no further. */
export function inclusiveStopFilter(stopRow: Bytes): FilterSpec {
  return { type: 'InclusiveStopFilter', stopRow };
}

/** Each row with this chance. */
export function randomRowFilter(chance: number): FilterSpec {
  return { type: 'RandomRowFilter', chance };
}

/** Rows that agree with a pattern in its fixed bytes (mask 0). */
export function fuzzyRowFilter(keys: readonly FuzzyKey[]): FuzzyRowFilterSpec {
  return { type: 'FuzzyRowFilter', keys };
}

/** Rows in any of the ranges. */
export function multiRowRangeFilter(ranges: readonly RowRangeSpec[]): FilterSpec {
  return { type: 'MultiRowRangeFilter', ranges };
}

/** Columns that begin with the prefix. */
export function columnPrefixFilter(prefix: Bytes): FilterSpec {
  return { type: 'ColumnPrefixFilter', prefix };
}

/** Columns that begin with one of the prefixes. */
export function multipleColumnPrefixFilter(...prefixes: Bytes[]): FilterSpec {
  return { type: 'MultipleColumnPrefixFilter', prefixes };
}

/** Columns from `min` to `max`. */
export function columnRangeFilter(
  range: Omit<ColumnRangeFilterSpec, 'type'>,
): ColumnRangeFilterSpec {
  return { type: 'ColumnRangeFilter', ...range };
}

/** `limit` columns of each row, from the `offset`th or from the qualifier `columnOffset` on. */
export function columnPaginationFilter(
  page: Omit<ColumnPaginationFilterSpec, 'type'>,
): ColumnPaginationFilterSpec {
  return { type: 'ColumnPaginationFilter', ...page };
}

/** The first columns of a row; for gets. */
export function columnCountGetFilter(limit: number): FilterSpec {
  return { type: 'ColumnCountGetFilter', limit };
}

/** Cells with exactly these timestamps. */
export function timestampsFilter(
  timestamps: readonly Timestamp[],
  options: { readonly canHint?: boolean } = {},
): FilterSpec {
  return { type: 'TimestampsFilter', timestamps, ...options };
}

/** The first cell of each row. */
export function firstKeyOnlyFilter(): FilterSpec {
  return { type: 'FirstKeyOnlyFilter' };
}

/** The cells of each row up to the first of these qualifiers. */
export function firstKeyValueMatchingQualifiersFilter(...qualifiers: Bytes[]): FilterSpec {
  return { type: 'FirstKeyValueMatchingQualifiersFilter', qualifiers };
}

/** Cells without their values. */
export function keyOnlyFilter(options: { readonly lenAsVal?: boolean } = {}): FilterSpec {
  return { type: 'KeyOnlyFilter', ...options };
}

/** Drops each row of which `filter` drops a cell. */
export function skipFilter(filter: FilterSpec): FilterSpec {
  return { type: 'SkipFilter', filter };
}

/** Ends with the first thing that `filter` drops. */
export function whileMatchFilter(filter: FilterSpec): FilterSpec {
  return { type: 'WhileMatchFilter', filter };
}

/** What passes all of these. */
export function mustPassAll(...filters: FilterSpec[]): FilterListSpec {
  return { type: 'FilterList', operator: 'MUST_PASS_ALL', filters };
}

/** What passes one of these. */
export function mustPassOne(...filters: FilterSpec[]): FilterListSpec {
  return { type: 'FilterList', operator: 'MUST_PASS_ONE', filters };
}

/** A filter of your own among others. `make` is called for each region. */
export function customFilter(make: FilterMaker): CustomFilterSpec {
  return { type: 'CustomFilter', make };
}
