/**
 * `--columns`: what each field of a line is, in the words of HBase's ImportTsv.
 *
 *     HBASE_ROW_KEY         the row; several fields are joined by the row separator
 *     HBASE_TS_KEY          timestamp of the line's cells, milliseconds
 *     HBASE_CELL_TTL        milliseconds that the line's cells live
 *     fam:qual, fam         a cell of this column
 *     -                     the field is left out (Cellar's own)
 *     HBASE_ATTRIBUTES_KEY, HBASE_CELL_VISIBILITY   refused: there is nothing here that they could do
 */
import { fromStringBinary } from '../../cell/index.ts';
import {
  IllegalArgumentException,
  checkFamilyName,
  toRow,
  toTimestamp,
} from '../../model/index.ts';
import type { CellInput, Operation } from '../../model/index.ts';

export type FieldRole =
  | { readonly kind: 'row' | 'ts' | 'ttl' | 'skip' }
  | { readonly kind: 'cell'; readonly family: string; readonly qualifier: Uint8Array };

export interface LineFormat {
  readonly roles: readonly FieldRole[];
  /** Bytes between the parts of a composed row. */
  readonly rowSeparator: Uint8Array;
  /** Empty fields make no cell; otherwise they are empty values, as in ImportTsv. */
  readonly skipEmpty: boolean;
  /** Timestamp of lines that carry none; null: the server's. */
  readonly ts: bigint | null;
}

/** Throws IllegalArgumentException, naming the word. */
export function parseColumns(text: string): FieldRole[] {
  const roles = text.split(',').map((word) => roleOf(word.trim()));
  const seen = new Set<string>();
  for (const role of roles) {
    if (role.kind === 'skip' || role.kind === 'row') continue;
    const name =
      role.kind === 'cell'
        ? `${role.family}:${Buffer.from(role.qualifier).toString('latin1')}`
        : role.kind;
    if (seen.has(name)) throw new IllegalArgumentException(`--columns names ${name} twice`);
    seen.add(name);
  }
  if (!roles.some((role) => role.kind === 'row')) {
    throw new IllegalArgumentException('--columns must name HBASE_ROW_KEY');
  }
  if (!roles.some((role) => role.kind === 'cell')) {
    throw new IllegalArgumentException('--columns names no column fam:qual to fill');
  }
  return roles;
}

function roleOf(word: string): FieldRole {
  switch (word) {
    case '':
      throw new IllegalArgumentException(
        "--columns has an empty word (use '-' to leave a field out)",
      );
    case '-':
      return { kind: 'skip' };
    case 'HBASE_ROW_KEY':
      return { kind: 'row' };
    case 'HBASE_TS_KEY':
      return { kind: 'ts' };
    case 'HBASE_CELL_TTL':
      return { kind: 'ttl' };
    case 'HBASE_ATTRIBUTES_KEY':
    case 'HBASE_CELL_VISIBILITY':
      throw new IllegalArgumentException(
        `${word} is not supported: cells here carry no such thing`,
      );
    default:
      break;
  }
  if (word.startsWith('HBASE_'))
    throw new IllegalArgumentException(`--columns: unknown word ${word}`);
  const colon = word.indexOf(':');
  const family = colon < 0 ? word : word.slice(0, colon);
  checkFamilyName(family);
  return {
    kind: 'cell',
    family,
    qualifier: colon < 0 ? new Uint8Array(0) : fromStringBinary(word.slice(colon + 1)),
  };
}

/** Families that the columns fill, each once. */
export function familiesOf(roles: readonly FieldRole[]): string[] {
  return [...new Set(roles.flatMap((role) => (role.kind === 'cell' ? [role.family] : [])))];
}

/** The put of one line. Throws IllegalArgumentException saying what is wrong with the line. */
export function lineToPut(fields: readonly Uint8Array[], format: LineFormat): Operation {
  if (fields.length > format.roles.length) {
    throw new IllegalArgumentException(
      `Excessive columns: ${fields.length} fields for ${format.roles.length} columns`,
    );
  }
  const rowParts: Uint8Array[] = [];
  const cells: CellInput[] = [];
  let ts = format.ts;
  let ttl: number | null = null;
  for (const [index, role] of format.roles.entries()) {
    const field = fields[index];
    if (field === undefined) {
      if (role.kind === 'cell' || role.kind === 'skip') continue;
      throw new IllegalArgumentException(`No ${NAMES[role.kind]}: ${fieldsText(fields.length)}`);
    }
    if (role.kind === 'row') {
      if (rowParts.length > 0) rowParts.push(format.rowSeparator);
      rowParts.push(field);
    } else if (role.kind === 'ts') {
      ts = integerOf(field, 'timestamp');
      toTimestamp(ts, 'timestamp');
    } else if (role.kind === 'ttl') {
      ttl = Number(integerOf(field, 'TTL'));
    } else if (role.kind === 'cell' && !(format.skipEmpty && field.length === 0)) {
      cells.push({ family: role.family, qualifier: role.qualifier, value: field });
    }
  }
  if (cells.length === 0) {
    const isOne = fields.length === 1 && format.roles.length > 1;
    const why = isOne ? fieldsText(1) : 'every field is empty or missing';
    throw new IllegalArgumentException(`No value: ${why}`);
  }
  const row = toRow(rowParts.length === 1 ? rowParts[0]! : Buffer.concat(rowParts));
  return {
    put: row,
    values: cells,
    options: { ...(ts === null ? {} : { ts }), ...(ttl === null ? {} : { ttl }) },
  };
}

/** A line in one piece is mostly one whose fields are separated otherwise. */
function fieldsText(count: number): string {
  return count === 1
    ? 'the line has only one field, is --separator right?'
    : `the line has ${count} fields`;
}

const NAMES = { row: 'row key', ts: 'timestamp', ttl: 'TTL' } as const;

function integerOf(field: Uint8Array, what: string): bigint {
  const text = Buffer.from(field).toString('latin1').trim();
  if (!/^-?\d{1,19}$/.test(text))
    throw new IllegalArgumentException(`Invalid ${what} '${text.slice(0, 40)}'`);
  return BigInt(text);
}
