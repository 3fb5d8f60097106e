/**
 * The one serial queue of commits. A commit gets its TSO, is encoded into the log's buffer and applied to the memstores
 * in one synchronous step that cannot fail: whoever calls `commit` has been admitted (`admit`), in the same turn of the
 * event loop. The step is short: it copies the cells twice, to the log and to the slabs.
 */
import { StoreException, invariant } from '../io/index.ts';
import type { Timers } from '../io/index.ts';
import {
  DoNotRetryIOException,
  LogFailedException,
  RegionTooBusyException,
  StoreClosedException,
} from '../model/index.ts';
import { ManifestFailedException } from '../manifest/index.ts';
import type { MutationBuffer, OldCells, Region } from '../region/index.ts';
import { BEFORE_GROUP, FSYNC_WAL, KIND_COMMIT, KIND_CONTROL, SKIP_WAL } from '../wal/index.ts';
import type { RecordHead } from '../wal/index.ts';
import type { ReadPoint } from './read_point.ts';
import { WritePacer } from './write_pacer.ts';
import type { FamilyState, TableState } from './table_state.ts';

/** Where commits are logged: the log writer, or nothing for a store in memory. */
export interface CommitLog {
  roomFor(bytes: number): boolean;
  makeRoom(bytes: number): Promise<void>;
  begin(header: RecordHead): void;
  group(tableId: number, familyId: number): void;
  cell(buf: Uint8Array, at: number, length: number): void;
  end(): void;
  skipped(tsoHigh: number, tsoLow: number): void;
  appendControl(
    kind: number,
    tsoHigh: number,
    tsoLow: number,
    body: Uint8Array,
    durability: number,
  ): void;
}

/** Gives commit stamps; see tso/oracle.ts. */
export interface CommitClock {
  readonly high: number;
  readonly low: number;
  readonly physicalMs: number;
  /** Null when `next` will give a stamp; otherwise why not. */
  refusal(): StoreException | null;
  hasRoom(): boolean;
  waitForRoom(): Promise<void>;
  next(): void;
  nextInFreshMillisecond(): void;
}

/** One region's part of a commit. */
export interface CommitPart {
  readonly table: TableState;
  readonly region: Region;
  readonly mutation: MutationBuffer;
  /** No two cells have the same key (see MutationBuffer.settle). Default false. */
  readonly distinct?: boolean;
}

export interface CommitOptions {
  readonly durability: number;
  /** Group and nonce, 16 bytes; null for none. */
  readonly nonce: Uint8Array | null;
  /** Label of a transaction, for the feed; null for none. */
  readonly label: string | null;
  /** The millisecond that the operations of one batch share; 0: the commit's own. */
  readonly batchMs: number;
  /** The transaction whose commit this is. */
  readonly transaction?: bigint | null;
  /** Takes the first stamp of a millisecond: markers one millisecond older then cover everything before. */
  readonly fresh?: boolean;
  /** Told the stamp before the cells are copied: values that hold it are completed now. Must not throw. */
  readonly stamped?: (high: number, low: number) => void;
}

/** The TSO of a control commit, in halves, and the release of the read point. */
export interface ControlStamp {
  readonly high: number;
  readonly low: number;
  readonly done: () => void;
}

export interface MemstoreLimits {
  readonly serverBytes: number;
  readonly regionBytes: number;
  /** How long a writer waits for memory before it gets RegionTooBusyException. */
  readonly busyTimeoutMs: number;
}

/** Bytes of a log record beside its cells, counted generously: header, nonce, label, and a group for each family. */
const RECORD_OVERHEAD = 512;
const CELL_OVERHEAD = 4;
const GROUP_OVERHEAD = 12;

function oldBytesOf({ old }: MutationBuffer): number {
  return old === null ? 0 : old.bytes + old.cells.length * (CELL_OVERHEAD + GROUP_OVERHEAD);
}

