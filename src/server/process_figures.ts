/** What the process itself takes. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { IntervalHistogram } from 'node:perf_hooks';
import type { Clock } from '../io/index.ts';
import type { ProcessFigures } from './metrics.ts';

const RESOLUTION_MS = 20;

/** Watches the event loop from its construction to `close`. */
export class ProcessWatch {
  readonly #clock: Clock;
  readonly #delays: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#delays.enable();
  }

  /** The figures now; the event loop's delays start afresh. */
  read(): ProcessFigures {
    const memory = process.memoryUsage();
    const cpu = process.cpuUsage();
    const delays = this.#delays;
    const figures = {
      startTimeMs: this.#clock.nowMs() - process.uptime() * 1000,
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
      residentBytes: memory.rss,
      heapUsedBytes: memory.heapUsed,
      heapTotalBytes: memory.heapTotal,
      externalBytes: memory.external,
      eventLoopDelayMs: {
        p50: delayMs(delays.percentile(50)),
        p99: delayMs(delays.percentile(99)),
        max: delayMs(delays.max),
      },
    };
    delays.reset();
    return figures;
  }

  close(): void {
    this.#delays.disable();
  }
}

/** The histogram counts nanoseconds from one tick to the next, the asked-for interval included. */
function delayMs(ns: number): number {
  return Math.max(0, ns / 1e6 - RESOLUTION_MS);
}
