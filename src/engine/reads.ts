/**
 * Reads of an embedded store: gets, scans over the regions of a table, counts, and the newest applied cell for
 * read-modify-write. A read takes its read point and its time once; the time is the oracle's, which follows the clock.
 */
import { END, READY, TAG_TTL, WAIT, compareBytes, u16, u32 } from '../cell/index.ts';
import type { CellView } from '../cell/index.ts';
import { invariant } from '../io/index.ts';
import {
  NotInMemoryException,
  READ_DEFAULT,
  SnapshotInFuture,
  SnapshotNotVisible,
  normalizeRead,
  normalizeScan,
} from '../model/index.ts';
import type {
  AsOf,
  ReadOptions,
  ReadSpec,
  Result,
  ScanOptions,
  ScanSpec,
  TimeRangeSpec,
} from '../model/index.ts';
import { CellBatch, NewestReader, RegionScanner, openStores } from '../region/index.ts';
import type {
  BatchLimits,
  ReadMoment,
  ReadableStore,
  Region,
  RowPlaces,
  Store,
  StoreTally,
} from '../region/index.ts';
import type { Oracle } from '../tso/index.ts';
import type { Catalog } from './catalog.ts';
import type { PastTables, ReadableRegion, ReadableTable } from './past_tables.ts';
import type { PastHold, Pins } from './pins.ts';
import {
  newFilter,
  oneRowOf,
  prepareFilter,
  readOneRow,
  readOneRowSync,
  rowInSteps,
} from './read_filter.ts';
import { highOf, joinHalves, lowOf } from './read_point.ts';
import type { ReadPoint } from './read_point.ts';
import { KeptReaders } from './kept_readers.ts';
import { POINTS_NOW, RowReaders } from './row_readers.ts';
import type { RowReader } from './row_readers.ts';
import { RegionWalk } from './region_walk.ts';
import type { Steps } from './steps.ts';
import type { ResolvedColumn } from './table_state.ts';

/** All ones: sees every applied cell. */
const NEWEST = 0xffffffff;
/** What one step of a read that hands out nothing may take. */
export const COUNT_STEP: BatchLimits = {
  resultsMax: 1000,
  bytesMax: 1024 * 1024,
  examinedMax: 20_000,
};

/** The time that judges TTL: the oracle's milliseconds, after it has followed the clock. */
export class ReadClock {
  readonly #oracle: Oracle;

  constructor(oracle: Oracle) {
    this.#oracle = oracle;
  }

  followedMs(): number {
    this.#oracle.follow();
    return this.#oracle.physicalMs;
  }
}

/** What an explained scan is told to: a tally for each family it reads. */
export interface ScanTally {
  store(family: string): StoreTally;
}

