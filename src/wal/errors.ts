/** The failures that belong to the log. Damage is `CorruptionException`, a full disk `DiskFullException` (io). */
import { StoreException } from '../io/index.ts';
import { LogFailedException as LogFailed } from '../model/index.ts';

/**
 * A write or sync of the log failed. For good: it is never retried on the same file, since after a failed sync nobody
 * knows what the disk holds. Every later append, `makeRoom` and `sync` throws the same error; the next open recovers.
 */
export class LogFailedException extends LogFailed {
  readonly path: string;
  constructor(what: string, path: string, options?: ErrorOptions) {
    super(`${what} in ${path}: the log takes no more writes until the store is reopened`, options);
    this.path = path;
  }
}

/** The writer was closed. */
export class LogClosedException extends StoreException {
  readonly code: string = 'LogClosedException';
  readonly retryable: boolean = false;
  constructor(dir: string) {
    super(`the log in ${dir} is closed`);
  }
}

/** A segment was written by a newer version, whose rules this one does not know. Nothing was changed. */
export class LogVersionException extends StoreException {
  readonly code: string = 'LogVersionException';
  readonly retryable: boolean = false;
  readonly path: string;
  readonly version: number;
  constructor(path: string, version: number, supported: number) {
    super(`${path} has log version ${version}; this program reads up to version ${supported}`);
    this.path = path;
    this.version = version;
  }
}
