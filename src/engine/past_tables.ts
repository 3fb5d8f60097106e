/**
 * Tables as they were: reads as of a moment find the table that had the name then, with the descriptor it had and the
 * families it had. A table that was dropped or truncated stays here, whole, until nobody may read it any more; a family
 * that was dropped stays with its regions (`Region#formerStores`).
 */
import { compareBytes } from '../cell/index.ts';
import type { CellSource } from '../cell/index.ts';
import { invariant } from '../io/index.ts';
import { flushedKey, remove } from '../manifest/index.ts';
import type { Edit, Manifest, SchemaVersion } from '../manifest/index.ts';
import {
  NoSuchColumnFamilyException,
  TableNotFoundException,
  canonicalTableName,
} from '../model/index.ts';
import type { FamilySettings } from '../model/index.ts';
import { Region, Store } from '../region/index.ts';
import type { SourceWishes, StoreFile } from '../region/index.ts';
import { familiesOf, openTable } from './catalog.ts';
import type { Catalog } from './catalog.ts';
import { floorSetting } from './history_floor.ts';
import type { HistoryFloor } from './history_floor.ts';
import type { StoreFiles } from './store_files.ts';
import { TableState } from './table_state.ts';
import type { FamilyState } from './table_state.ts';
import { tsoText } from './tso_text.ts';

/** A family of a region as a reader sees it. */
export interface ReadableFamily {
  readonly settings: FamilySettings;
  sources(wishes: SourceWishes): CellSource[];
}

/** A region as a reader sees it: a Region, or one as it was. */
export interface ReadableRegion {
  readonly encodedName: string;
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
  readonly layoutVersion: number;
  readRequests: number;
  readonly stores: readonly ReadableFamily[];
  needsHistory(high: number, low: number): boolean;
}

/** A table as a reader sees it: a TableState, or one as it was. */
export interface ReadableTable {
  readonly id: number;
  readonly name: string;
  readonly version: number;
  readonly regions: readonly ReadableRegion[];
  regionOf(row: Uint8Array): ReadableRegion;
  /** Throws NoSuchColumnFamilyException. */
  familyIndex(name: string): number;
}

/** A table that was dropped or truncated. */
export interface DroppedTable {
  readonly table: TableState;
  readonly droppedTso: bigint;
}

export class PastTables {
  readonly floors: HistoryFloor;
  readonly #catalog: Catalog;
  readonly #manifest: Manifest;
  #dropped: readonly DroppedTable[] = [];
  /** Views made before, by the TSO of their descriptor. */
  readonly #views = new WeakMap<TableState, Map<bigint, PastTable>>();

  constructor(parts: {
    readonly catalog: Catalog;
    readonly manifest: Manifest;
    readonly floors: HistoryFloor;
  }) {
    this.#catalog = parts.catalog;
    this.#manifest = parts.manifest;
    this.floors = parts.floors;
  }

  /** Finds the dropped tables that are still kept, at open. */
  load(files: StoreFiles): void {
    for (const record of this.#manifest.all('table')) {
      if (record.droppedTso === null) continue;
      const table = openTable(record, [...this.#manifest.regionsOf(record.id)]);
      table.replaced = true;
      files.attach(table);
      this.add(table, record.droppedTso);
    }
  }

  /** Keeps a table that has left the catalog. */
  add(table: TableState, droppedTso: bigint): void {
    this.#dropped = [...this.#dropped, { table, droppedTso }];
  }

  /** The retention has passed. */
  forget(dropped: DroppedTable): void {
    this.#dropped = this.#dropped.filter((kept) => kept !== dropped);
  }

  get dropped(): readonly DroppedTable[] {
    return this.#dropped;
  }

  /**
   * The table of this name as a reader at `tso` sees it. Throws TableNotFoundException if there was none,
   * TableNotEnabledException if it is still there and disabled now, SnapshotTooOld if that is too long ago.
   */
  at(name: string, tso: bigint): ReadableTable {
    const live = this.#catalog.find(name);
    if (live !== undefined && live.createdTso <= tso) {
      this.#catalog.enabled(name);
      this.floors.check(live.id, tso, live.name);
      return this.asOf(live, tso);
    }
    const canonical = canonicalTableName(name);
    for (const { table, droppedTso } of this.#dropped) {
      if (table.name !== canonical || tso < table.createdTso || tso >= droppedTso) continue;
      this.floors.check(table.id, tso, table.name);
      return this.asOf(table, tso);
    }
    this.floors.check(null, tso, name);
    throw new TableNotFoundException(`Table '${name}' was not found as of TSO ${tsoText(tso)}`);
  }

  /** The table with the descriptor that a reader at `tso` sees. */
  asOf(table: TableState, tso: bigint): ReadableTable {
    if (tso >= table.describedTso) return table;
    const version = this.#descriptor(table, tso);
    const views = this.#views.get(table) ?? new Map<bigint, PastTable>();
    this.#views.set(table, views);
    const known = views.get(version.tso);
    if (known !== undefined && known.isCurrent) return known;
    const view = new PastTable(table, familiesOf(version.schema, version.familyIds));
    views.set(version.tso, view);
    return view;
  }

  /** Table and region as a reader at `tso` sees them, who found them before the table was altered perhaps. */
  seenAt(
    table: ReadableTable,
    region: ReadableRegion,
    tso: bigint,
  ): { readonly table: ReadableTable; readonly region: ReadableRegion } {
    const isAltered =
      table instanceof TableState && region instanceof Region && tso < table.describedTso;
    if (!isAltered) return { table, region };
    const { schema, familyIds } = this.#descriptor(table, tso);
    const families = familiesOf(schema, familyIds);
    return { table: new PastTable(table, families), region: new PastRegion(region, families) };
  }

  /** The first one for a reader that saw the table come to be. */
  #descriptor(table: TableState, tso: bigint): SchemaVersion {
    const record = this.#manifest.get('table', table.id);
    invariant(record !== undefined, `table ${table.name} has a record`);
    const version = record.schemas.findLast((candidate) => candidate.tso <= tso);
    return version ?? record.schemas[0]!;
  }
}

/** A table with an older descriptor, over the regions it has now. */
class PastTable implements ReadableTable {
  readonly id: number;
  readonly name: string;
  readonly version: number;
  readonly #families: readonly FamilyState[];
  readonly #table: TableState;
  #tableRegions: readonly Region[];
  #regions: readonly PastRegion[];

