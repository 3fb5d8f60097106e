/** A run of the engine bench as its JSON has it, with the workloads given. */
import { benchOptions } from '../../bench/engine/options.ts';
import { workloadResult } from '../../bench/engine/report.ts';
import type { RunResult, WorkloadResult } from '../../bench/engine/report.ts';
import type { WorkloadHead } from '../../bench/engine/workload.ts';

/** Medians by store: each has one round a little lower and one a little higher. */
export function resultOf(
  head: Pick<WorkloadHead, 'id' | 'unit' | 'better'>,
  medians: Readonly<Record<string, number>>,
  details: Readonly<Record<string, number>> = {},
): WorkloadResult {
  const measured = Object.entries(medians).map(([subject, median]) => ({
    subject,
    rounds: [median * 0.9, median, median * 1.1],
    details,
    rssBytes: 1,
  }));
  return workloadResult({ ...head, title: `title of ${head.id}` }, measured, {});
}

export const opsOf = (id: string, medians: Readonly<Record<string, number>>): WorkloadResult =>
  resultOf({ id, unit: 'op/s', better: 'more' }, medians);

export function runOf(workloads: readonly WorkloadResult[]): RunResult {
  const options = benchOptions(['--quick']);
  if (typeof options === 'string') throw new Error(options);
  return {
    taken: '2026-01-02',
    mode: 'standard, 5 rounds',
    budgetMinutes: null,
    estimatedSeconds: 1,
    note: null,
    loadBefore: 0,
    sizes: options.sizes,
    tookSeconds: 1,
    limits: null,
    machine: {
      cpu: 'Some CPU',
      cores: 2,
      cpuLimit: null,
      memoryBytes: 8 * 2 ** 30,
      system: 'linux 6',
      node: 'v20.0.0',
      v8: '11',
    },
    versions: { cellar: '0.1.0' },
    settings: {},
    workloads,
  };
}
