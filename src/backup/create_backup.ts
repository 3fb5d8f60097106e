/**
 * Takes backups of a store that is at work. A full one copies the files of a capture; an incremental one the log's records since
 * the backup before, with the files that the log does not carry. Everything is written below `.partial-<id>`, synced, and
 * gets its name last: a folder `<id>` is whole. The store's manifest keeps a record of it, which keeps the log from there on.
 */
import { captureTables, joinHalves, locationKey, packBackupDetail } from '../engine/index.ts';
import type { Capture, CapturedTable, RegionServer } from '../engine/index.ts';
import { IoException } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { put, remove } from '../manifest/index.ts';
import type { BackupRecord, Edit, FileRecord } from '../manifest/index.ts';
import {
  IllegalArgumentException,
  SYSTEM_NAMESPACE,
  TableNotFoundException,
  canonicalTableName,
  parseTableName,
} from '../model/index.ts';
import type { LogPlace } from '../wal/index.ts';
import { BACKUP_MANIFEST, PARTIAL_PREFIX, sealedOf, writeBackup } from './backup_format.ts';
import type {
  BackedFile,
  BackedRecord,
  Backup,
  BackupBody,
  BackupCatalog,
  BackupPart,
  PreparedName,
  SkippedRange,
} from './backup_format.ts';
import {
  ledgerNames,
  ledgerOf,
  namesOf,
  preparedAsOf,
  splitLedger,
  stagedIn,
  stagedRecords,
} from './backup_transactions.ts';
import { chainOf, hasTables, listBackups, partialsIn } from './chains.ts';
import type { BackupSet } from './chains.ts';
import {
  copyChecked,
  ensureDurableFolder,
  linkSynced,
  readEntry,
  syncFolders,
} from './checked_file.ts';
import { BackupException } from './errors.ts';
import { incrementalCatalog, loadedFiles } from './increments.ts';
import { copyLog } from './log_copy.ts';
import { sideBySide, Work } from './work.ts';
import type { WorkOptions } from './work.ts';

export interface BackupOptions extends WorkOptions {
  /** Absent: all tables, those made later, too. */
  readonly tables?: readonly string[];
  /** Only the commits since the newest backup in the folder that has the tables. */
  readonly incremental?: boolean;
  /** Full only: link store files instead of copying them. The log and the manifest never are. */
  readonly link?: boolean;
  /** Full only: the store keeps no log for incremental ones after it. */
  readonly standalone?: boolean;
  /** Files copied side by side; default 2. */
  readonly parallel?: number;
}

interface Target {
  readonly server: RegionServer;
  readonly work: Work;
  readonly dest: string;
  /** The path, '#', and what the folder is known by wherever it lies. */
  readonly location: string;
  readonly id: string;
  /** The folder while it is written. */
  readonly partial: string;
  readonly options: BackupOptions;
}

/**
 * Takes a backup into `dest/<id>`; answers its manifest. Throws BackupException (with the reason why an incremental one cannot
 * be taken), TableNotFoundException, InterruptedIOException, CorruptionException, IoException; then nothing of it is left.
 */
export async function createBackup(
  server: RegionServer,
  dest: string,
  options: BackupOptions = {},
): Promise<Backup> {
  const { env } = server;
  const { link = false, standalone = false, incremental = false } = options;
  if (incremental && (link || standalone)) {
    throw new IllegalArgumentException('link and standalone are for full backups');
  }
  const key = await prepareDest(server, dest);
  const set = await reconcile(server, dest);
  const id = idOf(env.clock.nowMs(), env.random.bytes(2));
  const partial = `${dest}/${partialPrefix(server)}${id}`;
  const location = `${dest}#${key}`;
  const work = new Work(env, options);
  const target = { server, work, dest, location, id, partial, options };
  server.archive.underWay.add(partial);
  try {
    await env.fs.ensureFolder(partial);
    const backup = incremental ? await incrementalBackup(target, set) : await fullBackup(target);
    await writeBackup(env, partial, backup);
    await env.fs.rename(partial, `${dest}/${id}`);
    await env.fs.syncFolder(dest);
    if (!standalone) await server.manifest.commit([put('backup', recordOf(target, backup))]);
    // What only older backups needed of the log goes.
    await server.background.releaseLog();
    return sealedOf(backup);
  } catch (error) {
    await env.fs.remove(partial);
    if ((await env.fs.stat(`${dest}/${id}/${BACKUP_MANIFEST}`)) === null) {
      await forget(server, id);
    }
    throw error;
  } finally {
    server.archive.underWay.delete(partial);
  }
}

