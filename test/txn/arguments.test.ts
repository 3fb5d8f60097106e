/** What the types forbid where a store is opened and transactions begin: typed errors, as everywhere else. */
import { expect, test } from 'vitest';
import { open } from '../../src/embedded/index.ts';

/** As a caller without types sees them. */
interface Loose {
  open(dir: unknown, options: unknown): Promise<unknown>;
  transact(work: unknown, options?: unknown): Promise<unknown>;
  transaction(options?: unknown): unknown;
  table(name: string): { transact(target: unknown, work: unknown): Promise<unknown> };
}

const REFUSED = { code: 'IllegalArgumentException' };

test('arguments of transactions', async () => {
  const connection = await open();
  await connection.admin.createTable({ name: 't', families: ['f'] });
  const loose = connection as unknown as Loose;
  for (const work of [undefined, null, 7, {}]) {
    await expect(loose.transact(work)).rejects.toMatchObject(REFUSED);
    await expect(loose.table('t').transact('a', work)).rejects.toMatchObject(REFUSED);
  }
  for (const options of [undefined, null, 7, {}, { label: null }, { label: 7 }]) {
    expect(() => loose.transaction(options)).toThrow(expect.objectContaining(REFUSED));
  }
  await connection.close();
});

test('options of open', async () => {
  const loose = { open } as unknown as Loose;
  for (const options of [null, 7, 'x']) {
    await expect(loose.open(undefined, options)).rejects.toMatchObject(REFUSED);
  }
});
