/** Cells as changes: from bytes to what a consumer gets. */
import {
  TAG_TTL,
  TYPE_DELETE,
  TYPE_DELETE_COLUMN,
  TYPE_DELETE_FAMILY,
  TYPE_DELETE_FAMILY_VERSION,
  TYPE_PUT,
  KEY_AT,
  ROW_AT,
  timestampAt,
  u16,
  u32,
  u64,
} from '../../cell/index.ts';
import type { ChangeCell, ChangeType } from './change.ts';

/** The KeyValue at `at` as a change, copied. */
export function changeCell(
  buf: Uint8Array,
  at: number,
  length: number,
  table: string,
  family: string,
): ChangeCell {
  const rowLength = u16(buf, at + KEY_AT);
  const rowEnd = at + ROW_AT + rowLength;
  const qualifierAt = rowEnd + 1 + buf[rowEnd]!;
  const stampAt = timestampAt(buf, at);
  const valueAt = at + KEY_AT + u32(buf, at);
  const valueEnd = valueAt + u32(buf, at + 4);
  const slice = (from: number, to: number): Uint8Array =>
    Uint8Array.prototype.slice.call(buf, from, to);
  return {
    table,
    row: slice(at + ROW_AT, rowEnd),
    family,
    qualifier: slice(qualifierAt, stampAt),
    type: typeName(buf[stampAt + 8]!),
    ts: u64(buf, stampAt),
    value: slice(valueAt, valueEnd),
    ttl: ttlOf(buf, valueEnd, at + length),
  };
}

/** Milliseconds of the TTL tag; null: there is none. */
function ttlOf(buf: Uint8Array, from: number, end: number): number | null {
  for (let at = from + 2; at + 3 <= end;) {
    const length = u16(buf, at);
    if (buf[at + 2] === TAG_TTL && length === 9) return Number(u64(buf, at + 3));
    at += 2 + length;
  }
  return null;
}

function typeName(type: number): ChangeType {
  switch (type) {
    case TYPE_PUT:
      return 'Put';
    case TYPE_DELETE:
      return 'Delete';
    case TYPE_DELETE_COLUMN:
      return 'DeleteColumn';
    case TYPE_DELETE_FAMILY:
      return 'DeleteFamily';
    case TYPE_DELETE_FAMILY_VERSION:
      return 'DeleteFamilyVersion';
    default:
      return 'Put';
  }
}
