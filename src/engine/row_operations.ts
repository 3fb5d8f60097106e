/**
 * Operations that read the row before they write it: increment, append, deletes of "the newest version", row mutations,
 * and conditions. Each runs under the row's lock and reads the newest applied state, synced or not; its answer waits for
 * the read point (row_writer.ts). Rules: protocol/semantics.md sections 8, 9 and 11.
 */
import {
  TYPE_PUT,
  compareBytes,
  compareRanges,
  equalBytes,
  putU32,
  putU64,
  toStringBinary,
  u32,
  u64,
} from '../cell/index.ts';
import {
  DoNotRetryIOException,
  WrongRowIOException,
  IllegalArgumentException,
  PACKED_CELL_HEADER,
  PlainIOException,
  Result,
  checkOptionNames,
  isCompareOperator,
  normalizeRead,
  requireArray,
  requireObject,
  shown,
  toRow,
  toTimeRange,
  toValueBytes,
} from '../model/index.ts';
import type {
  Bytes,
  CheckAndMutateResult,
  ColumnCondition,
  CompareOperator,
  Condition,
  FilterCondition,
  IncrementOptions,
  Mutation,
  MutationResult,
  Operation,
  TimeRangeSpec,
  Value,
} from '../model/index.ts';
import type { MutationBuffer, Region } from '../region/index.ts';
import type { CellEncoder } from './encode.ts';
import {
  checkDeleteSpec,
  encodeDelete,
  encodePut,
  needsNewest,
  toCellTimestamp,
  toTtlMs,
} from './encode.ts';
import { highOf, lowOf } from './read_point.ts';
import type { NewestCell, Reads } from './reads.ts';
import type { Prepared } from './row_writer.ts';
import type { Steps } from './steps.ts';
import type { TableState } from './table_state.ts';

const OPERATION_OPTIONS: ReadonlySet<string> = new Set([
  'ts',
  'ttl',
  'durability',
  'nonce',
  'returnResults',
  'timeRange',
]);

/** Where a new cell lies in the commit's buffer. */
export interface NewCell {
  readonly familyIndex: number;
  readonly at: number;
  readonly length: number;
}

/** What the mutations of one row are made with. */
export interface RowContext {
  readonly table: TableState;
  readonly region: Region;
  readonly row: Uint8Array;
  readonly buffer: MutationBuffer;
  readonly encoder: CellEncoder;
  readonly reads: Reads;
  /** Newest timestamp read by a condition: LATEST cells are not stamped below it. */
  floorHigh: number;
  floorLow: number;
  /** New cells that the caller gets. */
  readonly returned: NewCell[];
}

const OPERATION_MEMBERS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['put', new Set(['put', 'values', 'options'])],
  ['delete', new Set(['delete', 'spec'])],
  ['increment', new Set(['increment', 'amounts', 'options'])],
  ['append', new Set(['append', 'values', 'options'])],
  ['get', new Set(['get', 'options'])],
  ['mutateRow', new Set(['mutateRow', 'mutations'])],
  ['checkAndMutate', new Set(['checkAndMutate', 'condition', 'action'])],
]);

/** Refuses what is no operation of a batch, and members that nobody reads. Throws IllegalArgumentException. */
export function checkOperation(operation: Operation): void {
  requireObject(operation, 'An operation');
  for (const [kind, members] of OPERATION_MEMBERS) {
    if (!(kind in operation)) continue;
    checkOptionNames(operation, members, `the operation ${kind}`);
    return;
  }
  throw new IllegalArgumentException(
    `An operation needs one of ${[...OPERATION_MEMBERS.keys()].join(', ')}`,
  );
}

/** Refuses an empty list of mutations and what is no mutation in it. Throws IllegalArgumentException. */
export function checkMutations(mutations: readonly Mutation[]): void {
  requireArray(mutations, 'mutations');
  if (mutations.length === 0) throw new IllegalArgumentException('No mutations');
  for (const mutation of mutations) {
    requireObject(mutation, 'A mutation');
    checkOperation(mutation);
    if ('get' in mutation || 'mutateRow' in mutation || 'checkAndMutate' in mutation) {
      throw new IllegalArgumentException('A mutation needs one of put, delete, increment, append');
    }
  }
}

