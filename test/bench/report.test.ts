import { expect, test } from 'vitest';
import type { Limits } from '../../bench/engine/limits.ts';
import { benchOptions } from '../../bench/engine/options.ts';
import { profileText, topOf } from '../../bench/engine/profile.ts';
import { figure, reportOf, tableOf, workloadResult } from '../../bench/engine/report.ts';
import { bestPeer, ratioOf, spreadOf } from '../../bench/engine/stats.ts';
import { DATASETS, loadFiles } from '../../bench/engine/datasets.ts';
import type { BenchOptions } from '../../bench/engine/options.ts';
import { Random, Values, keysUpTo, keyOf, shuffled } from '../../bench/engine/rows.ts';
import type { Subject } from '../../bench/engine/subject.ts';
import { SUBJECTS } from '../../bench/engine/subjects/index.ts';
import { measureOf, rateAsync } from '../../bench/engine/workload.ts';
import { WORKLOADS, linesOf } from '../../bench/engine/workloads/index.ts';

function quick(): BenchOptions {
  const options = benchOptions(['--quick']);
  if (typeof options === 'string') throw new Error(options);
  return options;
}

const LIMITS: Limits = {
  syncsPerSecond: 3000,
  copyBytesPerSecond: 8e9,
  randomCopiesPerSecond: 5e6,
  checksumBytesPerSecond: 4e9,
  diskWriteBytesPerSecond: 3e8,
  diskReadBytesPerSecond: null,
  loopbackTripsPerSecond: 20_000,
};

const SCAN = { id: 'scan', title: 'scan <all> & sum', unit: 'rows/s', better: 'more' } as const;
const line = (subject: string, rounds: number[]) => ({
  subject,
  rounds,
  details: { byteSum: 5, p99Ms: 1.5 },
  rssBytes: 1000,
});

