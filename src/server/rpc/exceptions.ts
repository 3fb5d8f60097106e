/**
 * Errors as HBase's clients are to see them. A client makes the exception anew from its class name and goes by the class
 * when it decides whether to try again (protocol/rpc.md section 4, exceptions.md): so what a user did wrong must arrive as a
 * DoNotRetryIOException or one of its subclasses, and what may succeed later as any other.
 */
import { StoreException } from '../../io/index.ts';
import type { ExceptionMessage } from '../../wire/index.ts';

const HBASE = 'org.apache.hadoop.hbase.';

/** Subclasses of DoNotRetryIOException that servers send, behind `org.apache.hadoop.hbase.`. */
const FINAL_CLASSES = `DoNotRetryIOException ConcurrentTableModificationException InvalidFamilyOperationException
NamespaceExistException NamespaceNotFoundException TableExistsException TableNotDisabledException TableNotEnabledException
TableNotFoundException UnknownRegionException UnknownScannerException client.DoNotRetryRegionException
client.RowTooBigException constraint.ConstraintException coprocessor.CoprocessorException
exceptions.FailedSanityCheckException exceptions.MasterStoppedException exceptions.MergeRegionException
exceptions.OutOfOrderScannerNextException exceptions.RequestTooBigException exceptions.ScannerResetException
exceptions.UnknownProtocolException io.hfile.CorruptHFileException ipc.BadAuthException ipc.EmptyServiceNameException
ipc.FatalConnectionException ipc.ServerTooBusyException ipc.UnknownServiceException ipc.UnsupportedCellCodecException
ipc.UnsupportedCompressionCodecException ipc.UnsupportedCryptoException ipc.WrongVersionException
quotas.QuotaExceededException quotas.SpaceLimitingException quotas.ThrottlingException regionserver.LeaseException
regionserver.NoSuchColumnFamilyException security.AccessDeniedException snapshot.CorruptedSnapshotException
snapshot.HBaseSnapshotException snapshot.RestoreSnapshotException snapshot.SnapshotCreationException
snapshot.SnapshotDoesNotExistException snapshot.SnapshotExistsException snapshot.SnapshotTTLExpiredException
snapshot.UnknownSnapshotException`;

/** Others: a client tries again, here or elsewhere. */
const RETRIED_CLASSES = `CallDroppedException CallQueueTooBigException HBaseIOException MasterNotRunningException
MultiActionResultTooLarge NotServingRegionException PleaseHoldException RegionTooBusyException RetryImmediatelyException
ServiceNotRunningException client.RegionOfflineException client.WrongRowIOException
exceptions.RegionMovedException exceptions.RegionOpeningException exceptions.TimeoutIOException
ipc.CallTimeoutException ipc.SecurityNotEnabledException ipc.ServerNotRunningYetException
quotas.RpcThrottlingException regionserver.RegionServerAbortedException regionserver.RegionServerStoppedException
regionserver.WrongRegionException replication.ReplicationException`;

interface RemoteClass {
  readonly name: string;
  readonly doNotRetry: boolean;
}

/** By simple name: `TableNotFoundException`. */
const CLASSES: ReadonlyMap<string, RemoteClass> = new Map(
  [...namesOf(FINAL_CLASSES, true), ...namesOf(RETRIED_CLASSES, false)].map((known) => [
    known.name.slice(known.name.lastIndexOf('.') + 1),
    known,
  ]),
);

function namesOf(text: string, doNotRetry: boolean): RemoteClass[] {
  return text.split(/\s+/).map((name) => ({ name: HBASE + name, doNotRetry }));
}

const IO_EXCEPTION: RemoteClass = { name: 'java.io.IOException', doNotRetry: false };
const DO_NOT_RETRY: RemoteClass = { name: `${HBASE}DoNotRetryIOException`, doNotRetry: true };

/** An error that is thrown in order to be sent: `type` is the simple name of one of HBase's classes. */
export class RemoteException extends StoreException {
  readonly code: string;
  readonly retryable: boolean;

  constructor(type: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = type;
    this.retryable = !(CLASSES.get(type) ?? IO_EXCEPTION).doNotRetry;
  }
}

/** What our own classes are sent as, where HBase has none of the name. */
const TRANSLATED: ReadonlyMap<string, string> = new Map([
  ['StoreClosedException', 'RegionServerStoppedException'],
  ['LogFailedException', 'RegionServerAbortedException'],
  ['CorruptionException', 'CorruptHFileException'],
]);

function classOf(error: unknown): RemoteClass {
  if (!(error instanceof StoreException)) return DO_NOT_RETRY;
  const known = CLASSES.get(TRANSLATED.get(error.code) ?? error.code);
  if (known !== undefined) return known;
  return error.retryable || error.code === 'IOException' ? IO_EXCEPTION : DO_NOT_RETRY;
}

/** An error as it is sent, and whether it is none that we expect. */
export interface RemoteError extends ExceptionMessage {
  readonly isBug: boolean;
}

/** The Java class that the error is sent as, and its text. */
export function exceptionOf(error: unknown): RemoteError {
  const { name, doNotRetry } = classOf(error);
  return {
    isBug: !(error instanceof StoreException),
    className: name,
    stackTrace: `${name}: ${textOf(error, name)}`,
    doNotRetry,
    serverOverloaded: name.endsWith('.CallQueueTooBigException'),
  };
}

/** A Java class that clients know by another name than ours is named in the text as HBase does: as the cause. */
function textOf(error: unknown, className: string): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof StoreException)) return `${error.name}: ${error.message}`;
  return error.code === 'IllegalArgumentException' && className.endsWith('.DoNotRetryIOException')
    ? `java.lang.IllegalArgumentException: ${error.message}`
    : error.message;
}
