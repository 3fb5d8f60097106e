/**
 * A read as the engine runs it: options checked, bytes resolved, columns grouped by family, 64-bit numbers in halves.
 * Everything throws IllegalArgumentException (DoNotRetryIOException where HBase does), naming the option.
 */
import { LATEST, ROW_LENGTH_MAX, afterPrefix, compareBytes, equalBytes } from '../cell/index.ts';
import { DoNotRetryIOException, IllegalArgumentException } from './errors.ts';
import { checkFamilyName } from './names.ts';
import type { FilterInput } from './filter_spec.ts';
import type { AsOf, Bytes, Column, ReadOptions, ScanOptions, TimeRange } from './requests.ts';
import { checkOptionNames, shown, toArgumentBytes, toTimestamp } from './values.ts';

/** Timestamps in [min, max), each in two unsigned halves. */
export interface TimeRangeSpec {
  readonly minHigh: number;
  readonly minLow: number;
  readonly maxHigh: number;
  readonly maxLow: number;
  /** Every timestamp: nothing to compare. */
  readonly isAllTime: boolean;
}

export interface FamilyReadSpec {
  readonly family: string;
  /** In byte order, each once; null: the whole family. Owned by the spec. */
  readonly qualifiers: readonly Uint8Array[] | null;
  readonly timeRange: TimeRangeSpec;
}

export interface ReadSpec {
  /** In byte order of the names; null: every family of the table. */
  readonly families: readonly FamilyReadSpec[] | null;
  /** Of families that `families` and `familyTimeRanges` do not name. */
  readonly timeRange: TimeRangeSpec;
  /** Ranges of single families, for reads of every family. */
  readonly familyTimeRanges: ReadonlyMap<string, TimeRangeSpec>;
  /** Versions a column at most, 1 … 2^31-1. */
  readonly versions: number;
  /** Cells at most of one row and family after `storeOffset` skipped ones; STORE_LIMIT_NONE for no limit. */
  readonly storeLimit: number;
  readonly storeOffset: number;
  readonly readUncommitted: boolean;
  /** Commits at or below this TSO; null: the read point. */
  readonly asOf: bigint | null;
  readonly cacheBlocks: boolean;
  readonly loadColumnFamiliesOnDemand: boolean;
  /** As given; null for none. The filter layer reads it. */
  readonly filter: FilterInput | null;
}

export interface ScanSpec extends ReadSpec {
  /** First row, inclusive; empty: the table's first. In a reversed scan it is the lower end still. */
  readonly from: Uint8Array;
  /** End, exclusive; empty: the table's end. */
  readonly to: Uint8Array;
  readonly reversed: boolean;
  /** Rows at most; Infinity for all. */
  readonly limit: number;
  /** Cells a result at most; STORE_LIMIT_NONE for whole rows. */
  readonly batch: number;
  readonly maxResultSizeBytes: number;
  readonly raw: boolean;
}

export const STORE_LIMIT_NONE = 0x7fffffff;
/** HBase: hbase.client.scanner.max.result.size. */
export const MAX_RESULT_SIZE_DEFAULT: number = 2 * 1024 * 1024;
/** Bits of a TSO below its milliseconds. */
const TSO_LOGICAL_BITS = 18n;

export const ALL_TIME: TimeRangeSpec = {
  minHigh: 0,
  minLow: 0,
  maxHigh: 0x7fffffff,
  maxLow: 0xffffffff,
  isAllTime: true,
};

const NO_RANGES: ReadonlyMap<string, TimeRangeSpec> = new Map();

/** A read of everything's newest version: the spec of absent options. */
export const READ_DEFAULT: ReadSpec = {
  families: null,
  timeRange: ALL_TIME,
  familyTimeRanges: NO_RANGES,
  versions: 1,
  storeLimit: STORE_LIMIT_NONE,
  storeOffset: 0,
  readUncommitted: false,
  asOf: null,
  cacheBlocks: true,
  loadColumnFamiliesOnDemand: true,
  filter: null,
};

