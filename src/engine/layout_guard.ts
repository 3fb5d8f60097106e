/**
 * Who may change which files a table's regions have. Switches of files (flush, compaction, history) of different stores do
 * not disturb each other and go on side by side; a split or merge looks at all files of a region and gives them to others,
 * so none may be under way meanwhile. It waits for those that are; those that come wait for it, for one commit of the manifest.
 */

export class LayoutGuard {
  #inside = 0;
  #isTaken = false;
  #waiting: (() => void)[] = [];

  /** Waits for a split or merge; until the release none begins. */
  async enter(): Promise<() => void> {
    while (this.#isTaken) await this.#changed();
    this.#inside++;
    return () => {
      this.#inside--;
      this.#wake();
    };
  }

  /** Runs a split or merge with nobody inside. */
  async alone<T>(change: () => Promise<T>): Promise<T> {
    while (this.#isTaken) await this.#changed();
    this.#isTaken = true;
    try {
      while (this.#inside > 0) await this.#changed();
      return await change();
    } finally {
      this.#isTaken = false;
      this.#wake();
    }
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
