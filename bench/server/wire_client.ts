/** A client of the native RPC that does as little as one can: it writes requests and counts the bytes of answers. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** Writes protobuf messages. */
export class Message {
  readonly #parts: Buffer[] = [];

  static varint(value: number): Buffer {
    const bytes: number[] = [];
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
    bytes.push(rest);
    return Buffer.from(bytes);
  }

  int(field: number, value: number): this {
    this.#parts.push(Message.varint(field * 8), Message.varint(value));
    return this;
  }

  bytes(field: number, value: Buffer): this {
    this.#parts.push(Message.varint(field * 8 + 2), Message.varint(value.length), value);
    return this;
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value));
  }

  message(field: number, inner: Message): this {
    return this.bytes(field, inner.finish());
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }

  delimited(): Buffer {
    const bytes = this.finish();
    return Buffer.concat([Message.varint(bytes.length), bytes]);
  }
}

/** One KeyValue of type Put behind its length, with the newest timestamp. */
export function cellOf(row: Buffer, family: string, qualifier: string, value: Buffer): Buffer {
  const keySize = 2 + row.length + 1 + family.length + qualifier.length + 9;
  const cell = Buffer.alloc(4 + 8 + keySize + value.length);
  cell.writeUInt32BE(8 + keySize + value.length, 0);
  cell.writeUInt32BE(keySize, 4);
  cell.writeUInt32BE(value.length, 8);
  let at = cell.writeUInt16BE(row.length, 12);
  at += row.copy(cell, at);
  at = cell.writeUInt8(family.length, at);
  at += cell.write(family, at);
  at += cell.write(qualifier, at);
  at = cell.writeBigInt64BE(0x7fffffffffffffffn, at);
  at = cell.writeUInt8(4, at);
  value.copy(cell, at);
  return cell;
}

/** Reads varints, one behind the other. */
class Varints {
  readonly buf: Buffer;
  at: number;

  constructor(buf: Buffer, at = 0) {
    this.buf = buf;
    this.at = at;
  }

  next(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.buf[this.at++]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }
}

/** The last value of each number in a message, by field. */
export function numbersOf(message: Buffer): Map<number, number> {
  const numbers = new Map<number, number>();
  const varints = new Varints(message);
  while (varints.at < message.length) {
    const tag = varints.next();
    const wireType = tag & 7;
    if (wireType === 1) varints.at += 8;
    else {
      const value = varints.next();
      if (wireType === 2) varints.at += value;
      else numbers.set(tag >>> 3, value);
    }
  }
  return numbers;
}

export interface Answer {
  readonly message: Buffer;
  readonly cellBytes: number;
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export class WireClient {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #chunks: Buffer[] = [];
  #size = 0;
  #wanted = 4;
  #callId = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#size += chunk.length;
      if (this.#size >= this.#wanted) this.#frames();
    });
    socket.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the server has left'));
    });
  }

  static async connect(address: string): Promise<WireClient> {
    const [host, port] = address.split(':');
    const socket = connect(Number(port), host);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    const header = new Message()
      .message(1, new Message().text(1, 'bench'))
      .text(2, 'ClientService')
      .text(3, 'org.apache.hadoop.hbase.codec.KeyValueCodec')
      .message(5, new Message().text(1, '2.6.3'))
      .finish();
    const size = Buffer.alloc(4);
    size.writeUInt32BE(header.length);
    socket.write(Buffer.concat([Buffer.from('HBas\x00\x50', 'latin1'), size, header]));
    return new WireClient(socket);
  }

  call(method: string, param: Buffer, cells?: Buffer): Promise<Answer> {
    const callId = ++this.#callId;
    const header = new Message().int(1, callId).text(3, method).int(4, 1);
    if (cells !== undefined) header.message(5, new Message().int(1, cells.length));
    header.int(7, 60_000);
    const parts = [header.delimited(), Message.varint(param.length), param];
    if (cells !== undefined) parts.push(cells);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(parts.reduce((sum, { length }) => sum + length, 0));
    this.#socket.write(Buffer.concat([size, ...parts]));
    return new Promise((resolve, reject) => this.#waiting.set(callId, { resolve, reject }));
  }

  #frames(): void {
    let input = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    for (;;) {
      this.#wanted = input.length < 4 ? 4 : 4 + input.readUInt32BE(0);
      if (input.length < this.#wanted) break;
      this.#answer(input.subarray(4, this.#wanted));
      input = input.subarray(this.#wanted);
    }
    this.#chunks = input.length === 0 ? [] : [input];
    this.#size = input.length;
  }

  #answer(frame: Buffer): void {
    const varints = new Varints(frame);
    const headerSize = varints.next();
    const headerEnd = varints.at + headerSize;
    const header = frame.subarray(varints.at, headerEnd);
    const callId = numbersOf(header).get(1) ?? 0;
    const waiting = this.#waiting.get(callId);
    this.#waiting.delete(callId);
    if (headerEnd === frame.length) {
      waiting?.reject(new Error(header.toString('latin1')));
      return;
    }
    varints.at = headerEnd;
    const messageSize = varints.next();
    const end = varints.at + messageSize;
    waiting?.resolve({
      message: frame.subarray(varints.at, end),
      cellBytes: frame.length - end,
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
