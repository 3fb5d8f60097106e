/**
 * Slows writers step by step before memory stops them: when memstores are this full, flushes do not keep up, and a writer
 * that waits a little with each commit is better served than one that stands still for a whole flush.
 *
 * Above `SLOW_SHARE` of a memory limit each commit waits for the next tick; ticks are up to `TICK_MS_MAX` apart, the more
 * the fuller memory is, and let on whoever has come since the last. At the limit itself writers wait for memory as before.
 */
import type { Timers } from '../io/index.ts';

const SLOW_SHARE = 0.8;
const TICK_MS_MAX = 20;

export class WritePacer {
  readonly #timers: Timers;
  #tick: Promise<void> | null = null;
  #waiting = 0;
  /** Commits that have had their wait. */
  #grants = 0;
  /** Commits that waited, ever. */
  slowed = 0;
  /** Told when writers begin to be slowed, once until none is any more. */
  onSlow: (() => void) | null = null;
  #isTold = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Whether a commit may be made at once with memory this full, as a share of its limit. */
  mayGo(share: number): boolean {
    if (share < SLOW_SHARE) {
      this.#isTold = false;
      return true;
    }
    return false;
  }

  /** Uses up the wait that a commit has had. */
  takeGrant(): boolean {
    if (this.#grants === 0) return false;
    this.#grants--;
    return true;
  }

  /** Waits for the next tick; then one commit of the caller's may go, if it asks in the same turn. */
  wait(share: number): Promise<void> {
    this.slowed++;
    this.#waiting++;
    if (!this.#isTold) {
      this.#isTold = true;
      this.onSlow?.();
    }
    this.#tick ??= this.#nextTick(share);
    return this.#tick;
  }

  #nextTick(share: number): Promise<void> {
    const fullness = Math.min(1, (share - SLOW_SHARE) / (1 - SLOW_SHARE));
    const delayMs = 1 + (TICK_MS_MAX - 1) * fullness * fullness;
    return new Promise((resolve) => {
      const end = (): void => {
        this.#tick = null;
        // Grants that nobody took are void: whoever got them has gone another way.
        this.#grants = this.#waiting;
        this.#waiting = 0;
        resolve();
      };
      // A write that waits keeps the process alive.
      this.#timers.after(delayMs, end, true);
    });
  }
}