export class Reads {
  readonly clock: ReadClock;
  readonly #catalog: Catalog;
  readonly #past: PastTables;
  readonly #pins: Pins;
  readonly #readPoint: ReadPoint;
  readonly #oracle: Oracle;
  readonly #visibleTimeoutMs: () => number;
  readonly #sleep: (ms: number) => Promise<void>;
  readonly #random: (below: number) => number;
  readonly #readers: RowReaders;
  /** One reader a store serves read-modify-write. */
  readonly #newestReaders = new KeptReaders<Store, NewestReader>(
    (store) => new NewestReader(store.settings, store.sources(POINTS_NOW)),
  );

  constructor(parts: {
    readonly catalog: Catalog;
    readonly past: PastTables;
    readonly pins: Pins;
    readonly readPoint: ReadPoint;
    readonly oracle: Oracle;
    readonly visibleTimeoutMs: () => number;
    readonly sleep: (ms: number) => Promise<void>;
    /** Chance for filters: a number in [0, below). */
    readonly random: (below: number) => number;
    /** Where rows were found in store files. */
    readonly places: RowPlaces;
  }) {
    this.#catalog = parts.catalog;
    this.#past = parts.past;
    this.#pins = parts.pins;
    this.#readPoint = parts.readPoint;
    this.#oracle = parts.oracle;
    this.clock = new ReadClock(parts.oracle);
    this.#visibleTimeoutMs = parts.visibleTimeoutMs;
    this.#sleep = parts.sleep;
    this.#random = parts.random;
    this.#readers = new RowReaders(parts.places);
  }

  /** Throws NotInMemoryException; as-of reads that would have to wait throw SnapshotNotVisible. */
  getSync(tableName: string, row: Uint8Array, options: ReadOptions | undefined): Result | null {
    const spec = options === undefined ? READ_DEFAULT : normalizeRead(options);
    const table = this.table(tableName, spec);
    const region = table.regionOf(row);
    checkFamilies(table, spec);
    region.readRequests++;
    const moment = this.#momentSync(spec, options?.asOf);
    const { high, low, nowMs } = moment;
    if (spec.filter !== null) {
      const scanner = this.#openRow(table, region, spec, row, moment);
      const result = scanner === null ? null : readOneRowSync(scanner);
      if (result === 'absent') throw notInMemory(table.name);
      return result;
    }
    const cached = this.#readers.of(region, spec, high, low);
    const { reader } = cached;
    const state = reader.read(row, spec, high, low, nowMs);
    if (state === WAIT) reader.abandon();
    this.#readers.done(region, cached);
    if (state === WAIT) throw notInMemory(table.name);
    return reader.result;
  }

  /** The region's layers have changed: lets go of the files that its reader holds. */
  forget(region: Region): void {
    this.#readers.forget(region);
    for (const store of region.stores) this.#newestReaders.forget(store);
  }

  async get(
    tableName: string,
    row: Uint8Array,
    options: ReadOptions | undefined,
  ): Promise<Result | null> {
    const spec = options === undefined ? READ_DEFAULT : normalizeRead(options);
    if (spec.asOf !== null) await this.#reach(spec.asOf, options?.asOf);
    const table = this.table(tableName, spec);
    return this.getIn(table, table.regionOf(row), row, spec);
  }

  /**
   * As `get`, in a region that the caller has found, by a spec whose `asOf` has been reached: at once if the row is in
   * memory. Throws NoSuchColumnFamilyException.
   */
  getIn(
    table: ReadableTable,
    region: ReadableRegion,
    row: Uint8Array,
    spec: ReadSpec,
  ): Result | null | Promise<Result | null> {
    checkFamilies(table, spec);
    region.readRequests++;
    const moment = this.#momentReached(spec);
    const { high, low, nowMs } = moment;
    if (spec.filter !== null) {
      const scanner = this.#openRow(table, region, spec, row, moment);
      return scanner === null ? null : readOneRow(scanner, this.#sleep);
    }
    const cached = this.#readers.of(region, spec, high, low);
    const { reader } = cached;
    if (reader.read(row, spec, high, low, nowMs) !== WAIT) {
      this.#readers.done(region, cached);
      return reader.result;
    }
    // From here on the reader is in the middle of this row: others make their own.
    cached.isBusy = true;
    return this.#getSlowly(region, cached, row, spec, moment);
  }

  async #getSlowly(
    region: ReadableRegion,
    cached: RowReader,
    row: Uint8Array,
    spec: ReadSpec,
    { high, low, nowMs }: ReadMoment,
  ): Promise<Result | null> {
    const { reader } = cached;
    try {
      do await reader.load();
      while (reader.read(row, spec, high, low, nowMs) === WAIT);
      return reader.result;
    } finally {
      reader.abandon();
      cached.isBusy = false;
      this.#readers.done(region, cached);
    }
  }

  /** A get with a filter is a scan of its row. */
  #openRow(
    table: ReadableTable,
    region: ReadableRegion,
    spec: ReadSpec,
    row: Uint8Array,
    moment: ReadMoment,
  ): RegionScanner | null {
    return this.openRegion(table, region, oneRowOf(spec, row), moment);
  }

  /** The newest applied and visible cell of a column, for read-modify-write: synced or not. */
  *newestCell(
    region: Region,
    row: Uint8Array,
    column: ResolvedColumn,
    timeRange: TimeRangeSpec,
  ): Steps<NewestCell | null> {
    const store = region.stores[column.familyIndex];
    invariant(store !== undefined, 'a region has a store a family');
    const cached = this.#newestReaders.of(store, region.layoutVersion);
    const { reader } = cached;
    const nowMs = this.clock.followedMs();
    try {
      for (;;) {
        const state = reader.read(row, column.qualifier, timeRange, NEWEST, NEWEST, nowMs);
        if (state !== WAIT) return state === END ? null : keptCell(reader.cell);
        cached.isBusy = true;
        yield reader.load();
      }
    } finally {
      if (cached.isBusy) reader.abandon();
      cached.isBusy = false;
      this.#newestReaders.done(store, cached);
    }
  }

  /** The last `newestNow` gave a cell, and no delete marker stands at or above its timestamp. */
  isNewestUnmarked = false;

  /**
   * As `newestCell`, from memory alone and in this turn: a view valid until the next read, null if there is no such cell,
   * WAIT if it is not in memory or its reader is busy.
   */
  newestNow(
    region: Region,
    row: Uint8Array,
    column: ResolvedColumn,
    timeRange: TimeRangeSpec,
  ): CellView | null | typeof WAIT {
    const store = region.stores[column.familyIndex];
    invariant(store !== undefined, 'a region has a store a family');
    const cached = this.#newestReaders.of(store, region.layoutVersion);
    const { reader } = cached;
    const nowMs = this.clock.followedMs();
    const state = reader.read(row, column.qualifier, timeRange, NEWEST, NEWEST, nowMs);
    if (state === WAIT) reader.abandon();
    this.#newestReaders.done(store, cached);
    this.isNewestUnmarked = state === READY && reader.isUnmarked;
    if (state === WAIT) return WAIT;
    return state === END ? null : reader.cell;
  }

  /**
   * What a read of the newest applied state gives of a row, synced or not: for conditions and read-modify-write. All families
   * are read at once: HBase sets the default, by demand, for gets and scans only (HRegion#get, RSRpcServices).
   */
  *appliedRow(
    table: ReadableTable,
    region: Region,
    row: Uint8Array,
    spec: ReadSpec,
  ): Steps<Result | null> {
    const moment = { high: NEWEST, low: NEWEST, nowMs: this.clock.followedMs() };
    const whole = { ...spec, loadColumnFamiliesOnDemand: false };
    const scanner = this.#openRow(table, region, whole, row, moment);
    return scanner === null ? null : yield* rowInSteps(scanner, this.#sleep);
  }

  /** What a read sees: the read point now, everything applied, or a moment asked for. Waits until that is visible. */
  async moment(spec: ReadSpec, asOf: AsOf | undefined): Promise<ReadMoment> {
    if (spec.asOf !== null) await this.#reach(spec.asOf, asOf);
    return this.#momentReached(spec);
  }

  /** Waits until every commit at or below this TSO, which was given before, may be seen. */
  reached(tso: bigint): Promise<void> {
    return this.#reach(tso, undefined);
  }

  async #reach(tso: bigint, asOf: AsOf | undefined): Promise<void> {
    if (asOf instanceof Date) this.#closeMillisecond(asOf.getTime());
    else this.#checkPast(tso);
    await this.#becomeVisible(tso);
  }

  /** The moment of a read that cannot wait. Throws SnapshotInFuture and SnapshotNotVisible. */
  #momentSync(spec: ReadSpec, asOf: AsOf | undefined): ReadMoment {
    if (spec.asOf === null) return this.#momentReached(spec);
    if (asOf instanceof Date) this.#closeMillisecond(asOf.getTime());
    else this.#checkPast(spec.asOf);
    if (!this.#isVisible(highOf(spec.asOf), lowOf(spec.asOf))) {
      throw new SnapshotNotVisible(`commits at or below ${spec.asOf} are not yet visible`);
    }
    return this.#momentReached(spec);
  }

  /** The moment of a read whose `asOf`, if any, has been reached: everything at or below it may be seen. */
  #momentReached(spec: ReadSpec): ReadMoment {
    if (spec.asOf !== null) {
      const { asOf } = spec;
      return { high: highOf(asOf), low: lowOf(asOf), nowMs: Number(asOf >> 18n) };
    }
    const nowMs = this.clock.followedMs();
    if (spec.readUncommitted) return { high: NEWEST, low: NEWEST, nowMs };
    return { high: this.#readPoint.high, low: this.#readPoint.low, nowMs };
  }

  #checkPast(asOf: bigint): void {
    this.clock.followedMs();
    const cursor = this.#oracle.cursor();
    if (asOf > cursor) {
      throw new SnapshotInFuture(`${asOf} is above every stamp given so far (${cursor})`);
    }
  }

  /** Every commit at or below the TSO has been applied and may be seen. */
  #isVisible(high: number, low: number): boolean {
    const { appliedHigh, appliedLow } = this.#readPoint;
    return (
      this.#readPoint.hasPassed(high, low) || this.#readPoint.hasPassed(appliedHigh, appliedLow)
    );
  }

  /** Nothing can be committed any more at or below this time. */
  #closeMillisecond(ms: number): void {
    const nowMs = this.clock.followedMs();
    if (ms > nowMs) {
      throw new SnapshotInFuture(`${new Date(ms).toISOString()} is in the future`);
    }
    this.#oracle.closeMillisecond(ms);
  }

  async #becomeVisible(asOf: bigint): Promise<void> {
    const high = highOf(asOf);
    const low = lowOf(asOf);
    if (this.#isVisible(high, low)) return;
    const { appliedHigh, appliedLow } = this.#readPoint;
    const timeoutMs = this.#visibleTimeoutMs();
    const timedOut = this.#sleep(timeoutMs).then(() => false);
    const passed = this.#readPoint.whenPassed(appliedHigh, appliedLow, true);
    if (!(await Promise.race([passed, timedOut]))) {
      throw new SnapshotNotVisible(
        `commits at or below ${asOf} did not become visible within ${timeoutMs} ms`,
      );
    }
  }

  /** The rows of a scan that a region holds; null if none. A table that was altered is read with the descriptor it had. */
  openRegion(
    table: ReadableTable,
    region: ReadableRegion,
    spec: ScanSpec,
    moment: ReadMoment,
    tally: ScanTally | null = null,
  ): RegionScanner | null {
    const cut = cutToRegion(spec, region);
    if (cut === null) return null;
    region.readRequests++;
    const seen = this.#past.seenAt(table, region, joinHalves(moment.high, moment.low));
    checkFamilies(seen.table, cut);
    const filter = newFilter(cut, this.#random);
    const stores = openStores(readableStores(seen.region, spec, moment, tally), cut, moment);
    const { high: readHigh, low: readLow, nowMs } = moment;
    try {
      return new RegionScanner({ stores, spec: cut, readHigh, readLow, nowMs, filter });
    } catch (error) {
      for (const { source } of stores) source.close();
      throw error;
    }
  }

  /** The table now, or as it was. Throws as `Catalog#enabled` and `PastTables#at` do. */
  table(name: string, spec: ReadSpec): ReadableTable {
    return spec.asOf === null ? this.#catalog.enabled(name) : this.#past.at(name, spec.asOf);
  }

  /** Keeps what a scan at this moment sees while it goes from region to region. The caller releases it. */
  hold(moment: ReadMoment): PastHold {
    return this.#pins.hold(joinHalves(moment.high, moment.low), 'a scan');
  }

  /** The scan goes on. Throws SnapshotTooOld if it has rested for so long that it may miss something. */
  goOn(table: ReadableTable, hold: PastHold): void {
    if (this.#pins.isLive(hold)) this.#pins.renew(hold);
    else this.#past.floors.check(table.id, hold.tso, table.name);
  }

  async count(tableName: string, options: ScanOptions | undefined): Promise<number> {
    const spec = prepareFilter(normalizeScan(options));
    const moment = await this.moment(spec, options?.asOf);
    const table = this.table(tableName, spec);
    const hold = this.hold(moment);
    try {
      return await this.#countRegions(table, spec, moment, hold);
    } finally {
      hold.release();
    }
  }

  async #countRegions(
    table: ReadableTable,
    spec: ScanSpec,
    moment: ReadMoment,
    hold: PastHold,
  ): Promise<number> {
    const batch = new CellBatch();
    let rows = 0;
    const walk = new RegionWalk(table, spec);
    for (let step = walk.next(); step !== null; step = walk.next()) {
      const { region, from, to } = step;
      this.goOn(table, hold);
      const left = { ...spec, from, to, limit: spec.limit - rows };
      const scanner = this.openRegion(table, region, left, moment);
      if (scanner === null) continue;
      try {
        const found = await countRegion(scanner, batch, this.#sleep);
        rows += found;
        // A filter that was done before it let anything through ends the whole scan, as in EmbeddedScanner.
        if (found === 0 && scanner.isFilterDone()) break;
      } finally {
        scanner.close();
      }
    }
    return rows;
  }
}

async function countRegion(
  scanner: RegionScanner,
  batch: CellBatch,
  sleep: (ms: number) => Promise<void>,
): Promise<number> {
  let rows = 0;
  for (let step = 1; ; step++) {
    const state = scanner.next(batch, COUNT_STEP);
    for (let i = 0; i < batch.size; i++) if (!batch.result(i).partial) rows++;
    batch.clear();
    if (state === WAIT) await scanner.load();
    else if (state === 0) return rows;
    // A long count lets others have their turn.
    else if (step % 8 === 0) await sleep(0);
  }
}

const notInMemory = (table: string): NotInMemoryException =>
  new NotInMemoryException(`the row of table ${table} is not wholly in memory: use get`);

function readableStores(
  region: ReadableRegion,
  spec: ScanSpec,
  moment: ReadMoment,
  tally: ScanTally | null,
): ReadableStore[] {
  const { high, low } = moment;
  const wishes = { high, low, points: false, cacheBlocks: spec.cacheBlocks };
  return region.stores.map((store) => {
    const { settings } = store;
    const told = tally?.store(settings.name) ?? null;
    return {
      settings,
      tally: told?.cells ?? null,
      sources: (window) => store.sources({ ...wishes, window, tally: told }),
    };
  });
}

/** Throws NoSuchColumnFamilyException. */
function checkFamilies(table: ReadableTable, spec: ReadSpec): void {
  for (const { family } of spec.families ?? []) table.familyIndex(family);
}

/** The part of a scan's rows that lies in the region; null if none does. */
function cutToRegion(spec: ScanSpec, region: ReadableRegion): ScanSpec | null {
  const from = compareBytes(spec.from, region.startKey) > 0 ? spec.from : region.startKey;
  const to = lesserEnd(spec.to, region.endKey);
  if (to.length > 0 && compareBytes(from, to) >= 0) return null;
  return isSameKey(from, spec.from) && isSameKey(to, spec.to) ? spec : { ...spec, from, to };
}

/** For keys that are mostly the same object: false says nothing. */
const isSameKey = (a: Uint8Array, b: Uint8Array): boolean => a === b || a.length + b.length === 0;

/** The smaller of two exclusive ends, an empty one being none. */
function lesserEnd(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  return compareBytes(a, b) < 0 ? a : b;
}

/** The old value that a read-modify-write goes by. */
export interface NewestCell {
  /** A copy, the receiver's. */
  readonly value: Uint8Array;
  readonly tsHigh: number;
  readonly tsLow: number;
  /** Its own TTL; 0 for none. */
  readonly ttlMs: number;
}

function keptCell(cell: CellView): NewestCell {
  const { block, valueAt, valueLength, timestampAt } = cell;
  return {
    value: Uint8Array.prototype.slice.call(block, valueAt, valueAt + valueLength),
    tsHigh: u32(block, timestampAt),
    tsLow: u32(block, timestampAt + 4),
    ttlMs: ttlOf(cell),
  };
}

function ttlOf(cell: CellView): number {
  const { block, tagsAt, tagsLength } = cell;
  for (let at = tagsAt; at < tagsAt + tagsLength; at += 2 + u16(block, at)) {
    if (block[at + 2] === TAG_TTL) return u32(block, at + 3) * 0x100000000 + u32(block, at + 7);
  }
  return 0;
}
