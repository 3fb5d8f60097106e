/**
 * The steps of the backup bench. Each runs in a process of its own, so that its peak of memory is its own, on the built package:
 * what is measured is what is shipped.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readSync, readdirSync } from 'node:fs';
import { rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type * as BackupModule from '../../src/backup/index.ts';
import type * as EngineModule from '../../src/engine/index.ts';
import type * as IoModule from '../../src/io/index.ts';
import { ROOT } from '../engine/peers.ts';

const VALUE_BYTES = 900;
/** Row and column beside the value, as they lie in a store file. */
const KEY_BYTES = 40;
const CHUNK = 1024 * 1024;
const BATCH = 500;

export interface StepConfig {
  readonly step: string;
  readonly dir: string;
  readonly megabytes: number;
  readonly rounds: number;
}

/** What a piece of work took. */
export interface Timed {
  readonly ms: number;
  /** Processor time of the process, all threads. */
  readonly cpuMs: number;
}

export interface StepResult {
  readonly step: string;
  readonly bytes: number;
  readonly peakRssMiB: number;
  /** By what was done; an entry a round. */
  readonly times: Readonly<Record<string, readonly Timed[]>>;
}

type Connection = EngineModule.EmbeddedConnection;
type Times = Record<string, Timed[]>;

async function built<T>(folder: string): Promise<T> {
  const file = path.join(ROOT, 'dist', folder, 'index.js');
  return (await import(pathToFileURL(file).href)) as T;
}

async function timed(times: Times, what: string, work: () => Promise<unknown>): Promise<void> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  await work();
  const used = process.cpuUsage(cpu);
  const taken = { ms: performance.now() - began, cpuMs: (used.user + used.system) / 1000 };
  (times[what] ??= []).push(taken);
}

/** Rows of so many megabytes of store files. */
export const rowsOf = (megabytes: number): number =>
  Math.floor((megabytes * 1_000_000) / (VALUE_BYTES + KEY_BYTES));

/** Runs one step; answers its figures. */
export async function runStep(config: StepConfig): Promise<StepResult> {
  const backup = await built<typeof BackupModule>('backup');
  const { open } = await built<typeof EngineModule>('engine');
  const { realEnv } = await built<typeof IoModule>('io');
  const env = realEnv();
  const at = (name: string): string => path.join(config.dir, name);
  const times: Times = {};
  const openStore = (name: string): Promise<Connection> =>
    open(at(name), { env, autoCompact: false });
  try {
    await steps(config, { backup, env, at, times, openStore });
  } finally {
    await env.executor.close();
  }
  return {
    step: config.step,
    bytes: sizeOf(at('store/data')),
    peakRssMiB: process.resourceUsage().maxRSS / 1024,
    times,
  };
}

interface Tools {
  readonly backup: typeof BackupModule;
  readonly env: IoModule.Env;
  readonly at: (name: string) => string;
  readonly times: Times;
  readonly openStore: (name: string) => Promise<Connection>;
}

async function steps(config: StepConfig, tools: Tools): Promise<void> {
  const { backup, env, at, times, openStore } = tools;
  const [name, format] = config.step.split(' ');
  if (name === 'verify') {
    await timed(times, 'verify', () => backup.verifyBackups(env, at('backups'), null));
    return;
  }
  if (name === 'restore') {
    await timed(times, 'restore', () => backup.restoreBackup(env, at('backups'), at('restored')));
    rmSync(at('restored'), { recursive: true });
    return;
  }
  const store = await openStore(name === 'import' ? 'imported' : 'store');
  try {
    if (name === 'load') await load(store, config, times);
    else if (name === 'backup') await backUp(store, config, tools);
    else if (name === 'fork') {
      await timed(times, 'fork', () => backup.forkStore(store.server, at('fork')));
      rmSync(at('fork'), { recursive: true });
    } else if (name === 'export') await exported(store, String(format), config, tools);
    else if (name === 'import') {
      const from = at('exported/sequencefile');
      await timed(times, 'import', () =>
        backup.importTables(store, env, from, { create: true, skipVerify: true }),
      );
    } else if (name === 'hbase-rows') await hbaseRows(store, config, tools);
    else throw new Error(`no step ${config.step}`);
  } finally {
    await store.close();
  }
}

async function load(store: Connection, { megabytes }: StepConfig, times: Times): Promise<void> {
  await store.admin.createTable({ name: 't', families: ['f'] });
  const rows = rowsOf(megabytes);
  await timed(times, 'load', () => fill(store, { rows, every: 1, salt: 0 }));
  await store.admin.flush();
}

