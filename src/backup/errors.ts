/** Failures of exports, imports, backups and restores beside those of the store and the files. */
import { StoreException } from '../io/index.ts';

/** Ctrl-C, or `isStopped` said so. What was begun is undone or can be resumed, as the operation says. */
export class InterruptedIOException extends StoreException {
  readonly code: string = 'InterruptedIOException';
  readonly retryable: boolean = true;
}

/** A folder holds no export or backup, or one that this program cannot read. The text names it. */
export class ExportFormatException extends StoreException {
  readonly code: string = 'ExportFormatException';
  readonly retryable: boolean = false;
}

/** A backup is missing, damaged, or does not reach where it is wanted. The text names backup and file. */
export class BackupException extends StoreException {
  readonly code: string = 'BackupException';
  readonly retryable: boolean = false;
}
