/** The engine bench: every store on every workload, in alternation, several rounds; a table, JSON and plots. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { load, machine } from './machine.ts';
import { USAGE, benchOptions } from './options.ts';
import type { BenchOptions } from './options.ts';
import { ROOT } from './peers.ts';
import { figure, reportOf, tableOf, workloadResult } from './report.ts';
import type { RoundValues, RunResult, WorkloadResult } from './report.ts';
import { runChild } from './run_child.ts';
import { SUBJECTS, peerVersions } from './subjects/index.ts';
import { plotOf } from './svg.ts';
import { WORKLOADS } from './workloads/index.ts';
import type { Workload } from './workload.ts';

const log = (line: string): void => void process.stderr.write(`${line}\n`);

interface Line {
  rounds: number[];
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

async function measure(
  workload: Workload,
  options: BenchOptions,
  subjects: readonly string[],
  missing: Readonly<Record<string, string>>,
): Promise<WorkloadResult> {
  const lines = new Map<string, Line>();
  const without: Record<string, string> = { ...missing, ...workload.without };
  for (let round = 0; round < options.rounds; round++) {
    // Each round starts with another store, so that none always comes first.
    const order = subjects.map((_, i) => subjects[(i + round) % subjects.length]!);
    for (const subject of order) {
      if (without[subject] !== undefined) continue;
      const answer = await runChild({
        subject,
        workload: workload.id,
        reopens: workload.reopens === true,
        settings: options,
      });
      if (!answer.ok) {
        without[subject] = answer.reason;
        if (!answer.unsupported) log(`${workload.id} ${subject}: ${answer.reason}`);
        continue;
      }
      if (!('measure' in answer)) continue;
      const { value, details = {} } = answer.measure;
      if (!Number.isFinite(value)) throw new Error(`${workload.id} ${subject} measured nothing`);
      const rounds = [...(lines.get(subject)?.rounds ?? []), value];
      lines.set(subject, { rounds, details, rssBytes: answer.rssBytes });
      log(`${workload.id} ${subject}: ${figure(value)} ${workload.unit}`);
    }
  }
  const measured = subjects.flatMap((subject): RoundValues[] => {
    const line = lines.get(subject);
    return line === undefined ? [] : [{ subject, ...line }];
  });
  return workloadResult(workload, measured, firstLines(without));
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

async function main(options: BenchOptions): Promise<void> {
  const { names, missing } = availableSubjects(options);
  const chosen = WORKLOADS.filter(
    ({ id }) => options.only.length === 0 || options.only.some((start) => id.startsWith(start)),
  );
  const run = {
    taken: new Date().toISOString().slice(0, 10),
    mode: `${options.mode}, rounds: ${options.rounds}`,
    note: options.note,
    loadBefore: load(),
    rows: options.rows,
    machine: machine(),
    versions: { cellar: ownVersion(), ...Object.fromEntries(peerVersions()) },
  };
  const workloads: WorkloadResult[] = [];
  for (const workload of chosen) {
    const result = await measure(workload, options, names, missing);
    workloads.push(result);
    process.stdout.write(`${tableOf(result)}\n`);
    // After each: a run that is stopped leaves what it has.
    if (options.save !== null) save({ ...run, workloads }, options.save);
  }
}

const options = benchOptions(process.argv.slice(2));
if (options === null) process.stdout.write(USAGE);
else await main(options);
