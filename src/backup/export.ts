/**
 * Exports tables into a folder, as of one moment for all of them (HBase: Export). Rows stream from a scan into the files of
 * their region's part; the manifest is written last: a folder without it is no export.
 */
import { afterPrefix, compareBytes, toStringBinary } from '../cell/index.ts';
import { compressionNamed } from '../hfile/index.ts';
import type { Env } from '../io/index.ts';
import { IoException } from '../io/index.ts';
import {
  DoNotRetryIOException,
  IllegalArgumentException,
  SYSTEM_NAMESPACE,
  canonicalTableName,
  familySettings,
  parseTableName,
} from '../model/index.ts';
import type {
  AsOf,
  Bytes,
  Column,
  Connection,
  FilterInput,
  ScanOptions,
  TableDescription,
} from '../model/index.ts';
import { physicalMsOf, tsoAsOf } from '../tso/index.ts';
import { ensureDurableFolder, foldersOf, syncFolders } from './checked_file.ts';
import {
  EXPORT_FORMATS,
  EXPORT_MANIFEST,
  EXPORT_MARKER,
  tableDir,
  writeExportManifest,
} from './export_manifest.ts';
import type {
  ExportedFile,
  ExportedTable,
  ExportFormat,
  ExportManifest,
} from './export_manifest.ts';
import { countPuts, openSink } from './export_sinks.ts';
import { SEQUENCE_COMPRESSIONS } from './sequence_file.ts';
import { sideBySide, Work } from './work.ts';
import type { WorkOptions } from './work.ts';

export interface ExportOptions extends WorkOptions {
  /** Default `sequencefile`. */
  readonly format?: ExportFormat;
  /** Versions a column at most; default 1, with `raw` all. */
  readonly versions?: number;
  /** Milliseconds: only cells in [startTime, endTime). Below 0 counts as 0; the end is never after the export's moment. */
  readonly startTime?: bigint;
  readonly endTime?: bigint;
  /** Delete markers and hidden cells, too. */
  readonly raw?: boolean;
  readonly columns?: readonly Column[];
  readonly prefix?: Bytes;
  readonly start?: Bytes;
  readonly stop?: Bytes;
  readonly filter?: FilterInput;
  readonly asOf?: AsOf;
  /** One of SEQUENCE_COMPRESSIONS, `none` or `gz` for text, a compression of HFiles; default: none, of HFiles the family's. */
  readonly compress?: string;
  /** Parts written side by side; default 2. */
  readonly parallel?: number;
}

const VERSIONS_ALL = 0x7fffffff;
const BATCH_ROWS = 500;
/** Cells of a row that are held at once; not with filters, which may want the row whole. */
const BATCH_CELLS = 10_000;

