/** Files of each kind cut and flipped: a typed error that names file and offset, other data readable, nothing wrong answered. */
import { describe, expect, test } from 'vitest';
import { crc32c, putU32 } from '../../src/cell/index.ts';
import { CorruptionException, seeded } from '../../src/io/index.ts';
import { Machine, contentOf, expectFault, putRows, rowName } from './support.ts';

const CODES = new Set(['CorruptionException', 'NewerVersionException', 'LogVersionException']);

/** The error is typed and names the file; damage names its offset, too. */
function expectDamage(error: unknown, path: string): void {
  const { code } = error as { code: string };
  expect(CODES, String(error)).toContain(code);
  expectFault(error, code, path);
  if (error instanceof CorruptionException) {
    expect(error.path).toBe(path);
    expect(error.offset).toBeGreaterThanOrEqual(0);
    expect(error.message).toContain(`offset ${error.offset}`);
  }
}

/** A closed store with rows in a store file and rows in the log, and what it holds. */
async function closedStore(seed: number): Promise<{ machine: Machine; before: string[] }> {
  const machine = new Machine(seed);
  await machine.fill(40);
  await machine.do((store) => store.admin.flush('t'));
  await machine.do((store) => putRows(store, 40, 80));
  const before = await machine.content();
  await machine.close();
  return { machine, before };
}

const MANIFEST = /\/manifest\/MANIFEST-\d+$/;
const CURRENT = /\/manifest\/CURRENT$/;
const LOG = /\/wal\/\d+\.wal$/;

describe.each([
  { name: 'CURRENT', pattern: CURRENT, step: 1 },
  { name: 'the manifest', pattern: MANIFEST, step: 29 },
  { name: 'the log', pattern: LOG, step: 53 },
])('$name', ({ pattern, step }) => {
  /** Opens a copy of the machine after `harm`; it must be found, or all must be there. */
  async function harmed(
    machine: Machine,
    before: readonly string[],
    harm: (copy: Machine, path: string) => void,
  ): Promise<boolean> {
    const copy = new Machine(1);
    copy.env = machine.env.kill();
    const path = copy.pathOf(pattern);
    harm(copy, path);
    const digest = copy.env.fs.digest();
    const error = await copy.openFault();
    if (error !== undefined) {
      expectDamage(error, path);
      // What was refused is left as it was found, so that it can be looked at, and the folder is free.
      if (!pattern.test('/wal/1.wal')) expect(copy.env.fs.digest()).toBe(digest);
      expect(await copy.env.drive(copy.env.fs.lockHolder('/store'))).toBeNull();
      return true;
    }
    expect(await copy.content()).toEqual(before);
    await copy.close();
    return false;
  }

  test('a flipped bit is found, or meets nothing that counts', async () => {
    const { machine, before } = await closedStore(31);
    const random = seeded(5);
    const size = machine.env.fs.peek(machine.pathOf(pattern)).length;
    let found = 0;
    let tried = 0;
    for (let at = random.int(step); at < size; at += 1 + random.int(step)) {
      const mask = 1 << random.int(8);
      tried++;
      if (await harmed(machine, before, (copy, path) => copy.env.fs.flip(path, at, mask))) found++;
    }
    expect(tried).toBeGreaterThan(20);
    expect(found / tried).toBeGreaterThan(0.5);
  });

  test('cut short', async () => {
    const { machine, before } = await closedStore(32);
    const size = machine.env.fs.peek(machine.pathOf(pattern)).length;
    for (const share of [0, 0.01, 0.3, 0.6]) {
      const length = Math.floor(size * share);
      const found = await harmed(machine, before, (copy, path) => copy.env.fs.cut(path, length));
      expect(found, `cut to ${length} of ${size}`).toBe(true);
    }
  });

  test('gone', async () => {
    const { machine } = await closedStore(33);
    const path = machine.pathOf(pattern);
    await machine.env.drive(machine.env.fs.remove(path));
    const error = await machine.openFault();
    expectFault(error, 'CorruptionException', '/store/');
  });
});

