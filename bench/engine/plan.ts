/**
 * What a run will do and how long that takes: the estimate printed at its start, and the smaller run that fits a budget.
 * Rates of loading are those of a small machine; where they are wrong, all workloads have fewer rounds alike. Pure.
 */
import { DATASETS } from './datasets.ts';
import type { BenchOptions } from './options.ts';
import { UNSYNCED } from './subjects/index.ts';
import type { Sizes, Workload } from './workload.ts';

/** Starting a process, opening and closing a store. */
const PROCESS_SECONDS = 0.5;
/** Rows of 100 bytes a second that each store loads in random order and large batches, until it has settled. */
const LOADED_PER_SECOND: Readonly<Record<string, number>> = {
  cellar: 90_000,
  lmdb: 60_000,
  'better-sqlite3': 40_000,
  'classic-level': 60_000,
  rocksdb: 60_000,
};
/** Bytes a second where values are large. */
const LOADED_BYTES_PER_SECOND = 40e6;
const LIMITS_SECONDS = 7;

/** The stores that take part in a workload. */
export function subjectsOf(
  workload: Workload,
  options: Pick<BenchOptions, 'peers' | 'subjects'>,
  names: readonly string[],
): readonly string[] {
  const extra = workload.extra ?? [];
  const known = names.filter(
    (name) =>
      (!UNSYNCED.includes(name) || extra.includes(name)) &&
      workload.stores?.includes(name) !== false,
  );
  if (options.peers === 'all' || options.subjects.length > 0) return known;
  const wanted = ['cellar', 'bare', ...workload.rivals, ...extra];
  return known.filter((name) => wanted.includes(name));
}

/** Whose rows a store has: peers may use those of another dataset. */
export const datasetOf = (subject: string, id: string): string =>
  subject === 'cellar' ? id : (DATASETS.get(id)!.peersUse ?? id);

/** Seconds that loading a dataset takes a store. */
export function loadSeconds(subject: string, id: string, sizes: Sizes): number {
  if (subject === 'bare') return 0;
  const rows = DATASETS.get(id)!.rows(sizes);
  const perSecond = LOADED_PER_SECOND[subject] ?? 50_000;
  if (id === 'large') return 2 + (rows * sizes.largeLength) / LOADED_BYTES_PER_SECOND;
  return 1 + (id === 'versions' ? rows * sizes.versions : rows) / perSecond;
}

/** Seconds of one round of a workload, without loading its rows. */
export function roundSeconds(
  workload: Workload,
  subjects: readonly string[],
  sizes: Sizes,
): number {
  let seconds = 0;
  for (const subject of subjects) {
    if (workload.without?.[subject] !== undefined) continue;
    const own = workload.seconds?.(sizes, subject) ?? (sizes.warmMs + sizes.measureMs) / 1000;
    seconds += PROCESS_SECONDS + (workload.reopens === true ? 2 : 0) + own;
  }
  return seconds;
}

export interface Step {
  readonly workload: Workload;
  readonly subjects: readonly string[];
  /** Rows that are loaded first, once. */
  readonly loadSeconds: number;
  readonly roundSeconds: number;
  readonly rounds: number;
}

export interface Plan {
  readonly options: BenchOptions;
  readonly steps: readonly Step[];
  readonly seconds: number;
}

/** So large a part of a budget the rounds of one workload may take, where there are many. */
const SHARE_MAX = 1 / 16;

/** The run with the sizes and rounds of the options; within a budget what takes long has fewer rounds. */
export function planOf(
  options: BenchOptions,
  workloads: readonly Workload[],
  names: readonly string[],
): Plan {
  const { sizes, rounds } = options;
  const share = Math.max(SHARE_MAX, 1 / workloads.length);
  const most = options.budgetMinutes === null ? Infinity : 60 * options.budgetMinutes * share;
  const loaded = new Set<string>();
  const steps = workloads.map((workload): Step => {
    const subjects = subjectsOf(workload, options, names);
    let load = 0;
    for (const subject of workload.data === undefined ? [] : subjects) {
      const id = datasetOf(subject, workload.data!);
      if (loaded.has(`${id} ${subject}`) || workload.without?.[subject] !== undefined) continue;
      loaded.add(`${id} ${subject}`);
      load += loadSeconds(subject, id, sizes);
    }
    const round = roundSeconds(workload, subjects, sizes);
    const affordable = Math.max(1, Math.floor(most / round));
    return {
      workload,
      subjects,
      loadSeconds: load,
      roundSeconds: round,
      rounds: Math.min(rounds, affordable),
    };
  });
  const seconds = steps.reduce(
    (sum, step) => sum + step.loadSeconds + step.rounds * step.roundSeconds,
    LIMITS_SECONDS,
  );
  return { options, steps, seconds };
}

/** How much smaller a run is made. Shares are of the sizes that were asked for. */
interface Rung {
  /** Of warm-up and samples. */
  readonly times: number;
  /** Of the rows in store files. */
  readonly rows: number;
  /** Of old versions, large values, and stores of millions of cells. */
  readonly others: number;
  /** Of the largest store of the growth curves. */
  readonly growth: number;
  readonly rounds: number;
  readonly peers?: 'rivals';
}

