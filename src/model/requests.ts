/**
 * What a caller asks for, as plain objects. Bytes are `Uint8Array` or a string (its UTF-8); a column is `family:qualifier`
 * (the first ':' ends the family) or, for binary qualifiers, a `[family, qualifier]` pair. Timestamps are milliseconds,
 * `bigint` or a safe integer.
 */

import type { FilterInput } from './filter_spec.ts';
import type { Bytes, Column, CompareOperator, Timestamp, Value } from './primitives.ts';

export type { Bytes, Column, CompareOperator, Timestamp, Value } from './primitives.ts';
export { COMPARE_OPERATORS, isCompareOperator } from './primitives.ts';

export type Durability = 'USE_DEFAULT' | 'SKIP_WAL' | 'ASYNC_WAL' | 'SYNC_WAL' | 'FSYNC_WAL';

/** One cell to put, when a plain `{ 'f:q': value }` does not say enough. */
export interface CellInput {
  readonly family: string;
  readonly qualifier: Bytes;
  readonly value: Value;
  /** Absent: the commit's own time. */
  readonly ts?: Timestamp;
  /** Milliseconds this cell lives; it can only shorten the family's TTL. */
  readonly ttl?: number;
}

export type Values = Readonly<Record<string, Value>> | readonly CellInput[];

export interface MutationOptions {
  /** Timestamp of every cell that carries none of its own; absent: the commit's time. */
  readonly ts?: Timestamp;
  /** Milliseconds every cell lives. */
  readonly ttl?: number;
  readonly durability?: Durability;
  /** Makes a repeat harmless: the second request with the same nonce answers as the first did (kept 30 minutes). */
  readonly nonce?: Nonce;
}

/** A cell that was put although a marker written before hides it. */
export interface HiddenPut {
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly ts: bigint;
  /** The marker; a family's has an empty qualifier. Of several, the one that hides most. */
  readonly marker: {
    readonly type: 'Delete' | 'DeleteFamilyVersion' | 'DeleteColumn' | 'DeleteFamily';
    readonly qualifier: Uint8Array;
    readonly ts: bigint;
    /** The commit that wrote it; 0n when a compaction has dropped that. */
    readonly tso: bigint;
  };
}

/** Options of `put`. */
export interface PutOptions extends MutationOptions {
  /**
   * Told, before `put` answers, of each of its cells that nobody will see, because a marker hides it until a major compaction
   * has taken that away. Costs a read of the row. Not of families with NEW_VERSION_BEHAVIOR: there markers hide older writes
   * only.
   */
  readonly onHidden?: (hidden: HiddenPut) => void;
}

export interface Nonce {
  readonly group: bigint;
  readonly nonce: bigint;
}

/** What to delete of a row. With no member but `ts`: every family (up to `ts`, or now). Members add up. */
export interface DeleteSpec {
  /** All versions of these columns with timestamp <= ts (HBase: DeleteColumn). */
  readonly columns?: readonly Column[];
  /** One version of these columns: that at `ts`, or the newest (HBase: Delete). */
  readonly versions?: readonly Column[];
  /** All columns of these families with timestamp <= ts (HBase: DeleteFamily). */
  readonly families?: readonly string[];
  /** All columns of these families with timestamp exactly `ts`, which is required (HBase: DeleteFamilyVersion). */
  readonly familyVersions?: readonly string[];
  readonly ts?: Timestamp;
  readonly durability?: Durability;
  readonly nonce?: Nonce;
}

/** Half-open range [min, max) of cell timestamps. */
export interface TimeRange {
  readonly min?: Timestamp;
  readonly max?: Timestamp;
}

export type Isolation = 'READ_COMMITTED' | 'READ_UNCOMMITTED';

/** As of: a TSO (bigint), a time (Date: every commit up to and including that millisecond), or 'now'. */
export type AsOf = bigint | Date | 'now';

