/**
 * Replays a stretch of a log (HBase: WALPlayer): its cells as puts and deletes, with the timestamps they had, into tables, or
 * as HFiles for a bulk load. The log is that of a data folder, live and archived, or of backups. Write numbers are new ones,
 * and commits are not kept together; a restore keeps both.
 */
import path from 'node:path';
import type { RegionServer } from '../engine/index.ts';
import { highOf, joinHalves, lowOf } from '../engine/index.ts';
import { END, READY, WAIT, compareBytes } from '../cell/index.ts';
import type { Env } from '../io/index.ts';
import { HFileWriter, encodingNamed, compressionNamed } from '../hfile/index.ts';
import type { TableRecord } from '../manifest/index.ts';
import { TableNotFoundException, canonicalTableName, familySettings } from '../model/index.ts';
import type { Connection, FamilySettings } from '../model/index.ts';
import { Memstore } from '../region/index.ts';
import { KIND_COMMIT, LogReader } from '../wal/index.ts';
import type { LogRecord } from '../wal/index.ts';
import { CellWriter } from './cell_writer.ts';
import { holdsBackups } from './backup_admin.ts';
import { listBackups } from './chains.ts';
import { syncFolders } from './checked_file.ts';
import { tableDir } from './export_manifest.ts';
import { openReadOnly } from './read_only.ts';
import { Work } from './work.ts';
import type { WorkOptions } from './work.ts';

const BEFORE_GROUP_BIT = 0x80000000;
const BATCH_CELLS = 2000;
const HFILE_GATHER_BYTES: number = 32 * 1024 * 1024;
const MAX_TSO: bigint = (1n << 63n) - 1n;

/** A log and the tables that its records name. */
export interface LogSource {
  readonly env: Env;
  /** Folders of segments, the older first; each group is a log of its own. */
  readonly logs: readonly { readonly dirs: readonly string[]; readonly toTso: bigint }[];
  readonly tables: readonly TableRecord[];
}

export interface ReplayOptions extends WorkOptions {
  /** Commits from here on, and up to here, both inclusive. */
  readonly from?: bigint;
  readonly to?: bigint;
  readonly tables?: readonly string[];
  readonly rename?: Readonly<Record<string, string>>;
}

export interface ReplayReport {
  readonly commits: number;
  readonly cells: number;
  /** Cells of tables or families that were dropped. */
  readonly dropped: number;
  /** Ranges of commits that skipped the log within the stretch. */
  readonly skipped: number;
  readonly tables: readonly string[];
}

/** The log of an open store as it is now: up to the durable point. The caller syncs first, and holds it meanwhile. */
export function logOfServer(server: RegionServer): LogSource {
  const { layout, env, manifest, readPoint } = server;
  const dirs = [layout.archivedWal, layout.wal];
  const toTso = joinHalves(readPoint.durableHigh, readPoint.durableLow);
  return { env, logs: [{ dirs, toTso }], tables: [...manifest.all('table')] };
}

/** The logs of all backups in a folder. Throws FileNotFoundException. */
export async function logOfBackups(env: Env, dest: string): Promise<LogSource> {
  const { backups } = await listBackups(env, dest);
  const tables = new Map<number, TableRecord>();
  const logs: { dirs: string[]; toTso: bigint }[] = [];
  for (const { id, parts } of backups) {
    for (const part of parts) {
      for (const { record } of part.catalog.tables) tables.set(record.id, record);
      const first = part.log[0]?.path;
      if (first === undefined) continue;
      const dir = `${dest}/${id}/${first.slice(0, first.lastIndexOf('/'))}`;
      logs.push({ dirs: [dir], toTso: part.toTso });
    }
  }
  return { env, logs, tables: [...tables.values()] };
}

/**
 * Runs `work` on the log at `src`: a folder of backups, a data folder that nobody has open, or that of `target` itself, which is
 * held meanwhile. Paths are absolute, or relative to the process. Throws what opening throws.
 */
export async function withLogSource<T>(
  env: Env,
  src: string,
  target: RegionServer | null,
  work: (source: LogSource) => Promise<T>,
): Promise<T> {
  if (await holdsBackups(env, src)) return work(await logOfBackups(env, src));
  if (target !== null && path.resolve(target.layout.dir) === path.resolve(src)) {
    await target.sync();
    const hold = target.archive.hold(0n, 'wal replay');
    try {
      return await work(logOfServer(target));
    } finally {
      hold.release();
    }
  }
  const view = await openReadOnly(env, src);
  try {
    return await work(logOfServer(view.server));
  } finally {
    await view.close();
  }
}

