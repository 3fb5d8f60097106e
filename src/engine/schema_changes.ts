/**
 * Changes of namespaces, tables and families. Each is a commit: it takes a TSO in the queue, the read point stays below
 * it until its manifest record is on the disk, and only then is the catalog changed. While a table changes, operations on
 * it wait at its gate, so nothing is written for a descriptor that may not come to be.
 *
 * The manifest is the truth. The control record in the log only gives the change its place among the commits; one whose
 * manifest record is missing after a crash did not happen and was never acknowledged.
 */
import type { Clock } from '../io/index.ts';
import { encodedRegionName, put, remove } from '../manifest/index.ts';
import type { Edit, FileRecord, Manifest, RegionRecord, TableRecord } from '../manifest/index.ts';
import {
  ConstraintException,
  NamespaceExistException,
  NamespaceNotFoundException,
  TableExistsException,
  TableNotDisabledException,
  TableNotEnabledException,
  TableNotFoundException,
  alterSchema,
  checkNamespaceName,
  parseTable,
  parseTableName,
  splitKeysOf,
  tableSettings,
  withFamily,
  withModifiedFamily,
  withoutFamily,
} from '../model/index.ts';
import type { DropOptions, FamilySpec, TableSchema, TableSpec } from '../model/index.ts';
import { Store } from '../region/index.ts';
import { familiesOf, openTable } from './catalog.ts';
import type { Catalog } from './catalog.ts';
import type { CommitQueue, ControlStamp } from './commit_queue.ts';
import { joinHalves } from './read_point.ts';
import type { ReadPoint } from './read_point.ts';
import type { Logger } from './logger.ts';
import { filesOf, recordsOfTable } from './past_tables.ts';
import type { PastTables } from './past_tables.ts';
import type { StoreFiles } from './store_files.ts';
import { takeTableIds } from './table_ids.ts';
import type { TableIds } from './table_ids.ts';
import type { TableState } from './table_state.ts';

const RESERVED_NAMESPACES: ReadonlySet<string> = new Set(['default', 'hbase']);

export interface ChangeParts {
  readonly catalog: Catalog;
  readonly manifest: Manifest;
  readonly queue: CommitQueue;
  readonly readPoint: ReadPoint;
  readonly clock: Clock;
  readonly files: StoreFiles;
  readonly past: PastTables;
  readonly logger: Logger;
  /** Brings what the table has in memory into files. */
  readonly flush: (table: TableState) => Promise<void>;
}

/** A table to make of files that are there already. */
export interface TableToPlace {
  readonly schema: TableSchema;
  /** Of its regions; the first is empty. */
  readonly startKeys: readonly Uint8Array[];
  readonly enabled: boolean;
  /** The table whose place it takes; null: there must be none of its name. */
  readonly replaces: TableState | null;
  /** Numbers that were taken for it before (`takeTableIds`); absent: new ones. */
  readonly ids?: TableIds;
  /** The records of its files. */
  readonly files: (
    table: TableRecord,
    regions: readonly RegionRecord[],
    tso: bigint,
  ) => FileRecord[];
}

/** Asked before a table, or these families of it, go with what they hold. Throws why they must stay. */
export type DropGuard = (
  table: TableState,
  familyIds: readonly number[],
  force: boolean,
) => Promise<void>;

/** Edits of a change and what they do to the catalog. */
export interface Plan {
  readonly edits: readonly Edit[];
  /** Changes the catalog once the edits are on the disk. Cannot fail. */
  readonly apply: () => void;
}

export class SchemaChanges {
  readonly #parts: ChangeParts;
  /** Changes run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  /** Runs with the table behind its gate. */
  dropGuard: DropGuard = () => Promise.resolve();

  constructor(parts: ChangeParts) {
    this.#parts = parts;
  }

  /** Waits for the changes under way. */
  async settled(): Promise<void> {
    await this.#last;
  }

