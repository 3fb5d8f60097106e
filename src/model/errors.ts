/**
 * Errors named as HBase names them (protocol/exceptions.md), and Cellar's own for what HBase does not have. Each carries
 * the table, row or name that matters in its text.
 */
import { StoreException } from '../io/index.ts';

/** HBase refuses the request for good; the text says why. */
export class DoNotRetryIOException extends StoreException {
  readonly code: string = 'DoNotRetryIOException';
  readonly retryable: boolean = false;
}

/** A mutation of another row than the call's. (HBase: org.apache.hadoop.hbase.client, thrown by its client.) */
export class WrongRowIOException extends DoNotRetryIOException {
  override readonly code: string = 'WrongRowIOException';
}

/** `batch` asks for parts of rows, but the filter decides on whole rows. (HBase: org.apache.hadoop.hbase.filter.) */
export class IncompatibleFilterException extends DoNotRetryIOException {
  override readonly code: string = 'IncompatibleFilterException';
}

/** What HBase answers with a java.io.IOException of no kind of its own: its clients try again, in vain. */
export class PlainIOException extends StoreException {
  readonly code: string = 'IOException';
  readonly retryable: boolean = true;
}

/** An argument breaks a rule of the API. */
export class IllegalArgumentException extends StoreException {
  readonly code: string = 'IllegalArgumentException';
  readonly retryable: boolean = false;
}

/** No table of this name. */
export class TableNotFoundException extends StoreException {
  readonly code: string = 'TableNotFoundException';
  readonly retryable: boolean = false;
}

/** A table of this name exists. */
export class TableExistsException extends StoreException {
  readonly code: string = 'TableExistsException';
  readonly retryable: boolean = false;
}

/** The operation needs the table disabled. */
export class TableNotDisabledException extends StoreException {
  readonly code: string = 'TableNotDisabledException';
  readonly retryable: boolean = false;
}

/** The table is disabled. */
export class TableNotEnabledException extends StoreException {
  readonly code: string = 'TableNotEnabledException';
  readonly retryable: boolean = false;
}

/** The table has no family of this name. */
export class NoSuchColumnFamilyException extends StoreException {
  readonly code: string = 'NoSuchColumnFamilyException';
  readonly retryable: boolean = false;
}

/** A family may not be added, changed or dropped this way. */
export class InvalidFamilyOperationException extends StoreException {
  readonly code: string = 'InvalidFamilyOperationException';
  readonly retryable: boolean = false;
}

/** No namespace of this name. */
export class NamespaceNotFoundException extends StoreException {
  readonly code: string = 'NamespaceNotFoundException';
  readonly retryable: boolean = false;
}

/** A namespace of this name exists. */
export class NamespaceExistException extends StoreException {
  readonly code: string = 'NamespaceExistException';
  readonly retryable: boolean = false;
}

/** A namespace still has tables, or is reserved. */
export class ConstraintException extends StoreException {
  readonly code: string = 'ConstraintException';
  readonly retryable: boolean = false;
}

/** A row lies outside the region it was sent to; names the row. */
export class WrongRegionException extends StoreException {
  readonly code: string = 'WrongRegionException';
  readonly retryable: boolean = false;
}

/** No region has this name. */
export class UnknownRegionException extends StoreException {
  readonly code: string = 'UnknownRegionException';
  readonly retryable: boolean = false;
}

/** Others wrote what a transaction had read, again and again: nothing was written. */
export class TransactionConflictException extends StoreException {
  readonly code: string = 'TransactionConflictException';
  readonly retryable: boolean = true;
}

/** A prepared snapshot transaction is going to write the row; names its label. */
export class RowLockedByTransaction extends StoreException {
  readonly code: string = 'RowLockedByTransaction';
  readonly retryable: boolean = true;
}

/** Prepared transactions hold cells of the table or family; the text lists their labels. Decide them, or use force. */
export class TableHasPreparedTransactions extends StoreException {
  readonly code: string = 'TableHasPreparedTransactions';
  readonly retryable: boolean = false;
}

/** The memstore limit is reached and did not go down in time. */
export class RegionTooBusyException extends StoreException {
  readonly code: string = 'RegionTooBusyException';
  readonly retryable: boolean = true;
}

/** `getSync` would have to ask the disk. Use `get`. */
export class NotInMemoryException extends StoreException {
  readonly code: string = 'NotInMemoryException';
  readonly retryable: boolean = true;
}

/** The store was closed. */
export class StoreClosedException extends StoreException {
  readonly code: string = 'StoreClosedException';
  readonly retryable: boolean = false;
}

/** The log could not be written or synced; no writes until the next open. */
export class LogFailedException extends StoreException {
  readonly code: string = 'LogFailedException';
  readonly retryable: boolean = false;
}

/** The folder was written by a newer version. */
export class NewerVersionException extends StoreException {
  readonly code: string = 'NewerVersionException';
  readonly retryable: boolean = false;
}

/** The oracle gives no stamps: the clock is too far behind. */
export class TsoNotCalibrated extends StoreException {
  readonly code: string = 'TsoNotCalibrated';
  readonly retryable: boolean = true;
}

/** No stamp is free in this millisecond and the window could not be moved in time. */
export class TsoExhausted extends StoreException {
  readonly code: string = 'TsoExhausted';
  readonly retryable: boolean = true;
}

/** The oracle's saved state cannot be read while data exists. */
export class TsoStateLost extends StoreException {
  readonly code: string = 'TsoStateLost';
  readonly retryable: boolean = false;
}

/** A snapshot of this name exists. */
export class SnapshotExistsException extends StoreException {
  readonly code: string = 'SnapshotExistsException';
  readonly retryable: boolean = false;
}

/** No snapshot of this name. */
export class SnapshotDoesNotExistException extends StoreException {
  readonly code: string = 'SnapshotDoesNotExistException';
  readonly retryable: boolean = false;
}

/** Below the history that is kept; names the earliest readable TSO. */
export class SnapshotTooOld extends StoreException {
  readonly code: string = 'SnapshotTooOld';
  readonly retryable: boolean = false;
}

/** Above every stamp given so far. */
export class SnapshotInFuture extends StoreException {
  readonly code: string = 'SnapshotInFuture';
  readonly retryable: boolean = false;
}

/** Commits at or below this TSO did not become durable in time. */
export class SnapshotNotVisible extends StoreException {
  readonly code: string = 'SnapshotNotVisible';
  readonly retryable: boolean = true;
}
