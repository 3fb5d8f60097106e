/** The folder lock across processes: a killed holder, a reused number, races of takers, what a power cut leaves. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FolderLockedException, realEnv } from '../../src/io/index.ts';
import { livenessOf, ownIdentity } from '../../src/io/process_identity.ts';
import { lockRealFolder } from '../../src/io/real_lock.ts';

const IO = pathToFileURL(path.resolve(import.meta.dirname, '../../dist/io/index.js')).href;
const HOLDER = path.join(import.meta.dirname, 'fixtures/hold_lock.mjs');
const isLinux = process.platform === 'linux';

const { fs } = realEnv();
let top: string;
let dir: string;
let children: ChildProcess[];

beforeEach(() => {
  top = mkdtempSync(path.join(tmpdir(), 'cellar-lock-'));
  dir = path.join(top, 'data');
  mkdirSync(dir);
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

/** Starts a process that tries to take the lock, and gives what it says. */
async function startHolder(address: string): Promise<{ child: ChildProcess; says: string }> {
  const child = spawn(process.execPath, [HOLDER, IO, dir, address], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [data] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, says: data.toString().trim() };
}

/** A lock file as a holder would have left it, with some fields changed. */
function leaveLock(changes: Record<string, unknown>): void {
  const record = { token: 'abc', ...ownIdentity(), sinceMs: 1, address: null, ...changes };
  writeFileSync(path.join(dir, 'LOCK'), JSON.stringify(record));
}

async function takesOver(): Promise<void> {
  const lock = await fs.lockFolder(dir, { address: null });
  expect((await fs.lockHolder(dir))?.pid).toBe(process.pid);
  expect(readdirSync(dir)).toEqual(['LOCK']);
  await lock.release();
  expect(readdirSync(dir)).toEqual([]);
}

describe('another process', () => {
  test('holds the lock while it lives, and leaves no trap when it is killed', async () => {
    const { child, says } = await startHolder('http://127.0.0.1:1234');
    expect(says).toBe('held');
    expect(await fs.lockHolder(dir)).toMatchObject({
      pid: child.pid,
      address: 'http://127.0.0.1:1234',
    });
    const refused = fs.lockFolder(dir, { address: null });
    await expect(refused).rejects.toMatchObject({
      code: 'FolderLockedException',
      holderPid: child.pid,
      holderAddress: 'http://127.0.0.1:1234',
    });
    await kill(child);
    expect(await fs.lockHolder(dir)).toBeNull();
    await takesOver();
  });

  test('is refused while this one holds it', async () => {
    const lock = await fs.lockFolder(dir, { address: null });
    expect((await startHolder('x')).says).toBe('FolderLockedException');
    await lock.release();
  });

  test('of several that succeed a killed one, exactly one wins', async () => {
    const first = await startHolder('x');
    await kill(first.child);
    const others = await Promise.all([1, 2, 3, 4].map(() => startHolder('y')));
    const won = others.filter(({ says }) => says === 'held');
    expect(won.length).toBe(1);
    expect((await fs.lockHolder(dir))?.pid).toBe(won[0]!.child.pid);
    const lost = others.filter(({ says }) => says === 'FolderLockedException');
    expect(lost.length).toBe(3);
  });
});

test('a folder is the same through a symbolic link', async () => {
  const alias = path.join(top, 'alias');
  symlinkSync(dir, alias, 'junction');
  const lock = await fs.lockFolder(alias, { address: null });
  await expect(fs.lockFolder(dir, { address: null })).rejects.toThrow(FolderLockedException);
  await lock.release();
  await takesOver();
});

test('two environments of one process do not share a folder', async () => {
  const lock = await realEnv().fs.lockFolder(dir, { address: null });
  const second = realEnv().fs.lockFolder(dir, { address: null });
  await expect(second).rejects.toThrow(FolderLockedException);
  await lock.release();
});

test('many takers at once in one process, over a dead holder: exactly one wins, again and again', async () => {
  for (let round = 0; round < 20; round++) {
    leaveLock({ pid: 2 ** 30, token: `dead${round}`.replace(/[^0-9a-f]/g, '') });
    const takers = Array.from({ length: 8 }, () => fs.lockFolder(dir, { address: null }));
    const results = await Promise.allSettled(takers);
    const won = results.filter((result) => result.status === 'fulfilled');
    expect(won.length).toBe(1);
    await won[0]!.value.release();
  }
});

