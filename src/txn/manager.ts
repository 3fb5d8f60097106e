/**
 * The transactions of one server: the verbs, exactly as the table of transactions.md section 3 has them.
 *
 * What is OPEN lives in memory; PREPARED, decisions and aborts are commits of the ledger (ledger.ts). Verbs on one label
 * run one after the other; a state changes in the very step of its commit, which looks at the state once more. So whoever
 * is first in the commit queue wins, and nobody holds anything while he waits.
 */
import { EmbeddedTable, hiddenName, joinHalves } from '../engine/index.ts';
import type { RegionServer } from '../engine/index.ts';
import { StoreException } from '../io/index.ts';
import { TransactionException } from '../model/index.ts';
import type {
  AbortReason,
  CommitRequestOptions,
  FenceAnswer,
  LoadOperation,
  LoadOptions,
  LoadResult,
  PrepareOptions,
  RollbackAnswer,
  RollbackOptions,
  TransactionAnswer,
  TransactionFilter,
  TransactionName,
  TransactionOptions,
  TransactionStatus,
  Transactions,
} from '../model/index.ts';
import { Adopter } from './adoption.ts';
import type { AdoptedName, Adoption } from './adoption.ts';
import { digestOf } from './cells.ts';
import { clockMs } from './commit_step.ts';
import { Decider } from './decider.ts';
import { refusalOf } from './errors.ts';
import { Expiry } from './expiry.ts';
import { Fences } from './fences.ts';
import { foldBatches } from './fold.ts';
import { KeyedQueue } from './keyed_queue.ts';
import { changeTransactionKnob, checkTransactionKnobs } from './knobs.ts';
import type { TransactionKnobs } from './knobs.ts';
import { LEDGER_TABLE, Ledger } from './ledger.ts';
import type { LedgerRecord } from './ledger.ts';
import { LoadBuffers, encodeCells, encodeLoad } from './load.ts';
import { TransactionMetrics } from './metrics.ts';
import { Registry, keyOf } from './registry.ts';
import { asBadRequest, badRequest, checkBegin, checkLabel, checkSeq } from './requests.ts';
import { SharedMemory, crcOfBatch } from './staging.ts';
import type { BatchBuilder } from './staging.ts';
import { Stager } from './stager.ts';
import { Txn, statusOfRecord } from './txn.ts';

/** The rows of snapshot transactions are kept in memory until they are decided. */
const SNAPSHOT_BYTES_MAX: number = 16 * 1024 * 1024;

export interface ManagerOptions {
  readonly knobs?: Partial<TransactionKnobs>;
}

export class TransactionManager implements Transactions {
  readonly server: RegionServer;
  readonly serverId: string;
  readonly metrics: TransactionMetrics = new TransactionMetrics();
  readonly ledger: Ledger;
  readonly registry: Registry;
  readonly decider: Decider;
  readonly expiry: Expiry;
  readonly #adopter: Adopter;
  readonly #fences: Fences;
  readonly #stager: Stager;
  readonly #queue: KeyedQueue = new KeyedQueue();
  readonly #memory: SharedMemory = new SharedMemory();
  readonly #buffers: LoadBuffers = new LoadBuffers();
  #knobs: TransactionKnobs;