  constructor(table: TableState, families: readonly FamilyState[]) {
    this.id = table.id;
    this.name = table.name;
    this.version = table.version;
    this.#table = table;
    this.#tableRegions = table.regions;
    this.#families = families;
    this.#regions = table.regions.map((region) => new PastRegion(region, families));
  }

  get isCurrent(): boolean {
    return this.version === this.#table.version;
  }

  /** Those that the table has now: they hold what was in others before a split. */
  get regions(): readonly PastRegion[] {
    if (this.#tableRegions !== this.#table.regions) {
      this.#tableRegions = this.#table.regions;
      this.#regions = this.#tableRegions.map((region) => new PastRegion(region, this.#families));
    }
    return this.#regions;
  }

  regionOf(row: Uint8Array): ReadableRegion {
    const found = this.regions.findLast((region) => compareBytes(region.startKey, row) <= 0);
    invariant(found !== undefined, 'the first region starts at the empty key');
    return found;
  }

  familyIndex(name: string): number {
    const index = this.#families.findIndex(({ settings }) => settings.name === name);
    if (index >= 0) return index;
    const names = this.#families.map(({ settings }) => settings.name).join(', ');
    throw new NoSuchColumnFamilyException(
      `Column family ${name} did not exist in table ${this.name} then; it had ${names}`,
    );
  }
}

class PastRegion implements ReadableRegion {
  readonly stores: readonly ReadableFamily[];
  readonly #region: Region;

  constructor(region: Region, families: readonly FamilyState[]) {
    this.#region = region;
    this.stores = families.map((family) => pastFamily(region, family));
  }

  get encodedName(): string {
    return this.#region.encodedName;
  }

  get startKey(): Uint8Array {
    return this.#region.startKey;
  }

  get endKey(): Uint8Array {
    return this.#region.endKey;
  }

  get readRequests(): number {
    return this.#region.readRequests;
  }

  set readRequests(count: number) {
    this.#region.readRequests = count;
  }

  get layoutVersion(): number {
    return this.#region.layoutVersion;
  }

  /** Its readers are not kept for later ones: their settings are not the region's. */
  needsHistory(): boolean {
    return true;
  }
}

function pastFamily(region: Region, { id, settings }: FamilyState): ReadableFamily {
  const stores = [...region.stores, ...region.formerStores];
  // A dropped family that held nothing has left no store.
  const store = stores.find(({ familyId }) => familyId === id) ?? new Store(id, settings);
  return { settings, sources: (wishes) => store.sources(wishes) };
}

/** Every file that belongs to the table: live ones, history, those of dropped families. */
export function filesOf(table: TableState): StoreFile[] {
  return table.regions.flatMap(filesOfRegion);
}

/** Every file of a region. */
export function filesOfRegion({ stores, formerStores }: Region): StoreFile[] {
  return [...stores, ...formerStores].flatMap(({ files, history }) => [
    ...files,
    ...history.map(({ file }) => file),
  ]);
}

/** Edits that take away every record of a table. */
export function recordsOfTable(manifest: Manifest, tableId: number): Edit[] {
  const edits: Edit[] = [remove('table', tableId), remove('setting', floorSetting(tableId))];
  const schemas = manifest.get('table', tableId)?.schemas ?? [];
  const familyIds = new Set(schemas.flatMap((version) => Object.values(version.familyIds)));
  for (const region of manifest.regionsOf(tableId)) {
    for (const { id } of manifest.filesOf(region.id)) edits.push(remove('file', id));
    for (const id of familyIds) edits.push(remove('flushed', flushedKey(region.id, id)));
    edits.push(remove('region', region.id));
  }
  return edits;
}
