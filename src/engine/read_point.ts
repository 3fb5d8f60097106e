/**
 * What may be seen, and who waits for it.
 *
 * The read point is the largest TSO such that every commit at or below it has the durability it asked for; a commit is
 * acknowledged when the read point has passed it. The durable point is the largest TSO at or below the read point such
 * that every logged commit at or below it is on the disk (docs/architecture.md, "Commits and read points").
 *
 * Invariants: durable <= read <= applied, each only grows; waiters stand in the order of their TSO. A hold (a change of
 * schema between taking its TSO and its manifest record) keeps the read point below itself.
 */
import { invariant } from '../io/index.ts';

/** a < b for unsigned 64-bit numbers in halves. */
export function isLess(aHigh: number, aLow: number, bHigh: number, bLow: number): boolean {
  return aHigh < bHigh || (aHigh === bHigh && aLow < bLow);
}

export const joinHalves = (high: number, low: number): bigint =>
  (BigInt(high) << 32n) | BigInt(low);
export const highOf = (tso: bigint): number => Number(tso >> 32n);
export const lowOf = (tso: bigint): number => Number(tso & 0xffffffffn);

interface Waiter {
  readonly high: number;
  readonly low: number;
  readonly passed: () => void;
  readonly failed: (error: Error) => void;
}

interface Hold {
  readonly high: number;
  readonly low: number;
}

export class ReadPoint {
  /** The read point. */
  high = 0;
  low = 0;
  durableHigh = 0;
  durableLow = 0;
  /** The newest TSO applied to a memstore. */
  appliedHigh = 0;
  appliedLow = 0;
  /** How far the log's progress alone would let the read point go. */
  #logHigh = 0;
  #logLow = 0;
  #logDurableHigh = 0;
  #logDurableLow = 0;
  readonly #holds: Hold[] = [];
  #waiters: Waiter[] = [];
  #head = 0;
  #failure: Error | null = null;

  /** Sets every point, after recovery and before the first commit. */
  start(high: number, low: number): void {
    this.high = this.durableHigh = this.appliedHigh = this.#logHigh = this.#logDurableHigh = high;
    this.low = this.durableLow = this.appliedLow = this.#logLow = this.#logDurableLow = low;
  }

  applied(high: number, low: number): void {
    invariant(
      !isLess(high, low, this.appliedHigh, this.appliedLow),
      'commits are applied in order',
    );
    this.appliedHigh = high;
    this.appliedLow = low;
  }

  /** Progress of the log, in order. */
  advanced(readHigh: number, readLow: number, durableHigh: number, durableLow: number): void {
    if (isLess(this.#logHigh, this.#logLow, readHigh, readLow)) {
      this.#logHigh = readHigh;
      this.#logLow = readLow;
    }
    if (isLess(this.#logDurableHigh, this.#logDurableLow, durableHigh, durableLow)) {
      this.#logDurableHigh = durableHigh;
      this.#logDurableLow = durableLow;
    }
    this.#settle();
  }

  /** Keeps the read point below this TSO, which has just been taken, until the release. */
  hold(high: number, low: number): () => void {
    const hold = { high, low };
    this.#holds.push(hold);
    return () => {
      const index = this.#holds.indexOf(hold);
      if (index < 0) return;
      this.#holds.splice(index, 1);
      this.#settle();
    };
  }

  /** No commit will become visible any more: everyone who waits gets the error. */
  fail(error: Error): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    const waiting = this.#waiters.slice(this.#head);
    this.#waiters = [];
    this.#head = 0;
    for (const waiter of waiting) waiter.failed(error);
  }

  hasPassed(high: number, low: number): boolean {
    return !isLess(this.high, this.low, high, low);
  }

  /** Settles with `value` once the read point has passed the TSO, which is not below that of an earlier waiter. */
  whenPassed<T>(high: number, low: number, value: T): Promise<T> {
    if (this.hasPassed(high, low)) return Promise.resolve(value);
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise<T>((resolve, failed) => {
      this.#waiters.push({ high, low, passed: () => resolve(value), failed });
    });
  }

  /** `whenPassed` for a commit: answers its TSO. */
  whenCommitted(high: number, low: number): Promise<bigint> {
    return this.whenPassed(high, low, joinHalves(high, low));
  }

  /** Waits for everything applied so far; null when there is nothing to wait for. */
  whenAllApplied(): Promise<void> | null {
    if (this.hasPassed(this.appliedHigh, this.appliedLow)) return null;
    return this.whenPassed(this.appliedHigh, this.appliedLow, undefined);
  }

  #settle(): void {
    let high = this.#logHigh;
    let low = this.#logLow;
    for (const hold of this.#holds) {
      if (isLess(high, low, hold.high, hold.low)) continue;
      high = hold.low === 0 ? hold.high - 1 : hold.high;
      low = hold.low === 0 ? 0xffffffff : hold.low - 1;
    }
    if (isLess(this.high, this.low, high, low)) {
      this.high = high;
      this.low = low;
    }
    const durableIsBelow = isLess(this.#logDurableHigh, this.#logDurableLow, this.high, this.low);
    this.durableHigh = durableIsBelow ? this.#logDurableHigh : this.high;
    this.durableLow = durableIsBelow ? this.#logDurableLow : this.low;
    this.#wake();
  }

  #wake(): void {
    const waiters = this.#waiters;
    let head = this.#head;
    while (head < waiters.length) {
      const waiter = waiters[head]!;
      if (isLess(this.high, this.low, waiter.high, waiter.low)) break;
      head++;
      waiter.passed();
    }
    // The array is cut only when half of it is spent, so that a wake costs what it wakes.
    if (head === waiters.length) {
      this.#waiters = [];
      head = 0;
    } else if (head > 1024 && head * 2 > waiters.length) {
      this.#waiters = waiters.slice(head);
      head = 0;
    }
    this.#head = head;
  }
}
