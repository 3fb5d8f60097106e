/** What is in memory: reads before any flush, and the memstore by itself. */
import type { MemstoreModule } from '../memstore_load.ts';
import { loadMemstores } from '../memstore_load.ts';
import { MEBIBYTE } from '../subject.ts';
import { builtModule } from '../subjects/cellar.ts';
import type { Measure, Sizes, Workload } from '../workload.ts';
import { readsOf } from './reads.ts';

export const MEMORY_READS: readonly Workload[] = readsOf({
  prefix: 'memory-',
  where: 'from memory (cellar: before any flush)',
  data: 'memory',
  memory: () => ({ cacheBytes: 256 * MEBIBYTE, writeBufferBytes: 1024 * MEBIBYTE }),
  rows: ({ rows }) => rows,
  place: 'in memory',
});

function memstoreWorkload(id: string, what: string, cells: (sizes: Sizes) => number): Workload {
  return {
    id,
    title: `${what} random inserts into the memstore by itself (no log; bare: the same cells copied behind each other)`,
    unit: 'cells/s',
    better: 'more',
    rivals: [],
    seconds: (sizes) => sizes.warmMs / 1000 + (4 * cells(sizes)) / 500_000,
    stores: ['cellar', 'bare'],
    further: [
      {
        id: `${id}-overhead`,
        title: `bytes that the memstore needs for a cell beyond the cell's own, ${what} cells`,
        unit: 'bytes',
        better: 'less',
      },
      {
        id: `${id}-pause`,
        title: `longest pause between two of ${what} inserts`,
        unit: 'ms',
        better: 'less',
      },
    ],
    supports: () => true,
    run: async (subject, settings): Promise<Measure> => {
      const { Memstore } = await builtModule<MemstoreModule>('region/memstore/index.js');
      const isBare = subject.name === 'bare';
      const load = loadMemstores(isBare ? null : Memstore, cells(settings), settings.warmMs);
      const { cellsPerSecond, overheadBytes, longestPauseMs } = load;
      const also = {
        [`${id}-overhead`]: { value: overheadBytes },
        [`${id}-pause`]: { value: longestPauseMs, details: { p9999Ms: load.p9999PauseMs } },
      };
      const measure = { value: cellsPerSecond, samples: load.samples };
      return isBare ? measure : { ...measure, also };
    },
  };
}

export const MEMSTORE: Workload = memstoreWorkload(
  'memstore-1m',
  '1 M',
  ({ memstoreCells }) => memstoreCells,
);

export const MEMSTORE_LARGE: Workload = {
  ...memstoreWorkload('memstore-10m', '10 M', ({ memstoreCellsLarge }) => memstoreCellsLarge),
  isHeavy: true,
};
