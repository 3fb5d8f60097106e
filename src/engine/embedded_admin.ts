/** The administration of an embedded store. */
import {
  IllegalArgumentException,
  TableNotFoundException,
  checkOptionNames,
  isHiddenTable,
  parseTableName,
  requireObject,
  toRow,
} from '../model/index.ts';
import type {
  Admin,
  BulkLoadResult,
  Bytes,
  DropOptions,
  FamilySpec,
  NormalizeResult,
  RegionSwitch,
  SnapshotDescription,
  TableDescription,
  TableSpec,
} from '../model/index.ts';
import type { RegionServer } from './region_server.ts';
import type { TableState } from './table_state.ts';

const COMPACT_OPTIONS: ReadonlySet<string> = new Set(['major']);
const LIST_OPTIONS: ReadonlySet<string> = new Set(['namespace', 'pattern']);
const DROP_OPTIONS: ReadonlySet<string> = new Set(['force']);
const BULK_LOAD_OPTIONS: ReadonlySet<string> = new Set(['move']);

export class EmbeddedAdmin implements Admin {
  readonly #server: RegionServer;

  constructor(server: RegionServer) {
    this.#server = server;
  }

  #run<T>(change: () => Promise<T>): Promise<T> {
    return this.#server.track(change);
  }

  /** As `#run`, for a change of a table that must be one of the users' own. */
  async #change<T>(table: string, change: () => Promise<T>): Promise<T> {
    if (isHiddenTable(table)) throw new TableNotFoundException(`Table '${table}' was not found`);
    return this.#run(change);
  }

  createNamespace(name: string, attributes: Readonly<Record<string, string>> = {}): Promise<void> {
    return this.#run(() => this.#server.schema.createNamespace(name, attributes));
  }

  dropNamespace(name: string): Promise<void> {
    return this.#run(() => this.#server.schema.dropNamespace(name));
  }

  async listNamespaces(): Promise<string[]> {
    this.#server.checkOpen();
    return this.#server.schema.namespaces();
  }

  createTable(spec: TableSpec): Promise<void> {
    return this.#change((spec as TableSpec | null)?.name ?? '', () =>
      this.#server.schema.createTable(spec),
    );
  }

  async alterTable(spec: TableSpec): Promise<void> {
    requireObject(spec, 'The description of a table');
    return this.#change(spec.name, () => this.#server.schema.alterTable(spec));
  }

  addFamily(table: string, family: FamilySpec | string): Promise<void> {
    return this.#change(table, () => this.#server.schema.addFamily(table, family));
  }

  modifyFamily(table: string, family: FamilySpec): Promise<void> {
    return this.#change(table, () => this.#server.schema.modifyFamily(table, family));
  }

  dropFamily(table: string, family: string, options: DropOptions = {}): Promise<void> {
    checkOptionNames(options, DROP_OPTIONS, 'dropFamily');
    return this.#change(table, () => this.#server.schema.dropFamily(table, family, options));
  }

  enableTable(table: string): Promise<void> {
    return this.#change(table, () => this.#server.schema.setEnabled(table, true));
  }

  disableTable(table: string): Promise<void> {
    return this.#change(table, () => this.#server.schema.setEnabled(table, false));
  }

  async isEnabled(table: string): Promise<boolean> {
    this.#server.checkOpen();
    return this.#server.catalog.get(table).enabled;
  }

  truncateTable(table: string, options: DropOptions = {}): Promise<void> {
    checkOptionNames(options, DROP_OPTIONS, 'truncateTable');
    return this.#change(table, () => this.#server.schema.truncateTable(table, options));
  }

  dropTable(table: string, options: DropOptions = {}): Promise<void> {
    checkOptionNames(options, DROP_OPTIONS, 'dropTable');
    return this.#change(table, () => this.#server.schema.dropTable(table, options));
  }

  async tableExists(table: string): Promise<boolean> {
    this.#server.checkOpen();
    return !isHiddenTable(table) && this.#server.catalog.find(table) !== undefined;
  }

  async describeTable(name: string): Promise<TableDescription> {
    this.#server.checkOpen();
    const table = this.#server.catalog.get(name);
    return {
      ...table.schema,
      enabled: table.enabled,
      splits: table.regions.map((region) => Uint8Array.from(region.startKey)),
    };
  }

  flush(name?: string): Promise<void> {
    const { catalog, background } = this.#server;
    return this.#run(async () => {
      const tables = name === undefined ? [...catalog.tables()] : [catalog.get(name)];
      for (const table of tables) await background.flushTable(table);
    });
  }

  compact(name: string, options: { major?: boolean } = {}): Promise<void> {
    const { catalog, background } = this.#server;
    checkOptionNames(options, COMPACT_OPTIONS, 'compact');
    return this.#run(() => background.compactTable(catalog.get(name), options.major === true));
  }

  snapshot(name: string, tables: string | readonly string[]): Promise<void> {
    return this.#run(() => this.#server.snapshots.create(name, tables));
  }

  async listSnapshots(options: { pattern?: string } = {}): Promise<SnapshotDescription[]> {
    this.#server.checkOpen();
    return this.#server.snapshots.list(patternOf(options.pattern));
  }

  deleteSnapshot(name: string): Promise<void> {
    return this.#run(() => this.#server.snapshots.delete(name));
  }

  cloneSnapshot(name: string, table: string | Readonly<Record<string, string>>): Promise<void> {
    return this.#run(() => this.#server.snapshots.clone(name, table));
  }

  restoreSnapshot(name: string): Promise<void> {
    return this.#run(() => this.#server.snapshots.restore(name));
  }

  bulkLoad(table: string, dir: string, options: { move?: boolean } = {}): Promise<BulkLoadResult> {
    checkOptionNames(options, BULK_LOAD_OPTIONS, 'bulkLoad');
    return this.#run(() => this.#server.bulkLoad.load(table, dir, options.move === true));
  }

  split(target: string, row?: Bytes): Promise<void> {
    const { splitter, catalog } = this.#server;
    return this.#run(async () => {
      const at = row === undefined ? null : toRow(row);
      const table = splitter.tableOfRegion(target);
      if (table === null) await splitter.splitTable(catalog.enabled(target), at);
      else await splitter.split(table, splitter.region(table, target), at);
    });
  }

  mergeRegions(name: string, one: string, other: string): Promise<void> {
    const { splitter, catalog } = this.#server;
    return this.#run(async () => {
      const table = catalog.enabled(name);
      await splitter.merge(table, splitter.region(table, one), splitter.region(table, other));
    });
  }

  async isSwitchOn(name: RegionSwitch): Promise<boolean> {
    this.#server.checkOpen();
    return this.#server.splitter.isOn(checkedSwitch(name));
  }

  setSwitch(name: RegionSwitch, on: boolean): Promise<boolean> {
    return this.#run(() => this.#server.splitter.turn(checkedSwitch(name), on));
  }

  normalize(name?: string): Promise<NormalizeResult> {
    const { splitter, catalog } = this.#server;
    return this.#run(async () => {
      const wants = ({ schema }: TableState): boolean =>
        schema.attributes['NORMALIZATION_ENABLED']?.toLowerCase() === 'true';
      const tables =
        name === undefined ? [...catalog.tables()].filter(wants) : [catalog.enabled(name)];
      return splitter.normalize(tables);
    });
  }

  async listTables(options: { namespace?: string; pattern?: string } = {}): Promise<string[]> {
    this.#server.checkOpen();
    checkOptionNames(options, LIST_OPTIONS, 'listTables');
    const matches = patternOf(options.pattern);
    const names = [...this.#server.catalog.tables()].map((table) => table.name);
    return names
      .filter((name) => {
        if (isHiddenTable(name)) return false;
        const { namespace } = parseTableName(name);
        return (
          (options.namespace === undefined || namespace === options.namespace) && matches(name)
        );
      })
      .sort();
  }
}

function checkedSwitch(name: RegionSwitch): RegionSwitch {
  if (name !== 'split' && name !== 'merge' && name !== 'normalizer') {
    throw new IllegalArgumentException(
      `a switch is split, merge or normalizer, not '${String(name)}'`,
    );
  }
  return name;
}

function patternOf(pattern: string | undefined): (name: string) => boolean {
  if (pattern === undefined) return () => true;
  try {
    const expression = new RegExp(`^(?:${pattern})$`);
    return (name) => expression.test(name);
  } catch (error) {
    throw new IllegalArgumentException(`pattern '${pattern}' is no regular expression`, {
      cause: error,
    });
  }
}
