/** Java's regular expressions (java.util.regex.Pattern) as trees. Errors name the place in the pattern. */
import { IllegalArgumentException } from '../../model/index.ts';
import {
  LINE_END_AT,
  LINE_START,
  NO_WORD_BOUNDARY,
  TEXT_END,
  TEXT_END_LINE,
  TEXT_START,
  WORD_BOUNDARY,
} from './ast.ts';
import type { Expression, Node, Place, RepeatNode } from './ast.ts';
import { CharSet, EVERYTHING, LINE_END, VERTICAL } from './char_set.ts';
import {
  CANON_EQ,
  CASE_INSENSITIVE,
  COMMENTS,
  DOTALL,
  LITERAL,
  MULTILINE,
  Reader,
  UNICODE_CASE,
  UNICODE_CHARACTER_CLASS,
  UNIX_LINES,
  readCharacterEscape,
  readClass,
  readClassEscape,
  withFlags,
} from './class_parser.ts';

const FLAG_LETTERS: Readonly<Record<string, number>> = {
  i: CASE_INSENSITIVE,
  d: UNIX_LINES,
  m: MULTILINE,
  s: DOTALL,
  u: UNICODE_CASE,
  x: COMMENTS,
  U: UNICODE_CHARACTER_CLASS | UNICODE_CASE,
};
const FLAGS_ALL = 0x1ff;
const REPEAT_MAX = 0x7fffffff;
/** Groups within groups: beyond this a pattern would exhaust the stack. */
const DEPTH_MAX = 200;

const EMPTY: Node = { kind: 'empty' };

/** Throws IllegalArgumentException for what Java's Pattern refuses and for CANON_EQ. */
export function parseExpression(pattern: string, flags: number): Expression {
  if ((flags & ~FLAGS_ALL) !== 0) {
    throw new IllegalArgumentException(`Unknown flag 0x${flags.toString(16)}`);
  }
  if ((flags & CANON_EQ) !== 0) {
    throw new IllegalArgumentException('Regular expressions with CANON_EQ are not supported');
  }
  const implied = (flags & UNICODE_CHARACTER_CLASS) === 0 ? 0 : UNICODE_CASE;
  return new Parser(new Reader(pattern, flags | implied)).parse();
}

