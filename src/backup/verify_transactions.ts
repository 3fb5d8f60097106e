/** Checks that a backup has the staged files of the transactions that it holds as PREPARED, and that these are what was prepared. */
import { StoreException } from '../io/index.ts';
import { digestFiles, digestText, originOf } from '../txn/index.ts';
import type { Backup, BackedFile, PreparedName } from './backup_format.ts';
import { chainOf } from './chains.ts';
import type { BackupSet } from './chains.ts';
import { BackupException } from './errors.ts';
import type { Fault } from './verify.ts';
import type { Work } from './work.ts';

interface Placed {
  readonly path: string;
  readonly id: number;
  readonly tableId: number;
  readonly familyId: number;
}

/** `isQuick`: the files are there; otherwise their cells have the digest that was answered to the client. */
export async function transactionFaults(
  work: Work,
  set: BackupSet,
  backup: Backup,
  isQuick: boolean,
): Promise<Fault[]> {
  const staged = (backup.prepared ?? []).filter(({ isStaged }) => isStaged);
  if (staged.length === 0) return [];
  const files = stagedFilesOf(set, backup);
  const faults: Fault[] = [];
  for (const one of staged) {
    const own = files.get(one.txnId) ?? [];
    const path = `${set.dir}/${backup.id}`;
    if (own.length === 0) {
      // Of some tables only those are there that write one of them.
      if (backup.all) {
        faults.push({ path, what: `no staged files of the prepared transaction ${one.label}` });
      }
      continue;
    }
    const fault = isQuick ? null : await digestFault(work, one, own);
    if (fault !== null) {
      faults.push({ path: own[0]!.path, what: `prepared transaction ${one.label}: ${fault}` });
    }
    work.check();
  }
  return faults;
}

/** Of a chain that does not hang together another check tells. */
function stagedFilesOf(set: BackupSet, backup: Backup): Map<bigint, Placed[]> {
  let chain: readonly Backup[] = [backup];
  try {
    chain = chainOf(set, backup);
  } catch (error) {
    if (!(error instanceof BackupException)) throw error;
  }
  const found = new Map<bigint, Placed[]>();
  for (const link of chain) {
    for (const { files } of link.parts) {
      const own = new Map<bigint, Placed[]>();
      for (const file of files) note(own, file, `${set.dir}/${link.id}`);
      // Of one that was sealed again the later files count.
      for (const [txnId, placed] of own) {
        found.set(
          txnId,
          placed.sort((a, b) => a.id - b.id),
        );
      }
    }
  }
  return found;
}

function note(own: Map<bigint, Placed[]>, file: BackedFile, dir: string): void {
  for (const { role, record, txnId } of file.records) {
    if (role !== 'staged' || txnId === undefined) continue;
    const { id, tableId, familyId } = record;
    const placed = { path: `${dir}/${file.path}`, id, tableId, familyId };
    own.set(txnId, [...(own.get(txnId) ?? []), placed]);
  }
}

async function digestFault(
  work: Work,
  { cells, digest, origins }: PreparedName,
  own: readonly Placed[],
): Promise<string | null> {
  const files = own.map(({ path, ...place }) => ({ path, ...originOf(place, origins) }));
  try {
    const found = await digestFiles({ files }, work.env);
    if (found.cells !== cells) return `its files hold ${found.cells} cells, not ${cells}`;
    const text = digestText(found.crc);
    return text === digest ? null : `its files have the digest ${text}, not ${digest}`;
  } catch (error) {
    if (!(error instanceof StoreException)) throw error;
    return error.message;
  }
}
