/**
 * Runs a read for what it tells about itself: which regions, memstores and files it looked at and which it could leave alone,
 * which blocks it used, what became of the cells. The read is the ordinary one; its results are counted and dropped.
 */
import { END, WAIT, compareBytes } from '../cell/index.ts';
import {
  IllegalArgumentException,
  normalizeRead,
  normalizeScan,
  shown,
  toRow,
} from '../model/index.ts';
import type {
  BlockCounts,
  BlocksRead,
  CellCounts,
  ExplainTarget,
  ExplainTotals,
  FamilyExplanation,
  HiddenCells,
  ReadExplanation,
  ReadSpec,
  RegionExplanation,
  RegionRuledOut,
  Result,
  ScanSpec,
  SourceExplanation,
} from '../model/index.ts';
import { CellBatch, PointReader, StoreTally } from '../region/index.ts';
import type { ReadMoment } from '../region/index.ts';
import type { ReadableRegion, ReadableTable } from './past_tables.ts';
import { oneRowOf, prepareFilter, prepareScan } from './read_filter.ts';
import { joinHalves } from './read_point.ts';
import { COUNT_STEP } from './reads.ts';
import type { ScanTally } from './reads.ts';
import type { RegionServer } from './region_server.ts';
import { pointStoreOf } from './row_readers.ts';
import { RegionWalk } from './region_walk.ts';

/** One region while it is read: the tallies of its stores, and what came of it. */
class RegionTally implements ScanTally {
  readonly region: ReadableRegion;
  readonly #stores: Map<string, StoreTally> = new Map();
  readonly #returned: Map<string, number> = new Map();
  rowsReturned = 0;
  rowsLookedAt = 0;
  rowsDropped = 0;

  constructor(region: ReadableRegion) {
    this.region = region;
  }

  /** The family's tally. A family that the read leaves out is never asked for its cells and does not appear. */
  store(family: string): StoreTally {
    const known = this.#stores.get(family);
    if (known !== undefined) return known;
    const made = new StoreTally(family);
    this.#stores.set(family, made);
    return made;
  }

  take(result: Result): void {
    if (!result.partial) this.rowsReturned++;
    for (const { family } of result.cells) {
      this.#returned.set(family, (this.#returned.get(family) ?? 0) + 1);
    }
  }

  explanation(relative: (path: string) => string): RegionExplanation {
    const families: FamilyExplanation[] = [];
    for (const { family, cells, sources } of this.#stores.values()) {
      if (sources.length === 0) continue;
      families.push({
        family,
        onDemand: cells.onDemand,
        cells: cells.counts(this.#returned.get(family) ?? 0),
        hints: cells.hints,
        lazySeeksSaved: cells.lazySeeksSaved,
        sources: sources.map((source) => {
          const explained = source.explanation();
          return { ...explained, path: explained.path === null ? null : relative(explained.path) };
        }),
      });
    }
    const { rowsLookedAt, rowsDropped } = this;
    return { ...bordersOf(this.region), ruledOut: null, rowsLookedAt, rowsDropped, families };
  }
}

/** Explains a read of a table. Throws what the read would throw, and IllegalArgumentException for no read at all. */
export async function explainRead(
  server: RegionServer,
  tableName: string,
  target: ExplainTarget,
): Promise<ReadExplanation> {
  const wanted = checkTarget(target);
  const run = new Explainer(server);
  return 'get' in wanted ? run.get(tableName, wanted) : run.scan(tableName, wanted);
}

function checkTarget(target: ExplainTarget): ExplainTarget {
  const isObject = typeof target === 'object' && target !== null;
  if (isObject && 'get' in target !== 'scan' in target) {
    const extra = Object.keys(target).find((name) => !['get', 'options', 'scan'].includes(name));
    if (extra === undefined && ('get' in target || !('options' in target))) return target;
  }
  throw new IllegalArgumentException(
    `what to explain is { get: row, options } or { scan: options }, not ${shown(target)}`,
  );
}

class Explainer {
  readonly #server: RegionServer;
  readonly #startMs: number;
  #waitedMs = 0;
  readonly #read: RegionTally[] = [];

  constructor(server: RegionServer) {
    this.#server = server;
    this.#startMs = server.env.clock.monotonicMs();
  }

