/**
 * The order of rows in hbase:meta, which is not that of their bytes (HBase: MetaCellComparator). A row is
 * `<table>,<start key>,<region id>…`; the parts are compared one after the other, so that a start key with bytes below the
 * comma sorts where its region lies. A row with fewer parts comes first.
 */
import { compareRanges } from '../../cell/index.ts';

const COMMA = 0x2c;

/** Negative, 0 or positive. */
export function compareMetaRows(a: Uint8Array, b: Uint8Array): number {
  const aTableEnd = a.indexOf(COMMA);
  const bTableEnd = b.indexOf(COMMA);
  const tables = compareParts(a, 0, endOf(a, aTableEnd), b, 0, endOf(b, bTableEnd));
  if (tables !== 0) return tables;
  if (aTableEnd < 0 || bTableEnd < 0) return countParts(aTableEnd) - countParts(bTableEnd);
  const aKeyEnd = lastCommaBehind(a, aTableEnd);
  const bKeyEnd = lastCommaBehind(b, bTableEnd);
  const keys = compareParts(
    a,
    aTableEnd + 1,
    endOf(a, aKeyEnd),
    b,
    bTableEnd + 1,
    endOf(b, bKeyEnd),
  );
  if (keys !== 0) return keys;
  if (aKeyEnd < 0 || bKeyEnd < 0) return countParts(aKeyEnd) - countParts(bKeyEnd);
  return compareParts(a, aKeyEnd + 1, a.length, b, bKeyEnd + 1, b.length);
}

const endOf = (row: Uint8Array, comma: number): number => (comma < 0 ? row.length : comma);

const countParts = (comma: number): number => (comma < 0 ? 0 : 1);

/** -1 when there is none behind `first`. */
function lastCommaBehind(row: Uint8Array, first: number): number {
  const last = row.lastIndexOf(COMMA);
  return last > first ? last : -1;
}

function compareParts(
  a: Uint8Array,
  aFrom: number,
  aTo: number,
  b: Uint8Array,
  bFrom: number,
  bTo: number,
): number {
  return compareRanges(a, aFrom, aTo - aFrom, b, bFrom, bTo - bFrom);
}
