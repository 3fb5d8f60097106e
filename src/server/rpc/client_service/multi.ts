/**
 * Batches: MultiRequest { 1 regionAction · 2 nonceGroup · 3 condition } → MultiResponse { 1 regionActionResult · 2 processed ·
 * 3 regionStatistics }.
 *
 *     RegionAction        1 region · 2 atomic · 3 action · 4 condition
 *     Action              1 index · 2 mutation · 3 get · 4 service_call
 *     RegionActionResult  1 resultOrException · 2 exception · 3 processed
 *     ResultOrException   1 index · 2 result · 3 exception · 4 service_result
 *
 * Actions of a region fail one by one, those of an atomic one together. Writes that nothing holds up are committed as they
 * are read and share one wait for the read point; the answer is written when everything is done, so that its cell block has
 * the order of its messages.
 */
import { equalBytes } from '../../../cell/index.ts';
import type {
  ByteCondition,
  ByteMutation,
  RegionServer,
  RowAnswer,
} from '../../../engine/index.ts';
import type { Result } from '../../../model/index.ts';
import {
  CellBlock,
  ProtoReader,
  ProtoWriter,
  ResultWriter,
  readCondition,
  readGet,
  readMutation,
  skipMutation,
} from '../../../wire/index.ts';
import { RemoteException, exceptionOf } from '../exceptions.ts';
import type { RpcAnswer, RpcCall } from '../service.ts';
import type { Endpoints } from './endpoints.ts';
import { writeGetResult } from './get.ts';
import type { Gets } from './get.ts';
import { checkMutation, checkSameRow, isEmptyPut } from './mutate.ts';
import type { Mutates, NonceGroup } from './mutate.ts';
import { checkRowInRegion, isStoreRegion } from './regions.ts';
import type { FoundRegion, RegionFinder } from './regions.ts';
import type { SystemRegion } from '../service.ts';

/** HBase: hbase.server.scanner.max.result.size. Gets behind it are left to the client's next batch. */
const ANSWER_BYTES_MAX: number = 100 * 1024 * 1024;

/** What became of one action. */
interface Outcome {
  readonly index: number;
  error: unknown;
  /** Of a get, increment or append; undefined for a put or delete, whose result is empty. */
  result: Result | null | undefined;
  existenceOnly: boolean;
  /** Answer of a service call: a CoprocessorServiceResult. */
  serviceResult: Uint8Array | null;
}

/** What became of one region's actions. */
interface RegionOutcome {
  readonly actions: readonly Outcome[];
  error: unknown;
  /** Of an atomic one. */
  processed: boolean | null;
}

/** A batch while it runs. */
interface Batch {
  readonly call: RpcCall;
  readonly block: CellBlock;
  readonly group: NonceGroup;
  /** The millisecond that its operations share. */
  readonly batchMs: number;
  /** What it has to wait for. */
  readonly pending: Promise<void>[];
  /** Something was committed whose read point is still to be waited for. */
  hasCommitted: boolean;
  /** Bytes of cells that gets have found so far. */
  bytes: number;
}

export class Multi {
  readonly #engine: RegionServer;
  readonly #regions: RegionFinder;
  readonly #gets: Gets;
  readonly #mutates: Mutates;
  readonly #endpoints: Endpoints;

  constructor(parts: {
    readonly engine: RegionServer;
    readonly regions: RegionFinder;
    readonly gets: Gets;
    readonly mutates: Mutates;
    readonly endpoints: Endpoints;
  }) {
    this.#engine = parts.engine;
    this.#regions = parts.regions;
    this.#gets = parts.gets;
    this.#mutates = parts.mutates;
    this.#endpoints = parts.endpoints;
  }

