/**
 * hbase:meta and hbase:namespace as tables that can be read. They are kept in a store in memory of their own, made from the
 * catalog of the store that is served, and brought up to date before they are read: so every option of a get or scan works
 * on them. Which address stands in hbase:meta depends on the client; there is a table of it for each address told.
 */
import { EmbeddedConnection, openServer } from '../../engine/index.ts';
import type { RegionServer, TableState } from '../../engine/index.ts';
import { encodedRegionName, regionName } from '../../manifest/index.ts';
import { NoSuchColumnFamilyException, parseTable } from '../../model/index.ts';
import type { Operation, ScanSpec, TableSchema, TableSpec } from '../../model/index.ts';
import type { Region } from '../../region/index.ts';
import { encodeNamespace, serverNameText } from '../../wire/index.ts';
import type { RegionInfo, ServerName } from '../../wire/index.ts';
import { metaRowsOf, regionInfosOf } from './meta_rows.ts';
import type { MetaRow, TableRows } from './meta_rows.ts';
import type { ServerPlace } from '../place.ts';
import type { RowScanner, SystemRegion } from '../rpc/service.ts';
import { LateScanner, RunScanner, orderRows, runsOf } from './meta_scanner.ts';
import type { OrderedRows } from './meta_scanner.ts';

export const META_TABLE = 'hbase:meta';
export const NAMESPACE_TABLE = 'hbase:namespace';
export const META_REGION_NAME = 'hbase:meta,,1';
/** Not a digest like that of other regions. */
export const META_ENCODED_NAME = '1588230740';
/** How far a client's clock may be behind. */
const CLOCK_SKEW_MS = 10_000;
/** Addresses told at the same time; the one least asked for is forgotten beyond this. */
const VIEWS_MAX = 16;

export const META_REGION: RegionInfo = {
  table: META_TABLE,
  regionIdMs: 1,
  startKey: new Uint8Array(0),
  endKey: new Uint8Array(0),
};

const NO_ROWS: TableRows['regions'] = new Map();
const META_FAMILY = { VERSIONS: 3, IN_MEMORY: true, BLOCKSIZE: 8192, BLOOMFILTER: 'ROWCOL' };

function metaSpec(name: string): TableSpec {
  const families = ['info', 'rep_barrier', 'table'].map((family) => ({
    name: family,
    ...META_FAMILY,
  }));
  return { name, families, IS_META: true };
}

/** hbase:meta with one server's name in it. */
class MetaView {
  readonly tableName: string;
  readonly server: ServerName;
  readonly known = new Map<string, KnownTable>();
  readonly stamps = new Stamps();
  ordered: OrderedRows = { rows: [], places: null };

  constructor(tableName: string, server: ServerName) {
    this.tableName = tableName;
    this.server = server;
  }
}

/**
 * Timestamps of rows, each above the one before. They lie in the past, for clients read the state of a table up to the time
 * of their own clock, exclusively: a change is not newer than the client that has been told of it.
 */
class Stamps {
  #last = 0;

  /** The next one; it is used up by `use`. */
  next(nowMs: number): number {
    return Math.max(this.#last + 1, nowMs - CLOCK_SKEW_MS);
  }

  use(ts: number): void {
    this.#last = ts;
  }
}

/** A table as its rows were made; what differs now is made again. */
interface KnownTable {
  readonly state: TableState;
  readonly regions: readonly Region[];
  readonly enabled: boolean;
  readonly schema: TableSchema;
  readonly rows: TableRows;
}

export class SystemTables {
  /** The store whose tables are listed. */
  readonly #served: RegionServer;
  readonly #place: ServerPlace;
  readonly #store: EmbeddedConnection;
  readonly #metaSchema: TableSchema = parseTable(metaSpec(META_TABLE));
  readonly regions: readonly SystemRegion[];
  /** By the text of the server's name, the least recently asked for first. */
  readonly #views = new Map<string, MetaView>();
  readonly #namespaces = new Map<string, string>();
  readonly #namespaceStamps = new Stamps();
  #viewsMade = 0;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(served: RegionServer, place: ServerPlace, store: EmbeddedConnection) {
    this.#served = served;
    this.#place = place;
    this.#store = store;
    const [namespaces] = this.#namespaceRegions();
    this.regions = [
      {
        table: META_TABLE,
        name: META_REGION_NAME,
        encodedName: META_ENCODED_NAME,
        open: (spec, peer) => this.#openMeta(spec, peer),
      },
      {
        table: NAMESPACE_TABLE,
        name: Buffer.from(regionName(namespaces!)).toString('latin1'),
        encodedName: encodedRegionName(namespaces!),
        open: (spec) => this.#openNamespaces(spec),
      },
    ];
  }

