/** The change feed: old values, gaps, resuming, following, and a table rebuilt from its lines. */
import { describe, expect, test } from 'vitest';
import { FeedFormatter } from '../../../src/backup/feed/index.ts';
import type { Change, FeedFormat, FeedMode } from '../../../src/backup/feed/index.ts';
import type { StoreConnection } from '../../../src/embedded/index.ts';
import { seeded } from '../../../src/io/index.ts';
import { SnapshotTooOld } from '../../../src/model/index.ts';
import type { CellInput } from '../../../src/model/index.ts';
import { onStore } from '../../txn/support.ts';

type Line = Record<string, unknown>;

async function changesOf(connection: StoreConnection, from: bigint): Promise<Change[]> {
  const changes: Change[] = [];
  for await (const change of connection.changes({ from })) changes.push(change);
  return changes;
}

function linesOf(
  changes: readonly Change[],
  format: FeedFormat,
  mode: FeedMode = 'DETAIL',
): Line[] {
  const formatter = new FeedFormatter({
    format,
    mode,
    encoding: 'utf8',
    heartbeats: false,
    serverId: 'me',
  });
  return changes
    .flatMap((change) => formatter.lines(change))
    .map((line) => JSON.parse(line) as Line);
}

async function dump(connection: StoreConnection, table: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const { rowText, cells } of connection
    .table(table)
    .scan({ raw: true, versions: 1000 })) {
    for (const { family, qualifier, ts, type, value } of cells) {
      lines.push(
        `${rowText} ${family}:${Buffer.from(qualifier).toString('hex')} ${ts} ${type} ${Buffer.from(value).toString('hex')}`,
      );
    }
  }
  return lines;
}

