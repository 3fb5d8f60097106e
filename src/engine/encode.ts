/**
 * Encodes puts and deletes, as callers write them, into a commit's cells. Everything is checked here, before a commit
 * enters the queue; what passes can be applied.
 */
import {
  LATEST_HIGH,
  LATEST_LOW,
  TYPE_DELETE,
  TYPE_DELETE_COLUMN,
  TYPE_DELETE_FAMILY,
  TYPE_DELETE_FAMILY_VERSION,
  TYPE_PUT,
  putU64,
} from '../cell/index.ts';
import {
  DoNotRetryIOException,
  IllegalArgumentException,
  checkOptionNames,
  checkText,
  requireArray,
  requireObject,
  shown,
  toRow,
  toTimestamp,
} from '../model/index.ts';
import type {
  Bytes,
  CellInput,
  DeleteSpec,
  MutationOptions,
  Value,
  Values,
} from '../model/index.ts';
import type { MutationBuffer } from '../region/index.ts';
import type { ResolvedColumn, TableState } from './table_state.ts';

/** HBase: hbase.server.keyvalue.maxsize. Counts the whole KeyValue. */
export const CELL_SIZE_MAX = 10_485_760;
const EMPTY: Uint8Array = new Uint8Array(0);

/** The fields of one cell, set and added again and again: an encoder allocates nothing a cell. */
export class CellEncoder {
  #cellSizeMax = CELL_SIZE_MAX;
  readonly #cell = {
    familyIndex: 0,
    row: EMPTY,
    family: EMPTY,
    qualifier: EMPTY,
    timestampHigh: LATEST_HIGH,
    timestampLow: LATEST_LOW,
    type: TYPE_PUT,
    valueLength: 0,
    ttlMs: 0,
    floorHigh: 0,
    floorLow: 0,
  };

  /** Row, timestamp and TTL of the cells that follow. */
  begin(row: Uint8Array, ts: bigint | null, ttlMs: number): void {
    this.#cell.row = row;
    this.#cell.ttlMs = ttlMs;
    this.timestamp(ts);
  }

  /** Timestamp of the cells that follow; null for LATEST. */
  timestamp(ts: bigint | null): void {
    const cell = this.#cell;
    cell.timestampHigh = ts === null ? LATEST_HIGH : Number(ts >> 32n);
    cell.timestampLow = ts === null ? LATEST_LOW : Number(ts & 0xffffffffn);
  }

  ttl(ttlMs: number): void {
    this.#cell.ttlMs = ttlMs;
  }

  /** Bytes that a cell may have at most; stays until it is set again. */
  limit(cellSizeMax: number): void {
    this.#cellSizeMax = cellSizeMax;
  }

  /** The least timestamp that LATEST may become in the cells that follow; stays until it is set again. */
  floor(high: number, low: number): void {
    this.#cell.floorHigh = high;
    this.#cell.floorLow = low;
  }

  /** Adds a cell of this column; throws DoNotRetryIOException if it is over the limit. */
  add(m: MutationBuffer, column: ResolvedColumn, type: number, value: Value): void {
    const cell = this.#cell;
    cell.familyIndex = column.familyIndex;
    cell.family = column.familyBytes;
    cell.qualifier = column.qualifier;
    cell.type = type;
    cell.valueLength = valueLengthOf(value, column);
    const size =
      20 + cell.row.length + cell.family.length + cell.qualifier.length + cell.valueLength;
    if (size > this.#cellSizeMax) {
      throw new DoNotRetryIOException(
        `Cell[${describeColumn(column)}] with size ${size} exceeds limit of ${this.#cellSizeMax} bytes`,
      );
    }
    writeValue(value, m, m.add(cell));
  }
}

const describeColumn = (column: ResolvedColumn): string =>
  `${Buffer.from(column.familyBytes).toString('latin1')}:${Buffer.from(column.qualifier).toString('latin1')}`;

function valueLengthOf(value: Value, column: ResolvedColumn): number {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) checkText(value, `The value of ${describeColumn(column)}`);
    return Buffer.byteLength(value, 'utf8');
  }
  if (value instanceof Uint8Array) return value.length;
  if (typeof value === 'bigint') return 8;
  throw new IllegalArgumentException(
    `The value of ${describeColumn(column)} must be bytes, a string or a bigint, not ${shown(value)}`,
  );
}

function writeValue(value: Value, m: MutationBuffer, at: number): void {
  if (typeof value === 'string') {
    (m.buf as Buffer).write(value, at, 'utf8');
  } else if (typeof value === 'bigint') {
    if (BigInt.asIntN(64, value) !== value) {
      throw new IllegalArgumentException(`${value} does not fit a signed 64-bit value`);
    }
    putU64(m.buf, at, BigInt.asUintN(64, value));
  } else {
    m.buf.set(value, at);
  }
}

const MUTATION_OPTIONS = new Set([
  'ts',
  'ttl',
  'durability',
  'nonce',
  'returnResults',
  'timeRange',
]);
/** `onHidden` is read where the put is called. */
const PUT_OPTIONS = new Set([...MUTATION_OPTIONS, 'onHidden']);
const CELL_MEMBERS = new Set(['family', 'qualifier', 'value', 'ts', 'ttl']);
const DELETE_MEMBERS = new Set([
  'columns',
  'versions',
  'families',
  'familyVersions',
  'ts',
  'durability',
  'nonce',
]);

/** Rows of text up to this length are encoded without a buffer of their own. */
const SCRATCH_LENGTH = 64;

/**
 * Turns rows into bytes for operations that are done with them in the same turn: short ASCII text goes into one scratch
 * buffer (about 250 ns less a row than a buffer each).
 */
