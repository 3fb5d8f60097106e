/**
 * Two-phase transactions and those over many tables, as callers see them. Ids and TSOs are `bigint`; times are Unix
 * milliseconds; durations say their unit.
 */
import { StoreException } from '../io/index.ts';
import type { Table, TransactResult } from './api.ts';
import type {
  Bytes,
  ColumnCondition,
  DeleteSpec,
  Durability,
  MutationOptions,
  ReadOptions,
  ScanOptions,
  Timestamp,
  Value,
  Values,
} from './requests.ts';
import type { Result } from './result.ts';

export type TransactionPhase = 'OPEN' | 'PREPARED' | 'COMMITTED' | 'ABORTED';

/** `blind`: nothing is checked, the later commit wins. `snapshot`: the first committer of a row wins. */
export type TransactionIsolation = 'blind' | 'serializable' | 'snapshot';

/** What cells without a timestamp get: the commit's millisecond, or the load's. */
export type TransactionTimestamps = 'commit' | 'load';

export type AbortReason =
  | 'USER'
  | 'TIMEOUT'
  | 'IDLE_TIMEOUT'
  | 'PREPARED_TIMEOUT'
  | 'CONFLICT'
  | 'RESTART'
  | 'FENCED'
  | 'EMPTY'
  | 'TABLE_DROPPED'
  | 'TOMBSTONE';

export interface TransactionOptions {
  /** 1 … 300 of `[A-Za-z0-9_.:-]`, unique in its namespace. */
  readonly label: string;
  /** Default `default`. */
  readonly namespace?: string;
  /** From begin to prepare; default `stream_load_default_timeout_second`. */
  readonly timeoutMs?: number;
  /** Since the last load; 0: none. Default `idle_transaction_timeout`. */
  readonly idleTimeoutMs?: number;
  /** From prepare to the decision; default `prepared_transaction_default_timeout_second`. */
  readonly preparedTimeoutMs?: number;
  /** Default `blind`. */
  readonly isolation?: TransactionIsolation;
  /** Default `commit`. */
  readonly timestamps?: TransactionTimestamps;
  /** Whose it is, with the epoch that `fence` answered. */
  readonly producer?: string;
  readonly epoch?: number;
  /** A begin repeated with the same id answers as the first. */
  readonly requestId?: string;
}

/** Names a transaction: by label, id, or both, which must agree. */
export interface TransactionName {
  readonly label?: string;
  readonly namespace?: string;
  readonly txnId?: bigint;
}

/** One row's change. `table` may be left out where the request names one. */
export type LoadOperation =
  | {
      readonly table?: string;
      readonly put: Bytes;
      readonly values: Values;
      readonly options?: { readonly ts?: Timestamp; readonly ttl?: number };
    }
  | { readonly table?: string; readonly delete: Bytes; readonly spec?: DeleteSpec };

export interface LoadOptions {
  readonly table?: string;
  /** An error aborts the transaction. Default false: the request leaves nothing, the transaction stays open. */
  readonly abortOnError?: boolean;
  readonly epoch?: number;
}

export interface LoadResult {
  readonly seq: number;
  /** Operations. */
  readonly rows: number;
  readonly cells: number;
  readonly bytes: number;
  readonly duplicate: boolean;
}

/** What prepare is to find, or it refuses with COUNT_MISMATCH and the transaction stays open. */
export interface ExpectedCounts {
  readonly rows?: number;
  readonly cells?: number;
}

export interface PrepareOptions {
  readonly preparedTimeoutMs?: number;
  readonly expect?: ExpectedCounts;
  readonly epoch?: number;
}

/** A transaction as it stands. */
export interface TransactionStatus {
  readonly txnId: bigint;
  readonly namespace: string;
  readonly label: string;
  readonly state: TransactionPhase;
  readonly reason: AbortReason | null;
  /** Of the commit. */
  readonly tso: bigint | null;
  readonly digest: string | null;
  readonly rows: number;
  readonly cells: number;
  readonly bytes: number;
  readonly isolation: TransactionIsolation;
  readonly timestamps: TransactionTimestamps;
  readonly producer: string | null;
  readonly epoch: number | null;
  /** What a snapshot transaction reads as of. */
  readonly startTso: bigint | null;
  readonly createdMs: number;
  readonly preparedMs: number | null;
  readonly finishedMs: number | null;
  /** When it is aborted, or its record forgotten; null: never. */
  readonly expiresMs: number | null;
}