class Parser {
  readonly #reader: Reader;
  #groups = 0;
  readonly #names: Map<string, number> = new Map();
  #needsBacktracking = false;
  #depth = 0;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  parse(): Expression {
    const reader = this.#reader;
    let root: Node;
    if (reader.has(LITERAL)) {
      root = allOf(reader.points.map((character) => this.#literal(character.codePointAt(0)!)));
    } else {
      root = this.#choice();
      if (!reader.isAtEnd) throw reader.error("Unmatched closing ')'");
    }
    return { root, groupCount: this.#groups, needsBacktracking: this.#needsBacktracking };
  }

  #literal(point: number): Node {
    return { kind: 'set', set: withFlags(CharSet.one(point), this.#reader) };
  }

  #choice(): Node {
    this.#depth++;
    if (this.#depth > DEPTH_MAX) throw this.#reader.error('groups are nested too deeply');
    const items: Node[] = [this.#sequence()];
    while (this.#reader.take('|')) items.push(this.#sequence());
    this.#depth--;
    return items.length === 1 ? items[0]! : { kind: 'one', items };
  }

  #sequence(): Node {
    const reader = this.#reader;
    const items: Node[] = [];
    for (;;) {
      reader.skipComments();
      if (reader.isAtEnd || reader.ahead === '|' || reader.ahead === ')') return allOf(items);
      if (reader.take('\\Q')) {
        this.#quoted(items);
        continue;
      }
      if (reader.take('\\E')) continue;
      const atom = this.#atom();
      if (atom !== null) items.push(this.#repeated(atom));
    }
  }

  /** A quantifier behind `\E` binds the last character. */
  #quoted(items: Node[]): void {
    const reader = this.#reader;
    while (!reader.isAtEnd && !reader.take('\\E')) {
      items.push(this.#literal(reader.next().codePointAt(0)!));
    }
    const last = items.pop();
    if (last !== undefined) items.push(this.#repeated(last));
  }

  /** Null for flags, which stand for no text. */
  #atom(): Node | null {
    const reader = this.#reader;
    const from = reader.at;
    const character = reader.next();
    switch (character) {
      case '.':
        return { kind: 'set', set: this.#dot() };
      case '^':
        return this.#place(reader.has(MULTILINE) ? LINE_START : TEXT_START);
      case '$':
        return this.#place(reader.has(MULTILINE) ? LINE_END_AT : TEXT_END_LINE);
      case '[':
        return { kind: 'set', set: readClass(reader) };
      case '(':
        return this.#group();
      case '\\':
        return this.#escape();
      case '*':
      case '+':
      case '?':
        throw reader.error(`Dangling meta character '${character}'`, from);
      default:
        return this.#literal(character.codePointAt(0)!);
    }
  }

  #dot(): CharSet {
    if (this.#reader.has(DOTALL)) return EVERYTHING;
    return (this.#reader.has(UNIX_LINES) ? CharSet.one(10) : LINE_END).negated();
  }

  #place(place: Place): Node {
    return { kind: 'place', place, unixLines: this.#reader.has(UNIX_LINES) };
  }

  #escape(): Node {
    const reader = this.#reader;
    const set = readClassEscape(reader);
    if (set !== null) return { kind: 'set', set };
    const letter = reader.ahead;
    const place = placeOf(letter);
    if (place !== null) {
      reader.at++;
      return this.#place(place);
    }
    if (letter === 'R') {
      reader.at++;
      const items = [
        allOf([this.#plain(13), this.#plain(10)]),
        { kind: 'set' as const, set: VERTICAL },
      ];
      return { kind: 'one', items };
    }
    if (letter === 'k') return this.#namedReference();
    if (/^[1-9]$/.test(letter)) return this.#reference();
    if (letter === 'G' || letter === 'X' || letter === 'N') {
      throw reader.error(`\\${letter} is not supported`);
    }
    return this.#literal(readCharacterEscape(reader));
  }

  #plain(point: number): Node {
    return { kind: 'set', set: CharSet.one(point) };
  }

  #namedReference(): Node {
    const reader = this.#reader;
    reader.at++;
    if (!reader.take('<')) throw reader.error("\\k is not followed by '<' for a named group");
    const name = this.#name();
    const index = this.#names.get(name);
    if (index === undefined) throw reader.error(`named group <${name}> does not exist`);
    return this.#backTo(index);
  }

  /** As many digits as there are groups for. */
  #reference(): Node {
    const reader = this.#reader;
    let index = Number(reader.next());
    while (/^[0-9]$/.test(reader.ahead) && index * 10 + Number(reader.ahead) <= this.#groups) {
      index = index * 10 + Number(reader.next());
    }
    return this.#backTo(index);
  }

  #backTo(index: number): Node {
    this.#needsBacktracking = true;
    const anyCase = this.#reader.has(CASE_INSENSITIVE);
    return { kind: 'back', index, anyCase, unicodeCase: this.#reader.has(UNICODE_CASE) };
  }

  #group(): Node | null {
    const reader = this.#reader;
    const { flags } = reader;
    const from = reader.at - 1;
    if (!reader.take('?')) return this.#captured(from, flags);
    if (reader.take(':')) return this.#closed(from, flags);
    if (reader.take('=')) return this.#look(from, true, false);
    if (reader.take('!')) return this.#look(from, true, true);
    if (reader.take('<=')) return this.#look(from, false, false);
    if (reader.take('<!')) return this.#look(from, false, true);
    if (reader.take('>')) {
      this.#needsBacktracking = true;
      return { kind: 'atomic', item: this.#closed(from, flags) };
    }
    if (reader.take('<')) {
      const name = this.#name();
      if (this.#names.has(name))
        throw reader.error(`Named capturing group <${name}> is already defined`);
      this.#names.set(name, this.#groups + 1);
      return this.#captured(from, flags);
    }
    this.#inlineFlags();
    if (reader.take(')')) return null;
    if (!reader.take(':')) throw reader.error('Unknown inline modifier');
    return this.#closed(from, flags);
  }

  #captured(from: number, flags: number): Node {
    this.#groups++;
    const index = this.#groups;
    return { kind: 'group', index, item: this.#closed(from, flags) };
  }

  #look(from: number, ahead: boolean, negative: boolean): Node {
    this.#needsBacktracking = true;
    const item = this.#closed(from, this.#reader.flags);
    return { kind: 'look', item, ahead, negative };
  }

  /** The rest of a group. Flags set within hold to its end. */
  #closed(from: number, flags: number): Node {
    const item = this.#choice();
    if (!this.#reader.take(')')) throw this.#reader.error('Unclosed group', from);
    this.#reader.flags = flags;
    return item;
  }

  #name(): string {
    const reader = this.#reader;
    const from = reader.at;
    const end = reader.points.indexOf('>', from);
    const name = end < 0 ? '' : reader.points.slice(from, end).join('');
    if (!/^[A-Za-z][A-Za-z0-9]*$/.test(name)) {
      throw reader.error('capturing group name does not start with a Latin letter', from);
    }
    reader.at = end + 1;
    return name;
  }

  #inlineFlags(): void {
    const reader = this.#reader;
    let isOff = false;
    for (;;) {
      if (!isOff && reader.take('-')) {
        isOff = true;
        continue;
      }
      const flag = FLAG_LETTERS[reader.ahead];
      if (flag === undefined) return;
      reader.at++;
      reader.flags = isOff ? reader.flags & ~flag : reader.flags | flag;
    }
  }

  #repeated(item: Node): Node {
    const reader = this.#reader;
    let node = item;
    for (;;) {
      reader.skipComments();
      const from = reader.at;
      const bounds = this.#bounds();
      if (bounds === null) return node;
      if (node !== item) throw reader.error('Dangling meta character', from);
      const mode = reader.take('?') ? 'lazy' : reader.take('+') ? 'possessive' : 'greedy';
      if (mode === 'possessive') this.#needsBacktracking = true;
      const repeat: RepeatNode = { kind: 'repeat', item, mode, ...bounds };
      node = repeat;
    }
  }

  #bounds(): { min: number; max: number } | null {
    const reader = this.#reader;
    if (reader.take('*')) return { min: 0, max: Infinity };
    if (reader.take('+')) return { min: 1, max: Infinity };
    if (reader.take('?')) return { min: 0, max: 1 };
    if (!reader.take('{')) return null;
    const from = reader.at - 1;
    const min = this.#number(from);
    let max = min;
    if (reader.take(',')) max = reader.ahead === '}' ? Infinity : this.#number(from);
    if (!reader.take('}')) throw reader.error('Unclosed counted closure', from);
    if (max < min) throw reader.error('Illegal repetition range', from);
    return { min, max };
  }

  #number(from: number): number {
    const reader = this.#reader;
    let digits = '';
    while (/^[0-9]$/.test(reader.ahead)) digits += reader.next();
    const number = Number(digits);
    if (digits === '' || number > REPEAT_MAX) throw reader.error('Illegal repetition', from);
    return number;
  }
}

function allOf(items: readonly Node[]): Node {
  if (items.length === 0) return EMPTY;
  return items.length === 1 ? items[0]! : { kind: 'all', items };
}

function placeOf(letter: string): Place | null {
  switch (letter) {
    case 'A':
      return TEXT_START;
    case 'Z':
      return TEXT_END_LINE;
    case 'z':
      return TEXT_END;
    case 'b':
      return WORD_BOUNDARY;
    case 'B':
      return NO_WORD_BOUNDARY;
    default:
      return null;
  }
}
