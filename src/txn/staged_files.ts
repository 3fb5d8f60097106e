/** What of a transaction lies in files. */
import type { FileRecord } from '../manifest/index.ts';

/** A sorted run of loaded cells, spilled while the transaction is open. */
export interface RunFile {
  readonly tableId: number;
  readonly familyId: number;
  /** Absolute. */
  readonly path: string;
}

export interface StagedFiles {
  /** OPEN. */
  runs: RunFile[];
  /** PREPARED: the manifest's records of the files that the commit will link. */
  files: FileRecord[];
  /** Bytes on the disk. */
  bytes: number;
  /** The files' digest was computed in this process. */
  isVerified: boolean;
}
