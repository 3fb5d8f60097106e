/** What a power cut and a killed process leave of the simulated disk. */
import { describe, expect, test } from 'vitest';
import { seeded, simEnv, SimFs, type FileHandle, type FsOp } from '../../src/io/index.ts';

const SECTOR = 512;

/** A disk whose operations take effect in the call. */
const disk = (seed: number): SimFs => new SimFs({ random: seeded(seed) });

async function fileWith(fs: SimFs, path: string, content: Uint8Array): Promise<FileHandle> {
  const handle = await fs.open(path, 'write');
  handle.writeSync(content, 0);
  handle.syncSync();
  await fs.syncFolder('/');
  return handle;
}

const filled = (sectors: number, byte: number): Uint8Array =>
  new Uint8Array(sectors * SECTOR).fill(byte);

describe('content', () => {
  test('what is synced survives, what is not is lost at 0 and kept at 1', async () => {
    const fs = disk(1);
    const handle = await fileWith(fs, '/f', filled(20, 1));
    handle.writeSync(filled(3, 2), 7 * SECTOR);
    handle.writeSync(filled(5, 3), 20 * SECTOR);
    expect(fs.crash({ keepUnsynced: 0 }).peek('/f')).toEqual(filled(20, 1));
    const now = fs.peek('/f');
    expect(now.length).toBe(25 * SECTOR);
    expect(fs.crash({ keepUnsynced: 1 }).peek('/f')).toEqual(now);
    handle.syncSync();
    expect(fs.crash({ keepUnsynced: 0 }).peek('/f')).toEqual(now);
  });

  test('each sector is kept, lost or torn by itself', async () => {
    const fs = disk(2);
    const handle = await fileWith(fs, '/f', filled(400, 1));
    handle.writeSync(filled(400, 2), 0);
    const left = fs.crash({ keepUnsynced: 0.5 }).peek('/f');
    const seen = { kept: 0, lost: 0, torn: 0 };
    for (let at = 0; at < left.length; at += SECTOR) {
      const sector = left.subarray(at, at + SECTOR);
      const news = sector.lastIndexOf(2) + 1;
      expect(sector.subarray(0, news).every((byte) => byte === 2)).toBe(true);
      expect(sector.subarray(news).every((byte) => byte === 1)).toBe(true);
      if (news === 0) seen.lost++;
      else if (news === SECTOR) seen.kept++;
      else seen.torn++;
    }
    expect(seen.kept).toBeGreaterThan(100);
    expect(seen.lost).toBeGreaterThan(100);
    expect(seen.torn).toBeGreaterThan(5);
  });

  test('the old disk goes on and its later writes are not in the copy, nor the other way round', async () => {
    const fs = disk(3);
    const handle = await fileWith(fs, '/f', filled(8, 1));
    const copy = fs.crash({ keepUnsynced: 0.5 });
    handle.writeSync(filled(8, 2), 0);
    handle.syncSync();
    const other = await copy.open('/f', 'write');
    other.writeSync(filled(1, 3), 0);
    other.syncSync();
    expect(fs.peek('/f')).toEqual(filled(8, 2));
    expect([...copy.peek('/f')]).toEqual([...filled(1, 3), ...filled(7, 1)]);
    expect(copy.crash({ keepUnsynced: 0 }).digest()).toBe(copy.digest());
  });

  test('after an unsynced truncate the file is long and old, or cut', async () => {
    const sizes = new Set<number>();
    for (let seed = 0; seed < 40; seed++) {
      const fs = disk(seed);
      const handle = await fileWith(fs, '/f', filled(10, 1));
      await handle.truncate(3 * SECTOR);
      handle.writeSync(filled(1, 2), 4 * SECTOR);
      const left = fs.crash({ keepUnsynced: 0.5 }).peek('/f');
      sizes.add(left.length / SECTOR);
      if (left.length === 10 * SECTOR) {
        expect(left).toEqual(filled(10, 1));
      } else {
        expect(left.subarray(0, 3 * SECTOR)).toEqual(filled(3, 1));
        // Never the bytes from before the cut.
        expect(left.subarray(3 * SECTOR).includes(1)).toBe(false);
      }
    }
    expect(sizes).toContain(3);
    expect(sizes).toContain(5);
    expect(sizes).toContain(10);
  });

  test('a sync covers the writes that finished before it was called, and only them', async () => {
    const env = simEnv({ seed: 4 });
    await env.drive(
      (async () => {
        const handle = await env.fs.open('/f', 'create');
        await handle.write(filled(4, 1), 0);
        await handle.sync();
        await env.fs.syncFolder('/');
        await handle.write(filled(1, 2), 0);
        const syncing = handle.sync();
        handle.writeSync(filled(1, 3), SECTOR);
        expect(env.fs.crash({ keepUnsynced: 0 }).peek('/f')).toEqual(filled(4, 1));
        await syncing;
        const left = env.fs.crash({ keepUnsynced: 0 }).peek('/f');
        expect([...left]).toEqual([...filled(1, 2), ...filled(3, 1)]);
      })(),
    );
  });

  test('two syncs at once, whichever ends first, store the newest of both', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const env = simEnv({ seed });
      await env.drive(
        (async () => {
          const handle = await env.fs.open('/f', 'create');
          await env.fs.syncFolder('/');
          handle.writeSync(filled(2, 1), 0);
          const first = handle.sync();
          handle.writeSync(filled(1, 2), SECTOR);
          const second = handle.sync();
          await Promise.all([first, second]);
          const left = env.fs.crash({ keepUnsynced: 0 }).peek('/f');
          expect([...left]).toEqual([...filled(1, 1), ...filled(1, 2)]);
        })(),
      );
    }
  });

  test('a write under way at a crash is there in part, or not', async () => {
    const found = new Set<number>();
    for (let seed = 0; seed < 20; seed++) {
      const env = simEnv({ seed });
      await env.drive(
        (async () => {
          const handle = await env.fs.open('/f', 'create');
          await env.fs.syncFolder('/');
          const writing = handle.write(filled(1, 1), 0);
          found.add(env.crash({ keepUnsynced: 1 }).fs.peek('/f').length);
          await writing;
        })(),
      );
    }
    expect([...found].sort()).toEqual([0, SECTOR]);
  });

  test('zeros written over data stay zeros', async () => {
    const fs = disk(5);
    const handle = await fileWith(fs, '/f', filled(64, 1));
    handle.writeSync(filled(64, 0), 0);
    handle.syncSync();
    expect(fs.crash({ keepUnsynced: 0 }).peek('/f')).toEqual(filled(64, 0));
  });
});

