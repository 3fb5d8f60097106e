/** A client of the native RPC for tests: one connection, one call at a time, messages as bytes. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { Fields, MessageWriter } from '../../src/wire/index.ts';

/** An answer that was an exception. */
export class RemoteError extends Error {
  readonly className: string;
  readonly doNotRetry: boolean;

  constructor(exception: Fields) {
    super(exception.text(2) ?? '');
    this.className = exception.text(1) ?? '';
    this.doNotRetry = exception.bool(5, false);
  }
}

export class RpcTestClient {
  readonly #socket: Socket;
  #input: Buffer = Buffer.alloc(0);
  #wake: (() => void) | null = null;
  #isClosed = false;
  #callId = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#input = Buffer.concat([this.#input, chunk]);
      this.#wake?.();
    });
    const end = (): void => {
      this.#isClosed = true;
      this.#wake?.();
    };
    socket.on('close', end).on('error', end);
  }

  static async connect(address: string, service: string): Promise<RpcTestClient> {
    const client = await RpcTestClient.open(address);
    const header = new MessageWriter()
      .bytes(1, new MessageWriter().text(1, 'tester').finish())
      .text(2, service)
      .finish();
    client.send(Buffer.concat([Buffer.from('HBas\x00\x50', 'latin1'), u32(header.length), header]));
    return client;
  }

  /** A connection without preamble. */
  static async open(address: string): Promise<RpcTestClient> {
    const at = address.lastIndexOf(':');
    const socket = connect(Number(address.slice(at + 1)), address.slice(0, at));
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    return new RpcTestClient(socket);
  }

  send(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** `size` bytes, or what is there when the other end closes. */
  async receive(size: number): Promise<Buffer> {
    while (this.#input.length < size && !this.#isClosed) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const bytes = this.#input.subarray(0, size);
    this.#input = this.#input.subarray(bytes.length);
    return bytes;
  }

  async frame(): Promise<Buffer> {
    return this.receive((await this.receive(4)).readUInt32BE());
  }

  /** The response message. Throws RemoteError. */
  async call(method: string, param: Uint8Array = new Uint8Array(0)): Promise<Fields> {
    const header = new MessageWriter()
      .int(1, ++this.#callId)
      .text(3, method)
      .bool(4, true)
      .finish();
    const body = Buffer.concat([delimited(header), delimited(param)]);
    this.send(Buffer.concat([u32(body.length), body]));
    const [head, message] = split(await this.frame());
    const response = new Fields(head!);
    const exception = response.message(2);
    if (exception !== null) throw new RemoteError(exception);
    return new Fields(message ?? new Uint8Array(0));
  }

  close(): void {
    this.#socket.destroy();
  }
}

function u32(value: number): Buffer {
  const buf = Buffer.alloc(4);
  buf.writeUInt32BE(value);
  return buf;
}

/** As field 0 of nothing: a length and bytes. */
function delimited(message: Uint8Array): Uint8Array {
  return new MessageWriter().bytes(1, message).finish().subarray(1);
}

/** The delimited messages of a frame. */
function split(frame: Buffer): Uint8Array[] {
  const messages: Uint8Array[] = [];
  for (let at = 0; at < frame.length;) {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = frame[at++]!;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    messages.push(frame.subarray(at, at + length));
    at += length;
  }
  return messages;
}
