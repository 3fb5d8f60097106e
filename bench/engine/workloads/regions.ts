/** What regions cost: the same durable puts with more and more of them, their memory, and the pause of a split. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Random, Values, keyOf } from '../rows.ts';
import { MEBIBYTE, SHIPPED_MEMORY } from '../subject.ts';
import { builtModule } from '../subjects/cellar.ts';
import type { CellarModule } from '../subjects/cellar.ts';
import { percentile } from '../workload.ts';
import type { Workload } from '../workload.ts';
import { KEY_SPACE, cutsOf } from '../growth_keys.ts';
import { putters } from './writes.ts';

const COUNTS = [1, 10, 100, 1000];
const WRITERS = 64;
const SPLITS = 12;

/** Nothing is flushed: what a region costs a commit. */
const PUTS_BY_REGIONS: readonly Workload[] = COUNTS.map((regions) => ({
  id: `regions-puts-${regions}`,
  title: `durable puts by ${WRITERS} writers, all over a table of ${regions} regions, none flushed`,
  memory: () => ({ cacheBytes: 64 * MEBIBYTE, writeBufferBytes: 1024 * MEBIBYTE }),
  unit: 'op/s',
  better: 'more',
  rivals: [],
  stores: ['cellar'],
  regions,
  supports: () => true,
  run: putters(WRITERS),
}));

/** As shipped: memory is full of a thousand small memstores, and each flush frees little. */
const PUTS_FLUSHING: Workload = {
  ...PUTS_BY_REGIONS[0]!,
  id: 'regions-flushing-1000',
  title: `durable puts by ${WRITERS} writers, all over a table of 1,000 regions, with the memory that Cellar is shipped with`,
  regions: 1000,
  memory: () => SHIPPED_MEMORY,
};

/** Bytes of the process that a collection of garbage leaves. */
function liveBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const IDLE_REGION: Workload = {
  id: 'regions-idle-memory',
  title: 'memory of an idle region, one of 1,000',
  unit: 'bytes',
  better: 'less',
  rivals: [],
  stores: ['cellar'],
  supports: () => true,
  run: async (_, { dir }) => {
    const { open } = await builtModule<CellarModule>('index.js');
    const connection = await open(`${dir}/idle`, {
      memstoreBytes: SHIPPED_MEMORY.writeBufferBytes,
      blockCacheBytes: SHIPPED_MEMORY.cacheBytes,
      logBytesMax: 4 * SHIPPED_MEMORY.writeBufferBytes,
      autoCompact: true,
    });
    const { admin } = connection;
    await admin.createTable({ name: 'one', families: ['f'] });
    const before = liveBytes();
    await admin.createTable({ name: 'many', families: ['f'], SPLITS: cutsOf(1000) });
    const value = (liveBytes() - before) / 1000;
    await connection.close();
    return { value };
  },
};

const SPLIT_PAUSE: Workload = {
  id: 'regions-split-pause',
  title: `durable puts by 16 writers while a region is split again and again: longest put of each split, p99`,
  unit: 'ms',
  better: 'less',
  rivals: [],
  stores: ['cellar'],
  supports: (subject) => subject.split !== undefined,
  run: async (subject, settings) => {
    const random = new Random(53);
    const values = new Values();
    const quiet: number[] = [];
    const busy: number[] = [];
    let times = quiet;
    let isRunning = true;
    const writer = async (): Promise<void> => {
      while (isRunning) {
        const before = performance.now();
        await subject.put!(keyOf(random.int(KEY_SPACE)), values.next());
        times.push(performance.now() - before);
      }
    };
    const writers = Promise.all(Array.from({ length: 16 }, writer));
    const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    await wait(settings.warmMs);
    quiet.length = 0;
    await wait(settings.warmMs);
    const longest: number[] = [];
    for (const cut of cutsOf(SPLITS + 1)) {
      times = [];
      await subject.split!(Buffer.from(cut, 'latin1'));
      longest.push(Math.max(0, ...times));
      busy.push(...times);
    }
    isRunning = false;
    await writers;
    for (const list of [quiet, busy, longest]) list.sort((a, b) => a - b);
    return {
      value: percentile(longest, 0.99),
      details: {
        putP99Ms: percentile(busy, 0.99),
        quietP99Ms: percentile(quiet, 0.99),
        quietMaxMs: quiet.at(-1) ?? 0,
        splits: SPLITS,
        puts: busy.length,
      },
    };
  },
};

export const REGIONS: readonly Workload[] = [
  ...PUTS_BY_REGIONS,
  PUTS_FLUSHING,
  IDLE_REGION,
  SPLIT_PAUSE,
];
