/**
 * Cells as lines of text, for people and pipelines. Bytes are written as HBase's `toStringBinary` (printable ASCII as it is,
 * everything else and the backslash as `\xNN`), so nothing is lost.
 *
 *     jsonl   {"row":"…","family":"…","qualifier":"…","ts":123,"type":"Put","value":"…","tags":"…"}
 *             `ts` is a number with all its digits; `value` only of puts, `tags` only if there are any
 *     csv     row,family,qualifier,ts,type,value,tags     a header line; RFC 4180 quotes where a field needs them
 */
import { fromStringBinary } from '../cell/index.ts';
import type { Cell, CellType } from '../model/index.ts';
import { keyValueOf, MessageFault } from './result_message.ts';

export const CSV_HEADER = 'row,family,qualifier,ts,type,value,tags';

const TYPE_CODES: ReadonlyMap<string, number> = new Map<CellType, number>([
  ['Put', 4],
  ['Delete', 8],
  ['DeleteFamilyVersion', 10],
  ['DeleteColumn', 12],
  ['DeleteFamily', 14],
]);

const HEX = '0123456789ABCDEF';

/** How each byte is shown: by itself or as \xNN; within JSON text with its backslash and quote escaped. */
const SHOWN: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x5c;
  return isPlain ? String.fromCharCode(byte) : `\\x${HEX[byte >> 4]}${HEX[byte & 15]}`;
});
const SHOWN_IN_JSON: readonly string[] = SHOWN.map((text) => JSON.stringify(text).slice(1, -1));

function textOf(bytes: Uint8Array, shown: readonly string[]): string {
  let text = '';
  for (let i = 0; i < bytes.length; i++) text += shown[bytes[i]!]!;
  return text;
}

/** One line, without its end. */
export function jsonLine(cell: Cell): string {
  const value = cell.type === 'Put' ? `,"value":${quoted(cell.value)}` : '';
  const tags = cell.tags.length === 0 ? '' : `,"tags":${quoted(cell.tags)}`;
  return `{"row":${quoted(cell.row)},"family":${JSON.stringify(cell.family)},"qualifier":${quoted(cell.qualifier)},"ts":${cell.ts},"type":"${cell.type}"${value}${tags}}`;
}

const quoted = (bytes: Uint8Array): string => `"${textOf(bytes, SHOWN_IN_JSON)}"`;

/** One line, without its end. */
export function csvLine(cell: Cell): string {
  return [
    field(textOf(cell.row, SHOWN)),
    field(cell.family),
    field(textOf(cell.qualifier, SHOWN)),
    String(cell.ts),
    cell.type,
    field(textOf(cell.value, SHOWN)),
    field(textOf(cell.tags, SHOWN)),
  ].join(',');
}

const field = (text: string): string =>
  /[",\r\n]/.test(text) || text.startsWith(' ') || text.endsWith(' ')
    ? `"${text.replaceAll('"', '""')}"`
    : text;

/** The KeyValue of a line of JSON. Throws MessageFault, which says what is wrong. */
export function parseJsonLine(line: string): Uint8Array {
  let parsed: unknown;
  try {
    // Numbers above 2^53 would lose digits: they are read as text. A quote within a string has a backslash before it.
    parsed = JSON.parse(line.replace(/("ts"\s*:\s*)(\d+)/, '$1"$2"'));
  } catch (cause) {
    throw new MessageFault('this is no JSON object', { cause });
  }
  if (typeof parsed !== 'object' || parsed === null)
    throw new MessageFault('this is no JSON object');
  const members = parsed as Record<string, unknown>;
  const text = (name: string, fallback: string | null): string => {
    const member = members[name] ?? fallback;
    if (typeof member !== 'string') throw new MessageFault(`member ${name} is missing or no text`);
    return member;
  };
  return cellOf({
    row: text('row', null),
    family: text('family', null),
    qualifier: text('qualifier', ''),
    ts: text('ts', null),
    type: text('type', 'Put'),
    value: text('value', ''),
    tags: text('tags', ''),
  });
}

/** The KeyValue of the fields of a line of CSV. Throws MessageFault. */
export function parseCsvFields(fields: readonly string[]): Uint8Array {
  if (fields.length < 6 || fields.length > 7) {
    throw new MessageFault(`${fields.length} fields, not 7: ${CSV_HEADER}`);
  }
  const [row, family, qualifier, ts, type, value, tags = ''] = fields as [
    string,
    string,
    string,
    string,
    string,
    string,
    string?,
  ];
  return cellOf({ row, family, qualifier, ts, type, value, tags });
}

function cellOf(
  cell: Readonly<Record<'row' | 'family' | 'qualifier' | 'ts' | 'type' | 'value' | 'tags', string>>,
): Uint8Array {
  const type = TYPE_CODES.get(cell.type);
  if (type === undefined) throw new MessageFault(`type '${cell.type}' is unknown`);
  if (!/^\d{1,19}$/.test(cell.ts)) throw new MessageFault(`timestamp '${cell.ts}' is no number`);
  return keyValueOf({
    row: fromStringBinary(cell.row),
    family: Buffer.from(cell.family, 'latin1'),
    qualifier: fromStringBinary(cell.qualifier),
    timestamp: BigInt(cell.ts),
    type,
    value: fromStringBinary(cell.value),
    tags: fromStringBinary(cell.tags),
  });
}

/** Splits a line of CSV (no line end within quotes: bytes that are no printable ASCII are escaped). */
export function csvFields(line: string): string[] {
  const fields: string[] = [];
  for (let at = 0; ;) {
    if (line[at] !== '"') {
      const comma = line.indexOf(',', at);
      fields.push(line.slice(at, comma < 0 ? line.length : comma));
      if (comma < 0) return fields;
      at = comma + 1;
      continue;
    }
    let text = '';
    for (at++; ; at++) {
      const quote = line.indexOf('"', at);
      if (quote < 0) throw new MessageFault('a quote is not closed');
      text += line.slice(at, quote);
      at = quote + 1;
      if (line[at] !== '"') break;
      text += '"';
    }
    fields.push(text);
    if (at >= line.length) return fields;
    if (line[at] !== ',') throw new MessageFault('a quote ends within a field');
    at++;
  }
}
