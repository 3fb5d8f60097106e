/**
 * The tables and regions of an open store, as the manifest describes them: built at open, changed by changes of schema
 * after their manifest records are on the disk.
 */
import type { Manifest, RegionRecord, SchemaVersion, TableRecord } from '../manifest/index.ts';
import { invariant } from '../io/index.ts';
import {
  DoNotRetryIOException,
  TableNotEnabledException,
  TableNotFoundException,
  canonicalTableName,
  familySettings,
  isHiddenTable,
  tableSettings,
} from '../model/index.ts';
import type { TableSchema } from '../model/index.ts';
import { Region, Store } from '../region/index.ts';
import { TableState } from './table_state.ts';
import type { FamilyState } from './table_state.ts';

export class Catalog {
  readonly #tables = new Map<string, TableState>();
  readonly #byId = new Map<number, TableState>();
  /** Canonical names by the spelling that callers use. */
  readonly #canonical = new Map<string, string>();

  /** Loads every live table. */
  load(manifest: Manifest): void {
    for (const record of manifest.all('table')) {
      if (record.droppedTso !== null) continue;
      this.add(openTable(record, [...manifest.regionsOf(record.id)]));
    }
  }

  add(table: TableState): void {
    this.#tables.set(keyOf(table.name), table);
    this.#byId.set(table.id, table);
  }

  /** Takes a table out, or puts another in its place under the same name. */
  replace(old: TableState, by: TableState | null): void {
    const key = keyOf(old.name);
    invariant(this.#tables.get(key) === old, 'a replaced table is the current one');
    old.replaced = true;
    this.#byId.delete(old.id);
    this.#tables.delete(key);
    if (by !== null) this.add(by);
  }

  /** Of the users' tables. */
  get tableCount(): number {
    let count = 0;
    for (const { name } of this.#tables.values()) if (!isHiddenTable(name)) count++;
    return count;
  }

  /** In no particular order. */
  tables(): IterableIterator<TableState> {
    return this.#tables.values();
  }

  /** As `tables`, without the store's own. */
  userTables(): TableState[] {
    return [...this.#tables.values()].filter(({ name }) => !isHiddenTable(name));
  }

  byId(id: number): TableState | undefined {
    return this.#byId.get(id);
  }

  find(name: string): TableState | undefined {
    const found = this.#tables.get(name);
    return (
      found ??
      (String(name).startsWith('\0') ? undefined : this.#tables.get(this.#canonicalOf(name)))
    );
  }

  /** Throws TableNotFoundException. */
  get(name: string): TableState {
    const table = this.find(name);
    if (table === undefined) throw new TableNotFoundException(`Table '${name}' was not found`);
    return table;
  }

  /** A table that serves reads and writes; throws TableNotFoundException or TableNotEnabledException. */
  enabled(name: string): TableState {
    const table = this.get(name);
    if (!table.enabled) throw new TableNotEnabledException(`Table ${table.name} is disabled`);
    return table;
  }

  /** As `enabled`; throws DoNotRetryIOException for a table with READONLY. */
  writable(name: string): TableState {
    const table = this.enabled(name);
    if (table.settings.readOnly) {
      throw new DoNotRetryIOException(`Table ${table.name} is read only`);
    }
    return table;
  }

  #canonicalOf(name: string): string {
    let canonical = this.#canonical.get(name);
    if (canonical === undefined) {
      canonical = canonicalTableName(name);
      if (this.#canonical.size > 1024) this.#canonical.clear();
      this.#canonical.set(name, canonical);
    }
    return canonical;
  }
}

/** A table of the store's own is found only by who asks for it by this name, which no user can give a table. */
export const hiddenName = (name: string): string => `\0${name}`;

const keyOf = (name: string): string => (isHiddenTable(name) ? hiddenName(name) : name);

/** The table of a manifest record, with empty stores. */
export function openTable(record: TableRecord, regionRecords: readonly RegionRecord[]): TableState {
  const current = record.schemas[record.schemas.length - 1];
  invariant(current !== undefined, `table ${record.name} has a schema`);
  const families = familiesOf(current.schema, current.familyIds);
  const regions = regionRecords
    .filter((region) => region.removedTso === null)
    .map((region) => openRegion(region, families, record.schemas))
    .sort((a, b) => Buffer.compare(a.startKey, b.startKey));
  invariant(regions.length > 0, `table ${record.name} has regions`);
  return new TableState({
    id: record.id,
    createdTso: record.createdTso,
    describedTso: current.tso,
    schema: current.schema,
    settings: tableSettings(current.schema),
    enabled: record.enabled,
    families,
    regions,
  });
}

/** Families in byte order of their names, which a schema keeps. */
export function familiesOf(
  schema: TableSchema,
  familyIds: Readonly<Record<string, number>>,
): FamilyState[] {
  return schema.families.map((family) => {
    const id = familyIds[family.name];
    invariant(id !== undefined, `family ${family.name} of ${schema.name} has an id`);
    return { id, settings: familySettings(family) };
  });
}

/** The region of a manifest record, with empty stores. */
export function openRegion(
  record: RegionRecord,
  families: readonly FamilyState[],
  schemas: readonly SchemaVersion[],
): Region {
  const region = new Region({
    id: record.id,
    tableId: record.tableId,
    encodedName: record.encodedName,
    startKey: record.startKey,
    endKey: record.endKey,
    stores: families.map((family) => new Store(family.id, family.settings)),
  });
  region.formerStores = formerFamilies(families, schemas).map(
    ({ id, settings }) => new Store(id, settings),
  );
  return region;
}

/** Families of older descriptors that are no more, each as it was last. */
function formerFamilies(
  families: readonly FamilyState[],
  schemas: readonly SchemaVersion[],
): FamilyState[] {
  const former = new Map<number, FamilyState>();
  for (const { schema, familyIds } of schemas) {
    for (const family of familiesOf(schema, familyIds)) former.set(family.id, family);
  }
  for (const { id } of families) former.delete(id);
  return [...former.values()];
}