  multi(call: RpcCall): Promise<RpcAnswer> | RpcAnswer {
    const reader = new ProtoReader(call.param);
    const regionActions: ProtoReader[] = [];
    const group = { high: 0, low: 0 };
    let condition: ByteCondition | null = null;
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          regionActions.push(reader.message());
          break;
        case 2:
          reader.uint64();
          group.high = reader.high;
          group.low = reader.low;
          break;
        case 3:
          condition = readCondition(reader.message());
          break;
        default:
          reader.skip();
      }
    }
    this.#engine.checkOpen();
    const batch: Batch = {
      call,
      block: new CellBlock(call.cells),
      group,
      batchMs: this.#engine.reads.clock.followedMs(),
      pending: [],
      hasCommitted: false,
      bytes: 0,
    };
    const outcomes = regionActions.map((action) => this.#regionAction(batch, action, condition));
    return this.#settled(batch, outcomes).then(() => multiAnswer(call, outcomes));
  }

  async #settled(batch: Batch, outcomes: readonly RegionOutcome[]): Promise<void> {
    if (batch.hasCommitted) {
      const { readPoint } = this.#engine;
      const { appliedHigh, appliedLow } = readPoint;
      try {
        await readPoint.whenPassed(appliedHigh, appliedLow, undefined);
      } catch (error) {
        for (const { actions } of outcomes) {
          for (const action of actions) if (action.result === undefined) action.error ??= error;
        }
      }
    }
    await Promise.all(batch.pending);
  }

  #regionAction(
    batch: Batch,
    reader: ProtoReader,
    batchCondition: ByteCondition | null,
  ): RegionOutcome {
    const actions: ProtoReader[] = [];
    let region: ProtoReader | null = null;
    let condition = batchCondition;
    let isAtomic = false;
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          region = reader.message();
          break;
        case 2:
          isAtomic = reader.bool();
          break;
        case 3:
          actions.push(reader.message());
          break;
        case 4:
          condition = readCondition(reader.message());
          break;
        default:
          reader.skip();
      }
    }
    let found: FoundRegion | SystemRegion;
    try {
      if (region === null) throw new RemoteException('DoNotRetryIOException', 'no region is named');
      found = this.#regions.find(region);
    } catch (error) {
      skipActions(batch, actions);
      return { actions: [], error, processed: null };
    }
    if (isAtomic || condition !== null) return this.#atomic(batch, found, actions, condition);
    const outcomes = actions.map((action) => this.#action(batch, found, action));
    return { actions: outcomes, error: null, processed: null };
  }

  #action(batch: Batch, found: FoundRegion | SystemRegion, reader: ProtoReader): Outcome {
    const { index, mutation, get, serviceCall } = readAction(reader);
    const outcome: Outcome = {
      index,
      error: null,
      result: undefined,
      existenceOnly: false,
      serviceResult: null,
    };
    try {
      if (mutation !== null) {
        const change = readActionMutation(mutation, batch);
        this.#mutate(batch, storeRegion(found), change, outcome);
      } else if (get !== null) this.#get(batch, found, get, outcome);
      else if (serviceCall !== null) this.#service(batch, storeRegion(found), serviceCall, outcome);
      else throw new RemoteException('DoNotRetryIOException', 'Error: no action');
    } catch (error) {
      outcome.error = error;
    }
    return outcome;
  }

  #mutate(batch: Batch, found: FoundRegion, mutation: ByteMutation, outcome: Outcome): void {
    checkMutation(mutation, found);
    if (isEmptyPut(mutation)) return;
    const { rows } = this.#mutates;
    if (rows.isBlind(mutation)) {
      if (this.#mutates.writeNow(found, mutation, batch.batchMs) !== null) {
        batch.hasCommitted = true;
        return;
      }
      const written = rows.write(found.table, mutation).then(() => undefined);
      batch.pending.push(written.catch((error: unknown) => void (outcome.error = error)));
      return;
    }
    const answered = rows
      .mutateRow(found.table, [mutation], null, batch.batchMs)
      .then(({ result }) => void (outcome.result = answerOf(mutation, result)));
    batch.pending.push(answered.catch((error: unknown) => void (outcome.error = error)));
  }

  #get(
    batch: Batch,
    found: FoundRegion | SystemRegion,
    reader: ProtoReader,
    outcome: Outcome,
  ): void {
    if (batch.bytes > ANSWER_BYTES_MAX) {
      throw new RemoteException(
        'MultiActionResultTooLarge',
        `Max size exceeded CellSize: ${batch.bytes}`,
      );
    }
    const get = readGet(reader);
    outcome.existenceOnly = get.existenceOnly;
    const result = this.#gets.read(found, get, batch.call.peer);
    if (!(result instanceof Promise)) {
      outcome.result = result;
      batch.bytes += result === null ? 0 : result.packed.length;
      return;
    }
    outcome.result = null;
    const answered = result.then((value) => {
      outcome.result = value;
      batch.bytes += value === null ? 0 : value.packed.length;
    });
    batch.pending.push(answered.catch((error: unknown) => void (outcome.error = error)));
  }

  #service(batch: Batch, found: FoundRegion, reader: ProtoReader, outcome: Outcome): void {
    const answered = this.#endpoints
      .run(found, reader)
      .then((result) => void (outcome.serviceResult = result.serviceResult()));
    batch.pending.push(answered.catch((error: unknown) => void (outcome.error = error)));
  }

  /** All mutations or none; in the error case the region's outcome is the error alone. */
  #atomic(
    batch: Batch,
    found: FoundRegion | SystemRegion,
    readers: readonly ProtoReader[],
    condition: ByteCondition | null,
  ): RegionOutcome {
    const actions: Outcome[] = [];
    const outcome: RegionOutcome = { actions, error: null, processed: null };
    const mutations: ByteMutation[] = [];
    for (const [index, reader] of readers.entries()) {
      try {
        const { mutation } = readAction(reader);
        if (mutation === null) {
          throw new RemoteException(
            'DoNotRetryIOException',
            'Atomic put and/or delete only, not Get=1',
          );
        }
        mutations.push(readActionMutation(mutation, batch));
      } catch (error) {
        outcome.error ??= error;
      }
      actions.push({
        index,
        error: null,
        result: undefined,
        existenceOnly: false,
        serviceResult: null,
      });
    }
    if (outcome.error !== null) return outcome;
    const changed = this.#change(found, mutations, condition).then(({ processed, result }) => {
      outcome.processed = processed;
      const first = actions[0];
      // The new cells of all increments and appends are the first action's; clients merge what they get.
      if (first !== undefined && result !== null) first.result = result;
    });
    batch.pending.push(changed.catch((error: unknown) => void (outcome.error = error)));
    return outcome;
  }

  async #change(
    found: FoundRegion | SystemRegion,
    mutations: readonly ByteMutation[],
    condition: ByteCondition | null,
  ): Promise<RowAnswer> {
    const region = storeRegion(found);
    const { rows } = this.#mutates;
    const first = mutations[0];
    if (first === undefined) return { processed: true, result: null };
    if (condition !== null) {
      checkRowInRegion(condition.row, region, 'checkAndMutate');
      for (const mutation of mutations) checkSameRow(condition, mutation);
    } else for (const mutation of mutations) checkMutation(mutation, region);
    const isOneRow = mutations.every(({ row }) => equalBytes(row, first.row));
    return isOneRow
      ? rows.mutateRow(region.table, mutations, condition)
      : rows.mutateRows(region.table, mutations, condition === null ? [] : [condition]);
  }
}

