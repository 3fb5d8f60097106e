/** The engine bench: every store on every workload, in alternation; a table, JSON and plots. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { load, machine } from './machine.ts';
import { USAGE, benchOptions } from './options.ts';
import type { BenchOptions } from './options.ts';
import { ROOT } from './peers.ts';
import { figure, reportOf, tableOf, workloadResult } from './report.ts';
import type { RoundValues, RunResult, WorkloadResult } from './report.ts';
import { Datasets, runChild } from './run_child.ts';
import { SUBJECTS, UNSYNCED, peerVersions } from './subjects/index.ts';
import { plotOf } from './svg.ts';
import { WORKLOADS, linesOf } from './workloads/index.ts';
import type { Measure, Workload, WorkloadHead } from './workload.ts';

const log = (line: string): void => void process.stderr.write(`${line}\n`);

interface Line {
  readonly rounds: number[];
  details: Readonly<Record<string, number>>;
  rssBytes: number;
}

/** Stores that can be measured here, and why the others cannot. */
function availableSubjects(options: BenchOptions): {
  names: string[];
  missing: Record<string, string>;
} {
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

/** Of the stores at hand those that take part: in `--full` and by name all, else those that the goal names. */
function subjectsOf(
  workload: Workload,
  options: BenchOptions,
  names: readonly string[],
): readonly string[] {
  const extra = workload.extra ?? [];
  const known = names.filter(
    (name) =>
      (!UNSYNCED.includes(name) || extra.includes(name)) &&
      workload.stores?.includes(name) !== false,
  );
  if (options.mode === 'full' || options.subjects.length > 0) return known;
  const wanted = ['cellar', 'bare', ...workload.rivals, ...extra];
  return known.filter((name) => wanted.includes(name));
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
  ): WorkloadResult[] {
    return this.#heads.map((head) => {
      const lines = this.#lines.get(head.id);
      const measured = subjects.flatMap((subject): RoundValues[] => {
        const line = lines?.get(subject);
        return line === undefined ? [] : [{ subject, ...line }];
      });
      return workloadResult(head, measured, firstLines(without));
    });
  }
}

async function measure(
  workload: Workload,
  options: BenchOptions,
  available: { names: readonly string[]; missing: Readonly<Record<string, string>> },
  datasets: Datasets,
): Promise<WorkloadResult[]> {
  const subjects = subjectsOf(workload, options, available.names);
  const without: Record<string, string> = { ...available.missing, ...workload.without };
  const lines = new Lines(workload);
  // What is measured beside a store may need Cellar's files of the same rows.
  const first = workload.data !== undefined && available.names.includes('cellar') ? 'cellar' : null;
  if (first !== null) await datasets.load(first, workload.data!);
  const rounds = workload.isLong === true ? options.longRounds : options.rounds;
  for (let round = 0; round < rounds; round++) {
    // Each round starts with another store, so that none always comes first.
    const order = subjects.map((_, i) => subjects[(i + round) % subjects.length]!);
    for (const subject of order) {
      if (without[subject] !== undefined) continue;
      const answer = await runChild(workload, subject, options.sizes, datasets);
      if (!answer.ok) {
        without[subject] = answer.reason;
        if (!answer.unsupported) log(`${workload.id} ${subject}: ${answer.reason}`);
      } else if ('measure' in answer) {
        lines.add(workload.id, subject, answer.measure, answer.rssBytes);
      }
    }
  }
  return lines.results(subjects, without);
}

/** Reasons for the table: the first line of each is enough. */
function firstLines(reasons: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reasons).map(([name, reason]) => [name, reason.split('\n')[0]!]),
  );
}

function save(run: RunResult, name: string): void {
  const results = path.join(ROOT, 'bench', 'results');
  const plots = path.join(ROOT, 'bench', 'plots');
  mkdirSync(results, { recursive: true });
  mkdirSync(plots, { recursive: true });
  writeFileSync(path.join(results, `${name}.json`), `${JSON.stringify(run, null, 2)}\n`);
  writeFileSync(path.join(results, `${name}.md`), reportOf(run));
  const note = `${run.machine.cpu}, ${run.machine.cores} cores, Node ${run.machine.node}, ${run.taken}`;
  for (const workload of run.workloads.filter(({ subjects }) => subjects.length > 0)) {
    writeFileSync(path.join(plots, `${name}-${workload.id}.svg`), plotOf(workload, note));
  }
}

function ownVersion(): string {
  const text = readFileSync(path.join(ROOT, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function chosenWorkloads(options: BenchOptions): readonly Workload[] {
  const { only, mode } = options;
  if (only.length === 0) return WORKLOADS.filter(({ isHeavy }) => !isHeavy || mode === 'full');
  const chosen = WORKLOADS.filter((workload) =>
    linesOf(workload).some(({ id }) => only.some((start) => id.startsWith(start))),
  );
  if (chosen.length === 0) throw new RangeError(`--only ${only.join()}: there is no such workload`);
  return chosen;
}

async function main(options: BenchOptions): Promise<void> {
  const available = availableSubjects(options);
  const chosen = chosenWorkloads(options);
  const start = performance.now();
  const about = {
    taken: new Date().toISOString().slice(0, 10),
    mode: `${options.mode}, rounds: ${options.rounds}`,
    note: options.note,
    loadBefore: load(),
    sizes: options.sizes,
    machine: machine(),
    versions: { cellar: ownVersion(), ...Object.fromEntries(peerVersions()) },
  };
  const workloads: WorkloadResult[] = [];
  const datasets = new Datasets(options.sizes, log);
  for (const [i, workload] of chosen.entries()) {
    const results = await measure(workload, options, available, datasets);
    workloads.push(...results);
    for (const result of results) process.stdout.write(`${tableOf(result)}\n`);
    const { data } = workload;
    if (data !== undefined && chosen.slice(i + 1).every((later) => later.data !== data)) {
      datasets.drop(data);
    }
    const tookSeconds = Math.round((performance.now() - start) / 1000);
    log(`${tookSeconds} s`);
    // After each: a run that is stopped leaves what it has.
    if (options.save !== null) save({ ...about, tookSeconds, workloads }, options.save);
  }
}

const options = benchOptions(process.argv.slice(2));
if (options === 'help') process.stdout.write(USAGE);
else if (options === 'list') {
  const lines = WORKLOADS.flatMap(linesOf).map(({ id, title }) => `${id.padEnd(24)} ${title}\n`);
  process.stdout.write(lines.join(''));
} else await main(options);
