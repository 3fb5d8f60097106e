/** Exports, backups, restores, forks and the log on the command line. */
import { expect, test } from 'vitest';
import { CliHarness, words } from './support.ts';

async function ok(cli: CliHarness, command: string): Promise<string> {
  const ran = await cli.run(words(command));
  expect(ran.stderr, command).toBe('');
  expect(ran.status, command).toBe(0);
  return ran.stdout;
}

async function filled(): Promise<CliHarness> {
  const cli = new CliHarness();
  await ok(cli, 'create people info');
  await ok(cli, 'create orders f');
  await ok(cli, 'put people alice info:name Alice --ts 5');
  await ok(cli, 'put orders 1 f:total 12 --ts 6');
  await ok(cli, 'delete orders 2 --ts 3');
  return cli;
}

test('export, verify, import', async () => {
  const cli = await filled();
  const text = await ok(cli, 'export people orders out --format jsonl');
  expect(text).toMatch(/^people: 1 row\(s\), 1 cell\(s\), 0 marker\(s\), 1 file\(s\), \d+ bytes$/m);
  expect(text).toContain('note: delete markers are not exported (raw exports have them)');
  expect(await ok(cli, 'verify out')).toMatch(
    /^out is whole: 2 file\(s\), \d+ bytes, 2 cell\(s\)$/m,
  );
  const lines = Buffer.from(await cli.env.fs.readFile('out/default/people/part-00000.jsonl'));
  expect(lines.toString()).toBe(
    '{"row":"alice","family":"info","qualifier":"name","ts":5,"type":"Put","value":"Alice"}\n',
  );
  expect(await ok(cli, 'import out --create --data other')).toBe(
    'people: 1 put(s), 0 marker(s)\norders: 1 put(s), 0 marker(s)\n',
  );
  expect(await ok(cli, 'get people alice --data other')).toContain('value=Alice');
  expect((await cli.run(words('export out'))).status).toBe(2);
  const refused = await cli.run(words('export --all out'));
  expect(refused).toMatchObject({
    status: 1,
    stderr: 'IoException: out holds an export already\n',
  });
  await cli.writeFile('out/default/people/part-00000.jsonl', 'x');
  const damaged = await cli.run(words('verify out --json'));
  expect(damaged.status).toBe(1);
  expect(JSON.parse(damaged.stdout)).toMatchObject({ ok: false });
});

test('backups there and back', async () => {
  const cli = await filled();
  const created = JSON.parse(await ok(cli, 'backup create backups --json')) as {
    id: string;
    toTso: string;
  };
  await ok(cli, 'put people bob info:name Bob');
  expect(await ok(cli, 'backup create backups --incremental')).toMatch(
    /^Created \S+: incremental, /,
  );
  const list = (await ok(cli, 'backup list backups --json'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; kind: string });
  expect(list.map(({ kind }) => kind)).toEqual(['full', 'incremental']);
  expect(await ok(cli, `backup describe backups ${list[1]!.id}`)).toContain(
    `hangs on    ${created.id}`,
  );
  expect(await ok(cli, 'backup verify backups')).toMatch(/^backups is whole/);
  expect(await ok(cli, 'verify backups')).toMatch(/^backups is whole/);
  expect(await ok(cli, 'restore backups restored')).toMatch(
    /^Restored orders, people as of \d+ \(.*\) into restored: \d file\(s\) of 2 backup\(s\), 1 commit\(s\) of the log\n/,
  );
  expect(await ok(cli, 'count people --data restored')).toBe('2 row(s)\n');
  await ok(
    cli,
    `restore backups restored --as-of ${created.toTso} --tables people --rename people=then`,
  );
  expect(await ok(cli, 'count then --data restored')).toBe('1 row(s)\n');
  const exists = await cli.run(words('restore backups restored'));
  expect(exists.stderr).toMatch(/^TableExistsException: Table (orders|people) exists already/);
  expect(await ok(cli, `at backups --as-of ${created.toTso} count people`)).toBe('1 row(s)\n');
  expect(await ok(cli, 'at backups scan people --limit 1')).toContain('value=Alice');
  expect(await ok(cli, 'diff backups store')).toBe('0 difference(s)\n');
  const stuck = await cli.run(words(`backup delete backups ${created.id}`));
  expect(stuck).toMatchObject({ status: 1 });
  expect(stuck.stderr).toMatch(/^BackupException: /);
  expect(await ok(cli, `backup merge backups ${list[0]!.id} ${list[1]!.id}`)).toMatch(
    /^Merged into /,
  );
  expect(await ok(cli, 'backup prune backups --keep 1')).toBe('Nothing to delete\n');
});

test('time travel, forks and the log', async () => {
  const cli = await filled();
  const { tso } = JSON.parse(await ok(cli, 'put people alice info:name Alicia --ts 8 --json')) as {
    tso: string;
  };
  await ok(cli, 'put people carol info:name Carol --ts 9');
  const changed = await cli.run(words(`diff people --from ${tso}`));
  expect(changed).toMatchObject({
    status: 1,
    stdout: '+ people carol info:name timestamp=9, value=Carol\n1 difference(s)\n',
  });
  expect(await ok(cli, `at store --as-of ${tso} count people`)).toBe('1 row(s)\n');
  const write = await cli.run(words('at store put people x info:name X'));
  expect(write.stderr).toBe('DoNotRetryIOException: store is opened read only\n');
  expect(await ok(cli, 'fork copy')).toMatch(
    /^Forked 2 table\(s\) as of \d+ into copy: 3 file\(s\)\n/,
  );
  await ok(cli, 'put people dave info:name Dave --data copy');
  expect(await ok(cli, 'count people')).toBe('2 row(s)\n');
  expect(await ok(cli, 'wal verify')).toContain('The log is whole\n');
  expect(await ok(cli, 'wal archive --on')).toMatch(/needed {4}above \d+ by wal archive/);
  expect(await ok(cli, 'wal archive --off')).toContain('needed    by nobody');
  await ok(cli, 'create again info');
  expect(await ok(cli, 'wal replay store --tables people --rename people=again')).toMatch(
    /^Replayed 3 commit\(s\), 3 cell\(s\), of again\n/,
  );
  expect(await ok(cli, 'count again')).toBe('2 row(s)\n');
  expect(await ok(cli, 'wal replay store --tables people --hfiles out --data copy')).toMatch(
    /^Replayed 3 commit/,
  );
  expect((await ok(cli, 'wal dump --limit 2')).split('\n')).toHaveLength(3);
});
