/** What more cells and more files cost: opening, memory, and the work for one cell. */
import { Random, keyOf } from '../rows.ts';
import { MEBIBYTE, SHIPPED_MEMORY } from '../subject.ts';
import { RssWatch } from '../rss_watch.ts';
import { rateAsync } from '../workload.ts';
import type { RunSettings, Sizes, Workload } from '../workload.ts';
import { found, rateOfScans } from './reads.ts';

const budgetMiB = (SHIPPED_MEMORY.cacheBytes + SHIPPED_MEMORY.writeBufferBytes) / MEBIBYTE;
export const OPEN_MANY_FILES: Workload = {
  id: 'open-many-files',
  title:
    'opening many store files in many regions (1,000 in 100, less in --quick), until the first read is answered',
  unit: 'ms',
  better: 'less',
  data: 'many-files',
  autoCompact: false,
  countsOpening: true,
  rivals: [],
  stores: ['cellar'],
  supports: (subject) => subject.name === 'cellar',
  run: async (subject, settings) => {
    const { regions, filesPerRegion } = settings;
    const middle = Math.floor(regions / 2);
    const last = `user${String(middle).padStart(4, '0')}${String(filesPerRegion - 1).padStart(8, '0')}`;
    const start = performance.now();
    found(await subject.get!(Buffer.from(last)));
    const value = performance.now() - start;
    return { value, details: { files: regions * filesPerRegion, regions } };
  },
};

interface CellsSet {
  readonly prefix: string;
  readonly what: string;
  readonly data: string;
  readonly rows: (sizes: Sizes) => number;
}

/** The same on stores of 1 M and of 10 M cells: to compare the one with the other. */
function workloadsOf(set: CellsSet): Workload[] {
  const base = {
    data: set.data,
    isHeavy: true,
    rivals: ['lmdb'],
    stores: ['cellar', 'lmdb'],
  };
  const details = (settings: RunSettings): Record<string, number> => ({
    rows: set.rows(settings),
    loadedPerSecond: settings.loadedPerSecond,
  });
  return [
    {
      ...base,
      id: `${set.prefix}open`,
      title: `opening a store of ${set.what} cells, until the first read is answered`,
      unit: 'ms',
      better: 'less',
      countsOpening: true,
      supports: () => true,
      run: async (subject, settings) => {
        const start = performance.now();
        found(await subject.get!(keyOf(set.rows(settings) - 1)));
        return { value: performance.now() - start, details: details(settings) };
      },
    },
    {
      ...base,
      id: `${set.prefix}scan`,
      title: `full scan in batches of ${set.what} cells, with the memory that Cellar is shipped with`,
      unit: 'rows/s',
      better: 'more',
      further: [
        {
          id: `${set.prefix}rss`,
          title: `memory of the process at most meanwhile (Cellar's budget: ${budgetMiB} MiB)`,
          unit: 'MiB',
          better: 'less',
        },
      ],
      supports: () => true,
      run: async (subject, settings) => {
        const scan = subject.scanBatches?.bind(subject) ?? subject.scanEach!.bind(subject);
        const rss = new RssWatch();
        const rows = set.rows(settings);
        const measure = await rateOfScans((sum) => scan(sum.row), rows, settings);
        const value = rss.stop() / MEBIBYTE;
        const also = { [`${set.prefix}rss`]: { value, details: { beforeMiB: rss.beforeMiB } } };
        return { ...measure, details: { ...measure.details, ...details(settings) }, also };
      },
    },
    {
      ...base,
      id: `${set.prefix}get`,
      title: `reads of one row by promise, 32 at once, of ${set.what} cells, with the memory that Cellar is shipped with`,
      unit: 'op/s',
      better: 'more',
      supports: (subject) => subject.get !== undefined,
      run: async (subject, settings) => {
        const random = new Random(3);
        const rows = set.rows(settings);
        const step = async (): Promise<number> => {
          found(await subject.get!(keyOf(random.int(rows))));
          return 1;
        };
        return { ...(await rateAsync(step, 32, settings)), details: details(settings) };
      },
    },
  ];
}

export const CELLS: readonly Workload[] = [
  ...workloadsOf({
    prefix: 'cells-1m-',
    what: '1 M',
    data: 'cells-small',
    rows: ({ cellsSmall }) => cellsSmall,
  }),
  ...workloadsOf({
    prefix: 'cells-10m-',
    what: '10 M',
    data: 'cells-large',
    rows: ({ cellsLarge }) => cellsLarge,
  }),
];
