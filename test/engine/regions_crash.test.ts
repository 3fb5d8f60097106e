/**
 * Splits and merges at random among writers, flushes, compactions and scans, on a machine that is cut off or killed at a random
 * moment, life after life: every row that was acknowledged is there, once, in order, with a value that was written.
 */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import type { SeededRandom, SimEnv } from '../../src/io/index.ts';
import { StoreException } from '../../src/io/index.ts';
import type { Result } from '../../src/model/index.ts';

const LIVES = 2;
const ROWS = 60;

const rowAt = (n: number): string => `r${String(n).padStart(3, '0')}`;

/** What is known of a row: its value is one of those from the acknowledged one on. */
interface Known {
  acknowledged: number;
  attempted: number;
}

class World {
  readonly random: SeededRandom;
  readonly known = new Map<string, Known>();
  value = 0;
  splits = 0;
  merges = 0;
  failure: Error | null = null;
  isOver = false;

  constructor(seed: number) {
    this.random = seeded(seed);
  }

  /** Throws what went wrong. */
  check(): void {
    if (this.failure !== null) throw this.failure;
  }

  /** Keeps doing something until the life is over. */
  async loop(env: SimEnv, ms: number, step: () => Promise<void>): Promise<void> {
    while (!this.isOver && this.failure === null) {
      try {
        await step();
      } catch (error) {
        // A split that others came before is refused; anything else is a fault.
        if (!(error instanceof StoreException)) {
          this.failure = error instanceof Error ? error : new Error(String(error));
        }
      }
      await env.timers.sleep(this.random.float() * ms);
    }
  }

  async write(connection: EmbeddedConnection): Promise<void> {
    const row = rowAt(this.random.int(ROWS));
    const known = this.known.get(row) ?? { acknowledged: -1, attempted: -1 };
    this.known.set(row, known);
    const value = ++this.value;
    known.attempted = value;
    // One writer a row at a time is enough: rows are drawn anew each time.
    await connection
      .table('t')
      .put(row, { 'f:v': String(value), 'g:x': 'y'.repeat(this.random.int(200)) });
    if (value > known.acknowledged) known.acknowledged = value;
  }

  async reshape(connection: EmbeddedConnection): Promise<void> {
    const { admin } = connection;
    const pick = this.random.int(10);
    if (pick === 0) return admin.flush('t');
    if (pick === 1) return admin.compact('t', { major: this.random.chance(0.5) });
    const regions = await connection.regions('t');
    if (regions.length > 1 && this.random.chance(regions.length / 6)) {
      const at = this.random.int(regions.length - 1);
      await admin.mergeRegions('t', regions[at]!.encodedName, regions[at + 1]!.encodedName);
      this.merges++;
    } else {
      await admin.split('t', rowAt(this.random.int(ROWS)));
      this.splits++;
    }
  }

  /** A scan that takes its time: rows in order, none missing that was there before it began. */
  async read(env: SimEnv, connection: EmbeddedConnection): Promise<void> {
    const reversed = this.random.chance(0.5);
    const acknowledged = new Map([...this.known].map(([row, known]) => [row, known.acknowledged]));
    const results: Result[] = [];
    const scanner = connection.table('t').scan({ reversed });
    for (;;) {
      const batch = await scanner.nextBatch(1 + this.random.int(15));
      if (batch.length === 0) break;
      results.push(...batch);
      if (this.random.chance(0.5)) await env.timers.sleep(this.random.float() * 20);
    }
    if (!this.isOver) this.judge(reversed ? results.toReversed() : results, acknowledged);
  }

  judge(results: readonly Result[], acknowledged: ReadonlyMap<string, number>): void {
    const rows = results.map(({ rowText }) => rowText);
    expect(rows).toEqual([...new Set(rows)].sort());
    const found = new Map(results.map((result) => [result.rowText, Number(result.text('f:v'))]));
    for (const [row, least] of acknowledged) {
      if (least >= 0) expect(found.get(row), row).toBeGreaterThanOrEqual(least);
    }
    for (const [row, value] of found) {
      expect(value, row).toBeLessThanOrEqual(this.known.get(row)!.attempted);
    }
  }
}

const start = (env: SimEnv): Promise<EmbeddedConnection> =>
  open('/data', { env, blockingSync: false, logSegmentBytes: 1 << 17, memstoreBytes: 1 << 20 });

async function everything(connection: EmbeddedConnection): Promise<Result[]> {
  const results: Result[] = [];
  for await (const result of connection.table('t').scan()) results.push(result);
  return results;
}

