/** Public reports about exports and transactions, by their number in docs/cases.md: those that no other test is about. */
import { expect, test } from 'vitest';
import { exportTables, importTables } from '../../src/backup/index.ts';
import { open } from '../../src/embedded/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { Cell, Connection } from '../../src/model/index.ts';

async function rawOf(connection: Connection, table: string): Promise<string[]> {
  const cells: Cell[] = [];
  for await (const result of connection.table(table).scan({ raw: true, versions: 100 })) {
    cells.push(...result.cells);
  }
  return cells.map(({ family, qualifier, ts, type }) => {
    return `${family}:${Buffer.from(qualifier).toString()}@${ts} ${type}`;
  });
}

test.each(['sequencefile', 'jsonl'] as const)(
  '87, 92: %s: an export of nothing but markers, of family versions too, brings them over',
  async (format) => {
    const env = memoryEnv();
    const store = await open('source', { env });
    await store.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 5 }] });
    const table = store.table('t');
    await table.delete('r', { familyVersions: ['f'], ts: 7 });
    await table.delete('r', { families: ['f'], ts: 5 });
    await table.delete('r', { columns: ['f:q'], ts: 9 });
    await table.delete('r', { versions: ['f:q'], ts: 8 });
    await exportTables(store, env, ['t'], 'out', { format, raw: true });
    const other = await open('other', { env });
    await other.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 5 }] });
    for (const ts of [4, 7, 8, 9, 10]) await other.table('t').put('r', { 'f:q': 'v' }, { ts });
    await importTables(other, env, 'out', {});
    expect((await rawOf(other, 't')).filter((cell) => !cell.endsWith(' Put'))).toEqual([
      'f:@7 DeleteFamilyVersion',
      'f:@5 DeleteFamily',
      'f:q@9 DeleteColumn',
      'f:q@8 Delete',
    ]);
    const [row] = await other.table('t').scan({ versions: 5 }).nextBatch();
    expect(row!.cells.map(({ ts }) => Number(ts))).toEqual([10]);
    await other.close();
    await store.close();
  },
);

test('82: a label used again after an abort is listed twice, each with its own counts', async () => {
  const store = await open();
  await store.admin.createTable({ name: 't', families: ['f'] });
  const { transactions: verbs } = store;
  const put = (row: string): { put: string; values: object } => ({
    put: row,
    values: { 'f:q': '1' },
  });
  await verbs.begin({ label: 'a' });
  await verbs.load({ label: 'a' }, 0, [put('x'), put('y'), put('z')] as never, { table: 't' });
  await verbs.rollback({ label: 'a' });
  await verbs.begin({ label: 'a' });
  await verbs.load({ label: 'a' }, 0, [put('x')] as never, { table: 't' });
  await verbs.prepare({ label: 'a' });
  await verbs.commit({ label: 'a' });
  const listed = (await verbs.list()).filter(({ label }) => label === 'a');
  expect(listed.map(({ state, rows }) => `${state} ${rows}`).sort()).toEqual([
    'ABORTED 3',
    'COMMITTED 1',
  ]);
  expect(await store.table('t').count()).toBe(1);
  await store.close();
});