/** What the options come to. */
interface Plan {
  readonly format: ExportFormat;
  readonly compress: string;
  readonly raw: boolean;
  readonly scan: ScanOptions;
  readonly notes: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * Exports the tables (null: all) into `out`, which must be empty or absent, or hold an export that was broken off. Answers
 * the manifest. When it fails or is stopped, what it wrote is gone. Throws InterruptedIOException,
 * IllegalArgumentException, what reading throws, IoException.
 */
export async function exportTables(
  store: Connection,
  env: Env,
  tables: readonly string[] | null,
  out: string,
  options: ExportOptions = {},
): Promise<ExportManifest> {
  const work = new Work(env, options);
  const names = await namesOf(store, tables);
  const snapshot = await store.snapshot({ owner: 'export' });
  try {
    // What leaves for another place is on the disk here.
    await store.sync();
    const tso = tsoOf(options.asOf, snapshot.tso);
    const plan = planOf(options, tso, env.clock.nowMs());
    const described: TableDescription[] = [];
    for (const name of names) described.push(await store.admin.describeTable(name));
    for (const table of described) refuseRawHFile(table, plan);
    await prepareOut(env, out);
    const run = { store, work, out, plan, tso, asOf: options.asOf ?? snapshot.tso };
    try {
      return await exportAll(run, described, options.parallel ?? 2);
    } catch (error) {
      await emptyOut(env, out);
      throw error;
    }
  } finally {
    await snapshot.release();
  }
}

async function namesOf(store: Connection, tables: readonly string[] | null): Promise<string[]> {
  if (tables === null) {
    const names = await store.admin.listTables();
    return names.filter((name) => parseTableName(name).namespace !== SYSTEM_NAMESPACE);
  }
  if (tables.length === 0) throw new IllegalArgumentException('name a table to export, or all');
  return [...new Set(tables.map(canonicalTableName))];
}

function tsoOf(asOf: AsOf | undefined, now: bigint): bigint {
  if (asOf === undefined || asOf === 'now') return now;
  return typeof asOf === 'bigint' ? asOf : tsoAsOf(asOf.getTime());
}

function planOf(options: ExportOptions, tso: bigint, nowMs: number): Plan {
  const { format = 'sequencefile', raw = false } = options;
  if (!EXPORT_FORMATS.includes(format)) {
    throw new IllegalArgumentException(
      `format '${format}' is none of ${EXPORT_FORMATS.join(', ')}`,
    );
  }
  const compress = compressOf(format, options.compress);
  const notes: string[] = [];
  const range = timeRangeOf(options, BigInt(Math.min(physicalMsOf(tso), nowMs)), notes);
  const versions = options.versions ?? (raw ? VERSIONS_ALL : 1);
  if (!raw) notes.push('delete markers are not exported (raw exports have them)');
  const { columns, prefix, start, stop, filter } = options;
  const scan: ScanOptions = {
    versions,
    cacheBlocks: false,
    ...(raw ? { raw } : {}),
    ...(range === null ? {} : { timeRange: range }),
    ...(columns === undefined ? {} : { columns }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(start === undefined ? {} : { start }),
    ...(stop === undefined ? {} : { stop }),
    ...(filter === undefined ? { batch: BATCH_CELLS } : { filter }),
  };
  const text = (bytes: Bytes | undefined): string | undefined =>
    typeof bytes === 'string' || bytes === undefined ? bytes : toStringBinary(bytes);
  return {
    format,
    compress,
    raw,
    scan,
    notes,
    options: {
      versions: versions === VERSIONS_ALL ? 'ALL' : versions,
      raw,
      startTime: range === null ? undefined : String(range.min),
      endTime: range === null ? undefined : String(range.max),
      columns: columns?.map((column) =>
        typeof column === 'string' ? column : `${column[0]}:${text(column[1])}`,
      ),
      prefix: text(prefix),
      start: text(start),
      stop: text(stop),
      filter: typeof filter === 'string' ? filter : filter === undefined ? undefined : 'given',
    },
  };
}

function compressOf(format: ExportFormat, wanted: string | undefined): string {
  const name = wanted?.toLowerCase() ?? (format === 'hfile' ? '' : 'none');
  const known =
    format === 'hfile'
      ? name === '' || compressionNamed(name) !== null
      : format === 'sequencefile'
        ? SEQUENCE_COMPRESSIONS.some((compression) => compression === name)
        : name === 'none' || name === 'gz';
  if (!known)
    throw new IllegalArgumentException(`compression '${wanted}' is not known for ${format}`);
  return name;
}

function timeRangeOf(
  options: ExportOptions,
  momentMs: bigint,
  notes: string[],
): { readonly min: bigint; readonly max: bigint } | null {
  const { startTime, endTime } = options;
  if (startTime === undefined && endTime === undefined) return null;
  let min = startTime ?? 0n;
  if (min < 0n) {
    notes.push(`start time ${min} is below 0 and counts as 0`);
    min = 0n;
  }
  let max = endTime ?? momentMs;
  if (max > momentMs) {
    notes.push(`end time ${max} is after the export's moment and counts as ${momentMs}`);
    max = momentMs;
  }
  if (max < min) {
    throw new IllegalArgumentException(
      `time range [${min}, ${max}) is empty: its end is before its start`,
    );
  }
  return { min, max };
}

/** In an HFile cells of a row have no order but their keys': what NEW_VERSION_BEHAVIOR goes by would be lost. */
function refuseRawHFile(table: TableDescription, plan: Plan): void {
  if (!plan.raw || plan.format !== 'hfile') return;
  const family = table.families.find((known) => familySettings(known).newVersionBehavior);
  if (family === undefined) return;
  throw new DoNotRetryIOException(
    `Table ${table.name}: family ${family.name} has NEW_VERSION_BEHAVIOR, whose markers mean something only with write numbers, which HFiles for bulk load do not have: export it without raw, or as sequencefile`,
  );
}

/** The folder is made and marked as unfinished. Throws IoException if it holds anything else. */
async function prepareOut(env: Env, out: string): Promise<void> {
  const stat = await env.fs.stat(out);
  if (stat !== null && !stat.isDirectory) throw new IoException(`${out} is a file`, out);
  if (stat !== null) {
    const names = await env.fs.list(out);
    if (names.length > 0 && !names.includes(EXPORT_MARKER)) {
      throw new IoException(
        names.includes(EXPORT_MANIFEST) ? `${out} holds an export already` : `${out} is not empty`,
        out,
      );
    }
    await emptyOut(env, out);
  }
  await ensureDurableFolder(env, out);
  const marker = await env.fs.open(`${out}/${EXPORT_MARKER}`, 'create');
  await marker.sync();
  await marker.close();
  await env.fs.syncFolder(out);
}

/** The marker goes last: what is left by a crash in between is still known for what it is. */
async function emptyOut(env: Env, out: string): Promise<void> {
  for (const name of await env.fs.list(out)) {
    if (name !== EXPORT_MARKER) await env.fs.remove(`${out}/${name}`);
  }
  await env.fs.remove(`${out}/${EXPORT_MARKER}`);
}

interface Run {
  readonly store: Connection;
  readonly work: Work;
  readonly out: string;
  readonly plan: Plan;
  readonly tso: bigint;
  readonly asOf: AsOf;
}

async function exportAll(
  run: Run,
  tables: readonly TableDescription[],
  parallel: number,
): Promise<ExportManifest> {
  const { work, out, plan, tso } = run;
  const { env } = work;
  const id = Buffer.from(env.random.bytes(8)).toString('hex');
  const parts: Part[] = [];
  for (const table of tables) parts.push(...(await partsOf(run, table, id)));
  await sideBySide(parts, parallel, (part) => exportPart(run, part));
  const exported = tables.map((table) =>
    tableOf(
      table,
      parts.filter((part) => part.table === table),
    ),
  );
  const paths = exported.flatMap(({ files }) => files.map(({ path }) => `${out}/${path}`));
  await syncFolders(env, foldersOf(paths), out);
  const deletes = exported.reduce((sum, table) => sum + table.deletes, 0);
  const manifest = {
    id,
    createdMs: env.clock.nowMs(),
    tso: String(tso),
    time: new Date(physicalMsOf(tso)).toISOString(),
    exportFormat: plan.format,
    compress: plan.compress,
    options: plan.options,
    tables: exported,
    notes: plan.raw ? [...plan.notes, `${deletes} delete markers are included`] : plan.notes,
  };
  await writeExportManifest(env, out, manifest);
  await env.fs.remove(`${out}/${EXPORT_MARKER}`);
  await env.fs.syncFolder(out);
  return { format: 'cellar-export', version: 1, ...manifest };
}

/** The rows of one region. */
interface Part {
  readonly table: TableDescription;
  readonly id: string;
  readonly number: number;
  readonly from: Uint8Array;
  /** Exclusive; empty: no end. */
  readonly to: Uint8Array;
  rows: number;
  cells: number;
  puts: number;
  files: readonly ExportedFile[];
}

async function partsOf(run: Run, table: TableDescription, id: string): Promise<Part[]> {
  const regions = await run.store.regions(table.name);
  return regions.map(({ startKey, endKey }, number) => ({
    table,
    id,
    number,
    from: startKey,
    to: endKey,
    rows: 0,
    cells: 0,
    puts: 0,
    files: [],
  }));
}

async function exportPart(run: Run, part: Part): Promise<void> {
  const { store, work, out, plan, tso, asOf } = run;
  const scan = cutScan(plan.scan, part);
  if (scan === null) return;
  const { table, number, id } = part;
  work.begin(table.name);
  const sink = await openSink({
    work,
    out,
    dir: tableDir(table.name),
    format: plan.format,
    part: number,
    compress: plan.compress,
    schema: { ...table },
    raw: plan.raw,
    exportId: id,
    momentMs: physicalMsOf(tso),
  });
  try {
    await using scanner = store.table(table.name).scan({ ...scan, asOf });
    for (;;) {
      const results = await scanner.nextBatch(BATCH_ROWS);
      if (results.length === 0) break;
      for (const result of results) {
        const full = sink.add(result);
        if (full !== null) await full;
        part.puts += countPuts(result);
        part.cells += result.size;
        if (!result.partial) part.rows++;
      }
      work.rows += results.length;
      work.check();
    }
    part.files = await sink.finish();
  } catch (error) {
    await sink.abort();
    throw error;
  }
}

/** The scan's rows that lie in the part; null if none do. */
function cutScan(scan: ScanOptions, { from, to }: Part): ScanOptions | null {
  if (scan.prefix !== undefined) {
    const prefix = bytesOf(scan.prefix);
    if (to.length > 0 && compareBytes(prefix, to) >= 0) return null;
    if (compareBytes(prefix, from) >= 0)
      return to.length === 0 ? scan : withinPrefix(scan, prefix, to);
    const isBeyond = compareBytes(from.subarray(0, prefix.length), prefix) !== 0;
    return isBeyond ? null : withinPrefix(scan, from, to);
  }
  const start = scan.start === undefined ? from : later(bytesOf(scan.start), from);
  const stop = scan.stop === undefined ? to : earlier(bytesOf(scan.stop), to);
  if (stop.length > 0 && compareBytes(start, stop) >= 0) return null;
  return { ...scan, start, ...(stop.length === 0 ? {} : { stop }) };
}

/** Rows of a prefix within a region: a scan takes either a prefix or borders. */
function withinPrefix(scan: ScanOptions, start: Uint8Array, to: Uint8Array): ScanOptions {
  const { prefix, ...rest } = scan;
  const end = afterPrefix(bytesOf(prefix!));
  const stop = earlier(end, to);
  return { ...rest, start, ...(stop.length === 0 ? {} : { stop }) };
}

const bytesOf = (bytes: Bytes): Uint8Array =>
  typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes;

const later = (a: Uint8Array, b: Uint8Array): Uint8Array => (compareBytes(a, b) > 0 ? a : b);

/** The smaller of two ends, an empty one being none. */
function earlier(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  return compareBytes(a, b) < 0 ? a : b;
}

function tableOf(table: TableDescription, parts: readonly Part[]): ExportedTable {
  const sum = (of: (part: Part) => number): number => parts.reduce((n, part) => n + of(part), 0);
  const cells = sum((part) => part.cells);
  const puts = sum((part) => part.puts);
  const { name, attributes, configuration, families } = table;
  return {
    name,
    dir: tableDir(name),
    schema: { name, attributes, configuration, families },
    rows: sum((part) => part.rows),
    cells,
    puts,
    deletes: cells - puts,
    files: parts.flatMap((part) => part.files),
  };
}
