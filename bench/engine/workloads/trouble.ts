/** When things go wrong: a killed process, a busy disk. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { rowsIn } from '../datasets.ts';
import { Random, Values, keyOf } from '../rows.ts';
import { MEBIBYTE } from '../subject.ts';
import { LoopDelay } from '../loop_delay.ts';
import { percentile } from '../workload.ts';
import type { Measure, RunSettings, Workload } from '../workload.ts';
import type { Subject } from '../subject.ts';

/** The time of opening what a killed process left is added by the child. */
export const REOPEN: Workload = {
  id: 'reopen-after-kill',
  title: 'opening after kill -9, unflushed rows in the log, until the first read is answered',
  unit: 'ms',
  better: 'less',
  reopens: true,
  countsOpening: true,
  rivals: ['classic-level', 'better-sqlite3'],
  memory: () => ({ cacheBytes: 64 * MEBIBYTE, writeBufferBytes: 512 * MEBIBYTE }),
  without: { bare: 'nothing to open', lmdb: 'it has no log: its pages are in place at the commit' },
  supports: () => true,
  run: async (subject, settings) => {
    const start = performance.now();
    const last = keyOf(rowsIn(settings.unflushedBytes) - 1);
    const value = subject.getSync ? subject.getSync(last) : await subject.get!(last);
    if (value === null || value === undefined) throw new Error('an acknowledged row is lost');
    return { value: performance.now() - start };
  },
};

export const BUSY_DISK: Workload = {
  id: 'loop-delay-busy-disk',
  title:
    'event-loop delay (p99) of a process with one writer while another process keeps the disk busy',
  unit: 'ms',
  better: 'less',
  rivals: ['better-sqlite3', 'lmdb'],
  supports: (subject) => subject.put !== undefined,
  run: async (subject, settings) => {
    const noise = spawn(
      process.execPath,
      [path.join(import.meta.dirname, '../disk_noise.js'), `${settings.dir}/noise`],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    try {
      await once(noise.stdout, 'data');
      return await writeBesideNoise(subject, settings);
    } finally {
      noise.kill('SIGKILL');
      await once(noise, 'close');
    }
  },
};

async function writeBesideNoise(subject: Subject, settings: RunSettings): Promise<Measure> {
  const random = new Random(17);
  const values = new Values();
  const delays = new LoopDelay();
  const warmEnd = performance.now() + settings.warmMs;
  const times: number[] = [];
  let isWarm = false;
  const end = warmEnd + settings.measureMs * 2;
  for (let now = performance.now(); now < end; now = performance.now()) {
    if (!isWarm && now >= warmEnd) {
      isWarm = true;
      delays.start();
    }
    await subject.put!(keyOf(random.int(1_000_000_000)), values.next());
    if (isWarm) times.push(performance.now() - now);
    await turn();
  }
  delays.stop();
  times.sort((a, b) => a - b);
  return {
    value: delays.p99Ms,
    details: {
      delayMaxMs: delays.maxMs,
      putP50Ms: percentile(times, 0.5),
      putP99Ms: percentile(times, 0.99),
      putMaxMs: times.at(-1) ?? 0,
      puts: times.length,
    },
  };
}
