/**
 * HBase's filter language, as shell, Thrift and REST take it (protocol/filters.md section 5; HBase: ParseFilter):
 *
 *     expr   := term (OR term)*
 *     term   := factor (AND factor)*
 *     factor := (SKIP | WHILE) factor | Name(arguments) | (expr)
 *
 * Each run of an operator makes one FilterList. Keywords and names are case-sensitive. Arguments are strings in single
 * quotes ('' is one quote, there are no other escapes), integers, true or false, and operators; commas between them may be
 * left out. Errors name the place as a byte's offset.
 */
import { IllegalArgumentException, closest } from '../model/index.ts';
import type { FilterListSpec, FilterSpec } from '../model/index.ts';
import { LANGUAGE_FILTERS, specFromArguments } from './language_filters.ts';
import type { LanguageArgument } from './language_filters.ts';

const QUOTE = 0x27;
const OPEN = 0x28;
const CLOSE = 0x29;
const COMMA = 0x2c;
/** Parentheses and wrappers within each other: deeper text is refused. */
const DEPTH_MAX = 90;

/** Text as UTF-8, or bytes. Throws IllegalArgumentException. */
export function parseFilter(text: string | Uint8Array): FilterSpec {
  return new LanguageParser(
    typeof text === 'string' ? Buffer.from(text, 'utf8') : Buffer.from(text),
  ).parse();
}

class LanguageParser {
  readonly #text: Buffer;
  #at = 0;
  #depth = 0;

  constructor(text: Buffer) {
    this.#text = text;
  }

  parse(): FilterSpec {
    const spec = this.#expression();
    this.#skipBlanks();
    const from = this.#at;
    if (from === this.#text.length) return spec;
    if (this.#text[from] === CLOSE) throw this.#incorrect('Mismatched parenthesis');
    // As in HBase a word that is no operator is taken for a filter's name, and refused as one.
    this.#filter();
    this.#at = from;
    throw this.#incorrect('AND or OR is expected');
  }

  #expression(): FilterSpec {
    return this.#run('OR', 'MUST_PASS_ONE', () => this.#term());
  }

  #term(): FilterSpec {
    return this.#run('AND', 'MUST_PASS_ALL', () => this.#factor());
  }

  #run(
    keyword: string,
    operator: FilterListSpec['operator'],
    operand: () => FilterSpec,
  ): FilterSpec {
    const filters = [operand()];
    while (this.#takeKeyword(keyword)) filters.push(operand());
    return filters.length === 1 ? filters[0]! : { type: 'FilterList', operator, filters };
  }

  #factor(): FilterSpec {
    this.#depth++;
    if (this.#depth > DEPTH_MAX) throw this.#incorrect('filters are nested too deeply');
    const spec = this.#primary();
    this.#depth--;
    return spec;
  }

  #primary(): FilterSpec {
    if (this.#takeKeyword('SKIP')) return { type: 'SkipFilter', filter: this.#factor() };
    if (this.#takeKeyword('WHILE')) return { type: 'WhileMatchFilter', filter: this.#factor() };
    this.#skipBlanks();
    if (this.#text[this.#at] !== OPEN) return this.#filter();
    this.#at++;
    const spec = this.#expression();
    this.#skipBlanks();
    if (this.#text[this.#at] !== CLOSE) throw this.#incorrect("')' is expected");
    this.#at++;
    return spec;
  }

  /** `Name(arguments)`, blanks allowed before the parenthesis. */
  #filter(): FilterSpec {
    const from = this.#at;
    const text = this.#text;
    while (this.#at < text.length && !isDelimiter(text[this.#at]!)) this.#at++;
    const name = text.toString('utf8', from, this.#at);
    if (name === '') throw this.#incorrect('a filter is expected');
    if (!LANGUAGE_FILTERS.has(name)) {
      const hint = closest(name, LANGUAGE_FILTERS);
      throw new IllegalArgumentException(
        `Filter Name ${name} not supported (at position ${from}${hint === null ? '' : `; did you mean ${hint}?`})`,
      );
    }
    this.#skipBlanks();
    if (text[this.#at] !== OPEN) throw this.#incorrect(`'(' is expected after ${name}`);
    this.#at++;
    const args = this.#arguments();
    try {
      return specFromArguments(name, args);
    } catch (error) {
      const shown = text.toString('utf8', from, this.#at);
      const why = error instanceof Error ? error.message : String(error);
      throw new IllegalArgumentException(
        `Incorrect filter string ${shown} (at position ${from}): ${why}`,
        { cause: error },
      );
    }
  }

  #arguments(): LanguageArgument[] {
    const text = this.#text;
    const args: LanguageArgument[] = [];
    for (;;) {
      while (this.#at < text.length && (isBlank(text[this.#at]!) || text[this.#at] === COMMA)) {
        this.#at++;
      }
      if (this.#at >= text.length) throw this.#incorrect("')' is expected");
      if (text[this.#at] === CLOSE) {
        this.#at++;
        return args;
      }
      args.push(text[this.#at] === QUOTE ? this.#quoted() : this.#word());
    }
  }

  #quoted(): LanguageArgument {
    const text = this.#text;
    const at = this.#at;
    const bytes: number[] = [];
    for (this.#at++; this.#at < text.length; this.#at++) {
      const byte = text[this.#at]!;
      if (byte === QUOTE) {
        if (text[this.#at + 1] !== QUOTE) {
          this.#at++;
          return { bytes: Uint8Array.from(bytes), isQuoted: true, at };
        }
        this.#at++;
      }
      bytes.push(byte);
    }
    this.#at = at;
    throw this.#incorrect('the string is not closed');
  }

  #word(): LanguageArgument {
    const text = this.#text;
    const at = this.#at;
    while (this.#at < text.length && !isDelimiter(text[this.#at]!) && text[this.#at] !== COMMA) {
      this.#at++;
    }
    if (this.#at === at) throw this.#incorrect('an argument is expected');
    return { bytes: Uint8Array.from(text.subarray(at, this.#at)), isQuoted: false, at };
  }

  /** Takes a keyword if it stands here between blanks or parentheses. */
  #takeKeyword(keyword: string): boolean {
    this.#skipBlanks();
    const end = this.#at + keyword.length;
    const text = this.#text;
    if (text.toString('latin1', this.#at, end) !== keyword) return false;
    const next = text[end];
    if (next !== undefined && !isBlank(next) && next !== OPEN) return false;
    this.#at = end;
    return true;
  }

  #skipBlanks(): void {
    while (this.#at < this.#text.length && isBlank(this.#text[this.#at]!)) this.#at++;
  }

  #incorrect(why: string): IllegalArgumentException {
    return new IllegalArgumentException(
      `Incorrect Filter String: ${why} at position ${this.#at} of '${this.#text.toString('utf8')}'`,
    );
  }
}

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0a;
const isDelimiter = (byte: number): boolean => isBlank(byte) || byte === OPEN || byte === CLOSE;
