const EMPTY: Uint8Array = new Uint8Array(0);

/** Bytes that have arrived and were not read yet, in the pieces in which they came. */
export class FrameInput {
  #chunks: Uint8Array[] = [];
  /** When each piece came. */
  #times: number[] = [];
  /** Where the first piece is read on. */
  #at = 0;
  /** When the last byte came of what was taken last. */
  takenMs = 0;
  /** Bytes not read yet. */
  size = 0;

  /** Adds a piece; `nowMs` on the steady clock. */
  push(chunk: Uint8Array, nowMs: number): void {
    if (chunk.length === 0) return;
    // Not as a Buffer: views of one take twice as long to make, and readers of messages would meet two kinds of arrays.
    this.#chunks.push(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length));
    this.#times.push(nowMs);
    this.size += chunk.length;
  }

  /** The unsigned number in the next 4 bytes, which are there; they stay. */
  peekU32(): number {
    const first = this.#chunks[0]!;
    const at = this.#at;
    if (first.length - at >= 4) return readU32(first, at);
    return readU32(this.#copy(4), 0);
  }

  /** The next `length` bytes, which are there: a view where they lie in one piece. */
  take(length: number): Uint8Array {
    if (length === 0) return EMPTY;
    const first = this.#chunks[0]!;
    const end = this.#at + length;
    if (end <= first.length) {
      const bytes = first.subarray(this.#at, end);
      this.#skip(length);
      return bytes;
    }
    const bytes = this.#copy(length);
    this.#skip(length);
    return bytes;
  }

  #copy(length: number): Uint8Array {
    const { buffer, byteOffset } = Buffer.allocUnsafe(length);
    const bytes = new Uint8Array(buffer, byteOffset, length);
    let done = 0;
    let from = this.#at;
    for (const chunk of this.#chunks) {
      const count = Math.min(length - done, chunk.length - from);
      bytes.set(chunk.subarray(from, from + count), done);
      done += count;
      if (done === length) break;
      from = 0;
    }
    return bytes;
  }

  #skip(length: number): void {
    this.size -= length;
    let at = this.#at + length;
    let gone = 0;
    while (gone < this.#chunks.length && at >= this.#chunks[gone]!.length) {
      at -= this.#chunks[gone]!.length;
      gone++;
    }
    this.takenMs = this.#times[at === 0 && gone > 0 ? gone - 1 : gone]!;
    if (gone === 1) {
      this.#chunks.shift();
      this.#times.shift();
    } else if (gone > 0) {
      this.#chunks.splice(0, gone);
      this.#times.splice(0, gone);
    }
    this.#at = at;
  }

  clear(): void {
    this.#chunks = [];
    this.#times = [];
    this.#at = 0;
    this.size = 0;
  }
}

function readU32(buf: Uint8Array, at: number): number {
  return ((buf[at]! << 24) | (buf[at + 1]! << 16) | (buf[at + 2]! << 8) | buf[at + 3]!) >>> 0;
}