describe('a store of a newer version', () => {
  test.each([
    { name: 'manifest', pattern: MANIFEST, from: 0, crcAt: 36, code: 'NewerVersionException' },
    { name: 'CURRENT', pattern: CURRENT, from: 0, crcAt: 44, code: 'NewerVersionException' },
    { name: 'log', pattern: LOG, from: 16, crcAt: 12, code: 'LogVersionException' },
  ])('$name', async ({ pattern, from, crcAt, code }) => {
    const { machine, before } = await closedStore(34);
    const path = machine.pathOf(pattern);
    const bytes = machine.env.fs.peek(path);
    const newer = Uint8Array.from(bytes);
    putU32(newer, 8, 99);
    // What the checksum covers ends before it, or with the header of 64 bytes.
    if (from === 0) putU32(newer, crcAt, crc32c(newer, 0, crcAt));
    machine.env.fs.plant(path, newer);
    const digest = machine.env.fs.digest();
    expectFault(await machine.openFault(), code, path, '99');
    expect(machine.env.fs.digest()).toBe(digest);
    machine.env.fs.plant(path, bytes);
    await machine.open();
    expect(await machine.content()).toEqual(before);
    await machine.close();
  });
});

describe('the log after a kill', () => {
  test('damage below what is known to be synced is refused, and salvage tells what is lost', async () => {
    const machine = new Machine(35);
    await machine.fill(60);
    // A record vouches for what was synced before it was written.
    await machine.do((store) => putRows(store, 60, 61));
    const before = await machine.content();
    machine.stop('kill');
    const path = machine.pathOf(LOG);
    const text = Buffer.from(machine.env.fs.peek(path));
    const at = text.indexOf(rowName(10));
    expect(at).toBeGreaterThan(0);
    machine.env.fs.flip(path, at);
    const error = await machine.openFault();
    expectDamage(error, path);
    const store = await machine.open({ salvage: true });
    expect(store.recovery.notes.join('\n')).toContain(path);
    const after = await machine.content();
    expect(after.length).toBeLessThan(before.length);
    expect(before).toEqual(expect.arrayContaining(after));
    await machine.close();
    // What was lost is covered: the next open needs no salvage.
    await machine.open();
    expect(await machine.content()).toEqual(after);
    await machine.close();
  });

  test('a torn end beyond it is cut, told, and nothing acknowledged before is lost', async () => {
    for (let seed = 0; seed < 10; seed++) {
      const machine = new Machine(300 + seed);
      const acknowledged = await machine.fill(20);
      const table = machine.store.table('t');
      // Written, never synced, never acknowledged: the power fails while they are under way.
      for (let i = 0; i < 30; i++) {
        table.put(`torn${i}`, { 'f:q': 'x'.repeat(600) }).catch(() => undefined);
      }
      await machine.env.timers.runFor(0.3 * seed);
      machine.env = machine.env.crash({ keepUnsynced: 0.5 });
      await machine.open();
      const after = await machine.content();
      expect(after.filter((line) => line.startsWith('row'))).toEqual(acknowledged);
      const torn = after.filter((line) => line.startsWith('torn')).length;
      // Commits are lost from the end only.
      for (let i = 0; i < torn; i++) expect(after.join()).toContain(`torn${i} `);
      await machine.close();
    }
  });
});

