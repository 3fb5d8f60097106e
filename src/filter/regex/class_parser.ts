/** Character classes of Java's regular expressions: `[a-z&&[^b]]`, `\d`, `\p{L}` and their kin; escapes of characters. */
import { IllegalArgumentException } from '../../model/index.ts';
import {
  CharSet,
  DIGIT,
  HORIZONTAL,
  NOTHING,
  SPACE,
  VERTICAL,
  WORD,
  namedSet,
} from './char_set.ts';

/** Pattern's flags (java.util.regex.Pattern): on the wire. */
export const UNIX_LINES = 1;
export const CASE_INSENSITIVE = 2;
export const COMMENTS = 4;
export const MULTILINE = 8;
export const LITERAL = 16;
export const DOTALL = 32;
export const UNICODE_CASE = 64;
export const CANON_EQ = 128;
export const UNICODE_CHARACTER_CLASS = 256;

/** The pattern's code points and where the parser stands. */
export class Reader {
  readonly points: readonly string[];
  readonly pattern: string;
  at = 0;
  flags: number;

  constructor(pattern: string, flags: number) {
    this.pattern = pattern;
    this.points = [...pattern];
    this.flags = flags;
  }

  has(flag: number): boolean {
    return (this.flags & flag) !== 0;
  }

  get isAtEnd(): boolean {
    return this.at >= this.points.length;
  }

  /** The character ahead; empty at the end. */
  get ahead(): string {
    return this.points[this.at] ?? '';
  }

  next(): string {
    const character = this.ahead;
    if (character === '') throw this.error('unexpected end');
    this.at++;
    return character;
  }

  /** Takes `text` if it is ahead. */
  take(text: string): boolean {
    const characters = [...text];
    for (let i = 0; i < characters.length; i++) {
      if (this.points[this.at + i] !== characters[i]) return false;
    }
    this.at += characters.length;
    return true;
  }

  error(what: string, at: number = this.at): IllegalArgumentException {
    return new IllegalArgumentException(
      `Regular expression '${this.pattern}': ${what} near index ${at}`,
    );
  }

  /** In COMMENTS mode passes over blanks and comments. */
  skipComments(): void {
    if (!this.has(COMMENTS)) return;
    for (;;) {
      if (/^[ \t\n\v\f\r]$/.test(this.ahead)) this.at++;
      else if (this.ahead === '#') {
        while (!this.isAtEnd && !/^[\n\r\u0085\u2028\u2029]$/.test(this.ahead)) this.at++;
      } else return;
    }
  }
}

/** The set as its flags have it: with both cases where case does not matter. */
export function withFlags(set: CharSet, reader: Reader): CharSet {
  return reader.has(CASE_INSENSITIVE) ? set.anyCase(reader.has(UNICODE_CASE)) : set;
}

/** The class behind `[`. */
export function readClass(reader: Reader): CharSet {
  const from = reader.at - 1;
  const isNegated = reader.take('^');
  let left: CharSet | null = null;
  let set: CharSet | null = null;
  let isFirst = true;
  for (;;) {
    reader.skipComments();
    if (reader.isAtEnd) throw reader.error('Unclosed character class', from);
    if (reader.ahead === ']' && !(isFirst && set === null && left === null)) break;
    isFirst = false;
    if (reader.take('&&')) {
      while (reader.take('&')) continue;
      left = both(left, set);
      set = null;
      continue;
    }
    const part = reader.take('[') ? readClass(reader) : readItem(reader);
    set = set === null ? part : set.union(part);
  }
  reader.at++;
  const whole = both(left, set) ?? NOTHING;
  return isNegated ? whole.negated() : whole;
}

const both = (left: CharSet | null, right: CharSet | null): CharSet | null =>
  left === null || right === null ? (left ?? right) : left.intersection(right);

/** One character, a range or an escaped class inside of brackets. */
function readItem(reader: Reader): CharSet {
  if (reader.take('\\')) {
    const set = readClassEscape(reader);
    if (set !== null) return set;
    if (reader.take('Q')) return readQuotedSet(reader);
    return readRange(reader, readCharacterEscape(reader));
  }
  return readRange(reader, reader.next().codePointAt(0)!);
}

function readQuotedSet(reader: Reader): CharSet {
  let text = '';
  while (!reader.isAtEnd && !reader.take('\\E')) text += reader.next();
  return withFlags(CharSet.of(text), reader);
}

