/**
 * `npm run bench`: all benches in one go, one after the other, and one summary of the goals against what was measured, in
 * bench/results/summary.json and summary.md, with the plots that the README shows.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { BENCHES, argumentsOf } from './arguments.ts';
import type { Bench, Options } from './arguments.ts';
import { ROOT } from '../engine/peers.ts';
import { durationText } from '../engine/plan.ts';
import { RESULTS, savePlots } from '../engine/save.ts';
import { backupVerdicts, verdictOf } from './evaluate.ts';
import { GOALS } from './goals.ts';
import { summaryPlots } from './plots.ts';
import { reportOf, summaryOf, withSpeedTable } from './report.ts';
import { readRuns } from './runs.ts';

const USAGE = `npm run bench -- [options]

Engine, micro-benchmarks, transactions, backups and, with --suite, the server beside Apache HBase; then the summary of
all goals in bench/results/summary.md.

  --quick            everything small, in some minutes: to see that it works, not to compare by (results are not kept
                     beside those of real runs, and the summary is only printed)
  --full             the engine at its largest
  --budget MINUTES   of all together: the engine gets three quarters of it, or half where the server is measured too
  --suite DIR        the harness of Apache HBase, with DIR/serve-reference
  --only a,b         of ${BENCHES.join(', ')}
  --summary          run nothing: only the summary of the results that are there
  --readme           write the table of the README anew too
  --dry              print what would be run, with the engine's estimate
`;

/** The engine prints its own estimate. */
const OTHERS =
  'Beside the engine: micro 2 min, txn 1 min, backup 5 to 10 min, the server with HBase 20 min; within a budget about half.\n';

/** Each in a process of its own, its output passed on. False: it failed, and the others go on. */
function run(bench: Bench, options: Options): boolean {
  const main = path.join(import.meta.dirname, '..', bench, 'main.js');
  const given = argumentsOf(bench, options);
  process.stderr.write(`\n== ${bench} ${given.join(' ')}\n`);
  if (options.dry && bench !== 'engine') return true;
  const { status } = spawnSync(process.execPath, [main, ...given], { stdio: 'inherit' });
  if (status !== 0) process.stderr.write(`${bench} failed (${status ?? 'killed'})\n`);
  return status === 0;
}

/** Writes the summary of the results that are there, unless they are those of a quick run. */
async function summarise(engine: string, isKept: boolean): Promise<void> {
  const runs = readRuns(RESULTS, engine);
  const verdicts = [...GOALS.map((goal) => verdictOf(goal, runs)), ...backupVerdicts(runs)];
  const taken = {
    engine: runs.engine?.taken ?? null,
    server: runs.server?.taken.slice(0, 10) ?? null,
    transactions: runs.txn === null ? null : 'as in txn/txn.json',
    backups: runs.backup?.taken.slice(0, 10) ?? null,
  };
  const summary = summaryOf(new Date().toISOString().slice(0, 10), taken, verdicts);
  process.stdout.write(`\n${reportOf(summary)}`);
  if (!isKept) return;
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(path.join(RESULTS, 'summary.json'), `${JSON.stringify(summary, null, 2)}\n`);
  writeFileSync(path.join(RESULTS, 'summary.md'), reportOf(summary));
  await savePlots(summaryPlots(verdicts, runs));
  if (!values.readme) return;
  const readme = path.join(ROOT, 'README.md');
  writeFileSync(readme, withSpeedTable(readFileSync(readme, 'utf8'), summary));
}

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    dry: { type: 'boolean', default: false },
    budget: { type: 'string' },
    suite: { type: 'string' },
    only: { type: 'string', default: '' },
    summary: { type: 'boolean', default: false },
    readme: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const { quick, full, dry } = values;
  const budgetMinutes = values.budget === undefined ? null : Number(values.budget);
  if (budgetMinutes !== null && !(budgetMinutes > 0))
    throw new RangeError(`--budget ${values.budget}`);
  const options: Options = {
    quick,
    full,
    dry,
    budgetMinutes,
    suite: values.suite ?? null,
    scratch: path.join(import.meta.dirname, '../../scratch'),
  };
  const only = values.only.split(',').filter((name) => name !== '');
  if (!values.summary && !quick) process.stderr.write(OTHERS);
  const start = performance.now();
  const failed: string[] = [];
  if (!values.summary) {
    for (const bench of BENCHES) {
      if (only.length > 0 && !only.includes(bench)) continue;
      if (bench === 'server' && options.suite === null) {
        process.stderr.write('\n== server: not run without --suite DIR\n');
      } else if (!run(bench, options)) failed.push(bench);
    }
  }
  if (dry) return;
  await summarise(quick ? 'engine-quick' : 'engine', !quick);
  process.stderr.write(`took ${durationText((performance.now() - start) / 1000)}\n`);
  if (failed.length > 0) {
    process.stderr.write(`failed: ${failed.join(', ')}\n`);
    process.exitCode = 1;
  }
}

await main();
