/** A clock of the simulation: follows virtual time, and can be set, stepped and made to drift. */
import type { Clock } from './env.ts';

/** Where the virtual time comes from; `SimTimers` is one. */
export interface VirtualTime {
  /** Virtual milliseconds, never decreasing. */
  readonly virtualMs: number;
}

export interface SimClockOptions {
  /** The wall clock at the time of construction, Unix milliseconds; by default 2024-01-01. */
  readonly startMs?: number;
  /** By how much the wall clock is fast: 0.001 gains a millisecond a second. */
  readonly drift?: number;
}

const START_MS = Date.UTC(2024, 0, 1);

export class SimClock implements Clock {
  readonly #time: VirtualTime;
  #wallMs: number;
  #sinceMs: number;
  #drift: number;

  constructor(time: VirtualTime, options: SimClockOptions = {}) {
    this.#time = time;
    this.#wallMs = options.startMs ?? START_MS;
    this.#sinceMs = time.virtualMs;
    this.#drift = options.drift ?? 0;
  }

  nowMs(): number {
    return Math.floor(this.#exactMs());
  }

  monotonicMs(): number {
    return this.#time.virtualMs;
  }

  get drift(): number {
    return this.#drift;
  }

  /** Puts the wall clock to `ms`, forwards or backwards. */
  set(ms: number): void {
    this.#wallMs = ms;
    this.#sinceMs = this.#time.virtualMs;
  }

  /** Moves the wall clock by `deltaMs`, which may be negative. */
  step(deltaMs: number): void {
    this.set(this.#exactMs() + deltaMs);
  }

  /** Lets the wall clock run fast (positive) or slow (negative) from now on. */
  setDrift(drift: number): void {
    this.set(this.#exactMs());
    this.#drift = drift;
  }

  /** The same wall time over another scheduler: the clock of the machine that a crash left behind. */
  on(time: VirtualTime): SimClock {
    return new SimClock(time, { startMs: this.#exactMs(), drift: this.#drift });
  }

  #exactMs(): number {
    return this.#wallMs + (this.#time.virtualMs - this.#sinceMs) * (1 + this.#drift);
  }
}
