import { describe, expect, test } from 'vitest';
import { u32 } from '../../src/cell/index.ts';
import { CorruptionException, IoException, type SimEnv } from '../../src/io/index.ts';
import { LogVersionException, SYNC_WAL } from '../../src/wal/index.ts';
import { DIR, lineOf, linesTo, machine, openLog, recordsOf, withLog, type Log } from './harness.ts';

const FIRST = `${DIR}/0000000001.wal`;
const SECOND = `${DIR}/0000000002.wal`;

/** A log of `count` commits, each synced before the next; the power fails with nothing unsynced lost, or it is closed. */
async function smallLog(count: number, isClosed: boolean): Promise<SimEnv> {
  const env = machine();
  const log = await env.drive(openLog(env));
  for (let i = 0; i < count; i++) await env.drive(log.commit());
  if (isClosed) await env.drive(log.writer.close());
  return env;
}

interface Span {
  readonly at: number;
  readonly size: number;
  readonly syncedTo: number;
}

/** The records of an undamaged first segment, read in the plainest way. */
function spansOf(bytes: Uint8Array): Span[] {
  const spans: Span[] = [];
  for (let at = 64; at + 48 <= bytes.length && u32(bytes, at) !== 0;) {
    const size = Math.ceil(u32(bytes, at + 8) / 8) * 8;
    spans.push({ at, size, syncedTo: u32(bytes, at + 20) });
    at += size;
  }
  return spans;
}

const copyOf = (env: SimEnv): SimEnv => env.crash({ keepUnsynced: 1 });

async function damageOf(env: SimEnv): Promise<CorruptionException> {
  const error: unknown = await recordsOf(env).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(CorruptionException);
  return error as CorruptionException;
}

describe('truncation', () => {
  test('at every byte gives the whole records before it, and the log goes on', async () => {
    const env = await smallLog(4, false);
    const spans = spansOf(env.fs.peek(FIRST));
    const end = spans.at(-1)!.at + spans.at(-1)!.size;
    for (let size = 64; size <= end + 8; size++) {
      const cut = copyOf(env);
      cut.fs.cut(FIRST, size);
      const whole = spans.filter((span) => span.at + span.size <= size).length;
      await withLog(cut, async (log) => {
        expect(log.records, `cut to ${size}`).toEqual(linesTo(whole));
        await log.commit();
      });
      expect(await recordsOf(cut), `after the cut to ${size}`).toEqual(linesTo(whole + 1));
    }
  });

  test('inside the header of a segment is damage, except an empty file', async () => {
    const env = await smallLog(2, false);
    for (let size = 1; size < 64; size++) {
      const cut = copyOf(env);
      cut.fs.cut(FIRST, size);
      expect((await damageOf(cut)).path).toBe(FIRST);
    }
  });
});

describe('a flipped byte', () => {
  test.each([{ isClosed: false }, { isClosed: true }])(
    'anywhere is refused by file and offset, or ends the log beyond what is vouched for ($isClosed)',
    async ({ isClosed }) => {
      const env = await smallLog(4, isClosed);
      const bytes = env.fs.peek(FIRST);
      const spans = spansOf(bytes);
      const commits = 4;
      for (const [i, span] of spans.entries()) {
        const synced = Math.max(...spans.filter((_, k) => k !== i).map((s) => s.syncedTo));
        for (let at = span.at; at < span.at + span.size; at++) {
          const flipped = copyOf(env);
          flipped.fs.flip(FIRST, at, 1 << (at & 7));
          if (span.at < synced) {
            const damage = await damageOf(flipped);
            expect([damage.path, damage.offset], `flip at ${at}`).toEqual([FIRST, span.at]);
          } else {
            const want = linesTo(Math.min(i, commits));
            expect(await recordsOf(flipped), `flip at ${at}`).toEqual(want);
          }
        }
      }
      // A closed log loses nothing without saying so: only the last record, the end itself, is not vouched for.
      if (isClosed)
        expect(spans.slice(0, -1).every((s) => s.at < spans.at(-1)!.syncedTo)).toBe(true);
    },
  );

  test('in the segment header is refused', async () => {
    const env = await smallLog(2, true);
    for (let at = 0; at < 64; at++) {
      const flipped = copyOf(env);
      flipped.fs.flip(FIRST, at, 1);
      const error: unknown = await recordsOf(flipped).catch((reason: unknown) => reason);
      const isTyped = error instanceof CorruptionException || error instanceof LogVersionException;
      expect(isTyped, `flip at ${at}: ${String(error)}`).toBe(true);
      expect(String(error)).toContain(FIRST);
    }
  });

  test('behind the end of the log does no harm', async () => {
    const env = await smallLog(2, false);
    const { at, size } = spansOf(env.fs.peek(FIRST)).at(-1)!;
    for (let behind = 0; behind < 100; behind++) {
      const flipped = copyOf(env);
      flipped.fs.flip(FIRST, at + size + behind, 0xff);
      expect(await recordsOf(flipped)).toEqual(linesTo(2));
    }
  });
});

