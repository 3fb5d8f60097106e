/**
 * One table as a transaction sees it: the table as of the transaction's moment under its own writes, which it keeps in
 * memstores of its own until the commit. Notes what was read, to be checked then.
 */
import { END, WAIT, compareBytes, toStringBinary } from '../cell/index.ts';
import type { CellSource } from '../cell/index.ts';
import {
  IllegalArgumentException,
  WrongRegionException,
  normalizeRead,
  normalizeScan,
  toRow,
  toValueBytes,
} from '../model/index.ts';
import type {
  Bytes,
  ColumnCondition,
  DeleteSpec,
  Durability,
  GroupTransaction,
  MutationOptions,
  ReadOptions,
  ReadSpec,
  Result,
  ScanOptions,
  ScanSpec,
  TransactTable,
  Value,
  Values,
} from '../model/index.ts';
import { CellBatch, Memstore, PointReader, RegionScanner, openStores } from '../region/index.ts';
import type { MutationBuffer, Region, SourceWishes, Store } from '../region/index.ts';
import { CellEncoder, encodeDelete, encodePut, needsNewest } from './encode.ts';
import type { RegionServer } from './region_server.ts';
import { newFilter, oneRowOf, prepareFilter, prepareScan } from './read_filter.ts';
import { conditionHolds, incremented } from './row_operations.ts';
import type { TableState } from './table_state.ts';
import { isOvertaken, rangeOfRow } from './written_since.ts';
import type { RowRange } from './written_since.ts';

const SCAN_STEP = { resultsMax: 1000, bytesMax: 1024 * 1024, examinedMax: 20_000 };

/** What all tables of one transaction share. */
export interface TransactMoment {
  readonly server: RegionServer;
  /** Sees commits at or below this. */
  readonly high: number;
  readonly low: number;
  readonly nowMs: number;
  /** The work is done: what still runs of it is refused. */
  readonly isOver: () => boolean;
}

/** Encodes a write into the commit. */
type Encode = (encoder: CellEncoder, mutation: MutationBuffer) => void;

interface RowWrite {
  readonly row: Uint8Array;
  readonly encode: Encode;
}

export class TransactView implements GroupTransaction, TransactTable {
  readonly table: TableState;
  /** Families, gate and regions are as they were while this stays. */
  readonly version: number;
  readonly #moment: TransactMoment;
  /** The one region that the transaction may touch; null: all. */
  readonly #only: Region | null;
  readonly #encoder: CellEncoder = new CellEncoder();
  /** What was read of each region. */
  readonly #reads = new Map<Region, RowRange[]>();
  readonly #writes: RowWrite[] = [];
  /** Rows written, by their bytes as text. */
  readonly #rows = new Map<string, Uint8Array>();
  /** The own writes, by index of the family. */
  readonly #own: (Memstore | null)[];
  /** Newest timestamp read of a row: what is written then is not older. */
  readonly #floors = new Map<string, bigint>();
  durability: Durability | undefined;

  constructor(moment: TransactMoment, table: TableState, only: Region | null) {
    this.#moment = moment;
    this.table = table;
    this.version = table.version;
    this.#only = only;
    this.#own = table.families.map(() => null);
    if (only !== null) this.#reads.set(only, []);
  }

  get name(): string {
    return this.table.name;
  }

  get hasWrites(): boolean {
    return this.#writes.length > 0;
  }

  /** In key order. */
  get rows(): Uint8Array[] {
    return [...this.#rows.values()].sort(compareBytes);
  }

  /** Regions that were read. */
  get regions(): IterableIterator<Region> {
    return this.#reads.keys();
  }

  #region(row: Uint8Array): Region {
    if (this.#moment.isOver()) throw new IllegalArgumentException('the transaction is over');
    const only = this.#only;
    if (only === null) return this.table.regionOf(row);
    if (only.contains(row)) return only;
    const { startKey, endKey, encodedName } = only;
    throw new WrongRegionException(
      `Requested row out of range for transact on table ${this.name}, region ${encodedName} [${toStringBinary(startKey)}, ${toStringBinary(endKey)}), row='${toStringBinary(row)}'`,
    );
  }

  #noteRead(region: Region, range: RowRange): void {
    const ranges = this.#reads.get(region);
    if (ranges === undefined) this.#reads.set(region, [range]);
    else ranges.push(range);
  }

