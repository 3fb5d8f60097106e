/**
 * The property that history rests on: whatever happens to a store after a moment (flushes, compactions, changes of schema,
 * drops, more writes, merging of history, reopening, a killed process), a read as of that moment answers what it answered then, to
 * the byte. Random workloads on a simulated machine; PAST_SEEDS=n runs n seeds from PAST_SEED (default 1) on.
 */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import type {
  DeleteSpec,
  FamilySpec,
  Result,
  ScanOptions,
  TimeRange,
} from '../../src/model/index.ts';

const FIRST_SEED = Number(process.env['PAST_SEED'] ?? 1);
const SEEDS = Number(process.env['PAST_SEEDS'] ?? 3);
const STEPS = 70;
const TABLES = ['t', 'u'];
const FAMILIES = ['a', 'b', 'c'];

interface Moment {
  readonly tso: bigint;
  readonly step: number;
  readonly seen: ReadonlyMap<string, string>;
}

type Chance = ReturnType<typeof seeded>;

const pick = <T>(random: Chance, values: readonly T[]): T => values[random.int(values.length)]!;

function randomFamily(random: Chance, name: string): FamilySpec {
  return {
    name,
    VERSIONS: 1 + random.int(4),
    ...(random.chance(0.3) ? { TTL: 1 + random.int(4) } : {}),
    ...(random.chance(0.3) ? { MIN_VERSIONS: random.int(2) } : {}),
    KEEP_DELETED_CELLS: pick(random, ['FALSE', 'FALSE', 'TRUE', 'TTL']),
    NEW_VERSION_BEHAVIOR: random.chance(0.3),
    DATA_BLOCK_ENCODING: pick(random, ['NONE', 'FAST_DIFF', 'ROW_INDEX_V1']),
    BLOOMFILTER: pick(random, ['ROW', 'NONE', 'ROWCOL']),
    BLOCKSIZE: pick(random, [1024, 65536]),
  };
}

class Run {
  env: SimEnv;
  connection: EmbeddedConnection;
  readonly #random: Chance;
  readonly #moments: Moment[] = [];
  step = 0;
  merges = 0;

  private constructor(env: SimEnv, connection: EmbeddedConnection, random: Chance) {
    this.env = env;
    this.connection = connection;
    this.#random = random;
  }

  static async start(env: SimEnv, seed: number): Promise<Run> {
    return new Run(env, await openStore(env), seeded(seed + 1000));
  }

  /** One random step. What the table's state refuses (no such family, …) is no failure. */
  async next(): Promise<void> {
    this.step++;
    const random = this.#random;
    const table = pick(random, TABLES);
    const dice = random.int(100);
    if (dice < 55) await this.#write(table);
    else if (dice < 68) await this.connection.admin.flush(table);
    else if (dice < 74) await this.connection.admin.compact(table, { major: random.chance(0.5) });
    else if (dice < 80) await this.#alter(table);
    else if (dice < 82) await this.connection.admin.truncateTable(table);
    else if (dice < 84) await this.#recreate(table);
    else if (dice < 90) await this.env.timers.sleep(random.int(1500));
    else if (dice < 92) await this.env.timers.sleep(61_000);
    else await this.#remember();
  }

  async create(): Promise<void> {
    const random = this.#random;
    for (const name of TABLES) {
      await this.connection.admin.createTable({
        name,
        families: FAMILIES.map((family) => randomFamily(random, family)),
        ...(random.chance(0.5) ? { SPLITS: ['r3'] } : {}),
      });
    }
  }

  async #recreate(name: string): Promise<void> {
    const { admin } = this.connection;
    await admin.disableTable(name);
    await admin.dropTable(name);
    await this.env.timers.sleep(this.#random.int(20));
    const families = FAMILIES.map((family) => randomFamily(this.#random, family));
    await admin.createTable({ name, families });
  }

  async #alter(table: string): Promise<void> {
    const random = this.#random;
    const family = pick(random, FAMILIES);
    const { admin } = this.connection;
    const { families } = await admin.describeTable(table);
    if (!families.some(({ name }) => name === family)) {
      await admin.addFamily(table, randomFamily(random, family));
    } else if (families.length > 1 && random.chance(0.4)) await admin.dropFamily(table, family);
    else await admin.modifyFamily(table, randomFamily(random, family));
  }

  async #write(name: string): Promise<void> {
    const random = this.#random;
    const table = this.connection.table(name);
    const { families } = await this.connection.admin.describeTable(name);
    for (let i = 1 + random.int(12); i > 0; i--) {
      const row = `r${random.int(6)}`;
      const family = pick(random, families).name;
      const column = `${family}:${pick(random, ['', 'p', 'q'])}`;
      const nowMs = Math.floor(this.env.clock.nowMs());
      // Mostly the commit's own time; else one of a few, so that versions meet.
      const ts = random.chance(0.6)
        ? {}
        : { ts: BigInt(nowMs - (nowMs % 500) - random.int(4) * 500) };
      if (random.chance(0.7)) {
        const ttl = random.chance(0.15) ? { ttl: 1 + random.int(3000) } : {};
        const value = `${this.step}.${i}${'x'.repeat(random.int(20))}`;
        await table.put(row, { [column]: value }, { ...ts, ...ttl });
      } else await table.delete(row, randomDelete(random, family, column, nowMs, ts));
    }
  }

