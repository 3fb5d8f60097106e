/**
 * The bytes of the write-ahead log (our own format). All integers big-endian. A log is a folder of segments
 * `NNNNNNNNNN.wal`; numbers grow and are never used twice, neighbours may differ by more than 1.
 *
 * Segment header:
 *     offset  size  field
 *          0     8  magic       "CELLWAL\n"
 *          8     4  version     1; a greater one is refused
 *         12     4  crc         CRC-32C of bytes 16 … 64
 *         16     4  number      1 … 2^32-1, equals the file name's
 *         20     4  previous    number of the segment before it, 0 for the first of a log: finds missing segments
 *         24     4  generation  how often the file was reused; 0 when new
 *         28     4  zero
 *         32     8  created     Unix milliseconds
 *         40    16  store id    zeros if the store has none
 *         56     8  zero
 *         64        records, each at a multiple of 8, then bytes of no meaning (zeros, or those of a former use)
 *
 * Record:
 *     offset  size  field
 *          0     4  magic       0xCE77A106
 *          4     4  crc         CRC-32C of the segment number (4 bytes) and bytes 8 … end of the padding
 *          8     4  length      bytes of header, nonce, label and body, without padding; 48 … 2^30-1
 *         12     1  kind        1 commit, 2 control, 3 … 239 free for upper layers, 240 … the log's own, see below
 *         13     1  flags       1 nonce, 2 label, 4 transaction; bits 4 … 6: durability that was asked for
 *         14     2  label       bytes of the label, 0 … 300
 *         16     8  synced to   segment (4) and offset (4): every byte of the log before it was on the disk
 *         24     8  tso         grows from record to record; the log's own kinds repeat the last one
 *         32    16  skipped     first and last TSO of the commits that skipped the log since the record before; 0 none
 *         48    16  nonce       group (8) and nonce (8), only with flag 1
 *          …     8  transaction the id of the transaction whose commit this is, only with flag 4
 *          …     n  label       UTF-8
 *          …     n  body
 *          …   0-7  padding     zeros up to a multiple of 8
 *
 * Body of a commit, groups one after the other (other kinds: opaque):
 *          0     4  table id
 *          4     4  family id; with its top bit set the group holds old values of the rows (CHANGE_BEFORE), not replayed
 *          8     4  bytes of the cells that follow
 *         12     n  cells, each: length (4) · KeyValue (cell/key_value.ts)
 *
 * What a reader does at a place where no whole record is: let S be the greatest `synced to` of all whole records, those
 * behind the place included. At or beyond S the log ends there; before S it is damaged (CorruptionException).
 * A segment that is followed by another ends with a record of kind 250.
 */
import { crc32c, putU32, u16, u32 } from '../cell/index.ts';
import { CorruptionException } from '../io/index.ts';
import { LogVersionException } from './errors.ts';

// On disk: these never change within a version.
export const LOG_VERSION = 1;
const SEGMENT_MAGIC: Uint8Array = Buffer.from('CELLWAL\n', 'latin1');
export const SEGMENT_HEADER_SIZE = 64;
export const STORE_ID_SIZE = 16;

export const RECORD_MAGIC = 0xce77a106;
export const CRC_AT = 4;
export const LENGTH_AT = 8;
export const KIND_AT = 12;
export const FLAGS_AT = 13;
export const LABEL_LENGTH_AT = 14;
export const SYNCED_TO_AT = 16;
export const TSO_AT = 24;
export const SKIPPED_AT = 32;
export const RECORD_HEADER_SIZE = 48;
export const NONCE_SIZE = 16;
export const LABEL_BYTES_MAX = 300;
export const RECORD_LENGTH_MAX = 0x3fffffff;
export const GROUP_HEADER_SIZE = 12;
export const CELL_HEADER_SIZE = 4;

export const FLAG_NONCE = 1;
export const FLAG_LABEL = 2;
export const FLAG_TRANSACTION = 4;
export const TRANSACTION_SIZE = 8;
/** Set in the family id of a group of old values: cells of the row before the commit (CHANGE_BEFORE). */
export const BEFORE_GROUP = 0x80000000;
export const DURABILITY_SHIFT = 4;

/** Kinds of record. On disk. */
export const KIND_COMMIT = 1;
export const KIND_CONTROL = 2;
/** From here on kinds are the log's own; their bodies are empty or of no meaning. */
export const KIND_OWN_MIN = 240;
/** The segment ends here, another follows. */
export const KIND_SEGMENT_END = 250;
/** The log was closed cleanly. */
export const KIND_CLOSE = 251;
/** Says which commits skipped the log when no other record could. */
export const KIND_SKIPPED = 252;
/** Lies over a damaged range after salvage; the body is what is left of it. */
export const KIND_LOST = 253;

/** What a commit asks for (HBase: Durability); on disk in the flags. */
export const SKIP_WAL = 1;
/** On the disk within a bounded time. */
export const ASYNC_WAL = 2;
/** Handed to the operating system: survives a killed process. */
export const SYNC_WAL = 3;
/** On the disk. */
export const FSYNC_WAL = 4;

export interface SegmentHeader {
  readonly number: number;
  readonly previous: number;
  readonly generation: number;
  readonly createdMs: number;
  /** 16 bytes. */
  readonly storeId: Uint8Array;
}

/** Rounds up to a multiple of 8. */
export function align8(length: number): number {
  return (length + 7) & ~7;
}

/** The start value of the CRC of records in this segment. */
export function segmentSeed(number: number): number {
  const bytes = new Uint8Array(4);
  putU32(bytes, 0, number);
  return crc32c(bytes, 0, 4);
}

