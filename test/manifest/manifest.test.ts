import { describe, expect, test } from 'vitest';
import {
  CorruptionException,
  DiskFullException,
  InvariantError,
  memoryEnv,
  seeded,
  type SimFs,
} from '../../src/io/index.ts';
import {
  COLLECTION_NAMES,
  describeManifest,
  Manifest,
  put,
  remove,
} from '../../src/manifest/index.ts';
import { NewerVersionException } from '../../src/model/index.ts';
import { crc32c, putU32 } from '../../src/cell/index.ts';
import { failNth, fileRecord, oneOfEach, regionRecord, tableRecord, testEnv } from './fixtures.ts';

const DIR = '/s';
const FIRST = `${DIR}/manifest/MANIFEST-000001`;
const CURRENT = `${DIR}/manifest/CURRENT`;

const paths = (fs: SimFs): string[] => fs.paths().map((path) => `/${path}`);

/** Everything a manifest holds, by collection. */
function contents(manifest: Manifest): unknown {
  return Object.fromEntries(COLLECTION_NAMES.map((name) => [name, [...manifest.all(name)]]));
}

const setting = (name: string, value = name) => put('setting', { name, value });
const settings = (manifest: Manifest): string[] => [...manifest.all('setting')].map((s) => s.name);

/** A store with three commits a, b, c, each a record of its own, closed. */
async function threeCommits() {
  const env = testEnv();
  const manifest = await Manifest.open(env, DIR);
  for (const name of ['a', 'b', 'c']) await manifest.commit([setting(name)]);
  // Killed: after a close CURRENT would vouch for the last record, too.
  return env;
}

describe('content', () => {
  test('every record of every collection comes back as it was, also from a checkpoint', async () => {
    const env = testEnv();
    const manifest = await Manifest.open(env, DIR);
    await manifest.commit(oneOfEach);
    const before = contents(manifest);
    for (const name of COLLECTION_NAMES) expect(manifest.size(name), name).toBe(1);
    await manifest.close();

    const reopened = await Manifest.open(env, DIR);
    expect(contents(reopened)).toEqual(before);
    await reopened.checkpoint();
    await reopened.close();

    const again = await Manifest.open(env, DIR);
    expect(contents(again)).toEqual(before);
    expect(again.get('file', 4)!.maxTimestamp).toBe(9_223_370_282_904_775_684n);
    await again.close();
    expect(paths(env.fs)).toEqual([CURRENT, `${DIR}/manifest/MANIFEST-000002`]);
  });

  test('in memory it behaves the same and touches no file', async () => {
    const env = memoryEnv();
    const manifest = Manifest.inMemory(env);
    await manifest.commit(oneOfEach);
    expect(manifest.get('droppedId', 'family/8')).toEqual({ kind: 'family', id: 8, tso: 4n });
    await manifest.commit([remove('droppedId', 'family/8')]);
    expect(manifest.size('droppedId')).toBe(0);
    await manifest.checkpoint();
    await manifest.close();
    expect(await env.fs.list('/')).toEqual([]);
  });

  test('tables by name, regions of a table, files of a region follow the edits', async () => {
    const manifest = Manifest.inMemory(testEnv());
    await manifest.commit([
      put('table', tableRecord(1, 't')),
      put('table', { ...tableRecord(2, 't'), droppedTso: 9n }),
      put('region', regionRecord(1)),
      put('region', regionRecord(2)),
      put('file', fileRecord(1, { regionId: 1 })),
      put('file', fileRecord(2, { regionId: 1 })),
      put('file', fileRecord(3, { regionId: null })),
      put('flushed', { regionId: 1, familyId: 3, tso: 77n }),
    ]);
    await manifest.commit([
      put('file', fileRecord(2, { regionId: 2 })),
      remove('region', 2),
      remove('file', 99),
    ]);
    expect(manifest.tableByName('t')?.id).toBe(1);
    expect(manifest.tableByName('u')).toBeUndefined();
    expect([...manifest.regionsOf(1)].map((r) => r.id)).toEqual([1]);
    expect([...manifest.filesOf(1)].map((f) => f.id)).toEqual([1]);
    expect([...manifest.filesOf(2)].map((f) => f.id)).toEqual([2]);
    expect([...manifest.filesOf(3)]).toEqual([]);
    expect(manifest.flushedTo(1, 3)).toBe(77n);
    expect(manifest.flushedTo(1, 4)).toBeNull();
  });

  test('ids are never given twice, also when their records are gone', async () => {
    const env = testEnv();
    const manifest = await Manifest.open(env, DIR);
    expect([manifest.takeId('table'), manifest.takeId('table'), manifest.takeId('file')]).toEqual([
      1, 2, 1,
    ]);
    await manifest.commit([put('table', tableRecord(2, 't'))]);
    await manifest.commit([remove('table', 2)]);
    await manifest.close();
    const reopened = await Manifest.open(env, DIR);
    expect(reopened.takeId('table')).toBe(3);
    expect(reopened.takeId('file')).toBe(2);
    expect(reopened.takeId('region')).toBe(1);
    expect(reopened.store.storeId).toBe(manifest.store.storeId);
    await reopened.close();
  });

  test('what cannot be kept exactly is refused before anything is written', async () => {
    const manifest = await Manifest.open(testEnv(), DIR);
    const wrong = [
      put('file', fileRecord(1, { sizeBytes: -1 })),
      put('file', fileRecord(1, { sizeBytes: 2 ** 53 })),
      put('file', fileRecord(1, { sizeBytes: -0 })),
      put('file', fileRecord(1, { level: 1.5 })),
      put('file', fileRecord(1, { addedTso: -1n })),
      put('file', fileRecord(1, { addedTso: 2n ** 64n })),
      put('file', fileRecord(1, { path: 'a\ud800' })),
    ];
    for (const edit of wrong) {
      await expect(manifest.commit([setting('x'), edit])).rejects.toThrow(InvariantError);
    }
    expect(settings(manifest)).toEqual([]);
    await manifest.commit([setting('y')]);
    expect(settings(manifest)).toEqual(['y']);
    await manifest.close();
  });
});