describe('a sync that fails', () => {
  test('may forget the sectors, so that the next one succeeds without them', async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const fs = disk(seed);
      const handle = await fileWith(fs, '/f', filled(8, 1));
      fs.failWhen = (op: FsOp) => (op.kind === 'sync' ? 'io' : null);
      handle.writeSync(filled(8, 2), 0);
      expect(() => handle.syncSync()).toThrow('device error');
      fs.failWhen = null;
      handle.syncSync();
      expect(fs.peek('/f')).toEqual(filled(8, 2)); // The cache shows them in any case.
      const left = fs.crash({ keepUnsynced: 0 }).peek('/f');
      outcomes.add(left.includes(1) ? 'lost' : 'stored');
      // A killed process may find the cache without them.
      if (!left.includes(1)) expect(fs.kill().peek('/f')).toEqual(filled(8, 2));
    }
    expect([...outcomes].sort()).toEqual(['lost', 'stored']);
  });
});

describe('entries', () => {
  test('a new file is found only after a sync of its folder, and of the folders above', async () => {
    const fs = disk(1);
    await fs.ensureFolder('/a/b');
    await (await fs.open('/a/b/f', 'create')).close();
    await fs.syncFolder('/a/b');
    expect(fs.crash({ keepUnsynced: 0 }).paths()).toEqual([]);
    await fs.syncFolder('/a');
    expect(fs.crash({ keepUnsynced: 0 }).paths()).toEqual([]);
    await fs.syncFolder('/');
    expect(fs.crash({ keepUnsynced: 0 }).paths()).toEqual(['a/b/f']);
    await fs.remove('/a');
    expect(fs.crash({ keepUnsynced: 0 }).paths()).toEqual(['a/b/f']);
    expect(fs.crash({ keepUnsynced: 1 }).paths()).toEqual([]);
  });

  test('a sync of the file alone does not keep its name', async () => {
    const fs = disk(1);
    const handle = await fs.open('/f', 'create');
    handle.writeSync(filled(1, 1), 0);
    handle.syncSync();
    expect(await fs.crash({ keepUnsynced: 0 }).stat('/f')).toBeNull();
  });

  test('a rename is atomic: one of both names, the old content or the new', async () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 60; seed++) {
      const fs = disk(seed);
      await fileWith(fs, '/current', filled(1, 1));
      const temp = await fs.open('/temp', 'create');
      temp.writeSync(filled(1, 2), 0);
      temp.syncSync();
      await fs.rename('/temp', '/current');
      const left = fs.crash({ keepUnsynced: 0.5 });
      expect(left.peek('/current')).toEqual(filled(1, left.peek('/current')[0] ?? 0));
      seen.add(`${left.paths().join(' ')}=${left.peek('/current')[0]}`);
    }
    expect([...seen].sort()).toEqual(['current temp=1', 'current=1', 'current=2']);
  });

  test('changes of different entries are kept in any order, those of one entry in theirs', async () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 100; seed++) {
      const fs = disk(seed);
      for (const name of ['/a', '/b']) await (await fs.open(name, 'create')).close();
      await fs.rename('/a', '/c');
      seen.add(fs.crash({ keepUnsynced: 0.5 }).paths().join(' '));
    }
    expect([...seen].sort()).toEqual(['', 'a', 'a b', 'b', 'b c', 'c']);
  });

  test('links count: the space is free when the last name is gone', async () => {
    const fs = disk(1);
    await fileWith(fs, '/f', filled(4, 1));
    await fs.link('/f', '/g');
    expect(fs.usedBytes).toBe(4 * SECTOR);
    await fs.remove('/f');
    expect(fs.usedBytes).toBe(4 * SECTOR);
    expect(fs.crash({ keepUnsynced: 0 }).usedBytes).toBe(4 * SECTOR);
    await fs.remove('/g');
    expect(fs.usedBytes).toBe(0);
  });
});

