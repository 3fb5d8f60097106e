/** What is given up of the past when a table has to go at once is that table's past alone. */
import { expect, test } from 'vitest';
import { simEnv } from '../../src/io/index.ts';
import { contentOf, start } from './store_support.ts';

test('a table dropped on a full disk leaves the past of others readable', async () => {
  const env = simEnv({ seed: 3 });
  const connection = await env.drive(start(env));
  const { admin } = connection;
  for (const name of ['kept', 'gone']) {
    await env.drive(admin.createTable({ name, families: ['f'] }));
    await env.drive(connection.table(name).put('a', { 'f:a': 'old' }, { ts: 1 }));
  }
  const pin = await env.drive(connection.snapshot());
  await env.drive(connection.table('kept').put('a', { 'f:a': 'new' }, { ts: 2 }));
  await env.drive(admin.disableTable('gone'));
  env.fs.failWhen = ({ kind, path }) =>
    kind === 'write' && path.includes('/data/default/gone/') ? 'full' : null;
  await env.drive(admin.dropTable('gone'));
  env.fs.failWhen = null;
  expect(await env.drive(contentOf(connection, 'kept', pin.tso))).toEqual(['a f:a@1=old']);
  await expect(env.drive(contentOf(connection, 'gone', pin.tso))).rejects.toMatchObject({
    code: 'SnapshotTooOld',
  });
  await env.drive(connection.close());
});
