/** One suite for every file system: the real one in a temporary folder, the simulated one with and without timers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  FileNotFoundException,
  FolderLockedException,
  IoException,
  ReadOnlyException,
  memoryEnv,
  realEnv,
  simEnv,
  type FileSystem,
} from '../../src/io/index.ts';

interface Backend {
  readonly fs: FileSystem;
  readonly dir: string;
  drive<T>(promise: Promise<T>): Promise<T>;
  stop(): void;
}

const backends: Record<string, () => Backend> = {
  real: () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'cellar-fs-'));
    return {
      fs: realEnv().fs,
      dir,
      drive: (promise) => promise,
      stop: () => rmSync(dir, { recursive: true }),
    };
  },
  simulated: () => {
    const env = simEnv({ seed: 1 });
    return { fs: env.fs, dir: '/d', drive: (p) => env.drive(p), stop: () => undefined };
  },
  memory: () => {
    const { fs } = memoryEnv();
    return { fs, dir: '/d', drive: (p) => p, stop: () => undefined };
  },
};

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const text = (data: Uint8Array): string => Buffer.from(data).toString('latin1');

describe.each(Object.keys(backends))('%s file system', (name) => {
  let backend: Backend;
  let fs: FileSystem;
  let dir: string;
  beforeEach(async () => {
    backend = backends[name]!();
    ({ fs, dir } = backend);
    await backend.drive(fs.ensureFolder(dir));
  });
  afterEach(() => backend.stop());

  const check = (what: string, work: () => Promise<void>): void => {
    test(what, () => backend.drive(work()));
  };
  const put = async (file: string, content: string): Promise<void> => {
    const handle = await fs.open(`${dir}/${file}`, 'write');
    await handle.write(bytes(content), 0);
    await handle.close();
  };
  const get = async (file: string): Promise<string> => text(await fs.readFile(`${dir}/${file}`));

  check('writes are positional, reads fill the buffer and are short only at the end', async () => {
    const handle = await fs.open(`${dir}/f`, 'create');
    await handle.write(bytes('world'), 6);
    handle.writeSync(bytes('hello '), 0);
    const buf = new Uint8Array(8);
    expect(await handle.read(buf, 0)).toBe(8);
    expect(text(buf)).toBe('hello wo');
    expect(handle.readSync(buf, 6)).toBe(5);
    expect(text(buf.subarray(0, 5))).toBe('world');
    expect(await handle.read(buf, 11)).toBe(0);
    expect(await handle.read(buf, 500)).toBe(0);
    expect(await handle.size()).toBe(11);
    await handle.sync();
    handle.syncSync();
    await handle.close();
  });

  check('a gap reads as zeros, across many pages', async () => {
    const handle = await fs.open(`${dir}/f`, 'create');
    await handle.write(bytes('x'), 20_000);
    const buf = new Uint8Array(20_001).fill(7);
    expect(await handle.read(buf, 0)).toBe(20_001);
    expect(buf.findIndex((byte) => byte !== 0)).toBe(20_000);
    await handle.close();
  });

  check('truncate cuts, and what grows again is zeros', async () => {
    const handle = await fs.open(`${dir}/f`, 'create');
    await handle.write(bytes('0123456789'), 0);
    await handle.truncate(4);
    expect(await handle.size()).toBe(4);
    await handle.truncate(6);
    await handle.close();
    expect(await get('f')).toBe('0123\0\0');
  });

  check('the modes of opening', async () => {
    await expect(fs.open(`${dir}/f`, 'read')).rejects.toBeInstanceOf(FileNotFoundException);
    await expect(fs.open(`${dir}/no/f`, 'create')).rejects.toBeInstanceOf(FileNotFoundException);
    await put('f', 'abc');
    await expect(fs.open(`${dir}/f`, 'create')).rejects.toBeInstanceOf(IoException);
    const again = await fs.open(`${dir}/f`, 'write');
    expect(await again.size()).toBe(3);
    await again.close();
    const reader = await fs.open(`${dir}/f`, 'read');
    await expect(reader.write(bytes('x'), 0)).rejects.toBeInstanceOf(IoException);
    await reader.close();
  });

  check('a closed handle refuses and may be closed again', async () => {
    const handle = await fs.open(`${dir}/f`, 'create');
    const late = handle.write(bytes('abc'), 0);
    await handle.close();
    await late;
    await handle.close();
    expect(await get('f')).toBe('abc');
    for (const use of [handle.write(bytes('x'), 0), handle.sync(), handle.size()]) {
      await expect(use).rejects.toBeInstanceOf(IoException);
    }
    expect(() => handle.writeSync(bytes('x'), 0)).toThrow(IoException);
    expect(() => handle.readSync(bytes('x'), 0)).toThrow(IoException);
    expect(() => handle.syncSync()).toThrow(IoException);
  });

  check('many writes at once all arrive', async () => {
    const handle = await fs.open(`${dir}/f`, 'create');
    const places = Array.from({ length: 64 }, (_, i) => i * 100);
    await Promise.all(places.map((at, i) => handle.write(new Uint8Array(100).fill(i), at)));
    await handle.close();
    const content = await fs.readFile(`${dir}/f`);
    expect(content.length).toBe(6400);
    expect(content.every((byte, at) => byte === Math.floor(at / 100))).toBe(true);
  });

  check('list is sorted; stat tells files from folders from nothing', async () => {
    await put('b', '12345');
    await put('a', '');
    await fs.ensureFolder(`${dir}/sub/deep`);
    expect(await fs.list(dir)).toEqual(['a', 'b', 'sub']);
    expect(await fs.stat(`${dir}/b`)).toMatchObject({ sizeBytes: 5, isDirectory: false });
    expect(await fs.stat(`${dir}/sub`)).toMatchObject({ isDirectory: true });
    expect(await fs.stat(`${dir}/none`)).toBeNull();
    expect(await fs.stat(`${dir}/b/none`)).toBeNull();
    await expect(fs.list(`${dir}/none`)).rejects.toBeInstanceOf(FileNotFoundException);
    await expect(fs.readFile(`${dir}/none`)).rejects.toBeInstanceOf(FileNotFoundException);
    await expect(fs.readFile(`${dir}/sub`)).rejects.toBeInstanceOf(IoException);
    await expect(fs.ensureFolder(`${dir}/b`)).rejects.toBeInstanceOf(IoException);
    await fs.ensureFolder(`${dir}/sub/deep`);
  });

  check('rename replaces files and moves folders', async () => {
    await put('a', 'new');
    await put('b', 'old');
    await fs.rename(`${dir}/a`, `${dir}/b`);
    expect(await fs.list(dir)).toEqual(['b']);
    expect(await get('b')).toBe('new');
    await fs.ensureFolder(`${dir}/x`);
    await fs.rename(`${dir}/b`, `${dir}/x/b`);
    await fs.rename(`${dir}/x`, `${dir}/y`);
    expect(await get('y/b')).toBe('new');
    const gone = fs.rename(`${dir}/a`, `${dir}/c`);
    await expect(gone).rejects.toBeInstanceOf(FileNotFoundException);
  });

  check('an open file lives on when its name is removed or replaced', async () => {
    const handle = await fs.open(`${dir}/f`, 'create');
    await handle.write(bytes('abc'), 0);
    await fs.remove(`${dir}/f`);
    await put('f', 'other');
    const buf = new Uint8Array(3);
    expect(await handle.read(buf, 0)).toBe(3);
    expect(text(buf)).toBe('abc');
    await handle.close();
  });

  check('link gives a second name, copy a second file', async () => {
    await put('a', 'one');
    await fs.link(`${dir}/a`, `${dir}/l`);
    await fs.copy(`${dir}/a`, `${dir}/c`);
    await put('a', 'two');
    expect(await get('l')).toBe('two');
    expect(await get('c')).toBe('one');
    await expect(fs.link(`${dir}/a`, `${dir}/c`)).rejects.toBeInstanceOf(IoException);
    await fs.remove(`${dir}/a`);
    expect(await get('l')).toBe('two');
    await fs.copy(`${dir}/l`, `${dir}/c`);
    expect(await get('c')).toBe('two');
  });

  check('copy and remove take whole trees; removing nothing is no error', async () => {
    await fs.ensureFolder(`${dir}/t/u`);
    await put('t/u/f', 'deep');
    await fs.copy(`${dir}/t`, `${dir}/v`);
    await fs.remove(`${dir}/t`);
    await fs.remove(`${dir}/t`);
    expect(await fs.stat(`${dir}/t`)).toBeNull();
    expect(await get('v/u/f')).toBe('deep');
  });

  check('folders sync; absent ones do not', async () => {
    await put('a', 'one');
    await fs.syncFolder(dir);
    await expect(fs.syncFolder(`${dir}/none`)).rejects.toBeInstanceOf(FileNotFoundException);
  });

  check('a folder is locked once, and told who holds it', async () => {
    expect(await fs.lockHolder(dir)).toBeNull();
    const lock = await fs.lockFolder(dir, { address: null });
    const second = fs.lockFolder(dir, { address: null });
    await expect(second).rejects.toBeInstanceOf(FolderLockedException);
    await lock.setAddress('http://127.0.0.1:1');
    const told = await fs.lockHolder(dir);
    expect(told?.address).toBe('http://127.0.0.1:1');
    const third = fs.lockFolder(`${dir}/../${path.basename(dir)}`, { address: null });
    await expect(third).rejects.toMatchObject({
      code: 'FolderLockedException',
      holderPid: told?.pid,
      holderAddress: 'http://127.0.0.1:1',
    });
    expect(await fs.list(dir)).toEqual(['LOCK']);
    await lock.release();
    await lock.release();
    await expect(lock.setAddress('x')).rejects.toBeInstanceOf(IoException);
    expect(await fs.lockHolder(dir)).toBeNull();
    await (await fs.lockFolder(dir, { address: null })).release();
    expect(await fs.list(dir)).toEqual([]);
    const none = fs.lockFolder(`${dir}/none`, { address: null });
    await expect(none).rejects.toBeInstanceOf(FileNotFoundException);
  });

  test('of many takers at once exactly one wins', async () => {
    const takers = Array.from({ length: 20 }, () => fs.lockFolder(dir, { address: null }));
    const results = await backend.drive(Promise.allSettled(takers));
    const won = results.filter((result) => result.status === 'fulfilled');
    expect(won.length).toBe(1);
    for (const result of results) {
      if (result.status === 'rejected') {
        expect(result.reason).toBeInstanceOf(FolderLockedException);
      }
    }
    await won[0]!.value.release();
  });
});

test('a reader of the simulated disk cannot write', () => {
  const env = simEnv({ seed: 1 });
  env.fs.plant('/f', bytes('abc'));
  return env.drive(
    (async () => {
      const handle = await env.fs.open('/f', 'read');
      expect(() => handle.writeSync(bytes('x'), 0)).toThrow(ReadOnlyException);
    })(),
  );
});