const READ_NAMES: ReadonlySet<string> = new Set([
  'columns',
  'families',
  'versions',
  'timeRange',
  'ts',
  'familyTimeRanges',
  'storeLimit',
  'storeOffset',
  'isolation',
  'asOf',
  'cacheBlocks',
  'loadColumnFamiliesOnDemand',
  'filter',
]);

const SCAN_NAMES: ReadonlySet<string> = new Set([
  ...READ_NAMES,
  'start',
  'startInclusive',
  'stop',
  'stopInclusive',
  'prefix',
  'reversed',
  'limit',
  'batch',
  'maxResultSizeBytes',
  'raw',
]);

/** The spec of a get, exists or getMany. */
export function normalizeRead(options: ReadOptions | undefined): ReadSpec {
  if (options === undefined) return READ_DEFAULT;
  requireObject(options, 'read');
  checkOptionNames(options, READ_NAMES, 'a read');
  return readSpec(options);
}

/** The spec of a scan. Row bytes are copied: the caller may change its own afterwards. */
export function normalizeScan(options: ScanOptions | undefined): ScanSpec {
  const given = options ?? {};
  requireObject(given, 'scan');
  checkOptionNames(given, SCAN_NAMES, 'a scan');
  const read = readSpec(given);
  const raw = flag(given.raw, 'raw', false);
  if (raw && read.families?.some((family) => family.qualifiers !== null) === true) {
    throw new DoNotRetryIOException('Cannot specify any column for a raw scan');
  }
  const { from, to } = rowsOf(given);
  // Every field by its name: a scan of a few rows would spend more on spread objects than on its rows.
  return {
    families: read.families,
    timeRange: read.timeRange,
    familyTimeRanges: read.familyTimeRanges,
    versions: read.versions,
    storeLimit: read.storeLimit,
    storeOffset: read.storeOffset,
    readUncommitted: read.readUncommitted,
    asOf: read.asOf,
    cacheBlocks: read.cacheBlocks,
    loadColumnFamiliesOnDemand: read.loadColumnFamiliesOnDemand,
    filter: read.filter,
    from,
    to,
    reversed: flag(given.reversed, 'reversed', false),
    limit: count(given.limit, 'limit', 0, Infinity),
    batch: count(given.batch, 'batch', 1, STORE_LIMIT_NONE),
    maxResultSizeBytes: count(
      given.maxResultSizeBytes,
      'maxResultSizeBytes',
      1,
      MAX_RESULT_SIZE_DEFAULT,
    ),
    raw,
  };
}

/** A time range in halves. `what` names it in errors. HBase: TimeRange. */
export function toTimeRange(range: TimeRange | undefined, what: string): TimeRangeSpec {
  if (range === undefined) return ALL_TIME;
  requireObject(range, what);
  checkOptionNames(range, RANGE_NAMES, what);
  const min = range.min === undefined ? 0n : toTimestamp(range.min, `${what}.min`);
  const max = range.max === undefined ? LATEST : toTimestamp(range.max, `${what}.max`);
  if (max < min) {
    throw new IllegalArgumentException(
      `maxStamp is smaller than minStamp: ${what} is [${min}, ${max})`,
    );
  }
  return rangeOf(min, max);
}

const RANGE_NAMES: ReadonlySet<string> = new Set(['min', 'max']);

function rangeOf(min: bigint, max: bigint): TimeRangeSpec {
  if (min === 0n && max === LATEST) return ALL_TIME;
  return {
    minHigh: Number(min >> 32n),
    minLow: Number(min & 0xffffffffn),
    maxHigh: Number(max >> 32n),
    maxLow: Number(max & 0xffffffffn),
    isAllTime: false,
  };
}

/** The last TSO that a read as of `asOf` sees; null for now. */
export function toAsOf(asOf: AsOf | undefined): bigint | null {
  if (asOf === undefined || asOf === 'now') return null;
  if (typeof asOf === 'bigint') return toTimestamp(asOf, 'asOf');
  if (asOf instanceof Date && Number.isSafeInteger(asOf.getTime()) && asOf.getTime() >= 0) {
    return ((BigInt(asOf.getTime()) + 1n) << TSO_LOGICAL_BITS) - 1n;
  }
  throw new IllegalArgumentException(
    `asOf must be a TSO (bigint), a valid Date or 'now', not ${shown(asOf)}`,
  );
}

