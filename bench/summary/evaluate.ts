/** Goals against what was measured. Pure. */
import { figure } from '../engine/report.ts';
import type { SubjectResult, WorkloadResult } from '../engine/report.ts';
import { bestPeer, ratioOf, spreadOf } from '../engine/stats.ts';
import { GROWTH_REGIONS, GROWTH_SHARES, growthName } from '../engine/datasets.ts';
import type { Goal, Measurement } from './goals.ts';
import type { Runs, ServerFigures, ServerSample } from './runs.ts';

export interface Verdict {
  readonly id: string;
  readonly issue: number;
  readonly work: string;
  readonly unit: string;
  /** At least, or at most. */
  readonly bound: Goal['bound'];
  readonly aim: number | null;
  /** Null: it was not measured. */
  readonly measured: number | null;
  readonly met: boolean | null;
  /** How many times better it would have to be; null where it is met or not measured. */
  readonly missedBy: number | null;
  /** The figures behind it. */
  readonly detail: string;
}

interface Found {
  readonly value: number;
  readonly detail: string;
}

export function verdictOf(goal: Goal, runs: Runs): Verdict {
  const found = measured(goal.measure, runs);
  const { id, issue, work, unit, bound, aim } = goal;
  const value = found === null || !Number.isFinite(found.value) ? null : found.value;
  const met = value === null ? null : meets(bound, value);
  return {
    id,
    issue,
    work,
    unit,
    bound,
    aim: aim ?? null,
    measured: value,
    met,
    missedBy: value === null || met === true ? null : missedBy(bound, value),
    detail: found?.detail ?? 'not measured',
  };
}

export const meets = (bound: Goal['bound'], value: number): boolean =>
  'least' in bound ? value >= bound.least : value <= bound.most;

const missedBy = (bound: Goal['bound'], value: number): number =>
  'least' in bound ? bound.least / value : value / bound.most;

/** The goals that stand with the results of bench:backup. */
export function backupVerdicts({ backup }: Runs): Verdict[] {
  return (backup?.goals ?? []).map((one, i): Verdict => {
    const value = one.measured.median;
    const least = one.reached === value >= one.wanted;
    const bound = least ? { least: one.wanted } : { most: one.wanted };
    return {
      id: `backup-${i}`,
      issue: 8,
      work: one.goal,
      unit: one.unit,
      bound,
      aim: null,
      measured: value,
      met: one.reached,
      missedBy: one.reached ? null : missedBy(bound, value),
      detail: '',
    };
  });
}

function measured(measure: Measurement, runs: Runs): Found | null {
  switch (measure.kind) {
    case 'toBestPeer':
      return toBestPeer(workloadOf(runs, measure.workload));
    case 'overBare':
      return overBare(workloadOf(runs, measure.workload));
    case 'value':
      return ownValue(workloadOf(runs, measure.workload));
    case 'growthLoss':
      return growthLoss(measure.line, runs);
    case 'growthMemory':
      return growthMemory(runs);
    case 'txn': {
      const value = runs.txn?.figures[measure.figure];
      return value === undefined ? null : { value, detail: '' };
    }
    default:
      return ofServers(measure.kind, runs);
  }
}

const workloadOf = (runs: Runs, id: string): WorkloadResult | undefined =>
  runs.engine?.workloads.find((workload) => workload.id === id);

const ofSubject = (workload: WorkloadResult | undefined, name: string): SubjectResult | undefined =>
  workload?.subjects.find(({ subject }) => subject === name);

const told = (name: string, value: number, unit: string): string =>
  `${name} ${figure(value)} ${unit}`;

function toBestPeer(workload: WorkloadResult | undefined): Found | null {
  const cellar = ofSubject(workload, 'cellar');
  if (workload === undefined || cellar === undefined) return null;
  const medians = new Map(workload.subjects.map((one) => [one.subject, one.spread.median]));
  const best = bestPeer(workload.better, medians);
  if (best === null) return null;
  const peer = medians.get(best)!;
  return {
    value: ratioOf(workload.better, cellar.spread.median, peer),
    detail: `${figure(cellar.spread.median)} ${workload.unit}; ${best} ${figure(peer)}`,
  };
}

function overBare(workload: WorkloadResult | undefined): Found | null {
  const cellar = ofSubject(workload, 'cellar');
  const bare = ofSubject(workload, 'bare');
  if (workload === undefined || cellar === undefined || bare === undefined) return null;
  return {
    value: 1 / ratioOf(workload.better, cellar.spread.median, bare.spread.median),
    detail: `${figure(cellar.spread.median)} ${workload.unit}; bare ${figure(bare.spread.median)}`,
  };
}

