/** A region is emptied: its neighbours stay, later writes stay, and so it is after a crash at any step. */
import { expect, test } from 'vitest';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';
import { SnapshotTooOld } from '../../src/model/index.ts';
import { contentOf, crashesOf, start } from './store_support.ts';

async function truncateFirst({ server }: EmbeddedConnection): Promise<void> {
  const table = server.catalog.get('t');
  await server.regionChanges.truncate(table, table.regions[0]!);
}

async function fill(connection: EmbeddedConnection): Promise<void> {
  await connection.admin.createTable({ name: 't', families: ['f', 'g'], SPLITS: ['m'] });
  const table = connection.table('t');
  await table.put('a', { 'f:q': '1', 'g:q': '1' }, { ts: 1 });
  await connection.admin.flush('t');
  await table.put('b', { 'f:q': '2' }, { ts: 2 });
  await table.put('z', { 'f:q': '3' }, { ts: 3 });
}

test('what was in files and in memory is gone, in this region only', async () => {
  const env = simEnv({ seed: 1 });
  await env.drive(
    (async () => {
      const connection = await start(env);
      await fill(connection);
      const before = await connection.tso();
      await truncateFirst(connection);
      expect(await contentOf(connection, 't')).toEqual(['z f:q@3=3']);
      await connection.table('t').put('b', { 'f:q': '4' }, { ts: 1 });
      expect(await contentOf(connection, 't')).toEqual(['b f:q@1=4', 'z f:q@3=3']);
      await expect(contentOf(connection, 't', before)).rejects.toThrow(SnapshotTooOld);
      await connection.close();
    })(),
  );
});

test('a crash at each step leaves all of it or nothing', async () => {
  const env = simEnv({ seed: 2 });
  const machines = await env.drive(
    (async () => {
      const connection = await start(env);
      await fill(connection);
      return crashesOf(env, async () => {
        await truncateFirst(connection);
        await connection.table('t').put('c', { 'f:q': '5' }, { ts: 5 });
      });
    })(),
  );
  const seen = new Set<string>();
  for (const machine of machines) {
    await machine.drive(
      (async () => {
        const after = await start(machine);
        seen.add((await contentOf(after, 't')).join(' '));
        await after.close();
      })(),
    );
  }
  const whole = 'a f:q@1=1 a g:q@1=1 b f:q@2=2 z f:q@3=3';
  expect([...seen].sort()).toEqual([whole, 'c f:q@5=5 z f:q@3=3', 'z f:q@3=3'].sort());
});

test('it is refused while a snapshot pins a moment of the table', async () => {
  const env = simEnv({ seed: 3 });
  await env.drive(
    (async () => {
      const connection = await start(env);
      await fill(connection);
      const pin = await connection.snapshot({ name: 'friday' });
      await expect(truncateFirst(connection)).rejects.toMatchObject({
        code: 'DoNotRetryIOException',
        message: expect.stringContaining('snapshot friday') as string,
      });
      const whole = ['a f:q@1=1', 'a g:q@1=1', 'b f:q@2=2', 'z f:q@3=3'];
      expect(await contentOf(connection, 't', pin.tso)).toEqual(whole);
      expect(await contentOf(connection, 't')).toEqual(whole);
      await pin.release();
      await truncateFirst(connection);
      expect(await contentOf(connection, 't')).toEqual(['z f:q@3=3']);
      await connection.close();
    })(),
  );
});
