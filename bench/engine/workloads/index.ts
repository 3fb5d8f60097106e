import type { Workload } from '../workload.ts';
import { GET_MISSING, GET_PROMISE, GET_SYNC, SCAN_100, SCAN_BATCHES, SCAN_EACH } from './reads.ts';
import { BUSY_DISK, REOPEN } from './trouble.ts';
import { BATCHES, INCREMENTS_64, PUTS_1, PUTS_64 } from './writes.ts';

/** All workloads, in the order of the table. A new one is added here and nowhere else. */
export const WORKLOADS: readonly Workload[] = [
  PUTS_64,
  PUTS_1,
  INCREMENTS_64,
  BATCHES,
  GET_SYNC,
  GET_MISSING,
  GET_PROMISE,
  SCAN_EACH,
  SCAN_BATCHES,
  SCAN_100,
  REOPEN,
  BUSY_DISK,
];
