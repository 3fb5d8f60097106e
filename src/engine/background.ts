/**
 * Background work of an open store: flushes when memory or log ask for them, compactions after flushes, and giving log
 * segments free that nothing needs any more.
 */
import type { Env } from '../io/index.ts';
import { put } from '../manifest/index.ts';
import type { Manifest } from '../manifest/index.ts';
import type { Region, Store } from '../region/index.ts';
import type { LogWriter } from '../wal/index.ts';
import type { Catalog } from './catalog.ts';
import type { CommitQueue } from './commit_queue.ts';
import { Compactor } from './compactor.ts';
import { FileSwitch } from './file_switch.ts';
import { Flusher } from './flusher.ts';
import { History } from './history.ts';
import type { LateSyncs } from './late_sync.ts';
import type { RegionPlace } from './flusher.ts';
import type { LogArchive } from './log_archive.ts';
import type { Logger } from './logger.ts';
import type { Nonces } from './nonces.ts';
import type { Settings } from './options.ts';
import { isLess, joinHalves } from './read_point.ts';
import type { ReadPoint } from './read_point.ts';
import type { PastTables } from './past_tables.ts';
import type { Pins } from './pins.ts';
import type { Reads } from './reads.ts';
import type { SchemaChanges } from './schema_changes.ts';
import type { StoreFiles } from './store_files.ts';
import type { TableState } from './table_state.ts';

const FLUSHES_MAX = 2;
const COMPACTIONS_MAX = 1;
/** HBase: hbase.server.compactchecker.interval is 10 s. */
const COMPACTION_CHECK_MS = 10_000;
/** A region is not flushed for memory while it holds less than this share of the limit, others being flushed already. */
const SHARE_MIN = 1 / 16;
/** Regions that hold less are flushed together: so many at most, until they give this share of the limit free. */
const TOGETHER_MAX = 128;
const TOGETHER_SHARE = 1 / 8;

export interface BackgroundParts {
  readonly env: Env;
  readonly settings: Settings;
  readonly logger: Logger;
  readonly manifest: Manifest;
  readonly catalog: Catalog;
  readonly queue: CommitQueue;
  readonly readPoint: ReadPoint;
  readonly reads: Reads;
  readonly files: StoreFiles;
  readonly nonces: Nonces;
  readonly log: LogWriter | null;
  readonly past: PastTables;
  readonly pins: Pins;
  readonly schema: SchemaChanges;
  readonly archive: LogArchive;
  readonly lateSyncs: LateSyncs;
}