  /** Takes a moment and what is seen now. */
  async #remember(): Promise<void> {
    const before = await this.connection.tso();
    const now = await this.#see(undefined);
    const tso = await this.connection.tso();
    const seen = await this.#see(tso);
    // Nothing is written meanwhile: a read of now and one as of now differ only in the time that TTL is judged by.
    if (before >> 18n === tso >> 18n) expect(seen, `step ${this.step}`).toEqual(now);
    this.#moments.push({ tso, step: this.step, seen });
  }

  async #see(asOf: bigint | undefined): Promise<Map<string, string>> {
    const seen = new Map<string, string>();
    for (const name of TABLES) {
      const table = this.connection.table(name);
      for (const [what, options] of Object.entries(READS)) {
        const spec = { ...options, ...(asOf === undefined ? {} : { asOf }) };
        seen.set(`${name} ${what}`, textOf(await table.scan(spec).nextBatch(10_000)));
      }
      for (const row of ['r0', 'r2', 'r5']) {
        const spec = { versions: 3, ...(asOf === undefined ? {} : { asOf }) };
        const result = await table.get(row, spec);
        seen.set(`${name} get ${row}`, result === null ? 'null' : textOf([result]));
      }
      const count = await table.count(asOf === undefined ? {} : { asOf });
      seen.set(`${name} count`, `${count}`);
    }
    return seen;
  }

  async verify(): Promise<void> {
    for (const { tso, step, seen } of this.#moments) {
      const again = await this.#see(tso);
      expect(again, `moment of step ${step}, read in step ${this.step}`).toEqual(seen);
    }
  }

  get moments(): number {
    return this.#moments.length;
  }

  noteMerges(): void {
    this.merges += this.connection.status().history.merges;
  }
}

const timeRange = (min: number, max: number): TimeRange => ({
  min: BigInt(START_MS + min),
  max: BigInt(START_MS + max),
});
const START_MS = 1_700_000_000_000;
const READS: Readonly<Record<string, ScanOptions>> = {
  newest: {},
  versions: { versions: 10 },
  reversed: { reversed: true, versions: 2 },
  range: { versions: 3, timeRange: timeRange(1000, 60_000) },
  part: { start: 'r1', stop: 'r4', versions: 2 },
};

function randomDelete(
  random: Chance,
  family: string,
  column: string,
  nowMs: number,
  ts: { ts?: bigint },
): DeleteSpec {
  switch (random.int(5)) {
    case 0:
      return { columns: [column], ...ts };
    case 1:
      return { versions: [column], ...ts };
    case 2:
      return { families: [family], ...ts };
    case 3:
      return { familyVersions: [family], ts: BigInt(nowMs - (nowMs % 500)) };
    default:
      return ts;
  }
}

function textOf(results: readonly Result[]): string {
  const lines = results.flatMap((result) =>
    result.cells.map(
      ({ family, qualifier, ts, tso, tags, value }) =>
        `${result.rowText} ${family}:${Buffer.from(qualifier).toString()} @${ts} #${tso} ${Buffer.from(tags).toString('hex')} = ${Buffer.from(value).toString()}`,
    ),
  );
  return lines.join('\n');
}

const openStore = (env: SimEnv): Promise<EmbeddedConnection> =>
  open('/data', { env, blockingSync: false, historyFilesMax: 2 });

/** Runs `work` to its end on the machine that is the run's when it begins. */
async function on(env: SimEnv, work: () => Promise<void>): Promise<void> {
  await env.drive(work(), 1e9);
}

async function runSeed(seed: number): Promise<Run> {
  const env = simEnv({ seed, startMs: START_MS });
  let run!: Run;
  await on(env, async () => {
    run = await Run.start(env, seed);
    await run.create();
  });
  const random = seeded(seed + 2000);
  while (run.step < STEPS) {
    await on(run.env, async () => {
      await run.next();
      if (run.step % 25 === 0) await run.verify();
      if (!random.chance(0.04)) return;
      run.noteMerges();
      await run.connection.close();
      run.connection = await openStore(run.env);
    });
    if (!random.chance(0.02)) continue;
    run.noteMerges();
    run.env = run.env.kill();
    await on(run.env, async () => {
      run.connection = await openStore(run.env);
    });
  }
  await on(run.env, async () => {
    await run.verify();
    run.noteMerges();
    await run.connection.close();
  });
  return run;
}

describe('a moment stays as it was', () => {
  let merges = 0;
  test.each(Array.from({ length: SEEDS }, (_, i) => FIRST_SEED + i))('seed %i', async (seed) => {
    const run = await runSeed(seed);
    expect(run.moments).toBeGreaterThan(0);
    merges += run.merges;
  });

  test('history files were merged meanwhile', () => expect(merges).toBeGreaterThan(0));
});
