/**
 * Runs mutations that come as KeyValues (byte_mutation.ts) with HBase's rules: what EmbeddedTable is for callers in
 * TypeScript, for those who come over the network. Rules: protocol/semantics.md sections 8, 9 and 11.
 */
import { TYPE_PUT, equalBytes, putU64, timestampAt, u16, u32, u64 } from '../cell/index.ts';
import type { Comparator } from '../filter/index.ts';
import {
  ALL_TIME,
  DoNotRetryIOException,
  READ_DEFAULT,
  WrongRegionException,
} from '../model/index.ts';
import type { CompareOperator, FilterMaker, Result, TimeRangeSpec } from '../model/index.ts';
import { toStringBinary } from '../cell/index.ts';
import type { MutationBuffer, Region } from '../region/index.ts';
import {
  MUTATE_APPEND,
  MUTATE_DELETE,
  MUTATE_INCREMENT,
  MUTATE_PUT,
  addCell,
  encodeCells,
  familyIndexAt,
  isNewestVersion,
  needsNewestVersion,
} from './byte_mutation.ts';
import type { ByteMutation } from './byte_mutation.ts';
import { CellEncoder } from './encode.ts';
import { commitOptionsOf } from './commit_options.ts';
import type { CommitOptions } from './commit_queue.ts';
import { joinHalves } from './read_point.ts';
import type { NewestCell } from './reads.ts';
import type { RegionServer } from './region_server.ts';
import { comparisonHolds, compareNewCells, resultOf, setFloor } from './row_operations.ts';
import type { NewCell, RowContext } from './row_operations.ts';
import type { Prepared, RowOperation } from './row_writer.ts';
import type { Steps } from './steps.ts';
import { durabilityNumber } from './table_state.ts';
import type { ResolvedColumn, TableState } from './table_state.ts';

/** What must hold for mutations to be made. */
export interface ByteCondition {
  readonly row: Uint8Array;
  /** A column's newest value compared; null: `filter` decides. */
  readonly comparison: ColumnComparison | null;
  /** Holds when it leaves anything of the row. */
  readonly filter: FilterMaker | null;
  readonly timeRange: TimeRangeSpec;
}

/** "value OP stored", the comparator giving the sign of (value - stored). */
export interface ColumnComparison {
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly operator: CompareOperator;
  readonly comparator: Comparator;
  /** There is nothing to compare with: whether the column is absent or empty is asked. */
  readonly isEmpty: boolean;
}

export interface RowAnswer {
  readonly processed: boolean;
  /** The new cells of increments and appends; null for none. */
  readonly result: Result | null;
}

const NO_FLOOR = { floorHigh: 0, floorLow: 0 };

export class ByteRows {
  readonly #server: RegionServer;
  readonly #byDefault: number;

  constructor(server: RegionServer) {
    this.#server = server;
    this.#byDefault = durabilityNumber(server.settings.durability);
  }

  /** Whether the mutation can be written without reading: a put, or a delete that says what. */
  isBlind(mutation: ByteMutation): boolean {
    return mutation.type > MUTATE_INCREMENT && !needsNewestVersion(mutation);
  }

