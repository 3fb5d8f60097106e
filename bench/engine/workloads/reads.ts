/** Reads of rows that are in memory or in the operating system's cache, every byte summed. */
import type { Subject } from '../subject.ts';
import { ByteSum, Random, keyOf, keysUpTo } from '../rows.ts';
import { rateAsync, rateSync } from '../workload.ts';
import type { Measure, RunSettings, Workload } from '../workload.ts';

const STEP = 256;
const SHORT = 100;

function found(value: Uint8Array | null | undefined): Uint8Array {
  if (value === null || value === undefined) throw new Error('a loaded row was not found');
  return value;
}

export const GET_SYNC: Workload = {
  id: 'get-sync',
  title: 'reads of one row, synchronous, hot',
  unit: 'op/s',
  better: 'more',
  loaded: true,
  supports: (subject) => subject.getSync !== undefined,
  run: async (subject, settings) => {
    const keys = keysUpTo(settings.rows);
    const random = new Random(3);
    const sum = new ByteSum();
    const step = (): void => {
      for (let i = 0; i < STEP; i++) {
        sum.add(found(subject.getSync!(keys[random.int(keys.length)]!)));
      }
    };
    return withSum(rateSync(step, STEP, settings), sum);
  },
};

export const GET_MISSING: Workload = {
  id: 'get-missing',
  title: 'reads of keys that are not there, synchronous',
  unit: 'op/s',
  better: 'more',
  loaded: true,
  without: { bare: 'nothing to copy' },
  supports: (subject) => subject.getSync !== undefined,
  run: async (subject, settings) => {
    // Between the rows that are there, so that no store can tell by the range alone.
    const keys = Array.from({ length: 50_000 }, (_, i) =>
      Buffer.concat([keyOf((i * 7919) % settings.rows).subarray(0, 15), Buffer.from(':')]),
    );
    const random = new Random(5);
    const step = (): void => {
      for (let i = 0; i < STEP; i++) {
        const value = subject.getSync!(keys[random.int(keys.length)]!);
        if (value !== null && value !== undefined) throw new Error('found what is not there');
      }
    };
    return rateSync(step, STEP, settings);
  },
};

export const GET_PROMISE: Workload = {
  id: 'get-promise-32',
  title: 'reads of one row by promise, 32 at once',
  unit: 'op/s',
  better: 'more',
  loaded: true,
  supports: (subject) => subject.get !== undefined,
  run: async (subject, settings) => {
    const keys = keysUpTo(settings.rows);
    const random = new Random(3);
    const sum = new ByteSum();
    const step = async (): Promise<number> => {
      sum.add(found(await subject.get!(keys[random.int(keys.length)]!)));
      return 1;
    };
    return withSum(await rateAsync(step, 32, settings), sum);
  },
};

function scans(
  scan: (subject: Subject, sum: ByteSum) => Promise<void>,
): (subject: Subject, settings: RunSettings) => Promise<Measure> {
  return async (subject, settings) => {
    const sum = new ByteSum();
    const step = async (): Promise<number> => {
      sum.rows = 0;
      await scan(subject, sum);
      if (sum.rows !== settings.rows) throw new Error(`scanned ${sum.rows} rows`);
      return sum.rows;
    };
    return withSum(await rateAsync(step, 1, settings), sum);
  };
}

export const SCAN_EACH: Workload = {
  id: 'scan-iterator',
  title: 'full scan by the iterator',
  unit: 'rows/s',
  better: 'more',
  loaded: true,
  supports: (subject) => subject.scanEach !== undefined,
  run: scans((subject, sum) => subject.scanEach!(sum.row)),
};

export const SCAN_BATCHES: Workload = {
  id: 'scan-batches',
  title: 'full scan in batches (the iterator where a store has no such call)',
  unit: 'rows/s',
  better: 'more',
  loaded: true,
  supports: (subject) => (subject.scanBatches ?? subject.scanEach) !== undefined,
  run: scans((subject, sum) =>
    subject.scanBatches === undefined ? subject.scanEach!(sum.row) : subject.scanBatches(sum.row),
  ),
};

export const SCAN_100: Workload = {
  id: 'scan-100',
  title: 'scans of 100 rows from a random start',
  unit: 'rows/s',
  better: 'more',
  loaded: true,
  supports: (subject) => subject.scanShort !== undefined,
  run: async (subject, settings) => {
    const random = new Random(13);
    const sum = new ByteSum();
    const step = async (): Promise<number> => {
      sum.rows = 0;
      const start = keyOf(random.int(settings.rows - SHORT));
      await subject.scanShort!(start, SHORT, sum.row);
      if (sum.rows !== SHORT) throw new Error(`scanned ${sum.rows} rows`);
      return SHORT;
    };
    return withSum(await rateAsync(step, 1, settings), sum);
  },
};

const withSum = (measure: Measure, sum: ByteSum): Measure => ({
  ...measure,
  details: { byteSum: sum.sum },
});
