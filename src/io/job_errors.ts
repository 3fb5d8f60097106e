/** Errors on their way from a worker: as plain data, and made into their class again. */
import type { ErrorClass } from './env.ts';
import {
  CorruptionException,
  DiskFullException,
  FileNotFoundException,
  FolderLockedException,
  InvariantError,
  IoException,
  JobFailedException,
  ReadOnlyException,
} from './errors.ts';

type FieldValue = string | number | bigint | boolean | null | Uint8Array;

/** An error as data. `cause` is kept to a depth of `CAUSES_MAX`. */
export interface ErrorData {
  /** The class: `code` for ours, which survives a minifier, else `name`. */
  readonly className: string;
  readonly message: string;
  readonly stack: string;
  readonly fields: Readonly<Record<string, FieldValue>>;
  readonly cause: ErrorData | null;
}

const CAUSES_MAX = 4;

const OWN_CLASSES: readonly ErrorClass[] = [
  IoException,
  FileNotFoundException,
  DiskFullException,
  ReadOnlyException,
  FolderLockedException,
  CorruptionException,
  InvariantError,
  JobFailedException,
];

function isFieldValue(value: unknown): value is FieldValue {
  return (
    value === null ||
    value instanceof Uint8Array ||
    ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
  );
}

/** What crosses the thread boundary; anything thrown is accepted. */
export function errorToData(error: unknown, depth: number = 0): ErrorData {
  if (!(error instanceof Error)) {
    return { className: typeof error, message: String(error), stack: '', fields: {}, cause: null };
  }
  const fields: Record<string, FieldValue> = {};
  for (const [name, value] of Object.entries(error)) {
    if (name !== 'cause' && name !== 'stack' && isFieldValue(value)) fields[name] = value;
  }
  const code = fields['code'];
  return {
    className: typeof code === 'string' && error.name === code ? code : error.name,
    message: error.message,
    stack: error.stack ?? '',
    fields,
    cause:
      error.cause === undefined || depth === CAUSES_MAX
        ? null
        : errorToData(error.cause, depth + 1),
  };
}

/**
 * The error again, as an instance of its class if that is io's or among `classes`, else as `JobFailedException`. The
 * constructor is not run: fields, message and the worker's stack are put in place.
 */
export function errorFromData(data: ErrorData, classes: readonly ErrorClass[] = []): Error {
  const cause = data.cause === null ? undefined : plainError(data.cause);
  const found = [...OWN_CLASSES, ...classes].find(({ name }) => name === data.className);
  if (found === undefined) {
    const options = cause === undefined ? {} : { cause };
    const text = `${data.className}: ${data.message}`;
    const failed = new JobFailedException(`job failed: ${text}`, data.className, options);
    failed.stack = data.stack;
    return failed;
  }
  const error: unknown = Object.create(found.prototype);
  if (!(error instanceof Error)) throw new InvariantError(`${found.name} is no class of errors`);
  const hidden = { configurable: true, writable: true, enumerable: false };
  Object.defineProperty(error, 'message', { ...hidden, value: data.message });
  Object.defineProperty(error, 'stack', { ...hidden, value: data.stack });
  if (cause !== undefined) Object.defineProperty(error, 'cause', { ...hidden, value: cause });
  for (const [name, value] of Object.entries(data.fields)) {
    Object.defineProperty(error, name, { ...hidden, enumerable: true, value });
  }
  return error;
}

/** A cause is for people: its name, text and stack are enough. */
function plainError(data: ErrorData): Error {
  const cause = data.cause === null ? undefined : plainError(data.cause);
  const error = new Error(data.message, cause === undefined ? {} : { cause });
  error.name = data.className;
  error.stack = data.stack;
  return Object.assign(error, data.fields);
}
