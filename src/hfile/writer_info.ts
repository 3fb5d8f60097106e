/** What a writer counts while cells go by, and the file info it makes of that (keys in properties.ts). */
import { TYPE_PUT, putU32, putU64, u32 } from '../cell/index.ts';
import type { CellView } from '../cell/index.ts';
import type { BloomType } from './bloom.ts';
import type { EncodingName } from './block_decoding.ts';
import {
  INFO_AVG_KEY_LEN,
  INFO_AVG_VALUE_LEN,
  INFO_BLOOM_PARAM,
  INFO_BLOOM_TYPE,
  INFO_COMPACTION_EVENT,
  INFO_CREATE_TIME_TS,
  INFO_DELETE_FAMILY_COUNT,
  INFO_EARLIEST_PUT_TS,
  INFO_ENCODING,
  INFO_EXCLUDE_FROM_MINOR,
  INFO_HISTORICAL,
  INFO_KEY_OF_BIGGEST_CELL,
  INFO_KEY_VALUE_VERSION,
  INFO_LAST_BLOOM_KEY,
  INFO_LAST_KEY,
  INFO_LEN_OF_BIGGEST_CELL,
  INFO_MAJOR_COMPACTION,
  INFO_MAX_MEMSTORE_TS,
  INFO_MAX_SEQ_ID,
  INFO_MAX_TAGS_LEN,
  INFO_TAGS_COMPRESSED,
  INFO_TIMERANGE,
  KEY_VALUE_VERSION_WITH_WRITE_NUMBERS,
  reachesToZero,
} from './properties.ts';

/** HBase counts the biggest cell with the length that precedes it on the wire. */
const BIGGEST_CELL_PREFIX = 4;

/** Unsigned 64-bit extremes are kept as two halves: this runs once a cell. */
export class CellStatistics {
  cellCount = 0;
  rowCount = 0;
  cellBytes = 0;
  keyBytes = 0;
  valueBytes = 0;
  putCount = 0;
  deleteFamilyCount = 0;
  tagsLengthMax = 0;
  biggestKey: Uint8Array = new Uint8Array(0);
  biggestLength = 0;
  #reachesToZero = false;
  #timestampMinHigh = 0xffffffff;
  #timestampMinLow = 0xffffffff;
  #timestampMaxHigh = 0;
  #timestampMaxLow = 0;
  #putMinHigh = 0x7fffffff;
  #putMinLow = 0xffffffff;
  #writeMinHigh = 0xffffffff;
  #writeMinLow = 0xffffffff;
  #writeMaxHigh = 0;
  #writeMaxLow = 0;

