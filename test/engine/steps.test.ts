/** Operations in steps give back what they hold when what they wait for fails. */
import { expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import { drive } from '../../src/engine/steps.ts';
import type { Steps } from '../../src/engine/steps.ts';
import { simEnv } from '../../src/io/index.ts';
import type { Table } from '../../src/model/index.ts';

test('a failed wait is thrown where the operation waits', async () => {
  const seen: string[] = [];
  function* steps(): Steps<string> {
    try {
      yield Promise.resolve();
      yield Promise.reject(new Error('broken'));
      return 'never';
    } catch (error) {
      seen.push(String(error));
      yield Promise.resolve();
      return 'caught';
    } finally {
      seen.push('finally');
    }
  }
  expect(await drive(steps())).toBe('caught');
  expect(seen).toEqual(['Error: broken', 'finally']);
});

const OPERATIONS: readonly [string, (table: Table) => Promise<unknown>][] = [
  ['increment', (table) => table.increment('a', { 'f:n': 1n })],
  [
    'a condition on a column',
    (table) =>
      table.checkAndMutate(
        'a',
        { column: 'f:q', value: 'x' },
        { put: 'a', values: { 'f:q': 'y' } },
      ),
  ],
  [
    'a condition by filter',
    (table) =>
      table.checkAndMutate(
        'a',
        { filter: { type: 'KeyOnlyFilter' } },
        { put: 'a', values: { 'f:q': 'y' } },
      ),
  ],
];

test.each(OPERATIONS)(
  '%s: a block that cannot be read leaves no file held',
  async (_, operation) => {
    let fails = false;
    const env = simEnv({
      seed: 5,
      failWhen: (op) => (fails && op.kind === 'read' && op.path.includes('/data/') ? 'io' : null),
    });
    const options = { env, blockingSync: false, autoCompact: false, blockCacheBytes: 0 };
    const store = await env.drive(open('/data', options));
    const table = store.table('t');
    await env.drive(store.admin.createTable({ name: 't', families: ['f'] }));
    await env.drive(table.put('a', { 'f:n': 5n, 'f:q': 'x' }));
    await env.drive(store.admin.flush('t'));
    const files = store.server.catalog.get('t').regions[0]!.stores[0]!.files;
    expect(files).toHaveLength(1);
    // Opened, so that it is the block that fails.
    await env.drive(table.get('a'));
    fails = true;
    await expect(env.drive(operation(table))).rejects.toMatchObject({ code: 'IoException' });
    fails = false;
    await env.drive(operation(table));
    await env.drive(store.admin.compact('t', { major: true }));
    expect(files.map(({ holders }) => holders)).toEqual([0]);
    await env.drive(store.close());
  },
);
