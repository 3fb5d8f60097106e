/** What is done to a store, and how it is told: each workload runs in a process of its own. */
import type { Limits } from './limits.ts';
import type { Memory, Subject } from './subject.ts';

/** How large a run is. */
export interface Sizes {
  /** Rows that reads from memory find in the store. */
  readonly rows: number;
  /** Rows in store files. */
  readonly fileRows: number;
  /** Cells of the memstore workloads, and of the larger one. */
  readonly memstoreCells: number;
  readonly memstoreCellsLarge: number;
  /** Rows of the stores whose cost a cell is compared. */
  readonly cellsSmall: number;
  readonly cellsLarge: number;
  readonly regions: number;
  readonly filesPerRegion: number;
  /** Rows with old versions, and versions of each. */
  readonly versionRows: number;
  readonly versions: number;
  /** Rows of large values, and their length. */
  readonly largeRows: number;
  readonly largeLength: number;
  /** Rows of the largest store of the growth curves; the others have a fifth and a fiftieth. */
  readonly growthRows: number;
  /** Rows that are read and written in each of them. */
  readonly growthHotRows: number;
  /** Bytes of cells that are compacted. */
  readonly compactBytes: number;
  /** Bytes of rows left in the log for `reopen`. */
  readonly unflushedBytes: number;
  readonly warmMs: number;
  readonly measureMs: number;
  /** A load is stopped after so long; its figure then counts for the rows it wrote. */
  readonly loadMsMax: number;
}

export interface RunSettings extends Sizes {
  /** A folder for files beside the store, on the same disk. */
  readonly dir: string;
  /** Where Cellar's store of the same rows is, for what measures its files without it. */
  readonly cellarDir: string;
  /** Rows a second with which the store's rows were loaded; 0 unless it was loaded before. */
  readonly loadedPerSecond: number;
}

export interface Measure {
  /** The median of the samples, if there are any. */
  readonly value: number;
  /** Measured one after the other in the same process. */
  readonly samples?: readonly number[];
  readonly details?: Readonly<Record<string, number>>;
  /** What the same run says about other lines of the table, by their id. */
  readonly also?: Readonly<Record<string, Measure>>;
}

/** A figure that no store can beat on this machine. */
export interface PhysicalLimit {
  readonly what: string;
  of(limits: Limits, sizes: Sizes): number;
}

/** One line of the table. */
export interface WorkloadHead {
  readonly id: string;
  readonly title: string;
  readonly unit: 'op/s' | 'rows/s' | 'cells/s' | 'ms' | 'µs' | 'MiB' | 'bytes' | '×';
  readonly better: 'more' | 'less';
  /** For a panel of a plot; by default the title. */
  readonly short?: string;
  /** What the machine allows for this work at most, in this unit: from the limits measured in the same run. */
  readonly limit?: PhysicalLimit;
}

export interface Workload extends WorkloadHead {
  /** The rows that the store holds already: made once and used by every workload that names them (datasets.ts). */
  readonly data?: string;
  /** By default as Cellar is shipped. */
  readonly memory?: (sizes: Sizes) => Memory;
  readonly autoCompact?: boolean;
  /** Into how many regions the table is cut, where a store has such; default 1. */
  readonly regions?: number;
  /** The store is filled by another process, which is killed. */
  readonly reopens?: boolean;
  /** The time of opening is part of the value. */
  readonly countsOpening?: boolean;
  /** About how long a round of a store takes, beyond starting its process; by default warm-up and samples. */
  readonly seconds?: (sizes: Sizes, subject: string) => number;
  /** Only in `--full` and `--quick`, or by its name. */
  readonly isHeavy?: boolean;
  /** Versions that the store keeps of a row; default 1. */
  readonly versions?: (sizes: Sizes) => number;
  /** Of the rows that `bare` copies; default 100. */
  readonly valueLength?: (sizes: Sizes) => number;
  /** The peers that its goal names: all that take part with `--peers rivals`. */
  readonly rivals: readonly string[];
  /** The only stores that take part, where it means something to few. */
  readonly stores?: readonly string[];
  /** Peers that take no part in other workloads. */
  readonly extra?: readonly string[];
  /** Names of stores left out, with the reason. */
  readonly without?: Readonly<Record<string, string>>;
  /** Further lines of the table that `run` gives as `also`. */
  readonly further?: readonly WorkloadHead[];
  supports(subject: Subject): boolean;
  run(subject: Subject, settings: RunSettings): Promise<Measure>;
}

const SAMPLES = 3;

/** The median of samples, with all of them. */
export function measureOf(samples: readonly number[]): Measure {
  const sorted = [...samples].sort((a, b) => a - b);
  return { value: sorted[sorted.length >> 1]!, samples };
}

/** Operations a second of `step`, which does `perStep` of them without waiting; what it answers is awaited. */
export async function rateSync(
  step: () => Promise<void> | null,
  perStep: number,
  settings: RunSettings,
): Promise<Measure> {
  const during = async (ms: number): Promise<number> => {
    let steps = 0;
    const start = performance.now();
    const end = start + ms;
    while (performance.now() < end) {
      const rest = step();
      if (rest !== null) await rest;
      steps++;
    }
    return (steps * perStep * 1000) / (performance.now() - start);
  };
  await during(settings.warmMs);
  const samples: number[] = [];
  for (let i = 0; i < SAMPLES; i++) samples.push(await during(settings.measureMs / SAMPLES));
  return measureOf(samples);
}

/**
 * Operations a second of `workers` loops that each await their own `step`; each step counts for what it answers. A step
 * that takes longer than a sample is a sample.
 */
export async function rateAsync(
  step: (worker: number) => Promise<number>,
  workers: number,
  settings: RunSettings,
): Promise<Measure> {
  await rateDuring(step, workers, settings.warmMs);
  const samples: number[] = [];
  const start = performance.now();
  for (let i = 0; i < SAMPLES; i++) {
    samples.push(await rateDuring(step, workers, settings.measureMs / SAMPLES));
    if (performance.now() - start > 2 * settings.measureMs) break;
  }
  return measureOf(samples);
}

async function rateDuring(
  step: (worker: number) => Promise<number>,
  workers: number,
  ms: number,
): Promise<number> {
  const start = performance.now();
  const end = start + ms;
  let done = 0;
  const loop = async (worker: number): Promise<void> => {
    do {
      const count = await step(worker);
      done += count;
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => loop(worker)));
  return (done * 1000) / (performance.now() - start);
}

/** Milliseconds at a share of sorted times. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
