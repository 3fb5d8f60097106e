/** Group commit of the log on the real disk: W writers, each awaiting its own 180-byte record. */
import { realEnv } from '../../src/io/index.ts';
import {
  ASYNC_WAL,
  commitSizeMax,
  FSYNC_WAL,
  KIND_COMMIT,
  LogWriter,
  recoverLog,
  SYNC_WAL,
} from '../../src/wal/index.ts';

const CELL_LENGTH = 104; // 180 bytes with header, nonce and group.

class Waiters {
  read = 0;
  readonly #waiting: { tso: number; resolve: () => void }[] = [];
  #from = 0;
  advanced(_readHigh: number, readLow: number): void {
    this.read = readLow;
    const waiting = this.#waiting;
    while (this.#from < waiting.length && waiting[this.#from]!.tso <= readLow) {
      waiting[this.#from++]!.resolve();
    }
    if (this.#from === waiting.length) {
      waiting.length = 0;
      this.#from = 0;
    }
  }
  failed(error: Error): void {
    throw error;
  }
  reached(tso: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ tso, resolve }));
  }
}

async function measure(
  dir: string,
  writers: number,
  durability: number,
  blockingSync: boolean,
  seconds: number,
): Promise<void> {
  const env = realEnv();
  const recovered = await recoverLog(env, dir, {}, () => undefined);
  const waiters = new Waiters();
  const log = new LogWriter(env, dir, { blockingSync }, recovered, waiters);
  const cell = new Uint8Array(CELL_LENGTH).fill(97);
  const size = commitSizeMax({
    cellBytes: CELL_LENGTH,
    cellCount: 1,
    groupCount: 1,
    labelLength: 0,
  });
  const nonce = new Uint8Array(16);
  let tso = recovered.lastLow;
  let count = 0;
  let until = Infinity;
  let longestMs = 0;
  const writer = async (): Promise<void> => {
    while (env.clock.monotonicMs() < until) {
      while (!log.roomFor(size)) await log.makeRoom(size);
      const startMs = env.clock.monotonicMs();
      const mine = ++tso;
      log.begin({ kind: KIND_COMMIT, tsoHigh: 0, tsoLow: mine, nonce, label: null, durability });
      log.group(1, 1);
      log.cell(cell, 0, CELL_LENGTH);
      log.end();
      await waiters.reached(mine);
      longestMs = Math.max(longestMs, env.clock.monotonicMs() - startMs);
      count++;
    }
  };
  const release = async (): Promise<void> => {
    while (env.clock.monotonicMs() < until) {
      await env.timers.sleep(20);
      await log.releaseBelow(0, tso, { archive: false });
    }
  };
  // A second of warming up: the code, and the segments that are used again.
  const startMs = env.clock.monotonicMs() + 1000;
  until = startMs + seconds * 1000;
  let before = 0;
  env.timers.after(1000, () => {
    before = count;
    longestMs = 0;
  });
  await Promise.all([...Array.from({ length: writers }, writer), release()]);
  const perSecond = Math.round((count - before) / seconds);
  const { syncs, blockingSyncs, records, batches } = log.metrics;
  await log.close();
  await env.fs.remove(dir);
  console.log(
    `${DURABILITIES.get(durability)}, ${writers} writers, ${blockingSync ? 'may block' : 'never blocks'}: ` +
      `${perSecond.toLocaleString('en')} a second, longest ${longestMs.toFixed(1)} ms, ` +
      `${records} records in ${batches} batches, ${syncs} syncs, ${blockingSyncs} of them blocking`,
  );
}

const DURABILITIES: ReadonlyMap<number, string> = new Map([
  [FSYNC_WAL, 'FSYNC_WAL'],
  [SYNC_WAL, 'SYNC_WAL'],
  [ASYNC_WAL, 'ASYNC_WAL'],
]);

/** Prints a line a case. `dir` is on the disk to be measured, and is removed. */
export async function groupCommit(dir: string, seconds: number): Promise<void> {
  for (const [writers, durability, blocking] of [
    [1, FSYNC_WAL, true],
    [1, FSYNC_WAL, false],
    [64, FSYNC_WAL, true],
    [64, FSYNC_WAL, false],
    [256, FSYNC_WAL, true],
    [64, SYNC_WAL, true],
    [64, ASYNC_WAL, true],
  ] as const) {
    await measure(dir, writers, durability, blocking, seconds);
  }
}
