/**
 * The write-ahead log as the commit queue sees it: synchronous appends that cannot fail, and one loop that takes them to
 * the disk in batches (group commit: while one write and sync are under way, arriving commits gather in the next batch).
 *
 * Invariants: `#written` is the segment that batches are written to, `#space.current` the one that records are encoded for;
 * they differ while a batch that crosses the boundary waits or is written. `#rolledTo` then holds the segments behind
 * `#written`, the current one last. A segment is synced whole before the next takes its first record.
 */
import type { Env, Timer } from '../io/index.ts';
import { invariant } from '../io/index.ts';
import { Batch } from './batch.ts';
import { LogClosedException, LogFailedException } from './errors.ts';
import {
  align8,
  ASYNC_WAL,
  compareHalves,
  FSYNC_WAL,
  KIND_CLOSE,
  KIND_OWN_MIN,
  KIND_SEGMENT_END,
  KIND_SKIPPED,
  RECORD_HEADER_SIZE,
  sealRecords,
  SEGMENT_HEADER_SIZE,
  STORE_ID_SIZE,
} from './format.ts';
import type { LogMetrics, LogOptions } from './log_options.ts';
import { Progress, type LogListener } from './progress.ts';
import { RecordWriter, type RecordHead } from './record_writer.ts';
import type { LogPlace, RecoveredLog } from './recover.ts';
import { copySegmentInfo, type OpenSegment, type SegmentInfo } from './segment.ts';
import { SegmentStore, type LogHold } from './segment_store.ts';
import { LogSpace, RESERVE } from './space.ts';
import { SyncPace } from './sync_pace.ts';
import { TurnWaiters } from './turn_waiters.ts';

/** A lone commit larger than this is written asynchronously. */
const BLOCKING_BYTES_MAX = 256 * 1024;

/**
 * Not to be shared between engines; calls may come at any time from the one thread. See `recoverLog` for how to get
 * the log it continues.
 */
export class LogWriter {
  readonly metrics: LogMetrics = { records: 0, bytes: 0, batches: 0, syncs: 0, blockingSyncs: 0 };
  readonly #env: Env;
  readonly #dir: string;
  readonly #batchBytesMax: number;
  readonly #asyncSyncMs: number;
  readonly #isDiskBusy: () => boolean;
  readonly #listener: LogListener;
  readonly #store: SegmentStore;
  readonly #space: LogSpace;
  readonly #pace: SyncPace;
  readonly #progress: Progress;
  readonly #encoder: RecordWriter = new RecordWriter();
  #gathering: Batch = new Batch();
  #resting: Batch = new Batch();
  #needsClose: boolean;
  #written: OpenSegment | null = null;
  #writtenAt = 0;
  readonly #rolledTo: OpenSegment[] = [];
  #syncedSegment = 0;
  #syncedOffset = 0;
  #openHigh = 0;
  #openLow = 0;
  #openDurability = 0;
  #isRunning = false;
  /** A turn is under way in name only: it has not taken the gathering batch yet. */
  #isScheduled = false;
  #isSyncWanted = false;
  #turn = 0;
  readonly #waiters: TurnWaiters = new TurnWaiters();
  #syncTimer: Timer | null = null;
  #failure: LogFailedException | null = null;
  #closing: Promise<void> | null = null;