  static async open(served: RegionServer, place: ServerPlace): Promise<SystemTables> {
    const store = new EmbeddedConnection(await openServer(undefined));
    await store.admin.createTable({
      name: NAMESPACE_TABLE,
      families: [{ name: 'info', VERSIONS: 10, IN_MEMORY: true, BLOCKSIZE: 8192 }],
    });
    return new SystemTables(served, place, store);
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#store.close();
  }

  /** Descriptors of hbase:meta and hbase:namespace. */
  get schemas(): readonly TableSchema[] {
    return [this.#metaSchema, this.#table(NAMESPACE_TABLE).schema];
  }

  /** The regions of hbase:meta and hbase:namespace. */
  regionInfos(): RegionInfo[] {
    return [META_REGION, ...this.#namespaceRegions()];
  }

  #namespaceRegions(): RegionInfo[] {
    return regionInfosOf(this.#store.server.manifest, this.#table(NAMESPACE_TABLE));
  }

  #table(name: string): TableState {
    return this.#store.server.catalog.get(name);
  }

  #openMeta(spec: ScanSpec, peer: { readonly localAddress: string }): RowScanner {
    checkFamilies(this.#metaSchema, spec);
    const server = { ...this.#place.addressFor(peer), startCode: this.#place.startCode };
    return new LateScanner(async () => {
      const view = await this.#inOrder(() => this.#freshView(server));
      return this.#scan(view.tableName, runsOf(view.ordered, spec), spec);
    });
  }

  #openNamespaces(spec: ScanSpec): RowScanner {
    checkFamilies(this.#table(NAMESPACE_TABLE).schema, spec);
    return new LateScanner(async () => {
      await this.#inOrder(() => this.#refreshNamespaces());
      return this.#scan(NAMESPACE_TABLE, [spec], spec);
    });
  }

  /** One scanner for these ranges of rows, one after the other. */
  async #scan(
    name: string,
    ranges: readonly Pick<ScanSpec, 'from' | 'to'>[],
    spec: ScanSpec,
  ): Promise<RowScanner> {
    const { reads } = this.#store.server;
    const own = { ...spec, asOf: null };
    const moment = await reads.moment(own, undefined);
    const table = this.#table(name);
    const openers = ranges.map(({ from, to }) => (limit: number) => {
      return reads.openRegion(table, table.regions[0]!, { ...own, from, to, limit }, moment);
    });
    return new RunScanner(openers, spec.limit);
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    // Who asked hears of the failure; the next one must run all the same.
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #freshView(server: ServerName): Promise<MetaView> {
    const key = serverNameText(server);
    let view = this.#views.get(key);
    if (view === undefined) view = await this.#addView(server);
    this.#views.delete(key);
    this.#views.set(key, view);
    await this.#refresh(view);
    return view;
  }

  async #addView(server: ServerName): Promise<MetaView> {
    if (this.#views.size >= VIEWS_MAX) {
      for (const [key, { tableName }] of [...this.#views].slice(0, 1)) {
        this.#views.delete(key);
        await this.#store.admin.disableTable(tableName);
        await this.#store.admin.dropTable(tableName);
      }
    }
    this.#viewsMade++;
    const name = this.#viewsMade === 1 ? META_TABLE : `${META_TABLE}.${this.#viewsMade}`;
    await this.#store.admin.createTable(metaSpec(name));
    return new MetaView(name, server);
  }

  /** Brings the rows of a view to what the catalogs say; cheap when nothing has changed. */
  async #refresh(view: MetaView): Promise<void> {
    const operations: Operation[] = [];
    const ts = view.stamps.next(this.#served.env.clock.nowMs());
    for (const table of this.#tables()) {
      const known = view.known.get(table.name);
      if (
        known?.state === table &&
        known.regions === table.regions &&
        known.enabled === table.enabled &&
        known.schema === table.schema
      ) {
        continue;
      }
      const { manifest } = this.#ownerOf(table);
      // Rows of regions hold while nothing but the regions has changed.
      const isSame = known?.enabled === table.enabled && known.schema === table.schema;
      const before = isSame ? known.rows.regions : NO_ROWS;
      const rows = metaRowsOf(manifest, table, view.server, before);
      for (const change of changesOf(known?.rows ?? null, rows, ts)) operations.push(change);
      const { regions, enabled, schema } = table;
      view.known.set(table.name, { state: table, regions, enabled, schema, rows });
    }
    for (const [name, { rows }] of view.known) {
      if (this.#served.catalog.find(name) !== undefined || name === NAMESPACE_TABLE) continue;
      for (const change of changesOf(rows, null, ts)) operations.push(change);
      view.known.delete(name);
    }
    if (operations.length === 0) return;
    view.stamps.use(ts);
    await this.#apply(view.tableName, operations);
    const rows = [...view.known.values()].flatMap((known) =>
      allOf(known.rows).map(({ row }) => row),
    );
    view.ordered = orderRows(rows);
  }

  *#tables(): Iterable<TableState> {
    yield this.#store.server.catalog.get(NAMESPACE_TABLE);
    yield* this.#served.catalog.userTables();
  }

  #ownerOf(table: TableState): RegionServer {
    return table.name === NAMESPACE_TABLE ? this.#store.server : this.#served;
  }

