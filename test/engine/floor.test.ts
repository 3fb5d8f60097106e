/**
 * What is given up of the past when a table has to go at once is that table's past alone, and nothing that a snapshot pins: then
 * the table stays.
 */
import { describe, expect, test } from 'vitest';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import { contentOf, start } from './store_support.ts';

function fillDisk(env: SimEnv, table: string): void {
  env.fs.failWhen = ({ kind, path }) =>
    kind === 'write' && path.includes(`/data/default/${table}/`) ? 'full' : null;
}

test('a table dropped on a full disk leaves the past of others readable', async () => {
  const env = simEnv({ seed: 3 });
  const connection = await env.drive(start(env));
  const { admin } = connection;
  for (const name of ['kept', 'gone']) {
    await env.drive(admin.createTable({ name, families: ['f'] }));
    await env.drive(connection.table(name).put('a', { 'f:a': 'old' }, { ts: 1 }));
  }
  const before = await env.drive(connection.tso());
  await env.drive(connection.table('kept').put('a', { 'f:a': 'new' }, { ts: 2 }));
  await env.drive(admin.disableTable('gone'));
  fillDisk(env, 'gone');
  await env.drive(admin.dropTable('gone'));
  env.fs.failWhen = null;
  expect(await env.drive(contentOf(connection, 'kept', before))).toEqual(['a f:a@1=old']);
  await expect(env.drive(contentOf(connection, 'gone', before))).rejects.toMatchObject({
    code: 'SnapshotTooOld',
  });
  await env.drive(connection.close());
});

const GOING: readonly (readonly [string, (connection: EmbeddedConnection) => Promise<void>])[] = [
  ['truncated', ({ admin }) => admin.truncateTable('t')],
  ['dropped', ({ admin }) => admin.dropTable('t')],
  ['restored', ({ admin }) => admin.restoreSnapshot('empty')],
  ['robbed of a family', ({ admin }) => admin.dropFamily('t', 'f')],
];

describe.each(GOING)('a table that is to be %s on a full disk', (_, change) => {
  async function filled(env: SimEnv): Promise<EmbeddedConnection> {
    const connection = await env.drive(start(env));
    const { admin } = connection;
    await env.drive(admin.createTable({ name: 't', families: ['f', 'g'] }));
    await env.drive(admin.snapshot('empty', 't'));
    await env.drive(connection.table('t').put('a', { 'f:a': 'old' }, { ts: 1 }));
    return connection;
  }

  async function changed(env: SimEnv, connection: EmbeddedConnection): Promise<void> {
    await env.drive(connection.admin.disableTable('t'));
    await env.drive(change(connection));
  }

  test.each([{}, { name: 'friday' }])('stays while a snapshot pins it: %j', async (options) => {
    const env = simEnv({ seed: 4 });
    const connection = await filled(env);
    const pin = await env.drive(connection.snapshot(options));
    fillDisk(env, 't');
    await expect(changed(env, connection)).rejects.toMatchObject({
      code: 'DoNotRetryIOException',
      message: expect.stringContaining('snapshot') as string,
      cause: { code: 'DiskFullException' },
    });
    const now = await env.drive(connection.tso());
    await env.drive(connection.admin.enableTable('t'));
    expect(await env.drive(contentOf(connection, 't'))).toEqual(['a f:a@1=old']);
    expect(await env.drive(contentOf(connection, 't', pin.tso))).toEqual(['a f:a@1=old']);
    expect(await env.drive(contentOf(connection, 't', now))).toEqual(['a f:a@1=old']);

    await env.drive(pin.release());
    await changed(env, connection);
    env.fs.failWhen = null;
    await expect(env.drive(contentOf(connection, 't', pin.tso))).rejects.toThrow();
    await env.drive(connection.close());
  });

  test('stays if the snapshot was made while it was flushed', async () => {
    const env = simEnv({ seed: 5 });
    const connection = await filled(env);
    await env.drive(connection.admin.disableTable('t'));
    let pinning: ReturnType<EmbeddedConnection['snapshot']> | null = null;
    env.fs.failWhen = ({ kind, path }) => {
      if (!path.includes('/data/default/t/')) return null;
      pinning ??= connection.snapshot();
      return kind === 'sync' ? 'io' : null;
    };
    await expect(env.drive(change(connection))).rejects.toMatchObject({
      code: 'DoNotRetryIOException',
    });
    env.fs.failWhen = null;
    const pin = await env.drive(pinning!);
    await env.drive(connection.admin.enableTable('t'));
    expect(await env.drive(contentOf(connection, 't', pin.tso))).toEqual(['a f:a@1=old']);
    await env.drive(connection.close());
  });

  test('goes if snapshots are older than it', async () => {
    const env = simEnv({ seed: 6 });
    const early = await env.drive(start(env));
    await env.drive(early.snapshot({ name: 'before' }));
    await env.drive(early.close());
    const connection = await filled(env);
    fillDisk(env, 't');
    await changed(env, connection);
    env.fs.failWhen = null;
    await env.drive(connection.close());
  });
});