  add(cell: CellView, keyLength: number, startsRow: boolean): void {
    const { block, timestampAt, writeHigh, writeLow } = cell;
    this.cellCount++;
    if (startsRow) this.rowCount++;
    this.keyBytes += keyLength;
    this.valueBytes += cell.valueLength;
    this.cellBytes += cell.length;
    if (cell.tagsLength > this.tagsLengthMax) this.tagsLengthMax = cell.tagsLength;
    if (cell.length > this.biggestLength) {
      this.biggestLength = cell.length;
      this.biggestKey = Uint8Array.from(block.subarray(cell.at + 8, cell.at + 8 + keyLength));
    }
    const high = u32(block, timestampAt);
    const low = u32(block, timestampAt + 4);
    const type = block[timestampAt + 8]!;
    if (
      high < this.#timestampMinHigh ||
      (high === this.#timestampMinHigh && low < this.#timestampMinLow)
    ) {
      this.#timestampMinHigh = high;
      this.#timestampMinLow = low;
    }
    if (
      high > this.#timestampMaxHigh ||
      (high === this.#timestampMaxHigh && low > this.#timestampMaxLow)
    ) {
      this.#timestampMaxHigh = high;
      this.#timestampMaxLow = low;
    }
    if (type === TYPE_PUT) {
      this.putCount++;
      if (high < this.#putMinHigh || (high === this.#putMinHigh && low < this.#putMinLow)) {
        this.#putMinHigh = high;
        this.#putMinLow = low;
      }
    } else if (reachesToZero(type)) this.#reachesToZero = true;
    if (
      writeHigh < this.#writeMinHigh ||
      (writeHigh === this.#writeMinHigh && writeLow < this.#writeMinLow)
    ) {
      this.#writeMinHigh = writeHigh;
      this.#writeMinLow = writeLow;
    }
    if (
      writeHigh > this.#writeMaxHigh ||
      (writeHigh === this.#writeMaxHigh && writeLow > this.#writeMaxLow)
    ) {
      this.#writeMaxHigh = writeHigh;
      this.#writeMaxLow = writeLow;
    }
  }

  get earliestPut(): bigint {
    return join(this.#putMinHigh, this.#putMinLow);
  }

  get writeMax(): bigint {
    return join(this.#writeMaxHigh, this.#writeMaxLow);
  }

  summary(): {
    cellCount: number;
    rowCount: number;
    cellBytes: number;
    putCount: number;
    deleteCount: number;
    deleteFamilyCount: number;
    timestampMin: bigint;
    timestampMax: bigint;
    timeRangeMin: bigint;
    writeMin: bigint;
    writeMax: bigint;
  } {
    const isEmpty = this.cellCount === 0;
    const timestampMin = isEmpty ? 0n : join(this.#timestampMinHigh, this.#timestampMinLow);
    return {
      cellCount: this.cellCount,
      rowCount: this.rowCount,
      cellBytes: this.cellBytes,
      putCount: this.putCount,
      deleteCount: this.cellCount - this.putCount,
      deleteFamilyCount: this.deleteFamilyCount,
      timestampMin,
      timestampMax: join(this.#timestampMaxHigh, this.#timestampMaxLow),
      timeRangeMin: this.#reachesToZero ? 0n : timestampMin,
      writeMin: isEmpty ? 0n : join(this.#writeMinHigh, this.#writeMinLow),
      writeMax: this.writeMax,
    };
  }
}

function join(high: number, low: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}

function int(value: number): Uint8Array {
  const buf = new Uint8Array(4);
  putU32(buf, 0, value);
  return buf;
}

function long(value: bigint): Uint8Array {
  const buf = new Uint8Array(8);
  putU64(buf, 0, BigInt.asUintN(64, value));
  return buf;
}

function flag(value: boolean): Uint8Array {
  return Uint8Array.of(value ? 0xff : 0);
}

export interface InfoOptions {
  readonly createdMs: number;
  readonly encoding?: EncodingName;
  readonly bloomType?: BloomType;
  readonly bloomPrefixLength?: number;
  readonly hasTags?: boolean;
  readonly hasWriteNumbers?: boolean;
  readonly maxSequenceId?: bigint;
  readonly isMajorCompaction?: boolean;
  readonly isExcludedFromMinorCompaction?: boolean;
  readonly extraInfo?: ReadonlyMap<string, Uint8Array>;
}

export interface InfoKeys {
  readonly lastKey: Uint8Array;
  readonly lastBloomKey: Uint8Array;
  readonly hasBloom: boolean;
}

/** The file info of a store file as HBase's writer gives it. */
export function fileInfoOf(
  statistics: CellStatistics,
  options: InfoOptions,
  keys: InfoKeys,
): Map<string, Uint8Array> {
  const info = new Map<string, Uint8Array>(options.extraInfo ?? []);
  const { cellCount } = statistics;
  const average = (total: number): Uint8Array =>
    int(cellCount === 0 ? 0 : Math.trunc(total / cellCount));
  info.set(INFO_AVG_KEY_LEN, average(statistics.keyBytes));
  info.set(INFO_AVG_VALUE_LEN, average(statistics.valueBytes));
  info.set(INFO_CREATE_TIME_TS, long(BigInt(options.createdMs)));
  if (cellCount > 0) {
    const { timeRangeMin, timestampMax } = statistics.summary();
    info.set(INFO_LAST_KEY, keys.lastKey);
    info.set(INFO_KEY_OF_BIGGEST_CELL, statistics.biggestKey);
    info.set(
      INFO_LEN_OF_BIGGEST_CELL,
      long(BigInt(statistics.biggestLength + BIGGEST_CELL_PREFIX)),
    );
    info.set(INFO_TIMERANGE, Buffer.concat([long(timeRangeMin), long(timestampMax)]));
  }
  info.set(INFO_EARLIEST_PUT_TS, long(statistics.earliestPut));
  info.set(INFO_DELETE_FAMILY_COUNT, long(BigInt(statistics.deleteFamilyCount)));
  info.set(INFO_MAJOR_COMPACTION, flag(options.isMajorCompaction ?? false));
  info.set(INFO_HISTORICAL, flag(false));
  info.set(INFO_COMPACTION_EVENT, Buffer.from('PBUF'));
  if (options.isExcludedFromMinorCompaction === true) info.set(INFO_EXCLUDE_FROM_MINOR, flag(true));
  if (options.maxSequenceId !== undefined) info.set(INFO_MAX_SEQ_ID, long(options.maxSequenceId));
  if (options.hasTags === true) {
    info.set(INFO_MAX_TAGS_LEN, int(statistics.tagsLengthMax));
    info.set(INFO_TAGS_COMPRESSED, flag(false));
  }
  if (options.hasWriteNumbers ?? true) {
    info.set(INFO_KEY_VALUE_VERSION, int(KEY_VALUE_VERSION_WITH_WRITE_NUMBERS));
    info.set(INFO_MAX_MEMSTORE_TS, long(statistics.writeMax));
  }
  if (options.encoding !== undefined && options.encoding !== 'NONE') {
    info.set(INFO_ENCODING, Buffer.from(options.encoding));
  }
  if (keys.hasBloom) {
    info.set(INFO_BLOOM_TYPE, Buffer.from(options.bloomType ?? 'NONE'));
    info.set(INFO_LAST_BLOOM_KEY, keys.lastBloomKey);
    if (options.bloomType === 'ROWPREFIX_FIXED_LENGTH') {
      info.set(INFO_BLOOM_PARAM, int(options.bloomPrefixLength ?? 0));
    }
  }
  return info;
}