/**
 * An upper bound of a commit's bytes in the log, for `LogWriter.roomFor`. Add up the bounds of several commits.
 * `cellBytes` is the sum of the KeyValues' lengths.
 */
export function commitSizeMax(size: {
  readonly cellBytes: number;
  readonly cellCount: number;
  readonly groupCount: number;
  readonly labelLength: number;
}): number {
  const body =
    size.cellBytes + size.cellCount * CELL_HEADER_SIZE + size.groupCount * GROUP_HEADER_SIZE;
  return controlSizeMax(body) + size.labelLength * 3;
}

/** An upper bound of the bytes of a record with an opaque body of `bodyLength` bytes and no label. */
export function controlSizeMax(bodyLength: number): number {
  return align8(RECORD_HEADER_SIZE + NONCE_SIZE + bodyLength) + 8;
}

export function encodeSegmentHeader(header: SegmentHeader): Uint8Array {
  const bytes = new Uint8Array(SEGMENT_HEADER_SIZE);
  bytes.set(SEGMENT_MAGIC, 0);
  putU32(bytes, 8, LOG_VERSION);
  putU32(bytes, 16, header.number);
  putU32(bytes, 20, header.previous);
  putU32(bytes, 24, header.generation);
  putU32(bytes, 32, Math.floor(header.createdMs / 2 ** 32));
  putU32(bytes, 36, header.createdMs >>> 0);
  bytes.set(header.storeId, 40);
  putU32(bytes, 12, crc32c(bytes, 16, SEGMENT_HEADER_SIZE - 16));
  return bytes;
}

/**
 * Reads a segment header from the first bytes of the file `path`. Throws LogVersionException for a newer version and
 * CorruptionException for anything that is no whole header.
 */
export function decodeSegmentHeader(bytes: Uint8Array, path: string): SegmentHeader {
  if (bytes.length < SEGMENT_HEADER_SIZE) {
    throw new CorruptionException(
      `log segment header is cut to ${bytes.length} bytes`,
      path,
      bytes.length,
    );
  }
  if (!SEGMENT_MAGIC.every((byte, i) => bytes[i] === byte)) {
    throw new CorruptionException('this is no log segment', path, 0);
  }
  const version = u32(bytes, 8);
  if (version > LOG_VERSION) throw new LogVersionException(path, version, LOG_VERSION);
  const crc = crc32c(bytes, 16, SEGMENT_HEADER_SIZE - 16);
  if (version === 0 || crc !== u32(bytes, 12)) {
    throw new CorruptionException('damaged log segment header', path, 8);
  }
  return {
    number: u32(bytes, 16),
    previous: u32(bytes, 20),
    generation: u32(bytes, 24),
    createdMs: u32(bytes, 32) * 2 ** 32 + u32(bytes, 36),
    storeId: bytes.slice(40, 40 + STORE_ID_SIZE),
  };
}

/** Completes records that lie end to end in `buf`: writes `synced to` and the CRC of each. */
export function sealRecords(
  buf: Uint8Array,
  from: number,
  to: number,
  seed: number,
  syncedSegment: number,
  syncedOffset: number,
): void {
  let at = from;
  while (at < to) {
    const size = align8(u32(buf, at + LENGTH_AT));
    putU32(buf, at + SYNCED_TO_AT, syncedSegment);
    putU32(buf, at + SYNCED_TO_AT + 4, syncedOffset);
    putU32(buf, at + CRC_AT, crc32c(buf, at + 8, size - 8, seed));
    at += size;
  }
}

/** Bytes of the whole record at `at`, padding included; 0 if there is none before `end`. */
export function wholeRecordSize(buf: Uint8Array, at: number, end: number, seed: number): number {
  const size = claimedRecordSize(buf, at, end);
  if (size === 0 || at + size > end) return 0;
  return crc32c(buf, at + 8, size - 8, seed) === u32(buf, at + CRC_AT) ? size : 0;
}

/** What the header at `at` says of the record's bytes, unchecked but for its own fields; 0 if it is none. */
export function claimedRecordSize(buf: Uint8Array, at: number, end: number): number {
  if (at + RECORD_HEADER_SIZE > end || u32(buf, at) !== RECORD_MAGIC) return 0;
  const length = u32(buf, at + LENGTH_AT);
  const flags = buf[at + FLAGS_AT]!;
  const nonce = (flags & FLAG_NONCE) === 0 ? 0 : NONCE_SIZE;
  const transaction = (flags & FLAG_TRANSACTION) === 0 ? 0 : TRANSACTION_SIZE;
  const least = RECORD_HEADER_SIZE + nonce + transaction + u16(buf, at + LABEL_LENGTH_AT);
  return length < least || length > RECORD_LENGTH_MAX ? 0 : align8(length);
}

const MAGIC_BYTES: Uint8Array = Uint8Array.of(0xce, 0x77, 0xa1, 0x06);

/**
 * The offset of the first whole record at or after `at` (a multiple of 8 in the file; `buf` starts at one), -1 if none.
 */
export function findRecord(buf: Uint8Array, at: number, end: number, seed: number): number {
  const bytes = Buffer.from(buf.buffer, buf.byteOffset, end);
  let found = bytes.indexOf(MAGIC_BYTES, at);
  while (found >= 0) {
    if ((found & 7) === 0 && wholeRecordSize(buf, found, end, seed) > 0) return found;
    found = bytes.indexOf(MAGIC_BYTES, found + 1);
  }
  return -1;
}

/** Orders two 64-bit numbers given as halves. Negative, 0 or positive. */
export function compareHalves(aHigh: number, aLow: number, bHigh: number, bLow: number): number {
  return aHigh === bHigh ? aLow - bLow : aHigh - bHigh;
}