/** `already`: nothing was done now. `empty`: it held nothing, and was never committed. */
export interface TransactionAnswer extends TransactionStatus {
  readonly already: boolean;
  readonly empty: boolean;
}

/** `txn` null: there was none. */
export interface RollbackAnswer {
  readonly notFound: boolean;
  readonly already: boolean;
  readonly empty: boolean;
  readonly status: TransactionStatus | null;
}

export interface CommitRequestOptions {
  /** Prepares, too. */
  readonly onePhase?: boolean;
}

export interface RollbackOptions {
  /** Where there is none: leaves a record that refuses a later begin of this label. */
  readonly tombstone?: boolean;
}

export interface TransactionFilter {
  readonly namespace?: string;
  readonly state?: TransactionPhase;
  /** Of the label. */
  readonly prefix?: string;
  /** Default 100. */
  readonly limit?: number;
  /** Ids above this. */
  readonly after?: bigint;
}

export interface FenceAnswer {
  readonly epoch: number;
  /** Labels of the open transactions that it ended. */
  readonly aborted: readonly string[];
}

/**
 * The verbs of two-phase transactions, each of which may be repeated without harm. On one transaction they run one after the
 * other. All throw TransactionException.
 */
export interface Transactions {
  readonly serverId: string;
  begin(options: TransactionOptions): Promise<TransactionAnswer>;
  load(
    name: TransactionName,
    seq: number,
    operations: readonly LoadOperation[],
    options?: LoadOptions,
  ): Promise<LoadResult>;
  prepare(name: TransactionName, options?: PrepareOptions): Promise<TransactionAnswer>;
  commit(name: TransactionName, options?: CommitRequestOptions): Promise<TransactionAnswer>;
  rollback(name: TransactionName, options?: RollbackOptions): Promise<RollbackAnswer>;
  status(name: TransactionName): Promise<TransactionStatus>;
  list(filter?: TransactionFilter): Promise<TransactionStatus[]>;
  /** A new, durable epoch of the producer; its open transactions are aborted, its prepared ones stay. */
  fence(producer: string): Promise<FenceAnswer>;
}

/** A two-phase transaction in the hand of its writer. */
export interface Transaction {
  readonly label: string;
  /** 0 before `begin`. */
  readonly txnId: bigint;
  begin(): Promise<TransactionAnswer>;
  /** Without `seq` the next number is taken. */
  load(
    operations: readonly LoadOperation[],
    options?: LoadOptions & { readonly seq?: number },
  ): Promise<LoadResult>;
  prepare(options?: PrepareOptions): Promise<TransactionAnswer>;
  commit(options?: CommitRequestOptions): Promise<TransactionAnswer>;
  rollback(options?: RollbackOptions): Promise<RollbackAnswer>;
  status(): Promise<TransactionStatus>;
}

export interface WorkOptions {
  readonly isolation?: 'serializable' | 'snapshot';
  readonly durability?: Durability;
  /** Default 50. */
  readonly attemptsMax?: number;
  /** For the feed. */
  readonly label?: string;
}

/** One table within `connection.transact`. */
export interface TransactTable {
  readonly name: string;
  get(row: Bytes, options?: ReadOptions): Promise<Result | null>;
  exists(row: Bytes, options?: ReadOptions): Promise<boolean>;
  /** The rows within these bounds, all at once. */
  scan(options?: ScanOptions): Promise<Result[]>;
  /** Whether the condition holds; it still will at the commit (serializable). */
  check(row: Bytes, condition: ColumnCondition): Promise<boolean>;
  put(row: Bytes, values: Values, options?: MutationOptions): void;
  delete(row: Bytes, spec?: DeleteSpec): void;
  /** Adds to 8-byte counters and answers the sums. */
  increment(
    row: Bytes,
    amounts: Readonly<Record<string, bigint | number>>,
  ): Promise<Readonly<Record<string, bigint>>>;
  /** Adds bytes at the end of values and answers these as they are then. */
  append(
    row: Bytes,
    values: Readonly<Record<string, Value>>,
  ): Promise<Readonly<Record<string, Uint8Array>>>;
}

/** Reads and writes over all tables, valid while its work runs. */
export interface WideTransaction {
  table(name: string): TransactTable;
}