export interface ReadOptions {
  /** Columns to return; absent with `families`: all. */
  readonly columns?: readonly Column[];
  /** Whole families to return. */
  readonly families?: readonly string[];
  /** Versions a column at most, bounded by the family's VERSIONS; default 1. */
  readonly versions?: number;
  readonly timeRange?: TimeRange;
  /** Exactly this timestamp: the range [ts, ts + 1). */
  readonly ts?: Timestamp;
  /** Replaces `timeRange` for the families it names. */
  readonly familyTimeRanges?: Readonly<Record<string, TimeRange>>;
  /**
   * Which rows and cells are returned: a filter built or parsed (HBase's filter language), or one of your own. A filter
   * object of your own keeps its state from region to region; a function makes a fresh one for each.
   */
  readonly filter?: FilterInput;
  /**
   * False: all families are read at once, also those that the filter does not need for its decision on a row. Default true,
   * as HBase's servers have it; reversed reads always do.
   */
  readonly loadColumnFamiliesOnDemand?: boolean;
  /** Cells at most of one row and family, and how many to skip first (HBase: store limit and offset). */
  readonly storeLimit?: number;
  readonly storeOffset?: number;
  readonly isolation?: Isolation;
  readonly asOf?: AsOf;
  /** False: blocks read stay out of the cache. */
  readonly cacheBlocks?: boolean;
}

export interface ScanOptions extends ReadOptions {
  readonly start?: Bytes;
  readonly startInclusive?: boolean;
  readonly stop?: Bytes;
  readonly stopInclusive?: boolean;
  /** Rows that begin with these bytes; not together with start or stop. */
  readonly prefix?: Bytes;
  readonly reversed?: boolean;
  /** Rows at most. */
  readonly limit?: number;
  /** Cells a result at most: a row may come in parts. */
  readonly batch?: number;
  /** Bytes of cells fetched ahead in one step; a row is never cut by it unless `batch` allows. */
  readonly maxResultSizeBytes?: number;
  /** Markers and hidden cells too; no qualifiers may be named. */
  readonly raw?: boolean;
}

/** One mutation of one row, for `batch`, `mutateRow`, `mutateRows` and as the action of `checkAndMutate`. */
export type Mutation =
  | { readonly put: Bytes; readonly values: Values; readonly options?: MutationOptions }
  | { readonly delete: Bytes; readonly spec?: DeleteSpec }
  | {
      readonly increment: Bytes;
      readonly amounts: Readonly<Record<string, bigint | number>>;
      readonly options?: IncrementOptions;
    }
  | {
      readonly append: Bytes;
      readonly values: Readonly<Record<string, Value>>;
      readonly options?: IncrementOptions;
    };

/** An operation of a batch: a mutation, a get, an atomic row mutation, or a conditional one. */
export type Operation =
  | Mutation
  | CheckAndMutate
  | { readonly get: Bytes; readonly options?: ReadOptions }
  | { readonly mutateRow: Bytes; readonly mutations: readonly Mutation[] };

export interface IncrementOptions extends MutationOptions {
  /** False: the new cells are not returned. */
  readonly returnResults?: boolean;
  /** The newest cell within this range counts as the old value. */
  readonly timeRange?: TimeRange;
}

/** What `checkAndMutate` asks of the row before it writes. */
export type Condition = ColumnCondition | FilterCondition;

/** The newest visible cell of `column` is compared as HBase does: "value OP stored". A null value asks for absent or empty. */
export interface ColumnCondition {
  readonly column: Column;
  /** Default EQUAL. */
  readonly operator?: CompareOperator;
  readonly value: Value | null;
  /** Only cells within it are looked at. */
  readonly timeRange?: TimeRange;
}

/** Whether the filter passes any cell of the row: the newest version of each column is shown to it. */
export interface FilterCondition {
  readonly filter: FilterInput;
  readonly timeRange?: TimeRange;
}

/** One conditional change of a row, for `checkAndMutateAll` and batches. */
export interface CheckAndMutate {
  readonly checkAndMutate: Bytes;
  readonly condition: Condition;
  /** Several are applied all or none. */
  readonly action: Mutation | readonly Mutation[];
}
