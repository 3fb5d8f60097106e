/** The embedded API end to end, on a folder, in memory, and over a reopening. */
import { mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import fsExtra from 'fs-extra';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';

let folder: string;
let connection: EmbeddedConnection;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'cellar-'));
});

afterEach(async () => {
  await connection.close();
  await fsExtra.remove(folder);
});

const asText = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

async function start(dir?: string): Promise<EmbeddedConnection> {
  connection = await open(dir);
  return connection;
}

async function reopen(): Promise<EmbeddedConnection> {
  await connection.close();
  return start(folder);
}

describe.each([{ where: 'in memory' }, { where: 'on a folder' }])('$where', ({ where }) => {
  beforeEach(async () => {
    await start(where === 'in memory' ? undefined : folder);
    await connection.admin.createTable({
      name: 't',
      families: [{ name: 'f', VERSIONS: 3 }, 'g'],
    });
  });

  test('what was put is got, newest version first', async () => {
    const table = connection.table('t');
    const first = await table.put('r', { 'f:a': 'one', 'g:b': 7n }, { ts: 5 });
    const second = await table.put('r', { 'f:a': 'two' }, { ts: 6 });
    expect(second).toBeGreaterThan(first);
    const result = await table.get('r', { versions: 3 });
    expect(result?.cells.map((cell) => [cell.family, cell.ts, cell.tso])).toEqual([
      ['f', 6n, second],
      ['f', 5n, first],
      ['g', 5n, first],
    ]);
    expect(result?.text('f:a')).toBe('two');
    expect(result?.int64('g:b')).toBe(7n);
    expect(table.getSync('r')?.text('f:a')).toBe('two');
    expect(await table.get('absent')).toBeNull();
  });

  test('deletes hide, and a put after them is seen', async () => {
    const table = connection.table('t');
    await table.put('r', { 'f:a': '1', 'f:b': '2', 'g:c': '3' });
    await table.delete('r', { columns: ['f:a'] });
    expect(Object.keys((await table.get('r'))!.toJSON())).toEqual(['f:b', 'g:c']);
    await table.delete('r');
    expect(await table.get('r')).toBeNull();
    await table.put('r', { 'f:a': 'again' });
    expect((await table.get('r'))!.text('f:a')).toBe('again');
  });

  test('increment, append and conditions', async () => {
    const table = connection.table('t');
    const results = await Promise.all(
      Array.from({ length: 50 }, () => table.increment('r', { 'f:n': 2 })),
    );
    const values = results.map(({ result }) => result!.int64('f:n'));
    expect(values).toEqual(Array.from({ length: 50 }, (_, i) => BigInt(2 * (i + 1))));
    await table.append('r', { 'f:s': 'ab' });
    const { result } = await table.append('r', { 'f:s': 'cd' });
    expect(result?.text('f:s')).toBe('abcd');
    const no = await table.checkAndMutate(
      'r',
      { column: 'f:s', value: 'x' },
      { put: 'r', values: { 'g:q': '1' } },
    );
    expect(no).toEqual({ processed: false, tso: null, result: null });
    const yes = await table.checkAndMutate('r', { column: 'g:q', value: null }, [
      { put: 'r', values: { 'g:q': '1' } },
      { increment: 'r', amounts: { 'f:n': 1 } },
    ]);
    expect(yes.processed).toBe(true);
    expect(yes.result?.int64('f:n')).toBe(101n);
    await expect(table.increment('r', { 'g:q': 1 })).rejects.toThrow(
      "Field is not a long, it's 1 bytes wide",
    );
  });

  test('scans forward, backward, limited and in parts', async () => {
    const table = connection.table('t');
    for (let i = 0; i < 250; i++) {
      await table.put(`row${String(i).padStart(3, '0')}`, { 'f:a': `${i}`, 'f:b': 'x' });
    }
    const rows: string[] = [];
    for await (const result of table.scan({ start: 'row010', stop: 'row020' }))
      rows.push(result.rowText);
    expect(rows).toEqual(Array.from({ length: 10 }, (_, i) => `row0${10 + i}`));
    const back: string[] = [];
    for await (const result of table.scan({ start: 'row020', limit: 3, reversed: true }))
      back.push(result.rowText);
    expect(back).toEqual(['row020', 'row019', 'row018']);
    expect(await table.count()).toBe(250);
    expect(await table.count({ prefix: 'row1', limit: 7 })).toBe(7);
    const parts = await table.scan({ batch: 1, limit: 2 }).nextBatch();
    expect(parts.map((part) => part.size)).toEqual([1, 1, 1, 1]);
  });

  test('a batch answers for each operation', async () => {
    const outcomes = await connection
      .table('t')
      .batch([
        { put: 'a', values: { 'f:x': '1' } },
        { put: 'b', values: { 'nope:x': '1' } },
        { get: 'a' },
        { increment: 'a', amounts: { 'f:n': 3n } },
      ]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true, true]);
    expect(outcomes[1]).toMatchObject({ error: { code: 'NoSuchColumnFamilyException' } });
    expect(outcomes[2]).toMatchObject({ result: { size: 1 } });
  });

  test('a row mutation answers its increments and appends in their order, replaced cells too', async () => {
    const { result } = await connection.table('t').mutateRow('m', [
      { append: 'm', values: { 'f:b': '2', 'f:a': '1' } },
      { append: 'm', values: { 'f:ab': '3' } },
      { put: 'm', values: { 'f:a': 'later' } },
    ]);
    const text = result!.cells.map(({ qualifier, value }) => [qualifier, value].map(asText));
    expect(text).toEqual([
      ['a', '1'],
      ['b', '2'],
      ['ab', '3'],
    ]);
    expect((await connection.table('t').get('m'))?.text('f:a')).toBe('later');
  });

  test('an increment of a cell ahead of the clock is one millisecond newer', async () => {
    const table = connection.table('t');
    const ahead = BigInt(Date.now()) + 1_000_000n;
    await table.put('r', { 'f:n': 7n }, { ts: ahead });
    const { result } = await table.increment('r', { 'f:n': 1 });
    expect(result!.cells.map(({ ts }) => ts)).toEqual([ahead + 1n]);
    expect((await table.get('r'))?.int64('f:n')).toBe(8n);
    // A condition only keeps what it lets in from being older than what it saw.
    await table.checkAndMutate(
      'r',
      { column: 'f:n', value: 8n },
      { put: 'r', values: { 'f:n': 9n } },
    );
    expect((await table.get('r'))!.cells.map(({ ts }) => ts)).toEqual([ahead + 1n]);
    expect((await table.get('r'))?.int64('f:n')).toBe(9n);
  });

  test('reads as of a moment', async () => {
    const table = connection.table('t');
    await table.put('r', { 'f:a': 'old' });
    const tso = await table.put('r', { 'f:a': 'middle' });
    await table.put('r', { 'f:a': 'new' });
    expect((await table.get('r', { asOf: tso }))?.text('f:a')).toBe('middle');
    expect((await table.get('r', { asOf: tso - 1n }))?.text('f:a')).toBe('old');
    await expect(table.get('r', { asOf: tso + (1n << 40n) })).rejects.toMatchObject({
      code: 'SnapshotInFuture',
    });
  });
});