  #options(
    table: TableState,
    buffer: MutationBuffer,
    wishes: { readonly durability: number; readonly nonce: Uint8Array | null },
    batchMs: number,
  ): CommitOptions {
    const { durability, nonce } = wishes;
    return commitOptionsOf(table, buffer, {
      durability,
      nonce,
      batchMs,
      byDefault: this.#byDefault,
    });
  }

  /** A blind mutation, as one commit. */
  write(table: TableState, mutation: ByteMutation): Promise<bigint> {
    this.#server.checkOpen();
    return this.#server.rows.write(
      table.name,
      mutation.row,
      (buffer, now) => encodeCells(buffer, now, mutation, NO_FLOOR),
      (now, buffer) =>
        this.#options(now, buffer, { durability: mutation.durability, nonce: null }, 0),
    );
  }

  /**
   * Commits a blind mutation now and gives its options; null if it would have to wait (then `write` it). Its TSO is the read
   * point's `applied`; the caller acknowledges it (`RowWriter#acknowledged`).
   */
  writeNow(table: TableState, mutation: ByteMutation, batchMs: number): CommitOptions | null {
    return this.#server.rows.writeNow(
      table.name,
      mutation.row,
      (buffer, now) => encodeCells(buffer, now, mutation, NO_FLOOR),
      (now, buffer) =>
        this.#options(now, buffer, { durability: mutation.durability, nonce: null }, batchMs),
    );
  }

  /** Mutations of one row, all or nothing, if the condition holds. */
  mutateRow(
    table: TableState,
    mutations: readonly ByteMutation[],
    condition: ByteCondition | null,
    batchMs: number = 0,
  ): Promise<RowAnswer> {
    this.#server.checkOpen();
    const { row } = mutations[0]!;
    const nonce = nonceOf(mutations);
    const operation = this.#operation(row, mutations, condition === null ? [] : [condition], {
      nonce,
      batchMs,
    });
    const run = (): Promise<RowAnswer> => this.#server.rows.run(table.name, operation);
    if (nonce === null) return run();
    return this.#server.nonces.once(nonce, run, async (tso) => ({
      processed: true,
      result: await this.#answerAgain(table, row, mutations, tso),
    }));
  }

  /** Mutations of rows of one region, all or nothing, if all conditions hold. Throws WrongRegionException. */
  async mutateRows(
    table: TableState,
    mutations: readonly ByteMutation[],
    conditions: readonly ByteCondition[],
  ): Promise<RowAnswer> {
    this.#server.checkOpen();
    const rows = [...mutations, ...conditions].map(({ row }) => row);
    const first = rows[0];
    if (first === undefined) return { processed: true, result: null };
    const wishes = { nonce: null, batchMs: 0 };
    return this.#server.rows.runRows(
      table.name,
      rows,
      this.#operation(first, mutations, conditions, wishes),
    );
  }

  #operation(
    row: Uint8Array,
    mutations: readonly ByteMutation[],
    conditions: readonly ByteCondition[],
    wishes: { readonly nonce: Uint8Array | null; readonly batchMs: number },
  ): RowOperation<RowAnswer> {
    const { reads } = this.#server;
    const durability = mutations.reduce((most, one) => Math.max(most, one.durability), 0);
    return {
      row,
      // HBase's clients know no TSOs.
      hidesStamp: true,
      prepare: (table, region, buffer) =>
        prepare(
          {
            table,
            region,
            row,
            buffer,
            encoder: new CellEncoder(),
            reads,
            floorHigh: 0,
            floorLow: 0,
            returned: [],
          },
          mutations,
          conditions,
        ),
      options: (table, buffer) =>
        this.#options(table, buffer, { durability, nonce: wishes.nonce }, wishes.batchMs),
    };
  }

  /** What a repeated increment or append answers: its columns as of its commit. */
  async #answerAgain(
    table: TableState,
    row: Uint8Array,
    mutations: readonly ByteMutation[],
    tso: bigint,
  ): Promise<Result | null> {
    await this.#server.rows.acknowledged(tso);
    const columns: [string, Uint8Array][] = [];
    for (const mutation of mutations) {
      if (mutation.type > MUTATE_INCREMENT || !mutation.returnResults) continue;
      const { cells, from, to } = mutation;
      for (let at = from; at < to; at += 4 + u32(cells, at)) {
        const { familyIndex, qualifier } = columnAt(table, cells, at + 4);
        columns.push([table.families[familyIndex]!.settings.name, qualifier]);
      }
    }
    if (columns.length === 0) return null;
    return this.#server.reads.get(table.name, row, { columns, asOf: tso });
  }
}

function nonceOf(mutations: readonly ByteMutation[]): Uint8Array | null {
  for (const { nonce } of mutations) if (nonce !== null) return nonce;
  return null;
}

