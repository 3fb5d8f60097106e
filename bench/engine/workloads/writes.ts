/** Durable writes. Stores whose calls block run the same loops: each await of theirs merely returns at once. */
import { keyOf, Random, Values } from '../rows.ts';
import { KEY_SPACE } from '../growth_keys.ts';
import { DISK_WRITE, SYNC_EACH, SYNC_FOR_64 } from '../limit_rules.ts';
import { rateAsync } from '../workload.ts';
import type { Measure, RunSettings, Workload } from '../workload.ts';
import type { Subject } from '../subject.ts';

const BATCH = 1000;

export function putters(
  writers: number,
): (subject: Subject, settings: RunSettings) => Promise<Measure> {
  return (subject, settings) => {
    const random = new Random(7);
    const values = new Values();
    const step = async (): Promise<number> => {
      await subject.put!(keyOf(random.int(KEY_SPACE)), values.next());
      return 1;
    };
    return rateAsync(step, writers, settings);
  };
}

export const PUTS_64: Workload = {
  id: 'durable-puts-64',
  title: 'durable puts, 64 writers, each awaiting its own',
  short: 'durable puts, 64 writers',
  limit: SYNC_FOR_64,
  unit: 'op/s',
  better: 'more',
  rivals: ['lmdb', 'classic-level'],
  supports: (subject) => subject.put !== undefined,
  run: putters(64),
};

export const PUTS_1: Workload = {
  id: 'durable-puts-1',
  title: 'durable puts, one writer',
  limit: SYNC_EACH,
  unit: 'op/s',
  better: 'more',
  rivals: ['better-sqlite3', 'lmdb'],
  supports: (subject) => subject.put !== undefined,
  run: putters(1),
};

export const INCREMENTS_64: Workload = {
  id: 'durable-increments-64',
  title: 'durable increments of one cell, 64 callers',
  short: 'hot counter, 64 writers',
  limit: SYNC_FOR_64,
  unit: 'op/s',
  better: 'more',
  rivals: ['lmdb'],
  supports: (subject) => subject.increment !== undefined,
  run: (subject, settings) => {
    const key = keyOf(1);
    const step = async (): Promise<number> => {
      await subject.increment!(key);
      return 1;
    };
    return rateAsync(step, 64, settings);
  },
};

export const BATCHES: Workload = {
  id: 'durable-batches-1000',
  title: 'rows in durable batches of 1000, in random order',
  short: 'durable batches of 1000',
  limit: DISK_WRITE,
  unit: 'rows/s',
  better: 'more',
  rivals: ['lmdb', 'classic-level'],
  supports: () => true,
  run: (subject, settings) => {
    const random = new Random(11);
    const values = new Values();
    const step = async (): Promise<number> => {
      const keys = Array.from({ length: BATCH }, () => keyOf(random.int(KEY_SPACE)));
      await subject.putBatch(
        keys,
        keys.map(() => values.next()),
      );
      return BATCH;
    };
    return rateAsync(step, 1, settings);
  },
};
