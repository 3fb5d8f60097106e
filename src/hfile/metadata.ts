/**
 * Trailer and file info of an HFile (HBase: FixedFileTrailer, HFileInfo; HFile.proto; protocol/files.md sections 1.8, 1.10).
 *
 * Trailer, the last 4096 bytes:
 *     offset  size  field
 *          0     8  magic `TRABLK"$`
 *          8     n  delimited FileTrailerProto (varint length, then fields; see TrailerField)
 *        8+n     …  zero bytes
 *       4092     4  version: major | minor << 24
 * No checksum covers the trailer: what it says is checked against the blocks it points at.
 *
 * File info, the data of a FILEINF2 block: `PBUF` · delimited FileInfoProto { repeated 1: { 1: key, 2: value } }, keys sorted.
 */
import { compareBytes, putU32, u32 } from '../cell/index.ts';
import { check } from './fault.ts';
import { ByteReader, putVarint } from './varlen.ts';

export const TRAILER_SIZE = 4096;
const TRAILER_MAGIC = 'TRABLK"$';
const VERSION_AT = 4092;
const VERSION_MAJOR = 3;
const VERSION_MINOR = 3;
const PROTOBUF_MAGIC = 'PBUF';

/** What HBase writes, whatever the version, so that older readers understand it. */
const COMPARATOR_WRITTEN = 'org.apache.hadoop.hbase.KeyValue$KVComparator';
const COMPARATORS_READ: readonly string[] = [
  COMPARATOR_WRITTEN,
  'org.apache.hadoop.hbase.CellComparatorImpl',
  'org.apache.hadoop.hbase.CellComparator',
  'org.apache.hadoop.hbase.InnerStoreCellComparator',
];

export interface Trailer {
  readonly fileInfoOffset: number;
  readonly loadOnOpenOffset: number;
  /** Informative: plain bytes of all data index blocks. */
  readonly dataIndexSize: number;
  /** Informative: plain bytes of the blocks, and the trailer. */
  readonly plainSize: number;
  readonly dataIndexCount: number;
  readonly metaIndexCount: number;
  readonly cellCount: number;
  /** 1: the root index points at data blocks. */
  readonly dataIndexLevels: number;
  /** -1 in a file without cells. */
  readonly firstDataBlockOffset: number;
  readonly lastDataBlockOffset: number;
  readonly comparator: string;
  readonly compressionId: number;
}

/** Fields of FileTrailerProto, in order of `TRAILER_FIELDS`. On disk. */
const FIELD_COMPARATOR = 11;
const FIELD_COMPRESSION = 12;
const FIELD_ENCRYPTION_KEY = 13;
const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
const WIRE_BYTES = 2;
const WIRE_FIXED32 = 5;

/** The trailer in the last TRAILER_SIZE bytes of a file of `fileSize` bytes. Throws FormatFault. */
export function decodeTrailer(buf: Uint8Array, fileSize: number): Trailer {
  check(buf.length === TRAILER_SIZE, 'the trailer is cut off');
  check(latin1(buf, 0, 8) === TRAILER_MAGIC, 'the trailer has a wrong magic');
  const version = u32(buf, VERSION_AT);
  check((version & 0xffffff) === VERSION_MAJOR, 'the file is not an HFile of version 3');
  check(version >>> 24 <= VERSION_MINOR, 'the file is of a later minor version');
  const reader = new ByteReader(buf, 8, VERSION_AT);
  const length = reader.varint();
  const message = new ByteReader(buf, reader.at, reader.skip(length) + length);
  const numbers: number[] = new Array<number>(13).fill(0);
  let comparator = '';
  while (message.at < message.end) {
    const tag = message.varint();
    const field = tag >>> 3;
    if (field === FIELD_COMPARATOR && (tag & 7) === WIRE_BYTES) {
      comparator = textOf(message.bytes(message.varint()));
    } else if (field >= 1 && field <= FIELD_COMPRESSION && (tag & 7) === WIRE_VARINT) {
      numbers[field] = message.varint64();
    } else {
      check(field !== FIELD_ENCRYPTION_KEY, 'the file is encrypted');
      skipField(message, tag & 7);
    }
  }
  const trailer = trailerOf(numbers, comparator);
  checkTrailer(trailer, fileSize);
  return trailer;
}

function trailerOf(numbers: readonly number[], comparator: string): Trailer {
  return {
    fileInfoOffset: numbers[1]!,
    loadOnOpenOffset: numbers[2]!,
    dataIndexSize: numbers[3]!,
    plainSize: numbers[4]!,
    dataIndexCount: numbers[5]!,
    metaIndexCount: numbers[6]!,
    cellCount: numbers[7]!,
    dataIndexLevels: numbers[8]!,
    firstDataBlockOffset: numbers[9]!,
    lastDataBlockOffset: numbers[10]!,
    comparator,
    compressionId: numbers[FIELD_COMPRESSION]!,
  };
}

/** HBase stops at 16 levels. */
const INDEX_LEVELS_MAX = 16;

function checkTrailer(trailer: Trailer, fileSize: number): void {
  const end = fileSize - TRAILER_SIZE;
  const isInFile = (offset: number): boolean => offset >= 0 && offset <= end;
  check(isInFile(trailer.loadOnOpenOffset), 'the load-on-open section is outside of the file');
  check(
    isInFile(trailer.fileInfoOffset) && trailer.fileInfoOffset >= trailer.loadOnOpenOffset,
    'the file info is outside of the load-on-open section',
  );
  check(
    trailer.dataIndexLevels >= 1 && trailer.dataIndexLevels <= INDEX_LEVELS_MAX,
    'the index has an impossible number of levels',
  );
  check(trailer.dataIndexCount >= 0 && trailer.metaIndexCount >= 0, 'an index count is negative');
  check(trailer.cellCount >= 0, 'the cell count is negative');
  check(
    (trailer.cellCount === 0) === (trailer.dataIndexCount === 0),
    'the counts of cells and blocks contradict each other',
  );
  check(COMPARATORS_READ.includes(trailer.comparator), 'the file has an unknown order');
}