/** From what is missed least on: the rows that the goals speak of stay as they are for as long as possible. */
const LADDER: readonly Rung[] = [
  { times: 1, rows: 1, others: 1, growth: 1, rounds: 5 },
  { times: 0.7, rows: 1, others: 1, growth: 0.4, rounds: 5 },
  { times: 0.5, rows: 1, others: 1, growth: 0.2, rounds: 5 },
  { times: 0.5, rows: 1, others: 0.5, growth: 0.2, rounds: 5, peers: 'rivals' },
  { times: 0.4, rows: 1, others: 0.5, growth: 0.1, rounds: 5, peers: 'rivals' },
  { times: 0.33, rows: 1, others: 0.5, growth: 0.1, rounds: 5, peers: 'rivals' },
  { times: 0.33, rows: 1, others: 0.25, growth: 0.06, rounds: 5, peers: 'rivals' },
  { times: 0.25, rows: 1, others: 0.25, growth: 0.05, rounds: 5, peers: 'rivals' },
  { times: 0.25, rows: 1, others: 0.25, growth: 0.04, rounds: 3, peers: 'rivals' },
  { times: 0.25, rows: 0.5, others: 0.25, growth: 0.05, rounds: 5, peers: 'rivals' },
  { times: 0.25, rows: 0.5, others: 0.25, growth: 0.04, rounds: 3, peers: 'rivals' },
  { times: 0.2, rows: 0.25, others: 0.1, growth: 0.03, rounds: 3, peers: 'rivals' },
  { times: 0.15, rows: 0.1, others: 0.1, growth: 0.02, rounds: 3, peers: 'rivals' },
  { times: 0.15, rows: 0.05, others: 0.05, growth: 0.01, rounds: 1, peers: 'rivals' },
  { times: 0.07, rows: 0.02, others: 0.02, growth: 0.004, rounds: 1, peers: 'rivals' },
];

/** The largest run whose estimate fits the budget, or the smallest there is. */
export function fit(
  options: BenchOptions,
  workloads: readonly Workload[],
  names: readonly string[],
): Plan {
  const whole = planOf(options, workloads, names);
  if (options.budgetMinutes === null) return whole;
  let plan = whole;
  for (const rung of LADDER) {
    const smaller: BenchOptions = {
      ...options,
      sizes: scaled(options.sizes, rung),
      rounds: Math.min(options.rounds, rung.rounds),
      peers: rung.peers ?? options.peers,
    };
    plan = planOf(smaller, workloads, names);
    if (plan.seconds <= 60 * options.budgetMinutes) break;
  }
  return plan;
}

function scaled(sizes: Sizes, rung: Rung): Sizes {
  const share = (count: number, of: number, least: number): number =>
    Math.min(count, Math.max(least, Math.round((count * of) / 1000) * 1000));
  const { rows, others, times } = rung;
  const growthRows = share(sizes.growthRows, rung.growth, 100_000);
  return {
    ...sizes,
    fileRows: share(sizes.fileRows, rows, 20_000),
    memstoreCellsLarge: share(sizes.memstoreCellsLarge, others, 200_000),
    cellsSmall: share(sizes.cellsSmall, others, 50_000),
    cellsLarge: share(sizes.cellsLarge, others, 200_000),
    versionRows: share(sizes.versionRows, others, 1000),
    largeRows: share(sizes.largeRows, others, 2000),
    growthRows,
    // The hot rows are no more than the smallest store has.
    growthHotRows: Math.min(sizes.growthHotRows, Math.floor(growthRows / 5000) * 100),
    compactBytes: share(sizes.compactBytes, Math.max(others, 0.25), 16_000_000),
    warmMs: Math.max(100, Math.round(sizes.warmMs * times)),
    measureMs: Math.max(150, Math.round(sizes.measureMs * times)),
    loadMsMax: Math.max(40_000, Math.round(sizes.loadMsMax * times)),
  };
}

/** Says whether a further round still fits the time that a workload was given. */
export class Schedule {
  readonly #plan: Plan;
  readonly #factor: number;

  constructor(plan: Plan) {
    this.#plan = plan;
    const { budgetMinutes } = plan.options;
    this.#factor = budgetMinutes === null ? Infinity : (60 * budgetMinutes) / plan.seconds;
  }

  /** Seconds after the start at which the workload shall be over. */
  deadline(step: number): number {
    if (this.#factor === Infinity) return Infinity;
    let seconds = LIMITS_SECONDS;
    for (const done of this.#plan.steps.slice(0, step + 1)) {
      seconds += done.loadSeconds + done.rounds * done.roundSeconds;
    }
    return seconds * this.#factor;
  }

  /** The first round always is; a further one if it ends in time when it takes as long as the ones before it. */
  mayRun(step: number, round: number, passedSeconds: number, roundsSeconds: number): boolean {
    if (round === 0) return true;
    return passedSeconds + roundsSeconds / round <= this.deadline(step);
  }
}

/** For people: `2 h 5 min`, `3 min`. */
export function durationText(seconds: number): string {
  const minutes = Math.max(1, Math.round(seconds / 60));
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
