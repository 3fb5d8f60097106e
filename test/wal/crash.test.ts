/**
 * Random work on a log of small segments, ended by power cuts and kills at random moments, over many lives of one log.
 * The model is the list of appended commits; recovery must give a part of it without a hole.
 */
import { describe, expect, test } from 'vitest';
import { seeded, type SeededRandom, type SimEnv } from '../../src/io/index.ts';
import { ASYNC_WAL, FSYNC_WAL, SYNC_WAL } from '../../src/wal/index.ts';
import { lineOf, machine, openLog, type Log } from './harness.ts';

const OPTIONS = {
  segmentBytes: 4096,
  batchBytesMax: 3000,
  asyncSyncMs: 5,
  archiveDir: 'store/old',
};

class Lives {
  readonly #random: SeededRandom;
  /** Lines of the commits in the log, by TSO. */
  #model = new Map<number, string>();
  /** Those that are sure to be with the operating system once the read point has passed them. */
  readonly #handedOver = new Set<number>();
  /** Commits below it were given up by `releaseBelow`. */
  #floor = 0;
  rolled = 0;
  reused = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  async #writer(log: Log): Promise<void> {
    const random = this.#random;
    for (;;) {
      const pick = random.int(20);
      if (pick === 0) await log.env.timers.sleep(random.int(10));
      else if (pick === 1) await log.writer.sync();
      else if (pick === 2) log.skip();
      else if (pick === 3) await this.#release(log);
      else {
        const length = random.int(40) === 0 ? 2000 + random.int(6000) : random.int(200);
        const durability = [ASYNC_WAL, SYNC_WAL, FSYNC_WAL, FSYNC_WAL][random.int(4)]!;
        const value = 'v'.repeat(length);
        const tso = await this.#append(log, durability, value);
        if (random.int(3) > 0) await log.points.reached(tso);
      }
    }
  }

  async #append(log: Log, durability: number, value: string): Promise<number> {
    const size = 300 + value.length;
    while (!log.writer.roomFor(size)) await log.writer.makeRoom(size);
    const tso = log.put({ durability, value });
    this.#model.set(tso, lineOf(tso, value));
    if (durability === ASYNC_WAL) this.#handedOver.delete(tso);
    else this.#handedOver.add(tso);
    return tso;
  }

  async #release(log: Log): Promise<void> {
    const below = log.points.durable - this.#random.int(40);
    if (below <= 0) return;
    this.#floor = Math.max(this.#floor, below);
    await log.writer.releaseBelow(0, below, { archive: this.#random.int(3) === 0 });
  }

  /** One life: opens, checks, works, and ends in a crash or kill. Gives the machine after it. */
  async live(
    env: SimEnv,
    sure: number,
    last: number,
  ): Promise<{ env: SimEnv; sure: number; last: number }> {
    const random = this.#random;
    const log = await env.drive(openLog(env, OPTIONS));
    this.#check(log, sure, last);
    const ended: Promise<void>[] = [];
    for (let i = 0; i < 6; i++) ended.push(this.#writer(log));
    const failed = Promise.all(ended);
    failed.catch(() => undefined);
    await env.timers.runFor(random.int(60));
    expect(log.points.failure).toBe(null);
    this.rolled = Math.max(this.rolled, ...log.writer.segments.map((segment) => segment.number));
    this.reused += log.writer.segments.filter((segment) => segment.generation > 0).length;
    const { read, durable } = log.points;
    if (random.int(3) === 0) {
      const sure = Math.max(durable, ...[...this.#handedOver].filter((tso) => tso <= read));
      return { env: env.kill(), sure, last: log.tso };
    }
    const keepUnsynced = [0, 0.5, 1][random.int(3)]!;
    return { env: env.crash({ keepUnsynced }), sure: durable, last: log.tso };
  }

  /** `sure`: everything up to it must be there. `last`: nothing beyond it may be. */
  #check(log: Log, sure: number, last: number): void {
    const found = log.records.map((line) => line.replace(/ skipped \d+-\d+/, ''));
    const commits = found.filter((line) => line.includes(':'));
    const tsos = commits.map((line) => Number(line.split(' ')[0]));
    for (const [i, tso] of tsos.entries())
      expect(commits[i], 'a record').toBe(this.#model.get(tso));
    const model = [...this.#model.keys()];
    const first = tsos[0] ?? Infinity;
    const end = tsos.at(-1) ?? 0;
    const want = model.filter((tso) => tso >= first && tso <= end);
    expect(tsos, 'no hole').toEqual(want);
    const released = model.filter((tso) => tso < first && tso >= this.#floor && tso <= sure);
    expect(released, 'nothing released that is needed').toEqual([]);
    const lost = model.filter((tso) => tso > end && tso <= sure && tso >= this.#floor);
    expect(lost, 'nothing lost that was promised').toEqual([]);
    expect(log.tso).toBeLessThanOrEqual(last);
    // What is gone is gone: its TSOs are given again.
    for (const tso of model) if (tso > end) this.#model.delete(tso);
    for (const tso of this.#handedOver) if (tso > end) this.#handedOver.delete(tso);
  }
}

describe('power cuts and kills', () => {
  test.each(Array.from({ length: 8 }, (_, i) => ({ seed: i + 1 })))(
    'seed $seed',
    async ({ seed }) => {
      const lives = new Lives(seeded(seed));
      let state = { env: machine(seed), sure: 0, last: 0 };
      for (let life = 0; life < 25; life++)
        state = await lives.live(state.env, state.sure, state.last);
      expect(lives.rolled).toBeGreaterThan(10);
      expect(lives.reused).toBeGreaterThan(0);
    },
  );
});
