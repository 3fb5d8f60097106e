import { describe, expect, test } from 'vitest';
import { DiskFullException, InvariantError, IoException } from '../../src/io/index.ts';
import {
  ASYNC_WAL,
  controlSizeMax,
  FSYNC_WAL,
  KIND_CONTROL,
  LogClosedException,
  LogFailedException,
  SYNC_WAL,
} from '../../src/wal/index.ts';
import {
  cellOf,
  DIR,
  lineOf,
  linesTo,
  machine,
  openLog,
  recordsOf,
  sizeOf,
  withLog,
} from './harness.ts';

const SMALL = { segmentBytes: 4096 };
const LONG = { value: 'v'.repeat(300) };

test('what was committed and closed comes back, in order, and the log goes on', async () => {
  const env = machine();
  await withLog(env, async (log) => {
    for (let i = 0; i < 10; i++) await log.commit();
  });
  await withLog(env, async (log) => {
    expect(log.records).toEqual(linesTo(10));
    expect(log.recovered).toMatchObject({ cleanEnd: true, lastLow: 10, notes: [], lost: [] });
    for (let i = 0; i < 5; i++) await log.commit();
  });
  expect(await recordsOf(env)).toEqual(linesTo(15));
});

test('a closed log takes no more room than its records', async () => {
  const env = machine();
  await withLog(env, async (log) => void (await log.commit()));
  expect(env.fs.usedBytes).toBeLessThan(300);
});

test('64 writers share writes and syncs', async () => {
  const env = machine();
  await withLog(env, async (log) => {
    await Promise.all(
      Array.from({ length: 64 }, async () => {
        for (let i = 0; i < 10; i++) await log.commit();
      }),
    );
    expect(log.writer.metrics).toMatchObject({ records: 640 });
    expect(log.writer.metrics.syncs).toBeLessThan(30);
  });
  expect(await recordsOf(env)).toEqual(linesTo(640));
});

test('nonce, label, control records and skipped commits come back', async () => {
  const env = machine();
  const nonce = Uint8Array.from({ length: 16 }, (_, i) => i);
  await withLog(env, async (log) => {
    await log.commit({ nonce, label: 'ü'.repeat(150) });
    log.skip();
    log.skip();
    await log.commit();
    await log.writer.makeRoom(controlSizeMax(3));
    log.writer.appendControl(KIND_CONTROL, 0, ++log.tso, Buffer.from('abc'), FSYNC_WAL);
    log.skip();
  });
  expect(await recordsOf(env)).toEqual([
    `${lineOf(1)} label ${'ü'.repeat(150)} nonce 000102030405060708090a0b0c0d0e0f`,
    '4 skipped 2-3 3:5 row4=value4',
    '5',
    '6 skipped 6-6',
  ]);
});

test('commits that all skip the log are named at a sync, and at the close', async () => {
  const env = machine();
  const log = await env.drive(openLog(env));
  log.skip();
  log.skip();
  await env.drive(log.writer.sync());
  expect(await recordsOf(env.crash({ keepUnsynced: 0 }))).toEqual(['2 skipped 1-2']);
  log.skip();
  await env.drive(log.writer.close());
  expect(await recordsOf(env)).toEqual(['2 skipped 1-2', '3 skipped 3-3']);
});