export class RowScratch {
  readonly #buf: Uint8Array = new Uint8Array(SCRATCH_LENGTH);
  /** Views of the buffer by their length. */
  readonly #views: readonly Uint8Array[] = Array.from({ length: SCRATCH_LENGTH + 1 }, (_, length) =>
    this.#buf.subarray(0, length),
  );

  /** The row's bytes, checked as `toRow` does: the caller's own, or valid until the next call. */
  of(row: Bytes): Uint8Array {
    if (typeof row !== 'string' || row.length === 0 || row.length > SCRATCH_LENGTH) {
      return toRow(row);
    }
    const buf = this.#buf;
    for (let i = 0; i < row.length; i++) {
      const code = row.charCodeAt(i);
      if (code > 0x7f) return toRow(row);
      buf[i] = code;
    }
    return this.#views[row.length]!;
  }
}

const DELETE_LISTS = ['columns', 'versions', 'families', 'familyVersions'] as const;

/** Milliseconds of a cell's own life; 0 for none. */
export function toTtlMs(ttl: number | undefined): number {
  if (ttl === undefined) return 0;
  if (!Number.isSafeInteger(ttl) || ttl <= 0) {
    throw new IllegalArgumentException(
      `ttl must be a positive number of milliseconds, not ${shown(ttl)}`,
    );
  }
  return ttl;
}

/** LATEST as a caller may spell it (2^63-1) means the commit's time, as no timestamp does. */
export function toCellTimestamp(ts: bigint | number | undefined): bigint | null {
  if (ts === undefined) return null;
  return toTimestamp(ts, 'ts');
}

/** Encodes the cells of a put. True when no two of them can have the same key. */
export function encodePut(
  encoder: CellEncoder,
  m: MutationBuffer,
  table: TableState,
  row: Uint8Array,
  values: Values,
  options: MutationOptions | undefined,
): boolean {
  if (options !== undefined) checkOptionNames(options, PUT_OPTIONS, 'put');
  const ts = toCellTimestamp(options?.ts);
  const ttlMs = toTtlMs(options?.ttl);
  const before = m.count;
  encoder.limit(table.settings.maxCellSizeBytes);
  encoder.begin(row, ts, ttlMs);
  const listed = Array.isArray(values);
  if (listed) {
    for (const cell of values as readonly CellInput[]) {
      checkOptionNames(cell, CELL_MEMBERS, 'a cell');
      encoder.timestamp(cell.ts === undefined ? ts : toCellTimestamp(cell.ts));
      encoder.ttl(cell.ttl === undefined ? ttlMs : toTtlMs(cell.ttl));
      encoder.add(m, table.column([cell.family, cell.qualifier]), TYPE_PUT, cell.value);
    }
  } else {
    requireObject(values, 'Values of put');
    const plain = values as Readonly<Record<string, Value>>;
    for (const column in plain) encoder.add(m, table.column(column), TYPE_PUT, plain[column]!);
  }
  if (m.count === before) throw new IllegalArgumentException('No columns to insert');
  return !listed;
}

/**
 * Encodes the markers of a delete. A single version without timestamp needs the newest version's, which `newestOf` gives
 * by the column's place in `spec.versions` (null: there is none, the commit's time is taken, as HBase does).
 */
export function encodeDelete(
  encoder: CellEncoder,
  m: MutationBuffer,
  table: TableState,
  row: Uint8Array,
  spec: DeleteSpec | undefined,
  newestOf: (index: number) => bigint | null,
): void {
  if (spec !== undefined) checkDeleteSpec(spec);
  const ts = toCellTimestamp(spec?.ts);
  const before = m.count;
  encoder.limit(table.settings.maxCellSizeBytes);
  encoder.begin(row, ts, 0);
  for (const name of spec?.families ?? []) {
    encoder.add(m, familyColumn(table, name), TYPE_DELETE_FAMILY, EMPTY);
  }
  for (const name of spec?.familyVersions ?? []) {
    if (ts === null) {
      throw new IllegalArgumentException(`familyVersions needs a ts: which version of ${name}?`);
    }
    encoder.add(m, familyColumn(table, name), TYPE_DELETE_FAMILY_VERSION, EMPTY);
  }
  for (const column of spec?.columns ?? []) {
    encoder.add(m, table.column(column), TYPE_DELETE_COLUMN, EMPTY);
  }
  for (const [index, column] of (spec?.versions ?? []).entries()) {
    encoder.timestamp(ts ?? newestOf(index));
    encoder.add(m, table.column(column), TYPE_DELETE, EMPTY);
  }
  if (m.count > before) return;
  encoder.timestamp(ts);
  for (const family of table.families) {
    const column = familyColumn(table, family.settings.name);
    encoder.add(m, column, TYPE_DELETE_FAMILY, EMPTY);
  }
}

/** Throws IllegalArgumentException for a delete that names what nobody reads, or a text where a list belongs. */
export function checkDeleteSpec(spec: DeleteSpec): void {
  checkOptionNames(spec, DELETE_MEMBERS, 'delete');
  for (const member of DELETE_LISTS) {
    if (spec[member] !== undefined) requireArray(spec[member], `${member} of delete`);
  }
}

function familyColumn(table: TableState, name: string): ResolvedColumn {
  const familyIndex = table.familyIndex(name);
  const familyBytes = table.families[familyIndex]!.settings.nameBytes;
  return { familyIndex, familyBytes, qualifier: EMPTY };
}

/** True when a delete has to read before it can be written: a single version without timestamp. */
export function needsNewest(spec: DeleteSpec | undefined): boolean {
  return (spec?.versions?.length ?? 0) > 0 && spec?.ts === undefined;
}