/** After a crash: nothing acknowledged is lost, and the regions cover all rows once. */
async function recover(world: World, env: SimEnv): Promise<EmbeddedConnection> {
  const connection = await start(env);
  const regions = await connection.regions('t');
  regions.forEach(({ startKey, endKey }, i) => {
    if (i === 0) expect(startKey).toHaveLength(0);
    expect([...endKey]).toEqual([...(regions[i + 1]?.startKey ?? [])]);
  });
  const results = await everything(connection);
  const acknowledged = new Map([...world.known].map(([row, known]) => [row, known.acknowledged]));
  world.judge(results, acknowledged);
  return connection;
}

async function run(seed: number): Promise<World> {
  const world = new World(seed);
  let env = simEnv({ seed });
  let connection = await env.drive(start(env));
  await env.drive(connection.admin.createTable({ name: 't', families: ['f', 'g'] }));
  for (let life = 0; life < LIVES; life++) {
    world.isOver = false;
    const [here, store] = [env, connection];
    const clients = [
      world.loop(here, 4, () => world.write(store)),
      world.loop(here, 4, () => world.write(store)),
      world.loop(here, 25, () => world.reshape(store)),
      world.loop(here, 30, () => world.reshape(store)),
      world.loop(here, 10, () => world.read(here, store)),
    ];
    await env.drive(env.timers.sleep(100 + world.random.float() * 300));
    world.isOver = true;
    world.check();
    const ending = world.random.int(3);
    if (ending === 0)
      await env.drive(
        Promise.all(clients).then(() => store.close()),
        10_000_000,
      );
    env = ending === 2 ? env.crash({ keepUnsynced: world.random.float() }) : env.kill();
    world.check();
    connection = await env.drive(recover(world, env), 10_000_000);
  }
  await env.drive(connection.close());
  return world;
}

describe('splits and merges in the middle of everything', () => {
  test.each([1, 2, 3])('no row is lost, doubled or out of order with seed %i', async (seed) => {
    const world = await run(seed);
    expect(world.splits).toBeGreaterThan(0);
    expect(world.splits + world.merges).toBeGreaterThan(4);
    expect(world.value).toBeGreaterThan(60);
  });
});

describe('a crash at each step', () => {
  /** The machine after a crash at this virtual moment of a split and the merge behind it. */
  const crashed = async (
    afterMs: number,
    power: boolean,
  ): Promise<{ isDone: boolean; starts: string[]; rows: string[] }> => {
    const env = simEnv({ seed: 77 });
    const connection = await env.drive(start(env));
    await env.drive(
      (async (): Promise<void> => {
        await connection.admin.createTable({ name: 't', families: ['f'] });
        for (let i = 0; i < 12; i++) await connection.table('t').put(rowAt(i), { 'f:v': `a${i}` });
        await connection.admin.flush('t');
        for (let i = 0; i < 12; i += 2)
          await connection.table('t').put(rowAt(i), { 'f:v': `b${i}` });
      })(),
    );
    let isDone = false;
    void (async (): Promise<void> => {
      await connection.admin.split('t', rowAt(5));
      const [one, other] = await connection.regions('t');
      await connection.admin.mergeRegions('t', one!.encodedName, other!.encodedName);
      isDone = true;
    })();
    await env.drive(env.timers.sleep(afterMs));
    const next = power ? env.crash({ keepUnsynced: 0.5 }) : env.kill();
    const again = await next.drive(start(next));
    const results = await next.drive(everything(again));
    const regions = await next.drive(again.regions('t'));
    await next.drive(again.close());
    return {
      isDone,
      starts: regions.map(({ startKey }) => Buffer.from(startKey).toString()),
      rows: results.map((result) => `${result.rowText}=${result.text('f:v') ?? ''}`),
    };
  };

  test.each([true, false])('leaves the old regions or the new (power cut: %s)', async (power) => {
    const seen = new Set<string>();
    for (let afterMs = 0, isDone = false; !isDone; afterMs += 0.17) {
      const after = await crashed(afterMs, power);
      const wanted = Array.from({ length: 12 }, (_, i) => `${rowAt(i)}=${i % 2 ? 'a' : 'b'}${i}`);
      expect(after.rows).toEqual(wanted);
      seen.add(after.starts.join());
      isDone = after.isDone;
    }
    // The whole table, both halves, and the whole again.
    expect([...seen].sort()).toEqual(['', `,${rowAt(5)}`]);
  });
});