describe('the two points', () => {
  test('a commit of each durability alone', async () => {
    const env = machine();
    const log = await env.drive(openLog(env));
    await env.drive(log.commit({ durability: FSYNC_WAL }));
    await env.drive(log.commit({ durability: ASYNC_WAL }));
    await env.drive(log.commit({ durability: SYNC_WAL }));
    await env.drive(log.points.reached(log.skip()));
    expect(log.points.reports).toEqual(['1/1', '2/1', '3/1', '4/1']);
    await env.timers.runFor(199);
    expect(log.points.reports).toHaveLength(4);
    await env.timers.runFor(10);
    expect(log.points.reports.slice(4)).toEqual(['4/4']);
  });

  test('in one batch: up to the first that waits for the write, then for the sync, then all', async () => {
    const env = machine();
    const log = await env.drive(openLog(env));
    await env.drive(log.writer.makeRoom(8 * sizeOf()));
    log.skip();
    log.put({ durability: ASYNC_WAL });
    log.put({ durability: SYNC_WAL });
    log.put({ durability: ASYNC_WAL });
    log.put({ durability: FSYNC_WAL });
    log.put({ durability: SYNC_WAL });
    log.skip();
    expect(log.points.reports, 'never within an append').toEqual([]);
    await env.drive(log.points.reached(7));
    expect(log.points.reports).toEqual(['2/1', '4/1', '7/7']);
    await env.drive(log.writer.close());
  });

  test('skipped and async commits wait for what is before them', async () => {
    const env = machine();
    const log = await env.drive(openLog(env));
    await env.drive(log.commit());
    await env.drive(log.writer.makeRoom(8 * sizeOf()));
    log.put({ durability: FSYNC_WAL });
    await env.timers.runFor(0.01); // The batch is on its way.
    log.put({ durability: ASYNC_WAL });
    log.skip();
    log.put({ durability: SYNC_WAL });
    await env.drive(log.points.reached(5));
    expect(log.points.reports).toEqual(['1/1', '4/2', '5/2']);
  });

  test('a sync moves the durable point over what skipped the log', async () => {
    const env = machine();
    const log = await env.drive(openLog(env));
    await env.drive(log.commit({ durability: SYNC_WAL }));
    log.skip();
    await env.drive(log.commit({ durability: SYNC_WAL }));
    log.skip();
    await env.drive(log.writer.sync());
    expect(log.points).toMatchObject({ read: 4, durable: 4 });
    await env.drive(log.points.reached(log.skip()));
    expect(log.points).toMatchObject({ read: 5, durable: 5 });
  });

  test('a sync asked for while another is under way covers what came between', async () => {
    const env = machine();
    const log = await env.drive(openLog(env));
    await env.drive(log.commit());
    await env.drive(log.writer.makeRoom(8 * sizeOf()));
    log.put();
    await env.timers.runFor(0.01);
    log.put({ durability: ASYNC_WAL });
    await env.drive(Promise.all([log.writer.sync(), log.writer.sync()]));
    expect(log.points.durable).toBe(3);
    expect(await recordsOf(env.crash({ keepUnsynced: 0 }))).toEqual(linesTo(3));
  });
});

describe('a failed write or sync', () => {
  test.each(['write', 'sync'] as const)('case 64: of the %s is for good', async (kind) => {
    const env = machine();
    const log = await env.drive(openLog(env));
    await env.drive(log.commit());
    let failures = 0;
    env.fs.failWhen = (op): 'io' | null => (op.kind === kind && failures++ === 0 ? 'io' : null);
    await expect(env.drive(log.commit())).rejects.toThrow(LogFailedException);
    const { failure } = log.points;
    expect(failure?.cause).toBeInstanceOf(IoException);
    expect(failure?.message).toContain(`${DIR}/0000000001.wal`);
    await expect(env.drive(log.append())).rejects.toBe(failure);
    expect(() => log.skip()).toThrow(LogFailedException);
    await expect(env.drive(log.writer.sync())).rejects.toBe(failure);
    await expect(env.drive(log.writer.makeRoom(100))).rejects.toBe(failure);
    expect(log.points).toMatchObject({ read: 1, durable: 1 });
    await env.drive(log.writer.close());
    expect(failures).toBe(1);
    const after = await recordsOf(env.crash({ keepUnsynced: 0.5 }));
    expect([linesTo(1), linesTo(2)]).toContainEqual(after);
  });

  test('everybody who waits is told', async () => {
    const env = machine();
    const log = await env.drive(openLog(env));
    await env.drive(log.commit());
    env.fs.failWhen = (op): 'io' | null => (op.kind === 'sync' ? 'io' : null);
    const all = Promise.allSettled([log.commit(), log.commit(), log.writer.sync()]);
    const results = await env.drive(all);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });

  test('a failed sync of a segment that is being grown is the log’s own', async () => {
    const env = machine();
    const log = await env.drive(openLog(env, { segmentBytes: 1024 * 1024 }));
    await env.drive(log.commit());
    env.fs.failWhen = (op): 'io' | null => (op.kind === 'sync' ? 'io' : null);
    await expect(env.drive(log.writer.makeRoom(400_000))).rejects.toThrow(LogFailedException);
    expect(log.points.failure).not.toBe(null);
  });
});

