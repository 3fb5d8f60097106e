import { expect, test } from 'vitest';
import { CorruptionException, type Env } from '../../src/io/index.ts';
import {
  ASYNC_WAL,
  describeRecord,
  FSYNC_WAL,
  KIND_CONTROL,
  LogReader,
  summarizeRecord,
  type ReadLogOptions,
} from '../../src/wal/index.ts';
import {
  cellOf,
  DIR,
  lineOf,
  linesTo,
  machine,
  openLog,
  showRecord,
  sizeOf,
  withLog,
} from './harness.ts';

const OLD = 'store/old';
const SMALL = { segmentBytes: 4096, archiveDir: OLD };

async function readAll(env: Env, dirs: string[], options: ReadLogOptions = {}): Promise<string[]> {
  const lines: string[] = [];
  await using reader = new LogReader(env, dirs, options);
  while (await reader.nextBatch()) {
    while (reader.next()) if (reader.record.kind < 240) lines.push(showRecord(reader.record));
  }
  return lines;
}

test('reads archive and log as one, from any TSO on', async () => {
  const env = machine();
  await withLog(
    env,
    async (log) => {
      for (let i = 0; i < 60; i++) await log.commit({ value: 'v'.repeat(200) });
      await log.writer.releaseBelow(0, 30, { archive: true });
    },
    SMALL,
  );
  expect((await env.drive(env.fs.list(OLD))).length).toBeGreaterThan(0);
  const want = (from: number): string[] =>
    Array.from({ length: 61 - from }, (_, i) => lineOf(from + i, 'v'.repeat(200)));
  expect(await env.drive(readAll(env, [OLD, DIR]))).toEqual(want(1));
  for (const from of [2, 29, 30, 31, 60]) {
    expect(await env.drive(readAll(env, [OLD, DIR], { fromLow: from }))).toEqual(want(from));
  }
  expect(await env.drive(readAll(env, [DIR], { fromLow: 40 }))).toEqual(want(40));
});

test('follows a log that is being written', async () => {
  const env = machine();
  const log = await env.drive(openLog(env, SMALL));
  const reader = new LogReader(env, [DIR]);
  const lines: string[] = [];
  const readOn = async (): Promise<void> => {
    while (await reader.nextBatch()) {
      while (reader.next()) if (reader.record.kind < 240) lines.push(showRecord(reader.record));
    }
  };
  await env.drive(readOn());
  expect(reader.end).toBe(null);
  for (let i = 1; i <= 100; i++) {
    await env.drive(log.commit());
    await env.drive(readOn());
    expect(lines.at(-1)).toBe(lineOf(i));
  }
  expect(lines).toEqual(linesTo(100));
  expect(log.writer.segments.length).toBeGreaterThan(1);
  expect(await env.drive(reader.findBehindEnd())).toBe(-1);
  await env.drive(reader.close());
});

test('damage before the last segment, and a missing one, are errors', async () => {
  const env = machine();
  await withLog(
    env,
    async (log) => {
      for (let i = 0; i < 90; i++) await log.commit();
    },
    SMALL,
  );
  const damaged = env.crash({ keepUnsynced: 1 });
  damaged.fs.flip(`${DIR}/0000000001.wal`, 200);
  await expect(damaged.drive(readAll(damaged, [DIR]))).rejects.toThrow(CorruptionException);
  await env.drive(env.fs.remove(`${DIR}/0000000002.wal`));
  await expect(env.drive(readAll(env, [DIR]))).rejects.toThrow('log segment is missing');
});

test('damage in the last segment is where reading ends, and can be told from the end', async () => {
  const env = machine();
  await withLog(env, async (log) => {
    for (let i = 0; i < 4; i++) await log.commit();
  });
  env.fs.flip(`${DIR}/0000000001.wal`, 64 + 96 + 20);
  const reader = new LogReader(env, [DIR]);
  await env.drive(reader.nextBatch());
  expect(reader.next()).toBe(true);
  expect(reader.next()).toBe(false);
  expect(await env.drive(reader.nextBatch())).toBe(false);
  expect(reader.end).toEqual({ path: `${DIR}/0000000001.wal`, offset: 160 });
  expect(await env.drive(reader.findBehindEnd())).toBe(256);
  await env.drive(reader.close());
});

test('a record as text', async () => {
  const env = machine();
  const tso = 1786851294123n * 262144n + 41n;
  const halves = { tsoHigh: Number(tso >> 32n), tsoLow: Number(tso & 0xffffffffn) };
  await withLog(env, async ({ writer }) => {
    const cell = cellOf('row1', 'a\x01b');
    await writer.makeRoom(sizeOf());
    writer.skipped(halves.tsoHigh, halves.tsoLow - 1);
    const nonce = Buffer.from('00000000000000070000000000000009', 'hex');
    writer.begin({ kind: 1, ...halves, nonce, label: 'load-1', durability: FSYNC_WAL });
    writer.group(3, 5);
    writer.cell(cell, 0, cell.length);
    writer.cell(cell, 0, cell.length);
    writer.group(3, 6);
    writer.cell(cell, 0, cell.length);
    writer.end();
    await writer.makeRoom(sizeOf());
    writer.appendControl(
      KIND_CONTROL,
      halves.tsoHigh,
      halves.tsoLow + 1,
      Buffer.from('abc'),
      ASYNC_WAL,
    );
  });
  const lines: string[] = [];
  const reader = new LogReader(env, [DIR]);
  while (await env.drive(reader.nextBatch())) {
    while (reader.next()) {
      lines.push(describeRecord(reader.record, { cells: true }));
      if (reader.record.kind === KIND_CONTROL) {
        expect(Buffer.from(reader.record.body).toString()).toBe('abc');
        expect(summarizeRecord(reader.record)).toMatchObject({ kind: 'control', bodyLength: 3 });
      }
    }
  }
  await env.drive(reader.close());
  const cell = '  row1 f:q/7/Put value=a\\x01b';
  expect(lines).toEqual([
    [
      '1:64 tso=468412345646579753 time=2026-08-16T03:34:54.123Z commit FSYNC_WAL 200 bytes label="load-1"' +
        ' nonce=0000000000000007/0000000000000009 skipped=468412345646579752…468412345646579752' +
        ' table=3 family=5 cells=2 bytes=58 table=3 family=6 cells=1 bytes=29',
      cell,
      cell,
      cell,
    ].join('\n'),
    '1:264 tso=468412345646579754 time=2026-08-16T03:34:54.123Z control ASYNC_WAL 56 bytes',
    '1:320 tso=468412345646579754 time=2026-08-16T03:34:54.123Z close FSYNC_WAL 48 bytes',
  ]);
});
