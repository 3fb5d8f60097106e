/** The data folder: absent, taken by a file, held by another, not writable; on the real file system. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection, OpenOptions } from '../../src/engine/index.ts';
import {
  FolderLockedException,
  ReadOnlyException,
  memoryEnv,
  realEnv,
} from '../../src/io/index.ts';
import type { Env, FileSystem } from '../../src/io/index.ts';
import { expectFault, faultOf } from './support.ts';

const HOLDER = path.join(import.meta.dirname, '../process/fixtures/hold_store.mjs');
const DIST = path.resolve(import.meta.dirname, '../../dist/index.js');
const SMALL: OpenOptions = { logSegmentBytes: 65_536 };

let top: string;
let dir: string;
let children: ChildProcess[];

beforeEach(() => {
  top = mkdtempSync(path.join(os.tmpdir(), 'cellar-folders-'));
  dir = path.join(top, 'data');
  children = [];
});

afterEach(async () => {
  await Promise.all(children.map(kill));
  rmSync(top, { recursive: true });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function filled(): Promise<EmbeddedConnection> {
  const store = await open(dir, SMALL);
  await store.admin.createTable({ name: 't', families: ['f'] });
  await store.table('t').put('a', { 'f:q': 'kept' });
  return store;
}

async function expectKept(): Promise<void> {
  const store = await open(dir, SMALL);
  expect((await store.table('t').get('a'))?.text('f:q')).toBe('kept');
  await store.close();
}

describe('what is not there', () => {
  test('an absent folder that must exist', async () => {
    const error = await faultOf(() => open(dir, { mustExist: true }));
    expectFault(error, 'IoException', dir, 'holds no store');
    expect(existsSync(dir)).toBe(false);
    mkdirSync(dir);
    expectFault(await faultOf(() => open(dir, { mustExist: true })), 'IoException', dir);
    expect(readdirSync(dir)).toEqual([]);
  });

  test('a file in place of the folder, or above it', async () => {
    writeFileSync(dir, 'a file');
    expectFault(await faultOf(() => open(dir)), 'IoException', dir, 'is a file');
    expectFault(await faultOf(() => open(path.join(dir, 'below'))), 'IoException', dir);
    expectFault(await faultOf(() => open(dir, { mustExist: true })), 'IoException', dir);
  });

  test('a folder that cannot be made', async () => {
    // The kernel's own file systems take no folders, not even from root.
    if (process.platform !== 'linux') return;
    const where = '/proc/self/cellar';
    const error = await faultOf(() => open(where));
    expect(['ReadOnlyException', 'FileNotFoundException', 'IoException']).toContain(
      (error as { code: string }).code,
    );
    expect((error as Error).message).toContain(where);
  });

  test('rights that are missing are a ReadOnlyException that names the path', async () => {
    const { fs } = realEnv();
    const denied = Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
    // Root may write everywhere, so the refusal of the system is put in its place.
    const refusing: FileSystem = Object.create(fs, {
      lockFolder: {
        value: (folder: string) =>
          Promise.reject(
            new ReadOnlyException(`cannot lock ${folder}: ${denied.message}`, folder, {
              cause: denied,
            }),
          ),
      },
    }) as FileSystem;
    await (await filled()).close();
    const env: Env = { ...realEnv(), fs: refusing };
    expectFault(await faultOf(() => open(dir, { ...SMALL, env })), 'ReadOnlyException', dir);
    await expectKept();
  });
});

describe('the lock', () => {
  test('garbage in LOCK is no trap', async () => {
    await (await filled()).close();
    // The holder cannot be told from it, so a heartbeat is waited for, a second; more spellings: io/real_lock.test.ts.
    writeFileSync(path.join(dir, 'LOCK'), '{"pid":');
    await expectKept();
  });

  test('two opens of one process, also through a link', async () => {
    const store = await filled();
    const alias = path.join(top, 'alias');
    symlinkSync(dir, alias, 'junction');
    for (const name of [dir, alias, `${dir}/`, path.join(dir, '..', 'data')]) {
      const error = await faultOf(() => open(name, SMALL));
      expectFault(error, 'FolderLockedException', `process ${process.pid}`);
      expect(error).toMatchObject({ holderPid: process.pid, retryable: true });
    }
    await store.table('t').put('b', { 'f:q': 'goes on' });
    await store.close();
    await expectKept();
  });

  test('another process is named with its address; killed, it leaves nothing to clean up', async () => {
    await (await filled()).close();
    const child = spawn(process.execPath, [HOLDER, DIST, dir, 'http://127.0.0.1:16030'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    expect(said.toString().trim()).toBe('open');
    const error = await faultOf(() => open(dir, SMALL));
    expect(error).toBeInstanceOf(FolderLockedException);
    expectFault(
      error,
      'FolderLockedException',
      dir,
      `process ${child.pid}`,
      'http://127.0.0.1:16030',
    );
    await kill(child);
    await expectKept();
    expect(readdirSync(dir).filter((name) => name.startsWith('LOCK'))).toEqual([]);
  });

  test('an open that failed frees the folder and its files', async () => {
    const env = memoryEnv();
    const store = await open('/s', { ...SMALL, env });
    await store.close();
    const [segment] = (await env.fs.list('/s/manifest')).filter((name) => name === 'CURRENT');
    expect(segment).toBe('CURRENT');
    await (await filled()).close();
    const current = path.join(dir, 'manifest', 'CURRENT');
    writeFileSync(current, 'garbage');
    const before = openFiles();
    for (let i = 0; i < 5; i++) {
      expectFault(await faultOf(() => open(dir, SMALL)), 'CorruptionException', current);
    }
    expect(openFiles()).toBe(before);
    expect(await realEnv().fs.lockHolder(dir)).toBeNull();
  });
});

/** How many files below the test's folder this process has open. */
function openFiles(): number {
  if (process.platform !== 'linux') return 0;
  return readdirSync('/proc/self/fd').length;
}
