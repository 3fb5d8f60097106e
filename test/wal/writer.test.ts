import { expect, test } from 'vitest';
import { ASYNC_WAL, SYNC_WAL, FSYNC_WAL } from '../../src/wal/index.ts';
import { linesTo, machine, openLog, recordsOf, withLog } from './harness.ts';

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

test('mixed durabilities move the two points as each asked', async () => {
  const env = machine();
  const log = await env.drive(openLog(env));
  await env.drive(log.append({ durability: FSYNC_WAL }));
  await env.drive(log.points.reached(1));
  await env.drive(log.append({ durability: ASYNC_WAL }));
  await env.drive(log.append({ durability: SYNC_WAL }));
  await env.drive(log.points.reached(3));
  expect(log.points.reports).toEqual(['1/1', '2/1', '3/1']);
  await env.timers.runFor(250);
  expect(log.points.reports).toEqual(['1/1', '2/1', '3/1', '3/3']);
});
