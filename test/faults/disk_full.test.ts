/** A full disk, in every kind of work: a typed error, reads go on, nothing acknowledged is lost, and space heals all. */
import { describe, expect, test } from 'vitest';
import { RegionTooBusyException } from '../../src/model/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { Machine, contentOf, expectFault, faultOf, openAt, putRows, rowName } from './support.ts';

const FULL = 'DiskFullException';

/** Leaves the disk so much space. */
function leave(machine: Machine, bytes: number): void {
  machine.env.fs.capacityBytes = machine.env.fs.usedBytes + bytes;
}

/** Space is back: the store works on, and a later open finds everything. */
async function heals(machine: Machine, acknowledged: readonly string[]): Promise<void> {
  machine.env.fs.capacityBytes = Infinity;
  expect(await machine.content()).toEqual(acknowledged);
  await machine.do((store) => store.table('t').put('later', { 'g:q': '1' }, { ts: 1 }));
  await machine.do((store) => store.admin.createTable({ name: 'u', families: ['f'] }));
  await machine.do((store) => store.admin.flush());
  const after = [...acknowledged, 'later g:q @1 1'].sort();
  expect((await machine.content()).sort()).toEqual(after);
  for (const how of ['kill', 'crash'] as const) {
    machine.stop(how);
    await machine.open();
    expect((await machine.content()).sort()).toEqual(after);
    expect(await machine.do((store) => store.admin.tableExists('u'))).toBe(true);
  }
  await machine.close();
}

describe('a full disk', () => {
  test('in puts', async () => {
    const machine = new Machine(1);
    const acknowledged = await machine.fill(20);
    leave(machine, 10_000);
    const value = 'x'.repeat(5000);
    let failures = 0;
    for (let i = 100; i < 200; i++) {
      const error = await machine.fault(async (store) => {
        const tso = await store.table('t').put(rowName(i), { 'f:a': value });
        acknowledged.push(`${rowName(i)} f:a @${tso >> 18n} 5000 bytes`);
      });
      if (error === undefined) continue;
      failures++;
      expectFault(error, FULL, '/store/wal/');
      expect(error).toMatchObject({ retryable: true });
    }
    expect(failures).toBeGreaterThan(10);
    expect(await machine.content()).toEqual(acknowledged);
    expect(machine.store.status().fatal).toBeNull();
    await heals(machine, acknowledged);
  });

  test.each([0, 300, 2000])('in a flush, with %i bytes left', async (bytes) => {
    const machine = new Machine(2);
    const acknowledged = await machine.fill(300);
    leave(machine, bytes);
    expectFault(await machine.fault((store) => store.admin.flush('t')), FULL, '/store/');
    expect(await machine.content()).toEqual(acknowledged);
    // What the failed flush had begun is gone, so that it does not keep the space.
    expect(machine.paths().filter((path) => path.startsWith('/store/data/'))).toEqual([]);
    expectFault(await machine.fault((store) => store.admin.flush('t')), FULL);
    await heals(machine, acknowledged);
  });

  test.each([0, 1000, 5000])('in a compaction, with %i bytes left', async (bytes) => {
    const machine = new Machine(3, { autoCompact: false });
    await machine.fill(200);
    await machine.do((store) => store.admin.flush('t'));
    await machine.do((store) => putRows(store, 100, 300));
    await machine.do((store) => store.admin.flush('t'));
    const acknowledged = await machine.content();
    const files = await machine.do((store) => store.files('t'));
    leave(machine, bytes);
    const error = await machine.fault((store) => store.admin.compact('t', { major: true }));
    expectFault(error, FULL, '/store/');
    expect(await machine.do((store) => store.files('t'))).toEqual(files);
    expect(await machine.content()).toEqual(acknowledged);
    await heals(machine, acknowledged);
  });

  test.each<{ name: string; change: (store: EmbeddedConnection) => Promise<void> }>([
    { name: 'createTable', change: (s) => s.admin.createTable({ name: 'v', families: ['f'] }) },
    { name: 'addFamily', change: (s) => s.admin.addFamily('t', 'h') },
    { name: 'dropFamily', change: (s) => s.admin.dropFamily('t', 'g') },
    { name: 'disableTable', change: (s) => s.admin.disableTable('t') },
    { name: 'truncateTable', change: (s) => s.admin.truncateTable('t') },
    { name: 'createNamespace', change: (s) => s.admin.createNamespace('n') },
  ])('in $name', async ({ change }) => {
    const machine = new Machine(4);
    const acknowledged = await machine.fill(10);
    leave(machine, 0);
    expectFault(await machine.fault(change), FULL, '/store/');
    const { admin } = machine.store;
    expect(await machine.do(() => admin.listTables())).toEqual(['t']);
    expect(await machine.do(() => admin.listNamespaces())).toEqual(['default', 'hbase']);
    const described = await machine.do(() => admin.describeTable('t'));
    expect(described.families.map(({ name }) => name)).toEqual(['f', 'g']);
    expect(described.enabled).toBe(true);
    expect(await machine.content()).toEqual(acknowledged);
    await heals(machine, acknowledged);
  });

  test('in making a store, wherever it strikes', async () => {
    for (let bytes = 0; ; bytes += 40) {
      const machine = new Machine(5);
      machine.env.fs.capacityBytes = bytes;
      const error = await machine.openFault();
      if (error === undefined) break;
      expectFault(error, FULL, '/store');
      machine.env.fs.capacityBytes = Infinity;
      const before = await machine.fill(1);
      expect(before).toHaveLength(1);
      await machine.close();
    }
  });

  test.each(['clean', 'killed'] as const)('in opening a store, %s before', async (end) => {
    const machine = new Machine(6);
    const acknowledged = await machine.fill(50);
    if (end === 'clean') await machine.close();
    else machine.stop('kill');
    leave(machine, 0);
    const error = await machine.openFault();
    if (error === undefined) {
      // Nothing had to be written: the store serves what it has.
      expect(await machine.content()).toEqual(acknowledged);
    } else {
      expectFault(error, FULL, '/store');
      machine.env.fs.capacityBytes = Infinity;
      await machine.open();
    }
    await heals(machine, acknowledged);
  });

  test('in closing: the folder is free all the same', async () => {
    const machine = new Machine(7);
    const acknowledged = await machine.fill(50);
    await machine.do((store) => store.tso());
    leave(machine, 0);
    const error = await machine.fault((store) => store.close());
    if (error !== undefined) expectFault(error, FULL, '/store/');
    machine.env.fs.capacityBytes = Infinity;
    await machine.open();
    await heals(machine, acknowledged);
  });
});