/** Of the folders that this store writes. */
const partialPrefix = ({ manifest }: RegionServer): string =>
  `${PARTIAL_PREFIX}${manifest.store.storeId.slice(0, 8)}-`;

/** Sorts by time: `20261130T173500123Z-4f2a`. */
function idOf(nowMs: number, chance: Uint8Array): string {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:.]/g, '');
  return `${time}-${Buffer.from(chance).toString('hex')}`;
}

/** Lies in a folder of backups: 16 hex digits by which stores know it. */
const DEST_KEY = '.cellar-id';

/** Makes the folder; answers its key. */
async function prepareDest({ env, layout }: RegionServer, dest: string): Promise<string> {
  const stat = await env.fs.stat(dest);
  if (stat !== null && !stat.isDirectory) throw new IoException(`${dest} is a file`, dest);
  if (dest === layout.dir || dest.startsWith(`${layout.dir}/`)) {
    throw new IllegalArgumentException(
      `backups of ${layout.dir} must lie outside of it, not in ${dest}`,
    );
  }
  await ensureDurableFolder(env, dest);
  const known = await destKey(env, dest);
  if (known !== null) return known;
  const key = Buffer.from(env.random.bytes(8)).toString('hex');
  const passing = `${dest}/${DEST_KEY}.new`;
  await env.fs.remove(passing);
  const handle = await env.fs.open(passing, 'create');
  try {
    await handle.write(Buffer.from(key, 'latin1'), 0);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await env.fs.rename(passing, `${dest}/${DEST_KEY}`);
  await env.fs.syncFolder(dest);
  return key;
}

/** Null for a folder that holds no backups yet. */
async function destKey(env: Env, dest: string): Promise<string | null> {
  const path = `${dest}/${DEST_KEY}`;
  if ((await env.fs.stat(path)) === null) return null;
  return Buffer.from(await env.fs.readFile(path)).toString('latin1');
}

/** Whose tables, in the order of their names: system tables are the server's own. */
function tableNames(server: RegionServer, wanted: readonly string[] | null): string[] {
  if (wanted !== null) return wanted.map((name) => server.catalog.get(name).name);
  return [...server.catalog.tables()]
    .map(({ name }) => name)
    .filter((name) => parseTableName(name).namespace !== SYSTEM_NAMESPACE)
    .sort();
}

function recordOf({ location, options }: Target, backup: BackupBody): BackupRecord {
  const { id, kind, parentId, fromTso, toTso, createdMs } = backup;
  return {
    id,
    kind,
    parentId,
    location,
    fromTso,
    toTso,
    createdMs,
    tableIds: [],
    state: 'complete',
    detail: packBackupDetail({ all: options.tables === undefined, tables: backup.tables }),
  };
}

async function forget({ manifest }: RegionServer, id: string): Promise<void> {
  if (manifest.get('backup', id) === undefined || manifest.hasFailed) return;
  await manifest.commit([remove('backup', id)]);
}

/**
 * Makes the store's records of backups in this folder those that are there: what a crash left undone is finished or undone, what
 * somebody removed is forgotten. Answers what is there; null for a folder that is none of backups yet.
 */
export async function reconcile(server: RegionServer, dest: string): Promise<BackupSet | null> {
  const { manifest, env } = server;
  const key = await destKey(env, dest);
  if (key === null) return null;
  const edits: Edit[] = [];
  const set = await listBackups(env, dest);
  const { backups } = set;
  for (const record of manifest.all('backup')) {
    // By its path, too: a folder that was removed and made anew has another key.
    const isHere = locationKey(record) === key || record.location.startsWith(`${dest}#`);
    if (!isHere) continue;
    const merged = backups.find(({ replaces }) => replaces.includes(record.id));
    if (merged !== undefined) {
      edits.push(remove('backup', record.id));
      const { id, kind, parentId, fromTso, toTso } = merged;
      if (record.toTso === toTso) {
        const location = `${dest}#${key}`;
        edits.push(
          put('backup', { ...record, id, kind, parentId, fromTso, location, state: 'complete' }),
        );
      }
      continue;
    }
    const isThere = (await env.fs.stat(`${dest}/${record.id}/${BACKUP_MANIFEST}`)) !== null;
    if (isThere && record.state === 'running')
      edits.push(put('backup', { ...record, state: 'complete' }));
    if (isThere || isUnderWay(server, record.id)) continue;
    edits.push(remove('backup', record.id));
  }
  for (const name of await partialsIn(env, dest)) {
    const path = `${dest}/${name}`;
    const isOurs = name.startsWith(partialPrefix(server));
    if (isOurs && !server.archive.underWay.has(path)) await env.fs.remove(path);
  }
  for (const backup of backups) {
    // Its parent is ours and it was not noted any more.
    if (backup.storeId !== manifest.store.storeId || backup.parentId === null) continue;
    const parent = manifest.get('backup', backup.parentId);
    if (parent === undefined || manifest.get('backup', backup.id) !== undefined) continue;
    const { id, kind, parentId, fromTso, toTso, createdMs } = backup;
    edits.push(
      put('backup', {
        ...parent,
        id,
        kind,
        parentId,
        fromTso,
        toTso,
        createdMs,
        state: 'complete',
      }),
    );
  }
  if (edits.length > 0) await manifest.commit(edits);
  return set;
}

const isUnderWay = ({ archive }: RegionServer, id: string): boolean =>
  [...archive.underWay].some((path) => path.endsWith(id));

// ---- Full ----------------------------------------------------------------------------------------------------------------

async function fullBackup(target: Target): Promise<BackupBody> {
  const { server, work, id, options } = target;
  const all = options.tables === undefined;
  const names = tableNames(server, options.tables ?? null);
  const createdMs = server.env.clock.nowMs();
  work.begin('flushing');
  const common = { id, kind: 'full', parentId: null, fromTso: 0n, createdMs } as const;
  const shell = (toTso: bigint): BackupBody => ({
    ...common,
    storeId: server.manifest.store.storeId,
    toTso,
    all,
    tables: names,
    linked: options.link === true,
    replaces: [],
    parts: [],
  });
  // A stamp of now: the moments since the last commit, which may be long ago, are covered, too.
  const { logAt } = await mark(server, id);
  // What goes away between the capture's moment and the backup's record is kept for it, too.
  const { appliedHigh, appliedLow } = server.readPoint;
  const hold = server.archive.hold(joinHalves(appliedHigh, appliedLow), `backup ${id}`);
  try {
    const capture = await captureTables(
      server,
      () => [...names, ...ledgerNames(server)],
      (tso) =>
        options.standalone === true
          ? []
          : [put('backup', { ...recordOf(target, shell(tso)), state: 'running' })],
    );
    try {
      return { ...shell(capture.tso), ...(await captured(target, capture, logAt)) };
    } finally {
      await capture.release();
    }
  } finally {
    hold.release();
  }
}

/** The base part, with the transactions that are prepared. */
async function captured(
  target: Target,
  capture: Capture,
  logAt: LogPlace | null,
): Promise<Pick<Backup, 'parts' | 'prepared'>> {
  const { server, options } = target;
  const { tso } = capture;
  const { own, ledger } = splitLedger(capture.tables);
  const prepared = ledger === null ? [] : await preparedAsOf(server, tso);
  const tableIds =
    options.tables === undefined ? null : new Set(own.map(({ record }) => record.id));
  const staged = stagedRecords(server, prepared, { from: tso, to: tso }, tableIds);
  try {
    const part: BackupPart = {
      kind: 'base',
      fromTso: 0n,
      toTso: tso,
      catalog: catalogOf(server, own),
      ...(ledger === null ? {} : { ledger }),
      files: await backUpFiles(target, [...rolesOf(capture), ...staged.records]),
      log: [],
      skipped: [],
      ...(logAt === null ? {} : { logAt }),
    };
    return { parts: [part], prepared: namesOf(prepared) };
  } finally {
    await staged.release();
  }
}

function rolesOf(capture: Capture): BackedRecord[] {
  return capture.tables.flatMap(({ files }) =>
    files.map(({ record, isHistory }) => ({ role: isHistory ? 'history' : 'live', record })),
  );
}

function catalogOf(server: RegionServer, tables: readonly CapturedTable[]): BackupCatalog {
  return {
    namespaces: [...server.manifest.all('namespace')],
    tables: tables.map(({ record, regions }) => ({ record, regions })),
  };
}

/** Copies (or links) the physical files of these records, each once. */
async function backUpFiles(
  target: Target,
  records: readonly BackedRecord[],
): Promise<BackedFile[]> {
  const { server, work, partial, options } = target;
  const byPath = new Map<string, BackedRecord[]>();
  for (const backed of records) {
    const known = byPath.get(backed.record.path);
    if (known === undefined) byPath.set(backed.record.path, [backed]);
    else known.push(backed);
  }
  const files = [...byPath].map(([path, of]) => ({ path, of }));
  for (const { path } of files) {
    work.bytesTotal += (await server.env.fs.stat(server.layout.resolve(path)))?.sizeBytes ?? 0;
  }
  const folders = new Set(files.map(({ path }) => `${partial}/files/${folderOf(path)}`));
  for (const folder of folders) await server.env.fs.ensureFolder(folder);
  const done: BackedFile[] = [];
  await sideBySide(files, options.parallel ?? 2, async ({ path, of }) => {
    work.begin(path);
    const from = server.layout.resolve(path);
    const to = `${partial}/files/${path}`;
    const facts =
      options.link === true
        ? await linkFile(work, from, to)
        : await copyChecked(work, from, to, null);
    done.push({ path: `files/${path}`, ...facts, records: of });
  });
  if (files.length > 0) await syncFolders(server.env, folders, partial);
  done.sort((a, b) => (a.path < b.path ? -1 : 1));
  return done;
}

async function linkFile(
  work: Work,
  from: string,
  to: string,
): Promise<{ sizeBytes: number; crc32: string }> {
  await linkSynced(work.env, from, to);
  return readEntry(work, to);
}

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

// ---- Incremental ---------------------------------------------------------------------------------------------------------

async function incrementalBackup(target: Target, set: BackupSet | null): Promise<BackupBody> {
  const { server, id } = target;
  if (server.log === null) {
    throw new BackupException('a store in memory has no log: take a full backup');
  }
  const { parent, chain } = parentOf(target, set ?? { dir: target.dest, backups: [], broken: [] });
  const hold = server.archive.hold(parent.toTso, `backup ${id}`);
  try {
    const { to, logAt } = await mark(server, id);
    const names = parent.all ? null : parent.tables;
    const catalog = incrementalCatalog(server, names, parent.toTso);
    const { part, prepared } = await incrementalPart(target, {
      parent,
      chain,
      catalog,
      to,
      logAt,
    });
    return {
      id,
      kind: 'incremental',
      parentId: parent.id,
      storeId: parent.storeId,
      createdMs: server.env.clock.nowMs(),
      fromTso: parent.toTso,
      toTso: to,
      all: parent.all,
      tables: names ?? tableNames(server, null),
      linked: false,
      replaces: [],
      ...(prepared === null ? {} : { prepared }),
      parts: [part],
    };
  } finally {
    hold.release();
  }
}

interface Increment {
  readonly parent: Backup;
  /** Up to the parent. */
  readonly chain: readonly Backup[];
  readonly catalog: BackupCatalog;
  readonly to: bigint;
  readonly logAt: LogPlace | null;
}

async function incrementalPart(
  target: Target,
  { parent, chain, catalog, to, logAt }: Increment,
): Promise<{ readonly part: BackupPart; readonly prepared: PreparedName[] | null }> {
  const { server, work } = target;
  const from = parent.toTso;
  const names = parent.all ? null : parent.tables;
  const tableIds = new Set(catalog.tables.map(({ record }) => record.id));
  const ledger = ledgerOf(server, chain);
  const isNone = ledgerNames(server).length === 0;
  const prepared = ledger === null ? [] : await preparedAsOf(server, to);
  const wanted = names === null ? null : tableIds;
  const staged = stagedRecords(server, prepared, { from, to }, wanted);
  try {
    work.begin('log');
    const logged = ledger === null ? tableIds : new Set([...tableIds, ledger.record.id]);
    const copied = await copyLog({
      work,
      server,
      from,
      to,
      top: target.partial,
      dir: 'log/0',
      startAt: parent.parts.at(-1)?.logAt ?? null,
      tableIds: names === null ? null : logged,
    });
    const known = stagedIn(chain);
    const fresh = staged.records.filter(({ record }) => !known.has(record.path));
    const loaded = loadedFiles(server, tableIds, from, to);
    const files = await backUpFiles(target, [...loaded, ...(ledger === null ? [] : fresh)]);
    const covering = await coveringFiles(target, copied.skipped, names);
    const part: BackupPart = {
      kind: 'log',
      fromTso: from,
      toTso: to,
      catalog,
      ...(ledger === null ? {} : { ledger }),
      files: [...files, ...covering],
      log: copied.log,
      skipped: copied.skipped,
      ...(logAt === null ? {} : { logAt }),
    };
    return { part, prepared: ledger === null && !isNone ? null : namesOf(prepared) };
  } finally {
    await staged.release();
  }
}

/** The newest backup of this store in the folder that has the tables, its chain whole. */
function parentOf(
  { server, dest, options }: Target,
  set: BackupSet,
): { readonly parent: Backup; readonly chain: readonly Backup[] } {
  const { storeId } = server.manifest.store;
  const wanted = options.tables?.map(canonicalTableName) ?? null;
  for (const name of wanted ?? []) {
    if (server.catalog.find(name) === undefined) {
      throw new TableNotFoundException(`Table '${name}' was not found`);
    }
  }
  const own = set.backups.filter((backup) => backup.storeId === storeId);
  const registered = own.filter(({ id, replaces }) =>
    [id, ...replaces].some((known) => server.manifest.get('backup', known) !== undefined),
  );
  // Without names: the chain with most tables goes on.
  const fitting = registered.filter((backup) =>
    wanted === null ? true : hasTables(backup, wanted),
  );
  const parent = fitting
    .toReversed()
    .find((backup) => wanted !== null || backup.all || !fitting.some(({ all }) => all));
  if (parent !== undefined) {
    return { parent, chain: chainOf(set, parent) };
  }
  const why =
    own.length === 0
      ? `${dest} has no backup of this store`
      : registered.length === 0
        ? `the store does not keep its log for the backups in ${dest}`
        : `no backup in ${dest} has the tables ${wanted?.join(', ')}`;
  throw new BackupException(`${why}: take a full backup first`);
}

/** A control record of its own marks where the backup ends; everything up to it is on the disk then. */
async function mark(
  server: RegionServer,
  id: string,
): Promise<{ readonly to: bigint; readonly logAt: LogPlace | null }> {
  let to = 0n;
  // Before the record: whatever is committed after it comes behind.
  const logAt = server.log?.endPlace ?? null;
  await server.schema.inOrder(() =>
    server.schema.perform(`backup ${id}`, null, (tso) => {
      to = tso;
      return { edits: [], apply: () => undefined };
    }),
  );
  await server.sync();
  return { to, logAt };
}

/** The files that hold the commits of these ranges, which are flushed for that. */
async function coveringFiles(
  target: Target,
  skipped: readonly SkippedRange[],
  wanted: readonly string[] | null,
): Promise<BackedFile[]> {
  if (skipped.length === 0) return [];
  const { server } = target;
  const names = tableNames(server, null).filter((name) => wanted?.includes(name) ?? true);
  const capture = await captureTables(server, () => names);
  try {
    const covers = (record: FileRecord): boolean =>
      record.stamp === null &&
      skipped.some(
        ({ first, last }) => record.maxWriteNumber >= first && record.minWriteNumber <= last,
      );
    const records = capture.tables.flatMap(({ files }) =>
      files.filter(({ record }) => covers(record)).map(({ record }) => record),
    );
    const backed = records.map((record): BackedRecord => ({ role: 'covering', record }));
    // A file that was loaded and covers, too, has its place already.
    const files = await backUpFiles({ ...target, partial: `${target.partial}/skipped` }, backed);
    return files.map((file) => ({ ...file, path: `skipped/${file.path}` }));
  } finally {
    await capture.release();
  }
}
