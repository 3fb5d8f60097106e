/** The backup bench's results as a table and as plots. Pure. */
import { spreadOf } from '../engine/stats.ts';
import type { Spread } from '../engine/stats.ts';
import type { Machine } from '../engine/machine.ts';
import type { Timed } from './steps.ts';

/** One piece of work over all rounds. */
export interface WorkResult {
  readonly what: string;
  readonly ms: Spread;
  /** Megabytes of store files a second, by the median; and by a second of one core. */
  readonly megabytesPerSecond: number;
  readonly megabytesPerCoreSecond: number;
  readonly cpuMs: Spread;
  /** Of the process that did it, which did nothing else but the rounds. */
  readonly peakRssMiB: number | null;
}

/** What is to be reached, and what was. */
export interface Goal {
  readonly goal: string;
  readonly wanted: number;
  readonly measured: Spread;
  readonly unit: string;
  readonly reached: boolean;
}

export interface BackupRun {
  readonly taken: string;
  readonly megabytes: number;
  readonly rounds: number;
  readonly loadBefore: number;
  readonly machine: Machine;
  readonly works: readonly WorkResult[];
  readonly goals: readonly Goal[];
  readonly notes: readonly string[];
}

export function workResult(
  what: string,
  times: readonly Timed[],
  bytes: number,
  peakRssMiB: number | null,
): WorkResult {
  const ms = spreadOf(times.map((time) => time.ms));
  const cpuMs = spreadOf(times.map((time) => time.cpuMs));
  const rate = (milliseconds: number): number => bytes / 1000 / milliseconds;
  return {
    what,
    ms,
    cpuMs,
    megabytesPerSecond: rate(ms.median),
    megabytesPerCoreSecond: rate(cpuMs.median),
    peakRssMiB,
  };
}

/** Of ratios that shall be at most (or at least) `wanted`. */
export function goalOf(
  goal: string,
  values: readonly number[],
  bound: { readonly atMost: number } | { readonly atLeast: number },
  unit: string,
): Goal {
  const measured = spreadOf(values);
  const wanted = 'atMost' in bound ? bound.atMost : bound.atLeast;
  const reached = 'atMost' in bound ? measured.median <= wanted : measured.median >= wanted;
  return { goal, wanted, measured, unit, reached };
}

const round = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);

export function reportOf(run: BackupRun): string {
  const works = run.works.map(
    (work) =>
      `| ${work.what} | ${round(work.ms.median)} | ${round(work.ms.min)} – ${round(work.ms.max)} | ${round(work.megabytesPerSecond)} | ${round(work.megabytesPerCoreSecond)} | ${round(work.cpuMs.median)} | ${work.peakRssMiB === null ? '' : round(work.peakRssMiB)} |`,
  );
  const goals = run.goals.map(
    ({ goal, wanted, measured, unit, reached }) =>
      `| ${goal} | ${wanted} ${unit} | ${round(measured.median)} ${unit} | ${round(measured.min)} – ${round(measured.max)} | ${reached ? 'yes' : '**no**'} |`,
  );
  return [
    '# Backups, exports and restores',
    '',
    `Taken ${run.taken}; ${run.megabytes} MB of store files, ${run.rounds} rounds (medians); load before ${run.loadBefore.toFixed(1)}; ${run.machine.cpu}, ${run.machine.cores} cores, Node ${run.machine.node}.`,
    'A full backup is copied, checksummed and synced; the plain copy reads, writes and syncs the same files, in alternation with it.',
    '',
    '| goal | wanted | measured | lowest – highest | reached |',
    '| --- | --- | --- | --- | --- |',
    ...goals,
    '',
    '| work | ms | lowest – highest | MB/s | MB/s a core | CPU ms | peak RSS, MiB |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...works,
    '',
    ...run.notes.map((note) => `- ${note}`),
    '',
  ].join('\n');
}

const WIDTH = 720;
const LEFT = 170;
const RIGHT = 110;
const ROW = 30;
const BAR = 16;
const TOP = 54;
const BOTTOM = 26;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Bars, the longest as wide as the plot. */
export function plotOf(
  title: string,
  unit: string,
  bars: readonly { readonly name: string; readonly value: number; readonly ours: boolean }[],
  note: string,
): string {
  const height = TOP + bars.length * ROW + BOTTOM;
  const most = Math.max(...bars.map(({ value }) => value), 1e-9);
  const drawn = bars.map(({ name, value, ours }, i) => {
    const y = TOP + i * ROW;
    const width = (value / most) * (WIDTH - LEFT - RIGHT);
    return [
      `<text x="${LEFT - 8}" y="${y + 12}" text-anchor="end">${escaped(name)}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" fill="${ours ? '#b5482f' : '#5b7fa6'}"/>`,
      `<text x="${(LEFT + width + 8).toFixed(1)}" y="${y + 12}">${round(value)}</text>`,
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12" role="img">
<title>${escaped(title)}</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="12" y="22" font-size="15">${escaped(title)}</text>
<text x="12" y="40" fill="#555">${escaped(unit)}</text>
${drawn.join('\n')}
<text x="12" y="${height - 8}" fill="#777" font-size="10">${escaped(note)}</text>
</svg>
`;
}
