/**
 * Backups, exports, restores and forks of one table, each beside what it can be judged by in the same run: a full backup beside
 * a plain copy with sync of the same bytes, an incremental one beside the full one, our Export beside HBase's on the same rows.
 *
 *     npm run bench:backup                    500 MB, three rounds, into bench/results/backup.{json,md} and bench/plots/backup-*.svg
 *     npm run bench:backup -- --mb 2000       as large as asked for
 *     npm run bench:backup -- --only load,backup
 *     npm run bench:backup -- --suite DIR     DIR/install fetches HBase (default: scripts/interop)
 *     npm run bench:backup -- --quick         48 MB, one round: does it work; no figures to compare by
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { load, machine } from '../engine/machine.ts';
import { ROOT } from '../engine/peers.ts';
import { hbaseExports, missingForHBase } from './hbase_export.ts';
import { goalOf, plotOf, reportOf, workResult } from './report.ts';
import type { BackupRun, Goal, WorkResult } from './report.ts';
import { sizeOf } from './steps.ts';
import type { StepResult, Timed } from './steps.ts';

const STEPS = [
  'load',
  'backup',
  'verify',
  'restore',
  'fork',
  'export sequencefile',
  'import',
  'export hfile',
  'export jsonl',
  'export csv',
  'hbase',
];
/** Names of steps without the format of an export. */
const stepName = (step: string): string => step.split(' ')[0]!;

const { values: flags } = parseArgs({
  options: {
    mb: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '3' },
    'hbase-rows': { type: 'string', default: '200000' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    suite: { type: 'string', default: path.join(ROOT, 'scripts', 'interop') },
    dir: { type: 'string', default: path.join(ROOT, 'bench', 'peers', 'backup-data') },
    save: { type: 'string' },
  },
});
const megabytes = flags.quick ? 48 : Number(flags.mb);
const rounds = flags.quick ? 1 : Number(flags.rounds);
const hbaseRows = flags.quick ? 5_000 : Number(flags['hbase-rows']);
const only = flags.only?.split(',') ?? null;
const dir = path.resolve(flags.dir);
const name = flags.save ?? (flags.quick ? 'backup-quick' : 'backup');

const works: WorkResult[] = [];
const goals: Goal[] = [];
const notes: string[] = [];
const loadBefore = load();

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function child(step: string): StepResult {
  const config = JSON.stringify({ step, dir, megabytes, rounds });
  const file = path.join(import.meta.dirname, 'child.js');
  const run = spawnSync(process.execPath, [file, config], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (run.status !== 0) throw new Error(`step ${step} ended with ${run.status}`);
  return JSON.parse(run.stdout) as StepResult;
}

const ratios = (a: readonly Timed[], b: readonly Timed[], of: (time: Timed) => number): number[] =>
  a.map((time, i) => of(time) / of(b[i]!));

function note({ step, bytes, peakRssMiB, times }: StepResult): void {
  for (const [what, taken] of Object.entries(times)) {
    const part = what === 'incremental' ? bytes / 100 : bytes;
    const result = workResult(what, taken, part, peakRssMiB);
    works.push(result);
    say(
      `${what.padEnd(22)} ${result.ms.median.toFixed(0).padStart(8)} ms ${result.megabytesPerCoreSecond.toFixed(0).padStart(6)} MB/s a core, peak RSS ${peakRssMiB.toFixed(0)} MiB`,
    );
  }
  if (step !== 'backup') return;
  const { copy = [], full = [], incremental = [] } = times;
  const wall = (time: Timed): number => time.ms;
  const cpu = (time: Timed): number => time.cpuMs;
  goals.push(
    goalOf('full backup over a plain copy, time', ratios(full, copy, wall), { atMost: 1.5 }, '×'),
    goalOf('full backup over a plain copy, CPU', ratios(full, copy, cpu), { atMost: 1.5 }, '×'),
    goalOf(
      'incremental after 1 % over a full one, time',
      ratios(incremental, full, wall).map((ratio) => 100 * ratio),
      { atMost: 5 },
      '%',
    ),
    goalOf('peak RSS of backups', [peakRssMiB * 1.048576], { atMost: 200 }, 'MB'),
  );
}

async function besideHBase(): Promise<void> {
  const missing = missingForHBase();
  if (missing !== null) {
    notes.push(`HBase's Export was left out: ${missing}.`);
    return;
  }
  const theirs = await hbaseExports(flags.suite, dir, { rows: hbaseRows, rounds });
  const result = child('hbase-rows');
  // The first of each is warming up.
  const ours = result.times['export']!.slice(1);
  const bytes = sizeOf(path.join(dir, 'hbase-1'));
  works.push(workResult("HBase's Export", theirs, bytes, null));
  works.push(workResult('our export of the same rows', ours, bytes, result.peakRssMiB));
  const wall = ratios(theirs, ours, (time) => time.ms);
  const cpu = ratios(theirs, ours, (time) => time.cpuMs);
  goals.push(goalOf("SequenceFile export: HBase's time over ours", wall, { atLeast: 5 }, '×'));
  goals.push(goalOf("SequenceFile export: HBase's CPU over ours", cpu, { atLeast: 5 }, '×'));
  notes.push(
    `HBase's Export: ${hbaseRows} rows of 4 cells of 100 bytes, local job runner, one region server in the same process, whose processor time counts with it.`,
  );
}

function save(): void {
  const run: BackupRun = {
    taken: new Date().toISOString(),
    megabytes,
    rounds,
    loadBefore,
    machine: machine(),
    works,
    goals,
    notes,
  };
  const results = path.join(ROOT, 'bench', 'results');
  mkdirSync(results, { recursive: true });
  writeFileSync(path.join(results, `${name}.json`), `${JSON.stringify(run, null, 2)}\n`);
  writeFileSync(path.join(results, `${name}.md`), reportOf(run));
  const subtitle = `${megabytes} MB, ${rounds} rounds, ${run.taken.slice(0, 10)}`;
  const plots = path.join(ROOT, 'bench', 'plots');
  const isPeer = (what: string): boolean => what === 'copy' || what.startsWith('HBase');
  const bars = (of: (work: WorkResult) => number): Parameters<typeof plotOf>[2] =>
    works.map((work) => ({ name: work.what, value: of(work), ours: !isPeer(work.what) }));
  writeFileSync(
    path.join(plots, `${name}-time.svg`),
    plotOf(
      'Backups and exports',
      'ms, less is better',
      bars(({ ms }) => ms.median),
      subtitle,
    ),
  );
  writeFileSync(
    path.join(plots, `${name}-cpu.svg`),
    plotOf(
      'Backups and exports: work of a core',
      'MB/s a core, more is better',
      bars((work) => work.megabytesPerCoreSecond),
      subtitle,
    ),
  );
  process.stdout.write(`${reportOf(run)}\n`);
}

rmSync(dir, { recursive: true, force: true });
mkdirSync(dir, { recursive: true });
try {
  for (const step of STEPS) {
    if (only !== null && !only.includes(step) && !only.includes(stepName(step))) continue;
    if (step === 'hbase') await besideHBase();
    else note(child(step));
  }
  save();
} finally {
  rmSync(dir, { recursive: true, force: true });
}
