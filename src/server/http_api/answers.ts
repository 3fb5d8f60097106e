/** What the HTTP API answers: shapes and statuses (transactions.md section 4). */
import { DiskFullException, StoreException } from '../../io/index.ts';
import {
  NamespaceNotFoundException,
  RegionTooBusyException,
  RowLockedByTransaction,
  SnapshotTooOld,
  StoreClosedException,
  TableNotFoundException,
  TransactionException,
  TsoExhausted,
  TsoNotCalibrated,
} from '../../model/index.ts';
import type {
  RollbackAnswer,
  TransactionAnswer,
  TransactionErrorCode,
  TransactionStatus,
} from '../../model/index.ts';

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const STATUS_OF: Readonly<Record<TransactionErrorCode, number>> = {
  BAD_REQUEST: 400,
  BAD_LINE: 400,
  COUNT_MISMATCH: 400,
  UNSUPPORTED_IN_TRANSACTION: 400,
  TXN_NOT_FOUND: 404,
  FENCED: 409,
  LABEL_ALREADY_EXISTS: 409,
  NOT_PREPARED: 409,
  SEQ_CONFLICT: 409,
  TXN_ABORTED: 409,
  TXN_COMMITTED: 409,
  TXN_CONFLICT: 409,
  TXN_ID_MISMATCH: 409,
  TXN_SEALED: 409,
  REQUEST_TOO_LARGE: 413,
  TXN_TOO_LARGE: 413,
  WRONG_SERVER: 421,
  STAGING_FULL: 429,
  TOO_MANY_PREPARED: 429,
  TOO_MANY_TRANSACTIONS: 429,
  TXN_DATA_CORRUPT: 500,
  OUTCOME_UNKNOWN: 503,
};

/** Leaves out what is not known. */
export function given(
  members: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
  );
}

const decimal = (value: bigint | null | undefined): string | null =>
  value === null || value === undefined ? null : String(value);

/** A transaction as every answer shows it. */
export function shownStatus(status: TransactionStatus): Readonly<Record<string, unknown>> {
  return given({
    txn_id: decimal(status.txnId),
    namespace: status.namespace,
    label: status.label,
    state: status.state,
    reason: status.reason,
    tso: decimal(status.tso),
    digest: status.digest,
    rows: status.rows,
    cells: status.cells,
    bytes: status.bytes,
    isolation: status.isolation,
    timestamps: status.timestamps,
    producer: status.producer,
    epoch: status.epoch,
    start_tso: decimal(status.startTso),
    created_at: status.createdMs,
    prepared_at: status.preparedMs,
    finished_at: status.finishedMs,
    expires_at: status.expiresMs,
  });
}

export function shownAnswer(answer: TransactionAnswer, serverId: string): Answer {
  const { already, empty } = answer;
  return {
    status: 200,
    body: {
      status: 'OK',
      ...shownStatus(answer),
      already,
      ...(empty ? { empty } : {}),
      server_id: serverId,
    },
  };
}

export function shownRollback(answer: RollbackAnswer): Answer {
  const { notFound, already, empty, status } = answer;
  if (notFound) return { status: 200, body: { status: 'OK', not_found: true, already: false } };
  return {
    status: 200,
    body: {
      status: 'OK',
      ...(status === null ? {} : shownStatus(status)),
      already,
      ...(empty ? { empty } : {}),
    },
  };
}

/** The answer to a request that failed. */
export function shownError(error: unknown): Answer {
  const { message } = error instanceof Error ? error : new Error(String(error));
  const failed = (
    status: number,
    code: string,
    retryable: boolean,
    facts: Readonly<Record<string, unknown>> = {},
  ): Answer => ({
    status,
    body: { status: 'FAILED', error: code, message, retryable, ...facts },
  });
  if (error instanceof TransactionException) {
    const { code, retryable, facts } = error;
    const { status, recordsSince, line, column, serverId } = facts;
    return failed(STATUS_OF[code], code, retryable, {
      ...(status === undefined
        ? {}
        : given({
            label: status.label,
            txn_id: decimal(status.txnId),
            state: status.state,
            reason: status.reason,
            tso: decimal(status.tso),
          })),
      ...given({
        records_since: decimal(recordsSince),
        line,
        column,
        server_id: serverId,
      }),
    });
  }
  if (error instanceof TsoNotCalibrated) return failed(503, 'TSO_NOT_CALIBRATED', true);
  if (error instanceof TsoExhausted) return failed(503, 'TSO_EXHAUSTED', true);
  if (error instanceof StoreClosedException) return failed(503, 'CLOSING', true);
  if (error instanceof RegionTooBusyException) return failed(429, 'REGION_TOO_BUSY', true);
  if (error instanceof RowLockedByTransaction) return failed(429, 'ROW_LOCKED', true);
  if (error instanceof DiskFullException) return failed(500, 'DISK_FULL', true);
  if (error instanceof TableNotFoundException) return failed(404, 'TABLE_NOT_FOUND', false);
  if (error instanceof NamespaceNotFoundException) return failed(404, 'NAMESPACE_NOT_FOUND', false);
  if (error instanceof SnapshotTooOld) return failed(410, 'SNAPSHOT_TOO_OLD', false);
  if (error instanceof HttpRefusal) return failed(error.statusCode, error.error, error.retryable);
  if (error instanceof StoreException) {
    return failed(error.retryable ? 503 : 400, error.code, error.retryable);
  }
  return failed(500, 'INTERNAL', true);
}

/** A request that the door refuses before it is a verb. */
export class HttpRefusal extends Error {
  readonly statusCode: number;
  readonly error: string;
  readonly retryable: boolean;

  constructor(statusCode: number, error: string, message: string, retryable: boolean = false) {
    super(message);
    this.statusCode = statusCode;
    this.error = error;
    this.retryable = retryable;
  }
}
