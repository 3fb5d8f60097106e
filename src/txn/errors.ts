/** What of the engine's errors a verb answers with. */
import { DiskFullException, StoreException } from '../io/index.ts';
import { LogFailedException, TransactionException } from '../model/index.ts';
import { LogClosedException, LogFailedException as LogFailure } from '../wal/index.ts';

/** The decision was sent to the disk, and its sync failed: the next opening finds out what became of it. */
export function outcomeUnknown(what: string, cause: unknown): TransactionException {
  return new TransactionException(
    'OUTCOME_UNKNOWN',
    `${what} may be on the disk or not: repeat it after the store was opened again`,
    {},
    { cause },
  );
}

/** A failed log makes the outcome of a verb unknown; other errors stay what they are. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof TransactionException || error instanceof DiskFullException) return error;
  const isLogFailure =
    error instanceof LogFailure ||
    error instanceof LogFailedException ||
    error instanceof LogClosedException;
  if (isLogFailure) return outcomeUnknown('the transaction’s state', error);
  return error instanceof StoreException || error instanceof Error
    ? error
    : new Error(String(error));
}