describe('who is dead', () => {
  test('a number that no process has', async () => {
    leaveLock({ pid: 2 ** 30 });
    await takesOver();
  });

  test.runIf(isLinux)('a number that another process has now', async () => {
    leaveLock({ startTime: '1' });
    await takesOver();
  });

  test.runIf(isLinux)('a process of an earlier boot', async () => {
    leaveLock({ boot: 'another' });
    await takesOver();
  });

  test('not this very process', async () => {
    leaveLock({});
    await expect(fs.lockFolder(dir, { address: null })).rejects.toThrow(FolderLockedException);
  });

  test.runIf(isLinux)(
    'not one whose number cannot be seen, as long as its heart beats',
    async () => {
      leaveLock({ pidSpace: 'pid:[1]' });
      const beating = setInterval(() => {
        utimesSync(path.join(dir, 'LOCK'), new Date(), new Date());
      }, 5);
      try {
        const taking = lockRealFolder(dir, { address: null }, 200);
        await expect(taking).rejects.toThrow(FolderLockedException);
      } finally {
        clearInterval(beating);
      }
      const lock = await lockRealFolder(dir, { address: null }, 200);
      await lock.release();
    },
  );

  test('as seen by its identity', () => {
    const own = { pid: process.pid, startTime: '', boot: '', pidSpace: '', host: 'a' };
    expect(livenessOf(own, own)).toBe('alive');
    expect(livenessOf({ ...own, host: 'b' }, own)).toBe('unknown');
    expect(livenessOf({ ...own, pid: 2 ** 30 }, own)).toBe('dead');
    const here = { ...own, boot: '1' };
    expect(livenessOf({ ...here, boot: '2' }, here)).toBe('dead');
    expect(livenessOf({ ...here, boot: '2', host: 'b' }, here)).toBe('unknown');
  });
});

describe('what is left behind', () => {
  test.each([
    '',
    '{"pid":',
    '{"token":"zz!","pid":1,"sinceMs":1}',
    '{"token":"a","pid":0,"sinceMs":1}',
  ])('a damaged lock file is taken over: %j', async (content) => {
    const file = path.join(dir, 'LOCK');
    writeFileSync(file, content);
    utimesSync(file, new Date(0), new Date(0));
    await takesOver();
  });

  test('a successor that died before it tidied up is succeeded', async () => {
    const dead = { pid: 2 ** 30 };
    leaveLock({ ...dead, token: 'a1' });
    const second = JSON.stringify({ ...ownIdentity(), ...dead, token: 'b2', sinceMs: 1 });
    writeFileSync(path.join(dir, 'LOCK.a1'), second);
    await takesOver();
  });

  test('a live successor at the end of the chain holds the lock', async () => {
    leaveLock({ pid: 2 ** 30, token: 'a1' });
    const second = { ...ownIdentity(), token: 'b2', sinceMs: 1, address: 'there' };
    writeFileSync(path.join(dir, 'LOCK.a1'), JSON.stringify(second));
    await expect(fs.lockFolder(dir, { address: null })).rejects.toMatchObject({
      holderAddress: 'there',
    });
  });

  test('links and old temporary files of takers that gave up are swept', async () => {
    writeFileSync(path.join(dir, 'LOCK.0123'), 'x');
    const temp = path.join(dir, 'LOCK.tmp.1.ff');
    writeFileSync(temp, 'x');
    utimesSync(temp, new Date(0), new Date(0));
    await takesOver();
  });

  test('a lock that another took meanwhile is not released', async () => {
    const lock = await fs.lockFolder(dir, { address: null });
    leaveLock({ token: 'c3' });
    await lock.release();
    expect(readFileSync(path.join(dir, 'LOCK'), 'utf8')).toContain('c3');
  });

  test('releasing in a removed folder is no error', async () => {
    const lock = await fs.lockFolder(dir, { address: null });
    rmSync(dir, { recursive: true });
    await lock.release();
  });
});