describe('a full disk', () => {
  test('case 65: is told before the append, harms nothing, and passes', async () => {
    const env = machine();
    const log = await env.drive(openLog(env, SMALL));
    env.fs.capacityBytes = 6000;
    const fill = async (): Promise<never> => {
      for (;;) await log.commit(LONG);
    };
    await expect(env.drive(fill())).rejects.toThrow(DiskFullException);
    const count = log.tso;
    expect(log.points).toMatchObject({ read: count, failure: null });
    expect(log.writer.roomFor(sizeOf(LONG))).toBe(false);
    expect(env.fs.paths(), 'nothing half-made stays').toEqual([
      'store/NOTE',
      `${DIR}/0000000001.wal`,
    ]);
    await expect(env.drive(log.commit(LONG))).rejects.toThrow(DiskFullException);
    env.fs.capacityBytes = Infinity;
    await env.drive(log.commit(LONG));
    await env.drive(log.writer.close());
    const want = Array.from({ length: count + 1 }, (_, i) => lineOf(i + 1, LONG.value));
    expect(await recordsOf(env)).toEqual(want);
  });

  test('while growing a segment gives back what was added', async () => {
    const env = machine();
    const log = await env.drive(openLog(env));
    await env.drive(log.commit());
    env.fs.capacityBytes = 300_000;
    await expect(env.drive(log.writer.makeRoom(400_000))).rejects.toThrow(DiskFullException);
    expect(env.fs.usedBytes).toBe(256 * 1024);
    await env.drive(log.commit());
    env.fs.capacityBytes = Infinity;
    await env.drive(log.writer.makeRoom(400_000));
    await env.drive(log.writer.close());
    expect(await recordsOf(env)).toEqual(linesTo(2));
  });

  test('a disk that is full at the first commit', async () => {
    const env = machine();
    const log = await env.drive(openLog(env));
    env.fs.capacityBytes = 1000;
    await expect(env.drive(log.commit())).rejects.toThrow(DiskFullException);
    env.fs.capacityBytes = Infinity;
    await env.drive(log.commit());
    await env.drive(log.writer.close());
    expect(await recordsOf(env)).toEqual(linesTo(1));
  });
});

describe('segments', () => {
  test('roll, know their TSOs, are released in order and reused; old bytes never pass for new', async () => {
    const env = machine();
    const log = await env.drive(openLog(env, SMALL));
    const lines: string[] = [];
    const commit = async (): Promise<void> => {
      const tso = await env.drive(log.commit(LONG));
      lines.push(lineOf(tso, LONG.value));
    };
    while (log.writer.segments.length < 4) await commit();
    const before = log.writer.segments;
    for (const [i, segment] of before.entries()) {
      expect(segment.number).toBe(i + 1);
      expect(segment.firstLow).toBe((before[i - 1]?.lastLow ?? 0) + 1);
    }
    expect(
      await env.drive(log.writer.releaseBelow(0, before[1]!.lastLow, { archive: false })),
    ).toBe(1);
    expect(
      await env.drive(log.writer.releaseBelow(0, before[1]!.lastLow + 1, { archive: false })),
    ).toBe(1);
    expect(log.writer.segments.map(({ number }) => number)).toEqual([3, 4]);
    expect(log.writer.sizeBytes).toBe(8192);
    while (log.writer.segments.at(-1)!.generation === 0) await commit();
    const kept = lines.filter((line) => Number(line.split(' ')[0]) > before[1]!.lastLow);
    // The reused file is full of whole records of its former life behind the new ones.
    for (const keepUnsynced of [0, 0.5, 1]) {
      expect(await recordsOf(env.crash({ keepUnsynced }))).toEqual(kept);
    }
    await env.drive(log.writer.close());
    expect(await recordsOf(env)).toEqual(kept);
  });

  test('a crash at any moment of a reuse leaves a log that opens', async () => {
    const env = machine();
    const log = await env.drive(openLog(env, SMALL));
    while (log.writer.segments.length < 3) await env.drive(log.commit(LONG));
    const last = log.tso;
    const work = async (): Promise<void> => {
      await log.writer.releaseBelow(0, last, { archive: false });
      const end = log.writer.segments.at(-1)!.number + 2;
      while (log.writer.segments.at(-1)!.number < end) await log.commit(LONG);
    };
    let isDone = false;
    const done = work().then(() => (isDone = true));
    while (!isDone) {
      await env.timers.runFor(0.1);
      for (const keepUnsynced of [0, 0.5]) {
        const records = await recordsOf(env.crash({ keepUnsynced }));
        const tsos = records.map((line) => Number(line.split(' ')[0]));
        expect(tsos.at(-1)).toBeGreaterThanOrEqual(log.points.durable);
        expect(tsos[0]).toBeLessThanOrEqual(last);
      }
    }
    await done;
    expect(log.writer.segments.at(-1)!.generation).toBe(1);
  });

  test('a hold keeps them until it is released, and replayed ones count as well', async () => {
    const env = machine();
    await withLog(
      env,
      async (log) => {
        while (log.writer.segments.length < 3) await log.commit(LONG);
      },
      SMALL,
    );
    const log = await env.drive(openLog(env, SMALL));
    await env.drive(log.commit(LONG));
    const [first, second] = log.writer.segments;
    const hold = log.writer.hold(0, first!.lastLow + 1);
    const release = (): Promise<number> =>
      env.drive(log.writer.releaseBelow(0, log.tso, { archive: false }));
    expect(await release()).toBe(1);
    expect(log.writer.segments[0]!.number).toBe(second!.number);
    hold.release();
    hold.release();
    expect(await release()).toBe(1);
    expect(log.writer.segments).toHaveLength(1);
  });

  test('a record larger than a segment gets a larger one', async () => {
    const env = machine();
    const sizes = [10, 20_000, 10, 10, 9_000, 100];
    await withLog(
      env,
      async (log) => {
        for (const size of sizes) await log.commit({ value: 'L'.repeat(size) });
        await log.writer.releaseBelow(0, log.tso, { archive: false });
      },
      SMALL,
    );
    const want = sizes.map((size, i) => lineOf(i + 1, 'L'.repeat(size)));
    expect(want).toEqual(expect.arrayContaining(await recordsOf(env)));
    const again = machine();
    await withLog(
      again,
      async (log) => {
        for (const size of sizes) await log.commit({ value: 'L'.repeat(size) });
      },
      SMALL,
    );
    expect(await recordsOf(again)).toEqual(want);
  });

  test('a failed sync of the next segment is not the log’s', async () => {
    const env = machine();
    const log = await env.drive(openLog(env, SMALL));
    const isNext = (path: string): boolean => path.endsWith('.new');
    await env.drive(log.commit());
    env.fs.failWhen = (op): 'io' | null => (op.kind === 'sync' && isNext(op.path) ? 'io' : null);
    const fill = async (): Promise<never> => {
      for (;;) await log.commit(LONG);
    };
    await expect(env.drive(fill())).rejects.toThrow(IoException);
    expect(log.points.failure).toBe(null);
    env.fs.failWhen = null;
    await env.drive(log.commit(LONG));
  });

  test('many commits gather behind a slow write without exceeding the bound', async () => {
    const env = machine();
    const options = { segmentBytes: 64 * 1024, batchBytesMax: 4096 };
    await withLog(
      env,
      async (log) => {
        await Promise.all(
          Array.from({ length: 200 }, () => log.commit({ value: 'v'.repeat(100) })),
        );
        expect(log.writer.metrics.batches).toBeGreaterThan(8);
      },
      options,
    );
    expect(await recordsOf(env)).toHaveLength(200);
  });
});

