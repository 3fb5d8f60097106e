import { expect, test } from 'vitest';
import { DATASETS } from '../../bench/engine/datasets.ts';
import { benchOptions } from '../../bench/engine/options.ts';
import type { BenchOptions } from '../../bench/engine/options.ts';
import {
  Schedule,
  datasetOf,
  durationText,
  fit,
  loadSeconds,
  planOf,
  subjectsOf,
} from '../../bench/engine/plan.ts';
import { SUBJECTS } from '../../bench/engine/subjects/index.ts';
import { WORKLOADS } from '../../bench/engine/workloads/index.ts';
import type { Workload } from '../../bench/engine/workload.ts';

const ALL = [...SUBJECTS.keys()];
const options = (...args: string[]): BenchOptions => {
  const parsed = benchOptions(args);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
};
const workload = (id: string): Workload => WORKLOADS.find((one) => one.id === id)!;
const STANDARD = WORKLOADS.filter(({ isHeavy }) => isHeavy !== true);

test('all peers take part, or those that the goal names; what is not durable only where it is asked for', () => {
  const puts = workload('durable-puts-1');
  expect(subjectsOf(puts, options(), ALL)).toEqual([
    'cellar',
    'lmdb',
    'better-sqlite3',
    'classic-level',
    'rocksdb',
    'bare',
  ]);
  expect(subjectsOf(puts, options('--peers', 'rivals'), ALL)).toEqual([
    'cellar',
    'lmdb',
    'better-sqlite3',
    'bare',
  ]);
  expect(subjectsOf(workload('files-load'), options(), ALL)).toContain('level-unsynced');
  expect(subjectsOf(workload('growth-50x-r100-reads'), options(), ALL)).toEqual(['cellar']);
});

test('peers have the rows of YCSB from the reads before', () => {
  expect(datasetOf('cellar', 'ycsb')).toBe('ycsb');
  expect(datasetOf('lmdb', 'ycsb')).toBe('files');
  expect(datasetOf('lmdb', 'memory')).toBe('memory');
});

test('rows are loaded once a store, whichever workload comes first', () => {
  const chosen = ['files-get-sync', 'files-scan-100', 'ycsb-a'].map(workload);
  const { steps } = planOf(options(), chosen, ['cellar', 'lmdb']);
  const { sizes } = options();
  const files = loadSeconds('cellar', 'files', sizes) + loadSeconds('lmdb', 'files', sizes);
  expect(steps.map((step) => step.loadSeconds)).toEqual([
    files,
    0,
    loadSeconds('cellar', 'ycsb', sizes),
  ]);
});

test('an estimate is the sum of its steps, and grows with the rounds', () => {
  const five = planOf(options(), STANDARD, ALL);
  const one = planOf(options('--rounds', '1'), STANDARD, ALL);
  const rounds = five.steps.reduce((sum, step) => sum + step.roundSeconds, 0);
  expect(five.seconds - one.seconds).toBeCloseTo(4 * rounds, 3);
  for (const step of five.steps) expect(step.rounds).toBe(5);
});

test.each([10, 20, 30, 35, 40, 60, 120, 600])('a run fits a budget of %i minutes', (minutes) => {
  const plan = fit(options('--budget', String(minutes)), STANDARD, ALL);
  expect(plan.seconds).toBeLessThanOrEqual(60 * minutes);
  expect(plan.steps).toHaveLength(STANDARD.length);
  for (const { rounds } of plan.steps) expect(rounds).toBeGreaterThanOrEqual(1);
  const { growthRows, growthHotRows } = plan.options.sizes;
  expect(50 * growthHotRows).toBeLessThanOrEqual(growthRows);
});

test('more minutes are never a smaller run', () => {
  let before = fit(options('--budget', '5'), STANDARD, ALL).options;
  for (const minutes of [10, 20, 30, 40, 60, 90, 240]) {
    const { sizes, rounds } = fit(options('--budget', String(minutes)), STANDARD, ALL).options;
    expect(sizes.growthRows).toBeGreaterThanOrEqual(before.sizes.growthRows);
    expect(sizes.measureMs).toBeGreaterThanOrEqual(before.sizes.measureMs);
    expect(rounds).toBeGreaterThanOrEqual(1);
    before = { ...before, sizes, rounds };
  }
});

test('the quick run covers every workload and is estimated at minutes', () => {
  const plan = fit(options('--quick'), WORKLOADS, ALL);
  expect(plan.steps).toHaveLength(WORKLOADS.length);
  expect(plan.seconds).toBeLessThan(270);
});

test('a workload behind its time has no further round, but always a first', () => {
  const plan = fit(
    options('--budget', '30', '--only', 'durable'),
    [workload('durable-puts-64')],
    ALL,
  );
  const schedule = new Schedule(plan);
  const deadline = schedule.deadline(0);
  expect(deadline).toBeCloseTo(30 * 60, 5);
  expect(schedule.mayRun(0, 0, deadline + 1, 0)).toBe(true);
  expect(schedule.mayRun(0, 2, deadline - 11, 20)).toBe(true);
  expect(schedule.mayRun(0, 2, deadline - 9, 20)).toBe(false);
});

test('few workloads share the whole budget', () => {
  const plan = fit(options('--budget', '10'), [workload('durable-puts-64')], ALL);
  expect(plan.steps[0]!.rounds).toBe(5);
  expect(plan.options.peers).toBe('all');
});

test('without a budget every round is run', () => {
  const schedule = new Schedule(planOf(options(), STANDARD, ALL));
  expect(schedule.mayRun(0, 4, 1e9, 1e9)).toBe(true);
});

test('durations', () => {
  expect(durationText(20)).toBe('1 min');
  expect(durationText(150)).toBe('3 min');
  expect(durationText(7500)).toBe('2 h 5 min');
});

test('every dataset of a workload can be loaded for the estimate', () => {
  for (const { data } of WORKLOADS) {
    if (data === undefined) continue;
    expect(DATASETS.has(data), data).toBe(true);
    expect(loadSeconds('lmdb', data, options().sizes)).toBeGreaterThan(0);
  }
});
