/**
 * What commands print. Bytes are shown as HBase's `toStringBinary`; with --json one object a line, 64-bit numbers as
 * strings of digits, since usual readers of JSON round numbers above 2^53. Only `ts` of a cell is a number, see `cellJson`.
 */
import { toStringBinary } from '../cell/index.ts';
import { StoreException } from '../io/index.ts';
import type { Cell } from '../model/index.ts';

/** Where text goes. */
export interface Output {
  /** Settles when the text was taken; false when nobody reads any more (a closed pipe). */
  write(text: string): Promise<boolean>;
}

/** Characters gathered before a write. */
const FLUSH_LENGTH = 1 << 16;

/** Gathers lines and writes them in large pieces. Call `flush` (or `flushIfFull` in loops) to let them out. */
export class Printer {
  readonly json: boolean;
  readonly #output: Output;
  #text = '';
  #isOpen = true;

  constructor(output: Output, json: boolean) {
    this.#output = output;
    this.json = json;
  }

  line(text: string): void {
    this.#text += `${text}\n`;
  }

  /** With --json the object, else the text's lines. */
  either(object: Readonly<Record<string, unknown>>, text: string | readonly string[]): void {
    if (this.json) this.line(toJson(object));
    else for (const line of typeof text === 'string' ? [text] : text) this.line(line);
  }

  /** False when nobody reads any more: stop quietly. */
  async flush(): Promise<boolean> {
    const text = this.#text;
    this.#text = '';
    if (text !== '' && this.#isOpen) this.#isOpen = await this.#output.write(text);
    return this.#isOpen;
  }

  async flushIfFull(): Promise<boolean> {
    return this.#text.length < FLUSH_LENGTH ? this.#isOpen : this.flush();
  }
}

/** A number that JSON shows with all its digits, whatever its size. */
export class JsonInteger {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** JSON with bigints as strings of digits and bytes as `toStringBinary`. */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return `"${value}"`;
  if (value instanceof JsonInteger) return value.value.toString();
  if (value instanceof Uint8Array) return JSON.stringify(toStringBinary(value));
  if (Array.isArray(value)) return `[${value.map((item) => toJson(item)).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => `${JSON.stringify(name)}:${toJson(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/**
 * A cell as `get` and `scan` print it with --json. `ts` is a number with all its digits: milliseconds as a rule, but a
 * caller's own timestamp may be above 2^53, which only exact readers keep.
 */
export function cellJson(cell: Cell): string {
  return toJson({
    row: cell.row,
    family: cell.family,
    qualifier: cell.qualifier,
    ts: new JsonInteger(cell.ts),
    type: cell.type,
    value: cell.value,
  });
}

/** `timestamp=5, value=v`, or `timestamp=5, type=DeleteColumn` for a marker, as HBase's shell. */
export function cellText(cell: Cell): string {
  const type = cell.type === 'Put' ? '' : `, type=${cell.type}`;
  const value = cell.type === 'Put' ? `, value=${toStringBinary(cell.value)}` : '';
  return `timestamp=${cell.ts}${type}${value}`;
}

export const columnText = (cell: Cell): string =>
  `${cell.family}:${toStringBinary(cell.qualifier)}`;

/** Width of the first column of `scan` and `get`. */
const FIRST_COLUMN = 22;

export const twoColumns = (first: string, second: string): string =>
  `${first.padEnd(FIRST_COLUMN - 1)} ${second}`;

/** `Class: message`, or one JSON object. */
export function errorText(error: unknown, json: boolean): string {
  const name = error instanceof Error ? error.name : 'Error';
  const message = error instanceof Error ? error.message : String(error);
  if (!json) return `${name}: ${message}`;
  const retryable = error instanceof StoreException ? error.retryable : false;
  return toJson({ error: name, message, retryable });
}
