/** How long the past is kept, and who keeps it longer: retention, size, floors, pins; tables and families of before. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection, OpenOptions } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import {
  NoSuchColumnFamilyException,
  SnapshotDoesNotExistException,
  SnapshotExistsException,
  SnapshotTooOld,
  TableNotFoundException,
} from '../../src/model/index.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

type Work = (
  env: SimEnv,
  start: (options?: OpenOptions) => Promise<EmbeddedConnection>,
) => Promise<void>;

function simulated(name: string, work: Work): void {
  test(name, async () => {
    const env = simEnv({ seed: 11 });
    const start = (options: OpenOptions = {}): Promise<EmbeddedConnection> =>
      open('/data', { env, blockingSync: false, ...options });
    await env.drive(work(env, start), 1e9);
  });
}

const value = async (
  connection: EmbeddedConnection,
  asOf?: bigint,
): Promise<string | undefined> => {
  const result = await connection.table('t').get('r', asOf === undefined ? {} : { asOf });
  return result?.text('f:q') ?? undefined;
};

/** Writes and flushes a value, so that the one before goes into history; answers the TSO. */
async function write(connection: EmbeddedConnection, text: string): Promise<bigint> {
  const tso = await connection.table('t').put('r', { 'f:q': text });
  await connection.admin.flush('t');
  await connection.admin.compact('t', { major: true });
  return tso;
}

const historyFiles = async (connection: EmbeddedConnection): Promise<number> =>
  (await connection.files('t')).filter(({ kind }) => kind === 'history').length;

describe('retention', () => {
  simulated(
    'history goes when its time has passed, and reads of then are refused',
    async (env, start) => {
      let connection = await start();
      await connection.admin.createTable({ name: 't', families: ['f'] });
      const first = await write(connection, 'one');
      await write(connection, 'two');
      await env.timers.sleep(HOUR_MS / 2);
      const second = await write(connection, 'three');
      expect(await value(connection, first)).toBe('one');
      await env.timers.sleep(HOUR_MS / 2 + 2 * MINUTE_MS);
      await expect(value(connection, first)).rejects.toThrow(SnapshotTooOld);
      expect(await value(connection, second)).toBe('three');
      const { history } = connection.status();
      await expect(value(connection, first)).rejects.toThrow(
        String(history.tables[0]!.oldestReadableTso),
      );
      expect(await historyFiles(connection)).toBe(1);
      // What is gone stays refused, also for who keeps more from now on.
      await connection.close();
      connection = await start({ historyRetentionMs: 10 * HOUR_MS });
      await expect(value(connection, first)).rejects.toThrow(SnapshotTooOld);
      expect(await value(connection, second)).toBe('three');
      await connection.close();
    },
  );

  simulated('the oldest history goes beyond the size, pins excepted', async (env, start) => {
    const connection = await start({ historyBytesMax: 1 });
    await connection.admin.createTable({ name: 't', families: ['f'] });
    const first = await write(connection, 'one');
    const second = await write(connection, 'two');
    const snapshot = await connection.snapshot({ owner: 'a test' });
    await write(connection, 'three');
    await env.timers.sleep(2 * MINUTE_MS);
    await expect(value(connection, first)).rejects.toThrow(SnapshotTooOld);
    expect(await value(connection, snapshot.tso)).toBe('two');
    expect((await snapshot.table('t').get('r'))?.text('f:q')).toBe('two');
    expect(connection.status().history).toMatchObject({
      oldestReaderTso: snapshot.tso,
      oldestReader: 'a test',
    });
    await snapshot.release();
    await env.timers.sleep(2 * MINUTE_MS);
    await expect(value(connection, second)).rejects.toThrow(SnapshotTooOld);
    expect(await historyFiles(connection)).toBe(0);
    expect(await value(connection)).toBe('three');
    await connection.close();
  });

  simulated('a scan that rests keeps what it sees', async (env, start) => {
    const connection = await start({ historyRetentionMs: 1000, historyBytesMax: 0 });
    await connection.admin.createTable({ name: 't', families: ['f'], SPLITS: ['m'] });
    const table = connection.table('t');
    await table.put('a', { 'f:q': 'old' });
    await table.put('z', { 'f:q': 'old' });
    const scanner = table.scan();
    const rows = await scanner.nextBatch(1);
    await table.put('z', { 'f:q': 'new' });
    await connection.admin.flush('t');
    await connection.admin.dropFamily('t', 'f').catch(() => undefined); // The last family stays.
    await connection.admin.addFamily('t', 'g');
    await connection.admin.dropFamily('t', 'f');
    await env.timers.sleep(3 * MINUTE_MS);
    rows.push(...(await scanner.nextBatch(10)));
    expect(rows.map((row) => `${row.rowText}=${row.text('f:q')}`)).toEqual(['a=old', 'z=old']);
    await connection.close();
  });
});

