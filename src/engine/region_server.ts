/**
 * The engine: one open store. Puts together the folder's lock, manifest, log, oracle, catalog and commit queue, recovers
 * what a crash left, and closes in order. The API on top of it is in embedded_*.ts.
 */
import { invariant, memoryEnv, realEnv } from '../io/index.ts';
import type { Env, FolderLock, StoreException } from '../io/index.ts';
import { DataLayout, Manifest, ONLY } from '../manifest/index.ts';
import { IllegalArgumentException, StoreClosedException, shown } from '../model/index.ts';
import type { FileDescription, RegionDescription, StoreStatus } from '../model/index.ts';
import { FRESH_ORACLE, Oracle, inManifest } from '../tso/index.ts';
import { LogWriter, recoverLog } from '../wal/index.ts';
import type { LogListener, LogOptions, RecoveredLog } from '../wal/index.ts';
import { Background } from './background.ts';
import { BulkLoad } from './bulk_load.ts';
import { Catalog } from './catalog.ts';
import { CommitQueue } from './commit_queue.ts';
import { prepareFolder } from './data_folder.ts';
import { SILENT } from './logger.ts';
import type { Logger } from './logger.ts';
import { forgetLogEnd, logEndOf, putLogEnd } from './log_end.ts';
import { lastStamp } from './last_stamp.ts';
import { LateSyncs, forgetUnsynced } from './late_sync.ts';
import { LogArchive } from './log_archive.ts';
import { MemoryLog } from './memory_log.ts';
import { HistoryFloor } from './history_floor.ts';
import { Nonces } from './nonces.ts';
import { settingsOf } from './options.ts';
import type { OpenOptions, Settings } from './options.ts';
import { PastTables } from './past_tables.ts';
import { Pins } from './pins.ts';
import { ReadPoint, highOf, joinHalves, lowOf } from './read_point.ts';
import { ReadClock, Reads } from './reads.ts';
import { LogReplay } from './replay.ts';
import { RegionChanges } from './region_changes.ts';
import { describeRegions } from './region_report.ts';
import { RowWriter } from './row_writer.ts';
import { SchemaChanges } from './schema_changes.ts';
import { Splitter } from './splitter.ts';
import { StoreFiles } from './store_files.ts';
import { TableSnapshots } from './table_snapshots.ts';

/** Where a store in memory keeps its files, in a file system of its own. */
const MEMORY_FOLDER = '/store';

/** What recovery found and did, for the banner and the logger. */
export interface RecoverySummary {
  readonly commits: number;
  readonly cells: number;
  readonly tookMs: number;
  readonly cleanClose: boolean;
  readonly notes: readonly string[];
}

interface Parts {
  readonly env: Env;
  readonly layout: DataLayout;
  readonly settings: Settings;
  readonly logger: Logger;
  readonly lock: FolderLock | null;
  readonly files: StoreFiles;
  readonly manifest: Manifest;
  readonly readPoint: ReadPoint;
  readonly oracle: Oracle;
  readonly log: LogWriter | null;
  readonly catalog: Catalog;
  readonly nonces: Nonces;
  readonly recovery: RecoverySummary;
}

export class RegionServer {
  readonly env: Env;
  readonly layout: DataLayout;
  readonly settings: Settings;
  readonly logger: Logger;
  readonly manifest: Manifest;
  readonly readPoint: ReadPoint;
  readonly oracle: Oracle;
  /** Null for a store in memory. */
  readonly log: LogWriter | null;
  readonly catalog: Catalog;
  readonly nonces: Nonces;
  readonly queue: CommitQueue;
  readonly rows: RowWriter;
  readonly schema: SchemaChanges;
  readonly reads: Reads;
  readonly files: StoreFiles;
  readonly pins: Pins;
  readonly past: PastTables;
  readonly background: Background;
  readonly regionChanges: RegionChanges;
  readonly splitter: Splitter;
  readonly snapshots: TableSnapshots;
  readonly bulkLoad: BulkLoad;
  readonly archive: LogArchive;
  readonly lateSyncs: LateSyncs;
  readonly recovery: RecoverySummary;
  /** Transactions of a group that had to start over. */
  transactConflicts = 0;
  readonly #lock: FolderLock | null;
  /** Operations that `close` waits for. */
  #running = 0;
  #whenIdle: (() => void) | null = null;
  #closing: Promise<void> | null = null;

