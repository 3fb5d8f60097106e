/**
 * The timestamp oracle: one for the whole server (transactions.md section 1). Commits take their stamps synchronously; stamps
 * for use outside wait until a window above them is on the disk.
 *
 * Invariants: cursor and window only grow; no (physical, logical) is given twice, also not after a crash; logical 0 is never
 * given; a stamp from `allocate`, or one that passed `publish`, is below a synced window.
 */
import { type Env, invariant, type StoreException, type Timer } from '../io/index.ts';
import type { OracleRecord } from '../manifest/index.ts';
import {
  IllegalArgumentException,
  StoreClosedException,
  TsoExhausted,
  TsoNotCalibrated,
} from '../model/index.ts';
import {
  checkRecord,
  clockBackward,
  lastUsedMs,
  startMs,
  stateLost,
  windowEnd,
} from './calibration.ts';
import { changeKnob, checkKnobs, type TsoKnobs } from './knobs.ts';
import {
  composeTso,
  highOf,
  LOGICAL_MAX,
  logicalOf,
  lowOf,
  PHYSICAL_LIMIT_MS,
  physicalMsOf,
  tsoAsOf,
} from './layout.ts';
import { TsoMetrics } from './metrics.ts';

/** Where the oracle keeps its state: the manifest, or memory. `save` is durable when it settles. */
export interface OraclePersistence {
  load(): OracleRecord | null;
  save(record: OracleRecord): Promise<void>;
}

export interface OracleOptions {
  readonly env: Env;
  readonly persistence: OraclePersistence;
  /** The largest TSO in log, manifest and store files; 0 for none. */
  readonly largestTso: bigint;
  /** Whether the store holds anything: then a missing state is an error. */
  readonly dataExists: boolean;
  readonly serverId: string;
  readonly knobs?: Partial<TsoKnobs>;
  /** The read point; by default what was saved. */
  readonly committed?: () => bigint;
  /** The durable point, which is saved; by default what was saved. */
  readonly durable?: () => bigint;
  readonly warn?: (text: string) => void;
}

export type NotCalibratedReason = 'CLOCK_BACKWARD' | 'STATE_NOT_SAVED';

/** What `GET /api/tso` shows. */
export interface OracleSnapshot {
  readonly windowEndPhysicalTime: number;
  readonly currentTso: bigint;
  readonly currentTsoPhysicalTime: number;
  readonly currentTsoLogicalCounter: number;
  readonly committedTso: bigint;
  readonly initialized: boolean;
  readonly reason: NotCalibratedReason | null;
  readonly serverId: string;
}

/** Beyond this counter a tick moves to the next millisecond although the clock does not. */
const LOGICAL_HALF: number = LOGICAL_MAX >> 1;
const DRIFT_INTERVALS = 3;

export class Oracle {
  /** The stamp that `next` gave last, as two unsigned 32-bit halves. */
  high = 0;
  low = 0;
  readonly metrics: TsoMetrics = new TsoMetrics();
  readonly #env: Env;
  readonly #options: OracleOptions;
  #knobs: TsoKnobs;
  #record: OracleRecord;
  #lastMs: number;
  #physicalMs: number;
  #logical: number;
  /** Why no stamp is given; null when calibrated, open and well. */
  #refusal: StoreException | null;
  #reason: NotCalibratedReason | null = null;
  #initialized = false;
  #stopped = false;
  #external = false;
  #touched = false;
  #allocated = false;
  #idle = false;
  #tickedAtMs = 0;
  #clockMaxMs = 0;
  #clockIsBehind = false;
  /** The clock less the monotonic one, when they were last compared; null: never. */
  #clockOffsetMs: number | null = null;
  #savedAtMs = 0;
  #saving: Promise<void> | null = null;
  #calibrating: Promise<void> | null = null;
  #timer: Timer | null = null;

