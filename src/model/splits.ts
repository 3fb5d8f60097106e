/**
 * Where a new table is cut into regions: keys given (SPLITS), or computed from NUMREGIONS and SPLITALGO as HBase's
 * RegionSplitter does. The file of SPLITS_FILE is read by the caller, who passes its lines as SPLITS.
 */
import { ROW_LENGTH_MAX, compareBytes, toStringBinary } from '../cell/index.ts';
import { IllegalArgumentException } from './errors.ts';
import type { TableSpec } from './schema.ts';
import { shown, toArgumentBytes } from './values.ts';

/** Regions at creation; more is a slip of the keyboard. */
const REGIONS_MAX = 100_000;

/** Start keys of the second and later regions, in order; empty for one region. Throws IllegalArgumentException. */
export function splitKeysOf(spec: TableSpec): Uint8Array[] {
  const name = spec.name;
  const splits = member(spec, 'SPLITS');
  const regions = member(spec, 'NUMREGIONS');
  const algorithm = member(spec, 'SPLITALGO');
  if (member(spec, 'SPLITS_FILE') !== undefined) {
    throw new IllegalArgumentException(
      `SPLITS_FILE of table ${name} is read by the command line; pass its lines as SPLITS`,
    );
  }
  if (splits !== undefined) {
    if (regions !== undefined || algorithm !== undefined) {
      throw new IllegalArgumentException(
        `SPLITS and NUMREGIONS of table ${name} exclude each other`,
      );
    }
    return checkedSplits(splits);
  }
  if (regions === undefined && algorithm === undefined) return [];
  if (regions === undefined)
    throw new IllegalArgumentException('Number of regions must be specified');
  if (algorithm === undefined)
    throw new IllegalArgumentException('Split algorithm must be specified');
  return computedSplits(regions, algorithm);
}

function member(spec: TableSpec, name: string): unknown {
  for (const [key, value] of Object.entries(spec)) {
    if (key.toUpperCase() === name && value !== undefined && value !== null) return value;
  }
  return undefined;
}

function checkedSplits(splits: unknown): Uint8Array[] {
  if (!Array.isArray(splits)) {
    throw new IllegalArgumentException(`SPLITS must be an array, not ${shown(splits)}`);
  }
  const keys = splits.map((key: Uint8Array | string) => toArgumentBytes(key, 'A split key'));
  keys.sort(compareBytes);
  for (const [index, key] of keys.entries()) {
    if (key.length === 0) {
      throw new IllegalArgumentException('Empty split key must not be passed in the split keys.');
    }
    if (key.length > ROW_LENGTH_MAX) {
      throw new IllegalArgumentException(`Split key of ${key.length} bytes is > ${ROW_LENGTH_MAX}`);
    }
    if (index > 0 && compareBytes(key, keys[index - 1]!) === 0) {
      throw new IllegalArgumentException(
        `All split keys must be unique, found duplicate: ${toStringBinary(key)}`,
      );
    }
  }
  return keys;
}

function computedSplits(regions: unknown, algorithm: unknown): Uint8Array[] {
  const count = Number(regions);
  if (!Number.isSafeInteger(count) || count < 2) {
    throw new IllegalArgumentException(
      `Number of regions must be greater than 1: NUMREGIONS is ${shown(regions)}`,
    );
  }
  if (count > REGIONS_MAX) {
    throw new IllegalArgumentException(`NUMREGIONS ${count} is above ${REGIONS_MAX}`);
  }
  const name = typeof algorithm === 'string' ? algorithm.replace(/^.*[.$]/, '') : '';
  switch (name) {
    case 'HexStringSplit':
      return textSplits(count, 16, 0xffffffffn);
    case 'DecimalStringSplit':
      return textSplits(count, 10, 99_999_999n);
    case 'UniformSplit':
      return uniformSplits(count);
    default:
      throw new IllegalArgumentException(
        `SPLITALGO ${shown(algorithm)} is unknown: use HexStringSplit, DecimalStringSplit or UniformSplit`,
      );
  }
}

/** 8 characters, equal steps from 0 to `last` (HBase: RegionSplitter.NumberStringSplit). */
function textSplits(count: number, radix: number, last: bigint): Uint8Array[] {
  const step = (last + 1n) / BigInt(count);
  return Array.from({ length: count - 1 }, (_, index) =>
    Buffer.from((step * BigInt(index + 1)).toString(radix).padStart(8, '0')),
  );
}

/** 8 bytes, equal steps over all of them (HBase: RegionSplitter.UniformSplit). */
function uniformSplits(count: number): Uint8Array[] {
  const step = 2n ** 64n / BigInt(count);
  return Array.from({ length: count - 1 }, (_, index) => {
    const key = Buffer.allocUnsafe(8);
    key.writeBigUInt64BE(step * BigInt(index + 1));
    return key;
  });
}
