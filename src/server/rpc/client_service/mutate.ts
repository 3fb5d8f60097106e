/** Mutations: alone, with a condition, and the steps that batches share with them. */
import { equalBytes } from '../../../cell/index.ts';
import { ByteRows, MUTATE_DELETE, MUTATE_PUT } from '../../../engine/index.ts';
import type {
  ByteCondition,
  ByteMutation,
  RegionServer,
  RowAnswer,
} from '../../../engine/index.ts';
import {
  CellBlock,
  ProtoReader,
  ProtoWriter,
  ResultWriter,
  readCondition,
  readMutation,
} from '../../../wire/index.ts';
import { RemoteException } from '../exceptions.ts';
import type { RpcAnswer, RpcCall } from '../service.ts';
import { checkRowInRegion, checkRowOfBatch } from './regions.ts';
import type { FoundRegion, RegionFinder } from './regions.ts';

/** A 64-bit number in halves. */
export interface NonceGroup {
  readonly high: number;
  readonly low: number;
}

/** MutateResponse { 2 processed: true }. */
const PROCESSED: Uint8Array = Uint8Array.of(0x10, 1);

export class Mutates {
  readonly rows: ByteRows;
  readonly #engine: RegionServer;
  readonly #regions: RegionFinder;

  constructor(engine: RegionServer, regions: RegionFinder) {
    this.#engine = engine;
    this.#regions = regions;
    this.rows = new ByteRows(engine);
  }

  /** MutateRequest { 1 region · 2 mutation · 3 condition · 4 nonce_group } → MutateResponse { 1 result · 2 processed }. */
  mutate(call: RpcCall): Promise<RpcAnswer> | RpcAnswer {
    const reader = new ProtoReader(call.param);
    let found: FoundRegion | null = null;
    let mutationAt: ProtoReader | null = null;
    let condition: ByteCondition | null = null;
    const group = { high: 0, low: 0 };
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          found = this.#regions.store(reader.message());
          break;
        case 2:
          mutationAt = reader.message();
          break;
        case 3:
          condition = readCondition(reader.message());
          break;
        case 4:
          reader.uint64();
          group.high = reader.high;
          group.low = reader.low;
          break;
        default:
          reader.skip();
      }
    }
    if (found === null || mutationAt === null) {
      throw new RemoteException('DoNotRetryIOException', 'A mutate needs a region and a mutation');
    }
    const mutation = readMutation(mutationAt, new CellBlock(call.cells), group);
    return condition === null
      ? this.#unconditional(call, found, mutation)
      : this.#conditional(call, found, mutation, condition);
  }

  #unconditional(
    call: RpcCall,
    found: FoundRegion,
    mutation: ByteMutation,
  ): Promise<RpcAnswer> | RpcAnswer {
    checkMutation(mutation, found);
    if (isEmptyPut(mutation)) return { message: PROCESSED };
    if (!this.rows.isBlind(mutation)) {
      const isDelete = mutation.type === MUTATE_DELETE;
      return this.rows
        .mutateRow(found.table, [mutation], null)
        .then((answer) => (isDelete ? { message: PROCESSED } : mutateAnswer(call, answer, false)));
    }
    if (this.writeNow(found, mutation, 0) === null) {
      return this.rows.write(found.table, mutation).then(() => ({ message: PROCESSED }));
    }
    const { readPoint } = this.#engine;
    return readPoint.whenPassed(readPoint.appliedHigh, readPoint.appliedLow, {
      message: PROCESSED,
    });
  }

  #conditional(
    call: RpcCall,
    found: FoundRegion,
    mutation: ByteMutation,
    condition: ByteCondition,
  ): Promise<RpcAnswer> {
    checkRowInRegion(mutation.row, found, 'checkAndMutate');
    checkSameRow(condition, mutation);
    return this.rows
      .mutateRow(found.table, [mutation], condition)
      .then((answer) => mutateAnswer(call, answer, true));
  }

  /** Commits a blind mutation now, the read point's `applied` being its TSO; null if it would have to wait. */
  writeNow(found: FoundRegion, mutation: ByteMutation, batchMs: number): object | null {
    this.#engine.checkOpen();
    return this.rows.writeNow(found.table, mutation, batchMs);
  }
}

/** A put that says nothing: it is taken, and does nothing. */
export const isEmptyPut = (mutation: ByteMutation): boolean =>
  mutation.type === MUTATE_PUT && mutation.from === mutation.to;

/** Refuses a row outside of the region, as HBase does. */
export function checkMutation(mutation: ByteMutation, found: FoundRegion): void {
  if (mutation.type >= MUTATE_PUT) checkRowOfBatch(mutation.row, found);
  else checkRowInRegion(mutation.row, found, 'row lock');
}

/** Refuses a condition on another row. */
export function checkSameRow(condition: ByteCondition, mutation: ByteMutation): void {
  if (equalBytes(condition.row, mutation.row)) return;
  throw new RemoteException(
    'DoNotRetryIOException',
    'The row of the action does not match the row of the condition',
  );
}

function mutateAnswer(call: RpcCall, answer: RowAnswer, hasCondition: boolean): RpcAnswer {
  const writer = new ProtoWriter(64);
  const results = new ResultWriter(writer, call.peer);
  if (!hasCondition || answer.result !== null) results.message(1, answer.result);
  if (hasCondition) writer.bool(2, answer.processed);
  return { message: writer.take(), cells: results.cells };
}