  async get(row: Bytes, options?: ReadOptions): Promise<Result | null> {
    const bytes = Uint8Array.from(toRow(row));
    const region = this.#region(bytes);
    const spec = prepareFilter(normalizeRead(options));
    checkReadable(spec);
    for (const { family } of spec.families ?? []) this.table.familyIndex(family);
    if (spec.filter !== null) {
      return (await this.#scanRegion(region, oneRowOf(spec, bytes)))[0] ?? null;
    }
    this.#noteRead(region, rangeOfRow(bytes));
    const stores = region.stores.map((store, i) => ({
      settings: store.settings,
      sources: this.#sources(store, i, true),
    }));
    const { high, low, nowMs } = this.#moment;
    const reader = new PointReader(stores);
    try {
      while (reader.read(bytes, spec, high, low, nowMs) === WAIT) await reader.load();
      this.#noteFloor(bytes, reader.result);
      return reader.result;
    } finally {
      reader.close();
    }
  }

  #noteFloor(row: Uint8Array, result: Result | null): void {
    const key = keyOf(row);
    let floor = this.#floors.get(key) ?? 0n;
    for (const { ts } of result?.cells ?? []) if (ts > floor) floor = ts;
    this.#floors.set(key, floor);
  }

  async exists(row: Bytes, options?: ReadOptions): Promise<boolean> {
    return (await this.get(row, options)) !== null;
  }

  async check(row: Bytes, condition: ColumnCondition): Promise<boolean> {
    const { column, timeRange } = condition;
    const options = { columns: [column], ...(timeRange === undefined ? {} : { timeRange }) };
    const result = await this.get(row, options);
    return conditionHolds(condition, result?.cells[0]?.value ?? null);
  }

  async scan(options?: ScanOptions): Promise<Result[]> {
    if (this.#moment.isOver()) throw new IllegalArgumentException('the transaction is over');
    const spec = prepareScan(normalizeScan(options));
    checkReadable(spec);
    for (const { family } of spec.families ?? []) this.table.familyIndex(family);
    const regions = this.#only === null ? [...this.table.regions] : [this.#only];
    if (spec.reversed) regions.reverse();
    const results: Result[] = [];
    for (const region of regions) {
      const rest = spec.limit - results.length;
      if (rest <= 0) break;
      results.push(...(await this.#scanRegion(region, { ...spec, limit: rest })));
    }
    return results.slice(0, spec.limit);
  }

  async #scanRegion(region: Region, spec: ScanSpec): Promise<Result[]> {
    const { startKey, endKey } = region;
    const from = compareBytes(spec.from, startKey) > 0 ? spec.from : startKey;
    const to = lesserEnd(spec.to, endKey);
    if (to.length > 0 && compareBytes(from, to) >= 0) return [];
    const stores = region.stores.map((store, i) => ({
      settings: store.settings,
      sources: (): CellSource[] => this.#sources(store, i, false),
    }));
    const cut = { ...spec, from, to };
    this.#noteRead(region, { from, to });
    const { high, low, nowMs } = this.#moment;
    const scanner = new RegionScanner({
      stores: openStores(stores, cut, { high, low, nowMs }),
      spec: cut,
      readHigh: high,
      readLow: low,
      nowMs,
      filter: newFilter(cut, (below) => this.#moment.server.env.random.int(below)),
    });
    try {
      const results = await resultsOf(scanner, cut.limit);
      for (const result of results) this.#noteFloor(result.row, result);
      return results;
    } finally {
      scanner.close();
    }
  }

  #sources(store: Store, familyIndex: number, points: boolean): CellSource[] {
    const { high, low } = this.#moment;
    const wishes: SourceWishes = { high, low, points, cacheBlocks: true };
    const own = this.#own[familyIndex] ?? null;
    const sources = store.sources(wishes);
    return own === null ? sources : [own.cursor(), ...sources];
  }

  put(row: Bytes, values: Values, options?: MutationOptions): void {
    const bytes = Uint8Array.from(toRow(row));
    this.durability ??= options?.durability;
    this.#write(bytes, (encoder, mutation) => {
      encodePut(encoder, mutation, this.table, bytes, values, options);
    });
  }

