/**
 * Transactions over the rows of one region, usually those of one key prefix: read, write, read the own writes, commit all or
 * nothing with one TSO, serializably.
 *
 * A transaction reads what was applied when it began, synced or not, as read-modify-write does, and keeps its own writes in
 * memstores of its own, which lie over the region's. It takes no locks while it runs. In the commit step it looks whether
 * anything that it has read was written since: if not, it commits in that very step; otherwise its work is done again from the
 * start. So nobody waits for a slow transaction, and whoever makes another start over has committed. Every answer waits for the
 * read point, as always.
 */
import { END, READY, WAIT, compareBytes, compareRanges, toStringBinary } from '../cell/index.ts';
import type { CellSource, SeekKey } from '../cell/index.ts';
import {
  IllegalArgumentException,
  TransactionConflictException,
  WrongRegionException,
  checkOptionNames,
  normalizeRead,
  normalizeScan,
  toRow,
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
  TransactOptions,
  TransactResult,
  TransactTarget,
  Values,
} from '../model/index.ts';
import { CellBatch, Memstore, PointReader, RegionScanner, openStores } from '../region/index.ts';
import type { MutationBuffer, Region, SourceWishes, Store } from '../region/index.ts';
import type { CommitOptions } from './commit_queue.ts';
import { CellEncoder, encodeDelete, encodePut, needsNewest } from './encode.ts';
import { isLess, joinHalves } from './read_point.ts';
import type { RegionServer } from './region_server.ts';
import { conditionHolds, incremented } from './row_operations.ts';
import { isCurrent } from './row_writer.ts';
import type { TableState } from './table_state.ts';

const OPTION_NAMES: ReadonlySet<string> = new Set(['durability', 'attemptsMax']);
const ATTEMPTS_MAX = 50;
const BACKOFF_MS_MAX = 10;
const SCAN_STEP = { resultsMax: 1000, bytesMax: 1024 * 1024, examinedMax: 20_000 };

/** What the table gives to its transactions. */
export interface TransactParts {
  readonly server: RegionServer;
  readonly tableName: string;
  readonly options: (
    table: TableState,
    mutation: MutationBuffer,
    durability: Durability | undefined,
  ) => CommitOptions;
}

/** Rows in [from, to) were read. */
interface ReadRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** Encodes a write into the commit. */
type Encode = (encoder: CellEncoder, mutation: MutationBuffer) => void;

/** Runs `work` until it commits. Throws what it throws, WrongRegionException, TransactionConflictException. */
export async function transact<T>(
  parts: TransactParts,
  target: TransactTarget,
  work: (tx: GroupTransaction) => Promise<T>,
  options: TransactOptions,
): Promise<TransactResult<T>> {
  checkOptionNames(options, OPTION_NAMES, 'transact');
  const { server, tableName } = parts;
  const attemptsMax = options.attemptsMax ?? ATTEMPTS_MAX;
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const table = server.catalog.writable(tableName);
    if (table.gate !== null) {
      await table.gate;
      attempt--;
      continue;
    }
    const run = new Attempt(parts, table, regionOf(server, table, target));
    let value: T;
    try {
      value = await work(run);
    } catch (error) {
      // It goes by what was read: that must be visible to everyone, and must have been so at one moment.
      if (await run.isOutdated()) continue;
      throw error;
    } finally {
      run.close();
    }
    const tso = await run.commit(options.durability);
    if (tso !== undefined) return { tso, value, attempts: attempt };
    server.transactConflicts++;
    const wait = Math.min(attempt, BACKOFF_MS_MAX) * (server.env.random.bytes(1)[0]! / 256);
    if (attempt > 2) await server.env.timers.sleep(wait);
  }
  throw new TransactionConflictException(
    `a transaction on table ${tableName} was overtaken by other writers ${attemptsMax} times`,
  );
}

function regionOf(server: RegionServer, table: TableState, target: TransactTarget): Region {
  if (typeof target === 'object' && 'region' in target) {
    return server.splitter.region(table, target.region);
  }
  return table.regionOf(typeof target === 'string' ? Buffer.from(target, 'utf8') : target);
}

class Attempt implements GroupTransaction {
  readonly #parts: TransactParts;
  readonly #table: TableState;
  readonly #version: number;
  readonly #region: Region;
  /** Sees commits at or below this. */
  readonly #high: number;
  readonly #low: number;
  readonly #nowMs: number;
  readonly #encoder: CellEncoder = new CellEncoder();
  readonly #reads: ReadRange[] = [];
  readonly #writes: Encode[] = [];
  /** Rows written, by their bytes as text. */
  readonly #rows = new Map<string, Uint8Array>();
  /** The own writes, by index of the family. */
  readonly #own: (Memstore | null)[];
  /** Newest timestamp read of a row: what is written then is not older. */
  readonly #floors = new Map<string, bigint>();
  #durability: Durability | undefined;
  #isOver = false;

