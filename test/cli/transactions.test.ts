/** `cellar tso`, `txn`, `changes`, `config` on a folder and on a server, which say the same. */
import { afterEach, describe, expect, test } from 'vitest';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { open } from '../../src/embedded/index.ts';
import type { StoreConnection } from '../../src/embedded/index.ts';
import { runCli } from '../../src/cli/run.ts';
import { openFolder, cliLogger } from '../../src/cli/store.ts';
import { realEnv } from '../../src/io/index.ts';
import { startServer } from '../../src/server/index.ts';

const env = realEnv();
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function folder(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'cellar-cli-'));
  closers.push(async () => rmSync(dir, { recursive: true, force: true }));
  return path.join(dir, 'data');
}

interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

async function cellar(
  words: readonly string[],
  variables: Record<string, string> = {},
): Promise<Ran> {
  let out = '';
  let err = '';
  const status = await runCli(words, {
    env,
    stdout: { write: async (text) => ((out += text), true) },
    stderr: { write: async (text) => ((err += text), true) },
    stdin: (async function* (): AsyncGenerator<Uint8Array> {})(),
    terminal: null,
    progressStream: null,
    variables: { USER: 'tester', ...variables },
    openStore: (dir, access) =>
      openFolder(
        env,
        dir,
        access,
        cliLogger({ CELLAR_LOG_LEVEL: 'silent' }, () => undefined),
        variables,
      ),
    serveHost: null,
    onInterrupt: () => () => undefined,
  });
  return { status, out, err };
}

async function fill(connection: StoreConnection): Promise<void> {
  await connection.admin.createTable({ name: 't', families: ['f'] });
  for (const label of ['job-1', 'job-2']) {
    const txn = connection.transaction({ label });
    await txn.begin();
    await txn.load([{ put: label, values: { 'f:q': 'x' } }], { table: 't' });
    await txn.prepare();
  }
}

describe.each(['folder', 'server'])('on a %s', (where) => {
  test('transactions are listed, shown and decided, with an audit line; changes are printed', async () => {
    const dir = folder();
    const connection = await open(dir);
    await fill(connection);
    let target: string[];
    if (where === 'server') {
      closers.push(() => connection.close());
      const auth = { users: [{ name: 'root', password: 'pw', admin: true }] };
      const server = await startServer({ connection, http: { port: 0, api: { auth } } });
      closers.push(() => server.close());
      target = ['--server', server.addresses.http!, '--user', 'root:pw'];
    } else {
      await connection.close();
      target = ['--data', dir];
    }
    const listed = await cellar(['txn', 'list', '--state', 'PREPARED', '--json', ...target]);
    expect([listed.status, listed.err]).toEqual([0, '']);
    const rows = listed.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { label: string; txnId: string });
    expect(rows.map(({ label }) => label)).toEqual(['job-1', 'job-2']);
    const committed = await cellar(['txn', 'commit', 'job-1', ...target]);
    expect(committed.status).toBe(0);
    expect(JSON.parse(committed.err)).toMatchObject({
      audit: 'commit',
      label: 'job-1',
      who: where === 'server' ? 'root' : 'tester',
    });
    expect(committed.out).toMatch(/COMMITTED job-1 rows=1 .*tso=\d{18}/);
    const rolled = await cellar(['txn', 'rollback', rows[1]!.txnId, '--json', ...target]);
    expect(JSON.parse(rolled.out)).toMatchObject({
      label: 'job-2',
      state: 'ABORTED',
      reason: 'USER',
    });
    const again = await cellar(['txn', 'commit', 'job-2', ...target]);
    expect([again.status, again.err]).toEqual([1, expect.stringContaining('TXN_ABORTED')]);
    expect((await cellar(['txn', 'show', 'job-1', ...target])).out).toContain(
      'state        COMMITTED',
    );
    const changes = await cellar(['changes', ...target]);
    const lines = changes.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { row?: string; label?: string });
    expect(lines.filter(({ row }) => row !== undefined)).toMatchObject([
      { row: 'job-1', label: 'job-1', table: 't' },
    ]);
    const tso = await cellar(['tso', '--json', ...target]);
    expect(JSON.parse(tso.out)).toMatchObject({ initialized: true });
    expect((await cellar(['tso', '--allocate', '3', ...target])).out).toMatch(
      /^\d{18} … \d{18}\n$/,
    );
  });

  test('knobs are listed and set', async () => {
    const dir = folder();
    const connection = await open(dir);
    let target = ['--data', dir];
    if (where === 'server') {
      closers.push(() => connection.close());
      const server = await startServer({ connection, http: { port: 0 } });
      closers.push(() => server.close());
      target = ['--server', server.addresses.http!];
    } else await connection.close();
    const valueOf = async (name: string): Promise<unknown> => {
      const { out } = await cellar(['config', 'list', '--json', ...target]);
      const knobs = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { name: string; value: unknown });
      return knobs.find((knob) => knob.name === name)?.value;
    };
    expect(await valueOf('txn_spill_bytes')).toBe(262144);
    expect((await cellar(['config', 'set', 'txn_spill_bytes', '1000', ...target])).status).toBe(0);
    expect(
      (await cellar(['config', 'set', 'change_visible_timeout_ms', '77', ...target])).status,
    ).toBe(0);
    expect(await valueOf('txn_spill_bytes')).toBe(1000);
    expect(await valueOf('change_visible_timeout_ms')).toBe(77);
    const fixed = await cellar(['config', 'set', 'enable_feature_binlog', 'true', ...target]);
    expect([fixed.status > 0, fixed.err]).toEqual([
      true,
      expect.stringContaining('while the store is open'),
    ]);
    expect(
      (await cellar(['config', 'set', 'no_such_knob', '1', ...target])).status,
    ).toBeGreaterThan(0);
  });
});

test('the environment and a config file come over what the store keeps', async () => {
  const dir = folder();
  await (await open(dir)).close();
  await cellar(['config', 'set', 'txn_max_prepared', '11', '--data', dir]);
  const file = `${dir}.json`;
  writeFileSync(file, '{"txn_max_prepared": 22, "enable_feature_binlog": true}');
  const shown = async (variables: Record<string, string>): Promise<string[]> => {
    const { out } = await cellar(['config', 'list', '--data', dir], variables);
    return out
      .split('\n')
      .filter((line) => /^(?:txn_max_prepared|enable_feature_binlog)/.test(line))
      .map((line) => line.split(/ +/)[1]!);
  };
  expect(await shown({})).toEqual(['false', '11']);
  expect(await shown({ CELLAR_CONFIG: file })).toEqual(['true', '22']);
  expect(await shown({ CELLAR_CONFIG: file, CELLAR_TXN_MAX_PREPARED: '33' })).toEqual([
    'true',
    '33',
  ]);
});

test('a stamp explained', async () => {
  const { out } = await cellar(['tso', '--of', '468412345646579753']);
  expect(out).toBe('468412345646579753 = 2026-08-16T03:34:54.123Z+41\n');
});
