/**
 * Exclusive row locks for read-modify-write. A lock is recorded only while its holder has to wait for the disk between
 * reading and applying; what reads and applies in one synchronous step needs none, and a blind write only has to know
 * that nobody else holds the row. So the common case costs one look at an empty map.
 *
 * Locks are granted in the order of asking. Several rows are taken in key order, so that no two can wait for each other.
 */
import { invariant } from '../io/index.ts';

export class RowLocks {
  /** Rows held, each with those who wait for it, first come first. */
  readonly #held = new Map<string, (() => void)[]>();

  get heldCount(): number {
    return this.#held.size;
  }

  isFree(row: Uint8Array): boolean {
    return this.#held.size === 0 || !this.#held.has(keyOf(row));
  }

  /** Takes the row now; false if somebody holds it. */
  tryAcquire(row: Uint8Array): boolean {
    const key = keyOf(row);
    if (this.#held.has(key)) return false;
    this.#held.set(key, []);
    return true;
  }

  /** Waits for the row and takes it. */
  acquire(row: Uint8Array): Promise<void> {
    if (this.tryAcquire(row)) return Promise.resolve();
    return new Promise((resolve) => this.#held.get(keyOf(row))!.push(resolve));
  }

  /** Hands the row to the next in line, or frees it. */
  release(row: Uint8Array): void {
    const key = keyOf(row);
    const waiting = this.#held.get(key);
    invariant(waiting !== undefined, 'a released row lock was held');
    const next = waiting.shift();
    if (next === undefined) this.#held.delete(key);
    else next();
  }
}

const keyOf = (row: Uint8Array): string =>
  Buffer.from(row.buffer, row.byteOffset, row.length).toString('latin1');
