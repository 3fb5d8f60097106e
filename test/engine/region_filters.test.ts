/** Filters that end a scan of several regions, and those that count columns. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { FamilySpec, FilterSpec, ScanOptions } from '../../src/model/index.ts';
import { cellsOf, resultsOf } from './store_support.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

async function withTable(
  family: FamilySpec,
  splits: readonly string[],
  work: (connection: EmbeddedConnection) => Promise<void>,
): Promise<void> {
  const connection = await open('/s', { env: memoryEnv(), autoCompact: false });
  await connection.admin.createTable({ name: 't', families: [family], splits: splits.map(bytes) });
  await work(connection);
  await connection.close();
}

/** Only cells of the column `a`, and nothing behind the first other. */
const WHILE_A: FilterSpec = {
  type: 'WhileMatchFilter',
  filter: {
    type: 'QualifierFilter',
    operator: 'EQUAL',
    comparator: { type: 'BinaryComparator', value: bytes('a') },
  },
};

describe('a filter that is done ends the scan where it let nothing of a region through', () => {
  const rowsOf = async (
    connection: EmbeddedConnection,
    options: ScanOptions,
    batchRows: number = 1000,
  ): Promise<string[]> => {
    const rows: string[] = [];
    await using scanner = connection.table('t').scan({ ...options, filter: WHILE_A });
    for (;;) {
      const batch = await scanner.nextBatch(batchRows);
      if (batch.length === 0) return rows;
      rows.push(...batch.map((result) => result.rowText));
    }
  };

  test('forward, reversed, in batches, counted', async () => {
    await withTable({ name: 'f' }, ['b', 'c', 'd'], async (connection) => {
      const table = connection.table('t');
      // Of the regions b and c the first row passes, and the second ends the region.
      for (const row of ['b1', 'c1', 'd1']) await table.put(row, { 'f:a': 'v' });
      for (const row of ['b2', 'c2']) await table.put(row, { 'f:b': 'v' });
      expect(await rowsOf(connection, {})).toEqual(['b1', 'c1', 'd1']);
      expect(await rowsOf(connection, { start: 'b2' })).toEqual([]);
      expect(await rowsOf(connection, { reversed: true })).toEqual(['d1']);
      // The second batch finds nothing, and the filter done.
      expect(await rowsOf(connection, {}, 1)).toEqual(['b1']);
      expect(await table.count({ filter: WHILE_A })).toBe(3);
      expect(await table.count({ filter: WHILE_A, start: 'b2' })).toBe(0);
    });
  });
});

describe('a filter that counts columns leaves each behind its newest version', () => {
  test.each([false, true])('with NEW_VERSION_BEHAVIOR %s, columns named or not', async (isNew) => {
    const family = { name: 'f', VERSIONS: '3', ...(isNew ? { NEW_VERSION_BEHAVIOR: 'true' } : {}) };
    await withTable(family, [], async (connection) => {
      const table = connection.table('t');
      for (const ts of [1, 2]) {
        await table.put('r', { 'f:a': `a${ts}`, 'f:b': `b${ts}`, 'f:c': `c${ts}` }, { ts });
      }
      const filter: FilterSpec = { type: 'ColumnPaginationFilter', limit: 2, offset: 0 };
      const answer = async (options: ScanOptions): Promise<string[]> =>
        cellsOf(await resultsOf(table.scan({ ...options, versions: 3, filter })));
      const check = async (): Promise<void> => {
        const columns = ['f:a', 'f:b', 'f:c'];
        expect(await answer({})).toEqual(['r f:a@2=a2', 'r f:b@2=b2']);
        expect(await answer({ columns })).toEqual(['r f:a@2=a2', 'r f:b@2=b2']);
        expect(await answer({ columns: ['f:b', 'f:c'] })).toEqual(['r f:b@2=b2', 'r f:c@2=c2']);
      };
      await check();
      await connection.admin.flush('t');
      await check();
      await connection.admin.compact('t', { major: true });
      await check();
    });
  });
});
