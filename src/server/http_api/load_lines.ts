/**
 * The lines of a load: one JSON object each,
 *     {"row":"cjE=","put":{"d:name":"YQ=="},"ts":1786851294000}
 *     {"row":"cjM=","delete":true}   {"row":"cjM=","delete":["d:name","e:"]}
 * Rows and values are base64, or text where asked for. `table` and `ttl` (milliseconds) may stand in a line, too.
 */
import { TransactionException } from '../../model/index.ts';
import type { Column, DeleteSpec, LoadOperation } from '../../model/index.ts';

export type LineEncoding = 'base64' | 'utf8';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const MEMBERS: ReadonlySet<string> = new Set(['row', 'table', 'put', 'delete', 'ts', 'ttl']);

/** The operations of a body. Throws BAD_LINE with line and column, both from 1. */
export function parseLines(body: Uint8Array, encoding: LineEncoding): LoadOperation[] {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8');
  const operations: LoadOperation[] = [];
  let line = 0;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\n', at);
    const stop = end < 0 ? text.length : end;
    line++;
    const one = text.slice(at, stop);
    if (one.trim() !== '') operations.push(parseLine(one, line, encoding));
    at = stop + 1;
  }
  return operations;
}

function parseLine(text: string, line: number, encoding: LineEncoding): LoadOperation {
  const bad = (message: string, column: number = 1): never => {
    throw new TransactionException('BAD_LINE', `line ${line}: ${message}`, { line, column });
  };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return bad(message, columnOf(text));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return bad('a line is a JSON object');
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(members)) {
    if (!MEMBERS.has(name))
      return bad(`member "${name}" is unknown`, text.indexOf(`"${name}"`) + 1);
  }
  const bytes = (what: string, given: unknown): Uint8Array => {
    if (typeof given !== 'string') return bad(`${what} must be text`, placeOf(text, given));
    if (encoding === 'utf8') return Buffer.from(given, 'utf8');
    if (!BASE64.test(given)) return bad(`${what} is no base64`, placeOf(text, given));
    return Buffer.from(given, 'base64');
  };
  const row = bytes('row', members['row']);
  const table = members['table'];
  if (table !== undefined && typeof table !== 'string') return bad('table must be text');
  const of = table === undefined ? {} : { table };
  const ts = timestampOf(members['ts'], bad);
  if (members['put'] !== undefined && members['delete'] !== undefined) {
    return bad('a line is a put or a delete, not both');
  }
  if (members['put'] !== undefined) {
    const put = members['put'];
    if (typeof put !== 'object' || put === null || Array.isArray(put)) {
      return bad('put is an object of columns', text.indexOf('"put"') + 1);
    }
    const given = put as Readonly<Record<string, unknown>>;
    const entries = Object.entries(given).map(([column, value]): [string, Uint8Array] => [
      column,
      bytes(`the value of ${column}`, value),
    ]);
    const ttl = members['ttl'];
    if (ttl !== undefined && typeof ttl !== 'number') return bad('ttl is a number of milliseconds');
    const options = { ...(ts === null ? {} : { ts }), ...(ttl === undefined ? {} : { ttl }) };
    return { ...of, put: row, values: Object.fromEntries(entries), options };
  }
  return { ...of, delete: row, spec: deleteSpecOf(members['delete'], ts, bad) };
}

function timestampOf(given: unknown, bad: (message: string) => never): bigint | null {
  if (given === undefined) return null;
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return BigInt(given);
  if (typeof given === 'string' && /^\d{1,19}$/.test(given)) return BigInt(given);
  return bad('ts is a number of milliseconds, as text above 2^53');
}

/** `true`: the whole row; `f:` is a family, `f:q` a column. */
function deleteSpecOf(
  given: unknown,
  ts: bigint | null,
  bad: (message: string) => never,
): DeleteSpec {
  const at = ts === null ? {} : { ts };
  if (given === true) return at;
  if (!Array.isArray(given) || given.length === 0) {
    return bad('a line has a put, or a delete that is true or a list of columns');
  }
  const families: string[] = [];
  const columns: Column[] = [];
  for (const one of given as unknown[]) {
    if (typeof one !== 'string' || !one.includes(':')) {
      return bad('delete names columns as "family:qualifier", families as "family:"');
    }
    if (one.endsWith(':') && one.indexOf(':') === one.length - 1) families.push(one.slice(0, -1));
    else columns.push(one);
  }
  return { ...at, families, columns };
}

/** Where the text stops to be the start of some JSON, from 1: the parser's message does not always say. */
function columnOf(text: string): number {
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (mayGoOn(text.slice(0, middle + 1))) low = middle + 1;
    else high = middle;
  }
  return low + 1;
}

function mayGoOn(start: string): boolean {
  try {
    JSON.parse(start);
    return true;
  } catch (error) {
    return error instanceof Error && /end of JSON|Unterminated/.test(error.message);
  }
}

function placeOf(text: string, given: unknown): number {
  const found = text.indexOf(JSON.stringify(given) ?? '');
  return found < 0 ? 1 : found + 1;
}
