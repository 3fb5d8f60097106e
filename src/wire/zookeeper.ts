/**
 * ZooKeeper's client protocol as far as readers need it. All numbers are big-endian; a buffer or string is an int32 length
 * (-1: null) and its bytes; every packet has an int32 length in front.
 *
 *     connect request    int32 protocolVersion, int64 lastZxidSeen, int32 timeoutMs, int64 sessionId, buffer password,
 *                        [bool readOnly: not from old clients]
 *     connect response   int32 protocolVersion, int32 timeoutMs, int64 sessionId, buffer password, [bool readOnly: if asked]
 *     request            int32 xid, int32 type, then what the type has
 *     reply              int32 xid, int64 zxid, int32 error, then, without an error, what the type has
 *     Stat               int64 czxid, mzxid, ctime, mtime, int32 version, cversion, aversion, int64 ephemeralOwner,
 *                        int32 dataLength, numChildren, int64 pzxid
 */
import { MalformedMessageException } from './errors.ts';

/** Types of requests; on the wire. */
export const ZK_CREATE = 1;
export const ZK_EXISTS = 3;
export const ZK_GET_DATA = 4;
export const ZK_GET_CHILDREN = 8;
export const ZK_SYNC = 9;
export const ZK_PING = 11;
export const ZK_GET_CHILDREN2 = 12;
export const ZK_AUTH = 100;
export const ZK_SET_WATCHES = 101;
export const ZK_SET_WATCHES2 = 105;
export const ZK_ADD_WATCH = 106;
export const ZK_CLOSE = -11;

/** Errors; on the wire. */
export const ZK_OK = 0;
export const ZK_UNIMPLEMENTED = -6;
export const ZK_NO_NODE = -101;
export const ZK_NOT_READ_ONLY = -119;

/** A packet's length, its own four bytes not counted. */
export const ZK_LENGTH_SIZE = 4;

export interface ZkConnect {
  readonly timeoutMs: number;
  /** 0: a new session. */
  readonly sessionId: bigint;
  readonly password: Uint8Array;
  /** The client has sent the trailing byte and expects one. */
  readonly hasReadOnly: boolean;
}

export interface ZkRequest {
  readonly xid: number;
  readonly type: number;
  /** Null for types that have none. */
  readonly path: string | null;
}

const WITH_PATH: ReadonlySet<number> = new Set([
  ZK_EXISTS,
  ZK_GET_DATA,
  ZK_GET_CHILDREN,
  ZK_GET_CHILDREN2,
  ZK_SYNC,
]);

/** The packet without its length. Throws MalformedMessageException. */
export function readZkConnect(packet: Uint8Array): ZkConnect {
  const reader = new JuteReader(packet);
  reader.int();
  reader.long();
  const timeoutMs = reader.int();
  const sessionId = reader.long();
  const password = reader.buffer() ?? new Uint8Array(16);
  return { timeoutMs, sessionId, password, hasReadOnly: reader.rest > 0 };
}

export function readZkRequest(packet: Uint8Array): ZkRequest {
  const reader = new JuteReader(packet);
  const xid = reader.int();
  const type = reader.int();
  const path = WITH_PATH.has(type) ? reader.buffer() : null;
  return { xid, type, path: path === null ? null : Buffer.from(path).toString('utf8') };
}

/** With its length, ready to be sent. */
export function zkConnectResponse(session: ZkConnect): Uint8Array {
  const writer = new JuteWriter().int(0).int(session.timeoutMs).long(session.sessionId);
  writer.buffer(session.password);
  if (session.hasReadOnly) writer.bool(false);
  return writer.packet();
}

/** A reply whose body is made by `JuteWriter`; with an error there is none. */
export function zkReply(
  head: { readonly xid: number; readonly zxid: bigint; readonly error: number },
  body: Uint8Array,
): Uint8Array {
  return new JuteWriter().int(head.xid).long(head.zxid).int(head.error).raw(body).packet();
}

export interface ZkStat {
  /** Of the creation and of the last change. */
  readonly zxid: bigint;
  readonly timeMs: number;
  /** Session that the node goes with; 0: it stays. */
  readonly ephemeralOwner: bigint;
  readonly dataLength: number;
  readonly childCount: number;
}

/** Throws MalformedMessageException when bytes are missing. */
class JuteReader {
  readonly #buf: Buffer;
  #at = 0;

  constructor(packet: Uint8Array) {
    this.#buf = Buffer.from(packet.buffer, packet.byteOffset, packet.length);
  }

  get rest(): number {
    return this.#buf.length - this.#at;
  }

  #take(size: number): number {
    if (size > this.rest) throw new MalformedMessageException('a ZooKeeper packet is cut short');
    const at = this.#at;
    this.#at += size;
    return at;
  }

  int(): number {
    return this.#buf.readInt32BE(this.#take(4));
  }

  long(): bigint {
    return this.#buf.readBigInt64BE(this.#take(8));
  }

  buffer(): Uint8Array | null {
    const length = this.int();
    if (length < 0) return null;
    const at = this.#take(length);
    return this.#buf.subarray(at, at + length);
  }
}

export class JuteWriter {
  readonly #parts: Uint8Array[] = [];

  int(value: number): this {
    const buf = Buffer.allocUnsafe(4);
    buf.writeInt32BE(value);
    return this.raw(buf);
  }

  long(value: bigint): this {
    const buf = Buffer.allocUnsafe(8);
    buf.writeBigInt64BE(BigInt.asIntN(64, value));
    return this.raw(buf);
  }

  bool(value: boolean): this {
    return this.raw(Uint8Array.of(value ? 1 : 0));
  }

  buffer(value: Uint8Array | null): this {
    if (value === null) return this.int(-1);
    return this.int(value.length).raw(value);
  }

  text(value: string): this {
    return this.buffer(Buffer.from(value, 'utf8'));
  }

  texts(values: readonly string[]): this {
    this.int(values.length);
    for (const value of values) this.text(value);
    return this;
  }

  stat(stat: ZkStat): this {
    const { zxid, timeMs, ephemeralOwner, dataLength, childCount } = stat;
    this.long(zxid).long(zxid).long(BigInt(timeMs)).long(BigInt(timeMs));
    this.int(0).int(0).int(0).long(ephemeralOwner);
    return this.int(dataLength).int(childCount).long(zxid);
  }

  raw(bytes: Uint8Array): this {
    this.#parts.push(bytes);
    return this;
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts);
  }

  /** What was written with its length in front. */
  packet(): Uint8Array {
    const body = this.finish();
    const length = Buffer.allocUnsafe(ZK_LENGTH_SIZE);
    length.writeInt32BE(body.length);
    return Buffer.concat([length, body]);
  }
}
