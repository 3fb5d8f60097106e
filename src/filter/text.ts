/** Bytes as code points, in a buffer that is reused: what regular expressions look at. */
import { IllegalArgumentException } from '../model/index.ts';

/** What stands for bytes that are no text. */
const REPLACEMENT = 0xfffd;

/** Text of one charset. `points` and `length` are good until the next `set`. */
export interface CodePoints {
  readonly points: Uint32Array;
  readonly length: number;
  set(buf: Uint8Array, at: number, length: number): void;
}

/** A reader of a Java charset; names are matched without regard to case. Throws IllegalArgumentException. */
export function codePointsOf(charset: string): CodePoints {
  switch (charset.toUpperCase()) {
    case 'UTF-8':
    case 'UTF8':
      return new Utf8Text();
    case 'ISO-8859-1':
    case 'ISO8859_1':
    case 'LATIN1':
      return new ByteText(0x100);
    case 'US-ASCII':
    case 'ASCII':
      return new ByteText(0x80);
    case 'UTF-16BE':
      return new Utf16Text(true);
    case 'UTF-16LE':
      return new Utf16Text(false);
    case 'UTF-16':
      return new Utf16Text(null);
    default:
      throw new IllegalArgumentException(`Unsupported charset: ${charset}`);
  }
}

const roomFor = (points: Uint32Array, length: number): Uint32Array =>
  length <= points.length ? points : new Uint32Array(length * 2);

/** UTF-8; each longest piece of a broken character becomes one U+FFFD, as in Java and on the web. */
export class Utf8Text implements CodePoints {
  points: Uint32Array = new Uint32Array(64);
  length = 0;

  static isAscii(buf: Uint8Array, at: number, length: number): boolean {
    const end = at + length;
    for (let i = at; i < end; i++) if (buf[i]! >= 0x80) return false;
    return true;
  }

  set(buf: Uint8Array, at: number, length: number): void {
    this.points = roomFor(this.points, length);
    const points = this.points;
    const end = at + length;
    let count = 0;
    let i = at;
    while (i < end) {
      const lead = buf[i++]!;
      if (lead < 0x80) {
        points[count++] = lead;
        continue;
      }
      let more = lead >= 0xc2 && lead <= 0xdf ? 1 : lead >= 0xe0 && lead <= 0xef ? 2 : 3;
      if (lead < 0xc2 || lead > 0xf4) {
        points[count++] = REPLACEMENT;
        continue;
      }
      let low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
      let high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
      let point = lead & (0x3f >> more);
      while (more > 0 && i < end && buf[i]! >= low && buf[i]! <= high) {
        point = (point << 6) | (buf[i++]! & 0x3f);
        low = 0x80;
        high = 0xbf;
        more--;
      }
      points[count++] = more === 0 ? point : REPLACEMENT;
    }
    this.length = count;
  }
}

/** One byte a character; bytes from `limit` on are no text. */
class ByteText implements CodePoints {
  points: Uint32Array = new Uint32Array(64);
  length = 0;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  set(buf: Uint8Array, at: number, length: number): void {
    this.points = roomFor(this.points, length);
    for (let i = 0; i < length; i++) {
      const byte = buf[at + i]!;
      this.points[i] = byte < this.#limit ? byte : REPLACEMENT;
    }
    this.length = length;
  }
}

/** UTF-16; with null the byte order mark decides, big-endian without one. */
class Utf16Text implements CodePoints {
  points: Uint32Array = new Uint32Array(64);
  length = 0;
  readonly #isBig: boolean | null;

  constructor(isBig: boolean | null) {
    this.#isBig = isBig;
  }

  set(buf: Uint8Array, at: number, length: number): void {
    this.points = roomFor(this.points, length);
    let isBig = this.#isBig ?? true;
    const end = at + length;
    let i = at;
    if (this.#isBig === null && length >= 2) {
      const mark = (buf[at]! << 8) | buf[at + 1]!;
      if (mark === 0xfeff || mark === 0xfffe) i += 2;
      isBig = mark !== 0xfffe;
    }
    let count = 0;
    while (i < end) {
      const unit = i + 1 < end ? unitAt(buf, i, isBig) : REPLACEMENT;
      i += 2;
      const next = i + 1 < end ? unitAt(buf, i, isBig) : 0;
      if (unit < 0xd800 || unit > 0xdfff) this.points[count++] = unit;
      else if (unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) {
        this.points[count++] = 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00);
        i += 2;
      } else this.points[count++] = REPLACEMENT;
    }
    this.length = count;
  }
}

const unitAt = (buf: Uint8Array, at: number, isBig: boolean): number =>
  isBig ? (buf[at]! << 8) | buf[at + 1]! : (buf[at + 1]! << 8) | buf[at]!;
