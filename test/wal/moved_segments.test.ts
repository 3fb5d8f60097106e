/** Segments that go into the archive between being seen and being opened are read there. */
import { expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { Env, FileSystem } from '../../src/io/index.ts';
import { LogReader } from '../../src/wal/index.ts';

const DIRS = ['store/archive/wal', 'store/wal'];

async function recordsOf(env: Env): Promise<string[]> {
  const found: string[] = [];
  await using reader = new LogReader(env, DIRS);
  while (await reader.nextBatch()) {
    while (reader.next()) found.push(`${reader.record.segment}:${reader.record.offset}`);
  }
  return found;
}

/** Moves each segment of the log into the archive just before it is opened for the `nth` time. */
function moving(env: Env, nth: number): { env: Env; moved: () => number } {
  const opened = new Map<string, number>();
  let moved = 0;
  const fs = new Proxy(env.fs, {
    get(target, name): unknown {
      if (name !== 'open') {
        const member = Reflect.get(target, name) as unknown;
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      }
      return async (...[path, mode]: Parameters<FileSystem['open']>) => {
        const count = (opened.get(path) ?? 0) + 1;
        opened.set(path, count);
        // Recovery and readers only: the newest segment stays, it is written to.
        const isLogs = path.startsWith('store/wal/') && !path.endsWith('0000000005.wal');
        if (isLogs && count === nth) {
          await target.rename(path, path.replace('/wal/', '/archive/wal/'));
          moved++;
        }
        return target.open(path, mode);
      };
    },
  });
  return { env: { ...env, fs }, moved: () => moved };
}

test.each([1, 2, 3])('moved before it is opened for the %d. time', async (nth) => {
  const env = memoryEnv();
  const store = await open('store', { env, logSegmentBytes: 65_536, autoCompact: false });
  await store.admin.createTable({ name: 't', families: ['f'] });
  for (let i = 0; i < 300; i++) await store.table('t').put(`r${i}`, { 'f:q': 'x'.repeat(900) });
  await store.close();
  await env.fs.ensureFolder('store/archive/wal');
  const wanted = await recordsOf(env);
  expect(wanted.length).toBeGreaterThan(300);
  const shifting = moving(env, nth);
  expect(await recordsOf(shifting.env)).toEqual(wanted);
  expect(shifting.moved()).toBeGreaterThan(0);
});
