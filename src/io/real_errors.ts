/** From the system's errors to ours. */
import {
  DiskFullException,
  FileNotFoundException,
  IoException,
  ReadOnlyException,
} from './errors.ts';

/** The system's name of an error, e.g. `ENOENT`; empty if it is none of the system's. */
export function systemCode(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** Wraps what a file operation threw; `doing` reads as "cannot <doing> <path>". An `IoException` passes as it is. */
export function toIoException(error: unknown, doing: string, path: string): IoException {
  if (error instanceof IoException) return error;
  const options = { cause: error };
  const reason = error instanceof Error ? error.message : String(error);
  const message = `cannot ${doing} ${path}: ${reason}`;
  switch (systemCode(error)) {
    case 'ENOENT':
      return new FileNotFoundException(message, path, options);
    case 'ENOSPC':
    case 'EDQUOT':
      return new DiskFullException(message, path, options);
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return new ReadOnlyException(message, path, options);
    default:
      return new IoException(message, path, options);
  }
}
