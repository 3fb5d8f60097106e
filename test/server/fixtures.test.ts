/** A server between tests: back to nothing, or to a fixture. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startServer } from '../../src/server/index.ts';
import type { RunningServer } from '../../src/server/index.ts';

let server: RunningServer;
beforeEach(async () => {
  server = await startServer({ port: 0 });
});
afterEach(() => server.close());

async function holdings(): Promise<Record<string, number | 'disabled'>> {
  const { admin } = server.connection;
  const found: Record<string, number | 'disabled'> = {};
  for (const table of await admin.listTables()) {
    found[table] = (await admin.isEnabled(table))
      ? await server.connection.table(table).count()
      : 'disabled';
  }
  return found;
}

async function fill(table: string, rows: number): Promise<void> {
  await server.connection.admin.createTable({ name: table, families: ['f'] });
  for (let i = 0; i < rows; i++) await server.connection.table(table).put(`r${i}`, { 'f:q': 'v' });
}

test('to nothing, whatever there was', async () => {
  const { admin } = server.connection;
  await admin.createNamespace('ns');
  await fill('ns:t', 3);
  await fill('t', 2);
  await admin.snapshot('s', 't');
  await admin.disableTable('t');
  await server.reset();
  expect(await holdings()).toEqual({});
  expect(await admin.listNamespaces()).toEqual(['default', 'hbase']);
  expect(await admin.listSnapshots()).toEqual([]);
});

test('to a fixture, again and again', async () => {
  const { admin } = server.connection;
  await admin.createNamespace('kept');
  await fill('kept:t', 3);
  await fill('off', 1);
  await admin.disableTable('off');
  await server.keepFixture('start');
  for (let round = 0; round < 3; round++) {
    await server.connection.table('kept:t').put('more', { 'f:q': 'v' });
    await server.connection.table('kept:t').delete('r0');
    await admin.createNamespace('new');
    await fill('new:t', 1);
    await admin.dropTable('off');
    if (round === 1) {
      await admin.disableTable('kept:t');
      await admin.dropTable('kept:t');
      await admin.dropNamespace('kept');
    }
    await server.reset('start');
    expect(await holdings()).toEqual({ 'kept:t': 3, off: 'disabled' });
    expect(await admin.listNamespaces()).toEqual(['default', 'hbase', 'kept']);
  }
});

test('a fixture may be empty, and must be named before', async () => {
  await server.keepFixture('empty');
  await fill('t', 1);
  await server.reset('empty');
  expect(await holdings()).toEqual({});
  await expect(server.reset('unknown')).rejects.toThrow(/no fixture 'unknown'/);
});
