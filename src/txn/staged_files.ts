/** What of a transaction lies in files. */
import { ARCHIVED_FLAG } from '../engine/index.ts';
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

const STAGED_FLAG = 'staged:';

/** Its files as they were while it was PREPARED, for the archive: a backup of such a moment names them so. */
export function archivedStaged(
  id: bigint,
  files: readonly FileRecord[],
  tso: bigint,
): FileRecord[] {
  return files.map((file) => ({
    ...file,
    flags: [...file.flags, `${STAGED_FLAG}${id}`],
    addedTso: tso,
  }));
}

/** The transaction whose staged file a record of the archive names; null: the record is of other files. */
export function archivedFor({ flags }: Pick<FileRecord, 'flags'>): bigint | null {
  const flag = flags.find((one) => one.startsWith(STAGED_FLAG));
  return flag === undefined ? null : BigInt(flag.slice(STAGED_FLAG.length));
}

/** The flags of a staged file itself. */
export const stagedFlags = ({ flags }: Pick<FileRecord, 'flags'>): string[] =>
  flags.filter((flag) => flag !== ARCHIVED_FLAG && !flag.startsWith(STAGED_FLAG));