test('memstores full and no space to flush: writers wait, then are told; space lets them go on', async () => {
  const machine = new Machine(8, {
    memstoreBytes: 1024 * 1024,
    busyTimeoutMs: 300,
    logSegmentBytes: 8 * 1024 * 1024,
  });
  const acknowledged = await machine.fill(10);
  // The log has room, the store files have not.
  machine.env.fs.failWhen = (op) =>
    op.path.includes('/data/') && op.kind === 'write' ? 'full' : null;
  const value = 'v'.repeat(20_000);
  let busy: unknown;
  for (let i = 1000; i < 1200 && busy === undefined; i++) {
    busy = await machine.fault(async (store) => {
      const tso = await store.table('t').put(rowName(i), { 'f:a': value });
      acknowledged.push(`${rowName(i)} f:a @${tso >> 18n} 20000 bytes`);
    });
  }
  expectFault(busy, 'RegionTooBusyException', 'Over memstore limit', 'of 1048576 bytes');
  expect(busy).toBeInstanceOf(RegionTooBusyException);
  // Slabs grow in steps, so the last one may stand out.
  expect(machine.store.status().memstoreHeapBytes).toBeLessThan(2 * 1024 * 1024);
  expect(machine.store.status().counters['flush_failures']).toBeGreaterThan(0);
  expect(await machine.content()).toEqual(acknowledged);
  const startMs = machine.env.clock.monotonicMs();
  const again = await machine.fault((s) => s.table('t').put('again', { 'f:a': value }));
  expectFault(again, 'RegionTooBusyException', 'it cannot be flushed');
  expect(again).toMatchObject({ cause: { code: FULL } });
  expect(machine.store.status().flushFailure).toContain('/store/data');
  expect(machine.env.clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(300);
  // A full disk is not asked again and again in a tight loop.
  const attempts = machine.store.status().counters['flush_failures']!;
  for (let i = 0; i < 20; i++) {
    await machine.fault((s) => s.table('t').put('again', { 'f:a': value }));
  }
  const elapsedMs = machine.env.clock.monotonicMs() - startMs;
  const more = machine.store.status().counters['flush_failures']! - attempts;
  expect(more).toBeLessThanOrEqual(elapsedMs / 500);

  machine.env.fs.failWhen = null;
  await machine.env.drive(machine.env.timers.sleep(2000));
  expect(machine.store.status().flushFailure).toBeUndefined();
  for (let i = 2000; i < 2200; i++) {
    const tso = await machine.do((s) => s.table('t').put(rowName(i), { 'f:a': value }));
    acknowledged.push(`${rowName(i)} f:a @${tso >> 18n} 20000 bytes`);
  }
  expect(await machine.content()).toEqual(acknowledged);
  machine.stop('crash');
  await machine.open();
  expect(await machine.content()).toEqual(acknowledged);
  await machine.close();
});

test('a batch on a full disk says for each operation whether it was written', async () => {
  const machine = new Machine(9);
  await machine.fill(1);
  leave(machine, 5000);
  const value = 'x'.repeat(30_000);
  const outcomes = await machine.do((store) =>
    store
      .table('t')
      .batch(Array.from({ length: 20 }, (_, i) => ({ put: `b${i}`, values: { 'f:a': value } }))),
  );
  machine.env.fs.capacityBytes = Infinity;
  const written = outcomes.filter(({ ok }) => ok).length;
  expect(written).toBeLessThan(20);
  for (const outcome of outcomes) if (!outcome.ok) expectFault(outcome.error, FULL);
  machine.stop('crash');
  await machine.open();
  const found = await machine.do((store) => store.table('t').count({ prefix: 'b' }));
  expect(found).toBe(written);
  await machine.close();
});

test('two stores of one machine do not mind each other', async () => {
  const machine = new Machine(10);
  const acknowledged = await machine.fill(5);
  const other = await machine.env.drive(openAt(machine.env).catch((error: unknown) => error));
  expectFault(other, 'FolderLockedException', '/store', 'process 1');
  expect(await machine.env.drive(faultOf(() => contentOf(machine.store)))).toBeUndefined();
  expect(await machine.content()).toEqual(acknowledged);
  await machine.close();
});
