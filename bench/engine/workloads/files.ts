/** Rows in store files: reading them warm and cold, small ones and large ones. */
import path from 'node:path';
import type * as hfiles from '../../../src/hfile/index.ts';
import type * as ios from '../../../src/io/index.ts';
import type { Connection } from '../../../src/model/index.ts';
import { BLOCK_READ, LARGE_COPY } from '../limit_rules.ts';
import { Random, keyOf } from '../rows.ts';
import { MEBIBYTE } from '../subject.ts';
import { builtModule } from '../subjects/cellar.ts';
import { processIo } from '../usage.ts';
import { rateAsync } from '../workload.ts';
import type { Measure, RunSettings, Workload } from '../workload.ts';
import { found, readsOf, timeOfReads } from './reads.ts';

/** Enough for each row with what a cached block adds to it. */
const CACHE_FOR_A_ROW = 256;
const CACHE_LEAST = 8 * MEBIBYTE;
/** Enough for indexes and Bloom filters, and for one block of rows in fifty. */
const COLD_CACHE_FOR_A_ROW = 6;
const COLD_READERS = 32;

export const FILES_READS: readonly Workload[] = readsOf({
  prefix: 'files-',
  where: 'from store files (cellar: five) through a cache that holds them',
  data: 'files',
  memory: ({ fileRows }) => ({
    cacheBytes: Math.max(CACHE_LEAST, fileRows * CACHE_FOR_A_ROW),
    writeBufferBytes: 64 * MEBIBYTE,
  }),
  rows: ({ fileRows }) => fileRows,
  place: 'in files',
}).map((workload) => ({ ...workload, autoCompact: false }));

/** Large values: the same reads but those of missing keys. */
export const LARGE_READS: readonly Workload[] = readsOf({
  prefix: 'large-',
  where: 'values of 10 kB in store files (cellar: five) through a cache that holds them',
  data: 'large',
  memory: ({ largeRows, largeLength }) => ({
    cacheBytes: Math.max(CACHE_LEAST, Math.ceil(1.5 * largeRows * largeLength)),
    writeBufferBytes: 64 * MEBIBYTE,
  }),
  rows: ({ largeRows }) => largeRows,
  place: 'values of 10 kB',
  keys: 10_000,
  getLimit: LARGE_COPY,
  scanLimit: LARGE_COPY,
})
  .filter(({ id }) => !id.includes('missing'))
  .map((workload) => ({
    ...workload,
    autoCompact: false,
    rivals: ['lmdb', 'classic-level', 'better-sqlite3'],
    valueLength: ({ largeLength }) => largeLength,
  }));

const COLD = {
  data: 'files',
  autoCompact: false,
  memory: ({ fileRows }) => ({
    cacheBytes: Math.max(MEBIBYTE, fileRows * COLD_CACHE_FOR_A_ROW),
    writeBufferBytes: 64 * MEBIBYTE,
  }),
  rivals: ['classic-level'],
} satisfies Partial<Workload>;
const MAPPED = 'it maps its file: what is in memory is not its own decision';

export const FILES_COLD: Workload = {
  ...COLD,
  id: 'files-get-cold',
  title:
    'one read that finds its rows’ block not in the store’s cache, one after the other (bare: pread, checksum and decode of one block of Cellar’s files)',
  short: 'cold point read',
  unit: 'µs',
  better: 'less',
  limit: BLOCK_READ,
  without: { lmdb: MAPPED },
  further: [
    {
      id: 'files-get-cold-bytes',
      title: 'read amplification of Cellar: bytes read from files for such a read of 100 bytes',
      short: 'bytes read for a cold read',
      unit: 'bytes',
      better: 'less',
    },
  ],
  supports: (subject) => subject.get !== undefined || subject.getSync !== undefined,
  run: async (subject, settings) => {
    if (subject.name === 'bare') return bareBlocks(settings);
    const random = new Random(41);
    let reads = 0;
    const read = async (): Promise<void> => {
      const key = keyOf(random.int(settings.fileRows));
      found(subject.get === undefined ? subject.getSync!(key) : await subject.get(key));
      reads++;
    };
    // Others map their files, which is not counted.
    const misses = (): number | undefined => subject.counters?.()['block_cache_misses'];
    const [before, missesBefore] = [processIo(), misses()];
    const measure = await timeOfReads(read, settings);
    const [after, missesAfter] = [processIo(), misses()];
    if (before === null || after === null) return measure;
    if (missesBefore === undefined || missesAfter === undefined) return measure;
    const value = (after.readBytes - before.readBytes) / reads;
    const details = { blocksRead: (missesAfter - missesBefore) / reads };
    return { ...measure, also: { 'files-get-cold-bytes': { value, details } } };
  },
};

export const FILES_COLD_32: Workload = {
  ...COLD,
  id: 'files-get-cold-promise-32',
  title: `reads that find their rows’ block not in the store’s cache, by promise, ${COLD_READERS} at once`,
  short: 'cold point reads by promise',
  unit: 'op/s',
  better: 'more',
  without: { lmdb: MAPPED, bare: 'it reads one block after the other' },
  supports: (subject) => subject.get !== undefined,
  run: (subject, settings) => {
    const random = new Random(43);
    const step = async (): Promise<number> => {
      found(await subject.get!(keyOf(random.int(settings.fileRows))));
      return 1;
    };
    return rateAsync(step, COLD_READERS, settings);
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
