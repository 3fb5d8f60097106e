/** Which plots a run of the engine bench gives. Pure. */
import { peerGoalOf } from '../summary/goals.ts';
import { curvesPlot } from './charts/curves.ts';
import type { Curve } from './charts/curves.ts';
import { panelsPlot } from './charts/panels.ts';
import { GROWTH_REGIONS, GROWTH_SHARES, growthName } from './datasets.ts';
import type { RunResult, WorkloadResult } from './report.ts';

/** Workloads that belong together, by the beginnings of their names. */
const GROUPS: readonly {
  readonly name: string;
  readonly title: string;
  readonly starts: readonly string[];
}[] = [
  { name: 'durable', title: 'Durable writes', starts: ['durable-'] },
  { name: 'memory', title: 'Rows in memory', starts: ['memory-', 'memstore-'] },
  { name: 'load', title: 'Loading 100-byte rows', starts: ['files-load'] },
  { name: 'files', title: 'Rows in store files', starts: ['files-get', 'files-scan'] },
  { name: 'ycsb', title: 'YCSB A to F', starts: ['ycsb-'] },
  { name: 'versions', title: 'Old versions among 100 of a row', starts: ['versions-'] },
  { name: 'large', title: 'Values of 10 kB', starts: ['large-'] },
  {
    name: 'trouble',
    title: 'Opening, and work in the background',
    starts: ['reopen-', 'loop-', 'flush-', 'compaction-', 'open-', 'cells-'],
  },
  { name: 'regions', title: 'Many regions', starts: ['regions-'] },
];

export interface Plot {
  readonly name: string;
  readonly svg: string;
}

/** Under the plots: what they were taken on. */
export const noteOf = ({ machine, taken, mode }: RunResult): string =>
  `${machine.cpu}, ${machine.cores} cores, ${(machine.memoryBytes / 2 ** 30).toFixed(0)} GB, Node ${machine.node}; ${mode}; ${taken}`;

export function plotsOf(run: RunResult): Plot[] {
  const note = noteOf(run);
  const groups = GROUPS.flatMap(({ name, title, starts }): Plot[] => {
    const results = run.workloads.filter(
      ({ id, subjects }) => subjects.length > 0 && starts.some((start) => id.startsWith(start)),
    );
    if (results.length === 0) return [];
    const panels = results.map((result) => ({
      result,
      goal: goalOf(result),
    }));
    return [{ name, svg: panelsPlot(title, panels, note) }];
  });
  const growth = growthPlot(run);
  return growth === null ? groups : [...groups, { name: 'growth', svg: growth }];
}

function goalOf({ id }: WorkloadResult): number | null {
  const bound = peerGoalOf(id)?.bound;
  return bound !== undefined && 'least' in bound ? bound.least : null;
}

/** Reads, writes and memory over the number of rows, a curve a number of regions; null: none was measured. */
export function growthPlot(run: RunResult): string | null {
  const curves = (line: string): Curve[] =>
    GROWTH_REGIONS.flatMap((regions) => {
      const points = GROWTH_SHARES.flatMap((share) => {
        const id = `${growthName(share, regions)}-${line}`;
        const found = run.workloads.find((workload) => workload.id === id);
        const cellar = found?.subjects.find(({ subject }) => subject === 'cellar');
        return cellar === undefined
          ? []
          : [{ x: cellar.details['rows'] ?? 0, y: cellar.spread.median }];
      });
      return points.length === 0
        ? []
        : [{ name: regions === 1 ? '1 region' : `${regions} regions`, points }];
    });
  const reads = curves('reads');
  const writes = curves('writes');
  if (reads.length === 0) return null;
  // The goal: no less than the smallest store's figure over 1.5.
  const goal = (of: readonly Curve[]): { value: number; what: string } => ({
    value: Math.min(...of.map(({ points }) => points[0]!.y)) / 1.5,
    what: 'goal: stay above',
  });
  const panels = [
    { title: 'Hot reads', unit: 'op/s', curves: reads, goal: goal(reads) },
    { title: 'Hot writes, durable', unit: 'op/s', curves: writes, goal: goal(writes) },
    {
      title: 'Memory of the process',
      unit: 'MiB',
      curves: curves('rss'),
      goal: { value: 256, what: 'goal: stay below' },
    },
  ];
  const hot = run.sizes.growthHotRows.toLocaleString('en');
  return curvesPlot(panels, {
    title: 'Growth: the same hot rows in larger and larger stores',
    subtitle: `Cellar with the memory it is shipped with; ${hot} hot rows of 100 bytes, read by promise (32) and written durably (64 writers)`,
    axis: 'rows in the store',
    note: noteOf(run),
  });
}