test('a newer version is refused and nothing is changed', async () => {
  const env = await smallLog(2, true);
  env.fs.flip(FIRST, 11, 3); // 1 becomes 2.
  const before = env.fs.digest();
  await expect(recordsOf(env)).rejects.toThrow(LogVersionException);
  await expect(recordsOf(env)).rejects.toThrow(`${FIRST} has log version 2`);
  expect(env.fs.digest()).toBe(before);
});

test('a segment of another store is refused', async () => {
  const env = machine();
  await withLog(env, async (log) => void (await log.commit()), { storeId: Buffer.alloc(16, 1) });
  const other = { storeId: Buffer.alloc(16, 2) };
  await expect(env.drive(openLog(env, other))).rejects.toThrow('another store');
});

test('case 59: a garbage byte at the tail; the next write is kept', async () => {
  const env = await smallLog(3, true);
  const end = env.fs.peek(FIRST).length;
  env.fs.plant(FIRST, Buffer.concat([env.fs.peek(FIRST), Buffer.from([0x5a])]));
  await withLog(env, async (log) => {
    expect(log.records).toEqual(linesTo(3));
    await log.commit();
  });
  expect(await recordsOf(env)).toEqual(linesTo(4));
  expect(end % 8).toBe(0);
});

test.each([
  { name: 'zeros', tail: new Uint8Array(5000) },
  { name: 'random bytes', tail: machine(9).random.bytes(5000) },
])('case 62: a tail of $name', async ({ tail }) => {
  const env = await smallLog(3, true);
  env.fs.plant(FIRST, Buffer.concat([env.fs.peek(FIRST), tail]));
  expect(await recordsOf(env)).toEqual(linesTo(3));
});

test('case 60: a read error is an error, not an end', async () => {
  const env = await smallLog(3, true);
  let reads = 0;
  env.fs.failWhen = (op): 'io' | null => (op.kind === 'read' && ++reads === 2 ? 'io' : null);
  await expect(recordsOf(env)).rejects.toThrow(IoException);
});

test('case 60: salvage goes on behind damage, says what is lost, and heals the log', async () => {
  const env = await smallLog(5, true);
  const span = spansOf(env.fs.peek(FIRST))[1]!;
  env.fs.flip(FIRST, span.at + 60, 4);
  await expect(recordsOf(env)).rejects.toThrow(
    `damaged log record in ${FIRST} at offset ${span.at}`,
  );
  const rest = [lineOf(1), lineOf(3), lineOf(4), lineOf(5)];
  await withLog(
    env,
    async (log) => {
      expect(log.records).toEqual(rest);
      expect(log.recovered.lost).toEqual([{ path: FIRST, from: span.at, to: span.at + span.size }]);
      await log.commit();
    },
    { salvage: true },
  );
  expect(await recordsOf(env)).toEqual([...rest, lineOf(6)]);
});

/** Commits until the log has `count` segments of 4 KiB. */
async function fill(log: Log, count: number): Promise<void> {
  while (log.writer.segments.length < count) await log.commit({ value: 'x'.repeat(300) });
}

const SMALL = { segmentBytes: 4096 };

