/**
 * The language of HBase's shell, as far as its commands need Ruby: a command, then arguments of strings, symbols, numbers,
 * arrays, hashes and constants, the last hash without braces. A constant (`VERSIONS`, `NAME`) stands for its own name.
 */

/** A line that cannot be read; `at` counts characters from the start of the text given. */
export class ShellSyntaxError extends Error {
  override readonly name = 'SyntaxError';
  readonly at: number;
  constructor(what: string, at: number) {
    super(`${what} at character ${at + 1}`);
    this.at = at;
  }
}

/** The text ends within a string or bracket, or after a comma: a further line may complete it. */
export class IncompleteError extends ShellSyntaxError {}

/** Bytes stand for a string with `\xNN` in it. Map keys are texts or numbers. */
export type ShellValue =
  | string
  | Uint8Array
  | number
  | bigint
  | boolean
  | null
  | readonly ShellValue[]
  | ReadonlyMap<ShellValue, ShellValue>;

export interface Statement {
  readonly command: string;
  readonly arguments: readonly ShellValue[];
}

export function isHash(
  value: ShellValue | undefined,
): value is ReadonlyMap<ShellValue, ShellValue> {
  return value instanceof Map;
}

/** Text of a string, symbol, number or constant; bytes as UTF-8. */
export function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') {
    return String(value);
  }
  throw new TypeError(`a name must be a string, not ${value === null ? 'nil' : 'a list or hash'}`);
}

/** Every statement of a text, separated by line ends or ';'. Throws ShellSyntaxError. */
export function parseStatements(text: string): Statement[] {
  const parser = new Parser(tokenize(text));
  const statements: Statement[] = [];
  while (!parser.isAtEnd()) {
    if (parser.skip('end')) continue;
    statements.push(parser.statement());
  }
  return statements;
}

/** Arguments alone, as after a command. */
export function parseArguments(text: string): readonly ShellValue[] {
  const parser = new Parser(tokenize(text));
  const values = parser.arguments('eof');
  parser.expect('eof');
  return values;
}

type TokenKind = 'string' | 'symbol' | 'number' | 'word' | 'label' | 'end' | 'eof' | Punctuation;
type Punctuation = '[' | ']' | '{' | '}' | '(' | ')' | ',' | '=>' | '-';

interface Token {
  readonly kind: TokenKind;
  readonly value: string | Uint8Array | number | bigint;
  readonly at: number;
}

const PUNCTUATION = new Set(['[', ']', '{', '}', '(', ')', ',']);
const WORD = /[A-Za-z_][\w$]*(?:(?:\.|::)[A-Za-z_][\w$]*)*[?!]?/y;
const NUMBER = /-?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function match(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text[at]!;
    if (character === '\n' || character === ';') {
      tokens.push({ kind: 'end', value: character, at });
      at += 1;
    } else if (/\s/.test(character)) {
      at += 1;
    } else if (character === '#') {
      const lineEnd = text.indexOf('\n', at);
      at = lineEnd < 0 ? text.length : lineEnd;
    } else if (character === '\\' && text[at + 1] === '\n') {
      at += 2;
    } else {
      at = readToken(text, at, tokens);
    }
  }
  tokens.push({ kind: 'eof', value: '', at: text.length });
  return tokens;
}

