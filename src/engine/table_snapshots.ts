/**
 * Snapshots of tables, and tables made of them.
 *
 * A snapshot at T is a set of file records of its own, which name the physical files of the tables' regions at T: what was in
 * memory is frozen in one step and flushed, and the switch that makes those files live also records the snapshot, as one
 * commit. A physical file stays where it is as long as any record names it, so compactions, splits and drops go on as if
 * there were no snapshot. A clone is a table of a new id with records of the same files; its cells keep their write numbers.
 */
import type { Env } from '../io/index.ts';
import { put, remove } from '../manifest/index.ts';
import type {
  Edit,
  FileRecord,
  Manifest,
  RegionRecord,
  SnapshotRecord,
  SnapshotTable,
  TableRecord,
} from '../manifest/index.ts';
import {
  IllegalArgumentException,
  SnapshotDoesNotExistException,
  SnapshotExistsException,
  TableNotDisabledException,
  canonicalTableName,
  checkSnapshotName,
} from '../model/index.ts';
import type { SnapshotDescription, TableSchema } from '../model/index.ts';
import type { Background } from './background.ts';
import type { Catalog } from './catalog.ts';
import type { LogArchive } from './log_archive.ts';
import type { SchemaChanges, TableToPlace } from './schema_changes.ts';
import type { StoreFiles } from './store_files.ts';
import type { TableState } from './table_state.ts';

export interface TableSnapshotsParts {
  readonly catalog: Catalog;
  readonly manifest: Manifest;
  readonly schema: SchemaChanges;
  readonly files: StoreFiles;
  readonly background: Background;
  readonly env: Env;
  readonly archive: LogArchive;
}

export class TableSnapshots {
  readonly #parts: TableSnapshotsParts;

  constructor(parts: TableSnapshotsParts) {
    this.#parts = parts;
  }

  async create(name: string, tables: string | readonly string[]): Promise<void> {
    checkSnapshotName(name);
    const names = [...new Set([tables].flat().map(canonicalTableName))];
    if (names.length === 0) throw new IllegalArgumentException(`snapshot ${name} names no table`);
    await this.#parts.schema.inOrder(() => this.#create(name, names));
  }