  private constructor(options: OracleOptions, record: OracleRecord) {
    this.#options = options;
    this.#env = options.env;
    this.#knobs = checkKnobs(options.knobs ?? {});
    this.#record = record;
    this.#lastMs = lastUsedMs(record, options.largestTso);
    this.#physicalMs = physicalMsOf(options.largestTso);
    this.#logical = logicalOf(options.largestTso);
    this.#refusal = new TsoNotCalibrated('the timestamp oracle is starting');
    if (this.#knobs.tso_time_offset_debug_mode !== 0) this.#warnOfOffset();
  }

  /**
   * Loads the state and calibrates. A clock too far back is no error here: the oracle opens, refuses stamps with
   * TsoNotCalibrated and tries again at each tick. Throws TsoStateLost.
   */
  static async open(options: OracleOptions): Promise<Oracle> {
    let loaded: OracleRecord | null;
    try {
      loaded = options.persistence.load();
    } catch (error) {
      throw stateLost('the saved state cannot be read', error);
    }
    const oracle = new Oracle(options, checkRecord(loaded, options.dataExists));
    await oracle.#calibrate();
    oracle.#schedule();
    return oracle;
  }

  get initialized(): boolean {
    return this.#initialized;
  }

  get knobs(): TsoKnobs {
    return this.#knobs;
  }

  /** Unix milliseconds of the cursor: the engine's "now". */
  get physicalMs(): number {
    return this.#physicalMs;
  }

  /** The greatest stamp given, or the bound of a millisecond in which none was given yet. */
  cursor(): bigint {
    return composeTso(this.#physicalMs, this.#logical);
  }

  /** Null when `next` will give a stamp; otherwise why not. */
  refusal(): StoreException | null {
    return this.#refusal;
  }

  // ---- Stamps for commits -------------------------------------------------------------------------------------------

  /**
   * Gives the next stamp in `high` and `low`. Throws TsoNotCalibrated, StoreClosedException, what `stop` was given, or
   * TsoExhausted (only with `enable_tso_forward_when_counter_full` off: `hasRoom` tells before).
   */
  next(): void {
    if (this.#refusal !== null) throw this.#refusal;
    this.#followClock();
    if (this.#logical === LOGICAL_MAX && !this.#forward()) throw this.#exhausted();
    this.#give();
  }

  /** As `next`, but in a millisecond in which nothing was given before. */
  nextInFreshMillisecond(): void {
    if (this.#refusal !== null) throw this.#refusal;
    this.#followClock();
    if (this.#logical !== 0) this.#moveTo(this.#physicalMs + 1);
    this.#give();
  }

  /** Whether `next` finds room now, as far as the counter goes. */
  hasRoom(): boolean {
    return (
      this.#logical < LOGICAL_MAX ||
      this.#knobs.enable_tso_forward_when_counter_full ||
      this.#nowMs() > this.#physicalMs
    );
  }

  /** Waits until `hasRoom`; TsoExhausted after `tso_max_get_retry_count` intervals. */
  async waitForRoom(): Promise<void> {
    for (let tries = this.#getTries(); !this.hasRoom(); tries--) {
      if (tries === 0) throw this.#exhausted();
      await this.#sleepInterval();
      if (this.#refusal !== null) throw this.#refusal;
    }
  }

  #give(): void {
    this.#logical++;
    this.high = highOf(this.#physicalMs);
    this.low = lowOf(this.#physicalMs, this.#logical);
    this.#allocated = true;
    this.#touched = true;
    this.metrics.tso_clock_get_success++;
  }

  // ---- The cursor and the clock -------------------------------------------------------------------------------------

  /** Moves the cursor to the clock's millisecond if that is larger: at each read. */
  follow(): void {
    if (this.#initialized && !this.#stopped) this.#followClock();
  }

  /**
   * For a read as of the time `ms`, which is not after the clock: nothing can be committed at or below the TSO that this
   * gives, from now on.
   */
  closeMillisecond(ms: number): bigint {
    invariant(ms + 1 < PHYSICAL_LIMIT_MS, 'a time in range', ms);
    if (this.#initialized && !this.#stopped) {
      this.#tickIfOverdue(this.#nowMs());
      if (ms + 1 > this.#physicalMs) this.#moveTo(ms + 1);
    }
    return tsoAsOf(ms);
  }

  /** Makes sure that the next stamp is above `tso` (a restored backup, replayed log). */
  raiseAbove(tso: bigint): void {
    this.#lastMs = Math.max(this.#lastMs, physicalMsOf(tso));
    if (tso <= this.cursor()) return;
    this.#physicalMs = physicalMsOf(tso);
    this.#logical = logicalOf(tso);
    this.#touched = true;
  }

  #nowMs(): number {
    const now = this.#env.clock.nowMs() + this.#knobs.tso_time_offset_debug_mode;
    return Math.min(Math.max(now, 0), PHYSICAL_LIMIT_MS - 2);
  }

  #followClock(): void {
    const now = this.#nowMs();
    this.#tickIfOverdue(now);
    if (now > this.#physicalMs) this.#moveTo(now);
  }

  #moveTo(physicalMs: number): void {
    invariant(physicalMs > this.#physicalMs && physicalMs < PHYSICAL_LIMIT_MS, 'the cursor grows');
    this.#physicalMs = physicalMs;
    this.#logical = 0;
    this.#touched = true;
  }

  /** The counter is full: goes on in the next millisecond, if that is allowed. */
  #forward(): boolean {
    if (!this.#knobs.enable_tso_forward_when_counter_full) return false;
    this.#moveTo(this.#physicalMs + 1);
    return true;
  }

  #exhausted(): TsoExhausted {
    this.metrics.tso_exhausted++;
    return new TsoExhausted(
      `all ${LOGICAL_MAX} stamps of millisecond ${this.#physicalMs} are given and the clock does not move on ` +
        `(enable_tso_forward_when_counter_full is ${this.#knobs.enable_tso_forward_when_counter_full})`,
    );
  }

  // ---- Stamps for use outside ----------------------------------------------------------------------------------------

  /**
   * A run of `count` stamps (1 … 262143) for use outside the store, below a synced window. Throws as `next`, or what saving
   * the window threw, or TsoExhausted after `tso_max_get_retry_count` tries.
   */
  allocate(count: number): Promise<{ first: bigint; last: bigint }> {
    // In the common case there is nothing to wait for: one promise instead of three.
    if (this.#refusal === null && Number.isInteger(count) && count > 0) {
      this.#followClock();
      if (this.#logical + count <= LOGICAL_MAX && this.#isReserved(this.#physicalMs)) {
        return Promise.resolve(this.#giveRun(count));
      }
    }
    return this.#allocateWaiting(count);
  }

  async #allocateWaiting(count: number): Promise<{ first: bigint; last: bigint }> {
    if (!Number.isInteger(count) || count < 1 || count > LOGICAL_MAX) {
      throw new IllegalArgumentException(`count must be from 1 to ${LOGICAL_MAX}, not ${count}`);
    }
    for (let tries = this.#getTries(); tries > 0; tries--) {
      await this.#reserveCursor();
      if (this.#logical + count > LOGICAL_MAX && this.#knobs.enable_tso_forward_when_counter_full) {
        if (this.#physicalMs + 1 < this.#record.windowEndMs - 1) this.#moveTo(this.#physicalMs + 1);
        else {
          await this.#reserve(this.#physicalMs + 1);
          continue;
        }
      }
      if (this.#logical + count <= LOGICAL_MAX && this.#isReserved(this.#physicalMs)) {
        return this.#giveRun(count);
      }
      await this.#sleepInterval();
    }
    throw this.#exhausted();
  }

  /**
   * Waits until `tso`, which was given, is below a synced window: before it leaves the process without lying in a synced
   * log record.
   */
  async publish(tso: bigint): Promise<void> {
    const ms = physicalMsOf(tso);
    while (!this.#isReserved(ms)) {
      if (this.#refusal !== null) throw this.#refusal;
      await this.#reserve(Math.max(ms, this.#physicalMs));
    }
  }

  #giveRun(count: number): { first: bigint; last: bigint } {
    const first = composeTso(this.#physicalMs, this.#logical + 1);
    this.#logical += count;
    this.#allocated = true;
    this.#touched = true;
    this.metrics.tso_clock_get_success++;
    if (this.#refusal !== null) throw this.#refusal;
    return { first, last: composeTso(this.#physicalMs, this.#logical) };
  }

  /** Follows the clock until the cursor is in a synced window. */
  async #reserveCursor(): Promise<void> {
    for (;;) {
      if (this.#refusal !== null) throw this.#refusal;
      this.#followClock();
      if (this.#isReserved(this.#physicalMs)) return;
      await this.#reserve(this.#physicalMs);
    }
  }

  #isReserved(physicalMs: number): boolean {
    return this.#external && physicalMs < this.#record.windowEndMs;
  }

  #getTries(): number {
    return Math.max(1, this.#knobs.tso_max_get_retry_count);
  }

  #sleepInterval(): Promise<void> {
    return this.#env.timers.sleep(this.#knobs.tso_service_update_interval_ms);
  }

  // ---- The durable state ---------------------------------------------------------------------------------------------

  /** Saves a window for stamps from `nextMs` on. One at a time; who comes second checks again. */
  async #reserve(nextMs: number): Promise<void> {
    if (this.#saving !== null) return this.#saving;
    const duration = this.#knobs.tso_service_window_duration_ms;
    const end = windowEnd(this.#record.windowEndMs, nextMs, this.#nowMs(), duration);
    await this.#save({ windowEndMs: end, external: true, cleanCursor: null });
  }

  async #save(change: Partial<OracleRecord>): Promise<void> {
    this.#saving = this.#saveWithRetries({
      ...this.#record,
      ...change,
      committedTso: this.#durableTso(),
    });
    try {
      await this.#saving;
    } finally {
      this.#saving = null;
    }
  }

  #durableTso(): bigint {
    const durable = this.#options.durable?.() ?? 0n;
    return durable > this.#record.committedTso ? durable : this.#record.committedTso;
  }

  async #saveWithRetries(record: OracleRecord): Promise<void> {
    for (let tries = Math.max(1, this.#knobs.tso_max_update_retry_count); ; tries--) {
      const startedMs = this.#env.clock.monotonicMs();
      try {
        await this.#options.persistence.save(record);
        this.#record = record; // Only now: memory never knows more than the disk.
        this.#external = record.external;
        this.#savedAtMs = this.#nowMs();
        this.metrics.tso_state_persisted++;
        this.metrics.observePersist(this.#env.clock.monotonicMs() - startedMs);
        return;
      } catch (error) {
        this.metrics.tso_state_persist_failed++;
        if (tries <= 1) throw error;
      }
    }
  }

  // ---- Calibration and ticks -----------------------------------------------------------------------------------------

  async #calibrate(): Promise<void> {
    const now = this.#nowMs();
    const threshold = this.#knobs.tso_clock_backward_startup_threshold_ms;
    this.#clockMaxMs = Math.max(this.#clockMaxMs, now);
    if (this.#lastMs - now > threshold) {
      this.#refuseAs('CLOCK_BACKWARD', clockBackward(this.#lastMs, now, threshold));
      return;
    }
    const next = startMs(this.#lastMs, now);
    if (this.#record.external) {
      try {
        // The cursor stands for the window from here on: what was given outside lies below it.
        await this.#save({ external: false, cleanCursor: composeTso(next, 0) });
      } catch (error) {
        const text = 'the state of the timestamp oracle cannot be saved';
        this.#refuseAs('STATE_NOT_SAVED', new TsoNotCalibrated(text, { cause: error }));
        return;
      }
    }
    if (this.#stopped) return;
    if (next > this.#physicalMs) this.#moveTo(next);
    this.#touched = false;
    this.#tickedAtMs = now;
    this.#initialized = true;
    this.#reason = null;
    this.#refusal = null;
    this.metrics.tso_clock_calculated++;
  }

  #refuseAs(reason: NotCalibratedReason, refusal: TsoNotCalibrated): void {
    if (this.#stopped) return;
    if (this.#reason !== reason) this.#options.warn?.(refusal.message);
    this.#reason = reason;
    this.#refusal = refusal;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = this.#env.timers.after(this.#knobs.tso_service_update_interval_ms, () => {
      this.#onTimer();
      this.#schedule();
    });
  }

  #onTimer(): void {
    if (!this.#initialized) {
      this.#calibrating ??= this.#calibrate().finally(() => {
        this.#calibrating = null;
      });
      return;
    }
    // An idle store does not write each second: whoever comes next runs the tick.
    this.#idle = !this.#allocated;
    if (!this.#idle) this.#tick(this.#nowMs());
  }

  /** A busy event loop must not stop the clock: whoever finds the tick overdue runs it. */
  #tickIfOverdue(now: number): void {
    const since = now - this.#tickedAtMs;
    if (since >= this.#knobs.tso_service_update_interval_ms || since < 0) this.#tick(now);
  }

  #tick(now: number): void {
    const lag = now - this.#physicalMs;
    this.#tickedAtMs = now;
    this.#allocated = false;
    this.#watchClock(now, lag);
    this.#idle = false;
    let next = this.#physicalMs;
    if (lag > 1) next = now;
    else if (this.#knobs.enable_tso_forward_when_counter_full && this.#logical > LOGICAL_HALF)
      next++;
    if (this.#windowIsDue(next, now)) {
      // Failures are counted; whoever needs the window gets the error of its own try.
      this.#reserve(next).then(
        () => this.#advance(next),
        () => this.metrics.tso_clock_update_failed++,
      );
      return;
    }
    this.#advance(next);
  }

  #advance(next: number): void {
    if (next <= this.#physicalMs || this.#stopped) return;
    this.#moveTo(next);
    this.metrics.tso_clock_updated++;
  }

  #windowIsDue(next: number, now: number): boolean {
    if (!this.#external || this.#saving !== null || this.#refusal !== null) return false;
    if (this.#record.windowEndMs - next <= 1) return true;
    const age = now - this.#savedAtMs;
    return (
      age >= this.#knobs.tso_service_window_duration_ms &&
      this.#durableTso() > this.#record.committedTso
    );
  }

  #watchClock(now: number, lag: number): void {
    const late = DRIFT_INTERVALS * this.#knobs.tso_service_update_interval_ms;
    if (lag >= late && !this.#idle) this.metrics.tso_clock_drift_detected++;
    const isBehind = now < this.#clockMaxMs;
    this.#clockMaxMs = Math.max(this.#clockMaxMs, now);
    if (isBehind && !this.#clockIsBehind) {
      this.metrics.tso_clock_backward_detected++;
      this.#options.warn?.(
        `the clock went back to ${now}, ${this.#clockMaxMs - now} ms below what it showed; stamps go on from ${this.#physicalMs}`,
      );
    }
    this.#clockIsBehind = isBehind;
    this.#warnOfDrift(now);
  }

  /** A late tick alone is a busy thread; only against the monotonic clock is it seen that the clock itself ran ahead. */
  #warnOfDrift(now: number): void {
    const offsetMs = now - this.#env.clock.monotonicMs();
    const aheadMs = this.#clockOffsetMs === null ? 0 : offsetMs - this.#clockOffsetMs;
    const isAhead = aheadMs >= this.#knobs.tso_service_window_duration_ms;
    if (isAhead) {
      this.#options.warn?.(
        `the clock drifts: at ${now} it has run ahead by ${Math.round(aheadMs)} ms; stamps follow it`,
      );
    }
    if (isAhead || aheadMs < 0 || this.#clockOffsetMs === null) this.#clockOffsetMs = offsetMs;
  }

  // ---- Knobs, snapshot, end ------------------------------------------------------------------------------------------

  /** Changes a knob that may change while open. Throws IllegalArgumentException naming it. */
  setKnob(name: string, value: unknown): void {
    this.#knobs = changeKnob(this.#knobs, name, value);
    if (name === 'tso_time_offset_debug_mode' && value !== 0) this.#warnOfOffset();
  }

  #warnOfOffset(): void {
    const offset = this.#knobs.tso_time_offset_debug_mode;
    this.#options.warn?.(`tso_time_offset_debug_mode = ${offset} ms is for tests only`);
  }

  /** The oracle at one moment. Gives no stamp. */
  snapshot(): OracleSnapshot {
    if (this.#initialized && !this.#stopped) this.#tickIfOverdue(this.#nowMs());
    return {
      windowEndPhysicalTime: this.#external ? this.#record.windowEndMs : this.#physicalMs,
      currentTso: this.cursor(),
      currentTsoPhysicalTime: this.#physicalMs,
      currentTsoLogicalCounter: this.#logical,
      committedTso: this.#options.committed?.() ?? this.#record.committedTso,
      initialized: this.#initialized,
      reason: this.#reason,
      serverId: this.#options.serverId,
    };
  }

  /** Gives no stamp from now on: the log failed, or the lock is lost. `refusal` is what callers get. */
  stop(refusal: StoreException): void {
    this.#stopped = true;
    this.#refusal = refusal;
    this.#timer?.cancel();
  }

  /**
   * Ends the oracle. After a normal run it saves the exact cursor, so that the next open goes on from it; after `stop` it
   * saves nothing. Idempotent. Throws what saving threw; then the next open starts as after a crash.
   */
  async close(): Promise<void> {
    if (this.#stopped) return;
    this.stop(new StoreClosedException('the store is closed'));
    await this.#calibrating;
    await this.#saving?.catch(() => undefined); // Its caller has the error; the save below tells anew.
    const isWorthSaving = this.#touched || this.#external;
    if (!this.#initialized || !isWorthSaving) return;
    await this.#save({ external: false, cleanCursor: this.cursor() });
  }
}
