import type { Workload, WorkloadHead } from '../workload.ts';
import { COMPACTION_READS, FLUSH_PAUSE } from './background.ts';
import { FILES_COLD, FILES_COLD_32, FILES_READS, LARGE_READS } from './files.ts';
import { GROWTH } from './growth.ts';
import { FILES_LOAD, LARGE_LOAD } from './loads.ts';
import { MEMORY_READS, MEMSTORE, MEMSTORE_LARGE } from './memory.ts';
import { CELLS, OPEN_MANY_FILES } from './size.ts';
import { REGIONS } from './regions.ts';
import { BUSY_DISK, REOPEN } from './trouble.ts';
import { OLD_VERSIONS } from './versions.ts';
import { YCSB } from './ycsb.ts';
import { BATCHES, INCREMENTS_64, PUTS_1, PUTS_64 } from './writes.ts';

/** All workloads, in the order of the table. A new one is added here and nowhere else. */
export const WORKLOADS: readonly Workload[] = [
  PUTS_64,
  PUTS_1,
  INCREMENTS_64,
  BATCHES,
  MEMSTORE,
  MEMSTORE_LARGE,
  ...MEMORY_READS,
  REOPEN,
  BUSY_DISK,
  FLUSH_PAUSE,
  FILES_LOAD,
  ...FILES_READS,
  FILES_COLD,
  FILES_COLD_32,
  ...YCSB,
  ...OLD_VERSIONS,
  LARGE_LOAD,
  ...LARGE_READS,
  COMPACTION_READS,
  OPEN_MANY_FILES,
  ...CELLS,
  ...REGIONS,
  ...GROWTH,
];

/** The lines of the table that a workload fills: its own, and what it says besides. */
export const linesOf = (workload: Workload): readonly WorkloadHead[] => [
  workload,
  ...(workload.further ?? []),
];
