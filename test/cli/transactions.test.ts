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

/** The knobs of transactions.md sections 1 and 3: unit, default, whether changeable while open. */
const SPECIFIED: Readonly<Record<string, readonly [string, boolean | number, boolean]>> = {
  enable_feature_binlog: ['', false, false],
  tso_service_update_interval_ms: ['ms', 50, false],
  tso_max_update_retry_count: ['', 3, true],
  tso_max_get_retry_count: ['', 10, true],
  tso_service_window_duration_ms: ['ms', 1000, true],
  tso_clock_backward_startup_threshold_ms: ['ms', 1_800_000, true],
  tso_time_offset_debug_mode: ['ms', 0, true],
  enable_tso_forward_when_counter_full: ['', true, true],
  change_visible_timeout_ms: ['ms', 10_000, true],
  max_running_txn_num_per_db: ['', 10_000, true],
  txn_max_prepared: ['', 5000, true],
  txn_max_bytes: ['bytes', 10 * 2 ** 30, true],
  txn_max_staged_bytes: ['bytes', 64 * 2 ** 30, true],
  txn_max_request_bytes: ['bytes', 64 * 2 ** 20, true],
  txn_max_rows_per_request: ['', 1_000_000, true],
  stream_load_default_timeout_second: ['s', 600, true],
  idle_transaction_timeout: ['s', 0, true],
  prepared_transaction_default_timeout_second: ['s', 604_800, true],
  label_keep_max_second: ['s', 604_800, true],
  label_num_threshold: ['', 1_000_000, true],
  txn_spill_bytes: ['bytes', 256 * 1024, true],
  txn_intent_wait_ms: ['ms', 5000, true],
};
/** Not of the specification: how long the feed's log is kept, and snapshot transactions' own time-out of 600 s. */
const ADDED = ['binlog_ttl_seconds', 'txn_snapshot_prepared_timeout_second'];

test('config lists every knob of the specification with type, unit, default, changeable', async () => {
  const dir = folder();
  await (await open(dir)).close();
  const { out } = await cellar(['config', 'list', '--json', '--data', dir]);
  const knobs = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const listed = knobs.filter(({ name }) => !ADDED.includes(String(name)));
  expect(listed).toMatchObject(
    Object.entries(SPECIFIED).map(([name, [unit, value, changeable]]) => ({
      name,
      unit,
      type: typeof value === 'boolean' ? 'bool' : 'int',
      default: value,
      value,
      changeable,
    })),
  );
  expect(knobs).toHaveLength(listed.length + ADDED.length);
});