describe('a store file', () => {
  const DATA = /\/data\/default\/t\/[0-9a-f]+\/f\/[0-9a-f]+$/;
  const HISTORY = /\/data\/default\/t\/[0-9a-f]+\/f\/[0-9a-f]+\.history$/;

  /** A store with one file of many small blocks in family f. */
  async function flushed(seed: number): Promise<Machine> {
    const machine = new Machine(seed, { autoCompact: false, blockCacheBytes: 0 });
    await machine.open();
    await machine.do(async (store) => {
      await store.admin.createTable({
        name: 't',
        families: [{ name: 'f', BLOCKSIZE: 1024 }, 'g'],
      });
      await putRows(store, 0, 100, 100);
      await store.table('t').put(rowName(50), { 'g:q': 'other family' });
      await store.admin.flush('t');
    });
    return machine;
  }

  test('a damaged block fails the reads of its rows only', async () => {
    const machine = await flushed(41);
    const path = machine.pathOf(DATA);
    const at = Buffer.from(machine.env.fs.peek(path)).indexOf(`50 vvv`);
    expect(at).toBeGreaterThan(0);
    machine.env.fs.flip(path, at);
    let damaged = 0;
    for (let i = 0; i < 100; i++) {
      const error = await machine.fault(async (store) => {
        const result = await store.table('t').get(rowName(i));
        expect(result?.text('f:a')).toBe(`${i} `.padEnd(100, 'v'));
      });
      if (error === undefined) continue;
      expectDamage(error, path);
      damaged++;
    }
    expect(damaged).toBeGreaterThan(0);
    expect(damaged).toBeLessThan(20);
    const whole = await machine.fault((store) => contentOf(store));
    expectDamage(whole, path);
    const part = (store: typeof machine.store): Promise<number> =>
      store.table('t').count({ stop: rowName(30) });
    expect(await machine.do(part)).toBe(30);
    // The other family's file is whole.
    const other = await machine.do((s) => s.table('t').get(rowName(50), { families: ['g'] }));
    expect(other?.text('g:q')).toBe('other family');
    // Conditions on damaged cells are not answered either; a blind put needs none.
    const increment = await machine.fault((s) => s.table('t').append(rowName(50), { 'f:a': 'x' }));
    expectDamage(increment, path);
    await machine.do((s) => s.table('t').put(rowName(50), { 'f:b': 'new' }));
    // A compaction refuses to go on from it, and keeps what there is.
    const files = await machine.do((s) => s.files('t'));
    expectDamage(await machine.fault((s) => s.admin.compact('t', { major: true })), path);
    expect(await machine.do((s) => s.files('t'))).toEqual(files);
    // Once the medium reads well again, so do we.
    machine.env.fs.flip(path, at);
    expect(await machine.do((s) => s.table('t').count())).toBe(100);
    await machine.do((s) => s.admin.compact('t', { major: true }));
    expect(await machine.do((s) => s.table('t').count())).toBe(100);
    await machine.close();
  });

  test.each([
    { name: 'empty', length: 0 },
    { name: 'half', length: -1 },
  ])('cut to $name: the store opens, reads of it fail, others do not', async ({ length }) => {
    const machine = await flushed(42);
    await machine.close();
    const path = machine.pathOf(DATA);
    const size = machine.env.fs.peek(path).length;
    machine.env.fs.cut(path, length < 0 ? Math.floor(size / 2) : length);
    await machine.open();
    expectDamage(await machine.fault((s) => s.table('t').get(rowName(1))), path);
    expectDamage(await machine.fault((s) => s.table('t').count({ families: ['f'] })), path);
    const other = await machine.do((s) => s.table('t').get(rowName(50), { families: ['g'] }));
    expect(other?.text('g:q')).toBe('other family');
    await machine.do((s) => s.table('t').put('new', { 'f:a': 'new', 'g:a': 'new' }));
    expect((await machine.do((s) => s.table('t').get('new')))?.text('f:a')).toBe('new');
    await machine.close();
  });

  test('gone: reads say which', async () => {
    const machine = await flushed(43);
    await machine.close();
    const path = machine.pathOf(DATA);
    await machine.env.drive(machine.env.fs.remove(path));
    await machine.open();
    const error = await machine.fault((s) => s.table('t').get(rowName(1)));
    expectFault(error, 'FileNotFoundException', path);
    expect(await machine.do((s) => s.table('t').count({ families: ['g'] }))).toBe(1);
    await machine.close();
  });

  test('every flipped byte is found by a whole scan, or meets nothing that counts', async () => {
    const machine = await flushed(44);
    const before = await machine.content();
    await machine.close();
    const path = machine.pathOf(DATA);
    const size = machine.env.fs.peek(path).length;
    const random = seeded(3);
    for (let at = 0; at < size; at += 1 + random.int(300)) {
      const copy = new Machine(1, { autoCompact: false, blockCacheBytes: 0 });
      copy.env = machine.env.kill();
      copy.env.fs.flip(path, at, 1 << random.int(8));
      await copy.open();
      const error = await copy.fault(async (store) => {
        expect(await contentOf(store)).toEqual(before);
      });
      if (error !== undefined) expectDamage(error, path);
      await copy.close();
    }
  });

  test('a damaged history file fails reads of the past only', async () => {
    const machine = await flushed(45);
    const past = await machine.do((s) => s.table('t').put(rowName(1), { 'f:a': 'second' }));
    await machine.do((s) => putRows(s, 0, 100, 50));
    await machine.do((s) => s.admin.flush('t'));
    await machine.do((s) => s.admin.compact('t', { major: true }));
    const now = await machine.content();
    const histories = machine.paths().filter((path) => HISTORY.test(path));
    expect(histories.length).toBeGreaterThan(0);
    for (const path of histories) {
      const size = machine.env.fs.peek(path).length;
      for (let at = 0; at < size; at += 64) machine.env.fs.flip(path, at);
    }
    expect(await machine.content()).toEqual(now);
    const error = await machine.fault((s) => s.table('t').get(rowName(1), { asOf: past }));
    expect(histories).toContain((error as CorruptionException).path);
    expectFault(error, 'CorruptionException', '.history', 'offset');
    await machine.close();
    await machine.open();
    expect(await machine.content()).toEqual(now);
    await machine.close();
  });
});
