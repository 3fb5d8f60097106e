/** Which rows of its physical file a record in a backup stands for, and which regions of a new table they belong to. */
import { compareBytes } from '../cell/index.ts';
import { ARCHIVED_FLAG, PART_FLAG } from '../engine/index.ts';
import type { FileRecord } from '../manifest/index.ts';
import type { BackupPart } from './backup_format.ts';
import type { BuiltTable, FileFacts } from './built_table.ts';

const NO_KEY: Uint8Array = new Uint8Array(0);

/** The rows of its file that a record stands for. */
export function rowsOf(
  record: FileRecord,
  part: BackupPart,
): { readonly from: Uint8Array; readonly to: Uint8Array } {
  if (record.reference !== null)
    return { from: record.reference.fromRow, to: record.reference.toRow };
  if (!record.flags.includes(PART_FLAG)) return { from: NO_KEY, to: NO_KEY };
  if (record.regionId === null) {
    // A record for the archive: its region may be gone, its rows say what it stood for.
    return {
      from: record.firstRow ?? NO_KEY,
      to: record.lastRow === null ? NO_KEY : after(record.lastRow),
    };
  }
  for (const { regions } of part.catalog.tables) {
    const region = regions.find(({ id }) => id === record.regionId);
    if (region !== undefined) return { from: region.startKey, to: region.endKey };
  }
  return {
    from: record.firstRow ?? NO_KEY,
    to: record.lastRow === null ? NO_KEY : after(record.lastRow),
  };
}

/** The least row above this one. */
function after(row: Uint8Array): Uint8Array {
  const next = new Uint8Array(row.length + 1);
  next.set(row);
  return next;
}

/** Whether the row lies in [from, to); an empty end is none. */
export function isWithin(row: Uint8Array, from: Uint8Array, to: Uint8Array): boolean {
  return compareBytes(row, from) >= 0 && (to.length === 0 || compareBytes(row, to) < 0);
}

/** A record of each region of the new table that has rows of the file. */
export function spread(
  record: FileRecord,
  table: BuiltTable,
  part: BackupPart,
  path: string,
): { readonly region: number; readonly facts: FileFacts }[] {
  const { from, to } = rowsOf(record, part);
  const { firstRow, lastRow } = record;
  if (firstRow === null || lastRow === null) return [];
  const isPart = from.length > 0 || to.length > 0;
  const found: { region: number; facts: FileFacts }[] = [];
  for (let region = 0; region < table.startKeys.length; region++) {
    const startKey = table.startKeys[region]!;
    const endKey = table.endKey(region);
    if (compareBytes(lastRow, startKey) < 0) break;
    if (endKey.length > 0 && compareBytes(firstRow, endKey) >= 0) continue;
    const isWhole =
      compareBytes(firstRow, startKey) >= 0 &&
      (endKey.length === 0 || compareBytes(lastRow, endKey) < 0);
    const bounds = {
      fromRow: compareBytes(from, startKey) > 0 ? from : startKey,
      toRow: earlier(to, endKey),
    };
    found.push({
      region,
      facts: {
        ...factsOf(record),
        path,
        kind: 'store',
        dropTso: null,
        maxFlushedTso: null,
        removedTso: null,
        flags: record.flags.filter((flag) => flag !== PART_FLAG && flag !== ARCHIVED_FLAG),
        reference: isWhole && !isPart ? null : { fileId: record.id, ...bounds },
      },
    });
  }
  return found;
}

/** The record but for what placing it decides. */
function factsOf(record: FileRecord): FileFacts {
  return {
    path: record.path,
    kind: record.kind,
    sizeBytes: record.sizeBytes,
    cellCount: record.cellCount,
    firstRow: record.firstRow,
    lastRow: record.lastRow,
    minTimestamp: record.minTimestamp,
    maxTimestamp: record.maxTimestamp,
    minWriteNumber: record.minWriteNumber,
    maxWriteNumber: record.maxWriteNumber,
    maxFlushedTso: record.maxFlushedTso,
    dropTso: record.dropTso,
    stamp: record.stamp,
    reference: record.reference,
    level: record.level,
    flags: record.flags,
    removedTso: record.removedTso,
  };
}

function earlier(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  return compareBytes(a, b) < 0 ? a : b;
}
