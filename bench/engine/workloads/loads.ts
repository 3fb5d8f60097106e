/** Loading rows until they lie in store files and compaction has settled, and what the store then takes. */
import { DISK_WRITE, LARGE_DISK_WRITE } from '../limit_rules.ts';
import { Values, keysOf, shuffled } from '../rows.ts';
import { MEBIBYTE } from '../subject.ts';
import type { Subject } from '../subject.ts';
import { folderBytes, processIo } from '../usage.ts';
import { percentile } from '../workload.ts';
import type {
  Measure,
  PhysicalLimit,
  RunSettings,
  Sizes,
  Workload,
  WorkloadHead,
} from '../workload.ts';

const KEY_LENGTH = 16;
/** The rows are more than so many times what may wait in memory for its place in a file. */
const BUFFERS = 14;
/** What a slow store loads, for estimates: so many bytes, and so many rows, a second. */
const SLOW_BYTES_PER_SECOND = 30e6;
const SLOW_ROWS_PER_SECOND = 50_000;

interface LoadSet {
  readonly id: string;
  readonly what: string;
  readonly batch: number;
  readonly rows: (sizes: Sizes) => number;
  /** Bytes of a value. */
  readonly length: (sizes: Sizes) => number;
  readonly limit: PhysicalLimit;
  readonly extra: readonly string[];
}

function furtherOf({ id, what, limit }: LoadSet): WorkloadHead[] {
  return [
    {
      id: `${id}-burst`,
      title: `loading ${what}, until the last batch is acknowledged`,
      short: `load of ${what}, burst`,
      unit: 'rows/s',
      better: 'more',
      limit,
    },
    {
      id: `${id}-disk`,
      title: `space amplification: bytes on the disk after loading ${what}, over the bytes of keys and values`,
      short: 'bytes on disk a byte of rows',
      unit: '×',
      better: 'less',
    },
    {
      id: `${id}-written`,
      title: `write amplification: bytes written to the disk by loading ${what}, log and compactions with them, over the bytes of keys and values`,
      short: 'bytes written a byte of rows',
      unit: '×',
      better: 'less',
    },
    {
      id: `${id}-rss`,
      title: `memory of the process after loading ${what} (it loads through the same JavaScript everywhere)`,
      short: 'memory after load',
      unit: 'MiB',
      better: 'less',
    },
  ];
}

function loadOf(set: LoadSet): Workload {
  const { id, rows, length } = set;
  const bytesOf = (sizes: Sizes): number => rows(sizes) * (KEY_LENGTH + length(sizes));
  return {
    id,
    title: `loading ${set.what} in random order in durable batches of ${set.batch}, until they lie in store files and compaction has settled`,
    short: `load of ${set.what}, sustained`,
    unit: 'rows/s',
    better: 'more',
    limit: set.limit,
    memory: (sizes) => ({
      cacheBytes: 64 * MEBIBYTE,
      writeBufferBytes: Math.max(4 * MEBIBYTE, Math.floor(bytesOf(sizes) / BUFFERS)),
    }),
    seconds: (sizes) =>
      sizes.warmMs / 1000 +
      2 +
      Math.min(
        (1.2 * sizes.loadMsMax) / 1000,
        bytesOf(sizes) / SLOW_BYTES_PER_SECOND + rows(sizes) / SLOW_ROWS_PER_SECOND,
      ),
    rivals: ['classic-level', 'lmdb', 'better-sqlite3', 'rocksdb'],
    extra: set.extra,
    further: furtherOf(set),
    supports: () => true,
    run: (subject, settings) => load(set, subject, settings),
  };
}

async function load(set: LoadSet, subject: Subject, settings: RunSettings): Promise<Measure> {
  const { id, batch } = set;
  await warmLoad(set, subject, settings);
  const order = shuffled(set.rows(settings));
  const values = new Values(set.length(settings));
  const times: number[] = [];
  const ioBefore = processIo();
  const countersBefore = subject.counters?.() ?? {};
  const start = performance.now();
  let rows = 0;
  while (rows < order.length && performance.now() - start < settings.loadMsMax) {
    const from = rows;
    const keys = keysOf(Math.min(batch, order.length - from), (i) => order[from + i]!);
    const before = performance.now();
    await subject.putBatch(
      keys,
      keys.map(() => values.next()),
    );
    times.push(performance.now() - before);
    rows += keys.length;
  }
  const burstMs = performance.now() - start;
  const idleMs = await subject.settle();
  const settledMs = performance.now() - start - idleMs;
  const io = processIo();
  times.sort((a, b) => a - b);
  const bytes = rows * (KEY_LENGTH + set.length(settings));
  const burst: Measure = {
    value: (rows * 1000) / burstMs,
    details: {
      batchP50Ms: percentile(times, 0.5),
      batchP99Ms: percentile(times, 0.99),
      batchMaxMs: times.at(-1)!,
    },
  };
  const also: Record<string, Measure> = { [`${id}-burst`]: burst };
  if (subject.name !== 'bare') {
    also[`${id}-disk`] = { value: folderBytes(settings.dir) / bytes };
    also[`${id}-rss`] = { value: process.memoryUsage.rss() / MEBIBYTE };
    if (ioBefore !== null && io !== null) {
      const value = (io.writtenBytes - ioBefore.writtenBytes) / bytes;
      const details = difference(countersBefore, subject.counters?.() ?? {}, bytes);
      also[`${id}-written`] = { value, details };
    }
  }
  return {
    value: (rows * 1000) / settledMs,
    details: { rows, settleMs: settledMs - burstMs },
    also,
  };
}

/** What the store itself counted: log bytes a byte of rows, flushes, compactions. */
function difference(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
  bytes: number,
): Record<string, number> {
  const of = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
  if (after['log_bytes'] === undefined) return {};
  return {
    logBytesAByte: of('log_bytes') / bytes,
    flushes: of('flushes'),
    compactions: of('compactions'),
  };
}

/** Rows beyond all others, again and again the same. */
async function warmLoad(set: LoadSet, subject: Subject, settings: RunSettings): Promise<void> {
  const values = new Values(set.length(settings));
  const keys = keysOf(set.batch, (i) => set.rows(settings) + i);
  const end = performance.now() + settings.warmMs;
  do {
    await subject.putBatch(
      keys,
      keys.map(() => values.next()),
    );
  } while (performance.now() < end);
  await subject.settle();
}

export const FILES_LOAD: Workload = loadOf({
  id: 'files-load',
  what: 'rows',
  batch: 1000,
  rows: ({ fileRows }) => fileRows,
  length: () => 100,
  limit: DISK_WRITE,
  extra: ['level-unsynced'],
});

export const LARGE_LOAD: Workload = loadOf({
  id: 'large-load',
  what: 'values of 10 kB',
  batch: 100,
  rows: ({ largeRows }) => largeRows,
  length: ({ largeLength }) => largeLength,
  limit: LARGE_DISK_WRITE,
  extra: [],
});
