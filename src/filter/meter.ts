/** What costly comparators have cost, so that a scan can give way in time. */

/** Steps of a regular expression that take about as long as looking at one cell. */
const STEPS_PER_CELL = 32;

export class Meter {
  #steps = 0;

  add(steps: number): void {
    this.#steps += steps;
  }

  /** The cost since the last call, in cells; fractions are carried on. */
  take(): number {
    const cells = Math.floor(this.#steps / STEPS_PER_CELL);
    this.#steps -= cells * STEPS_PER_CELL;
    return cells;
  }
}
