/** Which regions are being compacted because a client asked for it. */
import type { Region } from '../../region/index.ts';

/** Numbers on the wire: GetRegionInfoResponse.CompactionState. */
const NONE = 0;
const MINOR = 1;
const MAJOR = 2;
const MAJOR_AND_MINOR = 3;

export class CompactionStates {
  readonly #running = new Map<Region, { minor: number; major: number }>();

  /** Notes work that is under way; `failed` is told of its error. */
  begin(
    region: Region,
    isMajor: boolean,
    work: Promise<void>,
    failed: (error: unknown) => void,
  ): void {
    const counts = this.#running.get(region) ?? { minor: 0, major: 0 };
    this.#running.set(region, counts);
    const kind = isMajor ? 'major' : 'minor';
    counts[kind]++;
    void work.catch(failed).finally(() => {
      counts[kind]--;
      if (counts.minor + counts.major === 0) this.#running.delete(region);
    });
  }

  of(region: Region): number {
    const counts = this.#running.get(region);
    if (counts === undefined) return NONE;
    if (counts.minor > 0 && counts.major > 0) return MAJOR_AND_MINOR;
    return counts.major > 0 ? MAJOR : MINOR;
  }
}
