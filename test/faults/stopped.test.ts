/** Failed syncs and media that may not be written: the store stops writing, reads on, says why, and recovers at the next open. */
import { describe, expect, test } from 'vitest';
import { LogFailedException } from '../../src/model/index.ts';
import type { FsFault, FsOp } from '../../src/io/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { Machine, expectFault, putRows } from './support.ts';

const isLog = (op: FsOp): boolean => op.path.includes('/wal/');
const isManifest = (op: FsOp): boolean => op.path.includes('/manifest');
const once = (meets: (op: FsOp) => boolean, fault: FsFault = 'io'): ((op: FsOp) => FsFault) => {
  let met = false;
  return (op) => {
    if (met || !meets(op)) return null;
    met = true;
    return fault;
  };
};

const WRITES: readonly [string, (s: EmbeddedConnection) => Promise<unknown>][] = [
  ['put', (s) => s.table('t').put('a', { 'f:q': '1' })],
  ['delete', (s) => s.table('t').delete('row0001')],
  ['increment', (s) => s.table('t').increment('a', { 'f:n': 1 })],
  [
    'a put that skips the log',
    (s) => s.table('t').put('a', { 'f:q': '1' }, { durability: 'SKIP_WAL' }),
  ],
  ['createTable', (s) => s.admin.createTable({ name: 'u', families: ['f'] })],
  ['flush', (s) => s.admin.flush('t')],
];

describe('a log that failed', () => {
  test.each<{ name: string; meets: (op: FsOp) => boolean; fault?: FsFault }>([
    { name: 'a sync', meets: (op) => op.kind === 'sync' && isLog(op) },
    { name: 'a write', meets: (op) => op.kind === 'write' && isLog(op) },
    {
      name: 'a write on a read-only medium',
      meets: (op) => op.kind === 'write' && isLog(op),
      fault: 'readonly',
    },
  ])('$name', async ({ meets, fault }) => {
    const machine = new Machine(21);
    const acknowledged = await machine.fill(20);
    machine.env.fs.failWhen = once(meets, fault);
    const first = await machine.fault((s) => s.table('t').put('lost', { 'f:q': 'x' }));
    expectFault(first, 'LogFailedException', '/store/wal/');
    expect(first).toBeInstanceOf(LogFailedException);
    // The device is well again, but nobody knows what it holds: sticky.
    for (const [, write] of WRITES) {
      const error = await machine.fault(write);
      expectFault(error, 'LogFailedException', '/store/wal/');
      expect(error).toBeInstanceOf(LogFailedException);
    }
    expect(machine.store.status().fatal).toContain('/store/wal/');
    expect(await machine.content()).toEqual(acknowledged);
    expect((await machine.do((s) => s.table('t').get('row0001')))?.rowText).toBe('row0001');
    expect(await machine.do((s) => s.table('t').exists('lost'))).toBe(false);
    await machine.fault((store) => store.close());
    await machine.open();
    const after = await machine.content();
    // The commit that was refused may have reached the disk; nothing else differs.
    expect(after.filter((line) => !line.startsWith('lost '))).toEqual(acknowledged);
    expect(machine.store.status().fatal).toBeNull();
    await machine.do((s) => putRows(s, 20, 30));
    const whole = await machine.content();
    machine.stop('crash');
    await machine.open();
    expect(await machine.content()).toEqual(whole);
    await machine.close();
  });

  test('while many write: each is acknowledged and kept, or refused', async () => {
    for (let seed = 0; seed < 12; seed++) {
      const machine = new Machine(100 + seed);
      await machine.fill(3);
      const acknowledged: string[] = [];
      let syncs = 0;
      machine.env.fs.failWhen = (op) =>
        op.kind === 'sync' && isLog(op) && ++syncs === 2 + (seed % 5) ? 'io' : null;
      const tables = machine.store.table('t');
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let i = 0; i < 20; i++) {
          await tables.put(`w${writer}.${i}`, { 'f:q': 'x' });
          acknowledged.push(`w${writer}.${i}`);
        }
      });
      const outcomes = await machine.env.drive(Promise.allSettled(writers));
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expectFault(outcome.reason, 'LogFailedException');
      }
      expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
      machine.stop(seed % 2 === 0 ? 'crash' : 'kill');
      await machine.open();
      for (const row of acknowledged) {
        expect(await machine.do((s) => s.table('t').exists(row)), row).toBe(true);
      }
      await machine.close();
    }
  });

  test('an increment that was refused counts once when it is repeated after the next open', async () => {
    for (const how of ['kill', 'crash'] as const) {
      const machine = new Machine(22);
      await machine.fill(1);
      const nonce = { group: 7n, nonce: 9n };
      const increment = (s: EmbeddedConnection): Promise<unknown> =>
        s.table('t').increment('n', { 'f:n': 1 }, { nonce });
      machine.env.fs.failWhen = once((op) => op.kind === 'sync' && isLog(op));
      expectFault(await machine.fault(increment), 'LogFailedException');
      machine.stop(how);
      await machine.open();
      await machine.do(increment);
      await machine.do(increment);
      expect((await machine.do((s) => s.table('t').get('n')))?.int64('f:n')).toBe(1n);
      await machine.close();
    }
  });
});