function readSpec(options: ReadOptions): ReadSpec {
  const timeRange = mainTimeRange(options);
  const familyTimeRanges = rangesOf(options.familyTimeRanges);
  return {
    families: familiesOf(options, timeRange, familyTimeRanges),
    timeRange,
    familyTimeRanges,
    versions: versionsOf(options.versions),
    storeLimit: count(options.storeLimit, 'storeLimit', 0, STORE_LIMIT_NONE),
    storeOffset: count(options.storeOffset, 'storeOffset', 0, 0),
    readUncommitted: isUncommitted(options.isolation),
    asOf: toAsOf(options.asOf),
    cacheBlocks: flag(options.cacheBlocks, 'cacheBlocks', true),
    loadColumnFamiliesOnDemand: flag(
      options.loadColumnFamiliesOnDemand,
      'loadColumnFamiliesOnDemand',
      true,
    ),
    filter: filterOf(options.filter),
  };
}

function mainTimeRange(options: ReadOptions): TimeRangeSpec {
  if (options.ts === undefined) return toTimeRange(options.timeRange, 'timeRange');
  if (options.timeRange !== undefined) {
    throw new IllegalArgumentException('ts and timeRange exclude each other');
  }
  const ts = toTimestamp(options.ts, 'ts');
  if (ts === LATEST) throw new IllegalArgumentException(`invalid ts:${ts}`);
  return rangeOf(ts, ts + 1n);
}

function rangesOf(ranges: ReadOptions['familyTimeRanges']): ReadonlyMap<string, TimeRangeSpec> {
  if (ranges === undefined) return NO_RANGES;
  requireObject(ranges, 'familyTimeRanges');
  const specs = new Map<string, TimeRangeSpec>();
  for (const [family, range] of Object.entries(ranges)) {
    checkFamilyName(family);
    specs.set(family, toTimeRange(range, `familyTimeRanges.${family}`));
  }
  return specs;
}

/** Columns grouped by family. A family named whole, or as a column without ':', is read whole whatever else is named of it. */
function familiesOf(
  options: ReadOptions,
  timeRange: TimeRangeSpec,
  ranges: ReadonlyMap<string, TimeRangeSpec>,
): readonly FamilyReadSpec[] | null {
  const { columns = [], families = [] } = options;
  requireArray(columns, 'columns');
  requireArray(families, 'families');
  if (columns.length === 0 && families.length === 0) return null;
  const byFamily = new Map<string, Uint8Array[] | null>();
  for (const column of columns) {
    const { family, qualifier } = parseReadColumn(column);
    const qualifiers = byFamily.get(family);
    if (qualifier === null) byFamily.set(family, null);
    else if (qualifiers === undefined) byFamily.set(family, [qualifier]);
    else if (qualifiers !== null) qualifiers.push(qualifier);
  }
  for (const family of families) {
    checkFamilyName(family);
    byFamily.set(family, null);
  }
  // Names are ASCII, so the order of code units is that of bytes.
  return [...byFamily.keys()].sort().map((family) => ({
    family,
    qualifiers: sortedOnce(byFamily.get(family) ?? null),
    timeRange: ranges.get(family) ?? timeRange,
  }));
}

/** A column to read; a null qualifier stands for the whole family (`'f'`), an empty one for the column `'f:'`. */
export function parseReadColumn(column: Column): {
  family: string;
  qualifier: Uint8Array | null;
} {
  if (typeof column === 'string') {
    const colon = column.indexOf(':');
    const family = colon < 0 ? column : column.slice(0, colon);
    checkFamilyName(family);
    const qualifier = colon < 0 ? null : toArgumentBytes(column.slice(colon + 1), 'A qualifier');
    return { family, qualifier };
  }
  requireArray(column, 'A column that is no string');
  const [family, qualifier] = column;
  checkFamilyName(family);
  return {
    family,
    qualifier: Uint8Array.from(toArgumentBytes(qualifier, `Qualifier of ${family}`)),
  };
}