describe('a lone waiter', () => {
  test('is served by blocking calls once syncs were quick, and not while the disk is busy', async () => {
    const env = machine();
    let isBusy = false;
    const log = await env.drive(openLog(env, { blockingSync: true, isDiskBusy: () => isBusy }));
    // The simulated disk takes up to 2 virtual ms, so a quick run of eight is rare: seeds decide, not time.
    for (let i = 0; i < 3000 && log.writer.metrics.blockingSyncs === 0; i++)
      await env.drive(log.commit());
    const { blockingSyncs } = log.writer.metrics;
    expect(blockingSyncs).toBeGreaterThan(0);
    for (let i = 0; i < 100; i++) await env.drive(log.commit());
    expect(log.writer.metrics.blockingSyncs).toBe(blockingSyncs + 100);
    isBusy = true;
    for (let i = 0; i < 20; i++) await env.drive(log.commit());
    expect(log.writer.metrics.blockingSyncs).toBe(blockingSyncs + 100);
    const count = log.tso;
    expect(await recordsOf(env.crash({ keepUnsynced: 0 }))).toEqual(linesTo(count));
  });

  test('a failed blocking sync is for good', async () => {
    const env = machine();
    const log = await env.drive(openLog(env, { blockingSync: true }));
    while (log.writer.metrics.blockingSyncs === 0) await env.drive(log.commit());
    env.fs.failWhen = (op): 'io' | null => (op.kind === 'sync' ? 'io' : null);
    await expect(env.drive(log.commit())).rejects.toThrow(LogFailedException);
  });
});

describe('broken promises and the end', () => {
  test('TSOs that do not grow, records without room', async () => {
    const env = machine();
    const log = await env.drive(openLog(env));
    expect(() => log.put()).toThrow();
    log.tso = 5;
    await env.drive(log.commit());
    log.tso = 5;
    expect(() => log.put()).toThrow(InvariantError);
    log.tso = 6;
    log.writer.begin({ kind: 1, tsoHigh: 0, tsoLow: 7, nonce: null, label: null, durability: 4 });
    log.writer.group(1, 1);
    const cell = cellOf('row', 'v'.repeat(300_000));
    expect(() => log.writer.cell(cell, 0, cell.length)).toThrow(InvariantError);
  });

  test('a closed log refuses', async () => {
    const env = machine();
    const log = await env.drive(openLog(env));
    await env.drive(log.commit());
    await env.drive(Promise.all([log.writer.close(), log.writer.close()]));
    expect(() => log.writer.roomFor(10)).toThrow(LogClosedException);
    await expect(env.drive(log.writer.sync())).rejects.toThrow(LogClosedException);
  });

  test('opened and closed without a commit changes nothing', async () => {
    const env = machine();
    await withLog(env, async (log) => void (await log.commit()));
    const before = env.fs.digest();
    await withLog(env, async () => undefined);
    expect(env.fs.digest()).toBe(before);
  });
});