/** Takes the cells of one family of a table, in the order of their commits. */
interface CellTarget {
  add(cell: Uint8Array): void;
}

interface Target {
  /** By table name. */
  open(table: string, record: TableRecord): void;
  family(table: string, family: string): CellTarget;
  /** Called between batches of the log. */
  relieve(): Promise<void>;
  finish(): Promise<void>;
}

/** Replays into tables of a store, which must be there with their families. */
export function replayInto(
  source: LogSource,
  store: Connection,
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  return replay(source, new TableTarget(store), options, async (table) => {
    if (await store.admin.tableExists(table)) return;
    throw new TableNotFoundException(`Table '${table}' was not found: create it first`);
  });
}

/** Replays into HFiles `out`/<namespace>/<table>/<family>/…, for a bulk load. */
export function replayToHFiles(
  source: LogSource,
  env: Env,
  out: string,
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  return replay(source, new HFileTarget(new Work(env, options), out), options, () =>
    Promise.resolve(),
  );
}

async function replay(
  source: LogSource,
  target: Target,
  options: ReplayOptions,
  check: (table: string) => Promise<void>,
): Promise<ReplayReport> {
  const run = new Replay(source, target, options);
  for (const table of run.targets()) await check(table);
  return run.run();
}

class Replay {
  readonly #source: LogSource;
  readonly #target: Target;
  readonly #work: Work;
  readonly #from: bigint;
  readonly #to: bigint;
  /** New names by table id; families by `<table id>/<family id>`. */
  readonly #tables = new Map<number, string>();
  readonly #families = new Map<string, CellTarget>();
  readonly #seen = new Set<string>();
  #commits = 0;
  #cells = 0;
  #dropped = 0;
  #skipped = 0;

  constructor(source: LogSource, target: Target, options: ReplayOptions) {
    this.#source = source;
    this.#target = target;
    this.#work = new Work(source.env, options);
    this.#from = options.from ?? 0n;
    this.#to = options.to ?? MAX_TSO;
    const wanted = options.tables?.map(canonicalTableName) ?? null;
    const names = new Set(source.tables.map(({ name }) => name));
    for (const name of wanted ?? []) {
      if (!names.has(name)) throw new TableNotFoundException(`the log has no table ${name}`);
    }
    const rename = new Map(
      Object.entries(options.rename ?? {}).map(([from, to]) => [canonicalTableName(from), to]),
    );
    for (const record of source.tables) {
      if (wanted === null ? record.name.startsWith('hbase:') : !wanted.includes(record.name))
        continue;
      const table = canonicalTableName(rename.get(record.name) ?? record.name);
      this.#tables.set(record.id, table);
      this.#target.open(table, record);
      const current = record.schemas.at(-1)!;
      for (const [family, id] of Object.entries(current.familyIds)) {
        this.#families.set(`${record.id}/${id}`, target.family(table, family));
      }
    }
  }

  targets(): ReadonlySet<string> {
    return new Set(this.#tables.values());
  }

  async run(): Promise<ReplayReport> {
    let from = this.#from;
    for (const { dirs, toTso } of this.#source.logs) {
      await this.#log(dirs, from, toTso < this.#to ? toTso : this.#to);
      if (toTso >= from) from = toTso + 1n;
    }
    await this.#target.finish();
    return {
      commits: this.#commits,
      cells: this.#cells,
      dropped: this.#dropped,
      skipped: this.#skipped,
      tables: [...this.#seen].sort(),
    };
  }

  async #log(dirs: readonly string[], from: bigint, to: bigint): Promise<void> {
    this.#work.begin(dirs.at(-1)!);
    const reader = new LogReader(this.#source.env, dirs, {
      fromHigh: highOf(from),
      fromLow: lowOf(from),
    });
    try {
      while (await reader.nextBatch()) {
        let bytes = 0;
        while (reader.next()) {
          const { record } = reader;
          if (record.tso > to) return;
          bytes += record.size;
          if (record.hasSkipped) this.#skipped++;
          if (record.kind === KIND_COMMIT) this.#commit(record);
        }
        await this.#target.relieve();
        await this.#work.step(bytes);
      }
    } finally {
      await reader.close();
    }
  }