/**
 * A plain copy and a full backup in alternation; after each full backup 1 % of the rows change, and an incremental one is taken. Both
 * write into memory that was freed before the round, and the first round, which warms up, does not count.
 */
async function backUp(store: Connection, config: StepConfig, tools: Tools): Promise<void> {
  const { backup, env, at, times } = tools;
  const dest = at('backups');
  const rows = rowsOf(config.megabytes);
  for (let round = 0; round <= config.rounds; round++) {
    const of = round === 0 ? {} : times;
    const copy = async (): Promise<void> => plainCopy(at('store/data'), at('copy'));
    // Whose turn is first changes.
    if (round % 2 === 0) await timed(of, 'copy', copy);
    await timed(of, 'full', () => backup.createBackup(store.server, dest));
    if (round % 2 === 1) await timed(of, 'copy', copy);
    await fill(store, { rows, every: 100, salt: round + 1 });
    await timed(of, 'incremental', () =>
      backup.createBackup(store.server, dest, { incremental: true }),
    );
    rmSync(at('copy'), { recursive: true });
    // The next full backup has nothing to flush: a flush starts a worker, whatever there is to copy.
    await store.admin.flush();
    if (round === config.rounds) break;
    const { backups } = await backup.listBackups(env, dest);
    await backup.deleteBackups(
      env,
      dest,
      backups.map(({ id }) => id),
      true,
    );
  }
}

async function exported(
  store: Connection,
  format: string,
  config: StepConfig,
  { backup, env, at, times }: Tools,
): Promise<void> {
  const out = at(`exported/${format}`);
  for (let round = 1; round <= config.rounds; round++) {
    rmSync(out, { recursive: true, force: true });
    await timed(times, `export ${format}`, () =>
      backup.exportTables(store, env, ['t'], out, { format: format as BackupModule.ExportFormat }),
    );
  }
  // The SequenceFiles are imported again.
  if (format !== 'sequencefile') rmSync(out, { recursive: true });
}

/** Brings in what HBase's Export wrote, and exports it again. */
async function hbaseRows(
  store: Connection,
  { rounds }: StepConfig,
  { backup, env, at, times }: Tools,
): Promise<void> {
  await store.admin.createTable({ name: 'h', families: ['f'] });
  await backup.importTables(store, env, at('hbase-1'), { rename: { '': 'h' } });
  await store.admin.flush();
  for (let round = 1; round <= rounds + 1; round++) {
    const out = at(`ours-${round}`);
    await timed(times, 'export', () => backup.exportTables(store, env, ['h'], out));
    rmSync(out, { recursive: true });
  }
}

export function sizeOf(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += statSync(path.join(entry.parentPath, entry.name)).size;
  }
  return bytes;
}

/** The yardstick: read, write, sync, file by file. */
function plainCopy(from: string, to: string): void {
  const buf = Buffer.allocUnsafe(CHUNK);
  for (const entry of readdirSync(from, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const source = path.join(entry.parentPath, entry.name);
    const target = path.join(to, path.relative(from, source));
    mkdirSync(path.dirname(target), { recursive: true });
    const input = openSync(source, 'r');
    const output = openSync(target, 'w');
    for (;;) {
      const count = readSync(input, buf, 0, CHUNK, null);
      if (count === 0) break;
      writeSync(output, buf, 0, count);
    }
    fsyncSync(output);
    closeSync(output);
    closeSync(input);
  }
}

/** Pseudo-random values, so that nothing compresses them. */
function valueAt(seed: number): Buffer {
  const value = Buffer.allocUnsafe(VALUE_BYTES);
  let state = Math.imul(seed + 1, 2654435761) >>> 0;
  for (let i = 0; i < VALUE_BYTES; i += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    value.writeUInt32LE(state, i);
  }
  return value;
}

async function fill(
  store: Connection,
  { rows, every, salt }: { rows: number; every: number; salt: number },
): Promise<void> {
  const table = store.table('t');
  for (let from = 0; from < rows; from += BATCH * every) {
    const batch = [];
    for (let i = from; i < Math.min(rows, from + BATCH * every); i += every) {
      batch.push({
        put: `row${String(i).padStart(10, '0')}`,
        values: { 'f:q': valueAt(i + salt * rows) },
        options: { durability: 'ASYNC_WAL' as const },
      });
    }
    for (let isDone = false; !isDone;) {
      const failed = (await table.batch(batch)).find((outcome) => !outcome.ok);
      isDone = failed === undefined;
      // Memory is full until a flush is through; the same puts once more do no harm.
      if (failed?.ok === false) {
        if (!('retryable' in failed.error && failed.error.retryable === true)) throw failed.error;
        await sleep(100);
      }
    }
  }
}
