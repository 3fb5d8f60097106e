/** What is done to a store, and how it is told: each workload runs in a process of its own. */
import type { Subject } from './subject.ts';

export interface RunSettings {
  /** Rows that reads find in the store. */
  readonly rows: number;
  readonly warmMs: number;
  readonly measureMs: number;
  /** Bytes left in the log for `reopen`. */
  readonly unflushedBytes: number;
  /** A folder for files beside the store, on the same disk. */
  readonly dir: string;
}

export interface Measure {
  readonly value: number;
  readonly details?: Readonly<Record<string, number>>;
}

export interface Workload {
  readonly id: string;
  readonly title: string;
  readonly unit: 'op/s' | 'rows/s' | 'ms';
  readonly better: 'more' | 'less';
  /** Rows are loaded before the clock starts. */
  readonly loaded: boolean;
  /** The store is filled by another process, which is killed; the time of opening is the measure. */
  readonly reopens?: boolean;
  /** Names of stores left out, with the reason. */
  readonly without?: Readonly<Record<string, string>>;
  supports(subject: Subject): boolean;
  run(subject: Subject, settings: RunSettings): Promise<Measure>;
}

/** Operations a second of `step`, which does `perStep` of them without waiting. */
export function rateSync(step: () => void, perStep: number, settings: RunSettings): Measure {
  let end = performance.now() + settings.warmMs;
  while (performance.now() < end) step();
  let steps = 0;
  const start = performance.now();
  end = start + settings.measureMs;
  while (performance.now() < end) {
    step();
    steps++;
  }
  return { value: (steps * perStep * 1000) / (performance.now() - start) };
}

/** Operations a second of `workers` loops that each await their own `step`; each step counts for what it answers. */
export async function rateAsync(
  step: (worker: number) => Promise<number>,
  workers: number,
  settings: RunSettings,
): Promise<Measure> {
  const start = performance.now() + settings.warmMs;
  const end = start + settings.measureMs;
  let done = 0;
  let firstAt = Infinity;
  let lastAt = start;
  const loop = async (worker: number): Promise<void> => {
    for (;;) {
      const before = performance.now();
      // However long a step takes, one is counted whole.
      if (before >= end && done > 0) return;
      const count = await step(worker);
      if (before < start) continue;
      done += count;
      firstAt = Math.min(firstAt, before);
      lastAt = performance.now();
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => loop(worker)));
  return { value: (done * 1000) / (lastAt - firstAt) };
}

/** Milliseconds at a share of sorted times. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