  private constructor(server: RegionServer, knobs: TransactionKnobs) {
    this.server = server;
    this.serverId = server.manifest.store.serverId;
    this.#knobs = knobs;
    this.ledger = new Ledger(server, new EmbeddedTable(server, hiddenName(LEDGER_TABLE)));
    this.registry = new Registry(server, this.ledger);
    const memory = this.#memory;
    this.#stager = new Stager({ server, ledger: this.ledger, memory, knobs: () => this.#knobs });
    const parts = {
      memory,
      server,
      ledger: this.ledger,
      registry: this.registry,
      metrics: this.metrics,
      stager: this.#stager,
      knobs: () => this.#knobs,
    };
    this.decider = new Decider(parts);
    this.#fences = new Fences(server, this.ledger);
    const exclusively = <T>(key: string, work: () => Promise<T>): Promise<T> =>
      this.#queue.run(key, work);
    this.#adopter = new Adopter({ ...parts, decider: this.decider, exclusively });
    this.expiry = new Expiry({ ...parts, decider: this.decider, exclusively: this.#exclusively });
  }

  /** Takes over what an earlier run left prepared, and starts to watch over deadlines. */
  static async open(
    server: RegionServer,
    options: ManagerOptions = {},
  ): Promise<TransactionManager> {
    const manager = new TransactionManager(server, checkTransactionKnobs(options.knobs ?? {}));
    await manager.decider.recover();
    server.schema.dropGuard = (table, familyIds, force) =>
      manager.decider.guardDrop(table, familyIds, force);
    manager.expiry.start();
    return manager;
  }

  /** Those of a backup's transactions that this store knows by label or id. */
  known(names: readonly AdoptedName[]): Promise<AdoptedName[]> {
    return this.#adopter.known(names);
  }

  /** Brings prepared transactions of a backup into this store, with their tables (adoption.ts). */
  adopt(adoption: Adoption): Promise<void> {
    return this.#adopter.adopt(adoption);
  }

  get knobs(): TransactionKnobs {
    return this.#knobs;
  }

  /** Throws IllegalArgumentException naming the knob. */
  setKnob(name: string, value: unknown): void {
    this.#knobs = changeTransactionKnob(this.#knobs, name, value);
  }

  /** Stops watching; open transactions are gone with the process. */
  async close(): Promise<void> {
    await this.expiry.stop();
    await this.#queue.idle();
    await this.#stager.close();
  }

  readonly #exclusively = <T>(txn: Txn, work: () => Promise<T>): Promise<T> =>
    this.#queue.run(keyOf(txn.facts.namespace, txn.facts.label), work);

  /** Runs a verb of one label after those before it, to its end, and turns failures into the transactions' own. */
  async #verb<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.server.track(() => this.#queue.run(key, work));
    } catch (error) {
      const refusal = refusalOf(asBadRequest(error));
      if (refusal instanceof StoreException) this.metrics.rejected(refusal.code);
      throw refusal;
    }
  }

