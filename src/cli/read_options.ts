/** Options that get, scan and count share, and what they become. */
import { Option, type Command } from 'commander';
import { fromStringBinary } from '../cell/index.ts';
import type { AsOf, Column, ReadOptions, ScanOptions, TimeRange } from '../model/index.ts';
import {
  parseAsOf,
  parseColumn,
  parseCount,
  parseInteger,
  parseTimeRange,
  parseVersions,
} from './arguments.ts';
import { UsageError } from './context.ts';
import type { GlobalOptions } from './context.ts';

export interface ReadFlags extends GlobalOptions {
  readonly columns?: string[];
  readonly versions?: number;
  readonly ts?: bigint;
  readonly timeRange?: TimeRange;
  readonly asOf?: AsOf;
  readonly filter?: string;
}

export interface ScanFlags extends ReadFlags {
  readonly start?: string;
  readonly startExclusive?: boolean;
  readonly stop?: string;
  readonly stopInclusive?: boolean;
  readonly prefix?: string;
  readonly reversed?: boolean;
  readonly limit?: number;
  readonly raw?: boolean;
}

/** Adds the options of every read. */
export function addReadOptions(command: Command): Command {
  return command
    .option('--versions <N>', 'versions a column at most, or ALL', parseVersions)
    .option('--ts <MS>', 'only cells of this timestamp', parseInteger)
    .option('--time-range <MIN,MAX>', 'only timestamps from MIN to before MAX', parseTimeRange)
    .option('--as-of <TIME>', 'as of a TSO or a time (ISO 8601, or milliseconds)', parseAsOf)
    .option('--filter <TEXT>', "a filter in HBase's filter language: PrefixFilter('r1') AND …");
}

/** Adds the options of scan and count. */
export function addScanOptions(command: Command): Command {
  return addReadOptions(command)
    .addOption(
      new Option('--columns <COLUMN,...>', 'families or columns, fam or fam:qual').argParser(
        (text: string) => text.split(','),
      ),
    )
    .option('--start <ROW>', 'first row')
    .option('--start-exclusive', 'leave the first row out')
    .option('--stop <ROW>', 'row to stop before')
    .option('--stop-inclusive', 'take the last row too')
    .option('--prefix <BYTES>', 'rows that begin with these bytes')
    .option('--reversed', 'from the last row to the first')
    .option('--limit <N>', 'rows at most', (text: string) => parseCount(text))
    .option('--raw', 'delete markers and hidden cells too');
}

/** Flags as options of a read of these columns. */
export function readOptionsOf(flags: ReadFlags, columns: readonly string[]): ReadOptions {
  const parsed: readonly Column[] = columns.map((column) => parseColumn(column));
  return {
    ...(parsed.length === 0 ? {} : { columns: parsed }),
    ...(flags.versions === undefined ? {} : { versions: flags.versions }),
    ...(flags.ts === undefined ? {} : { ts: flags.ts }),
    ...(flags.timeRange === undefined ? {} : { timeRange: flags.timeRange }),
    ...(flags.asOf === undefined ? {} : { asOf: flags.asOf }),
    ...(flags.filter === undefined ? {} : { filter: fromStringBinary(flags.filter) }),
  };
}

/** Flags as options of a scan. Rows are `toStringBinary`. */
export function scanOptionsOf(flags: ScanFlags): ScanOptions {
  if (flags.prefix !== undefined && (flags.start !== undefined || flags.stop !== undefined)) {
    throw new UsageError('--prefix and --start or --stop exclude each other');
  }
  return {
    ...readOptionsOf(flags, flags.columns ?? []),
    ...(flags.start === undefined ? {} : { start: fromStringBinary(flags.start) }),
    ...(flags.startExclusive === true ? { startInclusive: false } : {}),
    ...(flags.stop === undefined ? {} : { stop: fromStringBinary(flags.stop) }),
    ...(flags.stopInclusive === true ? { stopInclusive: true } : {}),
    ...(flags.prefix === undefined ? {} : { prefix: fromStringBinary(flags.prefix) }),
    ...(flags.reversed === true ? { reversed: true } : {}),
    ...(flags.limit === undefined ? {} : { limit: flags.limit }),
    ...(flags.raw === true ? { raw: true } : {}),
  };
}
