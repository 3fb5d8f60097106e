/** The command line itself: help, misspelt options, missing arguments, the data folder, exit statuses. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { VERSION } from '../../src/cli/version.ts';
import { CliHarness, words } from './support.ts';

const COMMANDS: readonly string[] = [
  'create t f',
  'list',
  'describe t',
  'alter t',
  'exists t',
  'drop t',
  'disable t',
  'enable t',
  'truncate t',
  'namespace create n',
  'namespace drop n',
  'namespace list',
  'put t r f:a v',
  'get t r',
  'scan t',
  'count t',
  'delete t r',
  'incr t r f:a',
  'append t r f:a v',
  'load t file --columns HBASE_ROW_KEY,f:a',
  'split t',
  'merge t a b',
  'normalize',
  'stats',
  'wal dump',
  'serve',
  'shell',
];

describe('a misspelt option is refused before anything is done', () => {
  test.each(COMMANDS)('%s', async (command) => {
    const harness = new CliHarness();
    const ran = await harness.run([...words(command), '--verisons', '3']);
    expect(ran.status).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toMatch(/unknown option '--verisons'/);
    expect(await harness.env.fs.stat('store')).toBeNull();
  });
});

describe('help', () => {
  test.each([...COMMANDS.map((command) => command.split(' ')[0]!), 'wal dump', ''])(
    'of "%s"',
    async (command) => {
      const ran = await new CliHarness().run([...words(command), '--help']);
      expect(ran).toMatchObject({ status: 0, stderr: '' });
      expect(ran.stdout).toContain('Usage: cellar');
    },
  );

  test('names the exit statuses', async () => {
    const { stdout } = await new CliHarness().run(['--help']);
    expect(stdout).toMatch(
      /Exit status: 0 done; 1 the operation failed .*\n2 the command line is wrong .*; 130 ended by Ctrl-C/,
    );
  });
});

test.each([
  { argv: ['bogus'], want: /unknown command 'bogus'/ },
  { argv: ['lst'], want: /Did you mean list\?/ },
  { argv: ['get', 't'], want: /missing required argument 'ROW'/ },
  { argv: ['list', 'a', 'b'], want: /too many arguments/ },
  { argv: ['load', 't', 'f'], want: /required option '--columns <COLUMNS>' not specified/ },
  { argv: ['put', 't', 'r', 'f:a', 'v', '--durability', 'MAYBE'], want: /Allowed choices are/ },
  { argv: ['scan', 't', '--limit', 'x'], want: /UsageError: 'x' is no integer from 0 up/ },
  { argv: ['scan', 't', '--ts', '1.5'], want: /UsageError: '1.5' is no integer/ },
  { argv: ['scan', 't', '--time-range', '5'], want: /UsageError: '5' is no time range: MIN,MAX/ },
  { argv: ['scan', 't', '--as-of', 'yesterday'], want: /UsageError: 'yesterday' is neither/ },
  { argv: ['create', 't', '{NAME'], want: /SyntaxError/ },
])('$argv', async ({ argv, want }) => {
  const ran = await new CliHarness().run(argv);
  expect(ran.stderr).toMatch(want);
  expect(ran.status).toBe(2);
});

test('with --json usage errors are objects too', async () => {
  const ran = await new CliHarness().run(['get', 't', '--json']);
  expect(ran.status).toBe(2);
  expect(JSON.parse(ran.stderr)).toEqual({
    error: 'UsageError',
    message: "missing required argument 'ROW'",
    retryable: false,
  });
});

test('the data folder: --data, else CELLAR_DATA, else a usage error', async () => {
  const harness = new CliHarness();
  const none = await harness.run(['create', 't', 'f'], { variables: {} });
  expect(none).toEqual({
    status: 2,
    stdout: '',
    stderr: 'UsageError: no data folder: give --data DIR or set CELLAR_DATA\n',
  });
  expect((await harness.run(['--data', 'a', 'create', 't', 'f'])).status).toBe(0);
  expect((await harness.run(['create', 'u', 'f', '--data', 'a'])).status).toBe(0);
  const listed = await harness.run(['list'], { variables: { CELLAR_DATA: 'a' } });
  expect(listed.stdout).toBe('t\nu\n');
});

test('the version is that of the package', async () => {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../package.json'), 'utf8');
  expect(VERSION).toBe((JSON.parse(text) as { version: string }).version);
  expect(await new CliHarness().run(['--version'])).toMatchObject({
    status: 0,
    stdout: `${VERSION}\n`,
  });
});

test('stats and wal dump', async () => {
  const harness = new CliHarness();
  await harness.run(['create', 't', 'f']);
  await harness.run(['put', 't', 'r', 'f:a', 'v', '--ts', '5']);
  const stats = JSON.parse((await harness.run(['stats', '--json'])).stdout) as object;
  expect(stats).toMatchObject({
    data: 'store',
    durability: 'FSYNC_WAL',
    tables: 1,
    regions: 1,
    memstoreCells: 1,
    fatal: null,
  });
  expect((await harness.run(['stats'])).stdout).toMatch(/^tables +1$/m);
  const text = await harness.run(['wal', 'dump', '--cells']);
  expect(text.status).toBe(0);
  expect(text.stdout).toMatch(
    / commit FSYNC_WAL \d+ bytes table=1 family=1 cells=1 .*\n {2}r f:a\/5\/Put value=v\n/,
  );
  const json = await harness.run(['wal', 'dump', '--json', '--cells']);
  const records = json.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { kind: string; cells: string[] });
  expect(
    records.filter((record) => record.kind === 'commit').map((record) => record.cells),
  ).toEqual([['r f:a/5/Put value=v']]);
  expect(
    (await harness.run(['wal', 'dump', '--limit', '1'])).stdout.trim().split('\n'),
  ).toHaveLength(1);
  expect(await harness.run(['wal', 'dump', '--data', 'nowhere'])).toMatchObject({
    status: 1,
    stdout: '',
  });
});

test('a row in parts counts once; a reader that goes away ends a scan quietly', async () => {
  const harness = new CliHarness();
  await harness.run(['create', 't', 'f']);
  const pairs = Array.from({ length: 3000 }, (_, i) => [`f:${i}`, 'x'.repeat(50)]).flat();
  await harness.run(['put', 't', 'r', ...pairs]);
  const whole = await harness.run(['scan', 't', '--batch', '7']);
  expect(whole.status).toBe(0);
  expect(whole.stdout.trimEnd().split('\n')).toHaveLength(3002);
  expect(whole.stdout).toMatch(/\n1 row\(s\)\n$/);
  const cut = await harness.run(['scan', 't', '--batch', '1'], { writesTaken: 1 });
  expect(cut).toMatchObject({ status: 0, stderr: '' });
  expect(cut.stdout.length).toBeLessThan(whole.stdout.length / 2);
});
