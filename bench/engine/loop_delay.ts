/** How late the event loop comes to what is due, as Node measures it. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { IntervalHistogram } from 'node:perf_hooks';

const RESOLUTION_MS = 1;

export class LoopDelay {
  readonly #delays: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  start(): void {
    this.#delays.enable();
  }

  stop(): void {
    this.#delays.disable();
  }

  get p99Ms(): number {
    return beyondResolution(this.#delays.percentile(99));
  }

  get maxMs(): number {
    return beyondResolution(this.#delays.max);
  }
}

/** The histogram counts from the timer's start: a delay of nothing is its resolution. */
const beyondResolution = (ns: number): number => Math.max(0, ns / 1e6 - RESOLUTION_MS);