  constructor(
    env: Env,
    dir: string,
    options: LogOptions,
    recovered: RecoveredLog,
    listener: LogListener,
  ) {
    this.#env = env;
    this.#dir = dir;
    this.#batchBytesMax = options.batchBytesMax ?? 8 * 1024 * 1024;
    this.#asyncSyncMs = options.asyncSyncMs ?? 200;
    this.#isDiskBusy = options.isDiskBusy ?? ((): boolean => false);
    this.#listener = listener;
    this.#pace = new SyncPace(options.blockingSync ?? true);
    const segmentBytes = options.segmentBytes ?? 16 * 1024 * 1024;
    const storeOptions = {
      dir,
      archiveDir: options.archiveDir ?? null,
      segmentBytes,
      storeId: options.storeId ?? new Uint8Array(STORE_ID_SIZE),
    };
    this.#store = new SegmentStore(env, storeOptions, recovered.segments, recovered.nextNumber);
    const { lastHigh, lastLow } = recovered;
    this.#gathering.restart(lastHigh, lastLow);
    this.#progress = new Progress(this.#gathering, lastHigh, lastLow, listener);
    const info = this.#store.live.at(-1);
    const { endOffset: offset, isSegmentEnded: isEnded } = recovered;
    const tail = info === undefined ? null : { info, offset, isEnded };
    const failed = (cause: unknown): LogFailedException => this.#fail(cause);
    this.#space = new LogSpace(env, this.#store, {
      segmentBytes,
      tail,
      entered: this.#entered,
      failed,
    });
    this.#needsClose = !recovered.cleanEnd && info !== undefined;
  }

  /**
   * Whether records of up to `bytes` (see `commitSizeMax`) can be appended now; until the caller gives up control, these
   * appends cannot fail. If not, wait for `makeRoom`. Throws LogFailedException or LogClosedException.
   */
  roomFor(bytes: number): boolean {
    this.#checkAlive();
    const need = align8(bytes);
    const batch = this.#gathering;
    const space = this.#space;
    if (space.current === null) return false;
    if (batch.length > 0 && batch.length + need > this.#batchBytesMax) return false;
    const isFull = need > space.left;
    if (isFull && !(space.fitsNext(need) && batch.splitAt < 0)) return false;
    batch.ensure(need + RESERVE);
    if (isFull) this.#roll();
    space.allocateAhead();
    return true;
  }

  /**
   * Waits for what `roomFor(bytes)` misses: the disk, or a new segment. Ask `roomFor` again afterwards, others may
   * have been quicker. Rejects with DiskFullException (works again when space returns) or IoException, neither of which
   * harms the log, or as `roomFor` throws.
   */
  async makeRoom(bytes: number): Promise<void> {
    while (!this.roomFor(bytes)) {
      const need = align8(bytes);
      const batch = this.#gathering;
      const isBatchFull = batch.length > 0 && batch.length + need > this.#batchBytesMax;
      const isSplit = batch.splitAt >= 0 && this.#space.fitsNext(need);
      if (isBatchFull || isSplit) await this.#waitForTurn(false);
      else await this.#space.allocate(need);
    }
  }

  /** Starts a commit's record; then `group` and `cell`, then `end`. TSOs must grow. Copies what it is given. */
  begin(head: RecordHead): void {
    this.#checkAlive();
    const { tsoHigh, tsoLow, kind, durability } = head;
    this.#checkTso(tsoHigh, tsoLow);
    invariant(kind > 0 && kind < KIND_OWN_MIN, 'kind of a log record', kind);
    invariant(durability >= ASYNC_WAL && durability <= FSYNC_WAL, 'durability', durability);
    this.#openHigh = tsoHigh;
    this.#openLow = tsoLow;
    this.#openDurability = durability;
    this.#encoder.begin(this.#gathering, this.#limit(), head);
  }

  /** Starts the cells of one family. */
  group(tableId: number, familyId: number): void {
    this.#encoder.group(tableId, familyId);
  }

  /** Adds the KeyValue of `length` bytes at `at` of `buf` to the group. Copied. */
  cell(buf: Uint8Array, at: number, length: number): void {
    this.#encoder.cell(buf, at, length);
  }

  /** Adds `length` bytes at `at` of `buf` to the body of a record that is no commit. Copied. */
  bytes(buf: Uint8Array, at: number, length: number): void {
    this.#encoder.bytes(buf, at, length);
  }

  /** Ends the record and sends it on its way. The listener hears of it later, never within this call. */
  end(): void {
    const size = this.#encoder.end();
    const durability = this.#openDurability;
    const high = this.#openHigh;
    const low = this.#openLow;
    const segment = this.#space.current!;
    this.#gathering.addCommit(size, high, low, durability);
    if (segment.firstHigh === 0 && segment.firstLow === 0) {
      segment.firstHigh = high;
      segment.firstLow = low;
    }
    segment.lastHigh = high;
    segment.lastLow = low;
    this.#count(size);
    if (durability === ASYNC_WAL) this.#progress.reportSoon();
    this.#kick();
    if (this.#isScheduled) this.#startEarly();
  }

  /** Appends a record with an opaque body, as `begin` and `end` do. */
  appendControl(
    kind: number,
    tsoHigh: number,
    tsoLow: number,
    body: Uint8Array,
    durability: number,
  ): void {
    this.begin({ kind, tsoHigh, tsoLow, nonce: null, label: null, durability });
    this.#encoder.bytes(body, 0, body.length);
    this.end();
  }

  /** Takes note of a commit that skips the log: the next record will name it. Needs no room. */
  skipped(tsoHigh: number, tsoLow: number): void {
    this.#checkAlive();
    this.#checkTso(tsoHigh, tsoLow);
    this.#encoder.skip(tsoHigh, tsoLow);
    this.#gathering.addSkipped(tsoHigh, tsoLow);
    this.#progress.reportSoon();
  }

  /** Resolves when everything appended or skipped before is on the disk, named and all. Rejects as `makeRoom` does. */
  async sync(): Promise<void> {
    this.#checkAlive();
    if (this.#encoder.hasSkipped) {
      await this.makeRoom(RECORD_HEADER_SIZE);
      // Another record may have named them meanwhile.
      if (this.#encoder.hasSkipped) this.#appendOwn(KIND_SKIPPED);
    }
    const { flight, hasUnsynced } = this.#progress;
    if (this.#gathering.length > 0 || flight !== null || hasUnsynced) await this.#waitForTurn(true);
  }

  /** Segments in the order of the log, with the TSOs of their records. Copies. */
  get segments(): readonly SegmentInfo[] {
    return this.#store.live.map(copySegmentInfo);
  }

  /** Bytes that the log takes on the disk, without what is allocated ahead as the next segment. */
  get sizeBytes(): number {
    return this.#store.bytes;
  }

  /** Where the log ends, once it is closed cleanly; null if nothing was written since it was opened. */
  get endPlace(): LogPlace | null {
    const { current, position } = this.#space;
    return current === null ? null : { segment: current.number, offset: position };
  }

  /** The error that stopped the log; null while it works. */
  get failure(): LogFailedException | null {
    return this.#failure;
  }

  /** Keeps every segment with records at or above this TSO until released. */
  hold(fromHigh: number, fromLow: number): LogHold {
    return this.#store.hold(fromHigh, fromLow);
  }

  /**
   * Gives up the segments whose records are all below this TSO and below every hold: moved to the archive folder, or
   * reused. Gives their count. The segment that takes records stays.
   */
  async releaseBelow(
    tsoHigh: number,
    tsoLow: number,
    options: { readonly archive: boolean },
  ): Promise<number> {
    this.#checkAlive();
    const busyFrom = this.#written?.number ?? this.#store.live.at(-1)?.number ?? 0;
    return this.#store.releaseBelow(tsoHigh, tsoLow, busyFrom, options.archive);
  }

  /** Syncs everything, marks a clean end and closes the files. After a failure it only closes. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #checkAlive(): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#closing !== null) throw new LogClosedException(this.#dir);
  }

  #checkTso(high: number, low: number): void {
    const { lastHigh, lastLow } = this.#gathering;
    invariant(compareHalves(high, low, lastHigh, lastLow) > 0, 'TSOs must grow', high, low);
  }

  /** Offset in the gathering buffer that records may not pass. */
  #limit(): number {
    const batch = this.#gathering;
    const inSegment = batch.length + this.#space.left;
    return Math.min(inSegment, batch.buf.length);
  }

  #count(size: number): void {
    this.#space.position += size;
    this.#needsClose = true;
    this.metrics.records++;
    this.metrics.bytes += size;
  }

  /** A record of the log's own, in the room that every segment keeps. */
  #appendOwn(kind: number): void {
    const batch = this.#gathering;
    batch.ensure(RESERVE);
    const { lastHigh: tsoHigh, lastLow: tsoLow } = batch;
    const head = { kind, tsoHigh, tsoLow, nonce: null, label: null, durability: FSYNC_WAL };
    this.#encoder.begin(batch, batch.buf.length, head);
    const size = this.#encoder.end();
    batch.addOwn(size);
    this.#count(size);
  }

  /** Ends the current segment; the batch goes on in the next. */
  #roll(): void {
    this.#appendOwn(KIND_SEGMENT_END);
    this.#gathering.splitAt = this.#gathering.length;
    this.#space.enterNext();
  }

  /** The space has a new current segment, which comes behind all that is encoded so far. */
  readonly #entered = (segment: OpenSegment, position: number): void => {
    if (this.#written !== null) {
      this.#rolledTo.push(segment);
      return;
    }
    this.#written = segment;
    this.#writtenAt = position;
    this.#syncedSegment = segment.number;
    this.#syncedOffset = position;
  };

  #waitForTurn(needsSync: boolean): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (needsSync) this.#isSyncWanted = true;
    const turn = this.#turn + 1;
    const done = this.#waiters.add(turn, needsSync);
    this.#kick();
    return done;
  }

  #kick(): void {
    if (this.#isRunning || this.#failure !== null) return;
    this.#isRunning = true;
    this.#isScheduled = true;
    if (this.#isQuick(1) && this.#pace.takeMicrotask()) queueMicrotask(this.#takeTurn);
    // Through the event loop, so that every commit that is about to come is in the batch.
    else this.#env.timers.soon(this.#takeTurn);
  }

  /** The gathering batch can be expected to be done with at once, so that the thread may wait: see `#isLone` and `#isCopy`. */
  #isQuick(writersMax: number): boolean {
    const batch = this.#gathering;
    if (batch.splitAt >= 0 || batch.length > BLOCKING_BYTES_MAX || this.#waiters.count > 0) {
      return false;
    }
    if (this.#space.isAllocating) return false;
    return (this.#isCopy() && batch.waiterCount <= writersMax) || this.#isLone();
  }

  /** Nobody asked for the disk: the system only has to take the bytes. */
  #isCopy(): boolean {
    return !this.#gathering.hasFsync && !this.#isSyncWanted && this.#pace.takeCopy();
  }

  /** One commit waits for the disk, which has been quick. */
  #isLone(): boolean {
    return this.#gathering.waiterCount === 1 && this.#pace.mayBlock && !this.#isDiskBusy();
  }

  /**
   * Many writers that all wait for one sync would then all wait for this thread: half of them go ahead, so that the disk
   * works for one half while the thread works for the other. May be within an append, so nobody is told anything yet.
   */
  #startEarly(): void {
    const batch = this.#gathering;
    if (!batch.hasFsync || batch.splitAt >= 0 || !this.#pace.startsEarly(batch.waiterCount)) return;
    this.#isScheduled = false;
    if (this.#mayOverlap()) void this.#turnOverlapped();
    else void this.#turnAsync();
  }

  readonly #takeTurn = (): void => {
    // Started early, or failed.
    if (!this.#isScheduled || this.#failure !== null) return;
    this.#isScheduled = false;
    if (this.#isQuick(Infinity)) this.#turnBlocking();
    else if (this.#mayOverlap()) void this.#turnOverlapped();
    else void this.#turnAsync();
  };

  /** The system takes the bytes at once, and only the sync has to be waited for. */
  #mayOverlap(): boolean {
    const { hasFsync, splitAt, length } = this.#gathering;
    return hasFsync && splitAt < 0 && length <= BLOCKING_BYTES_MAX && this.#pace.takeCopy();
  }

  /** Writes in this thread and syncs in another. Tells nobody anything before it returns. */
  async #turnOverlapped(): Promise<void> {
    try {
      const batch = this.#takeOff();
      const segment = this.#written!;
      const startMs = this.#writeCopy(batch, segment);
      const to = this.#writtenAt;
      this.#isSyncWanted = false;
      this.#progress.isFlightWritten = true;
      this.#progress.reportSoon();
      await segment.handle.sync();
      this.#noteSynced(segment, to, startMs);
      this.#endTurn(true);
    } catch (error) {
      // Not within an append.
      await Promise.resolve();
      this.#fail(error);
    }
  }

  /** Hands a whole batch to the system; gives when that began. */
  #writeCopy(batch: Batch, segment: OpenSegment): number {
    const { clock } = this.#env;
    this.#seal(batch, 0, batch.length);
    const startMs = clock.monotonicMs();
    segment.handle.writeSync(batch.buf.subarray(0, batch.length), this.#writtenAt);
    this.#pace.noteCopy(clock.monotonicMs() - startMs);
    this.#writtenAt += batch.length;
    return startMs;
  }

  #turnBlocking(): void {
    try {
      const batch = this.#takeOff();
      const segment = this.#written!;
      this.#writeCopy(batch, segment);
      const needsSync = this.#flightLanded();
      if (needsSync) {
        const startMs = this.#env.clock.monotonicMs();
        segment.handle.syncSync();
        this.metrics.blockingSyncs++;
        this.#noteSynced(segment, this.#writtenAt, startMs);
      }
      this.#endTurn(needsSync);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #turnAsync(): Promise<void> {
    try {
      if (this.#gathering.length > 0) await this.#writeBatch(this.#takeOff());
      else this.#turn++;
      const needsSync = this.#flightLanded();
      if (needsSync) await this.#syncWritten();
      this.#endTurn(needsSync);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The gathering batch becomes the one in flight. */
  #takeOff(): Batch {
    const batch = this.#gathering;
    const gathering = this.#resting;
    gathering.restart(batch.lastHigh, batch.lastLow);
    this.#gathering = gathering;
    this.#resting = batch;
    this.#progress.gathering = gathering;
    this.#progress.flight = batch;
    this.#progress.isFlightWritten = false;
    this.#turn++;
    this.metrics.batches++;
    return batch;
  }

  async #writeBatch(batch: Batch): Promise<void> {
    let from = 0;
    if (batch.splitAt >= 0) {
      await this.#write(batch, 0, batch.splitAt);
      await this.#syncWritten();
      await this.#writeToNext();
      from = batch.splitAt;
    }
    if (from < batch.length) await this.#write(batch, from, batch.length);
  }

  #seal(batch: Batch, from: number, to: number): void {
    const { seed } = this.#written!;
    sealRecords(batch.buf, from, to, seed, this.#syncedSegment, this.#syncedOffset);
  }

  async #write(batch: Batch, from: number, to: number): Promise<void> {
    this.#seal(batch, from, to);
    await this.#written!.handle.write(batch.buf.subarray(from, to), this.#writtenAt);
    this.#writtenAt += to - from;
  }

  async #syncWritten(): Promise<void> {
    const segment = this.#written!;
    const to = this.#writtenAt;
    const startMs = this.#env.clock.monotonicMs();
    await segment.handle.sync();
    this.#noteSynced(segment, to, startMs);
  }

  #noteSynced(segment: OpenSegment, to: number, startMs: number): void {
    this.metrics.syncs++;
    this.#pace.noteSync(this.#env.clock.monotonicMs() - startMs);
    this.#syncedSegment = segment.number;
    this.#syncedOffset = to;
  }

  /** The segment is complete and synced; its successor's header is on the disk since it was made. */
  async #writeToNext(): Promise<void> {
    const full = this.#written!;
    const next = this.#rolledTo.shift();
    invariant(next !== undefined, 'a batch crosses into no segment');
    this.#written = next;
    this.#writtenAt = SEGMENT_HEADER_SIZE;
    this.#syncedSegment = next.number;
    this.#syncedOffset = SEGMENT_HEADER_SIZE;
    await full.handle.close();
  }

  /** The flight's bytes are written. Says whether a sync has to follow. */
  #flightLanded(): boolean {
    const { flight } = this.#progress;
    this.#progress.isFlightWritten = true;
    const needsSync = this.#isSyncWanted || (flight !== null && flight.hasFsync);
    this.#isSyncWanted = false;
    this.#progress.report();
    return needsSync;
  }

  #endTurn(isSynced: boolean): void {
    const progress = this.#progress;
    if (isSynced && progress.flight !== null) {
      this.#pace.noteTurn(progress.flight.waiterCount, this.#gathering.waiterCount);
    }
    if (isSynced) {
      progress.hasUnsynced = false;
      this.#syncTimer?.cancel();
      this.#syncTimer = null;
    } else if (progress.flight !== null) {
      progress.hasUnsynced = true;
      this.#syncTimer ??= this.#env.timers.after(this.#asyncSyncMs, this.#syncLate);
    }
    progress.flight = null;
    progress.report();
    this.#isRunning = false;
    if (this.#waiters.count > 0 && this.#waiters.wake(this.#turn, isSynced)) {
      this.#isSyncWanted = true;
    }
    if (this.#gathering.length > 0 || this.#isSyncWanted || this.#waiters.count > 0) this.#kick();
    if (this.#isScheduled) this.#startEarly();
  }

  readonly #syncLate = (): void => {
    this.#syncTimer = null;
    this.#isSyncWanted = true;
    this.#kick();
  };

  /** Stops the log for good; gives the error that everybody gets from now on. */
  #fail(cause: unknown): LogFailedException {
    if (this.#failure !== null) return this.#failure;
    const path = this.#written?.path ?? this.#dir;
    const failure = new LogFailedException('a write or sync failed', path, { cause });
    this.#failure = failure;
    this.#progress.isDead = true;
    this.#syncTimer?.cancel();
    this.#waiters.fail(failure);
    this.#listener.failed(failure);
    return failure;
  }

  async #close(): Promise<void> {
    await this.#space.settle();
    try {
      if (this.#failure === null) await this.#closeCleanly();
    } finally {
      this.#syncTimer?.cancel();
      const open = new Set([this.#written, ...this.#rolledTo]);
      for (const segment of open) await segment?.handle.close();
      await this.#space.close();
      await this.#store.close();
    }
  }

  async #closeCleanly(): Promise<void> {
    if (!this.#needsClose && !this.#encoder.hasSkipped) return;
    const space = this.#space;
    if (space.current === null) await space.allocate(0);
    this.#appendOwn(KIND_CLOSE);
    await this.#waitForTurn(true);
    const { handle } = space.current!;
    await handle.truncate(space.position);
    await handle.sync();
  }
}
