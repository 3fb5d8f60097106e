/**
 * Growth, Cellar alone: stores of more and more rows in more and more regions, as shipped, and in each the same hot rows
 * (runs of neighbours all over the table) read, and written, with the memory of the process meanwhile.
 */
import { GROWTH_REGIONS, GROWTH_SHARES, growthName, growthRowsOf } from '../datasets.ts';
import { hotKeyNumber } from '../growth_keys.ts';
import { RANDOM_COPY, SYNC_FOR_64 } from '../limit_rules.ts';
import { RssWatch } from '../rss_watch.ts';
import { ByteSum, Random, Values, keyOf } from '../rows.ts';
import { MEBIBYTE } from '../subject.ts';
import type { Subject } from '../subject.ts';
import { rateAsync } from '../workload.ts';
import type { Measure, RunSettings, Workload } from '../workload.ts';
import { found } from './reads.ts';

const READERS = 32;
const WRITERS = 64;
const HEATERS = 32;
/** About what a load of such a store makes, with its compactions. */
const LOADED_PER_SECOND = 80_000;

async function heat(subject: Subject, hot: number): Promise<void> {
  let next = 0;
  const loop = async (): Promise<void> => {
    while (next < hot) found(await subject.get!(keyOf(hotKeyNumber(next++, hot))));
  };
  await Promise.all(Array.from({ length: HEATERS }, loop));
}

async function run(
  name: string,
  share: number,
  regions: number,
  subject: Subject,
  settings: RunSettings,
): Promise<Measure> {
  const hot = settings.growthHotRows;
  await heat(subject, hot);
  const rss = new RssWatch();
  const random = new Random(83);
  const sum = new ByteSum();
  const read = async (): Promise<number> => {
    sum.add(found(await subject.get!(keyOf(hotKeyNumber(random.int(hot), hot)))));
    return 1;
  };
  const reads = await rateAsync(read, READERS, settings);
  const values = new Values();
  const write = async (): Promise<number> => {
    await subject.put!(keyOf(hotKeyNumber(random.int(hot), hot)), values.next());
    return 1;
  };
  const writes = await rateAsync(write, WRITERS, settings);
  const details = { rows: growthRowsOf(settings, share), regions, hotRows: hot };
  return {
    ...reads,
    details: { ...details, byteSum: sum.sum },
    also: {
      [`${name}-writes`]: { ...writes, details },
      [`${name}-rss`]: { value: rss.stop() / MEBIBYTE, details },
      [`${name}-load`]: { value: settings.loadedPerSecond, details },
    },
  };
}

function workloadOf(share: number, regions: number): Workload {
  const name = growthName(share, regions);
  const where = `a store of ${Math.round(50 * share)}/50 of the largest's rows in ${regions} regions`;
  return {
    id: `${name}-reads`,
    title: `hot rows read by promise, ${READERS} at once, in ${where}`,
    unit: 'op/s',
    better: 'more',
    limit: RANDOM_COPY,
    data: name,
    rivals: [],
    stores: ['cellar'],
    seconds: ({ warmMs, measureMs, growthHotRows }) =>
      (2 * (warmMs + measureMs)) / 1000 + growthHotRows / 50_000,
    further: [
      {
        id: `${name}-writes`,
        title: `hot rows written durably by ${WRITERS} writers, in ${where}`,
        unit: 'op/s',
        better: 'more',
        limit: SYNC_FOR_64,
      },
      {
        id: `${name}-rss`,
        title: `memory of the process at most meanwhile, ${where}`,
        unit: 'MiB',
        better: 'less',
      },
      {
        id: `${name}-load`,
        title: `rows a second while ${where} was loaded, until compaction had settled`,
        unit: 'rows/s',
        better: 'more',
      },
    ],
    supports: (subject) => subject.get !== undefined && subject.put !== undefined,
    run: (subject, settings) => run(name, share, regions, subject, settings),
  };
}

/** Seconds that loading a store of the curves takes, about. */
export const growthLoadSeconds = (rows: number): number => rows / LOADED_PER_SECOND;

export const GROWTH: readonly Workload[] = GROWTH_SHARES.flatMap((share) =>
  GROWTH_REGIONS.map((regions) => workloadOf(share, regions)),
);
