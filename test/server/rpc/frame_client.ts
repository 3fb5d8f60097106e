/** A client of the native RPC for tests: many calls at a time, cell blocks, and bytes as they come. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { u32 } from '../../../src/cell/index.ts';
import { ProtoReader, ProtoWriter } from '../../../src/wire/index.ts';

export interface Answer {
  readonly message: Uint8Array;
  readonly cells: Uint8Array;
}

/** An answer that was an exception. */
export class RemoteError extends Error {
  readonly className: string;
  readonly doNotRetry: boolean;

  constructor(className: string, text: string, doNotRetry: boolean) {
    super(text);
    this.className = className.slice(className.lastIndexOf('.') + 1);
    this.doNotRetry = doNotRetry;
  }
}

export interface FrameClientOptions {
  readonly service?: string;
  readonly codec?: string;
  readonly compressor?: string;
  readonly version?: string;
}

const CODEC = 'org.apache.hadoop.hbase.codec.KeyValueCodec';

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export class FrameClient {
  readonly socket: Socket;
  /** Settles when the server has closed the connection. */
  readonly closed: Promise<void>;
  /** All bytes that have come and belong to no answer yet. */
  input: Buffer = Buffer.alloc(0);
  readonly #waiting = new Map<number, Waiting>();
  #callId = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined); // The connection closes, too.
    socket.on('data', (chunk: Buffer) => {
      this.input = Buffer.concat([this.input, chunk]);
      this.#frames();
    });
    socket.once('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('connection closed'));
    });
  }

  /** A connection without preamble. */
  static async open(address: string): Promise<FrameClient> {
    const at = address.lastIndexOf(':');
    const socket = connect(Number(address.slice(at + 1)), address.slice(0, at));
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    return new FrameClient(socket);
  }

  static async connect(address: string, options: FrameClientOptions = {}): Promise<FrameClient> {
    const client = await FrameClient.open(address);
    client.socket.write(setUp(options));
    return client;
  }

  call(method: string, param: Uint8Array, cells?: Uint8Array): Promise<Answer> {
    const callId = ++this.#callId;
    this.socket.write(requestFrame(callId, method, param, cells));
    return this.answerTo(callId);
  }

  answerTo(callId: number): Promise<Answer> {
    return new Promise((resolve, reject) => this.#waiting.set(callId, { resolve, reject }));
  }

  #frames(): void {
    if (this.#waiting.size === 0) return;
    while (this.input.length >= 4) {
      const length = u32(this.input, 0);
      if (this.input.length < 4 + length) return;
      const frame = this.input.subarray(4, 4 + length);
      this.input = this.input.subarray(4 + length);
      const { callId, answer } = readFrame(frame);
      const waiting = this.#waiting.get(callId);
      this.#waiting.delete(callId);
      if (answer instanceof RemoteError) waiting?.reject(answer);
      else waiting?.resolve(answer);
    }
  }

  close(): void {
    this.socket.destroy();
  }
}

/** Preamble and connection header. */
export function setUp(options: FrameClientOptions = {}): Buffer {
  const { service = 'ClientService', codec = CODEC, version = '2.6.3', compressor } = options;
  const header = new ProtoWriter();
  const user = header.begin(1);
  header.string(1, 'tester');
  header.end(user);
  header.string(2, service);
  if (codec !== '') header.string(3, codec);
  if (compressor !== undefined) header.string(4, compressor);
  const info = header.begin(5);
  header.string(1, version);
  header.end(info);
  return Buffer.concat([Buffer.from('HBas\x00\x50', 'latin1'), sized(header.take())]);
}

export function requestFrame(
  callId: number,
  method: string,
  param: Uint8Array,
  cells?: Uint8Array,
  timeoutMs = 60_000,
): Buffer {
  const header = new ProtoWriter();
  header.uint32(1, callId);
  header.string(3, method);
  header.bool(4, true);
  if (cells !== undefined) {
    const meta = header.begin(5);
    header.uint32(1, cells.length);
    header.end(meta);
  }
  if (timeoutMs > 0) header.uint32(7, timeoutMs);
  const body = new ProtoWriter();
  body.uint32Bare(header.at);
  body.raw(header.take());
  body.uint32Bare(param.length);
  body.raw(param);
  if (cells !== undefined) body.raw(cells);
  return sized(body.take());
}

export function sized(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** A response's frame, without its length. */
export function readFrame(frame: Uint8Array): { callId: number; answer: Answer | RemoteError } {
  const reader = new ProtoReader(frame);
  const headerLength = reader.uint32Bare();
  const header = new ProtoReader(frame, reader.at, reader.at + headerLength);
  reader.at += headerLength;
  let callId = 0;
  let cellLength = 0;
  let error: RemoteError | null = null;
  while (header.next()) {
    if (header.field === 1) callId = header.uint32();
    else if (header.field === 2) error = readException(header.message());
    else if (header.field === 3) {
      const meta = header.message();
      while (meta.next()) cellLength = meta.uint32();
    } else header.skip();
  }
  if (error !== null) return { callId, answer: error };
  const length = reader.uint32Bare();
  const end = reader.at + length;
  const message = frame.subarray(reader.at, end);
  const cells = frame.subarray(end);
  if (cells.length !== cellLength) {
    throw new Error(`${cells.length} bytes of cells, the header says ${cellLength}`);
  }
  return { callId, answer: { message, cells } };
}

function readException(reader: ProtoReader): RemoteError {
  let className = '';
  let text = '';
  let doNotRetry = false;
  while (reader.next()) {
    if (reader.field === 1) className = reader.string();
    else if (reader.field === 2) text = reader.string();
    else if (reader.field === 5) doNotRetry = reader.bool();
    else reader.skip();
  }
  return new RemoteError(className, text, doNotRetry);
}
