/**
 * Whether the log may block the thread for a lone waiter. Blocking saves two trips through the event loop (5,000 commits
 * a second instead of 3,500), but on a busy disk one sync was seen to take 179 ms: so only after a run of quick
 * syncs, and not many times before the event loop had its turn.
 */
const QUICK_MS = 1;
/** Quick syncs in a row before blocking, after the start and after each slow one. */
const QUICK_SYNCS_MIN = 8;
/** Turns taken in microtasks before one goes through the event loop. */
const MICROTASK_TURNS_MAX = 4;

export class SyncPace {
  readonly #mayBlock: boolean;
  #quickCount = 0;
  #microtaskTurns = 0;

  constructor(mayBlock: boolean) {
    this.#mayBlock = mayBlock;
  }

  noteSync(elapsedMs: number): void {
    this.#quickCount = elapsedMs < QUICK_MS ? this.#quickCount + 1 : 0;
  }

  /** Recent syncs were quick. */
  get mayBlock(): boolean {
    return this.#mayBlock && this.#quickCount >= QUICK_SYNCS_MIN;
  }

  /** Whether the next turn may start in a microtask; counts it. */
  takeMicrotask(): boolean {
    const may = this.mayBlock && this.#microtaskTurns < MICROTASK_TURNS_MAX;
    this.#microtaskTurns = may ? this.#microtaskTurns + 1 : 0;
    return may;
  }
}