/** Reads one token that is not blank and gives the offset after it. */
function readToken(text: string, at: number, tokens: Token[]): number {
  const character = text[at]!;
  if (character === "'" || character === '"') {
    const { value, end } = readString(text, at);
    // `"name": value` is a hash entry too.
    const isLabel = text[end] === ':' && text[end + 1] !== ':' && typeof value === 'string';
    tokens.push({ kind: isLabel ? 'label' : 'string', value, at });
    return isLabel ? end + 1 : end;
  }
  if (text.startsWith('=>', at)) {
    tokens.push({ kind: '=>', value: '=>', at });
    return at + 2;
  }
  if (PUNCTUATION.has(character)) {
    tokens.push({ kind: character as Punctuation, value: character, at });
    return at + 1;
  }
  const number = match(NUMBER, text, at);
  if (number !== null) {
    const digits = number.replaceAll('_', '');
    tokens.push({ kind: 'number', value: numberOf(digits), at });
    return at + number.length;
  }
  const isSymbol = character === ':';
  const word = match(WORD, text, isSymbol ? at + 1 : at);
  if (word === null) throw new ShellSyntaxError(`'${character}' is not understood`, at);
  const end = at + word.length + (isSymbol ? 1 : 0);
  const isLabel = !isSymbol && text[end] === ':' && text[end + 1] !== ':';
  tokens.push({ kind: isSymbol ? 'symbol' : isLabel ? 'label' : 'word', value: word, at });
  return isLabel ? end + 1 : end;
}

function numberOf(digits: string): number | bigint {
  const number = Number(digits);
  return /^-?\d+$/.test(digits) && !Number.isSafeInteger(number) ? BigInt(digits) : number;
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '0': '\0',
  e: '\x1b',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  s: ' ',
};

/** A string at its opening quote: `'…'` knows \' and \\ only, `"…"` Ruby's escapes; `\xNN` makes it bytes. */
function readString(text: string, start: number): { value: string | Uint8Array; end: number } {
  const quote = text[start]!;
  const parts: (string | number)[] = [];
  let at = start + 1;
  for (;;) {
    const character = text[at];
    if (character === undefined) throw new IncompleteError('string is not closed', start);
    if (character === quote) break;
    if (character !== '\\') {
      parts.push(character);
      at += 1;
    } else if (quote === "'") {
      const next = text[at + 1];
      const isEscape = next === "'" || next === '\\';
      parts.push(isEscape ? next : '\\');
      at += isEscape ? 2 : 1;
    } else {
      at = readEscape(text, at, parts);
    }
  }
  return { value: joined(parts), end: at + 1 };
}

function readEscape(text: string, at: number, parts: (string | number)[]): number {
  const next = text[at + 1];
  if (next === undefined) throw new IncompleteError('string is not closed', at);
  const hex = match(/\\x([0-9A-Fa-f]{1,2})/y, text, at);
  if (hex !== null) {
    parts.push(Number.parseInt(hex.slice(2), 16));
    return at + hex.length;
  }
  const unicode = match(/\\u(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]{1,6}\})/y, text, at);
  if (unicode !== null) {
    const point = Number.parseInt(unicode.replaceAll(/[\\u{}]/g, ''), 16);
    if (point > 0x10ffff) throw new ShellSyntaxError(`${unicode} is no character`, at);
    parts.push(String.fromCodePoint(point));
    return at + unicode.length;
  }
  if (next === 'x' || next === 'u') throw new ShellSyntaxError(`invalid escape \\${next}`, at);
  parts.push(ESCAPES[next] ?? next);
  return at + 2;
}