function* prepare(
  context: RowContext,
  mutations: readonly ByteMutation[],
  conditions: readonly ByteCondition[],
): Steps<Prepared<RowAnswer>> {
  const { region, table } = context;
  for (const { row } of conditions) if (!region.contains(row)) throw outside(row, table, region);
  for (const { row } of mutations) if (!region.contains(row)) throw outside(row, table, region);
  for (const condition of conditions) {
    if (!(yield* holds(ofRow(context, condition.row), condition, context))) {
      const answer = { processed: false, result: null };
      return { writes: false, distinct: true, answer: () => answer };
    }
  }
  let distinct = true;
  for (const mutation of mutations) {
    if (!(yield* prepareMutation(ofRow(context, mutation.row), mutation))) distinct = false;
  }
  return {
    writes: context.buffer.count > 0,
    distinct: distinct && mutations.length === 1,
    answer: (high, low) => ({ processed: true, result: resultOf(context, high, low) }),
  };
}

function ofRow(context: RowContext, row: Uint8Array): RowContext {
  return equalBytes(row, context.row) ? context : { ...context, row };
}

/** Adds the cells of one mutation. True when its keys are distinct. */
function* prepareMutation(context: RowContext, mutation: ByteMutation): Steps<boolean> {
  const { buffer, table } = context;
  if (mutation.type === MUTATE_INCREMENT || mutation.type === MUTATE_APPEND) {
    yield* prepareColumns(context, mutation);
    return buffer.count <= 1;
  }
  if (mutation.type !== MUTATE_DELETE || !needsNewestVersion(mutation)) {
    // Only puts are kept from standing behind what the condition saw (HBase: HRegion#checkAndMutateInternal).
    return encodeCells(buffer, table, mutation, mutation.type === MUTATE_PUT ? context : NO_FLOOR);
  }
  const { cells, from, to } = mutation;
  const seen = new Map<string, number>();
  for (let at = from; at < to; at += 4 + u32(cells, at)) {
    const cellAt = at + 4;
    if (!isNewestVersion(cells, cellAt)) addCell(buffer, table, mutation, cellAt, NO_FLOOR);
    else yield* deleteNewest(context, mutation, cellAt, seen);
  }
  return false;
}

/**
 * A Delete of the newest version, of the second newest if the mutation names the column twice, and so on. Without such a
 * version the marker gets the commit's time (HBase: HRegion#prepareDeleteTimestamps).
 */
function* deleteNewest(
  context: RowContext,
  mutation: ByteMutation,
  cellAt: number,
  seen: Map<string, number>,
): Steps<void> {
  const { buffer, table } = context;
  const column = columnAt(table, mutation.cells, cellAt);
  const key = `${column.familyIndex}:${Buffer.from(column.qualifier).toString('latin1')}`;
  const count = (seen.get(key) ?? 0) + 1;
  seen.set(key, count);
  const timestamp = yield* versionTimestamp(context, column, count);
  const before = buffer.size;
  addCell(buffer, table, mutation, cellAt, NO_FLOOR);
  if (timestamp !== null) putU64(buffer.buf, timestampAt(buffer.buf, before), timestamp);
}

/** The timestamp of the `count`th newest version of a column; null if there is none. */
function* versionTimestamp(
  context: RowContext,
  column: ResolvedColumn,
  count: number,
): Steps<bigint | null> {
  const { table, region, row, reads } = context;
  if (count === 1) {
    const cell = yield* reads.newestCell(region, row, column, ALL_TIME);
    return cell === null ? null : (BigInt(cell.tsHigh) << 32n) | BigInt(cell.tsLow);
  }
  const family = table.families[column.familyIndex]!.settings.name;
  const result = yield* reads.appliedRow(table, region, row, {
    ...READ_DEFAULT,
    families: [{ family, qualifiers: [column.qualifier], timeRange: ALL_TIME }],
    versions: count,
  });
  return result?.cells[count - 1]?.ts ?? null;
}

