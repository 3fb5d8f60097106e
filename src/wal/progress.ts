/**
 * The read point and the durable point as far as the log decides them (docs/architecture.md, decisions 2 and 3), told
 * in order to one listener.
 */
import type { Batch } from './batch.ts';
import type { LogFailedException } from './errors.ts';
import { compareHalves } from './format.ts';

/**
 * Hears of the log's progress. It is never called from within an append (commits are applied before it hears of them)
 * and must not throw. TSOs come in two unsigned halves.
 */
export interface LogListener {
  /**
   * Read: every commit at or below it has the durability it asked for. Durable, not above it: every commit at or below
   * it that is in the log is on the disk. Both only grow; called only when one did.
   */
  advanced(readHigh: number, readLow: number, durableHigh: number, durableLow: number): void;
  /** Once, and nothing after it: the log is dead. */
  failed(error: LogFailedException): void;
}

export class Progress {
  /** The batch that gathers, the one on its way to the disk, and how far that is. */
  gathering: Batch;
  flight: Batch | null = null;
  isFlightWritten = false;
  /** Whether earlier batches hold records that are written and not synced. */
  hasUnsynced = false;
  isDead = false;
  readonly #listener: LogListener;
  #readHigh: number;
  #readLow: number;
  #durableHigh: number;
  #durableLow: number;
  #isQueued = false;

  /** Starts with everything up to this TSO readable and durable. */
  constructor(gathering: Batch, high: number, low: number, listener: LogListener) {
    this.gathering = gathering;
    this.#listener = listener;
    this.#readHigh = this.#durableHigh = high;
    this.#readLow = this.#durableLow = low;
  }

  /** Tells the listener in a microtask, after the commit that is being appended was applied. */
  reportSoon(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    queueMicrotask(this.#run);
  }

  readonly #run = (): void => {
    this.#isQueued = false;
    this.report();
  };

  report(): void {
    if (this.isDead) return;
    const grew = this.#moveRead();
    if (this.#moveDurable() || grew) {
      this.#listener.advanced(this.#readHigh, this.#readLow, this.#durableHigh, this.#durableLow);
    }
  }

  #moveRead(): boolean {
    const { gathering, flight } = this;
    let high = gathering.waitingHigh;
    let low = gathering.waitingLow;
    if (flight !== null && this.isFlightWritten && flight.hasFsync) {
      high = flight.fsyncHigh;
      low = flight.fsyncLow;
    } else if (flight !== null && !this.isFlightWritten && flight.waiterCount > 0) {
      high = flight.waitingHigh;
      low = flight.waitingLow;
    }
    if (compareHalves(high, low, this.#readHigh, this.#readLow) <= 0) return false;
    this.#readHigh = high;
    this.#readLow = low;
    return true;
  }

  #moveDurable(): boolean {
    if (this.hasUnsynced) return false;
    const first = this.flight ?? this.gathering;
    if (compareHalves(first.loggedHigh, first.loggedLow, this.#durableHigh, this.#durableLow) <= 0)
      return false;
    this.#durableHigh = first.loggedHigh;
    this.#durableLow = first.loggedLow;
    return true;
  }
}