/** An upper bound of the log's bytes for a commit. */
function logBytesOf(region: Region, mutation: MutationBuffer): number {
  return (
    RECORD_OVERHEAD +
    mutation.size +
    mutation.count * CELL_OVERHEAD +
    region.stores.length * GROUP_OVERHEAD +
    oldBytesOf(mutation)
  );
}

/** Our own fault, see `cause`: the store takes no writes until it is opened again and has recovered from its log. */
class StepFailedException extends StoreException {
  readonly code: string = 'StepFailedException';
  readonly retryable: boolean = false;
}

/** Flushes begin when memstores hold this share of their limit: the rest takes what comes while they run. */
const PRESSURE_SHARE = 0.4;

export class CommitQueue {
  readonly #log: CommitLog;
  readonly #clock: CommitClock;
  readonly #readPoint: ReadPoint;
  readonly #limits: MemstoreLimits;
  readonly #timers: Timers;
  /** Slows writers before memory stops them. */
  readonly pacer: WritePacer;
  /** Hashes of the rows that got a marker without timestamp in millisecond `#markerMs`. */
  readonly #markedRows = new Set<number>();
  #markerMs = 0;
  #memoryWaiters: (() => void)[] = [];
  #stopped: StoreException | null = null;
  /** Bytes of all memstores, indexes included. */
  memstoreHeapBytes = 0;
  commits = 0;
  /** Asked when memory gets short, in time before writers have to wait: starts flushes. */
  onPressure: (() => void) | null = null;
  /** What keeps memory from being freed: why the last flush failed; null once one succeeds. Set by the flusher. */
  flushFailure: Error | null = null;
  /** Told of each commit that has a nonce. */
  onNonce: ((nonce: Uint8Array, high: number, low: number) => void) | null = null;
  /** Told when a promise of our own code was broken in a step: nothing may be written any more. */
  onBroken: ((error: StoreException) => void) | null = null;
  /** Bytes of all memstores, or of one region's, from which on it is asked. */
  readonly #pressureBytes: number;
  readonly #regionPressureBytes: number;
  readonly #header: { -readonly [K in keyof RecordHead]: RecordHead[K] } = {
    kind: KIND_COMMIT,
    tsoHigh: 0,
    tsoLow: 0,
    nonce: null,
    label: null,
    transaction: null,
    durability: SKIP_WAL,
  };

  constructor(parts: {
    readonly log: CommitLog;
    readonly clock: CommitClock;
    readonly readPoint: ReadPoint;
    readonly limits: MemstoreLimits;
    readonly timers: Timers;
  }) {
    this.#log = parts.log;
    this.#clock = parts.clock;
    this.#readPoint = parts.readPoint;
    this.#limits = parts.limits;
    this.#pressureBytes = parts.limits.serverBytes * PRESSURE_SHARE;
    this.#regionPressureBytes = parts.limits.regionBytes * PRESSURE_SHARE;
    this.#timers = parts.timers;
    this.pacer = new WritePacer(parts.timers);
  }

  /** From now on every write is refused with this error. The first reason stays. */
  stop(reason: StoreException): void {
    this.#stopped ??= reason;
    this.#wakeMemoryWaiters();
  }

  get stopped(): StoreException | null {
    return this.#stopped;
  }

  /**
   * Whether a commit of this mutation to this region may be made at once, in the same turn; if not, ask `admit` what to
   * wait for. Throws why writes are refused: closed, log failed, oracle not calibrated.
   */
  canAdmit(region: Region, mutation: MutationBuffer): boolean {
    return this.#hasRoom(region, mutation) && this.pacer.mayGo(this.#shareUsed(region));
  }

  #hasRoom(region: Region, mutation: MutationBuffer): boolean {
    this.#checkTakesWrites();
    return (
      this.#clock.hasRoom() &&
      this.#hasMemory(region, mutation.size) &&
      this.#log.roomFor(logBytesOf(region, mutation))
    );
  }

  /**
   * Null when a commit of this mutation to this region may be made at once, in the same turn; otherwise what to wait
   * for before asking again. Throws or rejects with why writes are refused, beside `canAdmit`'s reasons: too busy, disk
   * full.
   */
  admit(region: Region, mutation: MutationBuffer): Promise<void> | null {
    if (this.#hasRoom(region, mutation)) {
      const share = this.#shareUsed(region);
      if (this.pacer.mayGo(share) || this.pacer.takeGrant()) return null;
      return this.pacer.wait(share);
    }
    if (!this.#clock.hasRoom()) return this.#clock.waitForRoom();
    if (!this.#hasMemory(region, mutation.size)) return this.#waitForMemory(region, mutation.size);
    return this.#log.makeRoom(logBytesOf(region, mutation));
  }

  /** As `admit`, for `commitParts`. */
  admitParts(parts: readonly CommitPart[]): Promise<void> | null {
    this.#checkTakesWrites();
    if (!this.#clock.hasRoom()) return this.#clock.waitForRoom();
    let cellBytes = 0;
    let logBytes = 0;
    for (const { region, mutation } of parts) {
      cellBytes += mutation.size;
      logBytes += logBytesOf(region, mutation);
      if (!this.#hasMemory(region, mutation.size))
        return this.#waitForMemory(region, mutation.size);
    }
    const heapBytes = this.memstoreHeapBytes + cellBytes;
    if (heapBytes > this.#limits.serverBytes && cellBytes <= this.#limits.serverBytes) {
      return this.#waitForMemory(parts[0]!.region, cellBytes);
    }
    return this.#log.roomFor(logBytes) ? null : this.#log.makeRoom(logBytes);
  }

  /** How much of its limit memory takes: the server's or the region's, whichever is fuller. */
  #shareUsed(region: Region): number {
    const { serverBytes, regionBytes } = this.#limits;
    return Math.max(this.memstoreHeapBytes / serverBytes, region.memstoreHeapBytes / regionBytes);
  }

  #hasMemory(region: Region, bytes: number): boolean {
    const heapBytes = this.memstoreHeapBytes + bytes;
    const regionBytes = region.memstoreHeapBytes + bytes;
    if (heapBytes <= this.#pressureBytes && regionBytes <= this.#regionPressureBytes) return true;
    this.onPressure?.();
    return heapBytes <= this.#limits.serverBytes && regionBytes <= this.#limits.regionBytes;
  }

  #checkTakesWrites(): void {
    if (this.#stopped !== null) throw this.#refusal();
    const refusal = this.#clock.refusal();
    if (refusal !== null) throw refusal;
  }

  #refusal(): StoreException {
    const reason = this.#stopped!;
    if (reason instanceof StoreClosedException) return new StoreClosedException(reason.message);
    if (reason instanceof ManifestFailedException) return reason;
    if (reason instanceof DoNotRetryIOException) return reason; // Opened to read only.
    return new LogFailedException(
      `the store takes no writes until it is opened again: ${reason.message}`,
      { cause: reason },
    );
  }

  async #waitForMemory(region: Region, bytes: number): Promise<void> {
    let timedOut = false;
    const onTimeout = (): void => {
      timedOut = true;
      this.#wakeMemoryWaiters();
    };
    // A write that waits keeps the process alive: it is answered, if only by the refusal.
    const timer = this.#timers.after(this.#limits.busyTimeoutMs, onTimeout, true);
    try {
      for (;;) {
        this.onPressure?.();
        const serverFull = this.memstoreHeapBytes + bytes > this.#limits.serverBytes;
        const regionFull = region.memstoreHeapBytes + bytes > this.#limits.regionBytes;
        if (this.#stopped !== null || (!serverFull && !regionFull)) return;
        if (timedOut || this.onPressure === null) throw this.#tooBusy(region, serverFull);
        await new Promise<void>((resolve) => this.#memoryWaiters.push(resolve));
      }
    } finally {
      timer.cancel();
    }
  }

  #tooBusy(region: Region, serverFull: boolean): RegionTooBusyException {
    const [used, limit] = serverFull
      ? [this.memstoreHeapBytes, this.#limits.serverBytes]
      : [region.memstoreHeapBytes, this.#limits.regionBytes];
    const who = serverFull ? 'the server' : `region ${region.encodedName}`;
    const cause = this.flushFailure;
    const why = cause === null ? '' : `; it cannot be flushed: ${cause.message}`;
    return new RegionTooBusyException(
      `Over memstore limit: ${who} holds ${used} of ${limit} bytes${why}`,
      ...(cause === null ? [] : [{ cause }]),
    );
  }

  /** Memstores were made. */
  grew(heapBytes: number): void {
    this.memstoreHeapBytes += heapBytes;
  }

  /** Memstores were freed. */
  released(heapBytes: number): void {
    this.memstoreHeapBytes -= heapBytes;
    invariant(this.memstoreHeapBytes >= 0, 'memstore bytes are not negative', heapBytes);
    this.#wakeMemoryWaiters();
  }

  #wakeMemoryWaiters(): void {
    const waiters = this.#memoryWaiters;
    this.#memoryWaiters = [];
    for (const wake of waiters) wake();
  }

  /**
   * Commits a mutation of one region. Its TSO is then the read point's `applied`. The buffer is the caller's again when
   * this returns. `distinct` as in MutationBuffer.settle.
   */
  commit(
    table: TableState,
    region: Region,
    mutation: MutationBuffer,
    options: CommitOptions,
    distinct: boolean,
  ): void {
    try {
      this.#takeStamp(mutation, table.id, options.batchMs);
      const { high, low } = this.#clock;
      this.#stamp(mutation, options.batchMs);
      mutation.settle(distinct);
      this.#begin(high, low, options);
      this.#write(table.id, table.families, region, mutation, options.durability !== SKIP_WAL);
      this.#end(high, low, options);
    } catch (error) {
      this.#broken(error);
    }
  }

  /** The step cannot fail: that it did is a fault of ours. Log and memstores may differ now, so writing ends here. */
  #broken(error: unknown): never {
    this.onBroken?.(
      new StepFailedException('a commit failed in the middle of its step', { cause: error }),
    );
    throw error;
  }

  /**
   * A commit without cells, for changes that are recorded elsewhere (schema, switches of files): takes a TSO and puts
   * `body` into the log with it. The read point stays below it until `done`. The caller has waited for `admitControl`.
   */
  commitControl(body: Uint8Array): ControlStamp {
    this.#clock.next();
    const { high, low } = this.#clock;
    this.#readPoint.applied(high, low);
    const done = this.#readPoint.hold(high, low);
    this.#log.appendControl(KIND_CONTROL, high, low, body, FSYNC_WAL);
    return { high, low, done };
  }

  /** As `admit`, for a control record. */
  admitControl(bodyLength: number): Promise<void> | null {
    this.#checkTakesWrites();
    if (!this.#clock.hasRoom()) return this.#clock.waitForRoom();
    const bytes = RECORD_OVERHEAD + bodyLength;
    return this.#log.roomFor(bytes) ? null : this.#log.makeRoom(bytes);
  }

  /** Commits several regions' parts as one: one TSO, one log record. */
  commitParts(parts: readonly CommitPart[], options: CommitOptions): void {
    invariant(parts.length > 0, 'a commit has parts');
    try {
      let fresh = options.fresh === true;
      for (const part of parts) fresh ||= this.#meetsMarker(part.mutation, part.table.id);
      if (fresh) this.#clock.nextInFreshMillisecond();
      else this.#clock.next();
      const { high, low } = this.#clock;
      options.stamped?.(high, low);
      this.#begin(high, low, options);
      for (const { table, region, mutation, distinct } of parts) {
        if (mutation.latestMarker) this.#remember(mutation, table.id);
        this.#stamp(mutation, options.batchMs);
        mutation.settle(distinct === true);
        this.#write(table.id, table.families, region, mutation, options.durability !== SKIP_WAL);
      }
      this.#end(high, low, options);
    } catch (error) {
      this.#broken(error);
    }
  }

  #begin(high: number, low: number, options: CommitOptions): void {
    if (options.durability === SKIP_WAL) return;
    const header = this.#header;
    header.tsoHigh = high;
    header.tsoLow = low;
    header.nonce = options.nonce;
    header.label = options.label;
    header.transaction = options.transaction ?? null;
    header.durability = options.durability;
    this.#log.begin(header);
  }

  #end(high: number, low: number, options: CommitOptions): void {
    this.commits++;
    this.#readPoint.applied(high, low);
    if (options.nonce !== null) this.onNonce?.(options.nonce, high, low);
    if (options.durability === SKIP_WAL) this.#log.skipped(high, low);
    else this.#log.end();
  }

  #write(
    tableId: number,
    families: readonly FamilyState[],
    region: Region,
    mutation: MutationBuffer,
    logged: boolean,
  ): void {
    const { buf, count } = mutation;
    const { high, low } = this.#clock;
    let familyIndex = -1;
    let memstore = region.stores[0]!.memstore;
    let heapBefore = 0;
    for (let i = 0; i < count; i++) {
      if (mutation.family[i] !== familyIndex) {
        if (familyIndex >= 0) this.memstoreHeapBytes += memstore.heapBytes - heapBefore;
        familyIndex = mutation.family[i]!;
        memstore = region.stores[familyIndex]!.memstore;
        heapBefore = memstore.heapBytes;
        if (logged) this.#log.group(tableId, families[familyIndex]!.id);
      }
      const at = mutation.at[i]!;
      const length = mutation.length[i]!;
      if (logged) this.#log.cell(buf, at, length);
      memstore.insert(buf, at, length, high, low);
    }
    if (familyIndex >= 0) this.memstoreHeapBytes += memstore.heapBytes - heapBefore;
    if (logged && mutation.old !== null) this.#writeOld(tableId, families, mutation.old);
    region.newestHigh = high;
    region.newestLow = low;
    region.writeRequests++;
  }

  /** Groups of old values, behind the commit's own. */
  #writeOld(tableId: number, families: readonly FamilyState[], old: OldCells): void {
    let last = -1;
    for (const [i, cell] of old.cells.entries()) {
      const family = old.family[i]!;
      if (family !== last) this.#log.group(tableId, families[family]!.id + BEFORE_GROUP);
      last = family;
      this.#log.cell(cell, 0, cell.length);
    }
    // A group without cells says that there was nothing.
    if (last < 0) this.#log.group(tableId, families[0]!.id + BEFORE_GROUP);
  }

  /** What judges TTL now. */
  get nowMs(): number {
    return this.#clock.physicalMs;
  }

  #stamp(mutation: MutationBuffer, batchMs: number): void {
    const millis = batchMs > 0 ? batchMs : this.#clock.physicalMs;
    mutation.stamp(Math.floor(millis / 0x100000000), millis >>> 0);
  }

  /**
   * A put without timestamp on a row that got a marker without timestamp in the same millisecond takes the first TSO of
   * the next one: HBase would hide such a put. Two rows of equal hash only cost a millisecond.
   */
  #takeStamp(mutation: MutationBuffer, seed: number, batchMs: number): void {
    if (batchMs === 0 && this.#meetsMarker(mutation, seed)) this.#clock.nextInFreshMillisecond();
    else this.#clock.next();
    if (mutation.latestMarker) this.#remember(mutation, seed);
  }

  #meetsMarker(mutation: MutationBuffer, seed: number): boolean {
    if (!mutation.latestPut || this.#markedRows.size === 0) return false;
    if (this.#clock.physicalMs !== this.#markerMs) return false;
    for (let i = 0; i < mutation.count; i++) {
      if (this.#markedRows.has(mutation.rowHash(i, seed))) return true;
    }
    return false;
  }

  #remember(mutation: MutationBuffer, seed: number): void {
    if (this.#clock.physicalMs !== this.#markerMs) {
      this.#markedRows.clear();
      this.#markerMs = this.#clock.physicalMs;
    }
    for (let i = 0; i < mutation.count; i++) this.#markedRows.add(mutation.rowHash(i, seed));
  }
}
