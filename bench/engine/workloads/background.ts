/** What users feel while files are written in the background. */
import { setImmediate as turn } from 'node:timers/promises';
import { loadFiles, loadRows, rowsIn } from '../datasets.ts';
import { LoopDelay } from '../loop_delay.ts';
import { Random, Values, keyOf, keysOf } from '../rows.ts';
import { MEBIBYTE } from '../subject.ts';
import type { Subject } from '../subject.ts';
import { percentile } from '../workload.ts';
import type { Measure, Workload } from '../workload.ts';
import { found } from './reads.ts';

const PARTS = 4;
/** Rows that are read while files are compacted; they lie side by side, in few blocks of each file. */
const HOT_ROWS = 2000;
const READS_LEAST = 500;
/** In runs whose compaction is over sooner, which are not there to compare by. */
const READS_LEAST_SMALL = 50;
const SMALL_BYTES = 64_000_000;
const KEY_SPACE = 1_000_000_000;
const WRITERS = 16;
const FLUSHES = 2;

export const COMPACTION_READS: Workload = {
  id: 'compaction-reads',
  title: 'cached reads by promise, one after the other, while all files are compacted: p99',
  unit: 'ms',
  better: 'less',
  seconds: ({ compactBytes, warmMs }) => warmMs / 1000 + compactBytes / 8e6,
  autoCompact: false,
  memory: () => ({ cacheBytes: 64 * MEBIBYTE, writeBufferBytes: 1024 * MEBIBYTE }),
  rivals: ['classic-level'],
  without: {
    bare: 'nothing to compact',
    lmdb: 'it compacts nothing',
    'better-sqlite3': 'it compacts nothing in the background',
  },
  further: [
    {
      id: 'compaction-loop-delay',
      title: 'event-loop delay meanwhile: p99',
      unit: 'ms',
      better: 'less',
    },
  ],
  supports: (subject) => subject.compact !== undefined && subject.get !== undefined,
  run: async (subject, settings) => {
    const total = rowsIn(settings.compactBytes);
    await loadFiles(subject, total, PARTS);
    const first = Math.floor(total / 2);
    const keys = keysOf(Math.min(HOT_ROWS, first), (i) => first + i);
    const random = new Random(43);
    const times: number[] = [];
    const read = async (): Promise<void> => {
      const before = performance.now();
      found(await subject.get!(keys[random.int(keys.length)]!));
      times.push(performance.now() - before);
      await turn();
    };
    for (const key of keys) found(await subject.get!(key));
    const warmEnd = performance.now() + settings.warmMs;
    while (performance.now() < warmEnd) await read();
    const quiet = sortedCopy(times);
    times.length = 0;
    const delays = new LoopDelay();
    let isRunning = true;
    const start = performance.now();
    const compaction = subject.compact!().finally(() => (isRunning = false));
    delays.start();
    while (isRunning) await read();
    delays.stop();
    const seconds = (performance.now() - start) / 1000;
    await compaction;
    const least = settings.compactBytes < SMALL_BYTES ? READS_LEAST_SMALL : READS_LEAST;
    if (times.length < least) {
      throw new Error(`the compaction was over after ${times.length} reads: too few to tell`);
    }
    const busy = sortedCopy(times);
    return {
      value: percentile(busy, 0.99),
      details: {
        quietP99Ms: percentile(quiet, 0.99),
        p999Ms: percentile(busy, 0.999),
        maxMs: busy.at(-1) ?? 0,
        reads: busy.length,
        compactedMB: settings.compactBytes / 1e6,
        compactionSeconds: seconds,
      },
      also: {
        'compaction-loop-delay': { value: delays.p99Ms, details: { delayMaxMs: delays.maxMs } },
      },
    };
  },
};

const sortedCopy = (times: readonly number[]): number[] => [...times].sort((a, b) => a - b);

export const FLUSH_PAUSE: Workload = {
  id: 'flush-writer-pause',
  title: `durable puts by ${WRITERS} writers while what is in memory is flushed: p99 of a put`,
  unit: 'ms',
  better: 'less',
  seconds: ({ warmMs, unflushedBytes }) => (1.5 * warmMs) / 1000 + unflushedBytes / 8e6,
  memory: () => ({ cacheBytes: 64 * MEBIBYTE, writeBufferBytes: 128 * MEBIBYTE }),
  rivals: ['classic-level'],
  without: {
    bare: 'nothing to flush',
    lmdb: 'nothing to flush: its pages are in place at the commit',
    'better-sqlite3': 'its checkpoint blocks the caller',
  },
  supports: (subject) => subject.flush !== undefined && subject.put !== undefined,
  run: async (subject, settings) => {
    const quiet: number[] = [];
    const busy: number[] = [];
    const flushMs: number[] = [];
    const total = rowsIn(settings.unflushedBytes / 2);
    for (let i = 0; i <= FLUSHES; i++) {
      await loadRows(subject, { from: 0, to: total, total });
      await writeWhile(subject, wait(settings.warmMs / 2), quiet);
      // The first one only warms up.
      if (i === 0) quiet.length = 0;
      const start = performance.now();
      const flush = subject.flush!();
      await writeWhile(subject, flush, i === 0 ? [] : busy);
      if (i > 0) flushMs.push(performance.now() - start);
    }
    const sorted = sortedCopy(busy);
    const sortedQuiet = sortedCopy(quiet);
    const measure: Measure = {
      value: percentile(sorted, 0.99),
      details: {
        p50Ms: percentile(sorted, 0.5),
        maxMs: sorted.at(-1) ?? 0,
        quietP99Ms: percentile(sortedQuiet, 0.99),
        quietMaxMs: sortedQuiet.at(-1) ?? 0,
        puts: sorted.length,
        flushMs: Math.max(...flushMs),
      },
    };
    return measure;
  },
};

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Writers put until `work` is done; how long each put took goes to `times`. */
async function writeWhile(subject: Subject, work: Promise<void>, times: number[]): Promise<void> {
  let isRunning = true;
  const random = new Random(47);
  const values = new Values();
  const done = work.finally(() => (isRunning = false));
  const writer = async (): Promise<void> => {
    while (isRunning) {
      const before = performance.now();
      await subject.put!(keyOf(random.int(KEY_SPACE)), values.next());
      times.push(performance.now() - before);
    }
  };
  await Promise.all([done, ...Array.from({ length: WRITERS }, writer)]);
}