export class Background {
  readonly flusher: Flusher;
  readonly compactor: Compactor;
  readonly history: History;
  readonly #parts: BackgroundParts;
  #isReleasing = false;
  #isStopped = false;
  /** Regions that are flushed for a client which looks at their files afterwards. */
  readonly #restsAfterFlush = new Set<Region>();
  /** A flush or compaction has given a region files: it may be large enough for a split. */
  onNewFiles: ((table: TableState, region: Region) => void) | null = null;

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
    const { env, queue, readPoint, files, logger, manifest, reads, settings, log } = parts;
    const late = parts.lateSyncs;
    const fileSwitch = new FileSwitch({ manifest, queue, files, reads, late });
    const nowMs = (): number => reads.clock.followedMs();
    this.compactor = new Compactor({
      env,
      files,
      fileSwitch,
      logger,
      nowMs,
      concurrencyMax: COMPACTIONS_MAX,
      bytesPerSecondMax: settings.compactionBytesPerSecond,
      offPeakHours: settings.offPeakHours,
      compacted: (table, region) => {
        this.history.consider(region);
        this.onNewFiles?.(table, region);
      },
    });
    this.flusher = new Flusher({
      env,
      queue,
      readPoint,
      files,
      fileSwitch,
      logger,
      nowMs,
      syncLog: async () => log?.sync(),
      flushed: (table, region) => this.#flushed(table, region),
    });
    const { catalog, past, pins, schema, archive } = parts;
    this.history = new History({
      env,
      manifest,
      catalog,
      past,
      pins,
      reads,
      files,
      logger,
      nowMs,
      bytesMax: settings.historyBytesMax,
      filesMax: settings.historyFilesMax,
      exclusively: (change) => schema.inOrder(change),
      neededAbove: () => archive.neededAbove(),
    });
    queue.onPressure = () => this.#relieve();
  }

  /** Files are being written: the log's syncs may take long. */
  get isBusy(): boolean {
    return this.flusher.runningCount > 0 || this.compactor.runningCount > 0;
  }

  /** Memory is short, or a region is large: flushes the regions that hold most. */
  #relieve(): void {
    if (this.flusher.runningCount >= FLUSHES_MAX) return;
    const largest = this.#largest();
    if (largest === null) return;
    const share = activeHeapBytes(largest.region) / this.#parts.settings.memstoreBytes;
    if (share >= SHARE_MIN) this.flusher.request(largest.table, largest.region);
    else if (this.flusher.runningCount === 0) this.#flushSmall();
  }

  /** No region holds much: the fullest are flushed together, until that gives a fair share of the memory free. */
  #flushSmall(): void {
    const fullest = [...this.#unflushed()]
      .map((place) => ({ place, bytes: activeHeapBytes(place.region) }))
      .sort((a, b) => b.bytes - a.bytes)
      .slice(0, TOGETHER_MAX);
    const wanted = TOGETHER_SHARE * this.#parts.settings.memstoreBytes;
    const places: RegionPlace[] = [];
    let sum = 0;
    for (const { place, bytes } of fullest) {
      if (sum >= wanted) break;
      places.push(place);
      sum += bytes;
    }
    this.flusher.requestTogether(places);
  }

  /** The region with the largest active memstores that is not being flushed; null if none holds cells. */
  #largest(): RegionPlace | null {
    let largest: RegionPlace | null = null;
    let most = 0;
    for (const place of this.#unflushed()) {
      const bytes = activeHeapBytes(place.region);
      if (bytes > most) {
        most = bytes;
        largest = place;
      }
    }
    return largest;
  }

  /** Regions that hold cells and are not being flushed. */
  *#unflushed(): Generator<RegionPlace> {
    for (const table of this.#parts.catalog.tables()) {
      for (const region of table.regions) {
        if (!this.flusher.isFlushing(region) && region.memstoreCells > 0) yield { table, region };
      }
    }
  }

  /** The region has new files: they may want compacting. */
  consider(table: TableState, region: Region): void {
    if (this.#parts.settings.autoCompact) this.compactor.consider(table, region);
  }

  #flushed(table: TableState, region: Region): void {
    if (this.#restsAfterFlush.has(region)) this.#considerLater(table, region);
    else this.consider(table, region);
    this.history.consider(region);
    this.onNewFiles?.(table, region);
    void this.releaseLog().catch((error: unknown) =>
      this.#parts.logger.warn({ err: error }, 'log segments could not be given free'),
    );
  }

  /** Gives log segments free whose cells are all in files; flushes the region that holds a log that is too long. */
  async releaseLog(): Promise<void> {
    const { log, readPoint, nonces, manifest, settings, archive } = this.#parts;
    if (log === null || this.#isReleasing) return;
    this.#isReleasing = true;
    try {
      const oldest = this.#oldestUnflushed();
      const unsynced = this.#parts.lateSyncs.oldest();
      const { high, low } = earlier(
        oldest ?? { high: readPoint.durableHigh, low: readPoint.durableLow },
        unsynced,
      );
      if (nonces.size > 0) {
        // The log keeps what is above: only what is in files, and so on the disk, may leave it.
        const asOfTso = joinHalves(readPoint.durableHigh, readPoint.durableLow);
        await manifest.commit([put('nonces', { asOfTso, body: nonces.pack(asOfTso) })]);
      }
      await log.releaseBelow(high, low, { archive: archive.isWanted });
      await archive.prune();
      if (oldest !== null && log.sizeBytes > settings.logBytesMax) {
        this.flusher.request(oldest.place.table, oldest.place.region);
      }
    } finally {
      this.#isReleasing = false;
    }
  }

  #oldestUnflushed(): { place: RegionPlace; high: number; low: number } | null {
    let oldest: { place: RegionPlace; high: number; low: number } | null = null;
    for (const table of this.#parts.catalog.tables()) {
      for (const region of table.regions) {
        for (const store of region.stores) {
          for (const { minWriteHigh: high, minWriteLow: low } of unflushed(store)) {
            if (oldest === null || isLess(high, low, oldest.high, oldest.low)) {
              oldest = { place: { table, region }, high, low };
            }
          }
        }
      }
    }
    return oldest;
  }

  flushTable(table: TableState): Promise<void> {
    return this.#eachRegion(table, (region) => this.flusher.flush(table, region)).then(() =>
      this.#parts.lateSyncs.settled(table),
    );
  }

  /**
   * As `flushTable`, for HBase's clients: whether the new files want compacting is looked at a while later, as by HBase's
   * CompactionChecker, so that who asked for the flush finds its files.
   */
  async flushTableOnly(table: TableState): Promise<void> {
    const own = table.regions.filter((region) => !this.#restsAfterFlush.has(region));
    for (const region of own) this.#restsAfterFlush.add(region);
    try {
      await this.flushTable(table);
    } finally {
      for (const region of own) this.#restsAfterFlush.delete(region);
    }
  }

  #considerLater(table: TableState, region: Region): void {
    this.#parts.env.timers.after(COMPACTION_CHECK_MS, () => {
      if (!this.#isStopped && table.holdsRegion(region)) this.consider(table, region);
    });
  }

  compactTable(table: TableState, isMajor: boolean): Promise<void> {
    return this.#eachRegion(table, (region) => this.compactor.compact(table, region, isMajor));
  }

  /** Regions that come to be meanwhile have their turn, too. */
  async #eachRegion(table: TableState, work: (region: Region) => Promise<void>): Promise<void> {
    const done = new Set<Region>();
    for (;;) {
      const regions = table.regions.filter((region) => !done.has(region));
      if (regions.length === 0) break;
      for (const region of regions) {
        done.add(region);
        if (table.regions.includes(region)) await work(region);
      }
    }
    // Who asked sees what the switches left: a raw scan below them would still see what they dropped.
    await this.#parts.readPoint.whenAllApplied();
  }

  /** Starts nothing more, waits for what runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#parts.queue.onPressure = null;
    await this.flusher.stop();
    await this.compactor.stop();
    await this.history.stop();
    await this.#parts.lateSyncs.stop();
  }
}

interface Halves {
  readonly high: number;
  readonly low: number;
}

const earlier = (a: Halves, b: Halves | null): Halves =>
  b !== null && isLess(b.high, b.low, a.high, a.low) ? b : a;

function activeHeapBytes(region: Region): number {
  let bytes = 0;
  for (const store of region.stores) bytes += store.memstore.heapBytes;
  return bytes;
}

function unflushed(store: Store): { minWriteHigh: number; minWriteLow: number }[] {
  const memstores = [store.memstore, ...store.frozen];
  return memstores.filter(({ cellCount }) => cellCount > 0).map(({ stats }) => stats);
}
