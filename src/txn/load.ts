/** Turns the operations of a load into cells: everything that is wrong with them is found here. */
import {
  BEFORE_LOW,
  LATEST_HIGH,
  LATEST_LOW,
  TYPE_DELETE,
  TYPE_DELETE_FAMILY_VERSION,
  keyValueFault,
  timestampAt,
  u32,
} from '../cell/index.ts';
import { CellEncoder, RowScratch, encodeDelete, encodePut, needsNewest } from '../engine/index.ts';
import type { RegionServer, TableState } from '../engine/index.ts';
import { TransactionException } from '../model/index.ts';
import type { LoadOperation, LoadOptions } from '../model/index.ts';
import { MutationBuffer } from '../region/index.ts';
import { badRequest } from './requests.ts';
import { BatchBuilder } from './staging.ts';

export interface LoadLimits {
  readonly bytesMax: number;
  readonly rowsMax: number;
}

/** A buffer that grew past this is given up. */
const KEPT_BYTES_MAX: number = 4 * 1024 * 1024;

/** Requests are encoded one after the other, each in one turn: they share a buffer, which does not grow anew each time. */
export class LoadBuffers {
  #mutation: MutationBuffer = new MutationBuffer();

  take(): MutationBuffer {
    if (this.#mutation.buf.length > KEPT_BYTES_MAX) this.#mutation = new MutationBuffer();
    return this.#mutation;
  }
}

/**
 * The cells of these operations. Throws TransactionException, TableNotFoundException, NoSuchColumnFamilyException and
 * whatever a put or delete of the like throws.
 */
export function encodeLoad(
  server: RegionServer,
  operations: readonly LoadOperation[],
  options: LoadOptions,
  limits: LoadLimits,
  buffers: LoadBuffers,
): BatchBuilder {
  requireList(operations);
  if (operations.length > limits.rowsMax) {
    throw new TransactionException(
      'REQUEST_TOO_LARGE',
      `a request of ${operations.length} rows is above txn_max_rows_per_request = ${limits.rowsMax}`,
    );
  }
  const encoder = new CellEncoder();
  const builder = new BatchBuilder(buffers.take());
  const rows = new RowScratch();
  const { mutation } = builder;
  let table: TableState | null = null;
  let tableName: string | null = null;
  for (let line = 0; line < operations.length; line++) {
    const operation = operations[line]!;
    const name = operation.table ?? options.table;
    if (name === undefined) throw badRequest(`operation ${line} names no table`);
    if (table === null || name !== tableName) {
      table = server.catalog.writable(name);
      tableName = name;
      builder.enter(table.id, familyIdsOf(table));
    }
    encodeOne(encoder, mutation, table, rows, operation);
    if (mutation.size > limits.bytesMax) throw tooLarge(limits);
  }
  builder.operations = operations.length;
  checkTimestamps(mutation);
  return builder;
}

const familyIdsOf = (table: TableState): number[] => table.families.map(({ id }) => id);

const tooLarge = ({ bytesMax }: LoadLimits): TransactionException =>
  new TransactionException(
    'REQUEST_TOO_LARGE',
    `a request of more than txn_max_request_bytes = ${bytesMax} bytes`,
  );

function requireList(operations: unknown): void {
  if (!Array.isArray(operations)) throw badRequest('operations must be a list');
}

function encodeOne(
  encoder: CellEncoder,
  mutation: MutationBuffer,
  table: TableState,
  rows: RowScratch,
  operation: LoadOperation,
): void {
  if ('put' in operation) {
    const { values, options } = operation;
    encodePut(encoder, mutation, table, rows.of(operation.put), values, options);
  } else if ('delete' in operation) {
    if (needsNewest(operation.spec)) {
      throw unsupported('a transaction deletes single versions only with ts');
    }
    encodeDelete(encoder, mutation, table, rows.of(operation.delete), operation.spec, () => null);
  } else {
    throw unsupported('a transaction loads puts and deletes');
  }
}

function unsupported(message: string): TransactionException {
  return new TransactionException('UNSUPPORTED_IN_TRANSACTION', message);
}

/** 2^63-2 is taken: it stands for the millisecond before the commit's. */
function checkTimestamps({ buf, at, count }: MutationBuffer): void {
  for (let i = 0; i < count; i++) {
    const stampAt = timestampAt(buf, at[i]!);
    if (u32(buf, stampAt) !== LATEST_HIGH || u32(buf, stampAt + 4) !== BEFORE_LOW) continue;
    throw badRequest('timestamps of a transaction are below 2^63-2');
  }
}

/** KeyValues, each behind its u32 length, of one table: the binary form of a load. Throws as `encodeLoad`. */
export function encodeCells(
  server: RegionServer,
  block: Uint8Array,
  tableName: string,
  limits: LoadLimits,
  buffers: LoadBuffers,
): BatchBuilder {
  const table = server.catalog.writable(tableName);
  const builder = new BatchBuilder(buffers.take());
  const { mutation } = builder;
  builder.enter(table.id, familyIdsOf(table));
  for (const { at, length, familyIndex } of cellsOfBlock(block, table)) {
    mutation.addKeyValue(familyIndex, block, at, length);
    const stampAt = timestampAt(mutation.buf, mutation.at[mutation.count - 1]!);
    const isLatest =
      u32(mutation.buf, stampAt) === LATEST_HIGH && u32(mutation.buf, stampAt + 4) === LATEST_LOW;
    const type = mutation.buf[stampAt + 8]!;
    if (isLatest && (type === TYPE_DELETE || type === TYPE_DELETE_FAMILY_VERSION)) {
      throw unsupported('markers of one version have a timestamp of their own');
    }
  }
  checkTimestamps(mutation);
  if (mutation.size > limits.bytesMax) throw tooLarge(limits);
  builder.operations = mutation.count;
  return builder;
}

function* cellsOfBlock(
  block: Uint8Array,
  table: TableState,
): Generator<{ at: number; length: number; familyIndex: number }> {
  const byName = new Map(table.families.map(({ settings }, i) => [settings.name, i]));
  for (let at = 0; at < block.length;) {
    const length = at + 4 <= block.length ? u32(block, at) : 0;
    const fault = keyValueFault(block, at + 4, length);
    if (fault !== null) throw new TransactionException('BAD_LINE', `at byte ${at}: ${fault}`);
    const rowLength = (block[at + 12]! << 8) | block[at + 13]!;
    const familyAt = at + 14 + rowLength;
    const name = Buffer.from(block.subarray(familyAt + 1, familyAt + 1 + block[familyAt]!));
    const familyIndex = byName.get(name.toString('latin1')) ?? table.familyIndex(name.toString());
    yield { at: at + 4, length, familyIndex };
    at += 4 + length;
  }
}
