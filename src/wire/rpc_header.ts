/**
 * What surrounds the messages of HBase's native RPC (protocol/rpc.md sections 1 and 2; RPC.proto). Integers outside of
 * messages are big-endian; "delimited" is a varint length and the message.
 *
 *     preamble   "HBas" · u8 version 0 · u8 authentication (80 SIMPLE, 81 Kerberos, 82 digest)
 *                or "Regist", or "Securi"
 *     header     u32 length · ConnectionHeader
 *     request    u32 length of all that follows · RequestHeader delimited · message delimited · cell block
 *     response   u32 length of all that follows · ResponseHeader delimited · [message delimited] · [cell block]
 */
import { ProtoReader } from './proto_reader.ts';
import { ProtoWriter } from './proto_writer.ts';

export const PREAMBLE_SIZE = 6;
export const MAGIC = 'HBas';
export const PREAMBLE_REGISTRY = 'Regist';
export const PREAMBLE_SECURITY = 'Securi';
export const RPC_VERSION = 0;
export const AUTH_SIMPLE = 80;
export const AUTH_KERBEROS = 81;
export const AUTH_DIGEST = 82;
/** Call id of answers to no call: -1 as uint32. */
export const CALL_ID_NONE = 0xffffffff;

export interface ConnectionHeader {
  readonly user: string;
  readonly serviceName: string;
  /** Java class names; empty if absent. */
  readonly codecClass: string;
  readonly compressorClass: string;
  readonly clientVersion: string;
}

/** Throws MalformedMessageException. */
export function readConnectionHeader(buf: Uint8Array): ConnectionHeader {
  const header = {
    user: '',
    serviceName: '',
    codecClass: '',
    compressorClass: '',
    clientVersion: '',
  };
  const reader = new ProtoReader(buf);
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        header.user = firstString(reader.message());
        break;
      case 2:
        header.serviceName = reader.string();
        break;
      case 3:
        header.codecClass = reader.string();
        break;
      case 4:
        header.compressorClass = reader.string();
        break;
      case 5:
        header.clientVersion = firstString(reader.message());
        break;
      default:
        reader.skip();
    }
  }
  return header;
}

/** Field 1, a string, of a message; empty if absent. */
function firstString(reader: ProtoReader): string {
  let text = '';
  while (reader.next()) {
    if (reader.field === 1) text = reader.string();
    else reader.skip();
  }
  return text;
}

/** A request's header, read again and again into the same object. */
export class RequestHeader {
  callId = 0;
  method = '';
  hasParam = false;
  cellBlockLength = 0;
  priority = 0;
  timeoutMs = 0;
  readonly #reader: ProtoReader = new ProtoReader();

  /** Reads the header in `buf[from, to)`. Throws MalformedMessageException. */
  read(buf: Uint8Array, from: number, to: number): void {
    this.callId = 0;
    this.method = '';
    this.hasParam = false;
    this.cellBlockLength = 0;
    this.priority = 0;
    this.timeoutMs = 0;
    const reader = this.#reader;
    reader.begin(buf, from, to);
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          this.callId = reader.uint32();
          break;
        case 3:
          this.method = reader.string();
          break;
        case 4:
          this.hasParam = reader.bool();
          break;
        case 5:
          this.cellBlockLength = readLength(reader.message());
          break;
        case 6:
          this.priority = reader.uint32();
          break;
        case 7:
          this.timeoutMs = reader.uint32();
          break;
        default:
          reader.skip();
      }
    }
  }
}

/** CellBlockMeta.length. */
function readLength(reader: ProtoReader): number {
  let length = 0;
  while (reader.next()) {
    if (reader.field === 1) length = reader.uint32();
    else reader.skip();
  }
  return length;
}

/** What a call failed with, as ExceptionResponse says it. */
export interface ExceptionMessage {
  /** Java class name. */
  readonly className: string;
  /** Text with the class name in front, as Java prints it. */
  readonly stackTrace: string;
  readonly doNotRetry: boolean;
  readonly serverOverloaded: boolean;
}

/** Writes a ResponseHeader, delimited. */
export function writeResponseHeader(
  writer: ProtoWriter,
  callId: number,
  cellBlockLength: number,
): void {
  const mark = beginDelimited(writer);
  writer.uint32(1, callId);
  if (cellBlockLength > 0) {
    const meta = writer.begin(3);
    writer.uint32(1, cellBlockLength);
    writer.end(meta);
  }
  endDelimited(writer, mark);
}

/** The frame of a failed call, its length in front. */
export function exceptionFrame(callId: number, exception: ExceptionMessage): Uint8Array {
  const header = new ProtoWriter(256 + exception.stackTrace.length);
  header.uint32(1, callId);
  const mark = header.begin(2);
  header.string(1, exception.className);
  header.string(2, exception.stackTrace);
  header.bool(5, exception.doNotRetry);
  if (exception.serverOverloaded) header.bool(6, true);
  header.end(mark);
  return frameOf(header.take(), null);
}

/** A frame of a header and a message, its length in front. */
export function frameOf(header: Uint8Array, message: Uint8Array | null): Uint8Array {
  const writer = new ProtoWriter(16 + header.length + (message?.length ?? 0));
  writer.at = 4;
  writer.uint32Bare(header.length);
  writer.raw(header);
  if (message !== null) {
    writer.uint32Bare(message.length);
    writer.raw(message);
  }
  writer.buf.writeUInt32BE(writer.at - 4, 0);
  return writer.take();
}

/** Headers are short: one byte holds their length. */
function beginDelimited(writer: ProtoWriter): number {
  writer.reserve(32);
  return writer.at++;
}

function endDelimited(writer: ProtoWriter, mark: number): void {
  writer.buf[mark] = writer.at - mark - 1;
}
