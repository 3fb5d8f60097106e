import { gunzipSync } from 'node:zlib';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import { realEnv } from '../../src/io/index.ts';
import { areaOf, parseQuakes, quakeRow } from '../../src/cli/demo_data.ts';
import { demoCommands, describeHoldings, loadDemo } from '../../src/cli/demo.ts';
import { geohash } from '../../src/cli/geohash.ts';
import { demoProgress } from '../../src/cli/demo_progress.ts';

const DATA = path.resolve(import.meta.dirname, '../../data/earthquakes.json.gz');
const text = (): string => gunzipSync(readFileSync(DATA)).toString('utf8');

test('the set is the published file, unchanged', () => {
  // The checksum that datapackage.json of vega-datasets 3.2.1 gives: that of a git blob.
  const content = Buffer.from(text());
  const blob = createHash('sha1').update(`blob ${content.length}\0`).update(content);
  expect(blob.digest('hex')).toBe('ed4c47436c09d5cc5f428c233fbd8074c0346fd0');
});

test.each([
  // The example of geohash.org, and the corners of the world.
  { latitude: 57.64911, longitude: 10.40744, want: 'u4pruydqqvj' },
  { latitude: 42.6, longitude: -5.6, want: 'ezs42' },
  { latitude: -90, longitude: -180, want: '0000' },
  { latitude: 90, longitude: 180, want: 'zzzz' },
])('geohash of $latitude, $longitude', ({ latitude, longitude, want }) => {
  expect(geohash(latitude, longitude, want.length)).toBe(want);
});

test('row keys: area, time counted down, id', () => {
  const { quakes } = parseQuakes(text());
  expect(quakes).toHaveLength(1707);
  expect(quakeRow(quakes[0]!)).toBe('9q5s-8482033226159-ci37868143');
  const rows = quakes.map(quakeRow);
  expect(new Set(rows).size).toBe(rows.length);
  const sorted = [...quakes].sort((a, b) => (quakeRow(a) < quakeRow(b) ? -1 : 1));
  for (const [i, quake] of sorted.entries()) {
    const before = sorted[i - 1];
    if (before === undefined || areaOf(before) !== areaOf(quake)) continue;
    expect(before.timeMs).toBeGreaterThan(quake.timeMs);
  }
});

test('a quake that is not as expected is named', () => {
  const broken = JSON.parse(text()) as { features: { geometry: unknown }[] };
  broken.features[3]!.geometry = {};
  expect(() => parseQuakes(JSON.stringify(broken))).toThrow('longitude of quake 3 is no number');
});

test('loading, once; versions and timestamps are those of the feed', async () => {
  await using connection = await open();
  const env = realEnv();
  const seen: number[] = [];
  const first = await loadDemo(connection, env, (done) => void seen.push(done));
  expect(first).toEqual({ loaded: true, quakes: 1707 });
  expect(seen.at(-1)).toBe(1707);
  const again = await loadDemo(connection, env, () => expect.unreachable());
  expect(again).toEqual({ loaded: false, quakes: 1707 });

  const table = connection.table('quakes');
  const areas = new Set(parseQuakes(text()).quakes.map(areaOf));
  expect(await table.count()).toBe(1707 + areas.size + 1);

  const quake = await table.get('9q5s-8482033226159-ci37868143', { versions: 5 });
  const status = quake!.cells.filter(({ qualifier }) =>
    Buffer.from(qualifier).equals(Buffer.from('status')),
  );
  expect(status.map(({ ts, value }) => [ts, Buffer.from(value).toString()])).toEqual([
    [1517966996303n, 'automatic'],
    [1517966773840n, 'occurred'],
  ]);
  expect(quake!.text('event:mag')).toBe('2');
  expect(quake!.has('feed:sig')).toBe(true);
  expect(quake!.has('feed:felt')).toBe(false);

  const area = await table.get('9qbs', { columns: ['event:mag'], versions: 100 });
  const latest = parseQuakes(text())
    .quakes.filter((found) => areaOf(found) === '9qbs')
    .sort((a, b) => b.timeMs - a.timeMs)
    .slice(0, 5);
  expect(area!.cells.map(({ ts }) => ts)).toEqual(latest.map(({ timeMs }) => BigInt(timeMs)));
  expect(await describeHoldings(connection)).toEqual([
    `quakes: ${(1707 + areas.size + 1).toLocaleString('en')} rows, families event (VERSIONS 5), feed (VERSIONS 1, TTL 604800)`,
  ]);
});

test('a load that was broken off is completed by the next', async () => {
  await using connection = await open();
  const env = realEnv();
  const stop = new AbortController();
  const reason = new Error('stopped');
  const broken = loadDemo(connection, env, (done) => done > 300 && stop.abort(reason), stop.signal);
  await expect(broken).rejects.toBe(reason);
  const rows = await connection.table('quakes').count();
  expect(rows).toBeGreaterThan(300);
  expect(rows).toBeLessThan(1000);
  const outcome = await loadDemo(connection, env, () => undefined);
  expect(outcome).toEqual({ loaded: true, quakes: 1707 });
  expect(await connection.table('quakes').exists('~source')).toBe(true);
});

test('an empty store says so; commands name the store', async () => {
  await using connection = await open();
  expect(await describeHoldings(connection)).toEqual(['no tables yet']);
  expect(demoCommands('cellar', '--data data/demo')[0]).toMatch(
    /^cellar count quakes --data data\/demo +# /,
  );
});

test('without a terminal progress is a few lines', () => {
  const lines: string[] = [];
  const { report } = demoProgress((line) => void lines.push(line), null);
  for (let done = 0; done <= 100; done += 5) report(done, 100);
  expect(lines).toEqual([0, 25, 50, 75, 100].map((n) => `loading earthquakes: ${n} of 100`));
});
