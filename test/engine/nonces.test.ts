/** A nonce is good for one commit, whatever becomes of the first answer. */
import { expect, test } from 'vitest';
import { Nonces } from '../../src/engine/nonces.ts';
import { open } from '../../src/engine/index.ts';

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

test('only nonces of commits that are on the disk are noted for the next open', async () => {
  const nonces = new Nonces(clock);
  const other = Uint8Array.from({ length: 16 }, (_, i) => 2 * i);
  const atMs = BigInt(clock.nowMs()) << 18n;
  for (const [bytes, tso] of [[nonce, atMs + 5n] as const, [other, atMs + 6n] as const]) {
    const first = async (): Promise<bigint> => {
      nonces.committed(bytes, tso);
      return tso;
    };
    await nonces.once(bytes, first, async () => 0n);
  }
  // Power takes what is above: its repeat must be written, not answered.
  const next = new Nonces(clock);
  next.unpack(nonces.pack(atMs + 5n));
  const run = (bytes: Uint8Array): Promise<string> =>
    next.once(
      bytes,
      async () => 'ran',
      async (tso) => `repeated ${tso}`,
    );
  expect(await run(nonce)).toBe(`repeated ${atMs + 5n}`);
  expect(await run(other)).toBe('ran');
});
