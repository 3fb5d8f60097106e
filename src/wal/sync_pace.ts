/**
 * Whether the log may block the thread for a lone waiter. Blocking saves two trips through the event loop (5,000 commits
 * a second instead of 3,500), but on a busy disk one sync was seen to take 179 ms: so only after a run of quick
 * syncs, and not many times before the event loop had its turn. Handing bytes to the system without a sync is always quick,
 * unless the system itself makes writers wait.
 */
const QUICK_MS = 1;
/** A copy to the system takes some 5 us; where it takes this long the system makes writers wait. */
const SLOW_COPY_MS = 5;
const COPIES_AFTER_SLOW = 200;
/** Quick syncs in a row before blocking, after the start and after each slow one. */
const QUICK_SYNCS_MIN = 8;
/** Turns taken in microtasks before one goes through the event loop. */
const MICROTASK_TURNS_MAX = 4;
/** What a commit with its acknowledgement takes of the thread, about. */
const COMMIT_MS = 0.008;
/** So few writers share one sync; and a turn of fewer commits is not worth its sync. */
const SHARED_WRITERS_MAX = 16;
const EARLY_COMMITS_MIN = 8;
/** How much the last sync counts among those before it. */
const SMOOTHING = 0.125;

export class SyncPace {
  readonly #mayBlock: boolean;
  #quickCount = 0;
  #microtaskTurns = 0;
  /** Writes still to be made in the background after one that took long. */
  #slowCopies = 0;
  /** How long a sync has taken of late, and how many commits waited for the last one or gathered meanwhile. */
  #syncMs = QUICK_MS;
  #writers = 0;

  constructor(mayBlock: boolean) {
    this.#mayBlock = mayBlock;
  }

  noteSync(elapsedMs: number): void {
    this.#quickCount = elapsedMs < QUICK_MS ? this.#quickCount + 1 : 0;
    this.#syncMs += (elapsedMs - this.#syncMs) * SMOOTHING;
  }

  /** A turn ended with a sync for `flown` commits, while `gathered` arrived. */
  noteTurn(flown: number, gathered: number): void {
    this.#writers = flown + gathered;
  }

  /**
   * Whether a turn starts with these commits although more may come at once. With W writers, a sync of s and c of the thread
   * for a commit, one sync for all gives W commits in s + W c; two halves that overlap, in the longer of 2 s and W c: more
   * whenever s < W c. Where nothing may block, in simulations, the pace does not count.
   */
  startsEarly(commits: number): boolean {
    if (!this.#mayBlock) return commits >= EARLY_COMMITS_MIN;
    const writers = this.#writers;
    if (writers < SHARED_WRITERS_MAX || commits < EARLY_COMMITS_MIN) return false;
    return commits * 2 >= writers && this.#syncMs < writers * COMMIT_MS;
  }

  /** Recent syncs were quick. */
  get mayBlock(): boolean {
    return this.#mayBlock && this.#quickCount >= QUICK_SYNCS_MIN;
  }

  noteCopy(elapsedMs: number): void {
    if (elapsedMs > SLOW_COPY_MS) this.#slowCopies = COPIES_AFTER_SLOW;
  }

  /** Whether bytes may be handed to the system in the thread; counts down after a slow write. */
  takeCopy(): boolean {
    if (!this.#mayBlock) return false;
    if (this.#slowCopies === 0) return true;
    this.#slowCopies--;
    return false;
  }

  /** Whether the next turn, which is a quick one, may start in a microtask; counts it. */
  takeMicrotask(): boolean {
    const may = this.#microtaskTurns < MICROTASK_TURNS_MAX;
    this.#microtaskTurns = may ? this.#microtaskTurns + 1 : 0;
    return may;
  }
}
