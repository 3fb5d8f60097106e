/**
 * Two-phase transactions in backups. The ledger (txn/ledger.ts), which holds states and the cells of small transactions, is backed
 * up as a table is: files of a moment, then commits of the log. Large ones have staged files: those of transactions that were
 * prepared within a part, and not yet in the chain, come with it, with their records as they were before the decision.
 */
import { ARCHIVED_FLAG, EmbeddedTable, hiddenName } from '../engine/index.ts';
import type { CapturedTable, RegionServer } from '../engine/index.ts';
import type { FileRecord } from '../manifest/index.ts';
import { LEDGER_TABLE, Ledger, archivedFor, stagedFlags } from '../txn/index.ts';
import type { LedgerRecord } from '../txn/index.ts';
import type {
  BackedRecord,
  Backup,
  BackupPart,
  CatalogTable,
  PreparedName,
} from './backup_format.ts';
import { regionsOf } from './increments.ts';

/** The name by which a capture finds the ledger; none before the first transaction that had to be kept. */
export const ledgerNames = ({ catalog }: RegionServer): string[] =>
  catalog.find(hiddenName(LEDGER_TABLE)) === undefined ? [] : [hiddenName(LEDGER_TABLE)];

/** Takes the ledger out of what was captured. */
export function splitLedger(tables: readonly CapturedTable[]): {
  readonly own: readonly CapturedTable[];
  readonly ledger: CatalogTable | null;
} {
  const found = tables.find(({ record }) => record.name === LEDGER_TABLE);
  return {
    own: tables.filter((table) => table !== found),
    ledger: found === undefined ? null : { record: found.record, regions: found.regions },
  };
}

/** The ledger now, for a part that goes on from a chain; null: there is none, or the chain does not have what came before. */
export function ledgerOf(server: RegionServer, chain: readonly Backup[]): CatalogTable | null {
  const { manifest, catalog } = server;
  const state = catalog.find(hiddenName(LEDGER_TABLE));
  const record = state === undefined ? undefined : manifest.get('table', state.id);
  if (record === undefined) return null;
  const isWhole = chain
    .flatMap(({ parts }) => parts)
    .every(({ ledger, toTso }) => ledger !== undefined || toTso < record.createdTso);
  if (!isWhole) return null;
  return { record, regions: regionsOf(server, record.id) };
}

/** What was prepared and not decided as of this moment. */
export function preparedAsOf(server: RegionServer, tso: bigint): Promise<LedgerRecord[]> {
  const table = new EmbeddedTable(server, hiddenName(LEDGER_TABLE));
  return new Ledger(server, table).preparedAsOf(tso);
}

export const namesOf = (records: readonly LedgerRecord[]): PreparedName[] =>
  records.map(({ id, namespace, label, rows, cells, bytes, digest, isStaged, origins }) => ({
    txnId: BigInt(id),
    namespace,
    label,
    rows,
    cells,
    bytes,
    digest,
    isStaged,
    ...(origins === undefined ? {} : { origins }),
  }));

export interface StagedRecords {
  readonly records: readonly BackedRecord[];
  /** Lets the files go. */
  release(): Promise<void>;
}

/**
 * Records of the staged files of `prepared`, and of those that were decided after `from`: these are named by the archive, which has
 * to be held from there on. `tableIds` null: of all tables; otherwise of transactions that write one of them. The files stay until
 * the release.
 */
export function stagedRecords(
  server: RegionServer,
  prepared: readonly LedgerRecord[],
  span: { readonly from: bigint; readonly to: bigint },
  tableIds: ReadonlySet<number> | null,
): StagedRecords {
  const { manifest, files } = server;
  const ids = new Set(prepared.map(({ id }) => BigInt(id)));
  const byId = new Map<bigint, FileRecord[]>();
  for (const { id, state, fileIds } of manifest.all('transaction')) {
    if (state !== 'PREPARED' || !ids.has(id)) continue;
    byId.set(
      id,
      fileIds.flatMap((fileId) => manifest.get('file', fileId) ?? []),
    );
  }
  for (const record of manifest.all('file')) {
    const id = record.flags.includes(ARCHIVED_FLAG) ? archivedFor(record) : null;
    if (id === null || record.addedTso <= span.from) continue;
    // Those that were prepared and decided after the part's end are none of its.
    if (record.addedTso > span.to && !ids.has(id)) continue;
    const known = byId.get(id);
    if (known === undefined) byId.set(id, [record]);
    else known.push(record);
  }
  const records: BackedRecord[] = [];
  for (const [txnId, found] of byId) {
    if (tableIds !== null && !found.some(({ tableId }) => tableIds.has(tableId))) continue;
    found.sort((a, b) => a.id - b.id);
    for (const one of found) {
      const record: FileRecord = { ...one, kind: 'staged', flags: stagedFlags(one), addedTso: 0n };
      records.push({ role: 'staged', record, txnId });
    }
  }
  const release = files.hold(records.map(({ record }) => record.path));
  return { records, release };
}

/** The staged files that a chain has already, by their paths in the data folder. */
export function stagedIn(chain: readonly Backup[]): Set<string> {
  const paths = chain
    .flatMap(({ parts }) => parts)
    .flatMap((part) => stagedOf(part))
    .map(({ record }) => record.path);
  return new Set(paths);
}

export const stagedOf = ({ files }: BackupPart): BackedRecord[] =>
  files.flatMap(({ records }) => records.filter(({ role }) => role === 'staged'));
