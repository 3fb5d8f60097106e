/** The machine, as far as figures depend on it. Never a host's or a user's name. */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  /** Cores' worth of time that this process may use by its control group; null: no limit known. */
  readonly cpuLimit: number | null;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  readonly v8: string;
}

export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    cpuLimit: cpuLimit(),
    memoryBytes: totalmem(),
    system: `${platform()} ${release().split('-')[0]}`,
    node: process.version,
    v8: process.versions.v8,
  };
}

/** Runnable processes over the last minute beyond what the bench itself brings: figures taken so are noisy. */
export function load(): number {
  return loadavg()[0] ?? 0;
}

/** Control groups, version 2 ("quota period") or 1 (two files). */
function cpuLimit(): number | null {
  const v2 = numbersOf('/sys/fs/cgroup/cpu.max');
  if (v2.length === 2) return v2[0]! / v2[1]!;
  const quota = numbersOf('/sys/fs/cgroup/cpu/cpu.cfs_quota_us')[0] ?? -1;
  const period = numbersOf('/sys/fs/cgroup/cpu/cpu.cfs_period_us')[0] ?? 0;
  return quota > 0 && period > 0 ? quota / period : null;
}

function numbersOf(file: string): number[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== undefined) return []; // Another system.
    throw error;
  }
  const numbers = text.trim().split(/\s+/).map(Number);
  return numbers.every(Number.isFinite) ? numbers : [];
}