/** Increments and appends: reads each column's newest cell and writes what the mutation makes of it. */
function* prepareColumns(context: RowContext, mutation: ByteMutation): Steps<void> {
  const { buffer, encoder, table, row } = context;
  const { cells, from, to, ttlMs } = mutation;
  if (from === to) throw new DoNotRetryIOException('No columns to increment or append');
  const added: NewCell[] = [];
  for (let at = from; at < to; at += 4 + u32(cells, at)) {
    const cellAt = at + 4;
    const column = columnAt(table, cells, cellAt);
    const old = yield* context.reads.newestCell(context.region, row, column, mutation.timeRange);
    const value = newValue(mutation, cellAt, old);
    const stampAt = timestampAt(cells, cellAt);
    encoder.limit(table.settings.maxCellSizeBytes);
    encoder.begin(row, old === null ? u64(cells, stampAt) : null, ttlMs || (old?.ttlMs ?? 0));
    setFloor(context, old);
    encoder.add(buffer, column, TYPE_PUT, value);
    const last = buffer.count - 1;
    const { familyIndex } = column;
    added.push({ familyIndex, at: buffer.at[last]!, length: buffer.length[last]! });
  }
  if (!mutation.returnResults) return;
  added.sort((a, b) => compareNewCells(buffer.buf, a, b));
  context.returned.push(...added);
}

function newValue(mutation: ByteMutation, cellAt: number, old: NewestCell | null): Uint8Array {
  const { cells } = mutation;
  const valueAt = cellAt + 8 + u32(cells, cellAt);
  const length = u32(cells, cellAt + 4);
  if (mutation.type === MUTATE_APPEND) {
    const value = cells.subarray(valueAt, valueAt + length);
    return old === null ? value : Buffer.concat([old.value, value]);
  }
  const wrong =
    length !== 8 ? length : old !== null && old.value.length !== 8 ? old.value.length : 8;
  if (wrong !== 8) throw new DoNotRetryIOException(`Field is not a long, it's ${wrong} bytes wide`);
  const sum = Buffer.allocUnsafe(8);
  const amount = u64(cells, valueAt);
  putU64(sum, 0, BigInt.asUintN(64, old === null ? amount : u64(old.value, 0) + amount));
  return sum;
}

function columnAt(table: TableState, cells: Uint8Array, at: number): ResolvedColumn {
  const familyIndex = familyIndexAt(table, cells, at);
  const rowEnd = at + 10 + u16(cells, at + 8);
  const qualifierAt = rowEnd + 1 + cells[rowEnd]!;
  return {
    familyIndex,
    familyBytes: table.families[familyIndex]!.settings.nameBytes,
    qualifier: cells.subarray(qualifierAt, timestampAt(cells, at)),
  };
}

/** Evaluates a condition and keeps the timestamp it saw as the floor of what is written then. */
function* holds(context: RowContext, condition: ByteCondition, floors: RowContext): Steps<boolean> {
  const { comparison, timeRange, filter } = condition;
  const { table, region, row, reads } = context;
  if (comparison === null) {
    const spec = { ...READ_DEFAULT, timeRange, filter };
    const result = yield* reads.appliedRow(table, region, row, spec);
    if (result !== null) raiseFloor(floors, result.cells[0]!.ts);
    return result !== null;
  }
  const familyIndex = table.familyIndex(comparison.family);
  const familyBytes = table.families[familyIndex]!.settings.nameBytes;
  const column = { familyIndex, familyBytes, qualifier: comparison.qualifier };
  const cell = yield* reads.newestCell(region, row, column, timeRange);
  if (cell !== null) raiseFloor(floors, joinHalves(cell.tsHigh, cell.tsLow));
  return matches(comparison, cell === null ? null : cell.value);
}

function raiseFloor(context: RowContext, timestamp: bigint): void {
  const high = Number(timestamp >> 32n);
  const low = Number(timestamp & 0xffffffffn);
  const isNewer =
    high > context.floorHigh || (high === context.floorHigh && low > context.floorLow);
  if (!isNewer) return;
  context.floorHigh = high;
  context.floorLow = low;
}

function matches(comparison: ColumnComparison, stored: Uint8Array | null): boolean {
  const { operator, comparator, isEmpty } = comparison;
  const compare = (value: Uint8Array): number => comparator.compare(value, 0, value.length);
  return comparisonHolds(operator, isEmpty ? null : compare, stored);
}

function outside(row: Uint8Array, table: TableState, region: Region): WrongRegionException {
  const range = `[${toStringBinary(region.startKey)}, ${toStringBinary(region.endKey)})`;
  return new WrongRegionException(
    `Requested row out of range for row lock on table ${table.name}, region ${region.encodedName} ${range}, row='${toStringBinary(row)}'`,
  );
}