/** The row that a checked mutation names. Throws IllegalArgumentException. */
export function rowOf(mutation: Mutation): Uint8Array {
  if ('put' in mutation) return toRow(mutation.put);
  if ('delete' in mutation) return toRow(mutation.delete);
  if ('increment' in mutation) return toRow(mutation.increment);
  return toRow(mutation.append);
}

/** Whether the mutation has to read the row. */
export function readsRow(mutation: Mutation): boolean {
  return (
    'increment' in mutation ||
    'append' in mutation ||
    ('delete' in mutation && needsNewest(mutation.spec))
  );
}

/** Adds the cells of one mutation. True when its keys are distinct. */
export function* prepareMutation(context: RowContext, mutation: Mutation): Steps<boolean> {
  const { buffer, encoder, table, row } = context;
  // Only puts are kept from standing behind what the condition saw (HBase: HRegion#checkAndMutateInternal).
  encoder.floor(0, 0);
  if ('put' in mutation) {
    encoder.floor(context.floorHigh, context.floorLow);
    const before = buffer.count;
    const distinct = encodePut(encoder, buffer, table, row, mutation.values, mutation.options);
    return distinct && before === 0;
  }
  if ('delete' in mutation) {
    const newest = yield* newestVersions(context, mutation.spec);
    encodeDelete(encoder, buffer, table, row, mutation.spec, (index) => newest[index] ?? null);
    return false;
  }
  if ('increment' in mutation) yield* prepareIncrement(context, mutation.amounts, mutation.options);
  else yield* prepareAppend(context, mutation.values, mutation.options);
  return buffer.count <= 1;
}

type DeleteMutation = Extract<Mutation, { readonly delete: Bytes }>;

/** The newest timestamp of each column in `spec.versions`, in their order; null: it has no version. */
function* newestVersions(
  context: RowContext,
  spec: DeleteMutation['spec'],
): Steps<(bigint | null)[]> {
  const newest: (bigint | null)[] = [];
  if (!needsNewest(spec)) return newest;
  if (spec !== undefined) checkDeleteSpec(spec);
  for (const name of spec?.versions ?? []) {
    const column = context.table.column(name);
    const cell = yield* context.reads.newestCell(
      context.region,
      context.row,
      column,
      toTimeRange(undefined, 'timeRange'),
    );
    newest.push(cell === null ? null : (BigInt(cell.tsHigh) << 32n) | BigInt(cell.tsLow));
  }
  return newest;
}

function* prepareIncrement(
  context: RowContext,
  amounts: Readonly<Record<string, bigint | number>>,
  options: IncrementOptions | undefined,
): Steps<void> {
  requireObject(amounts, 'Amounts of increment');
  yield* prepareColumns(context, Object.entries(amounts), options, 'increment', (old, amount) => {
    const value = Buffer.allocUnsafe(8);
    putU64(value, 0, BigInt.asUintN(64, incremented(old, amount)));
    return value;
  });
}

/** A counter's value and an amount together, as a signed 64-bit number. Throws DoNotRetryIOException, IllegalArgumentException. */
export function incremented(old: Uint8Array | null, amount: bigint | number): bigint {
  const by = toAmount(amount);
  if (old !== null && old.length !== 8) {
    throw new DoNotRetryIOException(`Field is not a long, it's ${old.length} bytes wide`);
  }
  return BigInt.asIntN(64, (old === null ? 0n : u64(old, 0)) + by);
}

function* prepareAppend(
  context: RowContext,
  values: Readonly<Record<string, Value>>,
  options: IncrementOptions | undefined,
): Steps<void> {
  requireObject(values, 'Values of append');
  yield* prepareColumns(context, Object.entries(values), options, 'append', (old, added) => {
    const bytes = toValueBytes(added, 'An appended value');
    return old === null ? bytes : Buffer.concat([old, bytes]);
  });
}

