/**
 * The bytes of the manifest's two kinds of file. All integers are big-endian. Headers keep their layout across versions, so
 * that any program can say which version a folder has.
 *
 * MANIFEST-<generation, 6 digits>: one header, then records: first those of a checkpoint, then edits.
 *     offset  size  field of the header
 *          0     8  magic        "CELLMANI"
 *          8     4  version      FORMAT_VERSION
 *         12     4  generation   1 for a new folder; each checkpoint makes the next
 *         16    16  store id
 *         32     4  0
 *         36     4  crc          CRC-32C of bytes 0 … 35
 *
 *     offset  size  field of a record, which starts at a multiple of 8
 *          0     4  magic        "MREC"
 *          4     4  length       bytes of payload, 1 … RECORD_LENGTH_MAX
 *          8     4  crc          CRC-32C of the place, then of bytes 0 … 7, then of 12 … end of padding
 *         12     1  kind         1 checkpoint, 2 edits
 *         13     3  0
 *         16     8  syncedTo     bytes of this file known to be on the disk when the record was written
 *         24     n  payload      MessagePack: a list of edits (state.ts)
 *                   zeros to the next multiple of 8
 *   The place that the crc covers is {generation, 4 bytes; offset in the file, 8 bytes}: old bytes never pass for new.
 *   Let S be the greatest syncedTo of CURRENT and of all whole records. Damage or an end below S: CorruptionException.
 *   Damage at or beyond S is a torn tail: the file ends there. One record is applied whole or not at all.
 *
 * CURRENT: names the file in use, replaced by rename.
 *          0     8  magic        "CELLCURR"
 *          8     4  version      FORMAT_VERSION
 *         12     4  generation
 *         16    16  store id
 *         32     8  syncedTo     bytes of that file on the disk when CURRENT was written
 *         40     4  0
 *         44     4  crc          CRC-32C of bytes 0 … 43
 */
import { crc32c, putU32, u32 } from '../cell/index.ts';
import { CorruptionException, invariant } from '../io/index.ts';
import { NewerVersionException } from '../model/index.ts';

/** On disk: the format that this program writes, and the newest that it reads. */
export const FORMAT_VERSION = 1;

export const HEADER_SIZE = 40;
export const CURRENT_SIZE = 48;
export const RECORD_HEADER_SIZE = 24;
export const RECORD_LENGTH_MAX: number = 1 << 28;
export const RECORD_ALIGNMENT = 8;

/** On disk: kinds of records. */
export const KIND_CHECKPOINT = 1;
export const KIND_EDITS = 2;

const HEADER_MAGIC = 'CELLMANI';
const CURRENT_MAGIC = 'CELLCURR';
const VERSION_AT = 8;
const GENERATION_AT = 12;
const STORE_ID_AT = 16;
const STORE_ID_SIZE = 16;
const HEADER_CRC_AT = 36;
const SYNCED_TO_AT = 32;
const CURRENT_CRC_AT = 44;

const RECORD_MAGIC = 0x4d524543; // "MREC"
const LENGTH_AT = 4;
const CRC_AT = 8;
const KIND_AT = 12;
const RECORD_SYNCED_TO_AT = 16;
const PLACE_SIZE = 12;
const TWO_32 = 0x1_0000_0000;

/** Who a manifest file belongs to. `storeId` is 32 hex digits. */
export interface FileIdentity {
  readonly generation: number;
  readonly storeId: string;
}

/** What CURRENT says. */
export interface CurrentPointer extends FileIdentity {
  readonly syncedTo: number;
}

/** A whole record found in a file. */
export interface RecordSpan {
  readonly at: number;
  readonly kind: number;
  readonly payloadAt: number;
  readonly payloadLength: number;
  readonly syncedTo: number;
  /** Where the next record starts. */
  readonly nextAt: number;
}

/** The name of a generation's file. */
export function manifestFileName(generation: number): string {
  return `MANIFEST-${String(generation).padStart(6, '0')}`;
}

/** The generation in a file's name; null for other files. */
export function generationOf(name: string): number | null {
  const match = /^MANIFEST-(\d{6,10})$/.exec(name);
  return match === null ? null : Number(match[1]);
}

function putU53(buf: Uint8Array, at: number, value: number): void {
  putU32(buf, at, Math.floor(value / TWO_32));
  putU32(buf, at + 4, value % TWO_32);
}

const u53 = (buf: Uint8Array, at: number): number => u32(buf, at) * TWO_32 + u32(buf, at + 4);

function putIdentity(buf: Buffer, magic: string, identity: FileIdentity): void {
  invariant(/^[0-9a-f]{32}$/.test(identity.storeId), 'a store id is 32 hex digits');
  buf.write(magic, 0, 'latin1');
  putU32(buf, VERSION_AT, FORMAT_VERSION);
  putU32(buf, GENERATION_AT, identity.generation);
  buf.write(identity.storeId, STORE_ID_AT, 'hex');
}

/** Checks magic, checksum and version, in this order, and gives who the file belongs to. */
function readIdentity(
  buf: Uint8Array,
  path: string,
  format: { magic: string; size: number; crcAt: number },
): FileIdentity {
  if (buf.length < format.size) {
    throw new CorruptionException('header is cut short', path, buf.length);
  }
  if (Buffer.from(buf.subarray(0, 8)).toString('latin1') !== format.magic) {
    throw new CorruptionException(`${format.magic} expected`, path, 0);
  }
  if (crc32c(buf, 0, format.crcAt) !== u32(buf, format.crcAt)) {
    throw new CorruptionException('header checksum does not match', path, format.crcAt);
  }
  const version = u32(buf, VERSION_AT);
  if (version > FORMAT_VERSION) {
    throw new NewerVersionException(
      `${path} has manifest format ${version}; this program reads up to ${FORMAT_VERSION}`,
    );
  }
  const storeId = Buffer.from(buf.subarray(STORE_ID_AT, STORE_ID_AT + STORE_ID_SIZE));
  return { generation: u32(buf, GENERATION_AT), storeId: storeId.toString('hex') };
}

