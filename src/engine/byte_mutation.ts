/**
 * Mutations of a row as KeyValues, the way HBase's clients send them: what they say, and how their cells come into a
 * commit. The general way of callers in TypeScript is in encode.ts.
 */
import {
  LATEST_HIGH,
  LATEST_LOW,
  TYPE_DELETE,
  TYPE_DELETE_FAMILY,
  TYPE_PUT,
  compareRanges,
  timestampAt,
  u16,
  u32,
} from '../cell/index.ts';
import { DoNotRetryIOException, NoSuchColumnFamilyException } from '../model/index.ts';
import type { TimeRangeSpec } from '../model/index.ts';
import type { MutationBuffer } from '../region/index.ts';
import type { TableState } from './table_state.ts';

/** HBase's numbers (MutationProto.MutationType). */
export const MUTATE_APPEND = 0;
export const MUTATE_INCREMENT = 1;
export const MUTATE_PUT = 2;
export const MUTATE_DELETE = 3;
export type MutateType =
  typeof MUTATE_APPEND | typeof MUTATE_INCREMENT | typeof MUTATE_PUT | typeof MUTATE_DELETE;

export interface ByteMutation {
  readonly type: MutateType;
  /** 1 … 32767 bytes. */
  readonly row: Uint8Array;
  /** `cells[from, to)`: KeyValues of this row, each behind its 4-byte length, checked (`keyValueFault`). */
  readonly cells: Uint8Array;
  readonly from: number;
  readonly to: number;
  /** Of a delete without cells: everything of the row up to this. */
  readonly timestampHigh: number;
  readonly timestampLow: number;
  /** The log's number; 0: none asked for. */
  readonly durability: number;
  /** Milliseconds that its cells live; 0 for no end. */
  readonly ttlMs: number;
  /** Of increments and appends: which old values count. */
  readonly timeRange: TimeRangeSpec;
  readonly returnResults: boolean;
  /** Group and nonce, 16 bytes; null for none. */
  readonly nonce: Uint8Array | null;
}

const EMPTY: Uint8Array = new Uint8Array(0);

/** The index of the family of the KeyValue at `at`. Throws NoSuchColumnFamilyException. */
export function familyIndexAt(table: TableState, cells: Uint8Array, at: number): number {
  const familyAt = at + 11 + u16(cells, at + 8);
  const length = cells[familyAt - 1]!;
  const { families } = table;
  for (let i = 0; i < families.length; i++) {
    const { nameBytes } = families[i]!.settings;
    if (compareRanges(nameBytes, 0, nameBytes.length, cells, familyAt, length) === 0) return i;
  }
  const name = Buffer.from(cells.subarray(familyAt, familyAt + length)).toString('latin1');
  const known = families.map(({ settings }) => settings.name).join(', ');
  throw new NoSuchColumnFamilyException(
    `Column family ${name} does not exist in table ${table.name}; it has ${known}`,
  );
}

/** A delete of "the newest version": what that is must be read first. */
export function needsNewestVersion(mutation: ByteMutation): boolean {
  if (mutation.type !== MUTATE_DELETE) return false;
  const { cells, from, to } = mutation;
  for (let at = from; at < to; at += 4 + u32(cells, at)) {
    if (isNewestVersion(cells, at + 4)) return true;
  }
  return false;
}

/** Whether the KeyValue is a Delete with timestamp LATEST. */
export function isNewestVersion(cells: Uint8Array, at: number): boolean {
  const stampAt = timestampAt(cells, at);
  return (
    cells[stampAt + 8] === TYPE_DELETE &&
    u32(cells, stampAt) === LATEST_HIGH &&
    u32(cells, stampAt + 4) === LATEST_LOW
  );
}

/** The least timestamp that LATEST may become. */
export interface StampFloor {
  readonly floorHigh: number;
  readonly floorLow: number;
}

/**
 * Adds the cells of a put, or of a delete that reads nothing. True when no two of them can have the same key. Throws
 * NoSuchColumnFamilyException, DoNotRetryIOException for a cell over the limit.
 */
export function encodeCells(
  buffer: MutationBuffer,
  table: TableState,
  mutation: ByteMutation,
  floor: StampFloor,
): boolean {
  const { cells, from, to } = mutation;
  if (from === to && mutation.type === MUTATE_DELETE) {
    encodeRowDelete(buffer, table, mutation, floor);
    return true;
  }
  let distinct = buffer.count === 0;
  let last = -1;
  for (let at = from; at < to; at += 4 + u32(cells, at)) {
    const cellAt = at + 4;
    addCell(buffer, table, mutation, cellAt, floor);
    if (distinct && last >= 0) distinct = isColumnBefore(cells, last, cellAt);
    last = cellAt;
  }
  return distinct;
}

/** Adds the KeyValue at `at` of the mutation's cells. */
export function addCell(
  buffer: MutationBuffer,
  table: TableState,
  mutation: ByteMutation,
  at: number,
  { floorHigh, floorLow }: StampFloor,
): void {
  const { cells, ttlMs } = mutation;
  const length = u32(cells, at - 4);
  const familyIndex = familyIndexAt(table, cells, at);
  const { maxCellSizeBytes } = table.settings;
  if (length > maxCellSizeBytes) {
    throw new DoNotRetryIOException(
      `Cell with size ${length} exceeds limit of ${maxCellSizeBytes} bytes`,
    );
  }
  if (ttlMs === 0 || mutation.type !== MUTATE_PUT) {
    buffer.addKeyValue(familyIndex, cells, at, length, floorHigh, floorLow);
    return;
  }
  const stampAt = timestampAt(cells, at);
  const rowEnd = at + 10 + u16(cells, at + 8);
  const qualifierAt = rowEnd + 1 + cells[rowEnd]!;
  const valueLength = u32(cells, at + 4);
  const valueAt = buffer.add({
    familyIndex,
    row: cells.subarray(at + 10, rowEnd),
    family: cells.subarray(rowEnd + 1, qualifierAt),
    qualifier: cells.subarray(qualifierAt, stampAt),
    timestampHigh: u32(cells, stampAt),
    timestampLow: u32(cells, stampAt + 4),
    type: TYPE_PUT,
    valueLength,
    ttlMs,
    floorHigh,
    floorLow,
  });
  buffer.buf.set(cells.subarray(stampAt + 9, stampAt + 9 + valueLength), valueAt);
}

/** A delete of the whole row: a marker in each family. */
function encodeRowDelete(
  buffer: MutationBuffer,
  table: TableState,
  { row, timestampHigh, timestampLow }: ByteMutation,
  { floorHigh, floorLow }: StampFloor,
): void {
  for (const [familyIndex, { settings }] of table.families.entries()) {
    buffer.add({
      familyIndex,
      row,
      family: settings.nameBytes,
      qualifier: EMPTY,
      timestampHigh,
      timestampLow,
      type: TYPE_DELETE_FAMILY,
      valueLength: 0,
      ttlMs: 0,
      floorHigh,
      floorLow,
    });
  }
}

/** Whether one column comes strictly before another, both of one row: family and qualifier in byte order. */
function isColumnBefore(cells: Uint8Array, a: number, b: number): boolean {
  const rowLength = u16(cells, a + 8);
  const from = 10 + rowLength;
  const aLength = timestampAt(cells, a) - a - from;
  const bLength = timestampAt(cells, b) - b - from;
  return compareRanges(cells, a + from, aLength, cells, b + from, bLength) < 0;
}