/** Reads each column's newest cell and writes the value that `change` makes of it. */
function* prepareColumns<V>(
  context: RowContext,
  columns: readonly (readonly [string, V])[],
  options: IncrementOptions | undefined,
  operation: string,
  change: (old: Uint8Array | null, by: V) => Uint8Array,
): Steps<void> {
  if (options !== undefined) checkOptionNames(options, OPERATION_OPTIONS, operation);
  if (columns.length === 0) throw new IllegalArgumentException(`No columns to ${operation}`);
  const { buffer, encoder, row } = context;
  const timeRange: TimeRangeSpec = toTimeRange(options?.timeRange, 'timeRange');
  const ts = toCellTimestamp(options?.ts);
  const ttlMs = toTtlMs(options?.ttl);
  const cells: NewCell[] = [];
  for (const [name, by] of columns) {
    const column = context.table.column(name);
    const old = yield* context.reads.newestCell(context.region, context.row, column, timeRange);
    const value = change(old === null ? null : old.value, by);
    encoder.limit(context.table.settings.maxCellSizeBytes);
    encoder.begin(row, ts, ttlMs > 0 ? ttlMs : (old?.ttlMs ?? 0));
    setFloor(context, old);
    encoder.add(buffer, column, TYPE_PUT, value);
    const last = buffer.count - 1;
    const { familyIndex } = column;
    cells.push({ familyIndex, at: buffer.at[last]!, length: buffer.length[last]! });
  }
  if (options?.returnResults === false) return;
  cells.sort((a, b) => compareNewCells(buffer.buf, a, b));
  context.returned.push(...cells);
}

/**
 * The new cell is newer than the one it was made from, also when that lies ahead of the clock (HBase: HRegion#reckonDelta,
 * `Math.max(currentCell.getTimestamp() + 1, now)`, seen with 2.6.3).
 */
export function setFloor(context: RowContext, old: NewestCell | null): void {
  if (old === null) {
    context.encoder.floor(0, 0);
    return;
  }
  const carries = old.tsLow === 0xffffffff;
  context.encoder.floor(old.tsHigh + (carries ? 1 : 0), carries ? 0 : old.tsLow + 1);
}

function toAmount(amount: bigint | number): bigint {
  const valid =
    typeof amount === 'bigint'
      ? BigInt.asIntN(64, amount) === amount
      : Number.isSafeInteger(amount);
  if (!valid) {
    throw new IllegalArgumentException(
      `an amount is a 64-bit bigint or a safe integer, not ${shown(amount)}`,
    );
  }
  return BigInt(amount);
}

/** Prepares mutations of one row as one commit. */
export function* prepareRow(
  context: RowContext,
  mutations: readonly Mutation[],
): Steps<Prepared<MutationResult>> {
  let distinct = true;
  for (const mutation of mutations) {
    if (!equalBytes(rowOf(mutation), context.row)) {
      throw new WrongRowIOException(
        `The row '${toStringBinary(rowOf(mutation))}' of a mutation does not match the row '${toStringBinary(context.row)}' of the call`,
      );
    }
    if (!(yield* prepareMutation(context, mutation))) distinct = false;
  }
  return {
    writes: true,
    distinct: distinct && mutations.length === 1,
    answer: (high, low) => ({
      tso: (BigInt(high) << 32n) | BigInt(low),
      result: resultOf(context, high, low),
    }),
  };
}

/**
 * The new cells of increments and appends, as HBase answers them: those of one mutation in key order, the mutations in the
 * order given. They are read where they were encoded: also a cell that a later mutation of the commit has replaced.
 */
export function resultOf(context: RowContext, high: number, low: number): Result | null {
  const { buffer, returned } = context;
  if (returned.length === 0) return null;
  let size = 0;
  for (const { length } of returned) size += PACKED_CELL_HEADER + length;
  const packed = Buffer.allocUnsafe(size);
  let at = 0;
  for (const cell of returned) {
    putU32(packed, at, cell.length);
    putU32(packed, at + 4, high);
    putU32(packed, at + 8, low);
    packed.set(buffer.buf.subarray(cell.at, cell.at + cell.length), at + PACKED_CELL_HEADER);
    at += PACKED_CELL_HEADER + cell.length;
  }
  return new Result(packed, 0, size, returned.length, false);
}

/** By column: the cells are of one row and not stamped yet, so their timestamps say nothing. */
export function compareNewCells(buf: Uint8Array, a: NewCell, b: NewCell): number {
  const byFamily = a.familyIndex - b.familyIndex;
  // Cells of one row. Without the timestamp, which may be LATEST still: 'a' comes before 'ab' whatever follows.
  const aLength = u32(buf, a.at) - 9;
  const bLength = u32(buf, b.at) - 9;
  return byFamily || compareRanges(buf, a.at + 8, aLength, buf, b.at + 8, bLength);
}

const COLUMN_CONDITION_MEMBERS: ReadonlySet<string> = new Set([
  'column',
  'operator',
  'value',
  'timeRange',
]);
const FILTER_CONDITION_MEMBERS: ReadonlySet<string> = new Set(['filter', 'timeRange']);

