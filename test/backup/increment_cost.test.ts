/** What an incremental backup costs goes with what changed, not with the store or with the log that is kept: files opened, bytes read, written, syncs. */
import { expect, test } from 'vitest';
import { createBackup } from '../../src/backup/index.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { Env, FileHandle } from '../../src/io/index.ts';

const SEGMENT = 65_536;
const VALUE = Buffer.alloc(900, 7);

interface Cost {
  opens: number;
  bytesRead: number;
  bytesWritten: number;
  syncs: number;
}

/** The world of a store, which counts what is done with files. */
function counting(): { readonly env: Env; readonly cost: Cost } {
  const base = memoryEnv();
  const cost: Cost = { opens: 0, bytesRead: 0, bytesWritten: 0, syncs: 0 };
  const handleOf = (handle: FileHandle): FileHandle => ({
    path: handle.path,
    read: async (buf, at) => {
      const count = await handle.read(buf, at);
      cost.bytesRead += count;
      return count;
    },
    readSync: (buf, at) => handle.readSync(buf, at),
    write: (data, at) => {
      cost.bytesWritten += data.length;
      return handle.write(data, at);
    },
    writeSync: (data, at) => {
      cost.bytesWritten += data.length;
      handle.writeSync(data, at);
    },
    sync: () => {
      cost.syncs++;
      return handle.sync();
    },
    syncSync: () => {
      cost.syncs++;
      handle.syncSync();
    },
    truncate: (size) => handle.truncate(size),
    size: () => handle.size(),
    close: () => handle.close(),
  });
  const fs = new Proxy(base.fs, {
    get(target, name) {
      if (name === 'open') {
        return async (...args: Parameters<typeof base.fs.open>): Promise<FileHandle> => {
          cost.opens++;
          return handleOf(await target.open(...args));
        };
      }
      if (name === 'readFile') {
        return async (path: string): Promise<Uint8Array> => {
          cost.opens++;
          const bytes = await target.readFile(path);
          cost.bytesRead += bytes.length;
          return bytes;
        };
      }
      if (name === 'syncFolder') {
        return (path: string): Promise<void> => {
          cost.syncs++;
          return target.syncFolder(path);
        };
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  return { env: { ...base, fs }, cost };
}

async function putRows(store: EmbeddedConnection, from: number, count: number): Promise<void> {
  for (let i = from; i < from + count; i++) await store.table('t').put(`r${i}`, { 'f:q': VALUE });
}

/** Costs of an incremental backup of `changed` rows in a store of `rows`, whose log is kept from its first row on. */
async function costOf(rows: number, changed: number): Promise<Cost> {
  const { env, cost } = counting();
  const store = await open('store', {
    env,
    logSegmentBytes: SEGMENT,
    logBytesMax: 1 << 30,
    autoCompact: false,
  });
  await store.admin.createTable({ name: 't', families: ['f'] });
  // A chain elsewhere needs the whole log.
  await createBackup(store.server, 'elsewhere');
  await putRows(store, 0, rows);
  await createBackup(store.server, 'backups');
  await putRows(store, 0, changed);
  Object.assign(cost, { opens: 0, bytesRead: 0, bytesWritten: 0, syncs: 0 });
  await createBackup(store.server, 'backups', { incremental: true });
  const taken = { ...cost };
  await store.close();
  return taken;
}

test('of the same change it is the same, however large the store and however long the log', async () => {
  const small = await costOf(200, 100);
  const large = await costOf(2000, 100);
  // Where in a segment the log stands differs by chance.
  expect(large.opens).toBeLessThanOrEqual(small.opens + 4);
  expect(large.syncs).toBeLessThanOrEqual(small.syncs + 2);
  expect(large.bytesWritten).toBeLessThanOrEqual(small.bytesWritten + 4096);
  expect(large.bytesRead).toBeLessThanOrEqual(small.bytesRead + SEGMENT);
});

test('it grows with the change: what was written is read and written once', async () => {
  const tenth = await costOf(200, 100);
  const whole = await costOf(200, 1000);
  const changed = 900 * VALUE.length;
  for (const count of ['bytesRead', 'bytesWritten'] as const) {
    const more = whole[count] - tenth[count];
    expect(more, count).toBeGreaterThan(changed);
    expect(more, count).toBeLessThan(1.25 * changed);
  }
  // A file of the log opened and written, a segment.
  const segments = Math.ceil((1.25 * changed) / SEGMENT);
  expect(whole.opens - tenth.opens).toBeLessThanOrEqual(4 * segments);
  expect(whole.syncs - tenth.syncs).toBeLessThanOrEqual(2 * segments);
  expect(tenth.bytesWritten).toBeLessThan(1.25 * 100 * VALUE.length);
});
