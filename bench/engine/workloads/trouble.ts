/** When things go wrong: a killed process, a busy disk. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { Random, Values, keyOf } from '../rows.ts';
import { percentile } from '../workload.ts';
import type { Measure, RunSettings, Workload } from '../workload.ts';
import type { Subject } from '../subject.ts';

/** The child does the measuring: it opens what a killed process left. The value is set there. */
export const REOPEN: Workload = {
  id: 'reopen-after-kill',
  title: 'opening after kill -9, unflushed rows in the log, until the first read is answered',
  unit: 'ms',
  better: 'less',
  loaded: false,
  reopens: true,
  without: { bare: 'nothing to open', lmdb: 'it has no log: its pages are in place at the commit' },
  supports: () => true,
  run: async (subject, settings) => {
    const start = performance.now();
    const last = keyOf(rowsOf(settings.unflushedBytes) - 1);
    const value = subject.getSync ? subject.getSync(last) : await subject.get!(last);
    if (value === null || value === undefined) throw new Error('an acknowledged row is lost');
    return { value: performance.now() - start };
  },
};

/** Rows of 116 bytes in so many bytes. */
export const rowsOf = (bytes: number): number => Math.floor(bytes / 116);

const RESOLUTION_MS = 1;

export const BUSY_DISK: Workload = {
  id: 'loop-delay-busy-disk',
  title:
    'event-loop delay (p99) of a process with one writer while another process keeps the disk busy',
  unit: 'ms',
  better: 'less',
  loaded: false,
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
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const warmEnd = performance.now() + settings.warmMs;
  const times: number[] = [];
  let isWarm = false;
  const end = warmEnd + settings.measureMs * 2;
  for (let now = performance.now(); now < end; now = performance.now()) {
    if (!isWarm && now >= warmEnd) {
      isWarm = true;
      delays.enable();
    }
    await subject.put!(keyOf(random.int(1_000_000_000)), values.next());
    if (isWarm) times.push(performance.now() - now);
    await turn();
  }
  delays.disable();
  times.sort((a, b) => a - b);
  const delayMs = (ns: number): number => Math.max(0, ns / 1e6 - RESOLUTION_MS);
  return {
    value: delayMs(delays.percentile(99)),
    details: {
      delayMaxMs: delayMs(delays.max),
      putP50Ms: percentile(times, 0.5),
      putP99Ms: percentile(times, 0.99),
      putMaxMs: times.at(-1) ?? 0,
      puts: times.length,
    },
  };
}