describe('a killed process', () => {
  test('leaves everything written, and as little synced as before', async () => {
    const fs = disk(1);
    const handle = await fileWith(fs, '/f', filled(8, 1));
    handle.writeSync(filled(8, 2), 0);
    await (await fs.open('/new', 'create')).close();
    const after = fs.kill();
    expect(after.peek('/f')).toEqual(filled(8, 2));
    expect(after.paths()).toEqual(['f', 'new']);
    const later = after.crash({ keepUnsynced: 0 });
    expect(later.peek('/f')).toEqual(filled(8, 1));
    expect(later.paths()).toEqual(['f']);
  });

  test('holds no lock any more', async () => {
    const fs = disk(1);
    await fs.lockFolder('/', { address: null });
    await expect(fs.lockFolder('/', { address: null })).rejects.toThrow('in use');
    for (const after of [fs.kill(), fs.crash({ keepUnsynced: 1 })]) {
      expect(await after.lockHolder('/')).toBeNull();
      await (await after.lockFolder('/', { address: null })).release();
    }
  });
});

describe('faults', () => {
  test('by kind and count, of each sort', async () => {
    const fs = disk(1);
    fs.failWhen = ({ kind, count }) => {
      if (kind === 'write' && count === 2) return 'io';
      if (kind === 'write' && count === 3) return 'full';
      return kind === 'remove' ? 'readonly' : null;
    };
    const handle = await fs.open('/f', 'create');
    await handle.write(filled(4, 1), 0);
    await expect(handle.write(filled(4, 2), 0)).rejects.toMatchObject({ code: 'IoException' });
    expect(() => handle.writeSync(filled(4, 3), 0)).toThrow('no space left');
    await handle.write(filled(4, 4), 0);
    await expect(fs.remove('/f')).rejects.toMatchObject({ code: 'ReadOnlyException' });
    expect(fs.peek('/f')).toEqual(filled(4, 4));
    expect(fs.countOf('write')).toBe(4);
  });

  test('a write that fails has written some first sectors and never all', async () => {
    const lengths = new Set<number>();
    for (let seed = 0; seed < 30; seed++) {
      const fs = new SimFs({
        random: seeded(seed),
        failWhen: ({ kind }) => (kind === 'write' ? 'io' : null),
      });
      const handle = await fs.open('/f', 'create');
      expect(() => handle.writeSync(filled(2, 1), 0)).toThrow('device error');
      lengths.add(fs.peek('/f').length);
    }
    expect([...lengths].sort((a, b) => a - b)).toEqual([0, SECTOR, 2 * SECTOR - 1]);
  });

  test('a full disk takes what fits, and overwrites what it has', async () => {
    const fs = new SimFs({ random: seeded(1), capacityBytes: 10 * SECTOR });
    const handle = await fs.open('/f', 'create');
    handle.writeSync(filled(8, 1), 0);
    await expect(handle.write(filled(4, 2), 8 * SECTOR)).rejects.toMatchObject({
      code: 'DiskFullException',
      retryable: true,
    });
    expect(await handle.size()).toBe(10 * SECTOR);
    handle.writeSync(filled(10, 3), 0);
    fs.capacityBytes = 12 * SECTOR;
    await handle.write(filled(2, 4), 10 * SECTOR);
    expect(fs.usedBytes).toBe(12 * SECTOR);
    await handle.truncate(0);
    expect(fs.usedBytes).toBe(0);
  });

  test('flipped and cut bytes are so for readers and after a crash', async () => {
    const fs = disk(1);
    await fileWith(fs, '/f', filled(3, 1));
    fs.flip('/f', 700, 0x80);
    fs.cut('/f', 1000);
    for (const one of [fs, fs.crash({ keepUnsynced: 0 })]) {
      const content = one.peek('/f');
      expect(content.length).toBe(1000);
      expect(content[700]).toBe(0x81);
      expect(content.filter((byte) => byte !== 1).length).toBe(1);
    }
  });
});

test('one seed gives one history, another another', async () => {
  const history = async (seed: number): Promise<string> => {
    let env = simEnv({ seed });
    for (let round = 0; round < 5; round++) {
      const { fs, random } = env;
      const work = async (): Promise<void> => {
        await fs.ensureFolder('/d');
        await fs.syncFolder('/');
        const writers = [0, 1, 2].map(async (writer) => {
          const handle = await fs.open(`/d/${writer}`, 'write');
          for (let i = 0; i < 20; i++) {
            await handle.write(random.bytes(100 + random.int(2000)), random.int(10_000));
            if (random.chance(0.3)) await handle.sync();
          }
          await fs.syncFolder('/d');
        });
        await Promise.all(writers);
      };
      await env.drive(work());
      env = env.crash({ keepUnsynced: 0.5 });
    }
    return `${env.fs.digest()} at ${env.timers.virtualMs}`;
  };
  expect(await history(7)).toBe(await history(7));
  expect(await history(7)).not.toBe(await history(8));
});
