import { expect, test } from 'vitest';
import { growthName } from '../../bench/engine/datasets.ts';
import { WORKLOADS, linesOf } from '../../bench/engine/workloads/index.ts';
import { BENCHES, argumentsOf } from '../../bench/summary/arguments.ts';
import { backupVerdicts, verdictOf } from '../../bench/summary/evaluate.ts';
import type { Verdict } from '../../bench/summary/evaluate.ts';
import { GOALS, peerGoalOf } from '../../bench/summary/goals.ts';
import {
  SPEED_BEGIN,
  SPEED_END,
  reportOf,
  summaryOf,
  withSpeedTable,
} from '../../bench/summary/report.ts';
import type { Runs, ServerFigures } from '../../bench/summary/runs.ts';
import { opsOf, resultOf, runOf } from './fixtures.ts';

const NONE: Runs = { engine: null, server: null, txn: null, backup: null };
const goal = (id: string) => GOALS.find((one) => one.id === id)!;

test('goals have names of their own and speak of workloads that there are', () => {
  const ids = new Set(WORKLOADS.flatMap(linesOf).map(({ id }) => id));
  expect(new Set(GOALS.map(({ id }) => id)).size).toBe(GOALS.length);
  for (const { measure } of GOALS) {
    if ('workload' in measure) expect(ids.has(measure.workload), measure.workload).toBe(true);
  }
  expect(peerGoalOf('durable-puts-64')?.bound).toEqual({ least: 2 });
  expect(peerGoalOf('regions-puts-1')).toBeNull();
});

test('every line of the table of issue 10 is a goal', () => {
  const works = GOALS.filter(({ issue }) => issue === 10).map(({ id }) => id);
  expect(works).toEqual([
    'puts-64',
    'counter',
    'full-scan',
    'full-scan-iterator',
    'load',
    'short-scans',
    'puts-1',
    'hot-sync',
    'hot-promise',
    'missing',
    'old-sync',
    'old-promise',
    'cold',
    'server-cpu',
    'server-throughput',
    'server-start',
    'server-memory',
    'growth-reads',
    'growth-writes',
    'growth-memory',
  ]);
});

test('what was not run is not measured, neither met nor missed', () => {
  for (const one of GOALS) {
    expect(verdictOf(one, NONE)).toMatchObject({ measured: null, met: null, missedBy: null });
  }
});

test('a ratio to the best peer: met, and missed by how much', () => {
  const at = (cellar: number): Verdict => {
    const engine = runOf([
      opsOf('durable-puts-64', { cellar, lmdb: 20_000, rocksdb: 10_000, bare: 99_000 }),
    ]);
    return verdictOf(goal('puts-64'), { ...NONE, engine });
  };
  expect(at(50_000)).toMatchObject({ measured: 2.5, met: true, missedBy: null, aim: 3 });
  expect(at(25_000)).toMatchObject({ measured: 1.25, met: false, missedBy: 1.6 });
  expect(at(25_000).detail).toBe('25,000 op/s; lmdb 20,000');
});

test('a cold read is judged by what the bare block costs', () => {
  const head = { id: 'files-get-cold', unit: 'µs', better: 'less' } as const;
  const engine = runOf([resultOf(head, { cellar: 300, 'classic-level': 100, bare: 150 })]);
  expect(verdictOf(goal('cold'), { ...NONE, engine })).toMatchObject({
    measured: 2,
    met: false,
    missedBy: 2 / 1.5,
  });
});

test('growth counts where it is worst', () => {
  const at = (share: number, regions: number, reads: number) =>
    opsOf(`${growthName(share, regions)}-reads`, { cellar: reads });
  const engine = runOf([
    at(0.02, 1, 100_000),
    at(1, 1, 80_000),
    at(0.02, 100, 90_000),
    at(1, 100, 45_000),
  ]);
  const verdict = verdictOf(goal('growth-reads'), { ...NONE, engine });
  expect(verdict).toMatchObject({ measured: 2, met: false });
  expect(verdict.detail).toBe('worst at 100 regions: 90,000/s, then 45,000/s');
  expect(verdictOf(goal('growth-writes'), { ...NONE, engine }).measured).toBeNull();
});

const server = (
  name: string,
  works: Record<string, { rate: number; cpuUs: number }>,
  firstAnswerMs: number,
  mib: number,
): ServerFigures => ({
  name,
  firstAnswerMs,
  rssBytes: mib * 2 ** 20,
  works: Object.fromEntries(Object.entries(works).map(([id, sample]) => [id, [sample]])),
});