describe('pins', () => {
  simulated('a named pin survives reopening and holds until it is released', async (env, start) => {
    let connection = await start({ historyRetentionMs: 1000 });
    await connection.admin.createTable({ name: 't', families: ['f'] });
    await write(connection, 'one');
    const { tso } = await connection.snapshot({ name: 'before', owner: 'me' });
    await expect(connection.snapshot({ name: 'before' })).rejects.toThrow(SnapshotExistsException);
    await write(connection, 'two');
    await connection.close();
    connection = await start({ historyRetentionMs: 1000 });
    await env.timers.sleep(2 * HOUR_MS);
    expect(await connection.listPins()).toMatchObject([{ name: 'before', owner: 'me', tso }]);
    const snapshot = await connection.openSnapshot('before');
    const table = snapshot.table('t');
    expect((await table.get('r'))?.text('f:q')).toBe('one');
    expect(await table.count()).toBe(1);
    await snapshot.release();
    expect(await connection.listPins()).toEqual([]);
    await expect(table.get('r')).rejects.toThrow('was released');
    await expect(value(connection, tso)).rejects.toThrow(SnapshotTooOld);
    await expect(connection.openSnapshot('before')).rejects.toThrow(SnapshotDoesNotExistException);
    await connection.close();
  });

  simulated('leases end', async (env, start) => {
    const connection = await start({ historyRetentionMs: 1000 });
    await connection.admin.createTable({ name: 't', families: ['f'] });
    await write(connection, 'one');
    const forgotten = await connection.snapshot();
    await connection.snapshot({ name: 'short', leaseMs: MINUTE_MS });
    await write(connection, 'two');
    await env.timers.sleep(3 * MINUTE_MS);
    expect(await connection.listPins()).toEqual([]);
    expect(await value(connection, forgotten.tso)).toBe('one');
    await env.timers.sleep(HOUR_MS);
    await expect(forgotten.table('t').get('r')).rejects.toThrow(SnapshotTooOld);
    expect(await historyFiles(connection)).toBe(0);
    await connection.close();
  });
});

