/** What the manifest knows of a stretch of time that the log does not say: tables, and files that came whole. */
import { ARCHIVED_FLAG } from '../engine/index.ts';
import type { RegionServer } from '../engine/index.ts';
import type { RegionRecord } from '../manifest/index.ts';
import { SYSTEM_NAMESPACE, parseTableName } from '../model/index.ts';
import { archivedFor } from '../txn/index.ts';
import type { BackedRecord, BackupCatalog } from './backup_format.ts';

/** Tables that are there, or were since `from`. */
export function incrementalCatalog(
  server: RegionServer,
  names: readonly string[] | null,
  from: bigint,
): BackupCatalog {
  const { manifest } = server;
  const tables = [...manifest.all('table')].filter(
    ({ name, droppedTso }) =>
      (droppedTso === null || droppedTso > from) &&
      (names === null ? parseTableName(name).namespace !== SYSTEM_NAMESPACE : names.includes(name)),
  );
  return {
    namespaces: [...manifest.all('namespace')],
    tables: tables.map((record) => ({ record, regions: regionsOf(server, record.id) })),
  };
}

/** In the order of their start keys, as they are now. */
export function regionsOf({ manifest }: RegionServer, tableId: number): RegionRecord[] {
  return [...manifest.regionsOf(tableId)]
    .filter(({ removedTso }) => removedTso === null)
    .sort((a, b) => Buffer.compare(a.startKey, b.startKey));
}

/** Files that came whole since: bulk loads, clones, restored tables, staged transactions. */
export function loadedFiles(
  { manifest }: RegionServer,
  tableIds: ReadonlySet<number>,
  from: bigint,
  to: bigint,
): BackedRecord[] {
  return [...manifest.all('file')]
    .filter(
      ({ kind, flags, addedTso, tableId }) =>
        kind === 'reference' &&
        flags.includes(ARCHIVED_FLAG) &&
        archivedFor({ flags }) === null &&
        tableIds.has(tableId) &&
        addedTso > from &&
        addedTso <= to,
    )
    .map((record): BackedRecord => ({ role: 'loaded', record }));
}
