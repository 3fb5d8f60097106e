import { expect, test } from 'vitest';
import { curvesPlot } from '../../bench/engine/charts/curves.ts';
import { short, ticks, wrap } from '../../bench/engine/charts/draw.ts';
import { panelsPlot } from '../../bench/engine/charts/panels.ts';
import { ratiosPlot } from '../../bench/engine/charts/ratios.ts';
import { GROWTH_REGIONS, GROWTH_SHARES, growthName } from '../../bench/engine/datasets.ts';
import { growthPlot, plotsOf } from '../../bench/engine/plots.ts';
import { verdictOf } from '../../bench/summary/evaluate.ts';
import { GOALS } from '../../bench/summary/goals.ts';
import { summaryPlots } from '../../bench/summary/plots.ts';
import { opsOf, resultOf, runOf } from './fixtures.ts';

/** What a reader sees: the texts of an SVG. */
const textsOf = (svg: string): string[] =>
  [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map((match) => match[1]!);

const wellFormed = (svg: string): void => {
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 \d+ \d+"/);
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  expect(svg.match(/<text /g)).toHaveLength(svg.match(/<\/text>/g)!.length);
};

test.each([
  { value: 1_234_567, want: '1.23 M' },
  { value: 999_999, want: '1 M' },
  { value: 45_600, want: '45.6 k' },
  { value: 1000, want: '1 k' },
  { value: 12.3456, want: '12.3' },
  { value: 0, want: '0' },
])('short $value', ({ value, want }) => {
  expect(short(value)).toBe(want);
});

test('axes have round numbers and end beyond the largest value', () => {
  expect(ticks(93, 4)).toEqual([0, 50, 100]);
  expect(ticks(1.7, 4)).toEqual([0, 0.5, 1, 1.5, 2]);
  expect(ticks(100, 4)).toEqual([0, 50, 100]);
});

test('texts are cut between words', () => {
  expect(wrap('one two three four', 9)).toEqual(['one two', 'three', 'four']);
});

test('a panel shows each store with its median, its ratio, the goal and the axis', () => {
  const result = opsOf('durable-puts-64', { cellar: 60_000, lmdb: 20_000, bare: 900_000 });
  const svg = panelsPlot('Durable <writes>', [{ result, goal: 2 }], 'a & b');
  wellFormed(svg);
  const texts = textsOf(svg);
  expect(texts).toContain('cellar');
  expect(texts).toContain('60 k · 3.00 ×');
  expect(texts).toContain('20 k · 1.00 ×');
  expect(texts).toContain('bare, no store');
  expect(texts).toContain('900 k');
  expect(texts).toContain('goal 2 × the best peer');
  expect(texts).toContain('op/s, more is better');
  expect(texts).toContain('Durable &lt;writes&gt;');
  expect(texts).toContain('a &amp; b');
  // The background and a bar a store; the goal is a dashed line at twice lmdb's median.
  expect(svg.match(/<rect x=/g)).toHaveLength(3);
  expect(svg.match(/stroke-dasharray/g)).toHaveLength(1);
});

test('the plots of a run hold every store of its JSON', () => {
  const run = runOf([
    opsOf('durable-puts-64', { cellar: 61_000, lmdb: 20_000 }),
    opsOf('ycsb-a', { cellar: 5120, rocksdb: 3330 }),
    resultOf({ id: 'files-load-disk', unit: '×', better: 'less' }, { cellar: 1.25, lmdb: 2.5 }),
  ]);
  const plots = plotsOf(run);
  expect(plots.map(({ name }) => name)).toEqual(['durable', 'load', 'ycsb']);
  const texts = plots.flatMap(({ svg }) => textsOf(svg));
  for (const { svg } of plots) wellFormed(svg);
  for (const { short: title, subjects } of run.workloads) {
    expect(texts).toContain(title);
    for (const { spread, ratioToBestPeer } of subjects) {
      expect(texts).toContain(`${short(spread.median)} · ${ratioToBestPeer!.toFixed(2)} ×`);
    }
  }
  expect(texts).toContain('Some CPU, 2 cores, 8 GB, Node v20.0.0; standard, 5 rounds; 2026-01-02');
});

test('growth is drawn as a curve a number of regions in each of three panels', () => {
  const workloads = GROWTH_REGIONS.flatMap((regions) =>
    GROWTH_SHARES.flatMap((share) =>
      ['reads', 'writes', 'rss'].map((line) =>
        resultOf(
          { id: `${growthName(share, regions)}-${line}`, unit: 'op/s', better: 'more' },
          { cellar: 100_000 / (1 + share) },
          { rows: 50_000_000 * share },
        ),
      ),
    ),
  );
  const svg = growthPlot(runOf(workloads))!;
  wellFormed(svg);
  expect(svg.match(/<circle /g)).toHaveLength(3 * 3 * 3);
  const texts = textsOf(svg);
  for (const name of ['1 region', '10 regions', '100 regions']) expect(texts).toContain(name);
  expect(texts.filter((text) => text === '50 M')).toHaveLength(3);
  expect(texts).toContain('Hot reads, op/s');
  expect(texts.filter((text) => text === 'goal: stay above')).toHaveLength(2);
  expect(growthPlot(runOf([]))).toBeNull();
});

test('a curve of one point is drawn too', () => {
  const panel = {
    title: 'a',
    unit: 'b',
    curves: [{ name: 'c', points: [{ x: 10, y: 5 }] }],
    goal: null,
  };
  wellFormed(curvesPlot([panel], { title: 't', subtitle: 's', axis: 'x', note: 'n' }));
});

test('ratios are bars from 1, with a mark at the goal', () => {
  const svg = ratiosPlot(
    [
      { work: 'puts', ratio: 2.5, goal: 2, detail: 'well' },
      { work: 'reads', ratio: 0.25, goal: 1.3, detail: 'badly' },
      { work: 'scans', ratio: null, goal: 2, detail: '' },
    ],
    { title: 'ratios', subtitle: '', axis: 'times', note: '' },
  );
  wellFormed(svg);
  const texts = textsOf(svg);
  for (const text of ['2.50 ×', '0.25 ×', 'not measured', '1/4', '4 ×', 'well', 'badly']) {
    expect(texts).toContain(text);
  }
});

test('the plots of the README hold what the summary has', () => {
  const engine = runOf([opsOf('durable-puts-64', { cellar: 61_000, lmdb: 20_000 })]);
  const figures = (name: string, rate: number) => ({
    name,
    firstAnswerMs: 1,
    rssBytes: 1,
    works: { 'put-32': [{ rate, cpuUs: 1 }] },
  });
  const server = {
    taken: '2026-01-02T03:04:05Z',
    servers: [figures('cellar', 27_000), figures('hbase', 6000), figures('null', 31_000)],
  };
  const runs = { engine, server, txn: null, backup: null };
  const verdicts = GOALS.map((goal) => verdictOf(goal, runs));
  const [embedded, ofServer] = summaryPlots(verdicts, runs);
  expect(embedded!.name).toBe('speed-embedded');
  expect(textsOf(embedded!.svg)).toContain('3.05 ×');
  expect(textsOf(embedded!.svg)).toContain('61,000 op/s; lmdb 20,000');
  expect(ofServer!.name).toBe('speed-server');
  expect(textsOf(ofServer!.svg)).toContain('put, 32 threads');
  expect(textsOf(ofServer!.svg)).toContain('4.50 ×');
  expect(summaryPlots(verdicts, { engine: null, server: null, txn: null, backup: null })).toEqual(
    [],
  );
});
