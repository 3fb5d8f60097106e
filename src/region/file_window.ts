/**
 * Which store files a read of one store can leave closed, by what the manifest says of each: its rows, the times of its
 * cells, their least write number. HBase: StoreFileReader#passesTimerangeFilter, passesKeyRangeFilter.
 *
 * A file's least time is 0 if a marker in it reaches down to there, so no file is passed over whose markers hide something
 * that the read would show; markers of one version have the time of what they hide. What the TTL of the family has
 * expired counts as absent, markers too, unless MIN_VERSIONS keeps some or the read is raw.
 */
import { NO_BYTES, compareRanges } from '../cell/index.ts';
import { ALL_TIME } from '../model/index.ts';
import type { FamilySettings, SourceRuledOut, TimeRangeSpec } from '../model/index.ts';
import { oldestUnexpired } from './scan/time_checks.ts';
import type { StoreFileInfo } from './store_file_info.ts';

/** Reusable: set for each read, then asked for each file. */
export class FileWindow {
  #range: TimeRangeSpec = ALL_TIME;
  /** Files whose newest cell is older are expired; `high` -1: none are. */
  #oldestHigh = -1;
  #oldestLow = 0;
  #from: Uint8Array = NO_BYTES;
  #to: Uint8Array = NO_BYTES;
  /** For reads of one row: the columns asked for, in byte order; null for the whole family. */
  qualifiers: readonly Uint8Array[] | null = null;
  #readHigh = 0xffffffff;
  #readLow = 0xffffffff;

  /** Times that the read shows. `nowMs` judges TTL. */
  setTimes(settings: FamilySettings, timeRange: TimeRangeSpec, raw: boolean, nowMs: number): void {
    // Each version that is there counts for NEW_VERSION_BEHAVIOR, whatever its time.
    this.#range = settings.newVersionBehavior ? ALL_TIME : timeRange;
    this.#oldestHigh = -1;
    if (raw || settings.minVersions > 0) return;
    const oldest = oldestUnexpired(settings.ttlSeconds, nowMs);
    this.#oldestHigh = oldest.high;
    this.#oldestLow = oldest.low;
  }

  /** Rows [from, to) and the read point in halves, for scans. Empty bounds are open. */
  setRows(from: Uint8Array, to: Uint8Array, readHigh: number, readLow: number): void {
    this.#from = from;
    this.#to = to;
    this.#readHigh = readHigh;
    this.#readLow = readLow;
  }

  /** Not null only if no cell of the file has a time that the read shows. */
  refusesTimes(file: StoreFileInfo): SourceRuledOut | null {
    const { maxTimestampHigh: maxHigh, maxTimestampLow: maxLow } = file;
    const isExpired =
      maxHigh < this.#oldestHigh || (maxHigh === this.#oldestHigh && maxLow < this.#oldestLow);
    if (isExpired) return 'TTL';
    const range = this.#range;
    if (range.isAllTime) return null;
    if (maxHigh < range.minHigh || (maxHigh === range.minHigh && maxLow < range.minLow)) {
      return 'time range';
    }
    const { minTimestampHigh: minHigh, minTimestampLow: minLow } = file;
    const isBefore =
      minHigh < range.maxHigh || (minHigh === range.maxHigh && minLow < range.maxLow);
    return isBefore ? null : 'time range';
  }

  /** Why the file has nothing for the read; null: it may have something. */
  refuses(file: StoreFileInfo): SourceRuledOut | null {
    const { firstRow, lastRow, minWriteHigh, minWriteLow } = file;
    if (firstRow === null || lastRow === null) return 'empty';
    const isLater =
      minWriteHigh > this.#readHigh ||
      (minWriteHigh === this.#readHigh && minWriteLow > this.#readLow);
    if (isLater) return 'write number';
    if (compare(lastRow, this.#from) < 0) return 'key range';
    if (this.#to.length > 0 && compare(firstRow, this.#to) >= 0) return 'key range';
    return this.refusesTimes(file);
  }
}

const compare = (a: Uint8Array, b: Uint8Array): number =>
  compareRanges(a, 0, a.length, b, 0, b.length);
