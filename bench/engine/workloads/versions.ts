/** Reads of an old version among many: rows of 100 versions, and the newest of them not newer than a time. */
import { ByteSum, Random } from '../rows.ts';
import { RANDOM_COPY } from '../limit_rules.ts';
import { MEBIBYTE } from '../subject.ts';
import type { Subject } from '../subject.ts';
import { oldTime, timeOf, versionReader, versionReaderSync } from '../versions.ts';
import { rateAsync, rateSync } from '../workload.ts';
import type { Measure, RunSettings, Workload } from '../workload.ts';
import { found, isNotInMemory } from './reads.ts';

const STEP = 64;
/** So many versions of each row are read before: enough to have all blocks in the cache. */
const HEAT_READS = 5;
const CACHE_FOR_A_CELL = 256;

const BASE = {
  unit: 'op/s',
  better: 'more',
  data: 'versions',
  limit: RANDOM_COPY,
  autoCompact: false,
  rivals: ['lmdb', 'classic-level', 'better-sqlite3'],
  without: { bare: 'it keeps no versions' },
  versions: ({ versions }) => versions,
  memory: ({ versionRows, versions }) => ({
    cacheBytes: Math.max(8 * MEBIBYTE, versionRows * versions * CACHE_FOR_A_CELL),
    writeBufferBytes: 64 * MEBIBYTE,
  }),
  seconds: ({ versionRows, warmMs, measureMs }) =>
    (warmMs + measureMs) / 1000 + (HEAT_READS * versionRows) / 50_000,
} satisfies Partial<Workload>;

const WHERE =
  'of an old version among 100 of its row (cellar: in five files; the others: the time behind the key)';

async function heat(subject: Subject, { versionRows, versions }: RunSettings): Promise<void> {
  const read = versionReader(subject)!;
  for (let row = 0; row < versionRows; row++) {
    for (let i = 0; i < HEAT_READS; i++) {
      found(await read(row, timeOf(Math.floor((versions * i) / HEAT_READS))));
    }
  }
}

async function getSync(subject: Subject, settings: RunSettings): Promise<Measure> {
  await heat(subject, settings);
  const { versionRows, versions } = settings;
  const read = versionReaderSync(subject)!;
  const readLater = versionReader(subject)!;
  const random = new Random(71);
  const sum = new ByteSum();
  let notInMemory = 0;
  const later: { row: number; time: number }[] = [];
  const catchUp = async (): Promise<void> => {
    for (const { row, time } of later.splice(0)) sum.add(found(await readLater(row, time)));
  };
  const step = (): Promise<void> | null => {
    for (let i = 0; i < STEP; i++) {
      const row = random.int(versionRows);
      const time = oldTime(random, versions);
      try {
        sum.add(found(read(row, time)));
      } catch (error) {
        if (!isNotInMemory(error)) throw error;
        notInMemory++;
        later.push({ row, time });
      }
    }
    return later.length > 0 ? catchUp() : null;
  };
  const measure = await rateSync(step, STEP, settings);
  return { ...measure, details: { byteSum: sum.sum, ...(notInMemory > 0 ? { notInMemory } : {}) } };
}

async function getByPromise(subject: Subject, settings: RunSettings): Promise<Measure> {
  await heat(subject, settings);
  const { versionRows, versions } = settings;
  const read = versionReader(subject)!;
  const random = new Random(73);
  const sum = new ByteSum();
  const step = async (): Promise<number> => {
    sum.add(found(await read(random.int(versionRows), oldTime(random, versions))));
    return 1;
  };
  return { ...(await rateAsync(step, 32, settings)), details: { byteSum: sum.sum } };
}

export const OLD_VERSIONS: readonly Workload[] = [
  {
    ...BASE,
    id: 'versions-get-sync',
    title: `reads ${WHERE}, synchronous`,
    short: 'old version among 100, synchronous',
    supports: (subject) => versionReaderSync(subject) !== undefined,
    run: getSync,
  },
  {
    ...BASE,
    id: 'versions-get-promise-32',
    title: `reads ${WHERE}, by promise, 32 at once`,
    short: 'old version among 100, by promise',
    supports: (subject) => versionReader(subject) !== undefined,
    run: getByPromise,
  },
];
