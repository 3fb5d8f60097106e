/** The plots of the README: all ratios and their goals, and the server beside Apache HBase. Pure. */
import { figure } from '../engine/report.ts';
import { ratiosPlot } from '../engine/charts/ratios.ts';
import type { RatioBar } from '../engine/charts/ratios.ts';
import { noteOf } from '../engine/plots.ts';
import type { Plot } from '../engine/plots.ts';
import { spreadOf } from '../engine/stats.ts';
import { GOALS } from './goals.ts';
import type { Verdict } from './evaluate.ts';
import type { Runs, ServerFigures } from './runs.ts';

export function summaryPlots(verdicts: readonly Verdict[], runs: Runs): Plot[] {
  const plots: Plot[] = [];
  const embedded = peerBars(verdicts);
  if (runs.engine !== null && embedded.length > 0) {
    const svg = ratiosPlot(embedded, {
      title: 'Cellar beside the best embedded peer of each work',
      subtitle:
        'Of lmdb, better-sqlite3, classic-level and rocksdb the one that is fastest at it; same durability, same memory, same rows',
      axis: 'times as fast as the best peer (right of 1: Cellar is ahead)',
      note: noteOf(runs.engine),
    });
    plots.push({ name: 'speed-embedded', svg });
  }
  const server = serverBars(runs);
  if (server.length > 0) {
    const svg = ratiosPlot(server, {
      title: 'Cellar’s server beside Apache HBase 2.6, same Java client',
      subtitle:
        'Operations a second at 1 and 32 threads; Cellar at SYNC_WAL, HBase at hflush, which promise the same',
      axis: 'times HBase’s throughput (right of 1: Cellar is ahead)',
      note: `goal: 3 × HBase, or 0.8 × a null server with canned answers; ${runs.server!.taken.slice(0, 10)}`,
    });
    plots.push({ name: 'speed-server', svg });
  }
  return plots;
}

/** The goals of issue 10 that are ratios to the best peer, as far as they were measured. */
export function peerBars(verdicts: readonly Verdict[]): RatioBar[] {
  const ids = GOALS.filter(
    ({ issue, measure }) => issue === 10 && measure.kind === 'toBestPeer',
  ).map(({ id }) => id);
  return verdicts
    .filter(({ id, measured }) => ids.includes(id) && measured !== null)
    .map(({ work, measured, bound, detail }) => ({
      work,
      ratio: measured,
      goal: 'least' in bound ? bound.least : bound.most,
      detail,
    }));
}

function serverBars({ server }: Runs): RatioBar[] {
  const of = (name: string): ServerFigures | undefined =>
    server?.servers.find((one) => one.name === name);
  const [cellar, hbase, none] = [of('cellar'), of('hbase'), of('null')];
  if (cellar === undefined || hbase === undefined) return [];
  const rate = (one: ServerFigures | undefined, work: string): number | null => {
    const samples = one?.works[work] ?? [];
    return samples.length === 0 ? null : spreadOf(samples.map((sample) => sample.rate)).median;
  };
  return Object.keys(cellar.works).flatMap((work): RatioBar[] => {
    const [ours, theirs, most] = [rate(cellar, work), rate(hbase, work), rate(none, work)];
    if (ours === null || theirs === null) return [];
    // Whichever of the two goals is nearer.
    const goal = most === null ? 3 : Math.min(3, (0.8 * most) / theirs);
    const detail = `${figure(ours)}/s; HBase ${figure(theirs)}${most === null ? '' : `, null ${figure(most)}`}`;
    return [{ work: titleOf(work), ratio: ours / theirs, goal, detail }];
  });
}

/** `put-32` as people say it. */
function titleOf(work: string): string {
  const at = work.lastIndexOf('-');
  const threads = work.slice(at + 1);
  return `${work.slice(0, at)}, ${threads} ${threads === '1' ? 'thread' : 'threads'}`;
}