describe('commits', () => {
  test('show in memory only after the sync, whole and in the order of the calls', async () => {
    const env = testEnv();
    const manifest = await Manifest.open(env, DIR);
    const syncs = env.fs.countOf('sync');
    const applied: string[] = [];
    const commits = ['a', 'b', 'c'].map((name) =>
      manifest.commit([setting(name), setting(`${name}2`)], {
        applied: () => applied.push(`${name}:${settings(manifest).length}`),
      }),
    );
    expect(settings(manifest)).toEqual([]);
    await Promise.all(commits);
    expect(applied).toEqual(['a:2', 'b:4', 'c:6']);
    expect(env.fs.countOf('sync') - syncs).toBe(1);
    await manifest.close();
    await expect(manifest.commit([setting('d')])).rejects.toThrow('closed');
  });

  test('a failed sync is final until the next open, and never shows its edits', async () => {
    const env = testEnv();
    await env.fs.ensureFolder(DIR);
    await env.fs.syncFolder('/');
    const manifest = await Manifest.open(env, DIR);
    await manifest.commit([setting('a')]);
    failNth(env.fs, 'sync', 1, 'io');
    await expect(manifest.commit([setting('b')])).rejects.toMatchObject({
      code: 'ManifestFailedException',
      cause: { code: 'IoException' },
    });
    await expect(manifest.commit([setting('c')])).rejects.toMatchObject({
      code: 'ManifestFailedException',
    });
    expect(settings(manifest)).toEqual(['a']);
    await manifest.close();
    const reopened = await Manifest.open(testEnv(env.fs.crash({ keepUnsynced: 0 })), DIR);
    expect(settings(reopened)).toEqual(['a']);
    await reopened.close();
  });

  test('a full disk fails the commit and nothing else; it works again when space returns', async () => {
    const env = testEnv();
    const manifest = await Manifest.open(env, DIR);
    await manifest.commit([setting('a')]);
    env.fs.capacityBytes = env.fs.usedBytes + 30;
    await expect(manifest.commit([setting('b')])).rejects.toThrow(DiskFullException);
    expect(settings(manifest)).toEqual(['a']);
    env.fs.capacityBytes = Infinity;
    await manifest.commit([setting('c')]);
    await manifest.close();
    const reopened = await Manifest.open(env, DIR);
    expect(settings(reopened)).toEqual(['a', 'c']);
    await reopened.close();
  });

  test('if the torn bytes of a full disk cannot be cut, a new file is started', async () => {
    const env = testEnv();
    const manifest = await Manifest.open(env, DIR);
    await manifest.commit([setting('a')]);
    env.fs.failWhen = (op) => (op.kind === 'write' ? 'full' : op.kind === 'truncate' ? 'io' : null);
    await expect(manifest.commit([setting('b')])).rejects.toThrow(DiskFullException);
    env.fs.failWhen = null;
    await manifest.commit([setting('c')]);
    await manifest.close();
    expect(paths(env.fs)).toEqual([CURRENT, `${DIR}/manifest/MANIFEST-000002`]);
    const reopened = await Manifest.open(env, DIR);
    expect(settings(reopened)).toEqual(['a', 'c']);
    await reopened.close();
  });
});