describe('a manifest that failed', () => {
  const changes: readonly [string, number, (s: EmbeddedConnection) => Promise<void>][] = [
    // Some changes flush first: then it is the record behind the flush's that is theirs.
    ['dropFamily', 1, (s) => s.admin.dropFamily('t', 'g')],
    ['truncateTable', 1, (s) => s.admin.truncateTable('t')],
    ['disableTable', 0, (s) => s.admin.disableTable('t')],
    ['addFamily', 0, (s) => s.admin.addFamily('t', 'h')],
    ['createTable', 0, (s) => s.admin.createTable({ name: 'u', families: ['f'] })],
    ['flush', 0, (s) => s.admin.flush('t')],
  ];

  test.each(changes)(
    'in %s takes no writes that the next open could lose',
    async (_, flushes, change) => {
      for (let seed = 0; seed < 8; seed++) {
        const machine = new Machine(200 + seed);
        const before = await machine.fill(20);
        const kind = seed % 4 === 3 ? 'write' : 'sync';
        const { store } = machine;
        machine.env.fs.failWhen = once(
          (op) =>
            op.kind === kind && isManifest(op) && store.status().counters['flushes']! >= flushes,
        );
        // A commit under way meanwhile is acknowledged as usual.
        const beside = machine.store.table('t').put('beside', { 'f:q': 'x' });
        const failed = await machine.fault(change);
        expectFault(failed, 'ManifestFailedException', 'opened again', '/store/manifest/');
        await machine.env.drive(beside);
        for (const [name, write] of WRITES) {
          if (name === 'flush') continue; // There may be nothing left to flush.
          expectFault(await machine.fault(write), 'ManifestFailedException', '/store/manifest/');
        }
        expect(machine.store.status().fatal).toContain('/store/manifest/');
        expect((await machine.content()).filter((line) => !line.startsWith('beside'))).toEqual(
          before,
        );
        if (seed % 2 === 0) machine.stop('kill');
        else await machine.close();
        await machine.open();
        // The change happened or it did not; both leave a store that works.
        const { admin } = machine.store;
        if (!(await machine.do(() => admin.isEnabled('t')))) {
          await machine.do(() => admin.enableTable('t'));
        }
        await machine.do((s) => putRows(s, 50, 51));
        const after = await machine.content();
        const isTruncated = after.length === 1;
        if (!isTruncated) expect(after).toEqual(expect.arrayContaining(before));
        await machine.close();
      }
    },
  );
});

describe('a medium that may not be written', () => {
  const readOnly = (op: FsOp): FsFault =>
    ['write', 'truncate', 'ensureFolder', 'rename', 'remove', 'lock'].includes(op.kind)
      ? 'readonly'
      : null;

  test('an existing store', async () => {
    const machine = new Machine(24);
    const acknowledged = await machine.fill(10);
    await machine.close();
    machine.env.fs.failWhen = readOnly;
    expectFault(await machine.openFault(), 'ReadOnlyException', '/store', 'read-only');
    machine.env.fs.failWhen = null;
    await machine.open();
    expect(await machine.content()).toEqual(acknowledged);
    await machine.close();
  });

  test('a store that has to be made', async () => {
    const machine = new Machine(25);
    machine.env.fs.failWhen = readOnly;
    expectFault(await machine.openFault(), 'ReadOnlyException', '/store', 'read-only');
    machine.env.fs.failWhen = null;
    await machine.fill(3);
    await machine.close();
  });

  test('one that turns read-only while it is open', async () => {
    const machine = new Machine(26);
    const acknowledged = await machine.fill(10);
    machine.env.fs.failWhen = readOnly;
    expectFault(await machine.fault((s) => putRows(s, 10, 11)), 'LogFailedException');
    expect(machine.store.status().fatal).not.toBeNull();
    expect(await machine.content()).toEqual(acknowledged);
    await machine.fault((s) => s.close());
    machine.env.fs.failWhen = null;
    await machine.open();
    expect((await machine.content()).slice(0, 10)).toEqual(acknowledged);
    await machine.close();
  });

  test('every single fault while a store opens is told, and the next open works', async () => {
    const machine = new Machine(27);
    const acknowledged = await machine.fill(30);
    await machine.do((s) => s.admin.flush('t'));
    machine.stop('kill');
    const { env } = machine;
    for (const fault of ['io', 'readonly', 'full'] as const) {
      for (let n = 1; ; n++) {
        machine.env = env.kill();
        let met = 0;
        machine.env.fs.failWhen = () => (++met === n ? fault : null);
        const error = await machine.openFault();
        machine.env.fs.failWhen = null;
        if (met < n) {
          await machine.close();
          break;
        }
        if (error === undefined) {
          // The fault met something that may fail, or it is told later.
          await machine.fault((s) => s.close());
        } else {
          expect(error, `fault ${n}`).toMatchObject({ retryable: expect.any(Boolean) as boolean });
        }
        await machine.open();
        expect(await machine.content()).toEqual(acknowledged);
        await machine.close();
      }
    }
  });
});
