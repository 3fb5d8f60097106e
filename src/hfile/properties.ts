/** The file info that the engine acts on, decoded (protocol/files.md section 1.8). */
import { TYPE_DELETE_COLUMN, TYPE_DELETE_FAMILY, u32, u64 } from '../cell/index.ts';
import type { BloomType } from './bloom.ts';
import { check } from './fault.ts';
import type { FileInfo } from './metadata.ts';

/** Keys of the file info. On disk. */
export const INFO_LAST_KEY = 'hfile.LASTKEY';
export const INFO_AVG_KEY_LEN = 'hfile.AVG_KEY_LEN';
export const INFO_AVG_VALUE_LEN = 'hfile.AVG_VALUE_LEN';
export const INFO_CREATE_TIME_TS = 'hfile.CREATE_TIME_TS';
export const INFO_MAX_TAGS_LEN = 'hfile.MAX_TAGS_LEN';
export const INFO_TAGS_COMPRESSED = 'hfile.TAGS_COMPRESSED';
export const INFO_KEY_OF_BIGGEST_CELL = 'hfile.KEY_OF_BIGGEST_CELL';
export const INFO_LEN_OF_BIGGEST_CELL = 'hfile.LEN_OF_BIGGEST_CELL';
export const INFO_KEY_VALUE_VERSION = 'KEY_VALUE_VERSION';
export const INFO_MAX_MEMSTORE_TS = 'MAX_MEMSTORE_TS_KEY';
export const INFO_ENCODING = 'DATA_BLOCK_ENCODING';
export const INFO_BLOOM_TYPE = 'BLOOM_FILTER_TYPE';
export const INFO_BLOOM_PARAM = 'BLOOM_FILTER_PARAM';
export const INFO_LAST_BLOOM_KEY = 'LAST_BLOOM_KEY';
export const INFO_DELETE_FAMILY_COUNT = 'DELETE_FAMILY_COUNT';
export const INFO_TIMERANGE = 'TIMERANGE';
export const INFO_EARLIEST_PUT_TS = 'EARLIEST_PUT_TS';
export const INFO_MAX_SEQ_ID = 'MAX_SEQ_ID_KEY';
export const INFO_MAJOR_COMPACTION = 'MAJOR_COMPACTION_KEY';
export const INFO_EXCLUDE_FROM_MINOR = 'EXCLUDE_FROM_MINOR_COMPACTION';
export const INFO_COMPACTION_EVENT = 'COMPACTION_EVENT_KEY';
export const INFO_HISTORICAL = 'HISTORICAL';
export const INFO_BULKLOAD_TIMESTAMP = 'BULKLOAD_TIMESTAMP';

/** KEY_VALUE_VERSION of a file whose cells carry write numbers. */
export const KEY_VALUE_VERSION_WITH_WRITE_NUMBERS = 1;

export interface HFileProperties {
  /** Flat key of the last cell; null in an empty file. */
  readonly lastKey: Uint8Array | null;
  readonly createdMs: bigint | null;
  readonly hasTags: boolean;
  /** Cells carry a vlong after them. */
  readonly hasWriteNumbers: boolean;
  /** The greatest of them; 0 if the file has none. */
  readonly writeNumberMax: bigint;
  readonly encoding: string;
  readonly bloomType: BloomType;
  readonly bloomPrefixLength: number;
  /** Null: not stated. */
  readonly deleteFamilyCount: bigint | null;
  /**
   * First and last timestamp, both inclusive; null if not stated. A file with DeleteColumn or DeleteFamily markers begins at 0.
   */
  readonly timeRange: { readonly min: bigint; readonly max: bigint } | null;
  readonly earliestPutMs: bigint | null;
  readonly maxSequenceId: bigint | null;
  readonly isMajorCompacted: boolean;
  readonly isExcludedFromMinorCompaction: boolean;
}

/** Whether a marker of this type reaches down to timestamp 0 (HBase: PrivateCellUtil#isDeleteColumnOrFamily). */
export function reachesToZero(type: number): boolean {
  return type === TYPE_DELETE_COLUMN || type === TYPE_DELETE_FAMILY;
}

/** Throws FormatFault on values of a wrong length, and on files that we cannot read. */
export function readProperties(info: FileInfo): HFileProperties {
  const version = info.get(INFO_KEY_VALUE_VERSION);
  const hasWriteNumbers =
    version !== undefined && u32(sized(version, 4), 0) === KEY_VALUE_VERSION_WITH_WRITE_NUMBERS;
  check(
    !isTrue(info.get(INFO_TAGS_COMPRESSED)) ||
      !info.has(INFO_MAX_TAGS_LEN) ||
      !info.has(INFO_ENCODING),
    'the tags of the file are compressed with a dictionary, which is not supported',
  );
  return {
    lastKey: info.get(INFO_LAST_KEY) ?? null,
    createdMs: long(info, INFO_CREATE_TIME_TS),
    hasTags: info.has(INFO_MAX_TAGS_LEN),
    hasWriteNumbers,
    writeNumberMax: (hasWriteNumbers ? long(info, INFO_MAX_MEMSTORE_TS) : null) ?? 0n,
    encoding: text(info, INFO_ENCODING) ?? 'NONE',
    bloomType: bloomTypeOf(text(info, INFO_BLOOM_TYPE)),
    bloomPrefixLength: int(info, INFO_BLOOM_PARAM) ?? 0,
    deleteFamilyCount: long(info, INFO_DELETE_FAMILY_COUNT),
    timeRange: timeRangeOf(info.get(INFO_TIMERANGE)),
    earliestPutMs: long(info, INFO_EARLIEST_PUT_TS),
    maxSequenceId: long(info, INFO_MAX_SEQ_ID),
    isMajorCompacted: isTrue(info.get(INFO_MAJOR_COMPACTION)),
    isExcludedFromMinorCompaction: isTrue(info.get(INFO_EXCLUDE_FROM_MINOR)),
  };
}

function sized(value: Uint8Array, length: number): Uint8Array {
  check(value.length === length, 'a value of the file info has a wrong length');
  return value;
}

function long(info: FileInfo, key: string): bigint | null {
  const value = info.get(key);
  return value === undefined ? null : BigInt.asIntN(64, u64(sized(value, 8), 0));
}

function int(info: FileInfo, key: string): number | null {
  const value = info.get(key);
  return value === undefined ? null : u32(sized(value, 4), 0) | 0;
}

function text(info: FileInfo, key: string): string | null {
  const value = info.get(key);
  return value === undefined ? null : Buffer.from(value).toString('latin1');
}

function isTrue(value: Uint8Array | undefined): boolean {
  return value !== undefined && value.length === 1 && value[0] !== 0;
}

function bloomTypeOf(name: string | null): BloomType {
  switch (name) {
    case 'ROW':
    case 'ROWCOL':
    case 'ROWPREFIX_FIXED_LENGTH':
      return name;
    case null:
    case 'NONE':
      return 'NONE';
    default:
      check(false, 'the Bloom filter has an unknown type');
      return 'NONE';
  }
}

/** The old form, a TimeRangeTracker in protobuf, has at least the 4 bytes `PBUF`: read as not stated. */
function timeRangeOf(value: Uint8Array | undefined): HFileProperties['timeRange'] {
  if (value === undefined || value.length !== 16) return null;
  return {
    min: BigInt.asIntN(64, u64(value, 0)),
    max: BigInt.asIntN(64, u64(value, 8)),
  };
}