/** Refuses what is no condition. Throws IllegalArgumentException. */
export function checkConditionMembers(condition: Condition): void {
  requireObject(condition, 'A condition');
  const isFilter = 'filter' in condition;
  const members = isFilter ? FILTER_CONDITION_MEMBERS : COLUMN_CONDITION_MEMBERS;
  checkOptionNames(condition, members, 'a condition');
}

/** Evaluates a condition on the row, and keeps the timestamp it saw as the floor of what is put then. */
export function* checkCondition(context: RowContext, condition: Condition): Steps<boolean> {
  checkConditionMembers(condition);
  if ('filter' in condition) return yield* checkFilter(context, condition);
  const { operator, wanted } = comparisonOf(condition);
  const column = context.table.column(condition.column);
  const range = toTimeRange(condition.timeRange, 'timeRange');
  const cell = yield* context.reads.newestCell(context.region, context.row, column, range);
  if (cell !== null) {
    context.floorHigh = cell.tsHigh;
    context.floorLow = cell.tsLow;
  }
  return holds(operator, wanted, cell === null ? null : cell.value);
}

/** Whether the filter passes anything of the row. */
function* checkFilter(context: RowContext, condition: FilterCondition): Steps<boolean> {
  const { table, region, row, reads } = context;
  const result = yield* reads.appliedRow(table, region, row, normalizeRead(condition));
  if (result === null) return false;
  const { ts } = result.cells[0]!;
  context.floorHigh = highOf(ts);
  context.floorLow = lowOf(ts);
  return true;
}

/** A conditional change of one row as one commit. */
export function* prepareCheckAndMutate(
  context: RowContext,
  condition: Condition,
  mutations: readonly Mutation[],
): Steps<Prepared<CheckAndMutateResult>> {
  if (!(yield* checkCondition(context, condition))) {
    const answer = { processed: false, tso: null, result: null };
    return { writes: false, distinct: true, answer: () => answer };
  }
  const prepared = yield* prepareRow(context, mutations);
  return {
    ...prepared,
    answer: (high, low) => ({ processed: true, ...prepared.answer(high, low) }),
  };
}

/** Whether the condition holds for the newest cell's value, null for none. Throws IllegalArgumentException. */
export function conditionHolds(condition: ColumnCondition, stored: Uint8Array | null): boolean {
  checkConditionMembers(condition);
  const { operator, wanted } = comparisonOf(condition);
  return holds(operator, wanted, stored);
}

function comparisonOf(condition: ColumnCondition): {
  operator: CompareOperator;
  wanted: Uint8Array;
} {
  const operator = condition.operator ?? 'EQUAL';
  if (!isCompareOperator(operator)) {
    throw new IllegalArgumentException(`operator ${shown(operator)} is unknown`);
  }
  const wanted = condition.value === null ? new Uint8Array(0) : toValueBytes(condition.value);
  return { operator, wanted };
}

function holds(operator: CompareOperator, wanted: Uint8Array, stored: Uint8Array | null): boolean {
  const compare = (value: Uint8Array): number => compareBytes(wanted, value);
  return comparisonHolds(operator, wanted.length === 0 ? null : compare, stored);
}

/**
 * HBase: HRegion#checkAndMutateInternal. "value OP stored", `compare` giving the order of the value and what is stored; no
 * value (null) asks whether the column is absent or empty. Throws PlainIOException for NO_OP with a value (seen with 2.6.3).
 */
export function comparisonHolds(
  operator: CompareOperator,
  compare: ((stored: Uint8Array) => number) | null,
  stored: Uint8Array | null,
): boolean {
  if (compare === null) {
    const isAbsent = stored === null || stored.length === 0;
    return isAbsent === (operator !== 'NOT_EQUAL');
  }
  if (stored === null) return false;
  const order = compare(stored);
  switch (operator) {
    case 'LESS':
      return order < 0;
    case 'LESS_OR_EQUAL':
      return order <= 0;
    case 'EQUAL':
      return order === 0;
    case 'NOT_EQUAL':
      return order !== 0;
    case 'GREATER_OR_EQUAL':
      return order >= 0;
    case 'GREATER':
      return order > 0;
    case 'NO_OP':
      throw new PlainIOException('Unknown Compare op NO_OP');
  }
}
