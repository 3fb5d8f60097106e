/**
 * `npm run bench:txn`: the oracle and two-phase ingestion, beside plain writes and a bare HTTP server in the same run. Writes
 * JSON and a plot to bench/results/txn. `--seconds N` is the time of each figure (default 3), `--quick` a tenth of all, `--gb N` the
 * size of the large transaction (default 1; 0: none).
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { intervals } from './intervals.ts';
import type { IntervalPoint } from './intervals.ts';
import { ingestion, preparedLatency } from './ingestion.ts';
import { largeTransaction } from './large.ts';
import type { LargeFigures } from './large.ts';
import { allocations, httpRates } from './oracle_rates.ts';
import { plotOfIntervals } from './plot.ts';

const argument = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const isQuick = process.argv.includes('--quick');
const seconds = Number(argument('--seconds') ?? (isQuick ? 0.5 : 3));
const gb = Number(argument('--gb') ?? (isQuick ? 0.1 : 1));
const out = argument('--out') ?? path.resolve('bench/results/txn');

const dir = mkdtempSync(path.join(tmpdir(), 'cellar-bench-txn-'));
try {
  const report = await measure();
  mkdirSync(out, { recursive: true });
  writeFileSync(path.join(out, 'txn.json'), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(path.join(out, 'intervals.svg'), plotOfIntervals(report.intervals));
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}

interface Report {
  readonly node: string;
  readonly seconds: number;
  readonly figures: Readonly<Record<string, number>>;
  readonly intervals: readonly IntervalPoint[];
  readonly large: LargeFigures | null;
}

async function measure(): Promise<Report> {
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  say('allocations in the process');
  const inProcess = await allocations(path.join(dir, 'oracle'), seconds);
  say('stamps over HTTP');
  const http = await httpRates(path.join(dir, 'http'), seconds);
  say('ingestion');
  const rows = isQuick ? 20_000 : 200_000;
  const loaded = await ingestion(path.join(dir, 'ingest'), rows);
  say('commits with 1,000 prepared');
  const latency = await preparedLatency(path.join(dir, 'prepared'), isQuick ? 100 : 1000);
  say('checkpoint intervals');
  // A real second of an interval is a fiftieth here.
  const scale = 50;
  const curve = await intervals(path.join(dir, 'intervals'), scale, isQuick ? 1.5 : 6);
  say(`a transaction of ${gb} GB`);
  return {
    node: process.version,
    seconds,
    figures: { ...inProcess, ...http, ...loaded, ...latency, intervalScale: scale },
    intervals: curve,
    large: gb > 0 ? await largeTransaction(gb) : null,
  };
}