describe('schema of before', () => {
  simulated(
    'tables and families that were dropped are read as of before, then removed',
    async (env, start) => {
      let connection = await start();
      const { admin } = connection;
      const before = await connection.tso();
      await admin.createTable({ name: 't', families: ['f', 'g'] });
      await connection.table('t').put('r', { 'f:q': 'one', 'g:q': 'x' });
      const full = await connection.tso();
      await admin.dropFamily('t', 'g');
      const narrow = await connection.tso();
      await admin.truncateTable('t');
      const empty = await connection.tso();
      await admin.disableTable('t');
      await admin.dropTable('t');
      const none = await connection.tso();
      for (let round = 0; round < 2; round++) {
        const table = connection.table('t');
        await expect(table.get('r', { asOf: before })).rejects.toThrow(TableNotFoundException);
        expect((await table.get('r', { asOf: full }))?.size).toBe(2);
        expect((await table.get('r', { asOf: full, families: ['g'] }))?.text('g:q')).toBe('x');
        expect((await table.get('r', { asOf: narrow }))?.size).toBe(1);
        await expect(table.get('r', { asOf: narrow, families: ['g'] })).rejects.toThrow(
          NoSuchColumnFamilyException,
        );
        expect(await table.count({ asOf: empty })).toBe(0);
        await expect(table.get('r', { asOf: none })).rejects.toThrow(TableNotFoundException);
        await connection.close();
        connection = await start();
      }
      expect(connection.status().history.droppedTables).toBe(2);
      await env.timers.sleep(HOUR_MS + 2 * MINUTE_MS);
      expect(connection.status().history).toMatchObject({ droppedTables: 0, droppedBytes: 0 });
      expect(await filesBelow(env, '/data/data')).toEqual([]);
      await expect(connection.table('t').get('r', { asOf: full })).rejects.toThrow(SnapshotTooOld);
      await connection.close();
    },
  );

  simulated('a dropped family is removed when its time has passed', async (env, start) => {
    const connection = await start();
    await connection.admin.createTable({ name: 't', families: ['f', 'g'] });
    await connection.table('t').put('r', { 'g:q': 'x' });
    await connection.admin.dropFamily('t', 'g');
    expect(await filesBelow(env, '/data/data')).toHaveLength(1);
    await env.timers.sleep(HOUR_MS + 2 * MINUTE_MS);
    expect(await filesBelow(env, '/data/data')).toEqual([]);
    await connection.close();
  });

  simulated(
    'a merged file shows each cell only to moments before its own drop',
    async (env, start) => {
      const connection = await start({ historyFilesMax: 2 });
      const family = { name: 'f', VERSIONS: 1 };
      await connection.admin.createTable({ name: 't', families: [family] });
      await write(connection, 'one');
      await write(connection, 'two');
      // From here on older versions would be shown, were they there.
      await connection.admin.modifyFamily('t', { ...family, VERSIONS: 9 });
      const wide = await connection.tso();
      await connection.admin.modifyFamily('t', family);
      for (const text of ['three', 'four', 'five']) await write(connection, text);
      await env.timers.sleep(2 * MINUTE_MS);
      expect(connection.status().history.merges).toBeGreaterThan(0);
      const files = await connection.files('t');
      expect(files.filter(({ flags }) => flags.includes('merged'))).toHaveLength(1);
      const table = connection.table('t');
      for (const reversed of [false, true]) {
        const rows = await table.scan({ asOf: wide, versions: 9, reversed }).nextBatch();
        expect(rows.map((row) => row.cells.map((cell) => cell.tags.length))).toEqual([[0]]);
        expect(rows[0]!.text('f:q')).toBe('two');
      }
      expect((await table.get('r', { asOf: wide, versions: 9 }))?.size).toBe(1);
      await connection.close();
    },
  );

  simulated('VERSIONS and TTL of then', async (env, start) => {
    const connection = await start();
    await connection.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 3 }] });
    for (const text of ['one', 'two', 'three']) await write(connection, text);
    const wide = await connection.tso();
    await connection.admin.modifyFamily('t', { name: 'f', VERSIONS: 1, TTL: 60 });
    await write(connection, 'four');
    const narrow = await connection.tso();
    await env.timers.sleep(5 * MINUTE_MS);
    await connection.admin.compact('t', { major: true });
    const table = connection.table('t');
    expect(await table.get('r')).toBeNull();
    expect((await table.get('r', { versions: 9, asOf: narrow }))?.size).toBe(1);
    expect((await table.get('r', { versions: 9, asOf: wide }))?.size).toBe(3);
    await connection.close();
  });
});

async function filesBelow(env: SimEnv, folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await env.fs.list(folder)) {
    const path = `${folder}/${name}`;
    const stat = await env.fs.stat(path);
    if (stat?.isDirectory === true) found.push(...(await filesBelow(env, path)));
    else found.push(path);
  }
  return found;
}