  constructor(parts: Parts) {
    this.env = parts.env;
    this.layout = parts.layout;
    this.settings = parts.settings;
    this.logger = parts.logger;
    this.manifest = parts.manifest;
    this.readPoint = parts.readPoint;
    this.oracle = parts.oracle;
    this.log = parts.log;
    this.catalog = parts.catalog;
    this.nonces = parts.nonces;
    this.files = parts.files;
    this.recovery = parts.recovery;
    this.#lock = parts.lock;
    this.queue = commitQueueOf(parts);
    for (const table of this.catalog.tables()) this.queue.grew(table.memstoreHeapBytes);
    this.#listen();
    this.rows = new RowWriter({
      catalog: this.catalog,
      queue: this.queue,
      readPoint: this.readPoint,
      publish: this.log === null ? null : (tso) => this.oracle.publish(tso),
    });
    this.pins = new Pins({ manifest: this.manifest, clock: this.env.clock });
    const clock = new ReadClock(this.oracle);
    const floors = new HistoryFloor({
      manifest: this.manifest,
      readPoint: this.readPoint,
      pins: this.pins,
      nowMs: () => clock.followedMs(),
      retentionMs: this.settings.historyRetentionMs,
    });
    this.past = new PastTables({ catalog: this.catalog, manifest: this.manifest, floors });
    this.past.load(this.files);
    this.reads = new Reads({
      catalog: this.catalog,
      past: this.past,
      pins: this.pins,
      readPoint: this.readPoint,
      oracle: this.oracle,
      visibleTimeoutMs: () => this.oracle.knobs.change_visible_timeout_ms,
      sleep: (ms) => this.env.timers.sleep(ms),
      random: (below) => this.env.random.int(below),
      places: this.files.places,
    });
    this.schema = new SchemaChanges({
      catalog: this.catalog,
      manifest: this.manifest,
      queue: this.queue,
      readPoint: this.readPoint,
      clock: this.env.clock,
      files: this.files,
      past: this.past,
      logger: this.logger,
      flush: (table) => this.background.flushTable(table),
    });
    this.archive = new LogArchive(this);
    this.lateSyncs = new LateSyncs({
      env: this.env,
      manifest: this.manifest,
      layout: this.layout,
      failed: (error) => this.manifestFailed(error),
    });
    this.background = new Background(this);
    this.regionChanges = new RegionChanges(this);
    this.splitter = new Splitter(this);
    this.snapshots = new TableSnapshots(this);
    this.bulkLoad = new BulkLoad(this);
  }