describe('checkpoints', () => {
  test('are made when the edits outgrow the state, while commits go on', async () => {
    const env = testEnv();
    const manifest = await Manifest.open(env, DIR, { checkpointAfterBytes: 2000 });
    for (let i = 0; i < 500; i++) {
      await Promise.all([
        manifest.commit([setting('x', String(i))]),
        manifest.commit([setting(`k${i % 7}`, String(i))]),
      ]);
    }
    const before = contents(manifest);
    await manifest.close();
    const described = await describeManifest(env, DIR);
    expect(described!.generation).toBeGreaterThan(5);
    expect(described!.sizeBytes).toBeLessThan(6000);
    const reopened = await Manifest.open(env, DIR);
    expect(contents(reopened)).toEqual(before);
    await reopened.close();
  });

  test('a full disk gives one up without harm', async () => {
    const env = testEnv();
    const manifest = await Manifest.open(env, DIR);
    await manifest.commit([setting('a')]);
    env.fs.failWhen = (op) => (op.path.endsWith('000002') && op.kind === 'write' ? 'full' : null);
    await manifest.checkpoint();
    env.fs.failWhen = null;
    await manifest.commit([setting('b')]);
    await manifest.close();
    expect(paths(env.fs)).toEqual([CURRENT, FIRST]);
    const reopened = await Manifest.open(env, DIR);
    expect(settings(reopened)).toEqual(['a', 'b']);
    await reopened.close();
  });
});

