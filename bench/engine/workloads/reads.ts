/** Reads, every byte summed: of rows in memory, of rows in store files. The same loops for both. */
import type { Memory, Subject } from '../subject.ts';
import { ByteSum, Random, keyOf, keysOf } from '../rows.ts';
import { MEMORY_COPY, RANDOM_COPY } from '../limit_rules.ts';
import { measureOf, rateAsync, rateSync } from '../workload.ts';
import type { Measure, PhysicalLimit, RunSettings, Sizes, Workload } from '../workload.ts';

const STEP = 256;
const SHORT = 100;
/** Keys that are asked for again and again, over the whole range. */
const KEYS_MAX = 100_000;
const MISSING = 50_000;

/** What the workloads of this file differ in. */
export interface ReadSet {
  readonly prefix: string;
  /** Where the rows are, for the title. */
  readonly where: string;
  readonly data: string;
  readonly memory: (sizes: Sizes) => Memory;
  readonly rows: (sizes: Sizes) => number;
  /** The same for panels of plots, in two or three words. */
  readonly place: string;
  /** Keys that are asked for again and again; default 100,000. */
  readonly keys?: number;
  /** Limits of single reads and of scans; by default those of rows of 100 bytes in memory. */
  readonly getLimit?: PhysicalLimit;
  readonly scanLimit?: PhysicalLimit;
}

export function found(value: Uint8Array | null | undefined): Uint8Array {
  if (value === null || value === undefined) throw new Error('a loaded row was not found');
  return value;
}

export function someKeys(rows: number, most: number = KEYS_MAX): Uint8Array[] {
  const random = new Random(29);
  return keysOf(Math.min(rows, most), () => random.int(rows));
}

/** Between the rows that are there, so that no store can tell by the range alone. */
const missingKeys = (rows: number): Uint8Array[] =>
  Array.from({ length: MISSING }, (_, i) =>
    Buffer.concat([keyOf((i * 7919) % rows).subarray(0, 15), Buffer.from(':')]),
  );

/** Asks for every key once, so that the block cache has what the measured reads need. */
async function heat(subject: Subject, keys: readonly Uint8Array[]): Promise<void> {
  if (subject.get === undefined) return;
  for (const key of keys) await subject.get(key);
}

/** Synchronous reads; what is not in memory after all is read with a promise, within the time that is measured. */
async function readSync(
  subject: Subject,
  settings: RunSettings,
  keys: readonly Uint8Array[],
  take: (value: Uint8Array | null | undefined) => void,
): Promise<{ measure: Measure; notInMemory: number }> {
  await heat(subject, keys);
  const random = new Random(3);
  let notInMemory = 0;
  const later: Uint8Array[] = [];
  const readLater = async (): Promise<void> => {
    for (const key of later.splice(0)) take(await subject.get!(key));
  };
  const step = (): Promise<void> | null => {
    for (let i = 0; i < STEP; i++) {
      const key = keys[random.int(keys.length)]!;
      try {
        take(subject.getSync!(key));
      } catch (error) {
        if (!isNotInMemory(error)) throw error;
        notInMemory++;
        later.push(key);
      }
    }
    return later.length > 0 ? readLater() : null;
  };
  return { measure: await rateSync(step, STEP, settings), notInMemory };
}

export const isNotInMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'NotInMemoryException';

const withSum = (measure: Measure, sum: ByteSum, notInMemory = 0): Measure => ({
  ...measure,
  details: notInMemory > 0 ? { byteSum: sum.sum, notInMemory } : { byteSum: sum.sum },
});

/** The read workloads on one set of rows. */
export function readsOf(set: ReadSet): Workload[] {
  return [...gets(set), ...missing(set), ...scans(set)];
}

function gets(set: ReadSet): Workload[] {
  const base = {
    unit: 'op/s',
    better: 'more',
    data: set.data,
    memory: set.memory,
    limit: set.getLimit ?? RANDOM_COPY,
  } as const;
  return [
    {
      ...base,
      id: `${set.prefix}get-sync`,
      short: `point reads, synchronous, ${set.place}`,
      title: `reads of one row, synchronous, ${set.where}`,
      rivals: ['lmdb', 'better-sqlite3'],
      supports: (subject) => subject.getSync !== undefined,
      run: async (subject, settings) => {
        const sum = new ByteSum();
        const keys = someKeys(set.rows(settings), set.keys);
        const take = (value: Uint8Array | null | undefined): void => sum.add(found(value));
        const { measure, notInMemory } = await readSync(subject, settings, keys, take);
        return withSum(measure, sum, notInMemory);
      },
    },
    {
      ...base,
      id: `${set.prefix}get-promise-32`,
      short: `point reads by promise, ${set.place}`,
      title: `reads of one row by promise, 32 at once, ${set.where}`,
      rivals: ['lmdb', 'classic-level'],
      supports: (subject) => subject.get !== undefined,
      run: async (subject, settings) => {
        const keys = someKeys(set.rows(settings), set.keys);
        await heat(subject, keys);
        const random = new Random(3);
        const sum = new ByteSum();
        const step = async (): Promise<number> => {
          sum.add(found(await subject.get!(keys[random.int(keys.length)]!)));
          return 1;
        };
        return withSum(await rateAsync(step, 32, settings), sum);
      },
    },
  ];
}

/** A read of each so many rows brings every block into the cache, whichever of the files has the row. */
const HEAT_STEP = 50;

const everyNth = (rows: number, step: number): Uint8Array[] =>
  Array.from({ length: Math.ceil(rows / step) }, (_, i) => keyOf(i * step));