function ownValue(workload: WorkloadResult | undefined): Found | null {
  const cellar = ofSubject(workload, 'cellar');
  return cellar === undefined ? null : { value: cellar.spread.median, detail: '' };
}

function growthLoss(line: 'reads' | 'writes', runs: Runs): Found | null {
  const median = (share: number, regions: number): number | undefined =>
    ofSubject(workloadOf(runs, `${growthName(share, regions)}-${line}`), 'cellar')?.spread.median;
  let worst: Found | null = null;
  for (const regions of GROWTH_REGIONS) {
    const small = median(GROWTH_SHARES[0]!, regions);
    const large = median(GROWTH_SHARES.at(-1)!, regions);
    if (small === undefined || large === undefined) continue;
    const value = small / large;
    if (worst !== null && value <= worst.value) continue;
    worst = {
      value,
      detail: `worst at ${regions} regions: ${figure(small)}/s, then ${figure(large)}/s`,
    };
  }
  return worst;
}

function growthMemory(runs: Runs): Found | null {
  let worst: Found | null = null;
  for (const share of GROWTH_SHARES) {
    for (const regions of GROWTH_REGIONS) {
      const id = `${growthName(share, regions)}-rss`;
      const value = ofSubject(workloadOf(runs, id), 'cellar')?.spread.max;
      if (value === undefined || (worst !== null && value <= worst.value)) continue;
      worst = {
        value,
        detail: `at ${Math.round(50 * share)} parts of the rows, ${regions} regions`,
      };
    }
  }
  return worst;
}

const medianOf = (
  server: ServerFigures | undefined,
  work: string,
  of: (sample: ServerSample) => number,
): number => {
  const samples = server?.works[work] ?? [];
  return samples.length === 0 ? NaN : spreadOf(samples.map(of)).median;
};

type ServerKind = 'serverCpu' | 'serverThroughput' | 'serverStart' | 'serverMemory';

function ofServers(kind: ServerKind, { server }: Runs): Found | null {
  const of = (name: string): ServerFigures | undefined =>
    server?.servers.find((one) => one.name === name);
  const [cellar, hbase, none] = [of('cellar'), of('hbase'), of('null')];
  if (cellar === undefined || hbase === undefined) return null;
  if (kind === 'serverStart') {
    const [ours, theirs] = [cellar.firstAnswerMs ?? NaN, hbase.firstAnswerMs ?? NaN];
    return {
      value: theirs / ours,
      detail: `${told('cellar', ours, 'ms')}, ${told('hbase', theirs, 'ms')}`,
    };
  }
  if (kind === 'serverMemory') {
    const mebibytes = (bytes: number): number => bytes / 2 ** 20;
    return {
      value: cellar.rssBytes / hbase.rssBytes,
      detail: `${told('cellar', mebibytes(cellar.rssBytes), 'MiB')}, ${told('hbase', mebibytes(hbase.rssBytes), 'MiB')}`,
    };
  }
  const works = Object.keys(cellar.works);
  if (kind === 'serverCpu') {
    const share = (work: string): number =>
      medianOf(cellar, work, ({ cpuUs }) => cpuUs) / medianOf(hbase, work, ({ cpuUs }) => cpuUs);
    return worstOf(works, share, 'most', 0.333);
  }
  const rate = (one: ServerFigures | undefined, work: string): number =>
    medianOf(one, work, (sample) => sample.rate);
  const reached = (work: string): number => {
    const toHbase = rate(cellar, work) / rate(hbase, work) / 3;
    const toNull = rate(cellar, work) / rate(none, work) / 0.8;
    return Number.isNaN(toNull) ? toHbase : Math.max(toHbase, toNull);
  };
  return worstOf(works, reached, 'least', 1);
}

/** The worst operation, and all that miss the bound. */
function worstOf(
  works: readonly string[],
  of: (work: string) => number,
  bound: 'least' | 'most',
  wanted: number,
): Found | null {
  const values = works.map((work) => ({ work, value: of(work) })).filter(({ value }) => value > 0);
  if (values.length === 0) return null;
  const sign = bound === 'least' ? 1 : -1;
  values.sort((a, b) => sign * (a.value - b.value));
  const missed = values.filter(({ value }) => sign * (value - wanted) < 0);
  const names = missed.map(({ work, value }) => `${work} ${value.toFixed(2)}`);
  return {
    value: values[0]!.value,
    detail: `${missed.length} of ${values.length} miss it${names.length > 0 ? `: ${names.join(', ')}` : ''}`,
  };
}
