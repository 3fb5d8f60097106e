/**
 * Transfers over three tables that keep a sum, while exports, backups, restores and reads of the past go on, with splits, flushes,
 * compactions and merged history between, under a clock that is stepped both ways, and kills at random steps: everything
 * shows the model's state at its TSO.
 */
import { expect, test } from 'vitest';
import {
  createBackup,
  exportTables,
  importTables,
  listBackups,
  restoreBackup,
  verifyBackups,
  verifyExport,
} from '../../src/backup/index.ts';
import type { ExportFormat, ExportManifest } from '../../src/backup/index.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import type { SeededRandom, SimEnv } from '../../src/io/index.ts';
import {
  SUM,
  TABLES,
  Transfers,
  exportText,
  readState,
  setUp,
  sorted,
  sumOf,
} from './transfers.ts';

const OPTIONS = {
  blockingSync: false,
  logSegmentBytes: 1 << 16,
  autoCompact: false,
  historyFilesMax: 2,
};
const FORMATS: readonly ExportFormat[] = ['jsonl', 'csv', 'sequencefile', 'hfile'];
/** Below the threshold of half an hour beyond which a clock that went back is refused. */
const STEP_MS_MAX = 600_000;

const start = (env: SimEnv, dir: string): Promise<EmbeddedConnection> =>
  open(dir, { env, ...OPTIONS });

interface Run {
  readonly env: SimEnv;
  readonly store: EmbeddedConnection;
  readonly transfers: Transfers;
  readonly chance: SeededRandom;
}

async function expectState(
  store: EmbeddedConnection,
  { transfers }: Run,
  tso: bigint,
  asOf?: bigint,
): Promise<void> {
  const state = await readState(store, asOf);
  expect(sumOf(state)).toBe(SUM);
  expect(sorted(state)).toEqual(sorted(transfers.at(tso)));
}

/** Text exports byte for byte; the others by what an import of them holds. */
async function judgeExport(run: Run, out: string, manifest: ExportManifest): Promise<void> {
  const { env, transfers } = run;
  const tso = BigInt(manifest.tso);
  expect((await verifyExport(env, out)).faults).toEqual([]);
  const { exportFormat: format } = manifest;
  if (format === 'jsonl' || format === 'csv') {
    for (const table of manifest.tables) {
      let text = '';
      for (const { path } of table.files) {
        const part = Buffer.from(await env.fs.readFile(`${out}/${path}`)).toString('utf8');
        text += format === 'csv' ? part.slice(part.indexOf('\n') + 1) : part;
      }
      expect(text).toBe(exportText(transfers, tso, table.name, format));
    }
    return;
  }
  const other = await start(env, `${out}-store`);
  await other.admin.createNamespace('ns');
  await importTables(other, env, out, { create: true });
  await expectState(other, run, tso);
  // Cell by cell, timestamps too: its own export is that of the model.
  const again = await exportTables(other, env, TABLES, `${out}-again`, { format: 'csv' });
  for (const table of again.tables) {
    const parts: string[] = [];
    for (const { path } of table.files) {
      const part = Buffer.from(await env.fs.readFile(`${out}-again/${path}`)).toString('utf8');
      parts.push(part.slice(part.indexOf('\n') + 1));
    }
    expect(parts.join('')).toBe(exportText(transfers, tso, table.name, 'csv'));
  }
  await other.close();
}

async function restoreAndJudge(run: Run, dir: string, asOf: bigint): Promise<void> {
  await restoreBackup(run.env, '/backups', dir, { asOf });
  const restored = await start(run.env, dir);
  await expectState(restored, run, asOf);
  await restored.close();
}

/** One round: transfers, and beside them whatever chance picks. */
async function round(run: Run, number: number): Promise<void> {
  const { env, store, transfers, chance } = run;
  const writing = (async (): Promise<void> => {
    for (let i = 0; i < 25; i++) {
      await transfers.step();
      if (chance.int(3) === 0) await env.timers.sleep(chance.int(20));
    }
  })();
  const table = TABLES[chance.int(TABLES.length)]!;
  env.clock.step((chance.int(2) === 0 ? 1 : -1) * (1 + chance.int(STEP_MS_MAX)));
  await store.admin.flush(table);
  const out = `/out${number}`;
  const exporting = exportTables(store, env, TABLES, out, { format: FORMATS[number % 4]! });
  if (number === 1) await store.admin.split('ns:b', 'r06');
  await store.admin.compact(table, { major: true });
  await judgeExport(run, out, await exporting);
  env.clock.step((chance.int(2) === 0 ? 1 : -1) * (1 + chance.int(STEP_MS_MAX)));
  const backingUp = createBackup(store.server, '/backups', { incremental: number % 3 !== 0 });
  // Small history files are merged while the backup captures and copies.
  await Promise.all([store.server.background.history.run(), store.admin.flush()]);
  const { toTso } = await backingUp;
  await store.server.background.history.run();
  const past = transfers.history[chance.int(transfers.history.length)]!.tso;
  if (past >= transfers.history[3 * 12 - 1]!.tso) await expectState(store, run, past, past);
  await writing;
  const { backups } = await listBackups(env, '/backups');
  const first = backups.findLast(({ kind }) => kind === 'full')!.toTso;
  const covered = transfers.history.map(({ tso }) => tso).filter((t) => t >= first && t <= toTso);
  await restoreAndJudge(run, `/restored${number}`, covered[chance.int(covered.length)] ?? toTso);
  await restoreAndJudge(run, `/restored${number}-end`, toTso);
}

/** A machine whose server was killed while the round ran: its store, its backups. */
async function judgeKilled(env: SimEnv, run: Run, atLeast: number): Promise<void> {
  const { transfers } = run;
  const store = await start(env, '/data');
  const state = JSON.stringify(sorted(await readState(store)));
  const found = transfers.history.findLastIndex(
    (entry) => JSON.stringify(sorted(entry.state)) === state,
  );
  expect(found + 1).toBeGreaterThanOrEqual(atLeast);
  await store.close();
  if ((await env.fs.stat('/backups')) === null) return;
  expect((await verifyBackups(env, '/backups', null)).faults).toEqual([]);
  const { backups } = await listBackups(env, '/backups');
  const newest = backups.at(-1);
  if (newest !== undefined) await restoreAndJudge({ ...run, env }, '/after', newest.toTso);
}

test.each([1, 2])('seed %d', async (seed) => {
  const env = simEnv({ seed });
  const store = await env.drive(start(env, '/data'));
  const transfers = new Transfers(store, seed);
  const run = { env, store, transfers, chance: seeded(seed) };
  await env.drive(setUp(store).then(() => transfers.begin()));
  const killed: { readonly env: SimEnv; readonly commits: number }[] = [];
  for (let number = 0; number < 5; number++) {
    let until = 20 + run.chance.int(400);
    env.fs.failWhen = () => {
      if (--until === 0) killed.push({ env: env.kill(), commits: transfers.commits });
      return null;
    };
    await env.drive(round(run, number), 10_000_000);
  }
  env.fs.failWhen = null;
  expect(store.server.background.history.merges).toBeGreaterThan(0);
  expect((await env.drive(verifyBackups(env, '/backups', null))).faults).toEqual([]);
  await env.drive(store.close());
  expect(killed.length).toBeGreaterThan(2);
  for (const machine of killed) {
    await machine.env.drive(judgeKilled(machine.env, run, machine.commits), 10_000_000);
  }
});
