/**
 * Answers on their way to a client. Small ones are written one after another into a buffer, so that those of one turn of
 * the event loop leave together; large pieces are passed on as they are.
 */
import type { Socket } from 'node:net';
import { ProtoWriter, writeResponseHeader } from '../../wire/index.ts';

/** Pieces up to this size are copied. */
const COPIED_MAX = 8 * 1024;
const BUFFER_SIZE = 16 * 1024;
/** A buffer that has grown past this is not written into again. */
const KEPT_SIZE_MAX = 64 * 1024;

export class FrameOutput {
  readonly #socket: Socket;
  #writer: ProtoWriter = new ProtoWriter(BUFFER_SIZE);
  /** What of the buffer was passed on already. */
  #from = 0;
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Bytes that the client has not taken. */
  get pendingBytes(): number {
    return this.#socket.writableLength + this.#pieceBytes + this.#writer.at - this.#from;
  }

  /** Adds the frame of an answer. */
  answer(callId: number, message: Uint8Array, cells: readonly Uint8Array[] | undefined): void {
    const writer = this.#writer;
    let cellBytes = 0;
    if (cells !== undefined) for (const piece of cells) cellBytes += piece.length;
    writer.reserve(4);
    const at = writer.at;
    writer.at += 4;
    writeResponseHeader(writer, callId, cellBytes);
    writer.uint32Bare(message.length);
    const total = writer.at - at - 4 + message.length + cellBytes;
    writer.buf.writeUInt32BE(total, at);
    this.raw(message);
    if (cells !== undefined) for (const piece of cells) this.raw(piece);
  }

  /** Adds bytes as they are. */
  raw(bytes: Uint8Array): void {
    if (bytes.length <= COPIED_MAX) {
      this.#writer.raw(bytes);
      return;
    }
    this.#cut();
    this.#pieces.push(bytes);
    this.#pieceBytes += bytes.length;
  }

  #cut(): void {
    const writer = this.#writer;
    if (writer.at === this.#from) return;
    const piece = writer.buf.subarray(this.#from, writer.at);
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
    this.#from = writer.at;
  }

  /** Passes everything on to the system. */
  flush(): void {
    this.#cut();
    if (this.#pieces.length === 0) return;
    const socket = this.#socket;
    // The pieces belong to the socket now, and with them what of the buffer they lie in.
    const { buf, at } = this.#writer;
    if (buf.length - at < COPIED_MAX || buf.length > KEPT_SIZE_MAX) {
      this.#writer = new ProtoWriter(BUFFER_SIZE);
      this.#from = 0;
    }
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#pieceBytes = 0;
    if (socket.destroyed || !socket.writable) return;
    if (pieces.length === 1) {
      socket.write(pieces[0]!);
      return;
    }
    socket.cork();
    for (const piece of pieces) socket.write(piece);
    socket.uncork();
  }
}
