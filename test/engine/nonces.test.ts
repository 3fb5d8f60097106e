/** A nonce is good for one commit, whatever becomes of the first answer. */
import { expect, test } from 'vitest';
import { Nonces } from '../../src/engine/nonces.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';

const clock = { nowMs: () => 1_800_000_000_000, monotonicMs: () => 0 };
const nonce = Uint8Array.from({ length: 16 }, (_, i) => i);

test('a first that committed and whose answer failed is not run again', async () => {
  const nonces = new Nonces(clock);
  const first = nonces.once(
    nonce,
    async (): Promise<bigint> => {
      nonces.committed(nonce, 42n);
      throw new Error('the answer was lost');
    },
    async (tso) => tso,
  );
  await expect(first).rejects.toThrow('the answer was lost');
  const again = nonces.once(
    nonce,
    () => Promise.reject(new Error('ran twice')),
    async (tso) => tso,
  );
  expect(await again).toBe(42n);
});

test('a first that wrote nothing leaves the nonce free', async () => {
  const nonces = new Nonces(clock);
  await nonces.once(
    nonce,
    async () => 'nothing',
    async () => 'repeated',
  );
  expect(
    await nonces.once(
      nonce,
      async () => 'ran',
      async () => 'repeated',
    ),
  ).toBe('ran');
});

test('every kind of write honours it', async () => {
  await using connection = await open();
  await connection.admin.createTable({ name: 't', families: ['f'] });
  const table = connection.table('t');
  const writes = [
    (options: object) => table.put('r', { 'f:a': '1' }, options),
    (options: object) => table.delete('r', { columns: ['f:a'], ...options }),
    (options: object) => table.mutateRows([{ put: 'r', values: { 'f:b': '1' }, options }]),
    async (options: object) => (await table.increment('r', { 'f:n': 1 }, options)).tso,
    async (options: object) => (await table.append('r', { 'f:s': 'x' }, options)).tso,
    async (options: object) =>
      (await table.mutateRow('r', [{ increment: 'r', amounts: { 'f:n': 1 }, options }])).tso,
    async (options: object) =>
      (
        await table.checkAndMutate(
          'r',
          { column: 'f:none', value: null },
          { put: 'r', values: { 'f:c': '1' }, options },
        )
      ).tso,
  ];
  for (const [index, write] of writes.entries()) {
    const options = { nonce: { group: 7n, nonce: BigInt(index) } };
    const [first, second] = await Promise.all([write(options), write(options)]);
    expect(second).toBe(first);
    expect(await write(options)).toBe(first);
  }
  expect((await table.get('r'))?.int64('f:n')).toBe(2n);
  expect((await table.get('r'))?.text('f:s')).toBe('x');
});

test('a nonce of a commit that power took is good again, though a flush has noted the nonces', async () => {
  const env = simEnv({ seed: 1 });
  const start = (machine: SimEnv): Promise<EmbeddedConnection> =>
    open('/data', { env: machine, blockingSync: false, durability: 'ASYNC_WAL', asyncSyncMs: 1000 });
  const first = await env.drive(start(env));
  const options = { nonce: { group: 1n, nonce: 7n } };
  await env.drive(first.admin.createTable({ name: 't', families: ['f'] }));
  await env.drive(first.table('t').put('a', { 'f:a': '1' }));
  const flush = first.admin.flush('t');
  // It is committed after the flush has synced the log, and noted with the nonces when that is done.
  const late = (async (): Promise<void> => {
    for (let i = 0; i < 200; i++) {
      await env.timers.sleep(0.05);
      const hasFile = (await first.files('t')).length > 0;
      if (!hasFile) continue;
      await first.table('t').put('b', { 'f:a': '2' }, options);
      return;
    }
  })();
  await env.drive(flush);
  await env.drive(late);
  await env.timers.runFor(20);
  const after = env.crash({ keepUnsynced: 0 });
  const second = await after.drive(start(after));
  expect(await after.drive(second.table('t').get('b'))).toBeNull();
  await after.drive(second.table('t').put('b', { 'f:a': '2' }, options));
  expect((await after.drive(second.table('t').get('b')))?.text('f:a')).toBe('2');
  await after.drive(second.close());
});