test('the server: the worst operation counts, and the better of two throughputs', () => {
  const runs: Runs = {
    ...NONE,
    server: {
      taken: '2026-01-02T00:00:00Z',
      servers: [
        server(
          'cellar',
          { put: { rate: 4000, cpuUs: 20 }, get: { rate: 900, cpuUs: 50 } },
          400,
          90,
        ),
        server(
          'hbase',
          { put: { rate: 1000, cpuUs: 100 }, get: { rate: 600, cpuUs: 100 } },
          24_000,
          450,
        ),
        server('null', { put: { rate: 9000, cpuUs: 5 }, get: { rate: 1000, cpuUs: 5 } }, 300, 70),
      ],
    },
  };
  expect(verdictOf(goal('server-cpu'), runs)).toMatchObject({
    measured: 0.5,
    met: false,
    detail: '1 of 2 miss it: get 0.50',
  });
  // put: 4 times HBase; get: nine tenths of the null server.
  expect(verdictOf(goal('server-throughput'), runs)).toMatchObject({ met: true });
  expect(verdictOf(goal('server-throughput'), runs).measured).toBeCloseTo(0.9 / 0.8);
  expect(verdictOf(goal('server-start'), runs)).toMatchObject({ measured: 60, met: true });
  expect(verdictOf(goal('server-memory'), runs)).toMatchObject({ measured: 0.2, met: true });
});

test('backups bring their own goals', () => {
  const one = (wanted: number, median: number, reached: boolean) => ({
    goal: 'full backup over a plain copy',
    wanted,
    measured: { median },
    unit: '×',
    reached,
  });
  const backup = {
    taken: '2026-01-02',
    goals: [one(1.5, 1.2, true), one(1.5, 3, false), one(5, 4, false)],
  };
  const verdicts = backupVerdicts({ ...NONE, backup });
  expect(verdicts.map(({ bound }) => bound)).toEqual([{ most: 1.5 }, { most: 1.5 }, { least: 5 }]);
  expect(verdicts.map(({ missedBy }) => missedBy)).toEqual([null, 2, 1.25]);
});

test('the summary counts, and says by how much a goal is missed', () => {
  const engine = runOf([
    opsOf('durable-puts-64', { cellar: 25_000, lmdb: 20_000 }),
    opsOf('files-load', { cellar: 90_000, 'classic-level': 60_000 }),
  ]);
  const verdicts = ['puts-64', 'load', 'missing'].map((id) =>
    verdictOf(goal(id), { ...NONE, engine }),
  );
  const summary = summaryOf('2026-01-03', { engine: '2026-01-02', server: null }, verdicts);
  expect(summary).toMatchObject({ met: 1, missed: 1, unmeasured: 1 });
  // The columns are aligned.
  const text = reportOf(summary).replaceAll(/ +/g, ' ');
  expect(text).toContain('engine 2026-01-02, server not run. 1 met, 1 missed, 1 not measured.');
  expect(text).toContain(
    '| 10 | durable puts, 64 writers | ≥ 2 × (aim 3) | 1.25 × | **missed** by 1.60 × |',
  );
  expect(text).toContain('| 10 | sustained load in batches | ≥ 1 × | 1.5 × | met |');
  expect(text).toContain('| 10 | missing keys | ≥ 3 × | – | not measured |');
});

test('the README gets the table between its marks, and nothing else changes', () => {
  const engine = runOf([opsOf('files-load', { cellar: 90_000, 'classic-level': 60_000 })]);
  const verdicts = ['puts-64', 'load'].map((id) => verdictOf(goal(id), { ...NONE, engine }));
  const summary = summaryOf('2026-01-03', {}, verdicts);
  const text = withSpeedTable(`# A\n${SPEED_BEGIN}\nold\n${SPEED_END}\nend\n`, summary);
  expect(text).toBe(
    [
      '# A',
      SPEED_BEGIN,
      '',
      '| work                      | measured  | goal  | figures                           |',
      '| ------------------------- | --------- | ----- | --------------------------------- |',
      '| sustained load in batches | **1.5 ×** | ≥ 1 × | 90,000 op/s; classic-level 60,000 |',
      '',
      SPEED_END,
      'end',
      '',
    ].join('\n'),
  );
  expect(withSpeedTable(text, summary)).toBe(text);
  expect(() => withSpeedTable('# A', summary)).toThrow(RangeError);
});

test('a budget is shared out, and a quick run keeps nothing', () => {
  const options = {
    quick: false,
    full: false,
    dry: false,
    budgetMinutes: 40,
    suite: null,
    scratch: '/s',
  };
  expect(argumentsOf('engine', options)).toEqual(['--budget', '30']);
  expect(argumentsOf('engine', { ...options, suite: '/x' })).toEqual(['--budget', '20']);
  expect(argumentsOf('server', { ...options, suite: '/x' })).toContain('/x');
  const quick = { ...options, quick: true, budgetMinutes: null };
  expect(argumentsOf('engine', quick)).toEqual(['--quick']);
  expect(argumentsOf('micro', quick)).toContain('--no-save');
  expect(argumentsOf('txn', quick)).toContain('/s/txn');
  for (const bench of BENCHES) {
    expect(argumentsOf(bench, { ...options, budgetMinutes: null })).not.toContain('--quick');
  }
});
