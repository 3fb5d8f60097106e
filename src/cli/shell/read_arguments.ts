/** Hashes of `get`, `scan` and `count` as options of reads. Names are HBase's; one that is unknown is refused. */
import { IllegalArgumentException, closest } from '../../model/index.ts';
import type { Column, ReadOptions, ScanOptions, TimeRange } from '../../model/index.ts';
import { isHash, textOf, type ShellValue } from './literals.ts';
import { integerArgument } from './session.ts';

type Hash = ReadonlyMap<ShellValue, ShellValue>;
type Writable<T> = { -readonly [K in keyof T]: T[K] };

const GET_NAMES = [
  'COLUMN',
  'COLUMNS',
  'TIMESTAMP',
  'TIMERANGE',
  'VERSIONS',
  'CACHE_BLOCKS',
  'ISOLATION_LEVEL',
  'FILTER',
];
const SCAN_NAMES = [
  ...GET_NAMES,
  'STARTROW',
  'STOPROW',
  'ENDROW',
  'ROWPREFIXFILTER',
  'LIMIT',
  'REVERSED',
  'RAW',
  'BATCH',
  'MAX_RESULT_SIZE',
  'CACHE',
  'INTERVAL',
];

/** `'f:q'`, `"f:\x00"`, or `'f'` for the family. */
export function columnOf(value: ShellValue): Column {
  if (!(value instanceof Uint8Array)) return textOf(value);
  const colon = value.indexOf(0x3a);
  if (colon < 0) return textOf(value);
  return [textOf(value.subarray(0, colon)), value.subarray(colon + 1)];
}

/** One column or a list of them. */
export function columnsOf(value: ShellValue): Column[] {
  return Array.isArray(value) ? (value as ShellValue[]).map(columnOf) : [columnOf(value)];
}

/** Options of a get: a hash, or columns as further arguments. */
export function getOptions(args: readonly ShellValue[]): ReadOptions {
  const options: Writable<ReadOptions> = {};
  const columns: Column[] = [];
  for (const argument of args) {
    if (isHash(argument)) Object.assign(options, readOptions(argument, GET_NAMES, 'get'));
    else columns.push(...columnsOf(argument));
  }
  return columns.length === 0 ? options : { ...options, columns };
}

/** Options of a scan or count. */
export function scanOptions(hash: Hash, command: string): ScanOptions {
  const options: Writable<ScanOptions> = readOptions(hash, SCAN_NAMES, command);
  for (const [name, value] of hash) {
    switch (textOf(name)) {
      case 'STARTROW':
        options.start = rowOf(value);
        break;
      case 'STOPROW':
      case 'ENDROW':
        options.stop = rowOf(value);
        break;
      case 'ROWPREFIXFILTER':
        options.prefix = rowOf(value);
        break;
      case 'LIMIT':
        options.limit = numberOf(value, 'LIMIT');
        break;
      case 'REVERSED':
        options.reversed = isTrue(value, 'REVERSED');
        break;
      case 'RAW':
        options.raw = isTrue(value, 'RAW');
        break;
      case 'BATCH':
        options.batch = numberOf(value, 'BATCH');
        break;
      case 'MAX_RESULT_SIZE':
        options.maxResultSizeBytes = numberOf(value, 'MAX_RESULT_SIZE');
        break;
      default: // CACHE and INTERVAL say how often to fetch and to tell; the others are read's.
        break;
    }
  }
  return options;
}

function readOptions(hash: Hash, known: readonly string[], command: string): Writable<ReadOptions> {
  const options: Writable<ReadOptions> = {};
  for (const [key, value] of hash) {
    const name = textOf(key);
    if (!known.includes(name)) throw unknownOption(name, known, command);
    switch (name) {
      case 'COLUMN':
      case 'COLUMNS':
        options.columns = columnsOf(value);
        break;
      case 'TIMESTAMP': {
        const ts = integerArgument(value, 'TIMESTAMP');
        if (ts !== undefined) options.ts = ts;
        break;
      }
      case 'TIMERANGE':
        options.timeRange = timeRangeOf(value);
        break;
      case 'VERSIONS':
        options.versions = value === 'ALL' ? Infinity : numberOf(value, 'VERSIONS');
        break;
      case 'CACHE_BLOCKS':
        options.cacheBlocks = isTrue(value, 'CACHE_BLOCKS');
        break;
      case 'ISOLATION_LEVEL':
        options.isolation = textOf(value) as NonNullable<ReadOptions['isolation']>;
        break;
      case 'FILTER':
        options.filter = rowOf(value);
        break;
      default:
        break;
    }
  }
  return options;
}

function unknownOption(name: string, known: readonly string[], command: string): Error {
  const hint = closest(name, known);
  return new IllegalArgumentException(
    `Unknown option ${name} of ${command}${hint === null ? '' : ` (did you mean ${hint}?)`}`,
  );
}

const rowOf = (value: ShellValue): Uint8Array | string =>
  value instanceof Uint8Array ? value : textOf(value);

function timeRangeOf(value: ShellValue): TimeRange {
  const [min, max] = Array.isArray(value) ? (value as ShellValue[]) : [];
  const range = [integerArgument(min, 'TIMERANGE'), integerArgument(max, 'TIMERANGE')] as const;
  if (range[0] === undefined || range[1] === undefined) {
    throw new IllegalArgumentException('TIMERANGE must be a list of two integers [MIN, MAX]');
  }
  return { min: range[0], max: range[1] };
}

function numberOf(value: ShellValue, what: string): number {
  const number = integerArgument(value, what);
  if (number === undefined) throw new IllegalArgumentException(`${what} must be an integer`);
  return Number(number);
}

function isTrue(value: ShellValue, what: string): boolean {
  if (typeof value === 'boolean') return value;
  if (value === 'true' || value === 'false') return value === 'true';
  throw new IllegalArgumentException(`${what} must be true or false`);
}