  #listen(): void {
    const { queue, nonces, logger } = this;
    queue.onNonce = (nonce, high, low) => nonces.committed(nonce, joinHalves(high, low));
    queue.onBroken = (error) => this.logFailed(error);
    queue.pacer.onSlow = () => {
      const { memstoreHeapBytes } = queue;
      const text = 'writers are slowed: memory fills faster than flushes empty it';
      logger.warn({ memstoreHeapBytes }, text);
    };
  }

  /** Why no writes are taken any more; null while they are. */
  get fatal(): StoreException | null {
    const stopped = this.queue.stopped;
    return stopped instanceof StoreClosedException ? null : stopped;
  }

  /** The log has failed, or a commit broke in its step: reads go on at the last read point. */
  logFailed(error: StoreException): void {
    this.logger.error({ err: error }, 'no more writes until the next open');
    this.queue.stop(error);
    this.oracle.stop(error);
    this.readPoint.fail(error);
  }

  /**
   * The next open may find the change of schema that failed, or not: what is acknowledged from now on could be lost with
   * a family or table that is gone then. What was committed before is acknowledged as usual.
   */
  manifestFailed(error: StoreException): void {
    this.logger.error({ err: error }, 'no more writes until the next open');
    this.queue.stop(error);
  }

  checkOpen(): void {
    if (this.#closing !== null) throw new StoreClosedException('the store is closed');
  }

  /** Counts a running operation, so that `close` waits for it. */
  async track<T>(operation: () => Promise<T>): Promise<T> {
    this.checkOpen();
    this.#running++;
    try {
      return await operation();
    } finally {
      this.#running--;
      if (this.#running === 0) this.#whenIdle?.();
    }
  }

  async tso(): Promise<bigint> {
    this.checkOpen();
    const { first } = await this.oracle.allocate(1);
    return first;
  }

  async sync(): Promise<void> {
    this.checkOpen();
    await this.log?.sync();
    await this.lateSyncs.settled();
  }

  async setAddress(address: string | null): Promise<void> {
    await this.#lock?.setAddress(address);
  }

  status(): StoreStatus {
    let regions = 0;
    let cells = 0;
    let bytes = 0;
    for (const table of this.catalog.tables()) {
      regions += table.regions.length;
      for (const region of table.regions) {
        cells += region.memstoreCells;
        for (const store of region.stores) bytes += store.memstoreCellBytes;
      }
    }
    const { readPoint, queue, log } = this;
    const cache = this.files.cache.metrics();
    const history = this.background.history.status();
    return {
      data: this.#lock === null ? null : this.layout.dir,
      durability: this.settings.durability,
      readPoint: joinHalves(readPoint.high, readPoint.low),
      durablePoint: joinHalves(readPoint.durableHigh, readPoint.durableLow),
      tables: this.catalog.tableCount,
      regions,
      memstoreCells: cells,
      memstoreBytes: bytes,
      memstoreHeapBytes: queue.memstoreHeapBytes,
      memstoreLimitBytes: this.settings.memstoreBytes,
      logBytes: log === null ? 0 : log.sizeBytes,
      history,
      fatal: this.fatal?.message ?? null,
      ...(queue.flushFailure === null ? {} : { flushFailure: queue.flushFailure.message }),
      counters: {
        history_merges: history.merges,
        history_failures: this.background.history.failures,
        commits: queue.commits,
        commits_slowed: queue.pacer.slowed,
        log_records: log?.metrics.records ?? 0,
        log_bytes: log?.metrics.bytes ?? 0,
        log_batches: log?.metrics.batches ?? 0,
        log_syncs: log?.metrics.syncs ?? 0,
        nonces: this.nonces.size,
        flushes: this.background.flusher.flushes,
        flush_failures: this.background.flusher.failures,
        compactions: this.background.compactor.compactions,
        compaction_failures: this.background.compactor.failures,
        compactions_waiting: this.background.compactor.waitingCount,
        splits: this.regionChanges.splits,
        merges: this.regionChanges.merges,
        split_failures: this.splitter.failures,
        transact_conflicts: this.transactConflicts,
        block_cache_bytes: this.files.cache.sizeBytes,
        block_cache_hits: cache.hits,
        block_cache_misses: cache.misses,
      },
    };
  }

  /** The store files of a table, or of all. Throws TableNotFoundException. */
  describeFiles(name: string | undefined): FileDescription[] {
    this.checkOpen();
    const tables = name === undefined ? this.catalog.userTables() : [this.catalog.get(name)];
    return tables.flatMap((table) => this.files.describe(table));
  }

  /** The regions of a table, or of all. Throws TableNotFoundException. */
  describeRegions(name: string | undefined): RegionDescription[] {
    this.checkOpen();
    const tables = name === undefined ? this.catalog.userTables() : [this.catalog.get(name)];
    return tables.flatMap((table) => describeRegions(this.manifest, table));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#running > 0) {
      await new Promise<void>((resolve) => (this.#whenIdle = resolve));
    }
    await this.splitter.stop();
    await this.schema.settled();
    await this.background.stop();
    const failure = this.fatal;
    this.queue.stop(new StoreClosedException('the store is closed'));
    try {
      if (failure === null) {
        await this.log?.sync();
        await this.oracle.close();
        await this.log?.close();
        await this.#noteLogEnd();
      }
    } finally {
      await this.#closeFiles();
    }
  }

  /** The next open knows how far the log goes, so that not even a missing last segment passes for its end. */
  async #noteLogEnd(): Promise<void> {
    const end = this.log?.endPlace ?? null;
    if (end === null) return;
    try {
      await this.manifest.commit([putLogEnd(end)]);
    } catch (error) {
      // The log is whole without it.
      this.logger.warn({ err: error }, 'the end of the log could not be noted');
    }
  }

  /** Gives back every file and the lock, whatever fails on the way. */
  async #closeFiles(): Promise<void> {
    try {
      await this.log?.close();
    } finally {
      await this.files.close();
      await this.manifest.close();
      await this.env.executor.close();
      await this.#lock?.release();
    }
  }
}

