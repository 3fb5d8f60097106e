/** The engine bench: every store on every workload, in alternation; a table, JSON and plots. */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { ChildAnswer } from './child.ts';
import type { Limits } from './limits.ts';
import { load, machine } from './machine.ts';
import { USAGE, benchOptions } from './options.ts';
import type { BenchOptions } from './options.ts';
import { ROOT } from './peers.ts';
import { Schedule, durationText, fit } from './plan.ts';
import type { Plan, Step } from './plan.ts';
import { figure, tableOf, workloadResult } from './report.ts';
import type { RoundValues, WorkloadResult } from './report.ts';
import { profileText, readProfile, topOf } from './profile.ts';
import { Datasets, SCRATCH, runChild, runLimits } from './run_child.ts';
import { saveEngine, savePlotsOf } from './save.ts';
import { SHIPPED_MEMORY } from './subject.ts';
import { SETTINGS, SUBJECTS, peerVersions } from './subjects/index.ts';
import { WORKLOADS, linesOf } from './workloads/index.ts';
import type { Measure, Workload, WorkloadHead } from './workload.ts';

/** Functions of a profile that are told. */
const PROFILE_LINES = 15;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

interface Line {
  readonly rounds: number[];
  details: Readonly<Record<string, number>>;
  rssBytes: number;
}

interface Available {
  readonly names: readonly string[];
  readonly missing: Readonly<Record<string, string>>;
}

/** Stores that can be measured here, and why the others cannot. */
function availableSubjects(options: BenchOptions): Available {
  const missing: Record<string, string> = {};
  const versions = peerVersions();
  const names = [...SUBJECTS.keys()].filter((name) => {
    if (options.subjects.length > 0 && !options.subjects.includes(name)) return false;
    if (name === 'cellar' && !existsSync(path.join(ROOT, 'dist', 'index.js'))) {
      missing[name] = 'not built';
    } else if (versions.get(name) === null) {
      missing[name] = 'not installed here';
    }
    return missing[name] === undefined;
  });
  return { names, missing };
}

/** What the rounds say about the workload's lines. */
class Lines {
  readonly #heads: readonly WorkloadHead[];
  readonly #lines: Map<string, Map<string, Line>> = new Map();

  constructor(workload: Workload) {
    this.#heads = linesOf(workload);
  }

  add(id: string, subject: string, measure: Measure, rssBytes: number): void {
    const { value, samples, details = {}, also = {} } = measure;
    if (!Number.isFinite(value)) throw new Error(`${id} ${subject} measured nothing`);
    const lines = this.#lines.get(id) ?? new Map<string, Line>();
    this.#lines.set(id, lines);
    const rounds = [...(lines.get(subject)?.rounds ?? []), ...(samples ?? [value])];
    lines.set(subject, { rounds, details, rssBytes });
    const head = this.#heads.find((candidate) => candidate.id === id)!;
    log(`${id} ${subject}: ${figure(value)} ${head.unit}`);
    for (const [other, its] of Object.entries(also)) this.add(other, subject, its, rssBytes);
  }

  results(
    subjects: readonly string[],
    without: Readonly<Record<string, string>>,
    of: (head: WorkloadHead) => Pick<WorkloadResult, 'limit' | 'memory'>,
  ): WorkloadResult[] {
    return this.#heads.map((head) => {
      const lines = this.#lines.get(head.id);
      const measured = subjects.flatMap((subject): RoundValues[] => {
        const line = lines?.get(subject);
        return line === undefined ? [] : [{ subject, ...line }];
      });
      return workloadResult(head, measured, firstLines(without), of(head));
    });
  }
}

/** One run: the plan is carried out step by step. */
class Run {
  readonly #plan: Plan;
  readonly #available: Available;
  readonly #schedule: Schedule;
  readonly #datasets: Datasets;
  readonly #start: number = performance.now();
  #limits: Limits | null = null;

  constructor(plan: Plan, available: Available) {
    this.#plan = plan;
    this.#available = available;
    this.#schedule = new Schedule(plan);
    this.#datasets = new Datasets(plan.options.sizes, log);
  }

