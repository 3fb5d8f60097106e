/** What `table.explain` answers: what a read looked at, what it could leave alone, and why. */
import type { Bytes } from './primitives.ts';
import type { ReadOptions, ScanOptions } from './requests.ts';

/** The read to explain, as `get` and `scan` take it. */
export type ExplainTarget =
  { readonly get: Bytes; readonly options?: ReadOptions } | { readonly scan: ScanOptions };

/**
 * Why a region was not read: its rows lie outside those asked for; the rows that were wanted had been found before it; or
 * (of a get) it does not hold the row.
 */
export type RegionRuledOut = 'key range' | 'limit';

/**
 * Why a file or a memstore had nothing for the read. `empty`: it has no cells. `drop TSO`: a history file whose cells had not
 * yet left the live files at the moment of the read. `write number`: everything in it was committed later.
 */
export type SourceRuledOut =
  | 'empty'
  | 'key range'
  | 'time range'
  | 'TTL'
  | 'write number'
  | 'drop TSO'
  | 'row Bloom filter'
  | 'column Bloom filter';

/** Distinct blocks of one kind. The root of a file's index is read when the file is opened, and is not among them. */
export interface BlockCounts {
  readonly fromCache: number;
  /** Their size in memory. */
  readonly fromCacheBytes: number;
  readonly fromDisk: number;
  /** Their size on disk. */
  readonly fromDiskBytes: number;
}

/** The blocks of a file, or of all, that a read used. */
export interface BlocksRead {
  readonly data: BlockCounts;
  readonly index: BlockCounts;
  readonly bloom: BlockCounts;
}

/**
 * Cells that were looked at and not returned, by the first reason met. Cells that a seek passes are not looked at and not
 * among them.
 */
export interface HiddenCells {
  /** By a delete marker. With NEW_VERSION_BEHAVIOR also versions beyond VERSIONS: there markers and versions are one rule. */
  readonly marker: number;
  /** Versions beyond those of the family or asked for. */
  readonly versions: number;
  /** Expired, by the family's TTL or their own. */
  readonly ttl: number;
  readonly timeRange: number;
  /** By the filter: cell by cell, or with their row. */
  readonly filter: number;
  /** Committed later than the moment of the read. */
  readonly readPoint: number;
  /** Of columns that nobody asked for. */
  readonly column: number;
  /** An older write of the same row, column, timestamp and type. */
  readonly duplicate: number;
  /** Outside `storeOffset` and `storeLimit`. */
  readonly storeLimit: number;
}

/** `lookedAt` is the sum of all others. */
export interface CellCounts {
  readonly lookedAt: number;
  readonly returned: number;
  /** Delete markers, which hide others (a raw read returns them instead). */
  readonly markers: number;
  readonly hidden: HiddenCells;
}

/** Seek hints that the filter gave. Followed: they moved the reader; the others pointed no further than the next cell. */
export interface HintCounts {
  readonly given: number;
  readonly followed: number;
}

/** One place that has cells of a family. */
export interface SourceExplanation {
  /** `frozen` is a memstore on its way into a file, `history` a file of what left the live ones. */
  readonly kind: 'memstore' | 'frozen' | 'store' | 'history';
  /** Relative to the data folder; null for memstores. */
  readonly path: string | null;
  readonly cells: number;
  readonly sizeBytes: number;
  /** Null: it was looked at. */
  readonly ruledOut: SourceRuledOut | null;
  /** The read had to open the file. */
  readonly opened: boolean;
  /** Searches for a place, and steps from a cell to the next. */
  readonly seeks: number;
  readonly steps: number;
  readonly blocks: BlocksRead;
}

/** A family of a region. */
export interface FamilyExplanation {
  readonly family: string;
  /** It was read only for rows that the filter had passed (`loadColumnFamiliesOnDemand`). */
  readonly onDemand: boolean;
  readonly cells: CellCounts;
  readonly hints: HintCounts;
  /** Seeks in older files that were put off, and never made since a newer one had the cell. */
  readonly lazySeeksSaved: number;
  /** Newest first. */
  readonly sources: readonly SourceExplanation[];
}

export interface RegionExplanation {
  readonly encodedName: string;
  readonly startKey: Uint8Array;
  /** Empty: no end. */
  readonly endKey: Uint8Array;
  /** Null: it was read. */
  readonly ruledOut: RegionRuledOut | null;
  /** Rows begun, and those of them that were dropped: by the filter, or since nothing of them is seen. */
  readonly rowsLookedAt: number;
  readonly rowsDropped: number;
  readonly families: readonly FamilyExplanation[];
}

export interface ExplainTotals {
  readonly regionsRead: number;
  readonly regionsRuledOut: number;
  readonly filesRead: number;
  readonly filesRuledOut: number;
  readonly rowsReturned: number;
  readonly cells: CellCounts;
  readonly hints: HintCounts;
  readonly seeks: number;
  readonly steps: number;
  readonly lazySeeksSaved: number;
  readonly blocks: BlocksRead;
}

export interface ReadExplanation {
  readonly table: string;
  readonly operation: 'get' | 'scan';
  /** Commits at or below it were seen; all ones for READ_UNCOMMITTED. */
  readonly readPoint: bigint;
  /** The whole read, and that part of it that waited for the disk, milliseconds. */
  readonly elapsedMs: number;
  readonly waitedMs: number;
  /** All regions of the table, in the order of their rows. */
  readonly regions: readonly RegionExplanation[];
  readonly totals: ExplainTotals;
}