  async #create(name: string, names: readonly string[]): Promise<void> {
    const { manifest, catalog, background, files } = this.#parts;
    const checkFree = (): void => {
      if (manifest.get('snapshot', name) === undefined) return;
      throw new SnapshotExistsException(`Snapshot '${name}' already exists`);
    };
    checkFree();
    const tables = names.map((table) => catalog.get(table));
    const places = tables.flatMap((table) => table.regions.map((region) => ({ table, region })));
    let release = async (): Promise<void> => undefined;
    try {
      await background.flusher.flushTogether(`snapshot ${name}`, places, (tso, flushed) => {
        checkFree(); // A pin may have taken the name meanwhile.
        const { record, named } = this.#name(name, tables, tso, flushed);
        // A compaction whose switch is already on its way may let go of them before ours arrives.
        release = files.hold(named.map(({ path }) => path));
        return [put('snapshot', record), ...named.map((file) => put('file', file))];
      });
    } finally {
      await release();
    }
  }

  /** The records of a snapshot of what is live now, the files just flushed included. */
  #name(
    name: string,
    tables: readonly TableState[],
    tso: bigint,
    flushed: readonly FileRecord[],
  ): { record: SnapshotRecord; named: FileRecord[] } {
    const { manifest, env } = this.#parts;
    const named: FileRecord[] = [];
    const kept = tables.map((table): SnapshotTable => {
      const id = manifest.takeId('table');
      const regions = table.regions.map((region) => {
        const regionId = manifest.takeId('region');
        for (const file of [...this.#liveFiles(table, region.id), ...flushed]) {
          if (file.regionId !== region.id) continue;
          named.push({ ...file, id: manifest.takeId('file'), tableId: id, regionId });
        }
        return { id: regionId, startKey: region.startKey, endKey: region.endKey };
      });
      const familyIds = Object.fromEntries(
        table.families.map(({ id: familyId, settings }) => [settings.name, familyId]),
      );
      return { id, familyIds, regions };
    });
    const record: SnapshotRecord = {
      name,
      tso,
      createdMs: env.clock.nowMs(),
      kind: 'table',
      owner: '',
      expiresMs: null,
      tableIds: tables.map(({ id }) => id),
      fileIds: named.map(({ id }) => id),
      schemas: tables.map(({ schema }) => schema),
      tables: kept,
    };
    return { record, named };
  }

  #liveFiles(table: TableState, regionId: number): FileRecord[] {
    const region = table.regions.find(({ id }) => id === regionId);
    return (region?.stores ?? []).flatMap((store) =>
      store.files.flatMap(({ info }) => {
        const record = this.#parts.manifest.get('file', info.id);
        return record === undefined ? [] : [record];
      }),
    );
  }

  list(matches: (name: string) => boolean): SnapshotDescription[] {
    return [...this.#parts.manifest.all('snapshot')]
      .filter(({ kind, name }) => kind === 'table' && matches(name))
      .map((record) => {
        const files = this.#filesOf(record);
        const sizes = new Map(files.map(({ path, sizeBytes }) => [path, sizeBytes]));
        return {
          name: record.name,
          tso: record.tso,
          createdMs: record.createdMs,
          tables: record.schemas.map((schema) => schema.name),
          files: sizes.size,
          sizeBytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
        };
      })
      .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  }

  delete(name: string): Promise<void> {
    const { manifest, files, schema } = this.#parts;
    return schema.inOrder(async () => {
      const record = this.#get(name);
      const release = files.hold(this.#filesOf(record).map(({ path }) => path));
      try {
        const edits: Edit[] = record.fileIds.map((id) => remove('file', id));
        await manifest.commit([remove('snapshot', name), ...edits]);
      } finally {
        await release();
      }
    });
  }

  /** Throws SnapshotDoesNotExistException. */
  #get(name: string): SnapshotRecord {
    const record = this.#parts.manifest.get('snapshot', name);
    if (record?.kind !== 'table') {
      throw new SnapshotDoesNotExistException(`Snapshot '${name}' does not exist`);
    }
    return record;
  }

  #filesOf(record: SnapshotRecord): FileRecord[] {
    return record.fileIds.flatMap((id) => {
      const file = this.#parts.manifest.get('file', id);
      return file === undefined ? [] : [file];
    });
  }

  clone(name: string, target: string | Readonly<Record<string, string>>): Promise<void> {
    const { schema } = this.#parts;
    return schema.inOrder(async () => {
      const record = this.#get(name);
      const names = cloneNames(record, target);
      const places = record.schemas.map((described, i) =>
        this.#place(record, i, { ...described, name: names[i]! }, null, true),
      );
      await schema.placeTables(`clone snapshot ${name}`, places);
    });
  }

  restore(name: string): Promise<void> {
    const { schema, catalog } = this.#parts;
    return schema.inOrder(async () => {
      const record = this.#get(name);
      const places = record.schemas.map((described, i) => {
        const current = catalog.find(described.name) ?? null;
        if (current?.enabled === true) {
          throw new TableNotDisabledException(
            `Table ${current.name} should be disabled before restore`,
          );
        }
        return this.#place(record, i, described, current, current === null);
      });
      await schema.placeTables(`restore snapshot ${name}`, places);
    });
  }

  #place(
    record: SnapshotRecord,
    index: number,
    schema: TableSchema,
    replaces: TableState | null,
    enabled: boolean,
  ): TableToPlace {
    const kept = record.tables[index]!;
    return {
      schema,
      startKeys: kept.regions.map(({ startKey }) => startKey),
      enabled,
      replaces,
      files: (table, regions, tso) => {
        const records = this.#recordsFor(kept, table, regions, tso);
        return [...records, ...this.#parts.archive.copiesOf(records)];
      },
    };
  }

  /** The snapshot's files as those of a new table, whose regions have the same borders. */
  #recordsFor(
    kept: SnapshotTable,
    table: TableRecord,
    regions: readonly RegionRecord[],
    tso: bigint,
  ): FileRecord[] {
    const { manifest } = this.#parts;
    const newIds = table.schemas[0]!.familyIds;
    const familyIds = new Map(
      Object.entries(kept.familyIds).map(([family, id]) => [id, newIds[family]!]),
    );
    return kept.regions.flatMap(({ id }, i) =>
      [...manifest.filesOf(id)].map((file) => ({
        ...file,
        id: manifest.takeId('file'),
        tableId: table.id,
        regionId: regions[i]!.id,
        familyId: familyIds.get(file.familyId)!,
        // The log of the new table is all above these files.
        maxFlushedTso: null,
        addedTso: tso,
      })),
    );
  }
}

/** The new tables' names, in the order of the snapshot's. Throws IllegalArgumentException. */
function cloneNames(
  record: SnapshotRecord,
  target: string | Readonly<Record<string, string>>,
): string[] {
  const sources = record.schemas.map((schema) => schema.name);
  const named =
    typeof target === 'string'
      ? new Map(sources.length === 1 ? [[sources[0]!, target]] : [])
      : new Map(Object.entries(target).map(([from, to]) => [canonicalTableName(from), to]));
  const names = sources.map((source) => {
    const name = named.get(source);
    if (name === undefined) {
      throw new IllegalArgumentException(
        `snapshot ${record.name} is of tables ${sources.join(', ')}: give a name for the clone of ${source}`,
      );
    }
    return canonicalTableName(name);
  });
  const [stranger] = [...named.keys()].filter((name) => !sources.includes(name));
  if (stranger !== undefined) {
    throw new IllegalArgumentException(`snapshot ${record.name} has no table ${stranger}`);
  }
  if (new Set(names).size < names.length) {
    throw new IllegalArgumentException(`two clones of snapshot ${record.name} have one name`);
  }
  return names;
}
