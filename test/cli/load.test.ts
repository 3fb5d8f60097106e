/** Loading beyond what the golden script shows: gzip, standard input, Ctrl-C, errors that are not one line's. */
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { lineToPut, parseColumns } from '../../src/cli/load/columns.ts';
import { CliHarness } from './support.ts';

const COLUMNS = ['--columns', 'HBASE_ROW_KEY,f:a'];

async function withTable(): Promise<CliHarness> {
  const harness = new CliHarness();
  expect((await harness.run(['create', 't', 'f'])).status).toBe(0);
  return harness;
}

async function countOf(harness: CliHarness): Promise<number> {
  const { stdout } = await harness.run(['count', 't', '--json']);
  return (JSON.parse(stdout) as { count: number }).count;
}

const csv = (lines: number): string =>
  Array.from({ length: lines }, (_, i) => `r${String(i).padStart(6, '0')},v${i}\n`).join('');

test('gzip is told by its content, whatever the name; several members are one file', async () => {
  const harness = await withTable();
  const packed = Buffer.concat([gzipSync(csv(10)), gzipSync('x,y\n')]);
  await harness.writeFile('data.csv', packed);
  const ran = await harness.run(['load', 't', 'data.csv', ...COLUMNS, '--json']);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    table: 't',
    lines: 11,
    cells: 11,
    badLines: 0,
    lastLine: 11,
    interrupted: false,
  });
  expect(await countOf(harness)).toBe(11);
});

test('a gzip file that was cut off is an error that names it', async () => {
  const harness = await withTable();
  await harness.writeFile('data.csv.gz', gzipSync(csv(2000)).subarray(0, 3000));
  const ran = await harness.run(['load', 't', 'data.csv.gz', ...COLUMNS]);
  expect(ran.status).toBe(1);
  expect(ran.stderr).toMatch(
    /^IoException: data\.csv\.gz is no whole gzip file: unexpected end of file$/m,
  );
});

test('standard input, cut anywhere', async () => {
  const harness = await withTable();
  const ran = await harness.run(['load', 't', '-', ...COLUMNS, '--separator', ','], {
    stdin: csv(100),
  });
  expect(ran).toMatchObject({ status: 0, stderr: '' });
  expect(await countOf(harness)).toBe(100);
  const packed = await harness.run(['load', 't', '-', ...COLUMNS, '--separator', ','], {
    stdin: gzipSync('z,1\n'),
  });
  expect(packed.status).toBe(0);
  expect(await countOf(harness)).toBe(101);
});

test('Ctrl-C ends after the batch under way and says how far it came', async () => {
  const harness = await withTable();
  await harness.writeFile('data.csv', csv(5000));
  const ran = await harness.run(['load', 't', 'data.csv', ...COLUMNS, '--batch', '100', '--json'], {
    onInterrupt: (handler) => handler(),
  });
  expect(ran.status).toBe(130);
  expect(JSON.parse(ran.stdout)).toMatchObject({ lines: 100, lastLine: 100, interrupted: true });
  expect(await countOf(harness)).toBe(100);
});

test('a line whose cell is refused is a bad line; the others of its batch are loaded', async () => {
  const harness = await withTable();
  await harness.writeFile(
    'data.csv',
    `a,1\n${'k'.repeat(32768)},2\nb,${'x'.repeat(10_485_760)}\nc,3\n`,
  );
  const ran = await harness.run(['load', 't', 'data.csv', ...COLUMNS]);
  expect(ran.status).toBe(0);
  expect(ran.stderr).toMatch(/^data\.csv:2: Row length 32768 is > 32767$/m);
  expect(ran.stderr).toMatch(/^data\.csv:3: Cell.* exceeds limit of 10485760 bytes$/m);
  expect(await countOf(harness)).toBe(2);
});

test('a disabled table ends the load at once', async () => {
  const harness = await withTable();
  await harness.run(['disable', 't']);
  await harness.writeFile('data.csv', csv(5000));
  const ran = await harness.run(['load', 't', 'data.csv', ...COLUMNS]);
  expect(ran.status).toBe(1);
  expect(ran.stderr).toBe('TableNotEnabledException: Table t is disabled\n');
});

test.each([
  { columns: 'HBASE_ROW_KEY', want: /names no column fam:qual/ },
  { columns: 'HBASE_ROW_KEY,f:a,f:a', want: /names f:a twice/ },
  { columns: 'HBASE_ROW_KEY,HBASE_TS_KEY,HBASE_TS_KEY,f:a', want: /names ts twice/ },
  { columns: 'HBASE_ROW_KEY,,f:a', want: /empty word/ },
  { columns: 'HBASE_ROWKEY,f:a', want: /unknown word HBASE_ROWKEY/ },
  {
    columns: 'HBASE_ROW_KEY,HBASE_CELL_VISIBILITY,f:a',
    want: /HBASE_CELL_VISIBILITY is not supported/,
  },
  { columns: 'HBASE_ROW_KEY,a/b:c', want: /Illegal character <47>/ },
])('--columns $columns is refused', ({ columns, want }) => {
  expect(() => parseColumns(columns)).toThrow(want);
});

test('a line with every kind of field', () => {
  const roles = parseColumns('f:\\x01,HBASE_CELL_TTL,-,HBASE_ROW_KEY,HBASE_TS_KEY,g');
  const fields = ['v', '500', 'skipped', 'row', '77'].map((text) => Buffer.from(text));
  const format = { roles, rowSeparator: new Uint8Array(0), skipEmpty: false, ts: 5n };
  expect(lineToPut(fields, format)).toEqual({
    put: Buffer.from('row'),
    values: [{ family: 'f', qualifier: Buffer.of(1), value: Buffer.from('v') }],
    options: { ts: 77n, ttl: 500 },
  });
});
