/** Who waits for a turn of the log as such, not for a commit: `sync`, and those who lack room in the gathering batch. */
import type { StoreException } from '../io/index.ts';

interface Waiter {
  readonly turn: number;
  readonly needsSync: boolean;
  readonly resolve: () => void;
  readonly reject: (error: StoreException) => void;
}

export class TurnWaiters {
  #waiters: Waiter[] = [];

  get count(): number {
    return this.#waiters.length;
  }

  /** Resolves at the end of this turn or a later one; with `needsSync`, of one that synced. */
  add(turn: number, needsSync: boolean): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#waiters.push({ turn, needsSync, resolve, reject });
    });
  }

  /** A turn ended. Says whether somebody still waits for a sync: the turn may have taken that wish for its own. */
  wake(turn: number, isSynced: boolean): boolean {
    const waiting: Waiter[] = [];
    let needsSync = false;
    for (const waiter of this.#waiters) {
      if (waiter.turn <= turn && (isSynced || !waiter.needsSync)) {
        waiter.resolve();
        continue;
      }
      waiting.push(waiter);
      needsSync ||= waiter.needsSync;
    }
    this.#waiters = waiting;
    return needsSync;
  }

  /** Nobody will be woken any more. */
  fail(error: StoreException): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }
}