function readRange(reader: Reader, first: number): CharSet {
  const next = reader.points[reader.at + 1];
  if (reader.ahead !== '-' || next === undefined || next === ']' || next === '[') {
    return withFlags(CharSet.one(first), reader);
  }
  const from = reader.at;
  reader.at++;
  const last = reader.take('\\') ? readCharacterEscape(reader) : reader.next().codePointAt(0)!;
  if (last < first) throw reader.error('Illegal character range', from);
  return withFlags(CharSet.range(first, last), reader);
}

/** The class that the letter behind a backslash names; null if it names none. */
export function readClassEscape(reader: Reader): CharSet | null {
  const isUnicode = reader.has(UNICODE_CHARACTER_CLASS);
  const unicode = (source: string, plain: CharSet): CharSet =>
    isUnicode ? CharSet.property(source) : plain;
  const letter = reader.ahead;
  let set: CharSet;
  switch (letter.toLowerCase()) {
    case 'd':
      set = unicode('\\p{Nd}', DIGIT);
      break;
    case 'w':
      set = unicode('[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]', WORD);
      break;
    case 's':
      set = unicode('\\p{White_Space}', SPACE);
      break;
    case 'h':
      set = HORIZONTAL;
      break;
    case 'v':
      set = VERTICAL;
      break;
    case 'p':
      set = readProperty(reader);
      break;
    default:
      return null;
  }
  reader.at++;
  return letter === letter.toLowerCase() ? set : set.negated();
}

/** Stands on `p`; leaves the reader on the name's last character. */
function readProperty(reader: Reader): CharSet {
  const from = reader.at;
  const isBraced = reader.points[reader.at + 1] === '{';
  const end = isBraced ? reader.points.indexOf('}', from) : from + 1;
  const name = reader.points
    .slice(isBraced ? from + 2 : from + 1, isBraced ? end : end + 1)
    .join('');
  if (end < 0 || name === '') throw reader.error('Unclosed character family', from);
  const set = namedSet(name, reader.has(UNICODE_CHARACTER_CLASS));
  if (set === null) throw reader.error(`Unknown character property {${name}}`, from);
  reader.at = end;
  return withFlags(set, reader);
}

const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, r: 13, f: 12, a: 7, e: 27 };

/** The code point that an escape stands for; the reader is behind the backslash. */
export function readCharacterEscape(reader: Reader): number {
  const from = reader.at - 1;
  const letter = reader.next();
  const control = CONTROLS[letter];
  if (control !== undefined) return control;
  switch (letter) {
    case '0':
      return readOctal(reader, from);
    case 'x':
      return reader.take('{') ? readBracedHex(reader, from) : readHex(reader, 2, from);
    case 'u': {
      const unit = readHex(reader, 4, from);
      const isHigh = unit >= 0xd800 && unit < 0xdc00;
      if (!isHigh || !reader.take('\\u')) return unit;
      const low = readHex(reader, 4, from);
      return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    case 'c':
      return reader.next().codePointAt(0)! ^ 64;
    default:
      if (/^[A-Za-z]$/.test(letter)) {
        throw reader.error('Illegal/unsupported escape sequence', from);
      }
      return letter.codePointAt(0)!;
  }
}

function readOctal(reader: Reader, from: number): number {
  let digits = '';
  while (/^[0-7]$/.test(reader.ahead) && digits.length < (digits < '4' ? 3 : 2)) {
    digits += reader.next();
  }
  if (digits === '') throw reader.error('Illegal octal escape sequence', from);
  return Number.parseInt(digits, 8);
}

function readHex(reader: Reader, count: number, from: number): number {
  let digits = '';
  while (digits.length < count && /^[0-9A-Fa-f]$/.test(reader.ahead)) digits += reader.next();
  if (digits.length < count) throw reader.error('Illegal hexadecimal escape sequence', from);
  return Number.parseInt(digits, 16);
}

function readBracedHex(reader: Reader, from: number): number {
  let digits = '';
  while (/^[0-9A-Fa-f]$/.test(reader.ahead)) digits += reader.next();
  const point = Number.parseInt(digits, 16);
  if (!reader.take('}') || !(point <= 0x10ffff)) {
    throw reader.error('Illegal hexadecimal escape sequence', from);
  }
  return point;
}
