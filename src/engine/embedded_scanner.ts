/**
 * A running scan of an embedded store: region after region, batch after batch. The iterator is written by hand over
 * batches: an async generator would cost several times more a row.
 */
import { END, WAIT } from '../cell/index.ts';
import { IllegalArgumentException, normalizeScan } from '../model/index.ts';
import type { Result, ScanOptions, ScanSpec, Scanner } from '../model/index.ts';
import { CellBatch } from '../region/index.ts';
import type { RegionScanner } from '../region/index.ts';
import type { ReadableTable } from './past_tables.ts';
import type { PastHold } from './pins.ts';
import { prepareScan } from './read_filter.ts';
import type { ReadMoment } from '../region/index.ts';
import type { RegionServer } from './region_server.ts';
import { RegionWalk } from './region_walk.ts';

const BATCH_ROWS = 1000;
/** Cells looked at in one step: about 2 ms, so that a scan that finds nothing does not hold up others. */
const EXAMINED_MAX = 20_000;

export class EmbeddedScanner implements Scanner {
  readonly #server: RegionServer;
  readonly #tableName: string;
  readonly #options: ScanOptions | undefined;
  readonly #spec: ScanSpec;
  readonly #batch: CellBatch = new CellBatch();
  #moment: ReadMoment | null = null;
  #table: ReadableTable | null = null;
  /** Keeps what it sees until the end. */
  #hold: PastHold | null = null;
  /** Regions still to come, in the direction of the scan. */
  #walk: RegionWalk | null = null;
  #current: RegionScanner | null = null;
  #rowsLeft: number;
  /** A region's filter was done before it let anything through: the regions behind it are not read. */
  #isFilteredOut = false;
  #isClosed = false;
  /** Results fetched and not yet handed out by the iterator. */
  #ready: readonly Result[] = [];
  #readyAt = 0;
  #fetching: Promise<unknown> = Promise.resolve();

  constructor(server: RegionServer, tableName: string, options: ScanOptions | undefined) {
    this.#server = server;
    this.#tableName = tableName;
    this.#options = options;
    this.#spec = prepareScan(normalizeScan(options));
    this.#rowsLeft = this.#spec.limit;
  }

  [Symbol.asyncIterator](): AsyncIterator<Result> {
    return {
      next: (): Promise<IteratorResult<Result>> => {
        if (this.#readyAt < this.#ready.length) {
          return Promise.resolve({ done: false, value: this.#ready[this.#readyAt++]! });
        }
        return this.#nextAfterFetch();
      },
      return: async (): Promise<IteratorResult<Result>> => {
        await this.close();
        return { done: true, value: undefined };
      },
    };
  }

  async #nextAfterFetch(): Promise<IteratorResult<Result>> {
    // Calls of next() that overlap are served one after the other.
    const fetch = this.#fetching.then(async () => {
      if (this.#readyAt < this.#ready.length) return;
      this.#ready = await this.nextBatch(BATCH_ROWS);
      this.#readyAt = 0;
    });
    this.#fetching = fetch.catch(() => undefined);
    await fetch;
    if (this.#readyAt < this.#ready.length) {
      return { done: false, value: this.#ready[this.#readyAt++]! };
    }
    return { done: true, value: undefined };
  }

  async nextBatch(count: number = BATCH_ROWS): Promise<Result[]> {
    if (!Number.isSafeInteger(count) || count < 1) {
      throw new IllegalArgumentException(`a batch has at least 1 result, not ${count}`);
    }
    if (this.#isClosed) return [];
    this.#server.checkOpen();
    this.#moment ??= await this.#begin();
    if (this.#hold !== null) this.#server.pins.renew(this.#hold);
    const batch = this.#batch;
    const limits = {
      resultsMax: count,
      bytesMax: this.#spec.maxResultSizeBytes,
      examinedMax: EXAMINED_MAX,
    };
    try {
      for (;;) {
        const scanner = this.#current ?? this.#nextRegion(this.#moment);
        if (scanner === null || this.#isClosed) break;
        const state = scanner.next(batch, limits);
        // What the region gave counts against the limit before the next one is opened.
        const isFull = batch.size >= count || batch.bytes >= limits.bytesMax;
        if (state === WAIT) await scanner.load();
        else if (state === END) {
          this.#isFilteredOut = batch.size === 0 && scanner.isFilterDone();
          this.#endRegion();
        } else if (isFull && this.#spec.filter !== null) this.#lookOn(scanner);
        if (isFull || (state === END && batch.size > 0)) break;
        if (state !== WAIT && batch.size === 0) await this.#server.env.timers.sleep(0);
      }
    } catch (error) {
      await this.close();
      throw error;
    }
    return this.#take();
  }

  /**
   * Behind a full batch: a filter that is done now has let something through in this region, so the next region is read.
   * HBase: RSRpcServices#scan, where a batch is what one call answers.
   */
  #lookOn(scanner: RegionScanner): void {
    if (this.#batch.bytes < this.#spec.maxResultSizeBytes && !scanner.hasMore()) this.#endRegion();
  }

  async #begin(): Promise<ReadMoment> {
    const { reads } = this.#server;
    const moment = await reads.moment(this.#spec, this.#options?.asOf);
    this.#table = reads.table(this.#tableName, this.#spec);
    this.#hold = reads.hold(moment);
    this.#walk = new RegionWalk(this.#table, this.#spec);
    return moment;
  }

  #nextRegion(moment: ReadMoment): RegionScanner | null {
    const table = this.#table!;
    while (this.#rowsLeft > 0 && !this.#isFilteredOut) {
      const step = this.#walk!.next();
      if (step === null) return null;
      this.#server.reads.goOn(table, this.#hold!);
      const { region, from, to } = step;
      const whole = this.#spec;
      const isWhole = from === whole.from && to === whole.to && this.#rowsLeft === whole.limit;
      const spec = isWhole ? whole : { ...whole, from, to, limit: this.#rowsLeft };
      this.#current = this.#server.reads.openRegion(table, region, spec, moment);
      if (this.#current !== null) return this.#current;
    }
    return null;
  }

  #endRegion(): void {
    this.#current?.close();
    this.#current = null;
    if (this.#walk?.isDone === true) this.#hold?.release();
  }

  #take(): Result[] {
    const batch = this.#batch;
    const results: Result[] = [];
    for (let i = 0; i < batch.size; i++) {
      const result = batch.result(i);
      results.push(result);
      if (!result.partial) this.#rowsLeft--;
    }
    batch.clear();
    return results;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#endRegion();
    this.#hold?.release();
    this.#ready = [];
    this.#readyAt = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