describe('damage', () => {
  test('every cut within the last record leaves the two before it; then writing goes on', async () => {
    const env = await threeCommits();
    const { records } = (await describeManifest(env, DIR))!;
    const last = records.at(-1)!;
    for (let size = last.offset; size < last.offset + last.sizeBytes; size++) {
      const fs = env.fs.crash({ keepUnsynced: 1, random: seeded(size) });
      fs.cut(FIRST, size);
      const cut = testEnv(fs);
      const manifest = await Manifest.open(cut, DIR);
      expect(settings(manifest)).toEqual(['a', 'b']);
      await manifest.commit([setting('d')]);
      await manifest.close();
      const reopened = await Manifest.open(cut, DIR);
      expect(settings(reopened)).toEqual(['a', 'b', 'd']);
      await reopened.close();
    }
  });

  test('a cut below what was synced is corruption, named with file and offset', async () => {
    const env = await threeCommits();
    const second = (await describeManifest(env, DIR))!.records[1]!;
    env.fs.cut(FIRST, second.offset - 8);
    const error = await Manifest.open(env, DIR).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(CorruptionException);
    expect(error).toMatchObject({ path: FIRST, offset: expect.any(Number) as number });
  });

  test('each flipped bit below the synced end is corruption; in the last record a torn tail', async () => {
    const env = await threeCommits();
    const { records, sizeBytes } = (await describeManifest(env, DIR))!;
    const lastAt = records.at(-1)!.offset;
    for (let at = 0; at < sizeBytes; at++) {
      const fs = env.fs.crash({ keepUnsynced: 1, random: seeded(at) });
      fs.flip(FIRST, at, 1 << (at % 8));
      const opened = Manifest.open(testEnv(fs), DIR);
      if (at < lastAt) {
        await expect(opened, `offset ${at}`).rejects.toThrow(CorruptionException);
        continue;
      }
      const manifest = await opened;
      expect(settings(manifest), `offset ${at}`).toEqual(['a', 'b']);
      await manifest.close();
    }
  });

  test('after a close no cut and no flipped bit passes for a torn tail', async () => {
    const env = await threeCommits();
    const manifest = await Manifest.open(env, DIR);
    await manifest.commit([setting('d')]);
    await manifest.close();
    const { records, sizeBytes } = (await describeManifest(env, DIR))!;
    for (let at = records.at(-1)!.offset; at < sizeBytes; at++) {
      for (const harm of ['cut', 'flip'] as const) {
        const fs = env.fs.crash({ keepUnsynced: 1, random: seeded(at) });
        if (harm === 'cut') fs.cut(FIRST, at);
        else fs.flip(FIRST, at, 1 << (at % 8));
        const opened = Manifest.open(testEnv(fs), DIR);
        await expect(opened, `${harm} ${at}`).rejects.toThrow(CorruptionException);
      }
    }
  });

  test('a flipped or missing CURRENT, a missing record file, a lost manifest beside data', async () => {
    const env = await threeCommits();
    const broken = async (change: (fs: SimFs) => Promise<void> | void): Promise<unknown> => {
      const fs = env.fs.crash({ keepUnsynced: 1 });
      await change(fs);
      return Manifest.open(testEnv(fs), DIR).catch((error: unknown) => error);
    };
    for (let at = 0; at < 48; at++) {
      expect(await broken((fs) => fs.flip(CURRENT, at))).toBeInstanceOf(CorruptionException);
    }
    for (let size = 0; size < 48; size++) {
      expect(await broken((fs) => fs.cut(CURRENT, size))).toBeInstanceOf(CorruptionException);
    }
    expect(await broken((fs) => fs.remove(CURRENT))).toMatchObject({
      code: 'CorruptionException',
      path: CURRENT,
    });
    expect(await broken((fs) => fs.remove(FIRST))).toMatchObject({ path: FIRST });
    const lost = await broken(async (fs) => {
      await fs.remove(`${DIR}/manifest`);
      fs.plant(`${DIR}/data/default/t/x/f/1`, new Uint8Array(1));
    });
    expect(lost).toMatchObject({ code: 'CorruptionException', path: `${DIR}/manifest` });
  });

  test('a newer format is refused with both versions named', async () => {
    const env = await threeCommits();
    for (const [path, crcAt] of [
      [FIRST, 36],
      [CURRENT, 44],
    ] as const) {
      const fs = env.fs.crash({ keepUnsynced: 1 });
      const buf = fs.peek(path);
      putU32(buf, 8, 99);
      putU32(buf, crcAt, crc32c(buf, 0, crcAt));
      fs.plant(path, buf);
      const error = await Manifest.open(testEnv(fs), DIR).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(NewerVersionException);
      expect(String(error)).toContain(path);
      expect(String(error)).toContain('99');
      expect(String(error)).toMatch(/up to 1\b/);
    }
  });

  test('a record of another place or generation never passes', async () => {
    const env = await threeCommits();
    const { records, sizeBytes } = (await describeManifest(env, DIR))!;
    const last = records.at(-1)!;
    const buf = env.fs.peek(FIRST);
    const copied = Buffer.concat([buf, buf.subarray(last.offset, last.offset + last.sizeBytes)]);
    env.fs.plant(FIRST, copied);
    const described = (await describeManifest(env, DIR))!;
    expect(described.records).toHaveLength(records.length);
    expect(described.tornBytes).toBe(copied.length - sizeBytes);
  });
});