  async get(
    tableName: string,
    target: Extract<ExplainTarget, { get: unknown }>,
  ): Promise<ReadExplanation> {
    const { reads } = this.#server;
    const row = toRow(target.get);
    const spec = prepareFilter(normalizeRead(target.options));
    const moment = await reads.moment(spec, target.options?.asOf);
    const table = reads.table(tableName, spec);
    for (const { family } of spec.families ?? []) table.familyIndex(family);
    const hold = reads.hold(moment);
    try {
      const region = table.regionOf(row);
      const tally = new RegionTally(region);
      this.#read.push(tally);
      if (spec.filter === null) await this.#readPoint(tally, region, row, spec, moment);
      else await this.#readRegion(table, region, oneRowOf(spec, row), moment, tally);
    } finally {
      hold.release();
    }
    return this.#explanation('get', table, moment, () => 'key range');
  }

  async scan(
    tableName: string,
    target: Extract<ExplainTarget, { scan: unknown }>,
  ): Promise<ReadExplanation> {
    const { reads } = this.#server;
    const spec = prepareScan(normalizeScan(target.scan));
    const moment = await reads.moment(spec, target.scan.asOf);
    const table = reads.table(tableName, spec);
    const hold = reads.hold(moment);
    let rowsLeft = spec.limit;
    try {
      const walk = new RegionWalk(table, spec);
      while (rowsLeft > 0) {
        const step = walk.next();
        if (step === null) break;
        reads.goOn(table, hold);
        const { region, from, to } = step;
        const tally = new RegionTally(region);
        const part = { ...spec, from, to, limit: rowsLeft };
        if (await this.#readRegion(table, region, part, moment, tally)) this.#read.push(tally);
        rowsLeft -= tally.rowsReturned;
      }
    } finally {
      hold.release();
    }
    return this.#explanation('scan', table, moment, (region) =>
      overlaps(region, spec) ? 'limit' : 'key range',
    );
  }

  async #readPoint(
    tally: RegionTally,
    region: ReadableRegion,
    row: Uint8Array,
    spec: ReadSpec,
    { high, low, nowMs }: ReadMoment,
  ): Promise<void> {
    const names = spec.families?.map(({ family }) => family) ?? null;
    const stores = region.stores
      .filter(({ settings }) => names === null || names.includes(settings.name))
      .map((store) => {
        const { cacheBlocks } = spec;
        const told = tally.store(store.settings.name);
        return pointStoreOf(store, { high, low, points: true, cacheBlocks, tally: told });
      });
    const reader = new PointReader(stores);
    region.readRequests++;
    try {
      while (reader.read(row, spec, high, low, nowMs) === WAIT) {
        await this.#wait(() => reader.load());
      }
      tally.rowsLookedAt = 1;
      if (reader.result === null) tally.rowsDropped = 1;
      else tally.take(reader.result);
    } finally {
      reader.abandon();
      reader.close();
    }
  }

  /** False if the region has no rows of the scan. */
  async #readRegion(
    table: ReadableTable,
    region: ReadableRegion,
    spec: ScanSpec,
    moment: ReadMoment,
    tally: RegionTally,
  ): Promise<boolean> {
    const { reads, env } = this.#server;
    const scanner = reads.openRegion(table, region, spec, moment, tally);
    if (scanner === null) return false;
    const batch = new CellBatch();
    try {
      for (;;) {
        const state = scanner.next(batch, COUNT_STEP);
        for (let i = 0; i < batch.size; i++) tally.take(batch.result(i));
        batch.clear();
        if (state === WAIT) await this.#wait(() => scanner.load());
        else if (state === END) break;
        else await env.timers.sleep(0);
      }
      tally.rowsLookedAt = scanner.rowsScanned;
      tally.rowsDropped = scanner.rowsFiltered;
      return true;
    } finally {
      scanner.close();
    }
  }

  async #wait(load: () => Promise<void>): Promise<void> {
    const { clock } = this.#server.env;
    const beganMs = clock.monotonicMs();
    await load();
    this.#waitedMs += clock.monotonicMs() - beganMs;
  }

  #explanation(
    operation: 'get' | 'scan',
    table: ReadableTable,
    moment: ReadMoment,
    ruledOut: (region: ReadableRegion) => RegionRuledOut,
  ): ReadExplanation {
    const elapsedMs = this.#server.env.clock.monotonicMs() - this.#startMs;
    const relative = (path: string): string => this.#server.layout.relative(path);
    const read = new Map(this.#read.map((tally) => [tally.region.encodedName, tally]));
    const regions = table.regions.map((region): RegionExplanation => {
      const tally = read.get(region.encodedName);
      read.delete(region.encodedName);
      if (tally !== undefined) return tally.explanation(relative);
      const nothing = { rowsLookedAt: 0, rowsDropped: 0, families: [] };
      return { ...bordersOf(region), ruledOut: ruledOut(region), ...nothing };
    });
    // Regions that were split or merged meanwhile.
    for (const tally of read.values()) regions.push(tally.explanation(relative));
    return {
      table: table.name,
      operation,
      readPoint: joinHalves(moment.high, moment.low),
      elapsedMs,
      waitedMs: this.#waitedMs,
      regions,
      totals: totalsOf(
        regions,
        this.#read.reduce((sum, { rowsReturned }) => sum + rowsReturned, 0),
      ),
    };
  }
}