test('medians and spreads', () => {
  expect(spreadOf([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
  expect(spreadOf([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 });
  expect(spreadOf([7])).toEqual({ median: 7, min: 7, max: 7 });
});

test('above 1 is better, whichever way the workload counts', () => {
  expect(ratioOf('more', 200, 100)).toBe(2);
  expect(ratioOf('less', 50, 100)).toBe(2);
});

test('the best peer is neither Cellar nor the bare limit', () => {
  const medians = new Map([
    ['cellar', 900],
    ['lmdb', 400],
    ['rocksdb', 100],
    ['bare', 1000],
  ]);
  expect(bestPeer('more', medians)).toBe('lmdb');
  expect(bestPeer('less', medians)).toBe('rocksdb');
  expect(bestPeer('more', new Map([['cellar', 1]]))).toBeNull();
});

test('the table: medians, spreads, ratios, and why a store is missing', () => {
  const result = workloadResult(
    SCAN,
    [
      line('cellar', [1_000_000, 900_000, 1_200_000]),
      line('lmdb', [500_000]),
      line('bare', [2_000_000]),
    ],
    { rocksdb: 'not installed here' },
  );
  expect(result.subjects.map((s) => s.ratioToBestPeer)).toEqual([2, 1, 4]);
  expect(tableOf(result)).toBe(
    [
      '### scan <all> & sum (more is better)',
      '',
      '| store        | rows/s    | lowest – highest      | to the best peer | to bare | more               |',
      '| ------------ | --------- | --------------------- | ---------------- | ------- | ------------------ |',
      '| cellar       | 1,000,000 | 900,000 – 1,200,000   | 2.00 ×           | 0.50 ×  | p99Ms 1.5          |',
      '| lmdb         | 500,000   | 500,000 – 500,000     | 1.00 ×           | 0.25 ×  | p99Ms 1.5          |',
      '| bare (limit) | 2,000,000 | 2,000,000 – 2,000,000 | 4.00 ×           | 1.00 ×  | p99Ms 1.5          |',
      '| rocksdb      | –         |                       |                  |         | not installed here |',
      '',
    ].join('\n'),
  );
});

test.each([
  { value: 136_482, want: '136,000' },
  { value: 0.23456, want: '0.235' },
  { value: 42, want: '42' },
  { value: 0, want: '0' },
])('figure $value', ({ value, want }) => {
  expect(figure(value)).toBe(want);
});

test('the report names machine, versions and what else ran', () => {
  const text = reportOf({
    taken: '2026-01-02',
    mode: 'quick, 1 rounds',
    note: 'noisy',
    budgetMinutes: null,
    estimatedSeconds: 100,
    limits: LIMITS,
    loadBefore: 1.25,
    sizes: quick().sizes,
    tookSeconds: 90,
    machine: {
      cpu: 'Some CPU',
      cores: 2,
      cpuLimit: 1.5,
      memoryBytes: 8 * 2 ** 30,
      system: 'linux 6',
      node: 'v20.0.0',
      v8: '11',
    },
    versions: { cellar: '0.1.0', rocksdb: null },
    settings: {},
    workloads: [],
  });
  expect(text).toContain('Some CPU, 2 cores, limited to 1.5 cores, 8 GB, linux 6, Node v20.0.0.');
  expect(text).toContain('cellar 0.1.0, rocksdb (not installed).');
  expect(text).toContain('Note: noisy');
  expect(text).toContain('in 0.03 hours');
  expect(text).toContain('sync loop 3,000/s; memcpy 8000 MB/s');
});

test('rows are the same at every run', () => {
  expect(Buffer.from(keyOf(42)).toString()).toBe('user000000000042');
  expect(keysUpTo(3)[2]).toEqual(keyOf(2));
  const [a, b] = [new Random(9), new Random(9)];
  expect([a.int(1000), a.int(1000)]).toEqual([b.int(1000), b.int(1000)]);
  expect(new Values().next()).toEqual(new Values().next());
  expect(new Values().next()).toHaveLength(100);
});

test('a shuffled order is a permutation, the same at every run', () => {
  const order = shuffled(1000);
  expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  expect([...order.slice(0, 20)]).not.toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(shuffled(1000)).toEqual(order);
});

test('a load writes each row once; parts are flushed one after the other', async () => {
  const seen: string[] = [];
  let flushes = 0;
  const subject: Subject = {
    name: 'recorder',
    putBatch: async (keys, values) => {
      expect(values).toHaveLength(keys.length);
      seen.push(...keys.map((key) => Buffer.from(key).toString()));
    },
    flush: async () => void flushes++,
    settle: async () => 0,
    close: async () => undefined,
  };
  await loadFiles(subject, 25_001, 5);
  expect(flushes).toBe(5);
  expect(seen.toSorted()).toEqual(
    Array.from({ length: 25_001 }, (_, n) => Buffer.from(keyOf(n)).toString()),
  );
});

test('steps that run side by side are all counted', async () => {
  let done = 0;
  const step = async (): Promise<number> => {
    await Promise.resolve();
    done++;
    return 1;
  };
  const settings = { ...quick().sizes, dir: '', cellarDir: '', loadedPerSecond: 0 };
  const before = performance.now();
  const measure = await rateAsync(step, 8, { ...settings, warmMs: 0, measureMs: 0 });
  const seconds = (performance.now() - before) / 1000;
  // A step a worker to warm up, and for each sample, none of which took longer than all of them.
  expect(done).toBe(8 * (1 + measure.samples!.length));
  for (const sample of measure.samples!) expect(sample).toBeGreaterThanOrEqual(8 / seconds);
});

test('the median of the samples stands for them', () => {
  expect(measureOf([3, 1, 2])).toEqual({ value: 2, samples: [3, 1, 2] });
});

test('options', () => {
  expect(benchOptions(['--help'])).toBe('help');
  expect(benchOptions(['--list'])).toBe('list');
  expect(benchOptions([])).toMatchObject({
    mode: 'standard',
    rounds: 5,
    peers: 'all',
    save: 'engine',
  });
  expect(benchOptions(['--full'])).toMatchObject({ rounds: 5, sizes: { rows: 1_000_000 } });
  expect(benchOptions(['--rounds', '4'])).toMatchObject({ rounds: 4 });
  expect(benchOptions(['--quick', '--only', 'a,b', '--no-save'])).toMatchObject({
    only: ['a', 'b'],
    save: null,
    peers: 'rivals',
  });
  expect(benchOptions(['--budget', '35'])).toMatchObject({ budgetMinutes: 35 });
  expect(() => benchOptions(['--peers', 'some'])).toThrow(RangeError);
  expect(benchOptions(['--compact-mb', '7'])).toMatchObject({ sizes: { compactBytes: 7e6 } });
  expect(() => benchOptions(['--rounds', '0'])).toThrow(RangeError);
  expect(() => benchOptions(['--nonsense'])).toThrow('--nonsense');
});

test('a profile tells the functions with the most time of their own, idle time left out', () => {
  const frame = (id: number, functionName: string, url: string) => ({
    id,
    callFrame: { functionName, url },
  });
  const profile = {
    nodes: [
      frame(1, '(idle)', ''),
      frame(2, 'seek', 'file:///somewhere/dist/hfile/reader.js'),
      frame(3, '', 'node:internal/timers'),
      frame(4, 'seek', 'file:///somewhere/dist/hfile/reader.js'),
    ],
    samples: [1, 2, 3, 4],
    timeDeltas: [5000, 100, 100, 200],
  };
  const lines = topOf(profile, 5);
  expect(lines).toEqual([
    { name: 'seek dist/hfile/reader.js', share: 0.75 },
    { name: '(anonymous) node:internal/timers', share: 0.25 },
  ]);
  expect(profileText(lines)).toBe(
    '   75.0 %  seek dist/hfile/reader.js\n   25.0 %  (anonymous) node:internal/timers',
  );
});

test('every workload has a name of its own', () => {
  const ids = WORKLOADS.flatMap(linesOf).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[a-z0-9-]+$/);
});

test('workloads name datasets and stores that there are', () => {
  for (const { data, rivals, stores = [], extra = [], without = {} } of WORKLOADS) {
    if (data !== undefined) expect(DATASETS.has(data), data).toBe(true);
    for (const name of [...rivals, ...stores, ...extra, ...Object.keys(without)]) {
      expect(SUBJECTS.has(name), name).toBe(true);
    }
  }
});
