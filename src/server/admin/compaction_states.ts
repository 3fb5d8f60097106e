/** What is being compacted because a client asked for it: a region, or a table's large values. */

/** Numbers on the wire: GetRegionInfoResponse.CompactionState. */
const NONE = 0;
const MINOR = 1;
const MAJOR = 2;
const MAJOR_AND_MINOR = 3;

export class CompactionStates {
  readonly #running = new Map<object, { minor: number; major: number }>();

  /** Notes work that is under way; `failed` is told of its error. */
  begin(
    what: object,
    isMajor: boolean,
    work: Promise<void>,
    failed: (error: unknown) => void,
  ): void {
    const counts = this.#running.get(what) ?? { minor: 0, major: 0 };
    this.#running.set(what, counts);
    const kind = isMajor ? 'major' : 'minor';
    counts[kind]++;
    void work.catch(failed).finally(() => {
      counts[kind]--;
      if (counts.minor + counts.major === 0) this.#running.delete(what);
    });
  }

  of(what: object): number {
    const counts = this.#running.get(what);
    if (counts === undefined) return NONE;
    if (counts.minor > 0 && counts.major > 0) return MAJOR_AND_MINOR;
    return counts.major > 0 ? MAJOR : MINOR;
  }
}
