/**
 * One client's connection: preamble, connection header, then calls, several at a time, each answered when it is done.
 *
 * Calls are read only while the client takes its answers: with too many calls unanswered, or too many bytes not taken, the
 * socket rests until there are fewer. So a client that never reads makes the server hold a bounded number of bytes.
 */
import type { Socket } from 'node:net';
import type { Env, Timer } from '../../io/index.ts';
import type { Logger } from '../../engine/index.ts';
import {
  AUTH_DIGEST,
  AUTH_KERBEROS,
  AUTH_SIMPLE,
  CALL_ID_NONE,
  MAGIC,
  PREAMBLE_REGISTRY,
  PREAMBLE_SECURITY,
  PREAMBLE_SIZE,
  ProtoReader,
  ProtoWriter,
  RPC_VERSION,
  RequestHeader,
  exceptionFrame,
  frameOf,
  readConnectionHeader,
} from '../../wire/index.ts';
import { cellCodecOf, compressorOf } from '../../wire/index.ts';
import type { CellCodec, Compressor } from '../../wire/index.ts';
import { RemoteException, exceptionOf } from './exceptions.ts';
import { FrameInput } from './frame_input.ts';
import { FrameOutput } from './frame_output.ts';
import type { RpcLimits } from './limits.ts';
import type { RpcAnswer, RpcPeer, RpcService } from './service.ts';

/** What all connections of a server share. */
export interface ConnectionContext {
  readonly services: ReadonlyMap<string, RpcService>;
  readonly env: Pick<Env, 'timers' | 'clock'>;
  readonly limits: RpcLimits;
  readonly clusterId: string;
  readonly logger: Logger;
  /** Bytes of requests of all connections that are not answered yet. */
  callBytes: number;
  /** Bytes of all connections that have arrived and were not read yet, mostly parts of frames. */
  inputBytes: number;
}

const AT_PREAMBLE = 0;
const AT_TOKEN = 1;
const AT_HEADER = 2;
const AT_CALLS = 3;
type Stage = typeof AT_PREAMBLE | typeof AT_TOKEN | typeof AT_HEADER | typeof AT_CALLS;

/** A frame below this is waited for although much is held already. */
const SMALL_FRAME_MAX = 64 * 1024;
/** A call is given at least this long, whatever its client says. HBase: hbase.ipc.min.client.request.timeout. */
const TIMEOUT_MS_MIN = 20;
/** Of a frame that is refused as much is read: its header. */
const REFUSED_START = 1024;
/** SASL status SUCCESS, then -88: "go on as SIMPLE". */
const SWITCH_TO_SIMPLE: Uint8Array = Uint8Array.of(0, 0, 0, 0, 0xff, 0xff, 0xff, 0xa8);

export class RpcConnection {
  readonly #socket: Socket;
  readonly #context: ConnectionContext;
  readonly #input: FrameInput = new FrameInput();
  readonly #output: FrameOutput;
  readonly #header: RequestHeader = new RequestHeader();
  readonly #params: ProtoReader = new ProtoReader();
  readonly #ended: AbortController = new AbortController();
  #stage: Stage = AT_PREAMBLE;
  #timer: Timer | null;
  #service: RpcService | null = null;
  #peer: RpcPeer | null = null;
  #codec: CellCodec | null = null;
  #compressor: Compressor | null = null;
  /** Calls that are not answered yet. */
  #calls = 0;
  #isReading = false;
  #isResting = false;
  #isFlushing = false;
  #isClosing = false;

  /** Takes the socket over. */
  constructor(socket: Socket, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.#output = new FrameOutput(socket);
    this.#timer = context.env.timers.after(context.limits.setupTimeoutMs, () => this.#drop());
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 60_000);
    socket.on('data', (chunk: Uint8Array) => {
      if (this.#isClosing) return;
      this.#input.push(chunk, context.env.clock.monotonicMs());
      this.#context.inputBytes += chunk.length;
      this.#read();
    });
    socket.on('drain', () => this.#resume());
    socket.on('end', () => socket.end());
    socket.on('error', (error) => context.logger.debug({ err: error }, 'a connection broke'));
    socket.once('close', () => this.#closed());
    socket.resume();
  }

  /** Reads no more calls; ends when those that run are answered. */
  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    if (this.#calls === 0) this.#finish();
  }

  /** Ends at once. */
  destroy(): void {
    this.#drop();
  }

  #closed(): void {
    this.#stopTimer();
    this.#dropInput();
    this.#ended.abort();
  }

  #drop(): void {
    this.#socket.destroy();
  }

  #dropInput(): void {
    if (!this.#isReading) this.#context.inputBytes -= this.#input.size;
    this.#input.clear();
  }