  /** Runs `change` when those before it are done, so that its checks see the catalog as they left it. */
  inOrder<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#last.then(change);
    // The caller of a failed change hears of it; the next one must run all the same.
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Makes one change as a commit, with the table (if any) behind its gate; `before` runs behind it, too. */
  async #change(
    what: string,
    table: TableState | null,
    plan: (tso: bigint) => Plan,
    before: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    let open: () => void = () => undefined;
    if (table !== null) table.gate = new Promise((resolve) => (open = resolve));
    try {
      await table?.linked();
      await before();
      const stamp = await this.#stamp(what);
      try {
        const { edits, apply } = plan(joinHalves(stamp.high, stamp.low));
        await this.#parts.manifest.commit(edits, { applied: apply });
      } finally {
        stamp.done();
      }
      // Who is told of the change reads with it from then on.
      await this.#parts.readPoint.whenAllApplied();
    } finally {
      if (table !== null) table.gate = null;
      open();
    }
  }

  /** Makes one change as a commit; the table (if any) takes no operations meanwhile. Only within `inOrder`. */
  perform(what: string, table: TableState | null, plan: (tso: bigint) => Plan): Promise<void> {
    return this.#change(what, table, plan);
  }

  /** Makes these tables as one commit: clones and restored ones; `further` edits belong to it. Only within `inOrder`. */
  async placeTables(
    what: string,
    places: readonly TableToPlace[],
    further: readonly Edit[] = [],
  ): Promise<void> {
    for (const { schema, replaces } of places) {
      this.#checkNamespace(parseTableName(schema.name).namespace);
      if (replaces === null && this.#parts.catalog.find(schema.name) !== undefined) {
        throw new TableExistsException(`Table ${schema.name} already exists`);
      }
    }
    const kept = new Set<TableState>();
    const plan = (tso: bigint): Plan => {
      for (const { replaces } of places) {
        if (replaces === null || kept.has(replaces)) continue;
        this.#parts.past.floors.checkNotPinned(replaces);
      }
      const made = places.map((place) => {
        const { table, regions } = this.#newTable(place.schema, place.startKeys, tso, place.ids);
        const record = { ...table, enabled: place.enabled };
        return { place, table: record, regions, files: place.files(record, regions, tso) };
      });
      const edits = made.flatMap(({ place: { replaces }, table, regions, files }): Edit[] => [
        ...(replaces === null ? [] : this.#leaveEdits(replaces, kept.has(replaces), tso)),
        put('table', table),
        ...regions.map((region) => put('region', region)),
        ...files.map((file) => put('file', file)),
      ]);
      const apply = (): void => {
        for (const { place, table, regions } of made) {
          const state = openTable(table, regions);
          this.#parts.files.attach(state);
          if (place.replaces === null) this.#add(state);
          else this.#replace(place.replaces, state, kept.has(place.replaces) ? tso : null);
        }
      };
      return { edits: [...edits, ...further], apply };
    };
    const before = async (): Promise<void> => {
      for (const { replaces } of places) {
        if (replaces !== null) {
          await this.dropGuard(
            replaces,
            replaces.families.map(({ id }) => id),
            false,
          );
        }
        if (replaces !== null && (await this.#keepPast(replaces))) kept.add(replaces);
      }
    };
    const open = closeGates(places.map(({ replaces }) => replaces));
    try {
      await this.#change(what, null, plan, before);
    } finally {
      open();
    }
  }

  #leaveEdits(table: TableState, keeps: boolean, tso: bigint): Edit[] {
    return keeps ? this.#dropEdits(table, tso) : this.#destroyEdits(table, tso);
  }

  /** Takes the change's TSO in the queue; `what` goes into the log for whoever reads it. */
  async #stamp(what: string): Promise<ControlStamp> {
    const { queue } = this.#parts;
    const body = Buffer.from(what, 'utf8');
    for (let wait = queue.admitControl(body.length); wait !== null;) {
      await wait;
      wait = queue.admitControl(body.length);
    }
    return queue.commitControl(body);
  }

  async createNamespace(name: string, attributes: Readonly<Record<string, string>>): Promise<void> {
    checkNamespaceName(name);
    await this.inOrder(async () => {
      if (this.#hasNamespace(name)) {
        throw new NamespaceExistException(`Namespace ${name} already exists`);
      }
      await this.#change(`create namespace ${name}`, null, (tso) => ({
        edits: [put('namespace', { name, configuration: { ...attributes }, createdTso: tso })],
        apply: () => undefined,
      }));
    });
  }

  /** Gives a namespace these attributes in place of those that it had. */
  async modifyNamespace(name: string, attributes: Readonly<Record<string, string>>): Promise<void> {
    await this.inOrder(async () => {
      if (RESERVED_NAMESPACES.has(name)) {
        throw new ConstraintException(`Reserved namespace ${name} cannot be modified`);
      }
      this.#checkNamespace(name);
      await this.#change(`modify namespace ${name}`, null, (tso) => {
        const before = this.#parts.manifest.get('namespace', name);
        const createdTso = before?.createdTso ?? tso;
        return {
          edits: [put('namespace', { name, configuration: { ...attributes }, createdTso })],
          apply: () => undefined,
        };
      });
    });
  }

  async dropNamespace(name: string): Promise<void> {
    await this.inOrder(async () => {
      if (RESERVED_NAMESPACES.has(name)) {
        throw new ConstraintException(`Reserved namespace ${name} cannot be removed`);
      }
      this.#checkNamespace(name);
      for (const table of this.#parts.catalog.tables()) {
        if (parseTableName(table.name).namespace !== name) continue;
        throw new ConstraintException(
          `Only empty namespaces can be removed. Namespace ${name} has table ${table.name}`,
        );
      }
      await this.#change(`drop namespace ${name}`, null, () => ({
        edits: [remove('namespace', name)],
        apply: () => undefined,
      }));
    });
  }

  namespaces(): string[] {
    const names = [...this.#parts.manifest.all('namespace')].map((record) => record.name);
    return [...new Set([...RESERVED_NAMESPACES, ...names])].sort();
  }

  #hasNamespace(name: string): boolean {
    return (
      RESERVED_NAMESPACES.has(name) || this.#parts.manifest.get('namespace', name) !== undefined
    );
  }

  #checkNamespace(name: string): void {
    if (!this.#hasNamespace(name)) {
      throw new NamespaceNotFoundException(`Namespace ${name} does not exist`);
    }
  }

  async createTable(spec: TableSpec): Promise<void> {
    const schema = parseTable(spec);
    const splits = splitKeysOf(spec);
    await this.inOrder(async () => {
      this.#checkNamespace(parseTableName(schema.name).namespace);
      if (this.#parts.catalog.find(schema.name) !== undefined) {
        throw new TableExistsException(`Table ${schema.name} already exists`);
      }
      await this.#change(`create table ${schema.name}`, null, (tso) => {
        const { table, regions } = this.#newTable(schema, ['', ...splits].map(toKey), tso);
        return {
          edits: [put('table', table), ...regions.map((region) => put('region', region))],
          apply: () => this.#add(openTable(table, regions)),
        };
      });
    });
  }

  #add(table: TableState): void {
    this.#parts.catalog.add(table);
    this.#parts.queue.grew(table.memstoreHeapBytes);
  }

  /** Records of a new table whose regions start at these keys, the first of them empty. */
  #newTable(
    schema: TableSchema,
    startKeys: readonly Uint8Array[],
    tso: bigint,
    { tableId, familyIds }: TableIds = takeTableIds(this.#parts.manifest, schema),
  ): { table: TableRecord; regions: RegionRecord[] } {
    const { manifest, clock } = this.#parts;
    const regionIdMs = clock.nowMs();
    const regions = startKeys.map((startKey, i) => ({
      id: manifest.takeId('region'),
      tableId,
      encodedName: encodedRegionName({ table: schema.name, startKey, regionIdMs }),
      regionIdMs,
      startKey,
      endKey: startKeys[i + 1] ?? new Uint8Array(0),
      createdTso: tso,
      parents: [],
      state: 'open' as const,
      removedTso: null,
    }));
    const table = {
      id: tableId,
      name: schema.name,
      enabled: true,
      createdTso: tso,
      droppedTso: null,
      schemas: [{ tso, schema, familyIds }],
    };
    return { table, regions };
  }

  async alterTable(spec: TableSpec): Promise<void> {
    await this.inOrder(async () => {
      const table = this.#table(spec.name);
      await this.#alter(table, alterSchema(table.schema, { ...spec, name: table.name }));
    });
  }

  async addFamily(name: string, family: FamilySpec | string): Promise<void> {
    await this.inOrder(async () => {
      const table = this.#table(name);
      await this.#alter(table, withFamily(table.schema, family));
    });
  }

  async modifyFamily(name: string, family: FamilySpec): Promise<void> {
    await this.inOrder(async () => {
      const table = this.#table(name);
      await this.#alter(table, withModifiedFamily(table.schema, family));
    });
  }

  async dropFamily(name: string, family: string, options: DropOptions = {}): Promise<void> {
    await this.inOrder(async () => {
      const table = this.#table(name);
      await this.#alter(table, withoutFamily(table.schema, family), options.force);
    });
  }

  /**
   * What is about to be dropped goes into files first, so that reads as of before need no log. False: that was not possible
   * (no space, say), and the past of the table is given up, for who drops may do so to make room. Throws DoNotRetryIOException
   * if a snapshot pins it: then nothing is dropped.
   */
  async #keepPast(table: TableState): Promise<boolean> {
    try {
      await this.#parts.flush(table);
      return true;
    } catch (error) {
      this.#parts.past.floors.checkNotPinned(table, error);
      const fields = { err: error, table: table.name };
      this.#parts.logger.warn(fields, 'could not flush before a drop: its past is not kept');
      return false;
    }
  }

  #alter(table: TableState, schema: TableSchema, force: boolean = false): Promise<void> {
    const names = new Set(schema.families.map(({ name }) => name));
    const leaving = table.families.filter(({ settings }) => !names.has(settings.name));
    let keeps = true;
    const plan = (tso: bigint): Plan => {
      const { manifest, past } = this.#parts;
      if (!keeps) past.floors.checkNotPinned(table);
      const record = this.#record(table);
      const before = record.schemas[record.schemas.length - 1]!.familyIds;
      const familyIds: Readonly<Record<string, number>> = Object.fromEntries(
        schema.families.map(({ name }) => [
          name,
          (Object.hasOwn(before, name) ? before[name] : undefined) ?? manifest.takeId('family'),
        ]),
      );
      const dropped = Object.entries(before).filter(([name]) => !Object.hasOwn(familyIds, name));
      return {
        edits: [
          put('table', { ...record, schemas: [...record.schemas, { tso, schema, familyIds }] }),
          ...dropped.map(([, id]) => put('droppedId', { kind: 'family', id, tso })),
          ...(keeps ? [] : [past.floors.raise(table.id, tso)]),
        ],
        apply: () => this.#describe(tso, table, schema, familyIds),
      };
    };
    return this.#change(`alter table ${table.name}`, table, plan, async () => {
      if (leaving.length === 0) return;
      await this.dropGuard(
        table,
        leaving.map(({ id }) => id),
        force,
      );
      keeps = await this.#keepPast(table);
    });
  }

  /** Gives the table its new descriptor, each region a store a family; stores of families that stay are kept. */
  #describe(
    tso: bigint,
    table: TableState,
    schema: TableSchema,
    familyIds: Readonly<Record<string, number>>,
  ): void {
    const families = familiesOf(schema, familyIds);
    const before = table.memstoreHeapBytes;
    for (const region of table.regions) {
      const kept = new Map(region.stores.map((store) => [store.familyId, store]));
      region.stores = families.map(({ id, settings }) => {
        const store = kept.get(id) ?? new Store(id, settings);
        store.settings = settings;
        kept.delete(id);
        return store;
      });
      for (const store of kept.values()) store.discardMemstores();
      region.formerStores = [...region.formerStores, ...kept.values()];
      region.layoutVersion++;
    }
    table.describe(tso, schema, tableSettings(schema), families);
    const after = table.memstoreHeapBytes;
    if (after > before) this.#parts.queue.grew(after - before);
    else this.#parts.queue.released(before - after);
  }

  async setEnabled(name: string, enabled: boolean): Promise<void> {
    await this.inOrder(async () => {
      const table = this.#table(name);
      if (table.enabled === enabled) {
        if (enabled) throw new TableNotDisabledException(`Table ${table.name} is not disabled`);
        throw new TableNotEnabledException(`Table ${table.name} is not enabled`);
      }
      const what = `${enabled ? 'enable' : 'disable'} table ${table.name}`;
      await this.#change(what, table, () => ({
        edits: [put('table', { ...this.#record(table), enabled })],
        apply: () => (table.enabled = enabled),
      }));
    });
  }

  /** Puts an empty table with a new id in the table's place: with the same regions or, if they are not to stay, with one. */
  async truncateTable(
    name: string,
    options: DropOptions & { readonly preserveSplits?: boolean } = {},
  ): Promise<void> {
    await this.inOrder(async () => {
      const old = this.#table(name);
      await this.#replaceBy(
        `truncate table ${old.name}`,
        old,
        (tso) => {
          const kept = options.preserveSplits === false ? old.regions.slice(0, 1) : old.regions;
          const startKeys = kept.map((region) => region.startKey);
          return this.#newTable(old.schema, startKeys, tso);
        },
        options.force,
      );
    });
  }

  async dropTable(name: string, options: DropOptions = {}): Promise<void> {
    await this.inOrder(async () => {
      const table = this.#table(name);
      if (table.enabled) {
        throw new TableNotDisabledException(`Table ${table.name} should be disabled before drop`);
      }
      await this.#replaceBy(`drop table ${table.name}`, table, () => null, options.force);
    });
  }

  /** Takes a table away, or puts a new one in its place; what it held stays readable as of before for the retention. */
  async #replaceBy(
    what: string,
    old: TableState,
    by: (tso: bigint) => { table: TableRecord; regions: RegionRecord[] } | null,
    force: boolean = false,
  ): Promise<void> {
    let keeps = true;
    const plan = (tso: bigint): Plan => {
      if (!keeps) this.#parts.past.floors.checkNotPinned(old);
      const records = by(tso);
      const edits = this.#leaveEdits(old, keeps, tso);
      if (records !== null) {
        edits.push(put('table', records.table));
        for (const region of records.regions) edits.push(put('region', region));
      }
      const apply = (): void => {
        const state = records === null ? null : openTable(records.table, records.regions);
        this.#replace(old, state, keeps ? tso : null);
      };
      return { edits, apply };
    };
    await this.#change(what, old, plan, async () => {
      await this.dropGuard(
        old,
        old.families.map(({ id }) => id),
        force,
      );
      keeps = await this.#keepPast(old);
    });
  }

  #dropEdits(table: TableState, tso: bigint): Edit[] {
    return [
      put('table', { ...this.#record(table), droppedTso: tso }),
      put('droppedId', { kind: 'table', id: table.id, tso }),
    ];
  }

  /** As `#dropEdits`, with nothing kept. */
  #destroyEdits(table: TableState, tso: bigint): Edit[] {
    const { manifest, past } = this.#parts;
    return [
      put('droppedId', { kind: 'table', id: table.id, tso }),
      past.floors.raise(null, tso),
      ...recordsOfTable(manifest, table.id),
    ];
  }

  /** `droppedTso` null: nothing of the old table is kept. */
  #replace(old: TableState, by: TableState | null, droppedTso: bigint | null): void {
    const { catalog, past, queue, files } = this.#parts;
    catalog.replace(old, by);
    if (by !== null) queue.grew(by.memstoreHeapBytes);
    queue.released(old.memstoreHeapBytes);
    if (droppedTso === null) for (const file of filesOf(old)) files.retire(file);
    else past.add(old, droppedTso);
  }

  #table(name: string): TableState {
    const table = this.#parts.catalog.find(name);
    if (table === undefined) throw new TableNotFoundException(`Table '${name}' was not found`);
    return table;
  }

  #record(table: TableState): TableRecord {
    const record = this.#parts.manifest.get('table', table.id);
    if (record === undefined) throw new TableNotFoundException(`Table ${table.name} is gone`);
    return record;
  }
}

const toKey = (key: Uint8Array | string): Uint8Array =>
  typeof key === 'string' ? Buffer.from(key, 'latin1') : key;

/** Operations on these tables wait until the answer is called. */
function closeGates(tables: readonly (TableState | null)[]): () => void {
  const closed = tables.filter((table) => table !== null);
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  for (const table of closed) table.gate = gate;
  return () => {
    for (const table of closed) table.gate = null;
    open();
  };
}
