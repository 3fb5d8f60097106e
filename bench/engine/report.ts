/** A run's results as JSON, as a table, and as plots. Pure. */
import type { Limits } from './limits.ts';
import type { Machine } from './machine.ts';
import { bestPeer, ratioOf, spreadOf } from './stats.ts';
import type { Spread } from './stats.ts';
import { MEBIBYTE } from './subject.ts';
import type { Memory } from './subject.ts';
import type { Sizes, WorkloadHead } from './workload.ts';

export interface SubjectResult {
  readonly subject: string;
  readonly rounds: readonly number[];
  readonly spread: Spread;
  /** Median over the median of the best peer, above 1 better; null for want of a peer. */
  readonly ratioToBestPeer: number | null;
  /** Median over that of `bare`; null where there is no such limit. */
  readonly ratioToBare: number | null;
  /** Of the last round. */
  readonly details: Readonly<Record<string, number>>;
  readonly rssBytes: number;
}

export interface WorkloadResult {
  readonly id: string;
  readonly title: string;
  readonly unit: WorkloadHead['unit'];
  readonly better: WorkloadHead['better'];
  readonly subjects: readonly SubjectResult[];
  readonly short: string;
  /** What the machine allows at most, measured in the same run, in the unit of the values; null: nothing was measured. */
  readonly limit: { readonly what: string; readonly value: number } | null;
  /** What each store was given; null: the workload opens none. */
  readonly memory: Memory | null;
  /** Stores that were left out, and why. */
  readonly without: Readonly<Record<string, string>>;
}

export interface RunResult {
  readonly taken: string;
  readonly mode: string;
  readonly budgetMinutes: number | null;
  readonly estimatedSeconds: number;
  readonly note: string | null;
  readonly loadBefore: number;
  readonly sizes: Sizes;
  readonly tookSeconds: number;
  readonly limits: Limits | null;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string | null>>;
  /** How each store is opened. */
  readonly settings: Readonly<Record<string, string>>;
  readonly workloads: readonly WorkloadResult[];
}

export interface RoundValues {
  readonly subject: string;
  readonly rounds: readonly number[];
  readonly details: Readonly<Record<string, number>>;
  readonly rssBytes: number;
}

export function workloadResult(
  workload: WorkloadHead,
  measured: readonly RoundValues[],
  without: Readonly<Record<string, string>>,
  {
    limit = null,
    memory = null,
  }: { limit?: WorkloadResult['limit']; memory?: WorkloadResult['memory'] } = {},
): WorkloadResult {
  const medians = new Map(measured.map((m) => [m.subject, spreadOf(m.rounds).median]));
  const best = bestPeer(workload.better, medians);
  const ratio = (value: number, other: number | undefined): number | null =>
    other === undefined ? null : ratioOf(workload.better, value, other);
  return {
    id: workload.id,
    title: workload.title,
    short: workload.short ?? workload.title,
    limit,
    memory,
    unit: workload.unit,
    better: workload.better,
    subjects: measured.map((m) => {
      const spread = spreadOf(m.rounds);
      return {
        ...m,
        spread,
        ratioToBestPeer: best === null ? null : ratio(spread.median, medians.get(best)),
        ratioToBare: ratio(spread.median, medians.get('bare')),
      };
    }),
    without,
  };
}

/** Three significant digits and thousands: 136,000; 0.24. */
export function figure(value: number): string {
  if (value === 0) return '0';
  const rounded = Number(value.toPrecision(3));
  return rounded.toLocaleString('en', { maximumFractionDigits: 3 });
}