  async #refreshNamespaces(): Promise<void> {
    const { schema, manifest } = this.#served;
    const names = new Set(schema.namespaces());
    const operations: Operation[] = [];
    const ts = this.#namespaceStamps.next(this.#served.env.clock.nowMs());
    for (const name of names) {
      const configuration = manifest.get('namespace', name)?.configuration ?? {};
      const text = JSON.stringify(configuration);
      if (this.#namespaces.get(name) === text) continue;
      this.#namespaces.set(name, text);
      operations.push({
        put: name,
        values: { 'info:d': encodeNamespace({ name, configuration }) },
        options: { ts },
      });
    }
    for (const name of [...this.#namespaces.keys()].filter((known) => !names.has(known))) {
      this.#namespaces.delete(name);
      operations.push({ delete: name, spec: { ts } });
    }
    if (operations.length === 0) return;
    this.#namespaceStamps.use(ts);
    await this.#apply(NAMESPACE_TABLE, operations);
  }

  async #apply(table: string, operations: readonly Operation[]): Promise<void> {
    for (const outcome of await this.#store.table(table).batch(operations)) {
      if (!outcome.ok) throw outcome.error;
    }
  }
}

/** Throws NoSuchColumnFamilyException. */
function checkFamilies(table: TableSchema, spec: ScanSpec): void {
  for (const { family } of spec.families ?? []) {
    if (table.families.some(({ name }) => name === family)) continue;
    throw new NoSuchColumnFamilyException(
      `Column family ${family} does not exist in table ${table.name}`,
    );
  }
}

function allOf(rows: TableRows | null): MetaRow[] {
  return rows === null ? [] : [rows.own, ...rows.regions.values()];
}

/** What makes the new rows of the old; null: there are none. */
function changesOf(old: TableRows | null, next: TableRows | null, ts: number): Operation[] {
  const gone = new Map(allOf(old).map((row) => [row.key, row]));
  const operations: Operation[] = [];
  for (const row of allOf(next)) {
    const before = gone.get(row.key);
    gone.delete(row.key);
    if (before === row || (before !== undefined && hasSameValues(before, row))) continue;
    const columns = Object.keys(before?.values ?? {}).filter((column) => !(column in row.values));
    if (columns.length > 0) operations.push({ delete: row.row, spec: { columns, ts } });
    operations.push({ put: row.row, values: row.values, options: { ts } });
  }
  for (const { row } of gone.values()) operations.push({ delete: row, spec: { ts } });
  return operations;
}

function hasSameValues(a: MetaRow, b: MetaRow): boolean {
  if (Object.keys(a.values).length !== Object.keys(b.values).length) return false;
  return Object.entries(a.values).every(
    ([column, value]) => Buffer.compare(value, b.values[column] ?? new Uint8Array(0)) === 0,
  );
}

/** The full name of a region as its bytes. */
export function fullName(region: RegionInfo): Uint8Array {
  return region.table === META_TABLE ? Buffer.from(META_REGION_NAME) : regionName(region);
}
