/**
 * The oracle over the manifest on a simulated disk, killed and cut off again and again. What must hold: no stamp that left
 * the process, and none in a synced log, is given twice, and order holds over all restarts.
 */
import { expect, test } from 'vitest';
import { memoryEnv, seeded, SimClock, type SimEnv, simEnv, SimTimers } from '../../src/io/index.ts';
import { Manifest, type OracleRecord } from '../../src/manifest/index.ts';
import { StoreClosedException } from '../../src/model/index.ts';
import { inManifest, Oracle, type OraclePersistence, tsoOfHalves } from '../../src/tso/index.ts';

const DIR = '/store';
const WINDOW_MS = 1000;

interface Opened {
  readonly manifest: Manifest;
  readonly oracle: Oracle;
}

async function openBoth(env: SimEnv, largestTso: bigint): Promise<Opened> {
  const manifest = await Manifest.open(env, DIR, { checkpointAfterBytes: 2000 });
  const oracle = await Oracle.open({
    env,
    persistence: inManifest(manifest),
    largestTso,
    dataExists: false,
    serverId: manifest.store.serverId,
  });
  return { manifest, oracle };
}

async function newMachine(seed: number): Promise<SimEnv> {
  const env = simEnv({ seed });
  await env.drive(env.fs.ensureFolder(DIR));
  await env.drive(env.fs.syncFolder('/'));
  return env;
}

/** Stamps are kept as the greatest so far: a repeat is one that is not above it. */
class Witness {
  greatest = 0n;
  stampCount = 0;
  see(first: bigint, last: bigint = first): void {
    expect(first).toBeGreaterThan(this.greatest);
    this.greatest = last;
    this.stampCount += Number(last - first) + 1;
  }
}

test.each([1, 2, 3])(
  '400 crashes and reopenings (1200 in all) with random clock steps, seed %i',
  async (seed) => {
    const random = seeded(seed);
    let env = await newMachine(seed);
    const seen = new Witness();
    let logged = 0n; // The largest TSO in the synced log.
    for (let round = 0; round < 400; round++) {
      const opening = openBoth(env, logged);
      if (random.chance(0.1)) {
        await env.timers.runFor(random.float() * 5); // Killed while it opens.
        opening.catch(() => undefined);
      } else {
        const { oracle, manifest } = await env.drive(opening);
        for (let step = random.int(6); step > 0; step--) {
          await env.timers.runFor(random.float() * 30);
          if (random.chance(0.2)) env.clock.step(random.int(4000) - 2000);
          switch (random.int(4)) {
            case 0: {
              const run = await env.drive(oracle.allocate(1 + random.int(3)));
              seen.see(run.first, run.last);
              break;
            }
            case 1: {
              // A commit whose stamp leaves only when its log record is synced.
              oracle.next();
              logged = tsoOfHalves(oracle.high, oracle.low);
              seen.see(logged);
              break;
            }
            case 2: {
              // A commit that skips the log.
              oracle.next();
              const tso = tsoOfHalves(oracle.high, oracle.low);
              await env.drive(oracle.publish(tso));
              seen.see(tso);
              break;
            }
            default:
              oracle.next(); // Lost in the crash: nobody has seen it.
          }
        }
        if (random.chance(0.2)) {
          await env.drive(oracle.close());
          await env.drive(manifest.close());
        } else if (random.chance(0.3)) {
          // An allocation under way when the machine stops.
          oracle.allocate(1).catch(() => undefined);
          await env.timers.runFor(random.float() * 2);
        }
      }
      env = random.chance(0.5) ? env.kill() : env.crash({ keepUnsynced: random.float() });
    }
    expect(seen.stampCount).toBeGreaterThan(400);
  },
);

test('10 000 kills and reopenings in a minute keep the lead under two windows, outside stamps included', async () => {
  const timers = new SimTimers();
  const clock = new SimClock(timers);
  const env = { ...memoryEnv(), timers, clock };
  const startedMs = clock.nowMs();
  const random = seeded(7);
  const seen = new Witness();
  let record: OracleRecord | null = null;
  let worstLeadMs = 0;
  const persistence: OraclePersistence = {
    load: () => record,
    save: async (saved) => {
      await timers.sleep(random.float() * 2);
      record = saved;
    },
  };
  const options = { env, persistence, largestTso: 0n, dataExists: false, serverId: 's' };
  for (let round = 0; round < 10_000; round++) {
    const oracle = await timers.drive(Oracle.open(options));
    const run = await timers.drive(oracle.allocate(1));
    seen.see(run.first, run.last);
    worstLeadMs = Math.max(worstLeadMs, oracle.physicalMs - clock.nowMs());
    oracle.stop(new StoreClosedException('killed'));
    clock.set(startedMs + (round + 1) * 6); // 10 000 rounds of 6 ms: a minute.
  }
  expect(seen.stampCount).toBe(10_000);
  expect(worstLeadMs).toBeLessThan(2 * WINDOW_MS);
});

test('a store killed at once after each open still makes checkpoints', async () => {
  let env = await newMachine(5);
  const seen = new Witness();
  for (let round = 0; round < 200; round++) {
    const { oracle } = await env.drive(openBoth(env, 0n));
    const run = await env.drive(oracle.allocate(1));
    seen.see(run.first, run.last);
    env = env.kill();
  }
  expect(env.fs.usedBytes).toBeLessThan(20_000);
});