  delete(row: Bytes, spec?: DeleteSpec): void {
    const bytes = Uint8Array.from(toRow(row));
    if (needsNewest(spec)) {
      throw new IllegalArgumentException('a transaction deletes versions only with ts');
    }
    this.durability ??= spec?.durability;
    this.#write(bytes, (encoder, mutation) => {
      encodeDelete(encoder, mutation, this.table, bytes, spec, () => null);
    });
  }

  async increment(
    row: Bytes,
    amounts: Readonly<Record<string, bigint | number>>,
  ): Promise<Readonly<Record<string, bigint>>> {
    const columns = Object.keys(amounts);
    const result = await this.get(row, { columns });
    const sums: Record<string, bigint> = {};
    for (const column of columns) {
      sums[column] = incremented(result?.value(column) ?? null, amounts[column]!);
    }
    this.put(row, sums);
    return sums;
  }

  async append(
    row: Bytes,
    values: Readonly<Record<string, Value>>,
  ): Promise<Readonly<Record<string, Uint8Array>>> {
    const columns = Object.keys(values);
    const result = await this.get(row, { columns });
    const whole: Record<string, Uint8Array> = {};
    for (const column of columns) {
      const added = toValueBytes(values[column]!, 'An appended value');
      whole[column] = Buffer.concat([result?.value(column) ?? new Uint8Array(0), added]);
    }
    this.put(row, whole);
    return whole;
  }

  /** Keeps a write for the commit, and its cells for the reads until then. */
  #write(row: Uint8Array, encode: Encode): void {
    this.#region(row);
    const floor = this.#floors.get(keyOf(row)) ?? 0n;
    const floored: Encode = (encoder, mutation) => {
      encoder.floor(Number(floor >> 32n), Number(floor & 0xffffffffn));
      encode(encoder, mutation);
    };
    const { server, high, low, nowMs } = this.#moment;
    const mutation = server.rows.take();
    try {
      floored(this.#encoder, mutation);
      // Above the markers of the millisecond in which the transaction began.
      const ms = nowMs + 1;
      mutation.stamp(Math.floor(ms / 0x100000000), ms >>> 0);
      mutation.settle(false);
      for (let i = 0; i < mutation.count; i++) {
        const family = mutation.family[i]!;
        const own = (this.#own[family] ??= new Memstore());
        own.insert(mutation.buf, mutation.at[i]!, mutation.length[i]!, high, low);
      }
    } finally {
      server.rows.release(mutation);
    }
    this.#writes.push({ row, encode: floored });
    this.#rows.set(keyOf(row), row);
  }

  /** Encodes every write into the buffer of the region that holds its row. */
  encode(bufferOf: (region: Region) => MutationBuffer): void {
    for (const { row, encode } of this.#writes) {
      encode(this.#encoder, bufferOf(this.#only ?? this.table.regionOf(row)));
    }
  }

  /** The table and what was read of it are still there. */
  isCurrent(): boolean {
    const { table, version } = this;
    if (!table.enabled || table.replaced || table.version !== version) return false;
    for (const region of this.#reads.keys()) if (!table.holdsRegion(region)) return false;
    return true;
  }

  /** Whether anything that was read has been written since. May err to the safe side: when it was flushed meanwhile. */
  isReadOvertaken(): boolean {
    const { high, low } = this.#moment;
    for (const [region, ranges] of this.#reads) {
      if (isOvertaken(region, ranges, high, low)) return true;
    }
    return false;
  }

  /** Whether anything that is to be written has been written since: the first committer wins. */
  isWriteOvertaken(): boolean {
    const { high, low } = this.#moment;
    for (const row of this.#rows.values()) {
      if (isOvertaken(this.table.regionOf(row), [rangeOfRow(row)], high, low)) return true;
    }
    return false;
  }
}

async function resultsOf(scanner: RegionScanner, limit: number): Promise<Result[]> {
  const batch = new CellBatch();
  const results: Result[] = [];
  while (results.length < limit) {
    const state = scanner.next(batch, {
      ...SCAN_STEP,
      resultsMax: Math.min(SCAN_STEP.resultsMax, limit - results.length),
    });
    for (let i = 0; i < batch.size; i++) results.push(batch.result(i));
    batch.clear();
    if (state === END) return results;
    if (state === WAIT) await scanner.load();
  }
  return results;
}

/** Throws IllegalArgumentException. */
function checkReadable(spec: ReadSpec): void {
  if (spec.asOf !== null || spec.readUncommitted) {
    throw new IllegalArgumentException(
      'reads of a transaction take no asOf or isolation: they see its own moment',
    );
  }
}

function lesserEnd(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  return compareBytes(a, b) < 0 ? a : b;
}

const keyOf = (row: Uint8Array): string =>
  Buffer.from(row.buffer, row.byteOffset, row.length).toString('latin1');
