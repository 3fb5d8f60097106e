/** Exports, backups, restores and forks of a store that a server has open: the same commands, through its HTTP door. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { open } from '../../src/embedded/index.ts';
import type { StoreConnection } from '../../src/embedded/index.ts';
import { startServer } from '../../src/server/index.ts';
import type { RunningServer } from '../../src/server/index.ts';
import { CliHarness, words } from '../cli/support.ts';

let cli: CliHarness;
let store: StoreConnection;
let server: RunningServer;
let address: string;

beforeEach(async () => {
  cli = new CliHarness();
  store = await open('store', { env: cli.env });
  const api = { auth: { users: [{ name: 'root', password: 'secret', admin: true }] } };
  server = await startServer({ connection: store, http: { port: 0, api } });
  address = server.addresses.http!;
  await store.setAddress(address);
  await store.admin.createTable({ name: 't', families: ['f'] });
  await store.table('t').put('r', { 'f:q': '1' });
});

afterEach(async () => {
  await server.close();
  await store.close();
});

async function ok(command: string): Promise<string> {
  const variables = { CELLAR_DATA: 'store' };
  const ran = await cli.run(words(`${command} --user root:secret`), { variables });
  expect(ran.stderr, command).toBe('');
  expect(ran.status, command).toBe(0);
  return ran.stdout;
}

test('a folder that a server has open is worked on through it', async () => {
  expect(await ok('export --all out --format jsonl')).toContain('t: 1 row(s), 1 cell(s)');
  const created = await ok('backup create backups');
  expect(created).toMatch(/^Created \S+: full, at /);
  await store.table('t').put('s', { 'f:q': '2' });
  expect(await ok('backup create backups --incremental')).toMatch(/: incremental, /);
  expect(await ok('restore backups --rename t=then')).toMatch(/^Restored then as of \d+ /);
  expect(await store.table('then').count()).toBe(2);
  expect(await ok('import out --rename t=then')).toBe('then: 1 put(s), 0 marker(s)\n');
  expect(await ok('fork copy')).toMatch(/^Forked 2 table\(s\)/);
  const now = await store.tso();
  const explained = JSON.parse(await ok(`explain t r --as-of ${now} --json`)) as object;
  expect(explained).toMatchObject({ table: 't', operation: 'get', totals: { rowsReturned: 1 } });
  expect(await ok('explain t --versions ALL --start s')).toContain('scan of table t: 1 row(s)');
  const again = await cli.run(words('restore backups --user root:secret'), {
    variables: { CELLAR_DATA: 'store' },
  });
  expect(again.stderr).toMatch(
    /^ApiException: Table t exists already|^\w+: Table t exists already/,
  );
});

test('gets, scans and counts of a folder that a server has open, of now and of before', async () => {
  const before = await store.tso();
  await store.table('t').put('r', { 'f:q': '2' }, { ts: 7000000000000 });
  const rows = 2500;
  const value = 'x'.repeat(200); // More than goes out in one piece.
  await store.table('t').batch(
    Array.from({ length: rows }, (_, i) => ({
      put: `s${String(i).padStart(5, '0')}`,
      values: { 'f:q': value, 'f:\u0001': `${i}` },
    })),
  );
  expect(await ok('get t r')).toBe(
    'COLUMN                CELL\n f:q                  timestamp=7000000000000, value=2\n1 row(s)\n',
  );
  expect(await ok(`get t r f:q --as-of ${before}`)).toContain('value=1\n1 row(s)');
  expect(await ok('get t absent')).toContain('\n0 row(s)');
  const scanned = (await ok(`scan t --prefix s --filter "ColumnPrefixFilter('\\x01')" --json`))
    .trim()
    .split('\n');
  expect(scanned).toHaveLength(rows);
  expect(JSON.parse(scanned[1234]!)).toMatchObject({
    row: 's01234',
    qualifier: '\\x01',
    value: '1234',
  });
  expect(await ok('scan t --columns f:q')).toMatch(new RegExp(`\n${rows + 1} row\\(s\\)\n$`));
  expect(await ok(`scan t --as-of ${before}`)).toContain('value=1\n1 row(s)');
  expect(await ok('scan t --start s00001 --batch 1 --limit 2 --reversed')).toContain('2 row(s)');
  expect(await ok('count t --json')).toBe(`{"count":${rows + 1},"table":"t"}\n`);
  expect(await ok(`count t --as-of ${before}`)).toBe('1 row(s)\n');
  const variables = { CELLAR_DATA: 'store' };
  const closed = await cli.run(words('scan t --user root:secret'), { variables, writesTaken: 1 });
  expect(closed).toMatchObject({ status: 0, stderr: '' });
  expect(closed.stdout.split('\n').length).toBeLessThan(rows);
  for (const command of ['get none r', 'scan none', 'count none']) {
    const refused = await cli.run(words(`${command} --user root:secret`), { variables });
    expect(refused.status, command).toBe(1);
    expect(refused.stdout, command).toBe('');
    expect(refused.stderr, command).toContain('none');
  }
  const stranger = await cli.run(words('get t r'), { variables });
  expect(stranger.status).toBe(1);
});

test('comparisons, the log and its changes, of a store that a server has open', async () => {
  const before = await store.tso();
  const rows = 2500; // More than wait for their reader at once.
  for (let i = 0; i < rows; i += 500) {
    await store.table('t').batch(
      Array.from({ length: 500 }, (_, j) => ({
        put: `s${String(i + j).padStart(5, '0')}`,
        values: { 'f:q': `v${i + j}` },
      })),
    );
  }
  await store.table('t').delete('r');
  const variables = { CELLAR_DATA: 'store' };
  const diff = await cli.run(words(`diff t --from ${before} --user root:secret`), { variables });
  expect(diff.status).toBe(1);
  const lines = diff.stdout.trim().split('\n');
  expect(lines).toHaveLength(rows + 2);
  expect(lines[0]).toMatch(/^- t r f:q /);
  expect(lines[1]).toMatch(/^\+ t s00000 f:q .*v0/);
  expect(lines.at(-1)).toBe(`${rows + 1} difference(s)`);
  expect(await ok(`diff t --from now`)).toBe('0 difference(s)\n');
  expect(await ok('wal archive')).toContain('needed    by nobody');
  expect(await ok('wal archive --on')).toMatch(/needed +above \d+ by wal archive/);
  expect(await ok('wal archive --off')).toContain('needed    by nobody');
  await store.admin.createTable({ name: 'copy', families: ['f'] });
  const replayed = await ok(`wal replay store --tables t --rename t=copy --from ${before}`);
  expect(replayed).toContain(`${rows + 1} cell(s), of copy`);
  expect(await store.table('copy').count()).toBe(rows);
  const changes = await ok(`changes --from ${before} --table t`);
  expect(changes.split('\n').filter((line) => line.includes('"table":"t"')).length).toBe(rows + 1);
});

test('who goes away ends a comparison', async () => {
  const before = await store.tso();
  await store.table('t').batch(
    Array.from({ length: 3000 }, (_, i) => ({
      put: `s${i}`,
      values: { 'f:q': 'v'.repeat(500) },
    })),
  );
  const leaving = new AbortController();
  const body = { task: 'diff', table: 't', from: { $n: String(before) }, to: 'now' };
  const answer = await fetch(`${address}/api/admin/tasks`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from('root:secret').toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  expect(answer.status).toBe(200);
  leaving.abort();
  // The task is over, or closing the server would wait for it.
});

test('only administrators may, and paths are absolute', async () => {
  const ran = await cli.run(words('export --all out --user root:wrong'), {
    variables: { CELLAR_DATA: 'store' },
  });
  expect(ran.status).toBe(1);
  const post = async (body: object, authorization: string): Promise<Response> =>
    fetch(`${address}/api/admin/tasks`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const admin = `Basic ${Buffer.from('root:secret').toString('base64')}`;
  expect((await post({ task: 'export', out: '/x' }, 'Basic eDp5')).status).toBe(401);
  expect((await post({ task: 'export', out: 'x' }, admin)).status).toBe(400);
  expect((await post({ task: 'explode' }, admin)).status).toBe(400);
  expect((await post({ task: 'explain', table: 7 }, admin)).status).toBe(400);
  const answer = await post({ task: 'export', tables: ['nope'], out: '/x' }, admin);
  expect(answer.status).toBe(200);
  expect(JSON.parse((await answer.text()).trim())).toMatchObject({
    error: 'TableNotFoundException',
    retryable: false,
  });
});
