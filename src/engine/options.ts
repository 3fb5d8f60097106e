/** Options of `open`, checked and with their defaults. */
import type { Logger } from './logger.ts';
import type { Env } from '../io/index.ts';
import {
  IllegalArgumentException,
  checkOptionNames,
  requireObject,
  shown,
} from '../model/index.ts';
import type { Durability } from '../model/index.ts';
import type { OffPeakHours } from '../region/index.ts';
import { checkKnobs } from '../tso/index.ts';
import type { TsoKnobs } from '../tso/index.ts';

export interface OpenOptions {
  /** What USE_DEFAULT means: by default FSYNC_WAL. */
  readonly durability?: Exclude<Durability, 'USE_DEFAULT'>;
  /** Memory of all memstores, indexes included. Default 64 MiB. */
  readonly memstoreBytes?: number;
  /** Memory of one region's memstores. Default: as `memstoreBytes`. */
  readonly regionMemstoreBytes?: number;
  /** Memory of the block cache. Default 64 MiB. */
  readonly blockCacheBytes?: number;
  /** Bytes of log on the disk beyond which the region that holds the oldest is flushed. Default 256 MiB. */
  readonly logBytesMax?: number;
  /** Bytes a second that compactions write at most; 0, the default: as fast as it goes. */
  readonly compactionBytesPerSecond?: number;
  /**
   * Hours of the day (local time) in which compactions take larger files, too, with a ratio of 5 in place of 1.2
   * (HBase: hbase.offpeak.start.hour, end.hour). Default: none.
   */
  readonly offPeakHours?: OffPeakHours;
  /** Whether stores are compacted by themselves. Default true. */
  readonly autoCompact?: boolean;
  /** How long what was overwritten, deleted or dropped stays readable as of before. Default one hour. */
  readonly historyRetentionMs?: number;
  /** Bytes of history files a table may have; the oldest go first. Default: 256 MiB or a tenth of the table, the larger. */
  readonly historyBytesMax?: number;
  /** History files of one store beyond which small ones are merged. At least 2, default 8. */
  readonly historyFilesMax?: number;
  /** How long a write waits for memory before RegionTooBusyException. Default 5000. */
  readonly busyTimeoutMs?: number;
  /** Size of a log segment, allocated ahead. Default 16 MiB. */
  readonly logSegmentBytes?: number;
  /** Longest time an ASYNC_WAL or SYNC_WAL commit stays unsynced. Default 200. */
  readonly asyncSyncMs?: number;
  /** Let a lone writer block the thread for its sync while the disk is quick. Default true. */
  readonly blockingSync?: boolean;
  /** Skip damaged places of the log instead of refusing to open; what was lost is reported to the logger. */
  readonly salvage?: boolean;
  /** Fail if the folder holds no store, rather than make one. */
  readonly mustExist?: boolean;
  /** Knobs of the timestamp oracle, by the names of the specification. */
  readonly oracle?: Partial<TsoKnobs>;
  /** Told to whoever finds the folder locked. */
  readonly address?: string;
  /** The embedded store logs nothing unless given one, e.g. a pino logger. */
  readonly logger?: Logger;
  /** The outside world; by default the real one. For tests and simulations. */
  readonly env?: Env;
}

const OPTION_NAMES: ReadonlySet<string> = new Set([
  'durability',
  'memstoreBytes',
  'regionMemstoreBytes',
  'blockCacheBytes',
  'logBytesMax',
  'compactionBytesPerSecond',
  'offPeakHours',
  'autoCompact',
  'historyRetentionMs',
  'historyBytesMax',
  'historyFilesMax',
  'busyTimeoutMs',
  'logSegmentBytes',
  'asyncSyncMs',
  'blockingSync',
  'salvage',
  'mustExist',
  'oracle',
  'address',
  'logger',
  'env',
]);
const HOURS_NAMES: ReadonlySet<string> = new Set(['start', 'end']);
const DURABILITIES: ReadonlySet<string> = new Set([
  'SKIP_WAL',
  'ASYNC_WAL',
  'SYNC_WAL',
  'FSYNC_WAL',
]);
const MEBIBYTE = 1024 * 1024;
const HOUR_MS: number = 60 * 60 * 1000;
const MEMSTORE_BYTES = 64 * MEBIBYTE;
const MEMSTORE_BYTES_MIN = MEBIBYTE;