function skipField(reader: ByteReader, wireType: number): void {
  switch (wireType) {
    case WIRE_VARINT:
      reader.varint64();
      return;
    case WIRE_FIXED64:
      reader.skip(8);
      return;
    case WIRE_BYTES:
      reader.skip(reader.varint());
      return;
    case WIRE_FIXED32:
      reader.skip(4);
      return;
    default:
      check(false, 'a field has an unknown wire type');
  }
}

/** The TRAILER_SIZE bytes of a trailer; `comparator` is not taken from it. */
export function encodeTrailer(trailer: Omit<Trailer, 'comparator'>): Uint8Array {
  const buf = Buffer.alloc(TRAILER_SIZE);
  const message = Buffer.alloc(512);
  let end = 0;
  const numbers = [
    trailer.fileInfoOffset,
    trailer.loadOnOpenOffset,
    trailer.dataIndexSize,
    trailer.plainSize,
    trailer.dataIndexCount,
    trailer.metaIndexCount,
    trailer.cellCount,
    trailer.dataIndexLevels,
    trailer.firstDataBlockOffset,
    trailer.lastDataBlockOffset,
  ];
  for (const [i, number] of numbers.entries()) {
    message[end] = ((i + 1) << 3) | WIRE_VARINT;
    end = putVarint64(message, end + 1, number);
  }
  message[end] = (FIELD_COMPARATOR << 3) | WIRE_BYTES;
  end = putVarint(message, end + 1, COMPARATOR_WRITTEN.length);
  end += message.write(COMPARATOR_WRITTEN, end, 'latin1');
  message[end] = (FIELD_COMPRESSION << 3) | WIRE_VARINT;
  end = putVarint(message, end + 1, trailer.compressionId);
  buf.write(TRAILER_MAGIC, 'latin1');
  buf.set(message.subarray(0, end), putVarint(buf, 8, end));
  putU32(buf, VERSION_AT, VERSION_MAJOR | (VERSION_MINOR << 24));
  return buf;
}

function putVarint64(buf: Uint8Array, at: number, value: number): number {
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 0x7fn) {
    buf[at++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  buf[at] = Number(rest);
  return at + 1;
}

/** File info by key (ASCII names, as latin1 text). */
export type FileInfo = ReadonlyMap<string, Uint8Array>;

/** Decodes the data of a FILEINF2 block; the values are copies. Throws FormatFault. */
export function decodeFileInfo(data: Uint8Array): FileInfo {
  const reader = new ByteReader(data);
  check(textOf(reader.bytes(4)) === PROTOBUF_MAGIC, 'the file info has a wrong magic');
  const length = reader.varint();
  const message = new ByteReader(data, reader.at, reader.skip(length) + length);
  check(message.end === data.length, 'bytes follow the file info');
  const info = new Map<string, Uint8Array>();
  while (message.at < message.end) {
    const tag = message.varint();
    if (tag === ((1 << 3) | WIRE_BYTES)) {
      const entryLength = message.varint();
      decodeEntry(new ByteReader(data, message.at, message.skip(entryLength) + entryLength), info);
    } else {
      skipField(message, tag & 7);
    }
  }
  return info;
}

function decodeEntry(reader: ByteReader, info: Map<string, Uint8Array>): void {
  let key: Uint8Array = new Uint8Array(0);
  let value: Uint8Array = key;
  while (reader.at < reader.end) {
    const tag = reader.varint();
    if (tag === ((1 << 3) | WIRE_BYTES)) key = reader.bytes(reader.varint());
    else if (tag === ((2 << 3) | WIRE_BYTES)) value = reader.bytes(reader.varint());
    else skipField(reader, tag & 7);
  }
  info.set(textOf(key), Uint8Array.from(value));
}

/** The data of a FILEINF2 block. */
export function encodeFileInfo(info: FileInfo): Uint8Array {
  const entries = [...info].map(([key, value]) => ({ key: Buffer.from(key, 'latin1'), value }));
  entries.sort((a, b) => compareBytes(a.key, b.key));
  const parts: Uint8Array[] = [];
  for (const { key, value } of entries) {
    const entry = Buffer.concat([bytesField(1, key), bytesField(2, value)]);
    parts.push(bytesField(1, entry));
  }
  const message = Buffer.concat(parts);
  const length = new Uint8Array(5);
  const end = putVarint(length, 0, message.length);
  return Buffer.concat([Buffer.from(PROTOBUF_MAGIC), length.subarray(0, end), message]);
}

function bytesField(field: number, data: Uint8Array): Uint8Array {
  const head = new Uint8Array(6);
  head[0] = (field << 3) | WIRE_BYTES;
  const end = putVarint(head, 1, data.length);
  return Buffer.concat([head.subarray(0, end), data]);
}

function latin1(buf: Uint8Array, at: number, length: number): string {
  return textOf(buf.subarray(at, at + length));
}

function textOf(buf: Uint8Array): string {
  return Buffer.from(buf.buffer, buf.byteOffset, buf.length).toString('latin1');
}