/** A Markdown table with its columns aligned, as the formatter of the sources has them. */
export function aligned(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(3, ...all.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

/** The table of one workload, in Markdown. */
export function tableOf(result: WorkloadResult): string {
  const head = ['store', result.unit, 'lowest – highest', 'to the best peer', 'to bare', 'more'];
  const rows = result.subjects.map((s) => [
    s.subject === 'bare' ? 'bare (limit)' : s.subject,
    figure(s.spread.median),
    `${figure(s.spread.min)} – ${figure(s.spread.max)}`,
    ratioText(s.ratioToBestPeer),
    ratioText(s.ratioToBare),
    detailsText(s.details),
  ]);
  const missing = Object.entries(result.without).map(([name, why]) => [name, '–', '', '', '', why]);
  const body = aligned(head, [...rows, ...missing]);
  return `### ${result.title} (${result.better} is better)\n\n${memoryText(result)}${limitText(result)}${body}\n`;
}

function memoryText({ memory }: WorkloadResult): string {
  if (memory === null) return '';
  const { cacheBytes, writeBufferBytes } = memory;
  const mebibytes = (bytes: number): string => `${count(Math.round(bytes / MEBIBYTE))} MiB`;
  return `Memory of each store: cache ${mebibytes(cacheBytes)}, write buffer ${mebibytes(writeBufferBytes)}.\n\n`;
}

function limitText({ limit, unit, better, subjects }: WorkloadResult): string {
  if (limit === null) return '';
  const cellar = subjects.find(({ subject }) => subject === 'cellar');
  const share =
    cellar === undefined
      ? ''
      : `; cellar: ${ratioOf(better, cellar.spread.median, limit.value).toFixed(2)} of it`;
  return `Limit of the machine: ${figure(limit.value)} ${unit} (${limit.what})${share}.\n\n`;
}

/** The limits of the machine, in Markdown. */
export function limitsText(limits: Limits): string {
  const perSecond = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB/s`;
  const read = limits.diskReadBytesPerSecond;
  return [
    `sync loop ${figure(limits.syncsPerSecond)}/s`,
    `memcpy ${perSecond(limits.copyBytesPerSecond)}`,
    `copies of 116 bytes from random places ${figure(limits.randomCopiesPerSecond)}/s`,
    `CRC-32C ${perSecond(limits.checksumBytesPerSecond)}`,
    `disk, sequential: ${perSecond(limits.diskWriteBytesPerSecond)} written and synced` +
      (read === null ? '' : `, ${perSecond(read)} read past the page cache`),
    `loopback ${figure(limits.loopbackTripsPerSecond)} round trips/s`,
  ].join('; ');
}

const ratioText = (ratio: number | null): string => (ratio === null ? '' : `${ratio.toFixed(2)} ×`);

function detailsText(details: Readonly<Record<string, number>>): string {
  return Object.entries(details)
    .filter(([name]) => name !== 'byteSum')
    .map(([name, value]) => `${name} ${figure(value)}`)
    .join(', ');
}

const count = (value: number): string => value.toLocaleString('en');

/** The whole report, in Markdown. */
export function reportOf(run: RunResult): string {
  const { machine } = run;
  const limit = machine.cpuLimit === null ? '' : `, limited to ${machine.cpuLimit} cores`;
  const memory = (machine.memoryBytes / 2 ** 30).toFixed(0);
  const versions = Object.entries(run.versions).map(
    ([name, version]) => `${name} ${version ?? '(not installed)'}`,
  );
  return [
    `Taken ${run.taken}, ${run.mode}, in ${(run.tookSeconds / 3600).toFixed(2)} hours. Rows of 16 + 100 bytes: ${count(run.sizes.rows)} in memory, ${count(run.sizes.fileRows)} in store files.`,
    `${machine.cpu}, ${machine.cores} cores${limit}, ${memory} GB, ${machine.system}, Node ${machine.node}.`,
    `${versions.join(', ')}. Load before the run: ${run.loadBefore.toFixed(1)}.`,
    ...(run.limits === null
      ? []
      : ['', `Limits of the machine, measured in the same run: ${limitsText(run.limits)}.`]),
    ...(run.note === null ? [] : ['', `Note: ${run.note}`]),
    '',
    ...run.workloads.map(tableOf),
  ].join('\n');
}