  async #named<T>(name: TransactionName, work: () => Promise<T>): Promise<T> {
    return this.#verb(await this.#keyOf(name), work);
  }

  /** The key under which verbs on this name run. */
  async #keyOf(name: TransactionName): Promise<string> {
    if (name.label !== undefined) {
      return keyOf(name.namespace ?? 'default', checkLabel(name.label));
    }
    if (typeof name.txnId !== 'bigint') throw badRequest('name a transaction by label or txn_id');
    const known = await this.registry.byId(name.txnId);
    return known === null ? `#${name.txnId}` : keyOf(known.namespace, known.label);
  }

  // ---- begin --------------------------------------------------------------------------------------------------------

  async begin(options: TransactionOptions): Promise<TransactionAnswer> {
    const asked = checkBegin(options, this.#knobs);
    const key = keyOf(asked.namespace, asked.label);
    return this.#verb(key, async () => {
      this.registry.checkNamespace(asked.namespace);
      await this.#fences.check(asked.producer, asked.epoch);
      const active = this.registry.active(asked.namespace, asked.label);
      if (active !== undefined) {
        const isRepeat = asked.requestId !== null && active.facts.requestId === asked.requestId;
        if (isRepeat && active.state === 'OPEN') return answerOf(active.status(), true);
        throw this.#labelExists(active.status());
      }
      const record = await this.ledger.byLabel(asked.namespace, asked.label);
      const isFree =
        record === null || (record.state === 'ABORTED' && record.reason !== 'TOMBSTONE');
      if (!isFree) throw this.#labelExists(statusOfRecord(record));
      this.#checkRunning(asked.namespace);
      const { first: id } = await this.server.oracle.allocate(1);
      const startTso = asked.isolation === 'snapshot' ? this.#readPoint() : null;
      const txn = new Txn({ ...asked, id, startTso, createdMs: clockMs(this.server) });
      if (startTso !== null) {
        const owner = `transaction ${asked.label}`;
        const lease = asked.timeoutMs + asked.preparedTimeoutMs;
        txn.hold = this.server.pins.hold(startTso, owner, lease);
      }
      this.registry.add(txn);
      this.metrics.begins++;
      return answerOf(txn.status());
    });
  }

  #readPoint(): bigint {
    const { high, low } = this.server.readPoint;
    return joinHalves(high, low);
  }

  #labelExists(status: TransactionStatus): TransactionException {
    return new TransactionException(
      'LABEL_ALREADY_EXISTS',
      `label ${status.label} is used: the transaction ${status.txnId} is already ${status.state}`,
      { status },
    );
  }

  #checkRunning(namespace: string): void {
    const limit = this.#knobs.max_running_txn_num_per_db;
    if (this.registry.runningIn(namespace) < limit) return;
    throw new TransactionException(
      'TOO_MANY_TRANSACTIONS',
      `namespace ${namespace} has max_running_txn_num_per_db = ${limit} transactions that are not decided`,
    );
  }

  // ---- load ---------------------------------------------------------------------------------------------------------

  load(
    name: TransactionName,
    seq: number,
    operations: readonly LoadOperation[],
    options: LoadOptions = {},
  ): Promise<LoadResult> {
    return this.#load(name, seq, options, (limits) =>
      encodeLoad(this.server, operations, options, limits, this.#buffers),
    );
  }

  /** As `load`, of KeyValues each behind its u32 length, all of `options.table`. */
  loadCells(
    name: TransactionName,
    seq: number,
    block: Uint8Array,
    options: LoadOptions,
  ): Promise<LoadResult> {
    const { table } = options;
    if (table === undefined) throw badRequest('a load of cells names its table');
    return this.#load(name, seq, options, (limits) =>
      encodeCells(this.server, block, table, limits, this.#buffers),
    );
  }

  #load(
    name: TransactionName,
    seq: number,
    options: LoadOptions,
    encode: (limits: { bytesMax: number; rowsMax: number }) => BatchBuilder,
  ): Promise<LoadResult> {
    return this.#named(name, async () => {
      checkSeq(seq);
      const txn = await this.#find(name);
      if (!(txn instanceof Txn)) throw this.#decided(txn);
      if (txn.state !== 'OPEN' || txn.isEnded) throw this.#sealed(txn);
      await this.#fences.check(txn.facts.producer, options.epoch ?? txn.facts.epoch);
      try {
        return await this.#append(txn, seq, encode);
      } catch (error) {
        if (options.abortOnError === true) await this.decider.abort(txn, 'USER');
        throw error;
      }
    });
  }

  async #append(
    txn: Txn,
    seq: number,
    encode: (limits: { bytesMax: number; rowsMax: number }) => BatchBuilder,
  ): Promise<LoadResult> {
    const knobs = this.#knobs;
    const builder = encode({
      bytesMax: knobs.txn_max_request_bytes,
      rowsMax: knobs.txn_max_rows_per_request,
    });
    const loadedMs = clockMs(this.server);
    const batch = builder.build(seq, loadedMs, this.#memory);
    const loaded = {
      loadedMs,
      crc: crcOfBatch(batch),
      rows: builder.operations,
      cells: builder.cellCount,
      bytes: builder.sizeBytes,
    };
    const { crc, rows, cells, bytes } = loaded;
    const counts = { rows, cells, bytes };
    const before = txn.requests.get(seq);
    if (before !== undefined) {
      this.#memory.give([batch]);
      if (before.crc === crc) return { seq, ...counts, duplicate: true };
      throw new TransactionException(
        'SEQ_CONFLICT',
        `seq ${seq} of ${txn.facts.label} was loaded before with other content`,
        { status: txn.status() },
      );
    }
    this.#checkSpace(txn, builder.sizeBytes);
    txn.batches.push(batch);
    txn.batchBytes += builder.sizeBytes;
    try {
      await this.#stager.spillIfLarge(txn, this.registry.memoryBytes);
    } catch (error) {
      txn.batches = txn.batches.filter((one) => one.seq !== seq);
      txn.batchBytes -= builder.sizeBytes;
      throw error;
    }
    txn.requests.set(seq, loaded);
    txn.rows += loaded.rows;
    txn.cells += loaded.cells;
    txn.bytes += loaded.bytes;
    txn.lastLoadMs = clockMs(this.server);
    return { seq, ...counts, duplicate: false };
  }

  #checkSpace(txn: Txn, bytes: number): void {
    const { txn_max_bytes: one, txn_max_staged_bytes: all } = this.#knobs;
    const isSnapshot = txn.facts.isolation === 'snapshot';
    if (txn.bytes + bytes > one || (isSnapshot && txn.bytes + bytes > SNAPSHOT_BYTES_MAX)) {
      throw new TransactionException(
        'TXN_TOO_LARGE',
        isSnapshot
          ? `a snapshot transaction of more than ${SNAPSHOT_BYTES_MAX} bytes`
          : `a transaction of more than txn_max_bytes = ${one} bytes`,
        { status: txn.status() },
      );
    }
    if (this.registry.stagedBytes + bytes > all) {
      throw new TransactionException(
        'STAGING_FULL',
        `undecided transactions hold ${this.registry.stagedBytes} of txn_max_staged_bytes = ${all} bytes`,
      );
    }
  }

  #sealed(txn: Txn): TransactionException {
    const { label } = txn.facts;
    return new TransactionException(
      'TXN_SEALED',
      `transaction ${label} is already ${txn.isEnded ? 'ended' : 'PREPARED'}`,
      {
        status: txn.status(),
      },
    );
  }

  // ---- prepare ------------------------------------------------------------------------------------------------------

  prepare(name: TransactionName, options: PrepareOptions = {}): Promise<TransactionAnswer> {
    return this.#named(name, async () => {
      const txn = await this.#find(name);
      if (!(txn instanceof Txn)) {
        if (isEmpty(txn)) return answerOf(txn, true);
        if (txn.state === 'COMMITTED') return answerOf(txn, true);
        throw this.#decided(txn);
      }
      if (txn.state === 'PREPARED') return answerOf(txn.status(), true);
      await this.#fences.check(txn.facts.producer, options.epoch ?? txn.facts.epoch);
      const startedMs = this.server.env.clock.monotonicMs();
      this.#checkCounts(txn, options);
      if (txn.requests.size === 0 || txn.cells === 0) {
        await this.decider.abort(txn, 'EMPTY');
        return answerOf(txn.status());
      }
      this.#checkPrepared();
      await this.#seal(txn);
      await this.decider.prepare(txn, options.preparedTimeoutMs ?? txn.facts.preparedTimeoutMs);
      await this.#stager.prepared(txn);
      this.metrics.prepareLatency.observe(this.server.env.clock.monotonicMs() - startedMs);
      return answerOf(txn.status());
    });
  }

  #checkPrepared(): void {
    const limit = this.#knobs.txn_max_prepared;
    if (this.registry.preparedCount < limit) return;
    throw new TransactionException(
      'TOO_MANY_PREPARED',
      `the server holds txn_max_prepared = ${limit} prepared transactions`,
    );
  }

  #checkCounts(txn: Txn, { expect }: PrepareOptions): void {
    for (const what of ['rows', 'cells'] as const) {
      const wanted = expect?.[what];
      if (wanted === undefined || wanted === txn[what]) continue;
      throw new TransactionException(
        'COUNT_MISMATCH',
        `transaction ${txn.facts.label} holds ${txn[what]} ${what}, not ${wanted} as expected`,
        { status: txn.status() },
      );
    }
  }

  /** Folds what was loaded into what will be committed, in memory or in files. */
  async #seal(txn: Txn): Promise<void> {
    if (txn.staged !== null || this.#stager.isLarge(txn)) {
      await this.#stager.seal(txn);
      return;
    }
    const { block, groups, cells, isFresh } = foldBatches(txn.batches, txn.facts.timestamps);
    txn.block = block;
    txn.groups = groups;
    txn.isFresh = isFresh;
    txn.cells = cells;
    txn.digest = digestOf(block);
  }

  // ---- commit -------------------------------------------------------------------------------------------------------

  commit(name: TransactionName, options: CommitRequestOptions = {}): Promise<TransactionAnswer> {
    return this.#named(name, async () => {
      const txn = await this.#find(name);
      if (!(txn instanceof Txn)) {
        if (isEmpty(txn) || txn.state === 'COMMITTED') return answerOf(txn, true);
        throw this.#decided(txn);
      }
      const startedMs = this.server.env.clock.monotonicMs();
      if (txn.state === 'OPEN') {
        if (options.onePhase !== true) {
          throw new TransactionException(
            'NOT_PREPARED',
            `transaction ${txn.facts.label} is OPEN: prepare it first, or ask for one_phase`,
            { status: txn.status() },
          );
        }
        await this.#fences.check(txn.facts.producer, txn.facts.epoch);
        if (txn.cells === 0) {
          await this.decider.abort(txn, 'EMPTY');
          return answerOf(txn.status());
        }
        await this.#seal(txn);
        if (txn.staged !== null) {
          await this.decider.prepare(txn, txn.facts.preparedTimeoutMs);
          await this.#stager.prepared(txn);
        }
      }
      await this.decider.commit(txn);
      this.metrics.commitLatency.observe(this.server.env.clock.monotonicMs() - startedMs);
      return answerOf(txn.status());
    });
  }

  // ---- rollback -----------------------------------------------------------------------------------------------------

  rollback(name: TransactionName, options: RollbackOptions = {}): Promise<RollbackAnswer> {
    return this.#named(name, async () => {
      let txn: Txn | TransactionStatus;
      try {
        txn = await this.#find(name);
      } catch (error) {
        const isAbsent = error instanceof TransactionException && error.code === 'TXN_NOT_FOUND';
        if (!isAbsent) throw error;
        const status = options.tombstone === true ? await this.#tombstone(name) : null;
        return { notFound: status === null, already: false, empty: false, status };
      }
      if (!(txn instanceof Txn)) {
        if (txn.state === 'COMMITTED') throw this.#decided(txn);
        return { notFound: false, already: true, empty: isEmpty(txn), status: txn };
      }
      await this.decider.abort(txn, 'USER');
      return { notFound: false, already: false, empty: false, status: txn.status() };
    });
  }

  async #tombstone({ label, namespace }: TransactionName): Promise<TransactionStatus> {
    if (label === undefined) throw badRequest('a tombstone needs a label');
    const { first: id } = await this.server.oracle.allocate(1);
    const asked = checkBegin({ label, namespace: namespace ?? 'default' }, this.#knobs);
    const txn = new Txn({ ...asked, id, startTso: null, createdMs: clockMs(this.server) });
    this.registry.add(txn);
    await this.decider.abort(txn, 'TOMBSTONE');
    return txn.status();
  }

  /** No more loads, or again. Throws TXN_SEALED for one that is not OPEN, or already so. */
  async end(name: TransactionName, isEnded: boolean): Promise<void> {
    await this.#named(name, async () => {
      const txn = await this.#find(name);
      if (!(txn instanceof Txn)) throw this.#decided(txn);
      if (txn.state !== 'OPEN' || txn.isEnded === isEnded) throw this.#sealed(txn);
      txn.isEnded = isEnded;
    });
  }

  /** It is OPEN and takes loads. */
  isActive({ label, namespace }: TransactionName): boolean {
    const txn = this.registry.active(namespace ?? 'default', label ?? '');
    return txn !== undefined && txn.state === 'OPEN' && !txn.isEnded;
  }

  /** Drops the record of a decided transaction. Throws NOT_PREPARED for one that is not decided. */
  async forget(name: TransactionName): Promise<void> {
    await this.#named(name, async () => {
      const txn = await this.#find(name);
      if (txn instanceof Txn) {
        throw new TransactionException(
          'NOT_PREPARED',
          `transaction ${txn.facts.label} is ${txn.state}: decide it before it is forgotten`,
          { status: txn.status() },
        );
      }
      const record = await this.ledger.byId(txn.txnId);
      if (record !== null) await this.ledger.forget([record]);
      this.registry.forgottenTo = await this.ledger.forgottenTo();
    });
  }

  // ---- questions ----------------------------------------------------------------------------------------------------

  status(name: TransactionName): Promise<TransactionStatus> {
    return this.#named(name, async () => {
      const found = await this.#find(name);
      return found instanceof Txn ? found.status() : found;
    });
  }

  list(filter: TransactionFilter = {}): Promise<TransactionStatus[]> {
    return this.server.track(() => this.registry.list(filter));
  }

  async fence(producer: string): Promise<FenceAnswer> {
    return this.#verb(`@${producer}`, async () => {
      const epoch = await this.#fences.raise(producer);
      const aborted: string[] = [];
      for (const txn of this.registry.openOf(producer)) {
        const done = await this.#exclusively(txn, () => this.#abortFenced(txn, epoch));
        if (done) aborted.push(txn.facts.label);
      }
      return { epoch, aborted };
    });
  }

  async #abortFenced(txn: Txn, epoch: number): Promise<boolean> {
    if (txn.state !== 'OPEN' || (txn.facts.epoch ?? 0) >= epoch) return false;
    await this.decider.abort(txn, 'FENCED');
    return true;
  }

  /** The transaction, or how it ended. Throws TXN_NOT_FOUND, TXN_ID_MISMATCH. */
  async #find(name: TransactionName): Promise<Txn | TransactionStatus> {
    const { label, txnId } = name;
    if (label === undefined) {
      const found = txnId === undefined ? null : await this.registry.find(txnId);
      if (found === null) throw await this.#notFound(name);
      return found;
    }
    const namespace = name.namespace ?? 'default';
    const active = this.registry.active(namespace, label);
    const found = active ?? statusOf(await this.ledger.byLabel(namespace, label));
    if (found === null) throw await this.#notFound(name);
    const id = found instanceof Txn ? found.facts.id : found.txnId;
    if (txnId === undefined || txnId === id) return found;
    throw new TransactionException(
      'TXN_ID_MISMATCH',
      `label ${label} names transaction ${id}, not ${txnId}`,
      { status: found instanceof Txn ? found.status() : found },
    );
  }

  async #notFound({ label, txnId }: TransactionName): Promise<TransactionException> {
    return new TransactionException(
      'TXN_NOT_FOUND',
      `there is no transaction ${label ?? String(txnId)}`,
      { recordsSince: await this.registry.recordsSince() },
    );
  }

  #decided(status: TransactionStatus): TransactionException {
    const isCommitted = status.state === 'COMMITTED';
    return new TransactionException(
      isCommitted ? 'TXN_COMMITTED' : 'TXN_ABORTED',
      isCommitted
        ? `transaction ${status.label} is already COMMITTED with tso ${status.tso}`
        : `transaction ${status.label} is already ABORTED: ${status.reason}`,
      { status },
    );
  }
}

const isEmpty = ({ state, reason }: TransactionStatus): boolean =>
  state === 'ABORTED' && reason === ('EMPTY' satisfies AbortReason);

const statusOf = (record: LedgerRecord | null): TransactionStatus | null =>
  record === null ? null : statusOfRecord(record);

function answerOf(status: TransactionStatus, already: boolean = false): TransactionAnswer {
  return { ...status, already, empty: isEmpty(status) };
}
