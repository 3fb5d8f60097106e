/**
 * Replays the log into the memstores at open: each record whole, its cells to the region of their row, with the write
 * number and timestamps they had. Records of dropped tables and families are skipped, as are cells that a flush has
 * already brought into a store file.
 */
import { compareRanges, rowLengthAt, ROW_AT } from '../cell/index.ts';
import { CorruptionException } from '../io/index.ts';
import { droppedIdKey } from '../manifest/index.ts';
import type { Manifest } from '../manifest/index.ts';
import type { Region, Store } from '../region/index.ts';
import { KIND_COMMIT } from '../wal/index.ts';
import type { LogRecord } from '../wal/index.ts';
import type { Catalog } from './catalog.ts';
import type { Nonces } from './nonces.ts';
import { isLess, joinHalves } from './read_point.ts';
import type { TableState } from './table_state.ts';

export class LogReplay {
  readonly #catalog: Catalog;
  readonly #manifest: Manifest;
  readonly #nonces: Nonces;
  #region: Region | null = null;
  commits = 0;
  /** Cells that went into memstores. */
  cells = 0;

  constructor(catalog: Catalog, manifest: Manifest, nonces: Nonces) {
    this.#catalog = catalog;
    this.#manifest = manifest;
    this.#nonces = nonces;
  }

  /** Throws CorruptionException for cells of a table or family that never was. */
  record(record: LogRecord): void {
    if (record.kind !== KIND_COMMIT) return;
    this.commits++;
    const nonce = record.nonce;
    if (nonce !== null) {
      const tso = joinHalves(record.tsoHigh, record.tsoLow);
      this.#nonces.recovered(nonce, tso, Number(tso >> 18n));
    }
    while (record.nextGroup()) {
      const table = this.#tableOf(record);
      const family = table === null ? -1 : this.#familyOf(record, table);
      if (table === null || family < 0) this.#skipGroup(record);
      else this.#replayGroup(record, table, family);
    }
  }

  /** Null: the table was dropped. */
  #tableOf(record: LogRecord): TableState | null {
    const table = this.#catalog.byId(record.tableId);
    if (table !== undefined) return table;
    if (this.#isDropped('table', record.tableId)) return null;
    throw this.#unknown(record, `table ${record.tableId}`);
  }

  /** Index of the family; -1: it was dropped. */
  #familyOf(record: LogRecord, table: TableState): number {
    const index = table.families.findIndex((family) => family.id === record.familyId);
    if (index >= 0 || this.#isDropped('family', record.familyId)) return index;
    throw this.#unknown(record, `family ${record.familyId} of table ${table.name}`);
  }

  #isDropped(kind: 'table' | 'family', id: number): boolean {
    return this.#manifest.get('droppedId', droppedIdKey(kind, id)) !== undefined;
  }

  #unknown(record: LogRecord, what: string): CorruptionException {
    return new CorruptionException(
      `the log has cells of ${what}, which the manifest does not know,`,
      record.path,
      record.offset,
    );
  }

  #skipGroup(record: LogRecord): void {
    // Every cell is looked at all the same: damage is told wherever it is.
    while (record.nextCell());
  }

  #replayGroup(record: LogRecord, table: TableState, familyIndex: number): void {
    const { tsoHigh, tsoLow } = record;
    while (record.nextCell()) {
      const { buf, cellAt, cellLength } = record;
      const region = this.#regionOf(table, buf, cellAt);
      const store: Store = region.stores[familyIndex]!;
      if (!isLess(store.flushedHigh, store.flushedLow, tsoHigh, tsoLow)) continue;
      this.cells++;
      store.memstore.insert(buf, cellAt, cellLength, tsoHigh, tsoLow);
    }
  }

  #regionOf(table: TableState, buf: Uint8Array, cellAt: number): Region {
    if (table.regions.length === 1) return table.regions[0]!;
    const rowAt = cellAt + ROW_AT;
    const rowLength = rowLengthAt(buf, cellAt);
    const last = this.#region;
    if (last?.tableId === table.id && holds(last, buf, rowAt, rowLength)) return last;
    this.#region = table.regionOf(buf.subarray(rowAt, rowAt + rowLength));
    return this.#region;
  }
}

function holds(region: Region, buf: Uint8Array, rowAt: number, rowLength: number): boolean {
  const { startKey, endKey } = region;
  return (
    compareRanges(buf, rowAt, rowLength, startKey, 0, startKey.length) >= 0 &&
    (endKey.length === 0 || compareRanges(buf, rowAt, rowLength, endKey, 0, endKey.length) < 0)
  );
}
