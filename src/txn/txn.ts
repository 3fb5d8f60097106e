/** One transaction that is not decided, as the server holds it in memory. */
import type { PastHold } from '../engine/index.ts';
import type {
  AbortReason,
  TransactionIsolation,
  TransactionPhase,
  TransactionStatus,
  TransactionTimestamps,
} from '../model/index.ts';
import type { CellGroup } from './cells.ts';
import type { LedgerRecord } from './ledger.ts';
import type { FamilyOrigin } from './origins.ts';
import type { LoadBatch, LoadedRequest } from './staging.ts';
import type { StagedFiles } from './staged_files.ts';

/** What a transaction is made with. */
export interface TxnFacts {
  readonly id: bigint;
  readonly namespace: string;
  readonly label: string;
  readonly isolation: TransactionIsolation;
  readonly timestamps: TransactionTimestamps;
  readonly producer: string | null;
  readonly epoch: number | null;
  readonly startTso: bigint | null;
  readonly requestId: string | null;
  readonly createdMs: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly preparedTimeoutMs: number;
}

/** Rows with intents, by table. */
export interface IntentRows {
  readonly tableId: number;
  readonly rows: readonly Uint8Array[];
}

export class Txn {
  readonly facts: TxnFacts;
  state: TransactionPhase = 'OPEN';
  reason: AbortReason | null = null;
  tso: bigint | null = null;
  digest: string | null = null;
  rows = 0;
  cells = 0;
  bytes = 0;
  preparedMs: number | null = null;
  finishedMs: number | null = null;
  /** Wall time of its time-out. */
  expiresMs: number;
  lastLoadMs: number;
  warnedAtHalf = false;
  /** OPEN, and takes no more loads (XA: IDLE). */
  isEnded = false;
  /** OPEN: what was loaded and not spilled. */
  batches: LoadBatch[] = [];
  batchBytes = 0;
  readonly requests: Map<number, LoadedRequest> = new Map();
  /** OPEN or PREPARED: what lies in files. */
  staged: StagedFiles | null = null;
  /** PREPARED: what it will commit, unless staged. */
  groups: CellGroup[] = [];
  /** The groups as they are kept, until it is PREPARED. */
  block: Uint8Array | null = null;
  isFresh = false;
  slot: number | null = null;
  /** Prepare is under way or done: drops ask for these. */
  readonly touched: Map<number, Set<number>> = new Map();
  intents: readonly IntentRows[] = [];
  /** Why its cells cannot be trusted. */
  corrupt: string | null = null;
  /** It came with a backup. */
  origins: readonly FamilyOrigin[] | undefined = undefined;
  /** Keeps its snapshot readable. */
  hold: PastHold | null = null;

  constructor(facts: TxnFacts) {
    this.facts = facts;
    this.expiresMs = facts.createdMs + facts.timeoutMs;
    this.lastLoadMs = facts.createdMs;
  }

  get isDecided(): boolean {
    return this.state === 'COMMITTED' || this.state === 'ABORTED';
  }

  touches(tableId: number, familyIds: readonly number[]): boolean {
    const families = this.touched.get(tableId);
    return families !== undefined && familyIds.some((id) => families.has(id));
  }

  status(): TransactionStatus {
    const { facts } = this;
    return {
      txnId: facts.id,
      namespace: facts.namespace,
      label: facts.label,
      state: this.state,
      reason: this.reason,
      tso: this.tso,
      digest: this.digest,
      rows: this.rows,
      cells: this.cells,
      bytes: this.bytes,
      isolation: facts.isolation,
      timestamps: facts.timestamps,
      producer: facts.producer,
      epoch: facts.epoch,
      startTso: facts.startTso,
      createdMs: facts.createdMs,
      preparedMs: this.preparedMs,
      finishedMs: this.finishedMs,
      expiresMs: this.isDecided ? null : this.expiresMs,
    };
  }
}

/** The record that the ledger keeps of it, with changes that are being made. */
export function recordOfTxn(txn: Txn, change: Partial<LedgerRecord> = {}): LedgerRecord {
  const status = txn.status();
  const { facts } = txn;
  return {
    id: String(facts.id),
    namespace: facts.namespace,
    label: facts.label,
    state: status.state,
    reason: status.reason,
    tso: status.tso === null ? null : String(status.tso),
    digest: status.digest,
    rows: status.rows,
    cells: status.cells,
    bytes: status.bytes,
    isolation: facts.isolation,
    timestamps: facts.timestamps,
    producer: facts.producer,
    epoch: facts.epoch,
    startTso: facts.startTso === null ? null : String(facts.startTso),
    createdMs: facts.createdMs,
    preparedMs: status.preparedMs,
    finishedMs: status.finishedMs,
    expiresMs: status.expiresMs,
    isFresh: txn.isFresh,
    isStaged: txn.staged !== null,
    ...(txn.origins === undefined ? {} : { origins: txn.origins }),
    ...change,
  };
}

/** The status of a record. */
export function statusOfRecord(record: LedgerRecord): TransactionStatus {
  return {
    txnId: BigInt(record.id),
    namespace: record.namespace,
    label: record.label,
    state: record.state,
    reason: record.reason,
    tso: record.tso === null ? null : BigInt(record.tso),
    digest: record.digest,
    rows: record.rows,
    cells: record.cells,
    bytes: record.bytes,
    isolation: record.isolation,
    timestamps: record.timestamps,
    producer: record.producer,
    epoch: record.epoch,
    startTso: record.startTso === null ? null : BigInt(record.startTso),
    createdMs: record.createdMs,
    preparedMs: record.preparedMs,
    finishedMs: record.finishedMs,
    expiresMs: record.expiresMs,
  };
}

/** A prepared transaction as the ledger has it. */
export function txnOfRecord(record: LedgerRecord): Txn {
  const status = statusOfRecord(record);
  const txn = new Txn({
    id: status.txnId,
    namespace: record.namespace,
    label: record.label,
    isolation: record.isolation,
    timestamps: record.timestamps,
    producer: record.producer,
    epoch: record.epoch,
    startTso: status.startTso,
    requestId: null,
    createdMs: record.createdMs,
    timeoutMs: 0,
    idleTimeoutMs: 0,
    preparedTimeoutMs: Math.max(0, (record.expiresMs ?? 0) - (record.preparedMs ?? 0)),
  });
  txn.state = 'PREPARED';
  txn.digest = record.digest;
  txn.rows = record.rows;
  txn.cells = record.cells;
  txn.bytes = record.bytes;
  txn.preparedMs = record.preparedMs;
  txn.expiresMs = record.expiresMs ?? 0;
  txn.isFresh = record.isFresh;
  txn.origins = record.origins;
  return txn;
}