export function encodeHeader(identity: FileIdentity): Uint8Array {
  const buf = Buffer.alloc(HEADER_SIZE);
  putIdentity(buf, HEADER_MAGIC, identity);
  putU32(buf, HEADER_CRC_AT, crc32c(buf, 0, HEADER_CRC_AT));
  return buf;
}

/** Throws CorruptionException or NewerVersionException. */
export function decodeHeader(buf: Uint8Array, path: string): FileIdentity {
  return readIdentity(buf, path, { magic: HEADER_MAGIC, size: HEADER_SIZE, crcAt: HEADER_CRC_AT });
}

export function encodeCurrent(pointer: CurrentPointer): Uint8Array {
  const buf = Buffer.alloc(CURRENT_SIZE);
  putIdentity(buf, CURRENT_MAGIC, pointer);
  putU53(buf, SYNCED_TO_AT, pointer.syncedTo);
  putU32(buf, CURRENT_CRC_AT, crc32c(buf, 0, CURRENT_CRC_AT));
  return buf;
}

/** Throws CorruptionException or NewerVersionException. */
export function decodeCurrent(buf: Uint8Array, path: string): CurrentPointer {
  const identity = readIdentity(buf, path, {
    magic: CURRENT_MAGIC,
    size: CURRENT_SIZE,
    crcAt: CURRENT_CRC_AT,
  });
  return { ...identity, syncedTo: u53(buf, SYNCED_TO_AT) };
}

/** Bytes that a record with this payload takes in the file. */
export function recordSize(payloadLength: number): number {
  const size = RECORD_HEADER_SIZE + payloadLength;
  return size + ((RECORD_ALIGNMENT - (size % RECORD_ALIGNMENT)) % RECORD_ALIGNMENT);
}

function recordCrc(
  buf: Uint8Array,
  start: number,
  end: number,
  at: number,
  generation: number,
): number {
  const place = new Uint8Array(PLACE_SIZE);
  putU32(place, 0, generation);
  putU53(place, 4, at);
  const head = crc32c(buf, start, CRC_AT, crc32c(place, 0, PLACE_SIZE));
  return crc32c(buf, start + KIND_AT, end - start - KIND_AT, head);
}

/** One record for offset `at` of the file of this generation, padded. */
export function encodeRecord(
  payload: Uint8Array,
  place: { generation: number; at: number; kind: number; syncedTo: number },
): Uint8Array {
  invariant(
    payload.length > 0 && payload.length <= RECORD_LENGTH_MAX,
    'record length',
    payload.length,
  );
  const buf = Buffer.alloc(recordSize(payload.length));
  putU32(buf, 0, RECORD_MAGIC);
  putU32(buf, LENGTH_AT, payload.length);
  buf[KIND_AT] = place.kind;
  putU53(buf, RECORD_SYNCED_TO_AT, place.syncedTo);
  buf.set(payload, RECORD_HEADER_SIZE);
  putU32(buf, CRC_AT, recordCrc(buf, 0, buf.length, place.at, place.generation));
  return buf;
}

/** The whole record at `at`, or null if there is none: too short, another magic, or its checksum does not match. */
export function recordAt(buf: Uint8Array, at: number, generation: number): RecordSpan | null {
  if (at + RECORD_HEADER_SIZE > buf.length || u32(buf, at) !== RECORD_MAGIC) return null;
  const payloadLength = u32(buf, at + LENGTH_AT);
  const payloadAt = at + RECORD_HEADER_SIZE;
  const nextAt = at + recordSize(payloadLength);
  if (payloadLength === 0 || payloadLength > RECORD_LENGTH_MAX || nextAt > buf.length) return null;
  if (recordCrc(buf, at, nextAt, at, generation) !== u32(buf, at + CRC_AT)) return null;
  const syncedTo = u53(buf, at + RECORD_SYNCED_TO_AT);
  return { at, kind: buf[at + KIND_AT]!, payloadAt, payloadLength, syncedTo, nextAt };
}

/** What a scan of a manifest file found. */
export interface RecordScan {
  readonly records: readonly RecordSpan[];
  /** End of the last whole record in sequence. */
  readonly endAt: number;
  /** The greatest position known to be on the disk. */
  readonly syncedTo: number;
}

/**
 * Finds the records of a file by the rule above. `syncedTo` is what CURRENT knows. Throws CorruptionException, naming the
 * first damaged offset, if that lies below S.
 */
export function scanRecords(
  buf: Uint8Array,
  path: string,
  known: { generation: number; syncedTo: number },
): RecordScan {
  const records: RecordSpan[] = [];
  let syncedTo = known.syncedTo;
  let at = HEADER_SIZE;
  for (;;) {
    const record = recordAt(buf, at, known.generation);
    if (record === null) break;
    records.push(record);
    syncedTo = Math.max(syncedTo, record.syncedTo);
    at = record.nextAt;
  }
  // Whole records behind the damage tell how far the file was synced.
  for (let behind = at + RECORD_ALIGNMENT; behind < buf.length; behind += RECORD_ALIGNMENT) {
    const record = recordAt(buf, behind, known.generation);
    if (record !== null) syncedTo = Math.max(syncedTo, record.syncedTo);
  }
  if (at < syncedTo) {
    throw new CorruptionException(
      `record is damaged or missing (the file was synced up to ${syncedTo})`,
      path,
      at,
    );
  }
  return { records, endAt: at, syncedTo };
}