  constructor(parts: TransactParts, table: TableState, region: Region) {
    const { readPoint, reads } = parts.server;
    this.#parts = parts;
    this.#table = table;
    this.#version = table.version;
    this.#region = region;
    this.#nowMs = reads.clock.followedMs();
    this.#high = readPoint.appliedHigh;
    this.#low = readPoint.appliedLow;
    this.#own = table.families.map(() => null);
  }

  /** The work is done: what still runs of it is refused from now on. */
  close(): void {
    this.#isOver = true;
  }

  #check(row: Uint8Array): void {
    if (this.#isOver) throw new IllegalArgumentException('the transaction is over');
    if (this.#region.contains(row)) return;
    const { startKey, endKey, encodedName } = this.#region;
    throw new WrongRegionException(
      `Requested row out of range for transact on table ${this.#table.name}, region ${encodedName} [${toStringBinary(startKey)}, ${toStringBinary(endKey)}), row='${toStringBinary(row)}'`,
    );
  }

  async get(row: Bytes, options?: ReadOptions): Promise<Result | null> {
    const bytes = toRow(row);
    this.#check(bytes);
    const spec = normalizeRead(options);
    checkReadable(spec);
    for (const { family } of spec.families ?? []) this.#table.familyIndex(family);
    this.#reads.push({ from: bytes, to: Buffer.concat([bytes, Buffer.alloc(1)]) });
    const stores = this.#region.stores.map((store, i) => ({
      settings: store.settings,
      sources: this.#sources(store, i, true),
    }));
    const reader = new PointReader(stores);
    try {
      while (reader.read(bytes, spec, this.#high, this.#low, this.#nowMs) === WAIT) {
        await reader.load();
      }
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
    if (this.#isOver) throw new IllegalArgumentException('the transaction is over');
    const spec = normalizeScan(options);
    checkReadable(spec);
    for (const { family } of spec.families ?? []) this.#table.familyIndex(family);
    const { startKey, endKey } = this.#region;
    const from = compareBytes(spec.from, startKey) > 0 ? spec.from : startKey;
    const to = lesserEnd(spec.to, endKey);
    if (to.length > 0 && compareBytes(from, to) >= 0) return [];
    const stores = this.#region.stores.map((store, i) => ({
      settings: store.settings,
      sources: (): CellSource[] => this.#sources(store, i, false),
    }));
    const cut = { ...spec, from, to };
    this.#reads.push({ from, to });
    const scanner = new RegionScanner({
      stores: openStores(stores, cut, cut.reversed),
      spec: cut,
      readHigh: this.#high,
      readLow: this.#low,
      nowMs: this.#nowMs,
      filter: null,
    });
    try {
      const results = await resultsOf(scanner);
      for (const result of results) this.#noteFloor(result.row, result);
      return results;
    } finally {
      scanner.close();
    }
  }

  #sources(store: Store, familyIndex: number, points: boolean): CellSource[] {
    const wishes: SourceWishes = { high: this.#high, low: this.#low, points, cacheBlocks: true };
    const own = this.#own[familyIndex] ?? null;
    const sources = store.sources(wishes);
    return own === null ? sources : [own.cursor(), ...sources];
  }

  put(row: Bytes, values: Values, options?: MutationOptions): void {
    const bytes = toRow(row);
    this.#note(options?.durability);
    this.#write(bytes, (encoder, mutation) => {
      encodePut(encoder, mutation, this.#table, bytes, values, options);
    });
  }

  delete(row: Bytes, spec?: DeleteSpec): void {
    const bytes = toRow(row);
    if (needsNewest(spec)) {
      throw new IllegalArgumentException('a transaction deletes versions only with ts');
    }
    this.#note(spec?.durability);
    this.#write(bytes, (encoder, mutation) => {
      encodeDelete(encoder, mutation, this.#table, bytes, spec, () => null);
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

  #note(durability: Durability | undefined): void {
    this.#durability ??= durability;
  }

  /** Keeps a write for the commit, and its cells for the reads until then. */
  #write(row: Uint8Array, encode: Encode): void {
    this.#check(row);
    const floor = this.#floors.get(keyOf(row)) ?? 0n;
    const floored: Encode = (encoder, mutation) => {
      encoder.floor(Number(floor >> 32n), Number(floor & 0xffffffffn));
      encode(encoder, mutation);
    };
    const { rows } = this.#parts.server;
    const mutation = rows.take();
    try {
      floored(this.#encoder, mutation);
      // Above the markers of the millisecond in which the transaction began.
      const ms = this.#nowMs + 1;
      mutation.stamp(Math.floor(ms / 0x100000000), ms >>> 0);
      mutation.settle(false);
      for (let i = 0; i < mutation.count; i++) {
        const family = mutation.family[i]!;
        const own = (this.#own[family] ??= new Memstore());
        own.insert(mutation.buf, mutation.at[i]!, mutation.length[i]!, this.#high, this.#low);
      }
    } finally {
      rows.release(mutation);
    }
    this.#writes.push(floored);
    this.#rows.set(keyOf(row), row);
  }

  /** Waits until what was read is visible to everyone. True: it was written since, or the table or region changed. */
  async isOutdated(): Promise<boolean> {
    await this.#parts.server.readPoint.whenPassed(this.#high, this.#low, undefined);
    return !isCurrent(this.#table, this.#version, this.#region) || this.#isOvertaken();
  }

  /** The commit's TSO; null if there was nothing to write; undefined: others wrote what was read, start over. */
  async commit(durability: Durability | undefined): Promise<bigint | null | undefined> {
    const { server, options } = this.#parts;
    if (this.#writes.length === 0) {
      // All of it was read as of one moment.
      await server.readPoint.whenPassed(this.#high, this.#low, undefined);
      return null;
    }
    const rows = [...this.#rows.values()].sort(compareBytes);
    const { locks } = this.#region;
    const mutation = server.rows.take();
    let held = 0;
    try {
      for (const encode of this.#writes) encode(this.#encoder, mutation);
      for (const row of rows) {
        await locks.acquire(row);
        held++;
      }
      for (let wait = this.#obstacle(mutation); wait !== null; wait = this.#obstacle(mutation)) {
        await wait;
      }
      if (!isCurrent(this.#table, this.#version, this.#region) || this.#isOvertaken()) {
        return undefined;
      }
      const chosen = options(this.#table, mutation, durability ?? this.#durability);
      server.queue.commit(this.#table, this.#region, mutation, chosen, false);
    } finally {
      for (let i = 0; i < held; i++) locks.release(rows[i]!);
      server.rows.release(mutation);
    }
    const { appliedHigh, appliedLow } = server.readPoint;
    const tso = joinHalves(appliedHigh, appliedLow);
    await server.rows.acknowledged(tso);
    return tso;
  }

  #obstacle(mutation: MutationBuffer): Promise<void> | null {
    return this.#table.gate ?? this.#parts.server.queue.admit(this.#region, mutation);
  }

  /** Whether anything that was read has been written since. May err to the safe side: when it was flushed meanwhile. */
  #isOvertaken(): boolean {
    const region = this.#region;
    const high = this.#high;
    const low = this.#low;
    if (!isLess(high, low, region.newestHigh, region.newestLow)) return false;
    for (const store of region.stores) {
      if (isLess(high, low, store.flushedHigh, store.flushedLow)) return true;
      for (const memstore of [store.memstore, ...store.frozen]) {
        const { maxWriteHigh, maxWriteLow } = memstore.stats;
        if (memstore.cellCount === 0 || !isLess(high, low, maxWriteHigh, maxWriteLow)) continue;
        for (const range of this.#reads) {
          if (isWrittenSince(memstore, range, high, low)) return true;
        }
      }
    }
    return false;
  }
}

/** Whether the memstore has a cell in the range with a write number above (high, low). */
function isWrittenSince(memstore: Memstore, range: ReadRange, high: number, low: number): boolean {
  const { from, to } = range;
  const cursor = memstore.cursor();
  try {
    let state = from.length === 0 ? cursor.seekToFirst() : cursor.seek(new RowStart(from));
    for (; state === READY; state = cursor.next()) {
      const { block, rowAt, rowLength, writeHigh, writeLow } = cursor.cell;
      if (to.length > 0 && compareRanges(block, rowAt, rowLength, to, 0, to.length) >= 0) {
        return false;
      }
      if (isLess(high, low, writeHigh, writeLow)) return true;
    }
    return false;
  } finally {
    cursor.close();
  }
}

/** Before every cell of the row. */
class RowStart implements SeekKey {
  readonly row: Uint8Array;
  readonly rowAt = 0;
  readonly rowLength: number;
  readonly qualifier = null;
  readonly qualifierAt = 0;
  readonly qualifierLength = 0;
  readonly timestampHigh = 0;
  readonly timestampLow = 0;
  readonly type = 0;
  constructor(row: Uint8Array) {
    this.row = row;
    this.rowLength = row.length;
  }
}

async function resultsOf(scanner: RegionScanner): Promise<Result[]> {
  const batch = new CellBatch();
  const results: Result[] = [];
  for (;;) {
    const state = scanner.next(batch, SCAN_STEP);
    for (let i = 0; i < batch.size; i++) results.push(batch.result(i));
    batch.clear();
    if (state === END) return results;
    if (state === WAIT) await scanner.load();
  }
}

/** Throws IllegalArgumentException. */
function checkReadable(spec: ReadSpec): void {
  if (spec.asOf !== null || spec.filter !== null || spec.readUncommitted) {
    throw new IllegalArgumentException(
      'reads of a transaction take no asOf, filter or isolation: they see its own moment',
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
