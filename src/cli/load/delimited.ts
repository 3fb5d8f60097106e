/**
 * Lines of separated fields, read from chunks of bytes (a chunk may end anywhere, in a character too). Fields stay bytes.
 *
 *     quotes   RFC 4180: a field that begins with `"` ends at the next `"` that is not doubled; separators and line ends
 *              within it are its own. After the closing quote only a separator or the line's end may follow.
 *     lines    end with LF or CR LF; the last may lack it. Empty lines are skipped. A UTF-8 BOM at the start is dropped.
 *     faults   a line that breaks these rules comes as `fault`; reading goes on at the line after the one it began on.
 */

export interface DelimitedLine {
  /** Number of the line, from 1, on which the record begins. */
  readonly line: number;
  /** Owned by the receiver; empty when `fault` says what is wrong. */
  readonly fields: readonly Uint8Array[];
  readonly fault: string | null;
}

export interface DelimitedFormat {
  /** One byte. */
  readonly separator: number;
  readonly quotes: boolean;
}

/** A record longer than this is a fault: usually a quote that is never closed. */
export const RECORD_LENGTH_MAX: number = 16 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;

/** What reading a record at some offset came to. */
interface Found {
  /** Offset after the record's line end; -1 when more bytes are needed. */
  end: number;
  fault: string | null;
}

export class DelimitedParser {
  readonly #format: DelimitedFormat;
  #pending: Buffer = Buffer.alloc(0);
  #line = 1;
  #isStart = true;
  /** The line under way was faulty. */
  #isSkipping = false;
  #fields: Uint8Array[] = [];

  constructor(format: DelimitedFormat) {
    this.#format = format;
  }

  /** The records that are whole now. `chunk` may be used again afterwards. */
  push(chunk: Uint8Array): DelimitedLine[] {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    return this.#take(false);
  }

  /** The last record, when its line end is missing, or its fault. */
  end(): DelimitedLine[] {
    return this.#take(true);
  }

  #take(isEnd: boolean): DelimitedLine[] {
    const buf = this.#pending;
    const lines: DelimitedLine[] = [];
    let at = 0;
    if (this.#isStart) {
      if (buf.length < 3 && !isEnd) return lines;
      this.#isStart = false;
      if (buf[0] === 0xef && buf[1] === 0xbb && buf[2] === 0xbf) at = 3;
    }
    if (this.#isSkipping) at = this.#skip(buf, at);
    while (at < buf.length) {
      const start = at;
      const { end, fault } = this.#record(buf, at, isEnd);
      if (end < 0 && buf.length - start <= RECORD_LENGTH_MAX) break;
      const trouble = end < 0 ? `record is longer than ${RECORD_LENGTH_MAX} bytes` : fault;
      if (trouble !== null) {
        lines.push({ line: this.#line, fields: [], fault: trouble });
        at = this.#skip(buf, start);
        continue;
      }
      const isEmpty = this.#fields.length === 1 && this.#fields[0]!.length === 0;
      if (!isEmpty || buf[start] === QUOTE) {
        lines.push({ line: this.#line, fields: this.#fields, fault: null });
      }
      this.#line += lineEnds(buf, start, end);
      at = end;
    }
    this.#pending = Buffer.from(buf.subarray(at));
    return lines;
  }

  /** Passes over the rest of a faulty line, of which more may come; gives the offset after what is passed over. */
  #skip(buf: Buffer, at: number): number {
    const lineEnd = buf.indexOf(LF, at);
    this.#isSkipping = lineEnd < 0;
    if (lineEnd < 0) return buf.length;
    this.#line += 1;
    return lineEnd + 1;
  }

  /** Reads the record at `at` into `#fields`. */
  #record(buf: Buffer, start: number, isEnd: boolean): Found {
    const { separator, quotes } = this.#format;
    this.#fields = [];
    for (let at = start; ;) {
      if (quotes && buf[at] === QUOTE) {
        const found = this.#quoted(buf, at, isEnd);
        if (found.end < 0 || found.fault !== null) return found;
        at = found.end;
        if (at >= buf.length || buf[at - 1] === LF) return found;
        continue;
      }
      let end = at;
      while (end < buf.length && buf[end] !== separator && buf[end] !== LF) end++;
      if (end === buf.length && !isEnd) return { end: -1, fault: null };
      const isLast = buf[end] !== separator;
      const hasCr = isLast && end > at && buf[end - 1] === CR;
      this.#fields.push(new Uint8Array(buf.subarray(at, hasCr ? end - 1 : end)));
      at = end + 1;
      if (isLast) return { end: Math.min(at, buf.length), fault: null };
    }
  }

  /** Reads the quoted field at `at` and its separator or line end; `end` is the offset after that. */
  #quoted(buf: Buffer, start: number, isEnd: boolean): Found {
    const pieces: Uint8Array[] = [];
    let from = start + 1;
    for (;;) {
      const quote = buf.indexOf(QUOTE, from);
      if (quote < 0) return { end: isEnd ? buf.length : -1, fault: 'quote is not closed' };
      if (quote + 1 === buf.length && !isEnd) return { end: -1, fault: null };
      const isDoubled = buf[quote + 1] === QUOTE;
      pieces.push(buf.subarray(from, isDoubled ? quote + 1 : quote));
      if (!isDoubled) {
        this.#fields.push(new Uint8Array(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)));
        return this.#afterQuote(buf, quote + 1, isEnd);
      }
      from = quote + 2;
    }
  }

  #afterQuote(buf: Buffer, at: number, isEnd: boolean): Found {
    if (at === buf.length) return { end: at, fault: null };
    if (buf[at] === LF) return { end: at + 1, fault: null };
    if (buf[at] === this.#format.separator) {
      // A separator at the very end of the input begins an empty last field.
      if (at + 1 === buf.length && !isEnd) return { end: -1, fault: null };
      if (at + 1 === buf.length) this.#fields.push(new Uint8Array(0));
      return { end: at + 1, fault: null };
    }
    if (buf[at] === CR) {
      if (at + 1 === buf.length) return { end: isEnd ? at + 1 : -1, fault: null };
      if (buf[at + 1] === LF) return { end: at + 2, fault: null };
    }
    return { end: at, fault: 'text follows a closing quote' };
  }
}

function lineEnds(buf: Buffer, from: number, to: number): number {
  let count = 0;
  for (let at = buf.indexOf(LF, from); at >= 0 && at < to; at = buf.indexOf(LF, at + 1)) count++;
  return count;
}
