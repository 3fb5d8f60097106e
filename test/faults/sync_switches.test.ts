/**
 * The switches that HBASE-5954 names, each with the guarantee it gives, under power loss and kills at random moments: the
 * log synced with each batch (DURABILITY FSYNC_WAL) or not (SYNC_WAL), store files synced before they count
 * (STORE_FILE_SYNC) or behind their back; per table, and per family over it.
 */
import { describe, expect, test } from 'vitest';
import { seeded, simEnv } from '../../src/io/index.ts';
import type { SeededRandom, SimEnv } from '../../src/io/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import type { FamilySpec, TableSpec } from '../../src/model/index.ts';
import { openAt, rowName } from './support.ts';

const SEEDS = 6;
const valueOf = (i: number): string => `${i} `.padEnd(1000 + (i % 7) * 300, 'v');

/** What the machine is told to do, and what it answered until it went down. */
interface Told {
  acknowledged: number;
  /** Rows that a finished `sync` or flush covers. */
  synced: number;
}

interface Case {
  readonly log: 'FSYNC_WAL' | 'SYNC_WAL' | 'SKIP_WAL';
  readonly isFileSynced: boolean;
  /** Whether the family says it, against its table. */
  readonly byFamily: boolean;
}

function tableOf({ log, isFileSynced, byFamily }: Case): TableSpec {
  const own = { DURABILITY: log, STORE_FILE_SYNC: isFileSynced };
  const family: FamilySpec = { name: 'f', VERSIONS: 1, ...(byFamily ? own : {}) };
  if (!byFamily) return { name: 't', families: [family], ...own };
  return { name: 't', families: [family], STORE_FILE_SYNC: !isFileSynced };
}

/** Writes rows in order, flushing and syncing now and then, until the machine stops. */
async function write(store: EmbeddedConnection, random: SeededRandom, told: Told): Promise<void> {
  const { catalog, background } = store.server;
  for (let i = 0; ; i++) {
    await store.table('t').put(rowName(i), { 'f:a': valueOf(i) });
    told.acknowledged = i + 1;
    const table = catalog.get('t');
    if (random.chance(0.1)) background.flusher.request(table, table.regions[0]!);
    if (random.chance(0.02)) {
      await store.admin.flush('t');
      told.synced = i + 1;
    }
  }
}

async function rowsOf(store: EmbeddedConnection): Promise<number[]> {
  const rows: number[] = [];
  for await (const result of store.table('t').scan()) {
    const i = Number(result.rowText.slice(3));
    expect(result.text('f:a')).toBe(valueOf(i));
    rows.push(i);
  }
  return rows;
}

/** One life and its end; gives what it was told and what the next life finds. */
async function live(
  seed: number,
  theCase: Case,
  ending: 'power' | 'kill',
): Promise<{ told: Told; rows: number[]; unsynced: number }> {
  const random = seeded(seed);
  let env: SimEnv = simEnv({ seed });
  // Small segments, so that the log is really given up behind a flush.
  const store = await env.drive(openAt(env, { asyncSyncMs: 30 }));
  await env.drive(store.admin.createTable(tableOf(theCase)));
  const told: Told = { acknowledged: 0, synced: 0 };
  const writing = write(store, random, told);
  writing.catch(() => undefined); // It ends with the machine.
  await env.timers.runFor(20 + random.float() * 200);
  const unsynced = [...store.server.manifest.all('setting')].filter(({ name }) =>
    name.startsWith('unsynced.'),
  ).length;
  env = ending === 'kill' ? env.kill() : env.crash({ keepUnsynced: [0, 0.5, 1][seed % 3]! });
  const again = await env.drive(openAt(env));
  const rows = await env.drive(rowsOf(again));
  // Nothing of what was forgotten is left behind, and the store works.
  await env.drive(again.table('t').put('zzz', { 'f:a': 'x' }));
  await env.drive(again.admin.compact('t', { major: true }));
  await env.drive(again.close());
  return { told, rows, unsynced };
}

const count = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const SWITCHES = [true, false].flatMap((isFileSynced) =>
  [true, false].map((byFamily) => ({ isFileSynced, byFamily })),
);

describe.each(SWITCHES)('store files synced $isFileSynced, by family $byFamily', (files) => {
  test.each(['power', 'kill'] as const)('FSYNC_WAL keeps what it answered, %s', async (ending) => {
    let unsynced = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const life = await live(seed, { log: 'FSYNC_WAL', ...files }, ending);
      expect(life.rows.slice(0, life.told.acknowledged)).toEqual(count(life.told.acknowledged));
      expect(life.rows).toEqual(count(life.rows.length));
      unsynced += life.unsynced;
    }
    // The switch does something: some lives ended with a live file that was not synced.
    expect(unsynced > 0).toBe(!files.isFileSynced);
  });

  test('SYNC_WAL keeps a beginning without holes over a power cut, all over a kill', async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const cut = await live(seed, { log: 'SYNC_WAL', ...files }, 'power');
      expect(cut.rows).toEqual(count(cut.rows.length));
      expect(cut.rows.length).toBeGreaterThanOrEqual(cut.told.synced);
      const kill = await live(seed, { log: 'SYNC_WAL', ...files }, 'kill');
      expect(kill.rows.length).toBeGreaterThanOrEqual(kill.told.acknowledged);
      expect(kill.rows).toEqual(count(kill.rows.length));
    }
  });

  test('SKIP_WAL keeps what a flush that was waited for has covered', async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const life = await live(seed, { log: 'SKIP_WAL', ...files }, 'power');
      expect(life.rows.slice(0, life.told.synced)).toEqual(count(life.told.synced));
    }
  });
});

test('a store file that cannot be synced ends writing, and the log keeps everything', async () => {
  let fails = false;
  const env = simEnv({
    seed: 3,
    failWhen: (op) => (fails && op.kind === 'sync' && op.path.includes('/data/') ? 'io' : null),
  });
  const store = await env.drive(openAt(env));
  await env.drive(store.admin.createTable({ name: 't', families: ['f'], STORE_FILE_SYNC: false }));
  for (let i = 0; i < 20; i++)
    await env.drive(store.table('t').put(rowName(i), { 'f:a': valueOf(i) }));
  fails = true;
  await expect(env.drive(store.admin.flush('t'))).rejects.toMatchObject({
    code: 'StoreFileSyncFailedException',
  });
  await expect(env.drive(store.table('t').put('x', { 'f:a': 'y' }))).rejects.toThrow(
    'a store file could not be synced',
  );
  expect(await env.drive(rowsOf(store))).toEqual(count(20));
  const after = env.crash({ keepUnsynced: 0 });
  const again = await after.drive(openAt(after));
  expect(await after.drive(rowsOf(again))).toEqual(count(20));
  await after.drive(again.close());
});
