/** `cellar explain`: as text, as JSON, on a folder. (On a server: test/server/tasks.test.ts.) */
import { beforeEach, expect, test } from 'vitest';
import { CliHarness } from './support.ts';

let harness: CliHarness;

const lines = (text: string): string[] => text.trimEnd().split('\n');

async function run(...argv: string[]): Promise<string> {
  const { status, stdout, stderr } = await harness.run(argv);
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return stdout;
}

/** Two files and a memstore: a and b at 100, a and c at 200, d; a marker hides b. */
beforeEach(async () => {
  harness = new CliHarness();
  await run('create', 't', 'f');
  for (const [row, ts] of [
    ['a', '100'],
    ['b', '100'],
    ['', ''],
    ['a', '200'],
    ['c', '200'],
    ['', ''],
    ['d', '300'],
  ] as const) {
    if (row === '') await run('flush', 't');
    else await run('put', 't', row, 'f:q', 'v', '--ts', ts);
  }
  await run('delete', 't', 'b');
});

test('of a scan, as text', async () => {
  const text = (await run('explain', 't'))
    .replaceAll(/[0-9a-f]{32}/g, 'ID')
    .replaceAll(/\d+\.\d ms/g, 'N ms')
    .replaceAll(/read point \d+/g, 'read point N')
    .replaceAll(/\d+ bytes/g, 'N bytes');
  const [first, ...others] = lines(text);
  expect(first).toBe('scan of table t: 3 row(s), 3 cell(s) in N ms, N ms of them for the disk');
  expect(others.slice(0, 6)).toEqual([
    'read point N',
    'regions    1 read, 0 ruled out',
    'files      2 read, 0 ruled out',
    'blocks     data 0 from cache (N bytes), 2 from disk (N bytes); index 0 from cache (N bytes), 0 from disk (N bytes); Bloom 0 from cache (N bytes), 0 from disk (N bytes)',
    'moves      3 seek(s), 3 step(s), 0 lazy seek(s) saved, 0 hint(s), 0 followed',
    'cells      6 looked at: 3 returned, 1 marker(s), 1 by markers, 1 versions too many',
  ]);
  expect(others[7]).toBe('region ID [, ): 4 row(s) looked at, 1 dropped');
  expect(others[8]).toBe(
    '  family f: 6 looked at: 3 returned, 1 marker(s), 1 by markers, 1 versions too many; 0 hint(s), 0 followed; 0 lazy seek(s) saved',
  );
  expect(others[9]!.trim().split(/\s+/)).toEqual([
    'SOURCE',
    'CELLS',
    'BYTES',
    'SEEKS',
    'STEPS',
    'DATA',
    'INDEX',
    'BLOOM',
    'NOTE',
  ]);
  expect(others.slice(10).map((line) => line.trim().split(/\s+/)[0]!.split('/')[0])).toEqual([
    'memstore',
    'data',
    'data',
  ]);
});

test('of a get and of a scan, as JSON', async () => {
  const get = JSON.parse(await run('explain', 't', 'c', '--json')) as Record<string, unknown>;
  expect(get).toMatchObject({
    table: 't',
    operation: 'get',
    totals: {
      filesRead: 1,
      filesRuledOut: 1,
      rowsReturned: 1,
      cells: { lookedAt: 1, returned: 1 },
    },
    regions: [
      {
        startKey: '',
        endKey: '',
        ruledOut: null,
        families: [
          {
            family: 'f',
            sources: [
              { kind: 'memstore', path: null, cells: 2, ruledOut: null },
              { kind: 'store', ruledOut: null, opened: true },
              { kind: 'store', ruledOut: 'key range' },
            ],
          },
        ],
      },
    ],
  });
  expect(typeof get['readPoint']).toBe('string');
  const scan = JSON.parse(
    await run('explain', 't', '--time-range', '150,250', '--versions', '2', '--json'),
  ) as Record<string, unknown>;
  expect(scan).toMatchObject({
    operation: 'scan',
    totals: { rowsReturned: 2, filesRead: 1, filesRuledOut: 1 },
  });
});

test('columns, filters, and what does not fit', async () => {
  const filtered = await run('explain', 't', '--filter', "RowFilter(=, 'binary:c')");
  expect(filtered).toContain('1 row(s), 1 cell(s)');
  expect(filtered).toContain('by the filter');
  expect(await run('explain', 't', 'a', 'f:none')).toContain('0 row(s), 0 cell(s)');
  const wrong = await harness.run(['explain', 't', 'a', '--limit', '2']);
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain('--limit is of scans: leave the row out');
  const absent = await harness.run(['explain', 'nothing']);
  expect(absent.status).toBe(1);
  expect(absent.stderr).toContain('TableNotFoundException');
});
