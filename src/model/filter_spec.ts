/**
 * Filters and comparators as plain data: what builders and the filter language make, what the wire carries, and what the
 * engine builds its filters from. Names and members are HBase's (org.apache.hadoop.hbase.filter, Filter.proto,
 * Comparator.proto). Absent optional members have HBase's defaults. Specs are not changed once given.
 */
import type { CellFilter, FilterMaker } from './cell_filter.ts';
import type { Bytes, CompareOperator, Timestamp } from './primitives.ts';

/** Compares a part of a cell: its row, family, qualifier or value. */
export type ComparatorSpec =
  | { readonly type: 'BinaryComparator' | 'BinaryPrefixComparator'; readonly value: Bytes }
  /** `value` against the bytes of the part from `offset` on. */
  | { readonly type: 'BinaryComponentComparator'; readonly value: Bytes; readonly offset: number }
  | { readonly type: 'BitComparator'; readonly value: Bytes; readonly bitOperator: BitOperator }
  /** Parts must be 8 bytes, signed big-endian. */
  | { readonly type: 'LongComparator'; readonly value: bigint | number }
  /** A decimal number as text, or HBase's bytes: int32 scale, then the unscaled value in two's complement. */
  | { readonly type: 'BigDecimalComparator'; readonly value: Bytes }
  | { readonly type: 'NullComparator' }
  | RegexSpec
  /** Without regard to case. */
  | { readonly type: 'SubstringComparator'; readonly value: string };

export type BitOperator = 'AND' | 'OR' | 'XOR';

/** Finds a match anywhere in the part. Only for EQUAL and NOT_EQUAL. */
export interface RegexSpec {
  readonly type: 'RegexStringComparator';
  readonly pattern: string;
  /** java.util.regex.Pattern's flags; default 32, DOTALL. */
  readonly flags?: number;
  /** A Java charset name; default UTF-8. */
  readonly charset?: string;
  /** Kept for the wire: both run on Cellar's own engine. */
  readonly engine?: 'JAVA' | 'JONI';
}

export interface CompareFilterSpec {
  readonly type: 'RowFilter' | 'FamilyFilter' | 'QualifierFilter' | 'ValueFilter';
  /** "part OP comparator's value"; NO_OP drops everything. */
  readonly operator: CompareOperator;
  readonly comparator: ComparatorSpec;
}

export interface DependentColumnFilterSpec {
  readonly type: 'DependentColumnFilter';
  readonly family: Bytes;
  readonly qualifier: Bytes;
  readonly dropDependentColumn?: boolean;
  /** Default NO_OP, without comparator. */
  readonly operator?: CompareOperator;
  readonly comparator?: ComparatorSpec | null;
}

export interface SingleColumnValueFilterSpec {
  readonly type: 'SingleColumnValueFilter' | 'SingleColumnValueExcludeFilter';
  readonly family: Bytes;
  readonly qualifier: Bytes;
  readonly operator: CompareOperator;
  readonly comparator: ComparatorSpec;
  /** Default false. */
  readonly filterIfMissing?: boolean;
  /** Default true. */
  readonly latestVersionOnly?: boolean;
}

export interface ColumnValueFilterSpec {
  readonly type: 'ColumnValueFilter';
  readonly family: Bytes;
  readonly qualifier: Bytes;
  readonly operator: CompareOperator;
  readonly comparator: ComparatorSpec;
}

export interface ColumnRangeFilterSpec {
  readonly type: 'ColumnRangeFilter';
  /** Absent or null: open. */
  readonly min?: Bytes | null;
  /** Default true. */
  readonly minInclusive?: boolean;
  readonly max?: Bytes | null;
  /** Default false. */
  readonly maxInclusive?: boolean;
}

/** Columns from the `offset`th, or from the qualifier `columnOffset`, at most `limit`. Not both. */
export interface ColumnPaginationFilterSpec {
  readonly type: 'ColumnPaginationFilter';
  readonly limit: number;
  readonly offset?: number;
  readonly columnOffset?: Bytes | null;
}

export interface FuzzyRowFilterSpec {
  readonly type: 'FuzzyRowFilter';
  readonly keys: readonly FuzzyKey[];
  /** How `mask` is coded when it is not in 0 and 1. 2 (default): 0xff fixed, 2 any. 1: 0xff fixed, 0 any. */
  readonly maskVersion?: 1 | 2;
}

/** A row pattern and its mask of equal length: 0 a fixed byte, 1 any byte. */
export interface FuzzyKey {
  readonly pattern: Bytes;
  readonly mask: Uint8Array | readonly number[];
}

/** Rows from start to stop; absent or empty ends are open. */
export interface RowRangeSpec {
  readonly start?: Bytes | null;
  /** Default true. */
  readonly startInclusive?: boolean;
  readonly stop?: Bytes | null;
  /** Default false. */
  readonly stopInclusive?: boolean;
}

export interface FilterListSpec {
  readonly type: 'FilterList';
  readonly operator: 'MUST_PASS_ALL' | 'MUST_PASS_ONE';
  readonly filters: readonly FilterSpec[];
}

/** A filter of the user's own among others; not for the wire. */
export interface CustomFilterSpec {
  readonly type: 'CustomFilter';
  readonly make: FilterMaker;
}

export type FilterSpec =
  | { readonly type: 'KeyOnlyFilter'; readonly lenAsVal?: boolean }
  | { readonly type: 'FirstKeyOnlyFilter' | 'FilterAllFilter' }
  | {
      readonly type: 'FirstKeyValueMatchingQualifiersFilter';
      readonly qualifiers: readonly Bytes[];
    }
  /** A null prefix drops everything. */
  | { readonly type: 'PrefixFilter'; readonly prefix: Bytes | null }
  | { readonly type: 'PageFilter'; readonly pageSize: number | bigint }
  | { readonly type: 'InclusiveStopFilter'; readonly stopRow: Bytes }
  | { readonly type: 'ColumnPrefixFilter'; readonly prefix: Bytes }
  | { readonly type: 'MultipleColumnPrefixFilter'; readonly prefixes: readonly Bytes[] }
  | { readonly type: 'ColumnCountGetFilter'; readonly limit: number }
  | {
      readonly type: 'TimestampsFilter';
      readonly timestamps: readonly Timestamp[];
      /** Seeks from one wanted timestamp to the next; may pass over markers, as HBase says of it. */
      readonly canHint?: boolean;
    }
  /** Below 0 no row, above 1 every row. */
  | { readonly type: 'RandomRowFilter'; readonly chance: number }
  | { readonly type: 'MultiRowRangeFilter'; readonly ranges: readonly RowRangeSpec[] }
  | { readonly type: 'SkipFilter' | 'WhileMatchFilter'; readonly filter: FilterSpec }
  | CompareFilterSpec
  | DependentColumnFilterSpec
  | SingleColumnValueFilterSpec
  | ColumnValueFilterSpec
  | ColumnRangeFilterSpec
  | ColumnPaginationFilterSpec
  | FuzzyRowFilterSpec
  | FilterListSpec
  | CustomFilterSpec;

/**
 * A filter as read options take it: a spec, HBase's filter language (text or bytes), a function that makes a filter of
 * the caller's own for each region, or one such filter, which then keeps its state from region to region and may serve
 * one read at a time.
 */
export type FilterInput = Bytes | FilterSpec | FilterMaker | CellFilter;
