/**
 * Backups, exports, restores and forks of one table, each beside what it can be judged by in the same run: a full backup beside
 * a plain copy with sync of the same bytes, an incremental one beside the full one, exports by MB a second of one core.
 *
 *     npm run bench:backup                    512 MB
 *     npm run bench:backup -- --mb 2048       as large as asked for
 *     npm run bench:backup -- --quick         48 MB: does it work; no figures to compare by
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import {
  createBackup,
  exportTables,
  forkStore,
  importTables,
  restoreBackup,
  verifyBackups,
} from '../../src/backup/index.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { realEnv } from '../../src/io/index.ts';

const MEGABYTE = 1_000_000;
const VALUE_BYTES = 900;
const CHUNK = 1024 * 1024;

const { values: flags } = parseArgs({
  options: {
    mb: { type: 'string', default: '512' },
    quick: { type: 'boolean', default: false },
    dir: { type: 'string', default: path.resolve('bench/peers/backup-data') },
  },
});
const megabytes = flags.quick ? 48 : Number(flags.mb);
const rows = Math.floor((megabytes * MEGABYTE) / (VALUE_BYTES + 40));
const dir = flags.dir;
const env = realEnv();

interface Timed {
  readonly ms: number;
  /** Processor time of this process, all threads. */
  readonly cpuMs: number;
}

async function timed(work: () => Promise<unknown>): Promise<Timed> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  await work();
  const used = process.cpuUsage(cpu);
  return { ms: performance.now() - began, cpuMs: (used.user + used.system) / 1000 };
}

function sizeOf(folder: string): number {
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
  let state = (seed * 2654435761) >>> 0 || 1;
  for (let i = 0; i < VALUE_BYTES; i += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    value.writeUInt32LE(state, i);
  }
  return value;
}

async function fill(
  store: EmbeddedConnection,
  from: number,
  to: number,
  salt: number,
): Promise<void> {
  const table = store.table('t');
  for (let at = from; at < to; at += 1000) {
    const batch = [];
    for (let i = at; i < Math.min(to, at + 1000); i++) {
      batch.push({
        put: `row${String(i).padStart(10, '0')}`,
        values: { 'f:q': valueAt(i + salt) },
        options: { durability: 'ASYNC_WAL' as const },
      });
    }
    for (const outcome of await table.batch(batch)) if (!outcome.ok) throw outcome.error;
  }
}

const lines: string[] = [];
function report(what: string, { ms, cpuMs }: Timed, bytes: number, note = ''): void {
  const rate = (bytes / MEGABYTE / (ms / 1000)).toFixed(0);
  const perCore = (bytes / MEGABYTE / (cpuMs / 1000)).toFixed(0);
  lines.push(
    `${what.padEnd(26)} ${(ms / 1000).toFixed(2).padStart(8)} s ${rate.padStart(7)} MB/s ${perCore.padStart(7)} MB/s a core  ${note}`,
  );
  process.stderr.write(`${lines.at(-1)}\n`);
}

rmSync(dir, { recursive: true, force: true });
mkdirSync(dir, { recursive: true });
const at = (name: string): string => path.join(dir, name);
const store = await open(at('store'), { env, autoCompact: false });
try {
  await store.admin.createTable({ name: 't', families: ['f'] });
  const load = await timed(() => fill(store, 0, rows, 0));
  await store.admin.flush();
  const bytes = sizeOf(at('store/data'));
  report('load', load, bytes, `${rows} rows, ${(bytes / MEGABYTE).toFixed(0)} MB of store files`);
  // Twice each, the better counts: whose turn it is shall not decide.
  const copies: Timed[] = [];
  const fulls: Timed[] = [];
  for (const round of [1, 2]) {
    copies.push(await timed(async () => plainCopy(at('store/data'), at(`copy${round}`))));
    fulls.push(await timed(() => createBackup(store.server, at(`backups${round}`))));
  }
  const best = (times: readonly Timed[]): Timed => times.reduce((a, b) => (a.ms < b.ms ? a : b));
  const copy = best(copies);
  const full = best(fulls);
  report('plain copy with sync', copy, bytes);
  report('full backup', full, bytes, `${(full.ms / copy.ms).toFixed(2)} times the copy (goal 1.5)`);
  await fill(store, 0, Math.ceil(rows / 100), 7);
  const incremental = await timed(() =>
    createBackup(store.server, at('backups2'), { incremental: true }),
  );
  const share = ((100 * incremental.ms) / full.ms).toFixed(1);
  report(
    'incremental after 1 %',
    incremental,
    bytes / 100,
    `${share} % of the full one's time (goal 5 %)`,
  );
  report('verify', await timed(() => verifyBackups(env, at('backups2'), null)), bytes);
  report('restore', await timed(() => restoreBackup(env, at('backups2'), at('restored'))), bytes);
  report('fork', await timed(() => forkStore(store.server, at('fork'))), bytes);
  for (const format of ['sequencefile', 'hfile', 'jsonl', 'csv'] as const) {
    const out = at(`export-${format}`);
    report(
      `export ${format}`,
      await timed(() => exportTables(store, env, ['t'], out, { format })),
      bytes,
    );
  }
  const other = await open(at('other'), { env });
  report(
    'import sequencefile',
    await timed(() => importTables(other, env, at('export-sequencefile'), { create: true })),
    bytes,
  );
  await other.close();
} finally {
  await store.close();
  await env.executor.close();
  rmSync(dir, { recursive: true, force: true });
}
const peak = process.resourceUsage().maxRSS / 1024;
lines.push(`peak RSS ${peak.toFixed(0)} MB (goal: under 200 MB for 2 GB)`);
process.stdout.write(`${lines.join('\n')}\n`);
