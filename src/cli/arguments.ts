/** Words of the command line as values: numbers, bytes, columns, time ranges, descriptions of tables. */
import { fromStringBinary } from '../cell/index.ts';
import { TABLE_ATTRIBUTES, SPLIT_KEYS, findAttribute } from '../model/index.ts';
import type { AsOf, Column, FamilySpec, TableSpec, TimeRange } from '../model/index.ts';
import { UsageError } from './context.ts';
import { isHash, parseArguments } from './shell/literals.ts';
import { hashObject } from './shell/table_arguments.ts';

/** A 64-bit number in decimal digits. */
export function parseInteger(text: string): bigint {
  if (!/^[+-]?\d{1,19}$/.test(text)) throw new UsageError(`'${text}' is no integer`);
  return BigInt(text);
}

/** An integer from `min` up. */
export function parseCount(text: string, min: number = 0): number {
  const number = Number(text);
  if (!/^\d{1,15}$/.test(text) || number < min) {
    throw new UsageError(`'${text}' is no integer from ${min} up`);
  }
  return number;
}

/** `ALL` or an integer from 1 up. */
export function parseVersions(text: string): number {
  return text.toUpperCase() === 'ALL' ? 0x7fffffff : parseCount(text, 1);
}

/** `MIN,MAX`: [MIN, MAX); either may be left out. */
export function parseTimeRange(text: string): TimeRange {
  const parts = text.split(',');
  if (parts.length !== 2) throw new UsageError(`'${text}' is no time range: MIN,MAX`);
  const [min, max] = parts.map((part) => part.trim());
  return {
    ...(min === '' ? {} : { min: parseInteger(min!) }),
    ...(max === '' ? {} : { max: parseInteger(max!) }),
  };
}

/** Digits below this are milliseconds (until the year 5138), above it a TSO (from January 1970 on). */
const MILLISECONDS_END = 100_000_000_000_000n;

/** A TSO or milliseconds in digits, or a time in ISO 8601. */
export function parseAsOf(text: string): AsOf {
  if (text === 'now') return text;
  if (/^\d+$/.test(text)) {
    const digits = BigInt(text);
    return digits < MILLISECONDS_END ? new Date(Number(digits)) : digits;
  }
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) {
    throw new UsageError(`'${text}' is neither a TSO nor a time such as 2024-05-01T12:00:00Z`);
  }
  return time;
}

/** `fam:qual` with `\xNN` in the qualifier; `fam` alone stays as it is (the whole family where that makes sense). */
export function parseColumn(text: string): Column {
  const colon = text.indexOf(':');
  if (colon < 0 || !text.includes('\\x')) return text;
  return [text.slice(0, colon), fromStringBinary(text.slice(colon + 1))];
}

interface Description {
  name: string;
  families: (FamilySpec | string)[];
  [attribute: string]: unknown;
}

/**
 * `TABLE FAMILY…` with options after each family (`VERSIONS=3`, `VERSIONS=>3`), the table's own before the first family
 * or anywhere (`SPLITS=a,b`, `NUMREGIONS=4`), and whole hashes as in HBase's shell (`{NAME => 'f', VERSIONS => 3}`).
 */
export function parseDescription(table: string, words: readonly string[]): TableSpec {
  const spec: Description = { name: table, families: [] };
  let family: Record<string, unknown> | null = null;
  for (const word of words) {
    if (word.startsWith('{')) {
      family = familyOfHash(word);
      if ('NAME' in family) spec.families.push(family as FamilySpec);
      else Object.assign(spec, family);
      continue;
    }
    const option = /^([A-Za-z_][\w.$-]*)\s*=>?\s*([\s\S]*)$/.exec(word);
    if (option === null) {
      family = { name: word };
      spec.families.push(family as FamilySpec);
      continue;
    }
    const key = option[1]!;
    setOption(isTableOption(key, family) ? spec : family!, key, option[2]!);
  }
  return spec;
}

function isTableOption(key: string, family: Record<string, unknown> | null): boolean {
  if (family === null) return true;
  const upper = key.toUpperCase();
  return (
    SPLIT_KEYS.includes(upper) ||
    (upper !== 'DURABILITY' && findAttribute(TABLE_ATTRIBUTES, upper) !== undefined)
  );
}

/** `METADATA.key` and `CONFIGURATION.key` go into their groups; SPLITS is a list; an empty value takes an attribute away. */
function setOption(into: Record<string, unknown>, key: string, text: string): void {
  const group = /^(METADATA|CONFIGURATION)\.(.+)$/i.exec(key);
  if (group !== null) {
    const name = group[1]!.toUpperCase();
    into[name] = { ...(into[name] as object | undefined), [group[2]!]: text === '' ? null : text };
  } else if (key.toUpperCase() === 'SPLITS') {
    into['SPLITS'] = text.split(',').map((part) => fromStringBinary(part));
  } else {
    into[key] = text === '' ? null : text;
  }
}

function familyOfHash(word: string): Record<string, unknown> {
  const [hash, ...more] = parseArguments(word);
  if (hash === undefined || more.length > 0 || !isHash(hash)) {
    throw new UsageError(`'${word}' is no description such as {NAME => 'f', VERSIONS => 3}`);
  }
  return hashObject(hash);
}
