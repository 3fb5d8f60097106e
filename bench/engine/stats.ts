/** Medians, spreads and ratios of the rounds. Pure. */
import type { WorkloadHead } from './workload.ts';

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Of at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/** How many times better `value` is than `other`: above 1 is better, whichever way the workload counts. */
export function ratioOf(better: WorkloadHead['better'], value: number, other: number): number {
  return better === 'more' ? value / other : other / value;
}

/** The best of the peers (neither Cellar, nor the bare limit, nor what is not durable), or null. */
export function bestPeer(
  better: WorkloadHead['better'],
  medians: ReadonlyMap<string, number>,
): string | null {
  let best: string | null = null;
  for (const [name, median] of medians) {
    if (name === 'cellar' || name === 'bare' || name === 'level-unsynced') continue;
    if (best === null || ratioOf(better, median, medians.get(best)!) > 1) best = name;
  }
  return best;
}