function joined(parts: readonly (string | number)[]): string | Uint8Array {
  if (!parts.some((part) => typeof part === 'number')) return parts.join('');
  const pieces: Uint8Array[] = [];
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part;
    } else {
      pieces.push(Buffer.from(text, 'utf8'), Uint8Array.of(part));
      text = '';
    }
  }
  pieces.push(Buffer.from(text, 'utf8'));
  return Buffer.concat(pieces);
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  isAtEnd(): boolean {
    return this.#peek().kind === 'eof';
  }

  skip(kind: TokenKind): boolean {
    if (this.#peek().kind !== kind) return false;
    this.#at += 1;
    return true;
  }

  expect(kind: TokenKind): Token {
    const token = this.#peek();
    if (token.kind !== kind)
      throw this.#unexpected(token, kind === 'eof' ? 'the end' : `'${kind}'`);
    this.#at += 1;
    return token;
  }

  statement(): Statement {
    const token = this.#peek();
    if (token.kind !== 'word') throw this.#unexpected(token, 'a command');
    this.#at += 1;
    const isCall = this.skip('(');
    const values = this.arguments(isCall ? ')' : 'end');
    if (isCall) this.expect(')');
    const next = this.#peek();
    if (next.kind !== 'end' && next.kind !== 'eof') throw this.#unexpected(next, "',' or the end");
    return { command: String(token.value), arguments: values };
  }

  /** Arguments up to (not including) `close`; entries of a hash without braces become the last one. */
  arguments(close: TokenKind): readonly ShellValue[] {
    const values: ShellValue[] = [];
    const hash = new Map<ShellValue, ShellValue>();
    const isLine = close === 'end' || close === 'eof';
    if (!isLine) this.#lineEnds();
    for (let first = true; ; first = false) {
      const kind = this.#peek().kind;
      if (kind === 'eof' && !isLine) throw this.#unexpected(this.#peek(), `'${close}'`);
      if (kind === close || kind === 'eof') break;
      if (!first) {
        if (!this.skip(',')) break;
        this.#lineEnds();
        if (this.#peek().kind === 'eof')
          throw new IncompleteError('text ends after a comma', this.#peek().at);
      }
      const { key, value } = this.#entryOrValue();
      if (key === undefined) values.push(value);
      else hash.set(key, value);
      if (!isLine) {
        this.#lineEnds();
        if (this.#peek().kind === close) break;
      }
    }
    if (hash.size > 0) values.push(hash);
    return values;
  }

  #entryOrValue(): { key?: ShellValue; value: ShellValue } {
    const token = this.#peek();
    if (token.kind === 'label') {
      this.#at += 1;
      this.#lineEnds();
      return { key: token.value, value: this.#value() };
    }
    const value = this.#value();
    if (!this.skip('=>')) return { value };
    this.#lineEnds();
    return { key: value, value: this.#value() };
  }

  #value(): ShellValue {
    const token = this.#peek();
    this.#at += 1;
    switch (token.kind) {
      case 'string':
      case 'symbol':
      case 'number':
        return token.value;
      case 'word':
        return constantOf(String(token.value));
      case '[':
        return this.#list();
      case '{':
        return this.#hash();
      default:
        this.#at -= 1;
        throw this.#unexpected(token, 'a value');
    }
  }

  #list(): readonly ShellValue[] {
    const values: ShellValue[] = [];
    this.#lineEnds();
    while (!this.skip(']')) {
      values.push(this.#value());
      this.#lineEnds();
      if (!this.skip(',') && this.#peek().kind !== ']')
        throw this.#unexpected(this.#peek(), "',' or ']'");
      this.#lineEnds();
    }
    return values;
  }

  #hash(): ReadonlyMap<ShellValue, ShellValue> {
    const hash = new Map<ShellValue, ShellValue>();
    this.#lineEnds();
    while (!this.skip('}')) {
      const token = this.#peek();
      const { key, value } = this.#entryOrValue();
      if (key === undefined) throw this.#unexpected(token, 'KEY => value');
      hash.set(key, value);
      this.#lineEnds();
      if (!this.skip(',') && this.#peek().kind !== '}')
        throw this.#unexpected(this.#peek(), "',' or '}'");
      this.#lineEnds();
    }
    return hash;
  }

  #peek(): Token {
    return this.#tokens[Math.min(this.#at, this.#tokens.length - 1)]!;
  }

  #lineEnds(): void {
    while (this.#peek().kind === 'end' && this.#peek().value === '\n') this.#at += 1;
  }

  #unexpected(token: Token, wanted: string): ShellSyntaxError {
    if (token.kind === 'eof')
      return new IncompleteError(`text ends where ${wanted} is expected`, token.at);
    const found = token.kind === 'end' ? 'the end of the line' : `'${textOf(token.value)}'`;
    return new ShellSyntaxError(`${found} where ${wanted} is expected`, token.at);
  }
}

function constantOf(word: string): ShellValue {
  switch (word) {
    case 'true':
      return true;
    case 'false':
      return false;
    case 'nil':
      return null;
    default:
      return word;
  }
}
