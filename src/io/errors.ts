/**
 * The base of every error that a user can meet, the error of our own broken promises, and the errors of the outside world.
 */

/** Expected failures. Match on the class or on `code`, never on the text. */
export abstract class StoreException extends Error {
  /** Stable name for programs; equals the class name. */
  abstract readonly code: string;
  /** The same request may succeed later, unchanged. */
  abstract readonly retryable: boolean;
  override get name(): string {
    return this.code;
  }
}

/** A promise of our own code was broken. Nobody catches it but the engine, which then stops writing. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Asserts a fact that our own code guarantees. The text is built only on failure. */
export function invariant(
  holds: boolean,
  what: string,
  a?: number | string,
  b?: number | string,
): asserts holds {
  if (holds) return;
  const detail = [a, b].filter((value) => value !== undefined).join(', ');
  throw new InvariantError(detail === '' ? what : `${what} (${detail})`);
}

/** A file operation failed; `cause` is the system's error. */
export class IoException extends StoreException {
  readonly code: string = 'IoException';
  readonly retryable: boolean = false;
  readonly path: string;
  constructor(message: string, path: string, options?: ErrorOptions) {
    super(message, options);
    this.path = path;
  }
}

export class FileNotFoundException extends IoException {
  override readonly code: string = 'FileNotFoundException';
}

/** No space, or the quota is used up. Retryable: space may come back. */
export class DiskFullException extends IoException {
  override readonly code: string = 'DiskFullException';
  override readonly retryable: boolean = true;
}

/** The folder or file may not be written: read-only medium or missing rights. */
export class ReadOnlyException extends IoException {
  override readonly code: string = 'ReadOnlyException';
}

/** Another opener holds the folder. */
export class FolderLockedException extends IoException {
  override readonly code: string = 'FolderLockedException';
  override readonly retryable: boolean = true;
  readonly holderPid: number;
  readonly holderAddress: string | null;
  constructor(message: string, path: string, holder: { pid: number; address: string | null }) {
    super(message, path);
    this.holderPid = holder.pid;
    this.holderAddress = holder.address;
  }
}

/** Bytes on the disk are not what was written. Names the file and the offset in bytes. */
export class CorruptionException extends StoreException {
  readonly code: string = 'CorruptionException';
  readonly retryable: boolean = false;
  readonly path: string;
  readonly offset: number;
  constructor(what: string, path: string, offset: number, options?: ErrorOptions) {
    super(`${what} in ${path} at offset ${offset}`, options);
    this.path = path;
    this.offset = offset;
  }
}

/** A background job failed with an error that is none of its declared classes, or its worker died. */
export class JobFailedException extends StoreException {
  readonly code: string = 'JobFailedException';
  readonly retryable: boolean = false;
  /** The name of the error in the worker, e.g. `TypeError`. */
  readonly causeName: string;
  constructor(message: string, causeName: string, options?: ErrorOptions) {
    super(message, options);
    this.causeName = causeName;
  }
}