const nothing = (value: Uint8Array | null | undefined): void => {
  if (value !== null && value !== undefined) throw new Error('found what is not there');
};

function missing(set: ReadSet): Workload[] {
  const base = { unit: 'op/s', better: 'more', data: set.data, memory: set.memory } as const;
  return [
    {
      ...base,
      id: `${set.prefix}get-missing`,
      short: `missing keys, synchronous, ${set.place}`,
      title: `reads of keys that are not there, synchronous, ${set.where}`,
      rivals: ['lmdb', 'better-sqlite3', 'classic-level'],
      without: { bare: 'nothing to copy' },
      supports: (subject) => subject.getSync !== undefined,
      run: async (subject, settings) => {
        const keys = missingKeys(set.rows(settings));
        const { measure, notInMemory } = await readSync(subject, settings, keys, nothing);
        return notInMemory > 0 ? { ...measure, details: { notInMemory } } : measure;
      },
    },
    {
      ...base,
      id: `${set.prefix}get-missing-promise-32`,
      title: `reads of keys that are not there, by promise, 32 at once, ${set.where}`,
      short: `missing keys by promise, ${set.place}`,
      rivals: ['lmdb', 'classic-level'],
      without: { bare: 'nothing to copy' },
      supports: (subject) => subject.get !== undefined,
      run: async (subject, settings) => {
        const keys = missingKeys(set.rows(settings));
        await heat(subject, keys);
        const random = new Random(3);
        const step = async (): Promise<number> => {
          nothing(await subject.get!(keys[random.int(keys.length)]!));
          return 1;
        };
        return rateAsync(step, 32, settings);
      },
    },
  ];
}

/** One scan over all rows after another. */
export async function rateOfScans(
  scan: (sum: ByteSum) => Promise<void>,
  rows: number,
  settings: RunSettings,
): Promise<Measure> {
  const sum = new ByteSum();
  const step = async (): Promise<number> => {
    sum.rows = 0;
    await scan(sum);
    if (sum.rows !== rows) throw new Error(`scanned ${sum.rows} rows`);
    return sum.rows;
  };
  return withSum(await rateAsync(step, 1, settings), sum);
}

function scans(set: ReadSet): Workload[] {
  const base = {
    unit: 'rows/s',
    better: 'more',
    data: set.data,
    memory: set.memory,
    limit: set.scanLimit ?? MEMORY_COPY,
  } as const;
  const slow = 300_000;
  const seconds = (sizes: Sizes): number =>
    (sizes.warmMs + sizes.measureMs) / 1000 + (2 * set.rows(sizes)) / slow;
  return [
    {
      ...base,
      id: `${set.prefix}scan-iterator`,
      short: `full scan by iterator, ${set.place}`,
      seconds,
      title: `full scan by the iterator, ${set.where}`,
      rivals: ['lmdb', 'better-sqlite3'],
      supports: (subject) => subject.scanEach !== undefined,
      run: (subject, settings) =>
        rateOfScans((sum) => subject.scanEach!(sum.row), set.rows(settings), settings),
    },
    {
      ...base,
      id: `${set.prefix}scan-batches`,
      short: `full scan, ${set.place}`,
      seconds,
      title: `full scan in batches (the iterator where a store has no such call), ${set.where}`,
      rivals: ['lmdb', 'better-sqlite3', 'classic-level'],
      supports: (subject) => (subject.scanBatches ?? subject.scanEach) !== undefined,
      run: (subject, settings) => {
        const scan = (sum: ByteSum): Promise<void> =>
          subject.scanBatches === undefined
            ? subject.scanEach!(sum.row)
            : subject.scanBatches(sum.row);
        return rateOfScans(scan, set.rows(settings), settings);
      },
    },
    {
      ...base,
      id: `${set.prefix}scan-100`,
      short: `scans of 100 rows, ${set.place}`,
      title: `scans of 100 rows from a random start, ${set.where}`,
      rivals: ['lmdb', 'better-sqlite3'],
      supports: (subject) => subject.scanShort !== undefined,
      run: async (subject, settings) => {
        const rows = set.rows(settings);
        if (subject.get !== undefined) await heat(subject, everyNth(rows, HEAT_STEP));
        const random = new Random(13);
        const sum = new ByteSum();
        const step = async (): Promise<number> => {
          sum.rows = 0;
          await subject.scanShort!(keyOf(random.int(rows - SHORT)), SHORT, sum.row);
          if (sum.rows !== SHORT) throw new Error(`scanned ${sum.rows} rows`);
          return SHORT;
        };
        return withSum(await rateAsync(step, 1, settings), sum);
      },
    },
  ];
}

/** Milliseconds of single reads, one after the other, as samples of their mean, with percentiles. */
export async function timeOfReads(
  read: () => Promise<void>,
  settings: RunSettings,
): Promise<Measure> {
  const times: number[] = [];
  const samples: number[] = [];
  const during = async (ms: number): Promise<number> => {
    const start = performance.now();
    let count = 0;
    for (let before = start; before - start < ms || count === 0; count++) {
      await read();
      const now = performance.now();
      times.push(now - before);
      before = now;
    }
    return ((performance.now() - start) * 1000) / count;
  };
  await during(settings.warmMs);
  times.length = 0;
  for (let i = 0; i < 3; i++) samples.push(await during(settings.measureMs / 3));
  times.sort((a, b) => a - b);
  const at = (share: number): number =>
    1000 * times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
  return { ...measureOf(samples), details: { p50µs: at(0.5), p99µs: at(0.99) } };
}