  #commit(record: LogRecord): void {
    let isOurs = false;
    while (record.nextGroup()) {
      const table = this.#tables.get(record.tableId);
      const isBefore = (record.familyId & BEFORE_GROUP_BIT) !== 0;
      const target = this.#families.get(`${record.tableId}/${record.familyId}`);
      while (record.nextCell()) {
        if (table === undefined || isBefore) continue;
        if (target === undefined) {
          this.#dropped++;
          continue;
        }
        const { buf, cellAt, cellLength } = record;
        target.add(buf.slice(cellAt, cellAt + cellLength));
        this.#cells++;
        this.#seen.add(table);
        isOurs = true;
      }
    }
    if (isOurs) this.#commits++;
  }
}

class TableTarget implements Target {
  readonly #store: Connection;
  readonly #tables = new Map<string, { readonly writer: CellWriter; cells: Uint8Array[] }>();

  constructor(store: Connection) {
    this.#store = store;
  }

  open(table: string): void {
    if (this.#tables.has(table)) return;
    this.#tables.set(table, { writer: new CellWriter(this.#store.table(table)), cells: [] });
  }

  family(table: string): CellTarget {
    const pending = this.#tables.get(table)!;
    return { add: (cell) => void pending.cells.push(cell) };
  }

  async relieve(): Promise<void> {
    for (const pending of this.#tables.values()) {
      const cells = pending.cells;
      pending.cells = [];
      for (let at = 0; at < cells.length; at += BATCH_CELLS) {
        await pending.writer.write(cells.slice(at, at + BATCH_CELLS));
      }
    }
  }

  finish(): Promise<void> {
    return this.relieve();
  }
}

interface GatheredFamily {
  readonly table: string;
  readonly settings: FamilySettings;
  memstore: Memstore;
}

class HFileTarget implements Target {
  readonly #work: Work;
  readonly #out: string;
  readonly #settings = new Map<string, FamilySettings>();
  readonly #families = new Map<string, GatheredFamily>();
  /** Later cells of equal keys are newer: they get greater write numbers, which the files do not keep. */
  #order = 0;

  constructor(work: Work, out: string) {
    this.#work = work;
    this.#out = out;
  }

  open(table: string, record: TableRecord): void {
    for (const family of record.schemas.at(-1)!.schema.families) {
      this.#settings.set(`${table}/${family.name}`, familySettings(family));
    }
  }

  family(table: string, family: string): CellTarget {
    const key = `${table}/${family}`;
    const gathered: GatheredFamily = this.#families.get(key) ?? {
      table,
      settings: this.#settings.get(key)!,
      memstore: new Memstore(),
    };
    this.#families.set(key, gathered);
    return {
      add: (cell) => {
        this.#order++;
        gathered.memstore.insert(cell, 0, cell.length, 0, this.#order);
      },
    };
  }

  async relieve(): Promise<void> {
    let bytes = 0;
    for (const { memstore } of this.#families.values()) {
      if (memstore.cellCount > 0) bytes += memstore.heapBytes;
    }
    if (bytes > HFILE_GATHER_BYTES) await this.finish();
  }

  async finish(): Promise<void> {
    for (const family of this.#families.values()) {
      if (family.memstore.cellCount > 0) await this.#write(family);
      family.memstore = new Memstore();
    }
  }

  async #write({ table, settings, memstore }: GatheredFamily): Promise<void> {
    const { env } = this.#work;
    const folder = `${this.#out}/${tableDir(table)}/${settings.name}`;
    await env.fs.ensureFolder(folder);
    const name = Buffer.from(env.random.bytes(16)).toString('hex');
    const writer = await HFileWriter.create(env.fs, `${folder}/${name}`, {
      createdMs: env.clock.nowMs(),
      blockSizeBytes: settings.blockSizeBytes,
      encoding: encodingNamed(settings.dataBlockEncoding) ?? 'NONE',
      compression: compressionNamed(settings.compression) ?? 'NONE',
      bloomType: settings.bloomFilter,
      bloomPrefixLength: settings.bloomPrefixLength,
      hasTags: true,
      hasWriteNumbers: false,
      isMajorCompaction: true,
    });
    const cursor = memstore.cursor();
    let key: Uint8Array = new Uint8Array(0);
    let state = cursor.seekToFirst();
    while (state !== END) {
      if (state === WAIT) await cursor.load();
      const { cell } = cursor;
      const isRepeat =
        compareBytes(cell.block.subarray(cell.rowAt, cell.timestampAt + 9), key) === 0;
      if (!isRepeat) {
        key = cell.block.slice(cell.rowAt, cell.timestampAt + 9);
        if (state === READY && writer.append(cell)) await writer.drain();
      }
      state = cursor.next();
    }
    await writer.finish();
    await syncFolders(env, [folder], this.#out);
    this.#work.check();
  }
}
