/**
 * Rows that prepared snapshot transactions are going to write. Single writes, and whoever prepares, wait until the
 * transaction is decided; commits of what is prepared and readers never wait.
 */
import type { Timers } from '../io/index.ts';
import { compareBytes, toStringBinary } from '../cell/index.ts';
import { RowLockedByTransaction } from '../model/index.ts';

/** A transaction's hold on rows. */
export interface Intent {
  readonly label: string;
  readonly txnId: bigint;
}

interface Held {
  readonly intent: Intent;
  readonly released: Promise<void>;
  readonly release: () => void;
}

/** The intents on one table's rows. */
export class RowIntents {
  readonly #held = new Map<string, Held>();
  readonly #timers: Timers;
  readonly #waitMs: () => number;

  constructor(parts: { readonly timers: Timers; readonly waitMs: () => number }) {
    this.#timers = parts.timers;
    this.#waitMs = parts.waitMs;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Whose the row is; null: nobody's. */
  of(row: Uint8Array): Intent | null {
    return this.#held.size === 0 ? null : (this.#held.get(keyOf(row))?.intent ?? null);
  }

  /** Rows with intents from `first` to `last`, both inclusive. */
  within(first: Uint8Array, last: Uint8Array): Uint8Array[] {
    return [...this.#held.keys()]
      .map((key) => Buffer.from(key, 'latin1'))
      .filter((row) => compareBytes(row, first) >= 0 && compareBytes(row, last) <= 0);
  }

  /** Puts an intent on the row, which has none. */
  put(row: Uint8Array, intent: Intent): void {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    this.#held.set(keyOf(row), { intent, released, release });
  }

  /** Takes away the intent of this transaction, if the row has it. */
  remove(row: Uint8Array, txnId: bigint): void {
    const key = keyOf(row);
    const held = this.#held.get(key);
    if (held === undefined || held.intent.txnId !== txnId) return;
    this.#held.delete(key);
    held.release();
  }

  /** Waits, `txn_intent_wait_ms` at most, until the row has no intent. Throws RowLockedByTransaction. */
  async free(row: Uint8Array): Promise<void> {
    const key = keyOf(row);
    let isLate = false;
    let late: () => void = () => undefined;
    const timeout = new Promise<void>((resolve) => (late = resolve));
    const timer = this.#timers.after(
      this.#waitMs(),
      () => {
        isLate = true;
        late();
      },
      true,
    );
    try {
      for (let held = this.#held.get(key); held !== undefined; held = this.#held.get(key)) {
        if (isLate) {
          throw new RowLockedByTransaction(
            `row '${toStringBinary(row)}' is locked by the prepared transaction ${held.intent.label}`,
          );
        }
        await Promise.race([held.released, timeout]);
      }
    } finally {
      timer.cancel();
    }
  }
}

const keyOf = (row: Uint8Array): string =>
  Buffer.from(row.buffer, row.byteOffset, row.length).toString('latin1');