test('data, descriptors and nonces survive a reopening', async () => {
  await start(folder);
  await connection.admin.createNamespace('ns');
  await connection.admin.createTable({ name: 'ns:t', families: ['f'], SPLITS: ['h', 'p'] });
  const table = connection.table('ns:t');
  for (const row of ['a', 'k', 'z']) await table.put(row, { 'f:q': row });
  const nonce = { group: 1n, nonce: 2n };
  await table.increment('n', { 'f:n': 1 }, { nonce });
  await connection.admin.addFamily('ns:t', { name: 'g', TTL: 1000 });
  await table.put('a', { 'g:q': 'g' });
  const before = await connection.tso();
  await reopen();
  const again = connection.table('ns:t');
  expect(await again.count()).toBe(4);
  expect((await again.get('a'))!.toJSON()).toEqual({ 'f:q': 'a', 'g:q': 'g' });
  const { result } = await again.increment('n', { 'f:n': 1 }, { nonce });
  expect(result?.int64('f:n')).toBe(1n);
  expect(await connection.tso()).toBeGreaterThan(before);
  const description = await connection.admin.describeTable('ns:t');
  expect(description.splits.map((key) => Buffer.from(key).toString())).toEqual(['', 'h', 'p']);
  await connection.admin.truncateTable('ns:t');
  expect(await again.count()).toBe(0);
  await again.put('b', { 'f:q': 'b' });
  await reopen();
  expect(await connection.table('ns:t').count()).toBe(1);
});