describe('the change feed', () => {
  test('CHANGE_BEFORE: every writer logs what was there, in the log alone', async () => {
    await onStore(1, async (connection, env) => {
      await connection.admin.createTable({
        name: 'b',
        families: ['f', 'g'],
        CHANGE_BEFORE: 'true',
      });
      const b = connection.table('b');
      const from = await b.put('r', { 'f:a': '1' });
      await b.put('r', { 'g:x': '2' });
      await b.mutateRows([
        { put: 'r', values: { 'f:a': '3' } },
        { put: 's', values: { 'f:a': 'new' } },
      ]);
      await connection.transact(async (tx) => {
        tx.table('b').delete('r', { columns: ['f:a'] });
      });
      const txn = connection.transaction({ label: 'l' });
      await txn.begin();
      await txn.load([{ delete: 's' }], { table: 'b' });
      await txn.prepare();
      await txn.commit();
      await b.increment('n', { 'f:n': 1 });
      await b.batch([{ delete: 'r' }]);
      const changes = await changesOf(connection, from);
      const events = linesOf(changes, 'debezium').map(({ op, before, after, source }) => [
        op,
        before,
        after,
        (source as Line)['label'],
      ]);
      expect(events).toEqual([
        ['c', null, { row: 'r', 'f:a': '1' }, null],
        ['u', { row: 'r', 'f:a': '1' }, { row: 'r', 'f:a': '1', 'g:x': '2' }, null],
        ['u', { row: 'r', 'f:a': '1', 'g:x': '2' }, { row: 'r', 'f:a': '3', 'g:x': '2' }, null],
        ['c', null, { row: 's', 'f:a': 'new' }, null],
        ['u', { row: 'r', 'f:a': '3', 'g:x': '2' }, { row: 'r', 'g:x': '2' }, null],
        ['d', { row: 's', 'f:a': 'new' }, null, 'l'],
        ['c', null, { row: 'n', 'f:n': '\0\0\0\0\0\0\0\u0001' }, null],
        ['d', { row: 'r', 'g:x': '2' }, null, null],
      ]);
      const codes = linesOf(changes, 'doris').map((line) => line['__DORIS_BINLOG_OP__']);
      expect(codes).toEqual([0, 2, 3, 2, 3, 0, 2, 3, 1, 0, 1]);
      const net = linesOf(changes, 'debezium', 'MIN_DELTA').map(({ op, after }) => [op, after]);
      expect(net).toEqual([
        ['d', null],
        ['c', { row: 'n', 'f:n': '\0\0\0\0\0\0\0\u0001' }],
        ['d', null],
      ]);
      const appended = linesOf(changes, 'debezium', 'APPEND_ONLY').map(
        ({ after }) => (after as Line)['row'],
      );
      expect(appended).toEqual(['r', 's', 'n']);
      // Old values are not replayed.
      const before = await dump(connection, 'b');
      const { openOn } = await import('../../txn/support.ts');
      const next = env.kill();
      await next.drive(
        (async (): Promise<void> => {
          const again = await openOn(next);
          expect(await dump(again, 'b')).toEqual(before);
          expect(await changesOf(again, from)).toHaveLength(changes.length);
          await again.close();
        })(),
      );
    });
  });

  test('replaying the cells rebuilds the table, cell by cell', async () => {
    await onStore(2, async (connection) => {
      const random = seeded(3);
      await connection.admin.createTable({ name: 'copy', families: ['f', 'g'] });
      const t = connection.table('t');
      const from = await t.put('start', { 'f:q': '' });
      for (let i = 0; i < 150; i++) {
        const row = `r${random.int(12)}`;
        const pick = random.int(6);
        if (pick === 0) await t.delete(row, random.chance(0.5) ? { columns: ['f:a'] } : {});
        else if (pick === 1) await t.increment(row, { 'g:n': 1 });
        else if (pick === 2) {
          await connection.transact(async (tx) => {
            tx.table('t').put(row, { 'f:a': `t${i}` });
            tx.table('t').put(`x${row}`, { 'f:b': random.bytes(5) });
          });
        } else await t.put(row, { 'f:a': `v${i}`, 'g:b': random.bytes(3) });
      }
      const copy = connection.table('copy');
      for (const change of await changesOf(connection, from)) {
        if (change.kind !== 'commit') continue;
        for (const { row, family, qualifier, type, ts, value } of change.cells) {
          if (type === 'Put')
            await copy.put(row, [{ family, qualifier, value, ts } satisfies CellInput]);
          else if (type === 'DeleteColumn')
            await copy.delete(row, { columns: [[family, qualifier]], ts });
          else await copy.delete(row, { families: [family], ts });
        }
      }
      expect(await dump(connection, 'copy')).toEqual(await dump(connection, 't'));
    });
  });

  test('a consumer goes on where it was; one that follows gets what is committed later; a gap is told', async () => {
    await onStore(3, async (connection, env) => {
      const t = connection.table('t');
      const all: bigint[] = [];
      for (let i = 0; i < 30; i++) all.push(await t.put(`r${i}`, { 'f:q': String(i) }));
      const seen: bigint[] = [];
      for (let next = all[0]!; seen.length < all.length;) {
        for await (const change of connection.changes({ from: next, tables: ['t'] })) {
          if (change.kind !== 'commit') continue;
          seen.push(change.tso);
          next = change.tso + 1n;
          if (env.random.int(3) === 0) break;
        }
      }
      expect(seen).toEqual(all);
      const skipped = await t.put('s', { 'f:q': '' }, { durability: 'SKIP_WAL' });
      const stop = new AbortController();
      const late: (bigint | string)[] = [];
      const following = (async (): Promise<void> => {
        const options = { from: all.at(-1)! + 1n, follow: true, signal: stop.signal };
        for await (const change of connection.changes(options)) {
          if (change.kind === 'gap') late.push(`gap ${change.first}-${change.last}`);
          if (change.kind === 'commit') late.push(change.tso);
        }
      })();
      await env.timers.sleep(100);
      const tso = await t.put('later', { 'f:q': '' });
      await env.timers.sleep(200);
      stop.abort();
      await following;
      expect(late).toEqual([`gap ${skipped}-${skipped}`, tso]);
    });
  });

  test('reaches back as far as the archive: a day with enable_feature_binlog, else the live log', async () => {
    for (const binlog of [true, false]) {
      await onStore(
        4,
        async (connection, env) => {
          const t = connection.table('t');
          const first = await t.put('a', { 'f:q': 'x' });
          for (let i = 0; i < 100; i++) await t.put(`r${i}`, { 'f:q': 'y'.repeat(3000) });
          await connection.admin.flush('t');
          for (let i = 0; i < 60; i++) await t.put(`r${i}`, { 'f:q': 'y'.repeat(3000) });
          await connection.admin.flush('t');
          await env.timers.sleep(1000);
          const reading = changesOf(connection, first);
          if (binlog)
            expect((await reading).filter(({ kind }) => kind === 'commit')).toHaveLength(161);
          else await expect(reading).rejects.toThrow(SnapshotTooOld);
        },
        { oracle: { enable_feature_binlog: binlog } },
      );
    }
  });
});