  get seconds(): number {
    return (performance.now() - this.#start) / 1000;
  }

  async all(): Promise<void> {
    const { options, steps } = this.#plan;
    const about = {
      taken: new Date().toISOString().slice(0, 10),
      mode: `${options.mode}, ${options.rounds} rounds, peers: ${options.peers}`,
      budgetMinutes: options.budgetMinutes,
      estimatedSeconds: Math.round(this.#plan.seconds),
      note: options.note,
      loadBefore: load(),
      sizes: options.sizes,
      machine: machine(),
      settings: SETTINGS,
      versions: { cellar: ownVersion(), ...Object.fromEntries(peerVersions()) },
    };
    this.#limits = await this.#measureLimits();
    const workloads: WorkloadResult[] = [];
    for (const [i, step] of steps.entries()) {
      const results = await this.#measure(step, i);
      workloads.push(...results);
      for (const result of results) process.stdout.write(`${tableOf(result)}\n`);
      this.#dropAfter(i);
      const tookSeconds = Math.round(this.seconds);
      log(`${tookSeconds} s`);
      // After each: a run that is stopped leaves what it has.
      const run = { ...about, tookSeconds, limits: this.#limits, workloads };
      if (options.save === null) continue;
      saveEngine(run, options.save);
      if (i === steps.length - 1 && !(await savePlotsOf(run, options.save))) {
        log('no PNGs: npm run bench:peers installs what draws them');
      }
    }
    log(`took ${durationText(this.seconds)}, estimated ${durationText(this.#plan.seconds)}`);
  }

  async #measureLimits(): Promise<Limits | null> {
    log('limits of the machine');
    const answer = await runLimits(this.#plan.options.sizes.measureMs);
    if (!answer.ok) log(`no limits: ${answer.reason}`);
    return answer.ok && 'limits' in answer ? answer.limits : null;
  }

  async #measure({ workload, subjects, rounds }: Step, index: number): Promise<WorkloadResult[]> {
    const { options } = this.#plan;
    const { names, missing } = this.#available;
    const without: Record<string, string> = { ...missing, ...workload.without };
    const lines = new Lines(workload);
    // What is measured beside a store may need Cellar's files of the same rows.
    const first = workload.data !== undefined && names.includes('cellar') ? 'cellar' : null;
    if (first !== null) await this.#datasets.load(first, workload.data!);
    const start = this.seconds;
    for (let round = 0; round < rounds; round++) {
      if (!this.#schedule.mayRun(index, round, this.seconds, this.seconds - start)) {
        log(`${workload.id}: ${round} rounds, as the budget allows`);
        break;
      }
      // Each round starts with another store, so that none always comes first.
      const order = subjects.map((_, i) => subjects[(i + round) % subjects.length]!);
      for (const subject of order) {
        if (without[subject] !== undefined) continue;
        const answer = await this.#runOne(workload, subject);
        if (!answer.ok) {
          without[subject] = answer.reason;
          if (!answer.unsupported) log(`${workload.id} ${subject}: ${answer.reason}`);
        } else if ('measure' in answer) {
          lines.add(workload.id, subject, answer.measure, answer.rssBytes);
        }
      }
    }
    const memory = workload.memory?.(options.sizes) ?? SHIPPED_MEMORY;
    return lines.results(subjects, without, (head) => ({ limit: this.#limitOf(head), memory }));
  }

  async #runOne(workload: Workload, subject: string): Promise<ChildAnswer> {
    const { sizes, profile } = this.#plan.options;
    if (!profile || subject !== 'cellar') {
      return runChild(workload, subject, sizes, this.#datasets);
    }
    const folder = path.join(SCRATCH, 'profile');
    mkdirSync(folder, { recursive: true });
    const answer = await runChild(workload, subject, sizes, this.#datasets, folder);
    const found = readProfile(folder);
    if (found !== null) log(`${workload.id}:\n${profileText(topOf(found, PROFILE_LINES))}`);
    rmSync(folder, { recursive: true, force: true });
    return answer;
  }

  #limitOf({ limit }: WorkloadHead): WorkloadResult['limit'] {
    if (limit === undefined || this.#limits === null) return null;
    return { what: limit.what, value: limit.of(this.#limits, this.#plan.options.sizes) };
  }

  /** Frees the rows that no later workload needs. */
  #dropAfter(index: number): void {
    const { data } = this.#plan.steps[index]!.workload;
    if (data === undefined) return;
    const later = this.#plan.steps.slice(index + 1).map(({ workload }) => workload.data);
    this.#datasets.dropUnneeded(data, later);
  }
}

/** Reasons for the table: the first line of each is enough. */
function firstLines(reasons: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reasons).map(([name, reason]) => [name, reason.split('\n')[0]!]),
  );
}

function ownVersion(): string {
  const text = readFileSync(path.join(ROOT, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function chosenWorkloads({ only, skip, mode }: BenchOptions): readonly Workload[] {
  const begins = (workload: Workload, starts: readonly string[]): boolean =>
    linesOf(workload).some(({ id }) => starts.some((start) => id.startsWith(start)));
  const chosen = WORKLOADS.filter(
    (workload) =>
      (only.length === 0
        ? workload.isHeavy !== true || mode !== 'standard'
        : begins(workload, only)) && !begins(workload, skip),
  );
  if (chosen.length === 0) throw new RangeError(`--only ${only.join()}: there is no such workload`);
  return chosen;
}

const planLine = ({ workload, subjects, loadSeconds, roundSeconds, rounds }: Step): string =>
  `${workload.id.padEnd(28)} ${subjects.length} stores, ${loadSeconds.toFixed(0)} s to load, ${rounds} rounds of ${roundSeconds.toFixed(0)} s`;

async function main(options: BenchOptions): Promise<void> {
  const available = availableSubjects(options);
  const plan = fit(options, chosenWorkloads(options), available.names);
  const { sizes, rounds, peers } = plan.options;
  const rows = `${sizes.rows} rows in memory, ${sizes.fileRows} in files, growth to ${sizes.growthRows}`;
  log(`${plan.steps.length} workloads, ${rounds} rounds, peers: ${peers}; ${rows}`);
  log(`estimated: ${durationText(plan.seconds)}`);
  if (options.dry) {
    for (const step of plan.steps) log(planLine(step));
  } else await new Run(plan, available).all();
}

const options = benchOptions(process.argv.slice(2));
if (options === 'help') process.stdout.write(USAGE);
else if (options === 'list') {
  const lines = WORKLOADS.flatMap(linesOf).map(({ id, title }) => `${id.padEnd(26)} ${title}\n`);
  process.stdout.write(lines.join(''));
} else await main(options);