function storeRegion(found: FoundRegion | SystemRegion): FoundRegion {
  if (isStoreRegion(found)) return found;
  throw new RemoteException('DoNotRetryIOException', `Table ${found.table} is read only`);
}

/** What an increment or append answers; a delete that had to read first answers as any other. */
function answerOf(mutation: ByteMutation, result: Result | null): Result | null | undefined {
  return mutation.type <= 1 ? result : undefined;
}

interface ActionFields {
  readonly index: number;
  readonly mutation: ProtoReader | null;
  readonly get: ProtoReader | null;
  readonly serviceCall: ProtoReader | null;
}

function readAction(reader: ProtoReader): ActionFields {
  let index = 0;
  let mutation: ProtoReader | null = null;
  let get: ProtoReader | null = null;
  let serviceCall: ProtoReader | null = null;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        index = reader.uint32();
        break;
      case 2:
        mutation = reader.message();
        break;
      case 3:
        get = reader.message();
        break;
      case 4:
        serviceCall = reader.message();
        break;
      default:
        reader.skip();
    }
  }
  return { index, mutation, get, serviceCall };
}

/** Reads the mutation; if it is refused its cells are passed over, so that the next finds its own. */
function readActionMutation(reader: ProtoReader, batch: Batch): ByteMutation {
  const { buf, at, end } = reader;
  const { block } = batch;
  const blockAt = block.at;
  try {
    return readMutation(reader, block, batch.group);
  } catch (error) {
    if (block.at === blockAt && !block.isAbsent) skipMutation(new ProtoReader(buf, at, end), block);
    throw error;
  }
}

function skipActions({ block }: Batch, actions: readonly ProtoReader[]): void {
  if (block.isAbsent) return;
  for (const action of actions) {
    const { mutation } = readAction(action);
    if (mutation !== null) skipMutation(mutation, block);
  }
}

function multiAnswer(call: RpcCall, outcomes: readonly RegionOutcome[]): RpcAnswer {
  const writer = new ProtoWriter(1024);
  const results = new ResultWriter(writer, call.peer);
  let processed: boolean | null = null;
  for (const outcome of outcomes) {
    const mark = writer.begin(1);
    if (outcome.error !== null) writeException(writer, 2, outcome.error);
    else {
      for (const action of outcome.actions) writeOutcome(results, action, outcome.processed);
      if (outcome.processed !== null) {
        writer.bool(3, outcome.processed);
        processed = outcome.processed;
      }
    }
    writer.end(mark);
  }
  if (processed !== null) writer.bool(2, processed);
  return { message: writer.take(), cells: results.cells };
}

function writeOutcome(results: ResultWriter, action: Outcome, processed: boolean | null): void {
  const { writer } = results;
  const mark = writer.begin(1);
  writer.uint32(1, action.index);
  if (action.error !== null) writeException(writer, 3, action.error);
  else if (action.serviceResult !== null) writer.bytes(4, action.serviceResult);
  else if (action.result !== undefined) {
    const result = writer.begin(2);
    writeGetResult(results, action.result, action.existenceOnly);
    writer.end(result);
  } else if (processed !== false) writer.empty(2);
  writer.end(mark);
}

/** A NameBytesPair of the class and the text. */
function writeException(writer: ProtoWriter, field: number, error: unknown): void {
  const { className, stackTrace } = exceptionOf(error);
  const mark = writer.begin(field);
  writer.string(1, className);
  writer.bytes(2, Buffer.from(stackTrace, 'utf8'));
  writer.end(mark);
}
