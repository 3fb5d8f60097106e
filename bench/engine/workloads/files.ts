/** Rows in store files: loading them, reading them warm and cold. */
import path from 'node:path';
import type * as hfiles from '../../../src/hfile/index.ts';
import type * as ios from '../../../src/io/index.ts';
import type { Connection } from '../../../src/model/index.ts';
import { Random, Values, keyOf, keysOf, shuffled } from '../rows.ts';
import { MEBIBYTE } from '../subject.ts';
import type { Memory, Subject } from '../subject.ts';
import { builtModule } from '../subjects/cellar.ts';
import { percentile } from '../workload.ts';
import type { Measure, RunSettings, Sizes, Workload } from '../workload.ts';
import { found, readsOf, timeOfReads } from './reads.ts';

const BATCH = 1000;
const ROW_LENGTH = 116;
/** The rows are more than so many times what may wait in memory for its place in a file. */
const BUFFERS = 14;
/** Enough for each row with what a cached block adds to it. */
const CACHE_FOR_A_ROW = 256;
const CACHE_LEAST = 8 * MEBIBYTE;
/** Enough for indexes and Bloom filters, and for one block of rows in fifty. */
const COLD_CACHE_FOR_A_ROW = 6;

const loadMemory = ({ fileRows }: Sizes): Memory => ({
  cacheBytes: 64 * MEBIBYTE,
  writeBufferBytes: Math.max(4 * MEBIBYTE, Math.floor((fileRows * ROW_LENGTH) / BUFFERS)),
});

export const FILES_LOAD: Workload = {
  id: 'files-load',
  title:
    'loading rows in random order in durable batches of 1000, until they lie in store files and compaction has settled',
  unit: 'rows/s',
  better: 'more',
  memory: loadMemory,
  isLong: true,
  rivals: ['classic-level'],
  extra: ['level-unsynced'],
  further: [
    {
      id: 'files-load-burst',
      title: 'the same, until the last batch is acknowledged',
      unit: 'rows/s',
      better: 'more',
    },
  ],
  supports: () => true,
  run: async (subject, settings) => {
    await warmLoad(subject, settings);
    const order = shuffled(settings.fileRows);
    const values = new Values();
    const times: number[] = [];
    const start = performance.now();
    let rows = 0;
    while (rows < order.length && performance.now() - start < settings.loadMsMax) {
      const from = rows;
      const keys = keysOf(Math.min(BATCH, order.length - from), (i) => order[from + i]!);
      const before = performance.now();
      await subject.putBatch(
        keys,
        keys.map(() => values.next()),
      );
      times.push(performance.now() - before);
      rows += keys.length;
    }
    const burstMs = performance.now() - start;
    await subject.settle();
    const settledMs = performance.now() - start;
    times.sort((a, b) => a - b);
    return {
      value: (rows * 1000) / settledMs,
      details: { rows, settleMs: settledMs - burstMs },
      also: {
        'files-load-burst': {
          value: (rows * 1000) / burstMs,
          details: {
            batchP50Ms: percentile(times, 0.5),
            batchP99Ms: percentile(times, 0.99),
            batchMaxMs: times.at(-1)!,
          },
        },
      },
    };
  },
};

/** Rows beyond all others, again and again the same. */
async function warmLoad(subject: Subject, settings: RunSettings): Promise<void> {
  const values = new Values();
  const keys = keysOf(BATCH, (i) => settings.fileRows + i);
  const end = performance.now() + settings.warmMs;
  while (performance.now() < end) {
    await subject.putBatch(
      keys,
      keys.map(() => values.next()),
    );
  }
  await subject.settle();
}

export const FILES_READS: readonly Workload[] = readsOf({
  prefix: 'files-',
  where: 'from store files (cellar: five) through a cache that holds them',
  data: 'files',
  memory: ({ fileRows }) => ({
    cacheBytes: Math.max(CACHE_LEAST, fileRows * CACHE_FOR_A_ROW),
    writeBufferBytes: 64 * MEBIBYTE,
  }),
  rows: ({ fileRows }) => fileRows,
}).map((workload) => ({
  ...workload,
  autoCompact: false,
  // Many rows in random order take it a minute to load, and it is the best peer in none of these.
  rivals: workload.rivals.filter((name) => name !== 'better-sqlite3'),
}));

export const FILES_COLD: Workload = {
  id: 'files-get-cold',
  title:
    'one read that finds its rows’ block not in the store’s cache, one after the other (bare: pread, checksum and decode of one block of Cellar’s files)',
  unit: 'µs',
  better: 'less',
  data: 'files',
  autoCompact: false,
  memory: ({ fileRows }) => ({
    cacheBytes: Math.max(MEBIBYTE, fileRows * COLD_CACHE_FOR_A_ROW),
    writeBufferBytes: 64 * MEBIBYTE,
  }),
  rivals: ['classic-level'],
  without: { lmdb: 'it maps its file: what is in memory is not its own decision' },
  supports: (subject) => subject.get !== undefined || subject.getSync !== undefined,
  run: async (subject, settings) => {
    if (subject.name === 'bare') return bareBlocks(settings);
    const random = new Random(41);
    const read = async (): Promise<void> => {
      const key = keyOf(random.int(settings.fileRows));
      found(subject.get === undefined ? subject.getSync!(key) : await subject.get(key));
    };
    return timeOfReads(read, settings);
  },
};

interface Hfile {
  readonly module: typeof hfiles;
  readonly env: ios.Env;
}

/** Blocks at random places of Cellar's files, read, checked and decoded, and not kept. */
async function bareBlocks(settings: RunSettings): Promise<Measure> {
  const { open } = await builtModule<{ open: (dir: string) => Promise<Connection> }>('index.js');
  const dir = `${settings.cellarDir}/cellar`;
  const connection = await open(dir);
  const files = await connection.files();
  await connection.close();
  const module = await builtModule<typeof hfiles>('hfile/index.js');
  const { realEnv } = await builtModule<typeof ios>('io/index.js');
  const hfile = { module, env: realEnv() };
  const blocks = await Promise.all(files.map((file) => blocksOf(hfile, path.join(dir, file.path))));
  const all = blocks.flat();
  const random = new Random(41);
  const read = async (): Promise<void> => {
    const { reader, request } = all[random.int(all.length)]!;
    await reader.load(request, false);
  };
  return timeOfReads(read, settings);
}

interface BlockPlace {
  readonly reader: hfiles.HFileReader;
  readonly request: hfiles.BlockRequest;
}

async function blocksOf({ module, env }: Hfile, file: string): Promise<BlockPlace[]> {
  const { BlockCache, HFileReader, loadChecksums } = module;
  const checksums = await loadChecksums();
  const reader = await HFileReader.open(env.fs, file, new BlockCache(0), { checksums });
  if (reader.indexLevels !== 1) throw new Error('the file has an index of several levels');
  const { count, offsets, sizes } = reader.root.entries;
  return Array.from({ length: count }, (_, i) => ({
    reader,
    request: { kind: 'data' as const, offset: offsets[i]!, sizeOnDisk: sizes[i]! },
  }));
}
