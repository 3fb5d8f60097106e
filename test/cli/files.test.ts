/** hfile dump, bulkload and reads as of a moment, at the command line. */
import { expect, test } from 'vitest';
import { GOLDEN_FILES, goldenBytes, goldenCells } from '../hfile/support.ts';
import { CliHarness } from './support.ts';

const lines = (text: string): string[] => text.trimEnd().split('\n');

test.each(GOLDEN_FILES)('hfile dump of %s shows every cell', async (name) => {
  const harness = new CliHarness();
  await harness.writeFile('x.hfile', goldenBytes(name));
  const dumped = await harness.run(['hfile', 'dump', 'x.hfile', '--cells', '--json']);
  expect(dumped.status).toBe(0);
  const [description, ...cells] = lines(dumped.stdout);
  expect(JSON.parse(description!)).toMatchObject({
    path: 'x.hfile',
    trailer: { cellCount: 68 },
  });
  const wanted = goldenCells({ tags: name.includes('tags'), mvcc: true });
  expect(cells.map((cell) => (JSON.parse(cell) as { row: string }).row)).toEqual(
    wanted.map(({ row }) => row),
  );
});

test('hfile dump as text', async () => {
  const harness = new CliHarness();
  await harness.writeFile('x.hfile', goldenBytes('mvcc-rowbloom'));
  const { stdout } = await harness.run(['hfile', 'dump', 'x.hfile', '--cells', '--blocks']);
  expect(stdout).toContain('    cellCount = 68\n');
  expect(stdout).toContain('    BLOOM_FILTER_TYPE = ROW\n');
  expect(stdout).toContain('Data blocks: ');
  expect(stdout).toContain('K: row-0000/f:q1/3000/Put/vlen=7/seqid=100 V: v0-3000\n');
  expect(stdout).toContain('/DeleteFamily/vlen=0/');
  await harness.writeFile('bad', Buffer.alloc(5000));
  const bad = await harness.run(['hfile', 'dump', 'bad']);
  expect(bad.status).toBe(1);
  expect(bad.stderr).toContain('CorruptionException');
});

test('bulkload, and reads before and after it', async () => {
  const harness = new CliHarness();
  await harness.env.fs.ensureFolder('in/f');
  await harness.writeFile('in/f/a', goldenBytes('none'));
  await harness.run(['create', 't', 'f', 'VERSIONS=9', 'SPLITS=row-0007']);
  const put = await harness.run(['put', 't', 'row-0001', 'f:own', 'v', '--json']);
  const before = /"tso":"(\d+)"/.exec(put.stdout)![1]!;
  const loaded = await harness.run(['bulkload', 't', 'in', '--move']);
  expect(loaded).toEqual({
    status: 0,
    stdout: 'Loaded 68 cell(s) in 1 file(s), 1 across regions into table t\n',
    stderr: '',
  });
  const again = await harness.run(['bulkload', 't', 'in', '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({ tso: null, files: 0 });
  const count = async (...options: string[]): Promise<unknown> => {
    const { stdout, stderr } = await harness.run(['count', 't', '--json', ...options]);
    return stderr === '' ? (JSON.parse(stdout) as { count: number }).count : stderr;
  };
  expect(await count()).toBe(16);
  expect(await count('--as-of', before)).toBe(1);
  // The commit's millisecond, closed, holds the put and perhaps the load; the one before holds neither.
  const ms = Number(BigInt(before) >> 18n);
  expect(await count('--as-of', new Date(Date.now()).toISOString())).toBe(16);
  expect(await count('--as-of', String(Date.now()))).toBe(16);
  expect(await count('--as-of', String(ms - 1))).not.toBe(16);
  const get = await harness.run(['get', 't', 'row-0001', '--as-of', before, '--json']);
  expect(
    lines(get.stdout).map((line) => (JSON.parse(line) as { qualifier: string }).qualifier),
  ).toEqual(['own']);
  const wrong = await harness.run(['count', 't', '--as-of', 'yesterday']);
  expect(wrong.status).toBe(2);
});
