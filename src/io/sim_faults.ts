/** Faults of the simulated file system: which operations there are, and how one fails. */
import { DiskFullException, IoException, ReadOnlyException } from './errors.ts';

/** The operations by name; the synchronous forms count with the asynchronous ones. */
export type FsOpKind =
  | 'open'
  | 'read'
  | 'write'
  | 'sync'
  | 'truncate'
  | 'readFile'
  | 'list'
  | 'stat'
  | 'ensureFolder'
  | 'rename'
  | 'link'
  | 'copy'
  | 'remove'
  | 'syncFolder'
  | 'lock';

/** An operation about to run. */
export interface FsOp {
  readonly kind: FsOpKind;
  /** As the caller gave it; of a rename, link or copy the old one. */
  readonly path: string;
  /** How many of this kind there were on this file system, this one included. */
  readonly count: number;
}

/** How an operation fails: an error of the device, no space, or a medium that may not be written. Null: it succeeds. */
export type FsFault = 'io' | 'full' | 'readonly' | null;

/** The error of an injected fault. */
export function faultError(
  fault: Exclude<FsFault, null>,
  doing: string,
  path: string,
): IoException {
  switch (fault) {
    case 'io':
      return new IoException(`cannot ${doing} ${path}: device error (injected)`, path);
    case 'full':
      return new DiskFullException(`cannot ${doing} ${path}: no space left`, path);
    case 'readonly':
      return new ReadOnlyException(`cannot ${doing} ${path}: the medium is read-only`, path);
  }
}