describe('several segments', () => {
  async function segments(count: number): Promise<SimEnv> {
    const env = machine();
    await withLog(env, (log) => fill(log, count), SMALL);
    return env;
  }

  test('a missing one in the middle is an error; salvage says which and heals', async () => {
    const env = await segments(3);
    const all = await recordsOf(copyOf(env));
    await env.drive(env.fs.remove(SECOND));
    const damage = await damageOf(copyOf(env));
    expect(damage.message).toBe(`log segment is missing in ${SECOND} at offset 0`);
    const kept = await recordsOf(env, { salvage: true });
    expect(kept.length).toBeLessThan(all.length);
    expect(all.filter((line) => kept.includes(line))).toEqual(kept);
    expect(await recordsOf(env)).toEqual(kept);
  });

  test('case 63: empty files among good ones are skipped with a note', async () => {
    const env = await segments(2);
    const all = await recordsOf(copyOf(env));
    for (const number of ['0000000009', '0000000005'])
      env.fs.plant(`${DIR}/${number}.wal`, new Uint8Array(0));
    const log = await env.drive(openLog(env));
    expect(log.records).toEqual(all);
    expect(log.recovered.notes.join()).toContain('0000000005.wal');
    expect(log.recovered.notes.join()).toContain('0000000009.wal');
    await env.drive(log.commit());
    await env.drive(log.writer.close());
    expect(await recordsOf(env)).toHaveLength(all.length + 1);
  });

  test('one that was emptied is damage', async () => {
    const env = await segments(3);
    env.fs.cut(SECOND, 0);
    expect((await damageOf(env)).path).toBe(SECOND);
  });

  test('cut short in the middle of the log is damage at the cut', async () => {
    const env = await segments(3);
    const spans = spansOf(env.fs.peek(FIRST));
    for (const span of spans.slice(-3)) {
      const cut = copyOf(env);
      cut.fs.cut(FIRST, span.at);
      expect(await damageOf(cut)).toMatchObject({ path: FIRST, offset: span.at });
    }
  });

  test('under a wrong name is refused', async () => {
    const env = await segments(2);
    await env.drive(env.fs.rename(SECOND, `${DIR}/0000000007.wal`));
    await expect(recordsOf(env)).rejects.toThrow('under a wrong name');
  });
});

test('an absent folder is a fresh log', async () => {
  const env = machine();
  const log = await env.drive(openLog(env));
  expect(log.recovered).toMatchObject({ segments: [], lastHigh: 0, lastLow: 0, cleanEnd: false });
  await env.drive(log.writer.close());
  expect(env.fs.paths()).toEqual(['store/NOTE']);
});

test('what is behind the end never comes back, whatever is written over the gap', async () => {
  const env = machine();
  const log = await env.drive(openLog(env));
  await env.drive(log.commit());
  await env.drive(log.writer.makeRoom(1000));
  for (let i = 0; i < 3; i++) log.put(); // One batch.
  await env.drive(log.points.reached(4));
  const spans = spansOf(env.fs.peek(FIRST));
  env.fs.flip(FIRST, spans[1]!.at + 60);
  const first = await env.drive(openLog(env));
  expect(first.records).toEqual(linesTo(1));
  await env.drive(first.commit());
  for (const crashed of [
    env.kill(),
    env.crash({ keepUnsynced: 1 }),
    env.crash({ keepUnsynced: 0 }),
  ]) {
    expect(await recordsOf(crashed)).toEqual(linesTo(2));
  }
});

test('what no later record vouches for is written again and synced before recovery returns', async () => {
  const env = machine();
  const log = await env.drive(openLog(env));
  await env.drive(log.commit());
  await env.drive(log.commit({ durability: SYNC_WAL }));
  const killed = env.kill();
  const { size: secondSize, at: secondAt } = spansOf(killed.fs.peek(FIRST))[1]!;
  const ops: string[] = [];
  killed.fs.failWhen = (op): null => {
    if (op.kind === 'write' || op.kind === 'sync') ops.push(op.kind);
    return null;
  };
  expect(await recordsOf(killed)).toEqual(linesTo(2));
  expect(ops).toEqual(['write', 'sync']);
  expect(await recordsOf(killed.crash({ keepUnsynced: 0 }))).toEqual(linesTo(2));
  expect(killed.fs.peek(FIRST)).toHaveLength(secondAt + secondSize);
});

test('a failed sync while recovering fails it; the next one gives the same', async () => {
  const env = await smallLog(3, false);
  env.fs.failWhen = (op): 'io' | null => (op.kind === 'sync' ? 'io' : null);
  await expect(recordsOf(env)).rejects.toThrow(IoException);
  env.fs.failWhen = null;
  expect(await recordsOf(env)).toEqual(linesTo(3));
});