function bordersOf({
  encodedName,
  startKey,
  endKey,
}: ReadableRegion): Pick<RegionExplanation, 'encodedName' | 'startKey' | 'endKey'> {
  return { encodedName, startKey, endKey };
}

function overlaps({ startKey, endKey }: ReadableRegion, { from, to }: ScanSpec): boolean {
  if (to.length > 0 && compareBytes(startKey, to) >= 0) return false;
  return endKey.length === 0 || compareBytes(from, endKey) < 0;
}

/** The sums over all regions. */
function totalsOf(regions: readonly RegionExplanation[], rowsReturned: number): ExplainTotals {
  const families = regions.flatMap((region) => region.families);
  const sources = families.flatMap((family) => family.sources);
  const files = sources.filter(({ path }) => path !== null);
  const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
    items.reduce((total, item) => total + of(item), 0);
  const hidden = (name: keyof HiddenCells): number =>
    sum(families, (family) => family.cells.hidden[name]);
  const cells: CellCounts = {
    lookedAt: sum(families, (family) => family.cells.lookedAt),
    returned: sum(families, (family) => family.cells.returned),
    markers: sum(families, (family) => family.cells.markers),
    hidden: {
      marker: hidden('marker'),
      versions: hidden('versions'),
      ttl: hidden('ttl'),
      timeRange: hidden('timeRange'),
      filter: hidden('filter'),
      readPoint: hidden('readPoint'),
      column: hidden('column'),
      duplicate: hidden('duplicate'),
      storeLimit: hidden('storeLimit'),
    },
  };
  const read = regions.filter(({ ruledOut }) => ruledOut === null).length;
  const filesRead = files.filter(({ ruledOut }) => ruledOut === null).length;
  return {
    regionsRead: read,
    regionsRuledOut: regions.length - read,
    filesRead,
    filesRuledOut: files.length - filesRead,
    rowsReturned,
    cells,
    hints: {
      given: sum(families, ({ hints }) => hints.given),
      followed: sum(families, ({ hints }) => hints.followed),
    },
    seeks: sum(sources, ({ seeks }) => seeks),
    steps: sum(sources, ({ steps }) => steps),
    lazySeeksSaved: sum(families, ({ lazySeeksSaved }) => lazySeeksSaved),
    blocks: blocksOf(sources),
  };
}

function blocksOf(sources: readonly SourceExplanation[]): BlocksRead {
  const sum = (kind: keyof BlocksRead): BlockCounts => {
    const total = { fromCache: 0, fromCacheBytes: 0, fromDisk: 0, fromDiskBytes: 0 };
    for (const { blocks } of sources) {
      total.fromCache += blocks[kind].fromCache;
      total.fromCacheBytes += blocks[kind].fromCacheBytes;
      total.fromDisk += blocks[kind].fromDisk;
      total.fromDiskBytes += blocks[kind].fromDiskBytes;
    }
    return total;
  };
  return { data: sum('data'), index: sum('index'), bloom: sum('bloom') };
}