/** What a connection to a store with transactions offers beside `Connection`. */
export interface TransactionalConnection {
  table(name: string): Table;
  readonly transactions: Transactions;
  transaction(options: TransactionOptions): Transaction;
  transact<T>(
    work: (tx: WideTransaction) => Promise<T>,
    options?: WorkOptions,
  ): Promise<TransactResult<T>>;
}

export type TransactionErrorCode =
  | 'BAD_REQUEST'
  | 'BAD_LINE'
  | 'COUNT_MISMATCH'
  | 'FENCED'
  | 'LABEL_ALREADY_EXISTS'
  | 'NOT_PREPARED'
  | 'OUTCOME_UNKNOWN'
  | 'REQUEST_TOO_LARGE'
  | 'SEQ_CONFLICT'
  | 'STAGING_FULL'
  | 'TOO_MANY_PREPARED'
  | 'TOO_MANY_TRANSACTIONS'
  | 'TXN_ABORTED'
  | 'TXN_COMMITTED'
  | 'TXN_CONFLICT'
  | 'TXN_DATA_CORRUPT'
  | 'TXN_ID_MISMATCH'
  | 'TXN_NOT_FOUND'
  | 'TXN_SEALED'
  | 'TXN_TOO_LARGE'
  | 'UNSUPPORTED_IN_TRANSACTION'
  | 'WRONG_SERVER';

const RETRYABLE: ReadonlySet<string> = new Set([
  'OUTCOME_UNKNOWN',
  'STAGING_FULL',
  'TOO_MANY_PREPARED',
  'TOO_MANY_TRANSACTIONS',
]);

export interface TransactionErrorFacts {
  readonly status?: TransactionStatus;
  /** Begin of the oldest terminal record that is kept: an older id may have been committed and forgotten. */
  readonly recordsSince?: bigint;
  readonly line?: number;
  readonly column?: number;
  readonly serverId?: string;
}

/** A verb was refused; `code` says why, `status` how the transaction stands. */
export class TransactionException extends StoreException {
  readonly code: TransactionErrorCode;
  readonly retryable: boolean;
  readonly facts: TransactionErrorFacts;

  constructor(
    code: TransactionErrorCode,
    message: string,
    facts: TransactionErrorFacts = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
    this.retryable = RETRYABLE.has(code);
    this.facts = facts;
  }
}

/** A global transaction's name in XA's terms. */
export interface Xid {
  readonly format: number;
  /** At most 64 bytes each, as hex digits. */
  readonly gtrid: string;
  readonly bqual: string;
}

export type XaCode =
  | 'XAER_DUPID'
  | 'XAER_INVAL'
  | 'XAER_NOTA'
  | 'XAER_PROTO'
  | 'XAER_RMERR'
  | 'XAER_RMFAIL'
  | 'XA_RBROLLBACK'
  | 'XA_RBTIMEOUT';

/** An XA verb was refused. XAER_RMFAIL: the same verb may be repeated. */
export class XaException extends StoreException {
  readonly code: XaCode;
  readonly retryable: boolean;

  constructor(code: XaCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = code === 'XAER_RMFAIL';
  }
}

/** The verbs of XA's resource manager. All throw XaException. */
export interface XaResource {
  start(xid: Xid, options?: Omit<TransactionOptions, 'label'>): Promise<TransactionAnswer>;
  /** No more loads; `resume` goes back. */
  end(xid: Xid, options?: { readonly resume?: boolean }): Promise<void>;
  load(
    xid: Xid,
    seq: number,
    operations: readonly LoadOperation[],
    options?: LoadOptions,
  ): Promise<LoadResult>;
  /** XA_RDONLY: it held nothing, and is over. */
  prepare(xid: Xid): Promise<'XA_OK' | 'XA_RDONLY'>;
  commit(xid: Xid, options?: { readonly onePhase?: boolean }): Promise<TransactionAnswer>;
  rollback(xid: Xid): Promise<void>;
  /** Drops a terminal record. */
  forget(xid: Xid): Promise<void>;
  /** All that is prepared, by a prefix of the gtrid. */
  recover(options?: {
    readonly prefix?: string;
    readonly limit?: number;
    readonly after?: bigint;
  }): Promise<readonly { readonly xid: Xid; readonly txnId: bigint }[]>;
}