function commitQueueOf({ log, oracle, readPoint, env, settings }: Parts): CommitQueue {
  return new CommitQueue({
    log: log ?? new MemoryLog(readPoint),
    clock: oracle,
    readPoint,
    timers: env.timers,
    limits: {
      serverBytes: settings.memstoreBytes,
      regionBytes: settings.regionMemstoreBytes,
      busyTimeoutMs: settings.busyTimeoutMs,
    },
  });
}

/**
 * Opens the store in `dir`, making it if the folder is empty or absent, or a store in memory without one. Throws
 * FolderLockedException, CorruptionException, NewerVersionException, FileNotFoundException (`mustExist`), IoException,
 * IllegalArgumentException.
 */
export async function openServer(
  dir: string | undefined,
  options: OpenOptions = {},
): Promise<RegionServer> {
  const settings = settingsOf(options);
  const logger = options.logger ?? SILENT;
  if (dir === undefined) return openInMemory(options.env ?? memoryEnv(), settings, logger);
  if (typeof dir !== 'string' || dir === '') {
    throw new IllegalArgumentException(`The data folder must be a path, not ${shown(dir)}`);
  }
  const env = options.env ?? realEnv();
  await prepareFolder(env, dir, settings.mustExist);
  const lock = await env.fs.lockFolder(dir, { address: settings.address });
  try {
    return await openFolder(env, dir, settings, logger, lock, options.env === undefined);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function openInMemory(env: Env, settings: Settings, logger: Logger): Promise<RegionServer> {
  const manifest = Manifest.inMemory(env);
  const layout = new DataLayout(MEMORY_FOLDER);
  const files = await StoreFiles.create({
    env,
    layout,
    manifest,
    logger,
    cacheBytes: settings.blockCacheBytes,
    nativeChecksums: false,
  });
  const readPoint = new ReadPoint();
  const oracle = await openOracle({ env, manifest, readPoint, settings, logger, lastTso: 0n });
  const cursor = oracle.cursor();
  readPoint.start(highOf(cursor), lowOf(cursor));
  const recovery = { commits: 0, cells: 0, tookMs: 0, cleanClose: true, notes: [] };
  return new RegionServer({
    env,
    layout,
    settings,
    logger,
    lock: null,
    files,
    manifest,
    readPoint,
    oracle,
    log: null,
    catalog: new Catalog(),
    nonces: new Nonces(env.clock),
    recovery,
  });
}

async function openFolder(
  env: Env,
  dir: string,
  settings: Settings,
  logger: Logger,
  lock: FolderLock,
  nativeChecksums: boolean,
): Promise<RegionServer> {
  const startMs = env.clock.monotonicMs();
  const manifest = await Manifest.open(env, dir);
  try {
    return await recover({ env, dir, settings, logger, lock, nativeChecksums, manifest, startMs });
  } catch (error) {
    await manifest.close();
    throw error;
  }
}

interface Opened {
  readonly env: Env;
  readonly dir: string;
  readonly settings: Settings;
  readonly logger: Logger;
  readonly lock: FolderLock;
  readonly nativeChecksums: boolean;
  readonly manifest: Manifest;
  readonly startMs: number;
}

/** Makes the server of an open manifest: files, log and oracle as a crash or a clean end left them. */
async function recover(opened: Opened): Promise<RegionServer> {
  const { env, dir, settings, logger, lock, nativeChecksums, manifest, startMs } = opened;
  const layout = new DataLayout(dir);
  const server: { current: RegionServer | null } = { current: null };
  await env.fs.remove(layout.tmp);
  const files = await StoreFiles.create({
    env,
    layout,
    manifest,
    logger,
    cacheBytes: settings.blockCacheBytes,
    nativeChecksums,
  });
  const catalog = new Catalog();
  catalog.load(manifest);
  await forgetUnsynced(manifest, logger);
  for (const table of catalog.tables()) files.attach(table);
  const nonces = new Nonces(env.clock);
  const kept = manifest.get('nonces', ONLY);
  if (kept !== undefined) nonces.unpack(kept.body);
  const replay = new LogReplay(catalog, manifest, nonces);
  const logOptions = {
    ...logOptionsOf(settings, manifest),
    isDiskBusy: () => server.current?.background.isBusy === true,
    archiveDir: layout.archivedWal,
  };
  const recovered = await replayLog(opened, logOptions, replay);
  const readPoint = new ReadPoint();
  const listener: LogListener = {
    advanced: (readHigh, readLow, durableHigh, durableLow) =>
      readPoint.advanced(readHigh, readLow, durableHigh, durableLow),
    failed: (error) => {
      invariant(server.current !== null, 'a log fails only in use');
      server.current.logFailed(error);
    },
  };
  const lastTso = lastStamp(manifest, joinHalves(recovered.lastHigh, recovered.lastLow));
  readPoint.start(highOf(lastTso), lowOf(lastTso));
  // A store that has data and no state of the oracle has lost it: so the state is there before the first commit.
  if (manifest.oracle === null && lastTso === 0n) await inManifest(manifest).save(FRESH_ORACLE);
  const oracle = await openOracle({ env, manifest, readPoint, settings, logger, lastTso });
  const log = new LogWriter(env, layout.wal, logOptions, recovered, listener);
  const recovery: RecoverySummary = {
    commits: replay.commits,
    cells: replay.cells,
    tookMs: env.clock.monotonicMs() - startMs,
    cleanClose: recovered.cleanEnd,
    notes: notesOf(recovered),
  };
  for (const note of recovery.notes) logger.warn({ data: dir }, note);
  if (!recovered.cleanEnd) await sweep(files, logger);
  server.current = new RegionServer({
    env,
    layout,
    settings,
    logger,
    lock,
    files,
    manifest,
    readPoint,
    oracle,
    log,
    catalog,
    nonces,
    recovery,
  });
  manifest.onFailed = (error) => server.current?.manifestFailed(error);
  return server.current;
}

async function sweep(files: StoreFiles, logger: Logger): Promise<void> {
  const swept = await files.sweep();
  if (swept > 0) logger.info({ files: swept }, 'removed files of unfinished work');
}

function notesOf({ notes, lost }: RecoveredLog): string[] {
  return [
    ...notes,
    ...lost.map(({ path, from, to }) =>
      to === 0
        ? `${path} is missing: its records are lost`
        : `${path}: bytes ${from} to ${to} are lost`,
    ),
  ];
}

/** Replays the log, which goes at least to where the manifest says that it ended. */
async function replayLog(
  opened: Opened,
  logOptions: LogOptions & { storeId: Uint8Array },
  replay: LogReplay,
): Promise<RecoveredLog> {
  const { env, dir, settings, manifest } = opened;
  const options = { ...logOptions, salvage: settings.salvage, reached: logEndOf(manifest) };
  const { wal } = new DataLayout(dir);
  const recovered = await recoverLog(env, wal, options, (record) => replay.record(record));
  // What salvage has given up is not missed again.
  if (recovered.lost.length > 0) await manifest.commit([forgetLogEnd()]);
  return recovered;
}

function logOptionsOf(
  settings: Settings,
  manifest: Manifest,
): LogOptions & { storeId: Uint8Array } {
  return {
    segmentBytes: settings.logSegmentBytes,
    asyncSyncMs: settings.asyncSyncMs,
    blockingSync: settings.blockingSync,
    storeId: Buffer.from(manifest.store.storeId, 'hex'),
  };
}

function openOracle(parts: {
  readonly env: Env;
  readonly manifest: Manifest;
  readonly readPoint: ReadPoint;
  readonly settings: Settings;
  readonly logger: Logger;
  readonly lastTso: bigint;
}): Promise<Oracle> {
  const { env, manifest, readPoint, settings, logger, lastTso } = parts;
  return Oracle.open({
    env,
    persistence: inManifest(manifest),
    largestTso: lastTso,
    dataExists: lastTso > 0n,
    serverId: manifest.store.serverId,
    knobs: settings.oracle,
    committed: () => joinHalves(readPoint.high, readPoint.low),
    durable: () => joinHalves(readPoint.durableHigh, readPoint.durableLow),
    warn: (text) => logger.warn({}, text),
  });
}