function sortedOnce(qualifiers: Uint8Array[] | null): readonly Uint8Array[] | null {
  if (qualifiers === null) return null;
  qualifiers.sort(compareBytes);
  return qualifiers.filter((q, index) => index === 0 || !equalBytes(q, qualifiers[index - 1]!));
}

/** Both ends as a half-open range. In a reversed scan `start` is the upper end. */
function rowsOf(options: ScanOptions): { from: Uint8Array; to: Uint8Array } {
  const { prefix, start, stop } = options;
  const startInclusive = flag(options.startInclusive, 'startInclusive', true);
  const stopInclusive = flag(options.stopInclusive, 'stopInclusive', false);
  if (prefix !== undefined) {
    if (start !== undefined || stop !== undefined) {
      throw new IllegalArgumentException('prefix and start or stop exclude each other');
    }
    const from = boundary(prefix, 'prefix');
    return { from, to: afterPrefix(from) };
  }
  const startRow = boundary(start ?? '', 'start');
  const stopRow = boundary(stop ?? '', 'stop');
  if (options.reversed === true) {
    return {
      from: stopInclusive ? stopRow : justAfter(stopRow),
      to: startInclusive ? justAfter(startRow) : startRow,
    };
  }
  return {
    from: startInclusive ? startRow : justAfter(startRow),
    to: stopInclusive ? justAfter(stopRow) : stopRow,
  };
}

function boundary(row: Bytes, what: string): Uint8Array {
  const bytes = toArgumentBytes(row, what);
  if (bytes.length > ROW_LENGTH_MAX) {
    throw new IllegalArgumentException(
      `Row length ${bytes.length} is > ${ROW_LENGTH_MAX} (option ${what})`,
    );
  }
  return Uint8Array.from(bytes);
}

/** The least row after `row`; an empty one is an open end and stays. */
function justAfter(row: Uint8Array): Uint8Array {
  if (row.length === 0) return row;
  const after = new Uint8Array(row.length + 1);
  after.set(row);
  return after;
}

function versionsOf(versions: number | undefined): number {
  if (versions === Infinity) return 0x7fffffff;
  if (typeof versions === 'number' && versions < 1) {
    throw new IllegalArgumentException(`versions must be positive: ${versions}`);
  }
  return count(versions, 'versions', 1, 1);
}

function count(value: number | undefined, what: string, min: number, absent: number): number {
  if (value === undefined) return absent;
  if (value === Infinity && absent === Infinity) return value;
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new IllegalArgumentException(`${what} must be an integer, not ${shown(value)}`);
  }
  if (value < min) throw new IllegalArgumentException(`${what} is below ${min}: ${value}`);
  if (value > 0x7fffffff && absent !== Infinity) {
    throw new IllegalArgumentException(`${what} is above ${0x7fffffff}: ${value}`);
  }
  return value;
}

function flag(value: boolean | undefined, what: string, absent: boolean): boolean {
  if (value === undefined) return absent;
  if (typeof value !== 'boolean') {
    throw new IllegalArgumentException(`${what} must be true or false, not ${shown(value)}`);
  }
  return value;
}

function isUncommitted(isolation: ReadOptions['isolation']): boolean {
  if (isolation === undefined || isolation === 'READ_COMMITTED') return false;
  if (isolation === 'READ_UNCOMMITTED') return true;
  throw new IllegalArgumentException(
    `isolation must be READ_COMMITTED or READ_UNCOMMITTED, not ${shown(isolation)}`,
  );
}

/** Its kind only: what is in it is judged where filters are made. */
function filterOf(filter: FilterInput | undefined): FilterInput | null {
  if (filter === undefined) return null;
  const kind = typeof filter;
  if (kind === 'string' || kind === 'function' || (kind === 'object' && filter !== null)) {
    return filter;
  }
  throw new IllegalArgumentException(
    `filter must be a filter, its text or a function that makes one, not ${shown(filter)}`,
  );
}

function requireObject(value: unknown, what: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new IllegalArgumentException(`Options of ${what} must be an object, not ${shown(value)}`);
  }
}

function requireArray(value: unknown, what: string): void {
  if (!Array.isArray(value)) {
    throw new IllegalArgumentException(`${what} must be an array, not ${shown(value)}`);
  }
}
