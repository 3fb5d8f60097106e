/** Log records as text, for `cellar wal dump`. */
import {
  keyLengthAt,
  rowLengthAt,
  ROW_AT,
  timestampAt,
  toStringBinary,
  TYPE_DELETE,
  TYPE_DELETE_COLUMN,
  TYPE_DELETE_FAMILY,
  TYPE_DELETE_FAMILY_VERSION,
  TYPE_PUT,
  u64,
  valueLengthAt,
} from '../cell/index.ts';
import {
  ASYNC_WAL,
  FSYNC_WAL,
  KIND_CLOSE,
  KIND_COMMIT,
  KIND_CONTROL,
  KIND_LOST,
  KIND_SEGMENT_END,
  KIND_SKIPPED,
  SYNC_WAL,
} from './format.ts';
import type { LogRecord } from './record.ts';

/** Bits of a TSO below its milliseconds. */
const LOGICAL_BITS = 18n;

const KIND_NAMES: ReadonlyMap<number, string> = new Map([
  [KIND_COMMIT, 'commit'],
  [KIND_CONTROL, 'control'],
  [KIND_SEGMENT_END, 'segment-end'],
  [KIND_CLOSE, 'close'],
  [KIND_SKIPPED, 'skipped'],
  [KIND_LOST, 'lost'],
]);

const DURABILITY_NAMES: ReadonlyMap<number, string> = new Map([
  [ASYNC_WAL, 'ASYNC_WAL'],
  [SYNC_WAL, 'SYNC_WAL'],
  [FSYNC_WAL, 'FSYNC_WAL'],
]);

const TYPE_NAMES: ReadonlyMap<number, string> = new Map([
  [TYPE_PUT, 'Put'],
  [TYPE_DELETE, 'Delete'],
  [TYPE_DELETE_FAMILY_VERSION, 'DeleteFamilyVersion'],
  [TYPE_DELETE_COLUMN, 'DeleteColumn'],
  [TYPE_DELETE_FAMILY, 'DeleteFamily'],
]);

/** What a dump shows of a record, as plain data. 64-bit numbers are decimal strings. */
export interface RecordSummary {
  readonly segment: number;
  readonly offset: number;
  readonly size: number;
  readonly kind: string;
  readonly tso: string;
  /** ISO 8601, the physical part of the TSO. */
  readonly time: string;
  readonly durability: string | null;
  readonly label: string | null;
  /** Hexadecimal. */
  readonly nonce: { readonly group: string; readonly nonce: string } | null;
  readonly skipped: { readonly first: string; readonly last: string } | null;
  readonly bodyLength: number;
  readonly groups: readonly {
    readonly table: number;
    readonly family: number;
    readonly cells: number;
    readonly bytes: number;
  }[];
}

/** Summarizes a record; rewinds it. Throws CorruptionException for a body that is no commit's. */
export function summarizeRecord(record: LogRecord): RecordSummary {
  const groups: RecordSummary['groups'][number][] = [];
  record.rewind();
  while (record.nextGroup()) {
    let cells = 0;
    let bytes = 0;
    while (record.nextCell()) {
      cells++;
      bytes += record.cellLength;
    }
    groups.push({ table: record.tableId, family: record.familyId, cells, bytes });
  }
  record.rewind();
  const nonce = record.nonce === null ? null : Buffer.from(record.nonce).toString('hex');
  return {
    segment: record.segment,
    offset: record.offset,
    size: record.size,
    kind: KIND_NAMES.get(record.kind) ?? `kind-${record.kind}`,
    tso: `${record.tso}`,
    time: timeText(record.tso),
    durability: DURABILITY_NAMES.get(record.durability) ?? null,
    label: record.label,
    nonce: nonce === null ? null : { group: nonce.slice(0, 16), nonce: nonce.slice(16) },
    skipped: record.hasSkipped
      ? { first: `${record.skippedFirst}`, last: `${record.skippedLast}` }
      : null,
    bodyLength: record.bodyLength,
    groups,
  };
}

/**
 * A record as one line, with `cells` one more for each cell, indented:
 * `1:64 tso=… time=… commit FSYNC_WAL 120 bytes label=x nonce=… table=3 family=5 cells=2 bytes=84`
 */
export function describeRecord(
  record: LogRecord,
  options: { readonly cells?: boolean } = {},
): string {
  const summary = summarizeRecord(record);
  const parts = [
    `${summary.segment}:${summary.offset}`,
    `tso=${summary.tso}`,
    `time=${summary.time}`,
    summary.kind,
  ];
  if (summary.durability !== null) parts.push(summary.durability);
  parts.push(`${summary.size} bytes`);
  if (summary.label !== null) parts.push(`label=${JSON.stringify(summary.label)}`);
  if (summary.nonce !== null) parts.push(`nonce=${summary.nonce.group}/${summary.nonce.nonce}`);
  if (summary.skipped !== null) {
    parts.push(`skipped=${summary.skipped.first}…${summary.skipped.last}`);
  }
  for (const { table, family, cells, bytes } of summary.groups) {
    parts.push(`table=${table} family=${family} cells=${cells} bytes=${bytes}`);
  }
  const lines = [parts.join(' ')];
  if (options.cells === true) lines.push(...cellLines(record));
  return lines.join('\n');
}

function cellLines(record: LogRecord): string[] {
  const lines: string[] = [];
  while (record.nextGroup()) {
    while (record.nextCell()) lines.push(`  ${cellText(record)}`);
  }
  record.rewind();
  return lines;
}

function cellText(record: LogRecord): string {
  const { buf, cellAt } = record;
  const textOf = (at: number, length: number): string =>
    toStringBinary(buf.subarray(at, at + length));
  const rowLength = rowLengthAt(buf, cellAt);
  const familyAt = cellAt + ROW_AT + rowLength;
  const familyLength = buf[familyAt]!;
  const qualifierAt = familyAt + 1 + familyLength;
  const stampAt = timestampAt(buf, cellAt);
  const row = textOf(cellAt + ROW_AT, rowLength);
  const column = `${textOf(familyAt + 1, familyLength)}:${textOf(qualifierAt, stampAt - qualifierAt)}`;
  const typeCode = buf[stampAt + 8]!;
  const type = TYPE_NAMES.get(typeCode) ?? `type-${typeCode}`;
  const valueAt = cellAt + 8 + keyLengthAt(buf, cellAt);
  const value = textOf(valueAt, valueLengthAt(buf, cellAt));
  return `${row} ${column}/${u64(buf, stampAt)}/${type} value=${value}`;
}

function timeText(tso: bigint): string {
  const ms = Number(tso >> LOGICAL_BITS);
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? `${ms} ms` : time.toISOString();
}