  #finish(): void {
    this.#isClosing = true;
    this.#output.flush();
    // What the client still sends is read and dropped: an unread rest would make the system forget our last answer.
    this.#dropInput();
    this.#socket.end();
    this.#socket.resume();
    this.#stopTimer();
    const { timers } = this.#context.env;
    this.#timer = timers.after(this.#context.limits.closeTimeoutMs, () => this.#drop());
  }

  #stopTimer(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Takes what has arrived as far as it is whole. */
  #read(): void {
    if (this.#isReading || this.#isResting) return;
    this.#isReading = true;
    const before = this.#input.size;
    try {
      while (!this.#socket.destroyed && !this.#isClosing && !this.#mustRest() && this.#step());
    } catch (error) {
      this.#refuse(error);
    } finally {
      this.#isReading = false;
      this.#context.inputBytes -= before - this.#input.size;
      this.#output.flush();
    }
  }

  /** One step of the protocol; false if more bytes are wanted. */
  #step(): boolean {
    switch (this.#stage) {
      case AT_PREAMBLE:
        return this.#readPreamble();
      case AT_TOKEN:
        return this.#readToken();
      case AT_HEADER:
        return this.#readHeader();
      case AT_CALLS:
        return this.#readCall();
    }
  }

  #readPreamble(): boolean {
    if (this.#input.size < PREAMBLE_SIZE) return false;
    const bytes = this.#input.take(PREAMBLE_SIZE);
    const text = Buffer.from(bytes).toString('latin1');
    if (text === PREAMBLE_REGISTRY) {
      this.#answerClusterId();
      return false;
    }
    if (text === PREAMBLE_SECURITY) {
      const refusal = new RemoteException('SecurityNotEnabledException', 'security is not enabled');
      this.#output.raw(exceptionFrame(CALL_ID_NONE, exceptionOf(refusal)));
      return true;
    }
    if (!text.startsWith(MAGIC)) {
      throw new RemoteException(
        'FatalConnectionException',
        `Expected HEADER=${MAGIC} but received HEADER=${hexOf(bytes.subarray(0, 4))}`,
      );
    }
    const version = bytes[4]!;
    const authentication = bytes[5]!;
    if (version !== RPC_VERSION) {
      throw new RemoteException('WrongVersionException', `Unknown version ${version}`);
    }
    if (authentication === AUTH_SIMPLE) this.#stage = AT_HEADER;
    else if (authentication === AUTH_KERBEROS || authentication === AUTH_DIGEST) {
      this.#output.raw(SWITCH_TO_SIMPLE);
      this.#stage = AT_TOKEN;
    } else {
      throw new RemoteException('BadAuthException', `Unknown authentication ${authentication}`);
    }
    return true;
  }

  #answerClusterId(): void {
    const header = new ProtoWriter(16);
    header.uint32(1, CALL_ID_NONE);
    const message = new ProtoWriter(64);
    message.string(1, this.#context.clusterId);
    this.#output.raw(frameOf(header.take(), message.take()));
    this.#finish();
  }

  /** The client's first SASL token: nobody needs it. */
  #readToken(): boolean {
    if (this.#takeSized() === null) return false;
    this.#stage = AT_HEADER;
    return true;
  }

  #readHeader(): boolean {
    const bytes = this.#takeSized();
    if (bytes === null) return false;
    const header = readConnectionHeader(bytes);
    const service = this.#context.services.get(header.serviceName);
    const codec = cellCodecOf(header.codecClass);
    const compressor = compressorOf(header.compressorClass);
    if (service === undefined || codec === undefined || compressor === undefined) {
      const { serviceName, codecClass, compressorClass } = header;
      this.#context.logger.warn(
        { service: serviceName, codec: codecClass, compressor: compressorClass },
        'a connection asked for what is not served',
      );
      this.#drop(); // As HBase does: without an answer.
      return false;
    }
    const { localAddress, localPort, remoteAddress, remotePort } = this.#socket;
    const hasCells = codec !== null;
    this.#service = service;
    this.#codec = codec;
    this.#peer = {
      localAddress: localAddress ?? '',
      localPort: localPort ?? 0,
      remoteAddress: remoteAddress ?? '',
      remotePort: remotePort ?? 0,
      user: header.user,
      clientVersion: header.clientVersion,
      cellBlocks: hasCells,
      cellBlocksForGets: hasCells && readsCellsOfGets(header.clientVersion),
      cellTags: codec?.hasTags ?? false,
    };
    this.#stopTimer();
    this.#stage = AT_CALLS;
    if (compressor instanceof Promise) {
      this.#restUntilLoaded(compressor);
      return false;
    }
    this.#compressor = compressor;
    return true;
  }

  #restUntilLoaded(loading: Promise<Compressor>): void {
    this.#isResting = true;
    this.#socket.pause();
    loading
      .then((compressor) => {
        this.#compressor = compressor;
        this.#resume();
      })
      .catch((error: unknown) => this.#refuse(error));
  }

  /** Bytes behind a 4-byte length; null until they are there. */
  #takeSized(): Uint8Array | null {
    if (this.#input.size < 4) return null;
    const length = this.#input.peekU32();
    if (length > this.#context.limits.headerBytesMax) {
      throw new RemoteException('FatalConnectionException', `a header of ${length} bytes`);
    }
    if (this.#input.size < 4 + length) return null;
    this.#input.take(4);
    return this.#input.take(length);
  }

  #readCall(): boolean {
    if (this.#input.size < 4) return false;
    const length = this.#input.peekU32();
    const { frameBytesMax, callBytesMax } = this.#context.limits;
    if (length > frameBytesMax) {
      return this.#refuseFrame(length, 'RequestTooBigException', frameBytesMax);
    }
    if (this.#input.size < 4 + length) {
      const { callBytes, inputBytes } = this.#context;
      const isTooMuch = callBytes + inputBytes > callBytesMax && length > SMALL_FRAME_MAX;
      return isTooMuch && this.#refuseFrame(length, 'CallQueueTooBigException', callBytesMax);
    }
    this.#input.take(4);
    this.#call(this.#input.take(length));
    return true;
  }

  /** A frame that is too large is answered, as soon as its header is there, and ends the connection. HBase does so too. */
  #refuseFrame(length: number, type: string, max: number): boolean {
    const want = Math.min(length, REFUSED_START);
    if (this.#input.size < 4 + want) return false;
    this.#input.take(4);
    const start = this.#input.take(want);
    this.#readRequestHeader(start, true);
    const refusal = new RemoteException(
      type,
      `RPC data length of ${length} received from ${this.#peer?.remoteAddress} is greater than max allowed ${max}`,
    );
    this.#output.raw(exceptionFrame(this.#header.callId, exceptionOf(refusal)));
    this.#finish();
    return false;
  }

  /** Reads the header of the frame and gives the offset behind it. */
  #readRequestHeader(frame: Uint8Array, isStart: boolean): number {
    const reader = this.#params;
    reader.begin(frame, 0, frame.length);
    const length = reader.uint32Bare();
    const from = reader.at;
    if (from + length > frame.length) {
      if (isStart) return frame.length;
      throw new RemoteException('FatalConnectionException', 'a request header exceeds its frame');
    }
    this.#header.read(frame, from, from + length);
    return from + length;
  }

  #call(frame: Uint8Array): void {
    const header = this.#header;
    const paramAt = this.#readRequestHeader(frame, false);
    const { callId } = header;
    const context = this.#context;
    const deadlineMs = this.#deadline();
    if (deadlineMs < context.env.clock.monotonicMs()) {
      // As HBase does: nobody waits for an answer any more.
      context.logger.debug({ method: header.method }, 'a call came to its turn too late');
      return;
    }
    this.#calls++;
    context.callBytes += frame.length;
    let answer: RpcAnswer | Promise<RpcAnswer>;
    try {
      if (context.callBytes > context.limits.callBytesMax) {
        throw new RemoteException(
          'CallQueueTooBigException',
          `Call queue is full: ${context.callBytes} bytes of requests are not answered yet`,
        );
      }
      answer = this.#dispatch(frame, paramAt, deadlineMs);
    } catch (error) {
      this.#failed(callId, error);
      this.#done(frame.length);
      return;
    }
    if (answer instanceof Promise) this.#answerLater(callId, answer, frame.length);
    else {
      this.#answered(callId, answer);
      this.#done(frame.length);
    }
  }

  /** Until when the client of the call that was taken last waits; on the steady clock, Infinity for one that does not say. */
  #deadline(): number {
    const { timeoutMs } = this.#header;
    if (timeoutMs === 0) return Infinity;
    return this.#input.takenMs + Math.max(timeoutMs, TIMEOUT_MS_MIN);
  }

  #dispatch(
    frame: Uint8Array,
    paramAt: number,
    deadlineMs: number,
  ): RpcAnswer | Promise<RpcAnswer> {
    const header = this.#header;
    const method = this.#service!.methods.get(header.method);
    if (method === undefined) {
      throw new RemoteException(
        'DoNotRetryIOException',
        `java.lang.UnsupportedOperationException: ${header.method.slice(0, 200)}`,
      );
    }
    if (!header.hasParam) {
      throw new RemoteException('DoNotRetryIOException', 'a request without a message');
    }
    const reader = this.#params;
    reader.begin(frame, paramAt, frame.length);
    const length = reader.uint32Bare();
    const { cellBlockLength } = header;
    // As HBase does: a message without cells ends with its frame, whatever length it claims (a Python client misspells those
    // above 127).
    const end =
      cellBlockLength === 0 ? Math.min(reader.at + length, frame.length) : reader.at + length;
    if (end + cellBlockLength > frame.length) {
      throw new RemoteException('DoNotRetryIOException', 'a request is longer than its frame');
    }
    return method({
      param: frame.subarray(reader.at, end),
      cells: cellBlockLength === 0 ? null : this.#cellsOf(frame, end, cellBlockLength),
      priority: header.priority,
      deadlineMs,
      signal: this.#ended.signal,
      peer: this.#peer!,
    });
  }

  #cellsOf(frame: Uint8Array, at: number, length: number): Uint8Array {
    const block = frame.subarray(at, at + length);
    const codec = this.#codec;
    if (codec === null) {
      throw new RemoteException(
        'DoNotRetryIOException',
        'a cell block on a connection without codec',
      );
    }
    const { cellBlockBytesMax } = this.#context.limits;
    const plain =
      this.#compressor === null ? block : this.#compressor.decompress(block, cellBlockBytesMax);
    return codec.decode(plain);
  }

  #answerLater(callId: number, answer: Promise<RpcAnswer>, bytes: number): void {
    // One promise more for each call, not four.
    answer
      .then(
        (value) => this.#settled(callId, value, null, bytes),
        (error: unknown) => this.#settled(callId, null, error, bytes),
      )
      .catch((error: unknown) => this.#refuse(error));
  }

  /** A call that was waited for has an answer, or failed with `error`. */
  #settled(callId: number, answer: RpcAnswer | null, error: unknown, bytes: number): void {
    try {
      if (answer === null) this.#failed(callId, error);
      else this.#answered(callId, answer);
    } catch (fault) {
      this.#refuse(fault);
    }
    this.#done(bytes);
    this.#flushSoon();
  }

  #answered(callId: number, { message, cells }: RpcAnswer): void {
    if (this.#socket.destroyed) return;
    if (cells === undefined || cells.length === 0) {
      this.#output.answer(callId, message, undefined);
      return;
    }
    let pieces = this.#codec === null ? cells : this.#codec.encode(cells);
    if (this.#compressor !== null) pieces = [this.#compressor.compress(Buffer.concat(pieces))];
    this.#output.answer(callId, message, pieces);
  }

  #failed(callId: number, error: unknown): void {
    const exception = exceptionOf(error);
    if (exception.isBug) this.#context.logger.error({ err: error }, 'a call failed unexpectedly');
    if (this.#socket.destroyed) return;
    this.#output.raw(exceptionFrame(callId, exception));
  }

  #done(bytes: number): void {
    this.#calls--;
    this.#context.callBytes -= bytes;
    if (this.#isClosing && this.#calls === 0) this.#finish();
    else if (this.#isResting) this.#resume();
  }

  /** What the promises settled in this turn have answered leaves together. */
  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    process.nextTick(() => {
      this.#isFlushing = false;
      this.#output.flush();
    });
  }

  /** The connection cannot go on: says why, if the client can still hear it, and ends. */
  #refuse(error: unknown): void {
    if (this.#socket.destroyed) return;
    const exception = exceptionOf(error);
    const { remoteAddress: from } = this.#socket;
    // Anybody can cause it: a line each, and a stack for faults of ours alone.
    const told = exception.isBug ? { from, err: error } : { from, reason: String(error) };
    this.#context.logger.warn(told, 'a connection was refused');
    const callId = this.#stage === AT_CALLS ? this.#header.callId : CALL_ID_NONE;
    this.#output.raw(exceptionFrame(callId, exception));
    this.#finish();
  }

  #mustRest(): boolean {
    const { callsMax, outputBytesMax } = this.#context.limits;
    if (this.#output.pendingBytes > outputBytesMax) this.#output.flush();
    const isFull = this.#output.pendingBytes > outputBytesMax;
    if (!isFull && this.#calls < callsMax) return false;
    this.#isResting = true;
    this.#socket.pause();
    if (isFull) this.#watchStall(this.#output.pendingBytes);
    return true;
  }

  /** A client that takes nothing of what it has asked for is let go. */
  #watchStall(bytes: number): void {
    const { timers } = this.#context.env;
    this.#stopTimer();
    this.#timer = timers.after(this.#context.limits.stalledTimeoutMs, () => {
      const left = this.#output.pendingBytes;
      if (left < bytes) this.#watchStall(left);
      else this.#drop();
    });
  }

  #resume(): void {
    const { callsMax, outputBytesMax } = this.#context.limits;
    if (!this.#isResting || this.#isClosing || this.#calls >= callsMax) return;
    if (this.#output.pendingBytes > outputBytesMax / 2) return;
    this.#isResting = false;
    this.#stopTimer();
    this.#socket.resume();
    this.#read();
  }
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Clients before 1.3, or of unknown version, look for a get's cells in the message. */
function readsCellsOfGets(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 1 || (major === 1 && minor >= 3);
}
