/** Makes built tables those of the store, all in one commit. */
import type { RegionServer, TableIds, TableState, TableToPlace } from '../engine/index.ts';
import type {
  Edit,
  FileRecord,
  NamespaceRecord,
  RegionRecord,
  TableRecord,
} from '../manifest/index.ts';
import {
  DEFAULT_NAMESPACE,
  TableExistsException,
  TsoNotCalibrated,
  familySettings,
  parseTableName,
} from '../model/index.ts';
import { physicalMsOf } from '../tso/index.ts';
import type { BuiltTable, TableBuilder } from './built_table.ts';
import { BackupException } from './errors.ts';

export interface PlaceOptions {
  /** Tables of the same name make room. */
  readonly overwrite: boolean;
  /** Cells get the commit's write number instead of their own. */
  readonly restamp: boolean;
  readonly namespaces: readonly NamespaceRecord[];
  readonly what: string;
  /** Numbers of the tables that are known already. */
  readonly ids?: ReadonlyMap<BuiltTable, TableIds>;
  /** Of the same commit. */
  readonly further?: readonly Edit[];
}

/**
 * Places the tables; answers the commit's TSO. Throws TableExistsException, and BackupException when the cells' write numbers
 * are too far ahead of the clock (`restamp`), or would lose what NEW_VERSION_BEHAVIOR goes by.
 */
export async function placeTables(builder: TableBuilder, options: PlaceOptions): Promise<bigint> {
  const { server, tables } = builder;
  checkExisting(server, tables, options);
  if (options.restamp) await restamp(tables);
  else raiseOracle(server, newestOf(tables), 'the newest cell was written');
  await builder.sync();
  await makeNamespaces(server, tables, options);
  let placedTso = 0n;
  await server.schema.inOrder(async () => {
    const places = tables.map((table): TableToPlace => ({
      schema: table.schema,
      startKeys: table.startKeys,
      enabled: table.enabled,
      replaces: replacedBy(server, table, options),
      ...idsOf(options.ids?.get(table)),
      files: (record, regions, tso) => {
        placedTso = tso;
        const records = table.files.map((file) =>
          recordOf(server, file, record, regions, tso, options),
        );
        return [...records, ...server.archive.copiesOf(records)];
      },
    }));
    await server.schema.placeTables(options.what, places, options.further);
    builder.placed();
  });
  return placedTso;
}

function checkExisting(
  server: RegionServer,
  tables: readonly BuiltTable[],
  options: PlaceOptions,
): void {
  for (const table of tables) replacedBy(server, table, options);
}

function replacedBy(
  { catalog }: RegionServer,
  { schema }: BuiltTable,
  { overwrite }: PlaceOptions,
): TableState | null {
  const found = catalog.find(schema.name) ?? null;
  if (found === null || overwrite) return found;
  throw new TableExistsException(`Table ${schema.name} exists already: rename, or overwrite it`);
}

function recordOf(
  server: RegionServer,
  file: BuiltTable['files'][number],
  record: TableRecord,
  regions: readonly RegionRecord[],
  tso: bigint,
  options: PlaceOptions,
): FileRecord {
  const familyId = record.schemas[0]!.familyIds[file.family]!;
  const stamped = options.restamp
    ? { stamp: { writeNumber: tso, timestamp: null }, minWriteNumber: tso, maxWriteNumber: tso }
    : {};
  return {
    ...file.facts,
    ...stamped,
    id: server.manifest.takeId('file'),
    tableId: record.id,
    regionId: regions[file.region]!.id,
    familyId,
    addedTso: tso,
  };
}

async function restamp(tables: readonly BuiltTable[]): Promise<void> {
  for (const table of tables) {
    const family = table.schema.families.find((known) => familySettings(known).newVersionBehavior);
    if (family !== undefined) {
      throw new BackupException(
        `table ${table.schema.name}: family ${family.name} has NEW_VERSION_BEHAVIOR, whose cells need the write numbers they had`,
      );
    }
    await table.mergeFiles();
  }
}

const idsOf = (ids: TableIds | undefined): Partial<Pick<TableToPlace, 'ids'>> =>
  ids === undefined ? {} : { ids };

function newestOf(tables: readonly BuiltTable[]): bigint {
  let newest = 0n;
  for (const { maxWriteNumber } of tables) if (maxWriteNumber > newest) newest = maxWriteNumber;
  return newest;
}

/** New commits must be above everything that is restored: `what` was done at `newest`. */
export function raiseOracle({ oracle, env }: RegionServer, newest: bigint, what: string): void {
  if (newest <= oracle.cursor()) return;
  const aheadMs = physicalMsOf(newest) - env.clock.nowMs();
  if (aheadMs > oracle.knobs.tso_clock_backward_startup_threshold_ms) {
    throw new BackupException(
      `${what} at ${new Date(physicalMsOf(newest)).toISOString()}, ${aheadMs} ms ahead of the clock: set the clock, or restore with restamp, which gives the cells write numbers of now, and without transactions`,
    );
  }
  const refusal = oracle.refusal();
  if (refusal instanceof TsoNotCalibrated) throw refusal;
  oracle.raiseAbove(newest);
}

async function makeNamespaces(
  { manifest, schema }: RegionServer,
  tables: readonly BuiltTable[],
  { namespaces }: PlaceOptions,
): Promise<void> {
  for (const table of tables) {
    const { namespace } = parseTableName(table.schema.name);
    if (namespace === DEFAULT_NAMESPACE || manifest.get('namespace', namespace) !== undefined)
      continue;
    const known = namespaces.find(({ name }) => name === namespace);
    await schema.createNamespace(namespace, known?.configuration ?? {});
  }
}