export interface Settings {
  readonly durability: Exclude<Durability, 'USE_DEFAULT'>;
  readonly memstoreBytes: number;
  readonly regionMemstoreBytes: number;
  readonly blockCacheBytes: number;
  readonly logBytesMax: number;
  readonly compactionBytesPerSecond: number;
  readonly offPeakHours: OffPeakHours | null;
  readonly autoCompact: boolean;
  readonly historyRetentionMs: number;
  /** Null: in proportion to the table. */
  readonly historyBytesMax: number | null;
  readonly historyFilesMax: number;
  readonly busyTimeoutMs: number;
  readonly logSegmentBytes: number;
  readonly asyncSyncMs: number;
  readonly blockingSync: boolean;
  readonly salvage: boolean;
  readonly mustExist: boolean;
  readonly oracle: Partial<TsoKnobs>;
  readonly address: string | null;
}

/** Throws IllegalArgumentException, naming the option. */
export function settingsOf(options: OpenOptions): Settings {
  checkOptionNames(options, OPTION_NAMES, 'open');
  const durability = options.durability ?? 'FSYNC_WAL';
  if (!DURABILITIES.has(durability)) {
    throw new IllegalArgumentException(
      `durability must be one of ${[...DURABILITIES].join(', ')}, not '${String(durability)}'`,
    );
  }
  const memstoreBytes = bytesOf('memstoreBytes', options.memstoreBytes, MEMSTORE_BYTES);
  return {
    durability,
    memstoreBytes,
    regionMemstoreBytes: bytesOf('regionMemstoreBytes', options.regionMemstoreBytes, memstoreBytes),
    blockCacheBytes: countOf('blockCacheBytes', options.blockCacheBytes, 64 * MEBIBYTE, 0),
    logBytesMax: countOf('logBytesMax', options.logBytesMax, 256 * MEBIBYTE, MEBIBYTE),
    compactionBytesPerSecond: countOf(
      'compactionBytesPerSecond',
      options.compactionBytesPerSecond,
      0,
      0,
    ),
    offPeakHours: hoursOf(options.offPeakHours),
    autoCompact: flagOf('autoCompact', options.autoCompact, true),
    historyRetentionMs: countOf('historyRetentionMs', options.historyRetentionMs, HOUR_MS, 0),
    historyFilesMax: countOf('historyFilesMax', options.historyFilesMax, 8, 2),
    historyBytesMax:
      options.historyBytesMax === undefined
        ? null
        : countOf('historyBytesMax', options.historyBytesMax, 0, 0),
    busyTimeoutMs: countOf('busyTimeoutMs', options.busyTimeoutMs, 5000, 0),
    logSegmentBytes: countOf('logSegmentBytes', options.logSegmentBytes, 16 * MEBIBYTE, 64 * 1024),
    asyncSyncMs: countOf('asyncSyncMs', options.asyncSyncMs, 200, 1),
    blockingSync: flagOf('blockingSync', options.blockingSync, true),
    salvage: flagOf('salvage', options.salvage, false),
    mustExist: flagOf('mustExist', options.mustExist, false),
    oracle: knobsOf(options.oracle),
    address: addressOf(options.address),
  };
}

function flagOf(name: string, value: boolean | undefined, otherwise: boolean): boolean {
  if (value === undefined) return otherwise;
  if (typeof value !== 'boolean') {
    throw new IllegalArgumentException(`${name} must be true or false, not ${shown(value)}`);
  }
  return value;
}

function hoursOf(hours: OffPeakHours | undefined): OffPeakHours | null {
  if (hours === undefined) return null;
  requireObject(hours, 'offPeakHours');
  checkOptionNames(hours, HOURS_NAMES, 'offPeakHours');
  for (const name of ['start', 'end'] as const) {
    const hour: unknown = hours[name];
    if (Number.isInteger(hour) && 0 <= hours[name] && hours[name] <= 23) continue;
    throw new IllegalArgumentException(
      `offPeakHours.${name} must be an hour from 0 to 23, not ${shown(hour)}`,
    );
  }
  return hours;
}

function knobsOf(knobs: Partial<TsoKnobs> | undefined): Partial<TsoKnobs> {
  if (knobs === undefined) return {};
  requireObject(knobs, 'oracle');
  checkKnobs(knobs);
  return knobs;
}

function addressOf(address: string | undefined): string | null {
  if (address !== undefined && typeof address !== 'string') {
    throw new IllegalArgumentException(`address must be a string, not ${shown(address)}`);
  }
  return address ?? null;
}

const bytesOf = (name: string, value: number | undefined, otherwise: number): number =>
  countOf(name, value, otherwise, MEMSTORE_BYTES_MIN);

function countOf(
  name: string,
  value: number | undefined,
  otherwise: number,
  least: number,
): number {
  if (value === undefined) return otherwise;
  if (!Number.isSafeInteger(value) || value < least) {
    throw new IllegalArgumentException(
      `${name} must be an integer of at least ${least}, not ${shown(value)}`,
    );
  }
  return value;
}
