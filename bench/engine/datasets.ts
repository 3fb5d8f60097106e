/**
 * Rows that a store holds before it is measured. They are loaded once a store by a process of their own, in random order,
 * the same for all, and every workload that names the set opens that folder again.
 */
import { VALUE_LENGTH, Values, keyOf, keysOf, shuffled } from './rows.ts';
import { GROWTH_RUNS, cutsOf, growthKeyNumber } from './growth_keys.ts';
import { loadVersions } from './versions.ts';
import { MEBIBYTE, SHIPPED_MEMORY } from './subject.ts';
import type { Memory, Subject } from './subject.ts';
import type { Sizes } from './workload.ts';

export interface Dataset {
  rows(sizes: Sizes): number;
  /** While it is loaded. */
  memory(sizes: Sizes): Memory;
  readonly autoCompact: boolean;
  /** Stores other than Cellar need no rows of their own: they have those of this dataset. */
  readonly peersUse?: string;
  /** Versions of a row that the store keeps; default 1. */
  versions?(sizes: Sizes): number;
  splits?(sizes: Sizes): string[];
  fill(subject: Subject, sizes: Sizes): Promise<void>;
}

/** Large, so that a peer that writes whole pages at each commit gets there too; how fast is not compared. */
const LOAD_BATCH = 10_000;
const LOAD_BATCH_BYTES = 1_160_000;
export const FILES = 5;

/** Rows of 16 + 100 bytes in so many bytes. */
export const rowsIn = (bytes: number): number => Math.floor(bytes / 116);

/** Writes the rows at `from` … `to` of a random order of `total`. */
export async function loadRows(
  subject: Subject,
  rows: {
    readonly from: number;
    readonly to: number;
    readonly total: number;
    /** Bytes of a value; default 100. */
    readonly length?: number;
  },
): Promise<void> {
  const length = rows.length ?? VALUE_LENGTH;
  const order = shuffled(rows.total);
  const values = new Values(length);
  const batch = Math.min(LOAD_BATCH, Math.ceil(LOAD_BATCH_BYTES / (length + 16)));
  for (let at = rows.from; at < rows.to; at += batch) {
    const keys = keysOf(Math.min(batch, rows.to - at), (i) => order[at + i]!);
    await subject.putBatch(
      keys,
      keys.map(() => values.next()),
    );
  }
}

/** Loads `total` rows in `parts`, flushing after each: so many store files, each over the whole range. */
export async function loadFiles(
  subject: Subject,
  total: number,
  parts: number,
  length: number = VALUE_LENGTH,
): Promise<void> {
  for (let part = 0; part < parts; part++) {
    const from = Math.floor((total * part) / parts);
    await loadRows(subject, { from, to: Math.floor((total * (part + 1)) / parts), total, length });
    await subject.flush?.();
  }
}

const loadAll = async (
  subject: Subject,
  total: number,
  length: number = VALUE_LENGTH,
): Promise<void> => {
  await loadRows(subject, { from: 0, to: total, total, length });
  await subject.settle();
};

/** Cellar: all in the memstore, brought back from the log at the next opening. */
const MEMORY_ROWS: Dataset = {
  rows: ({ rows }) => rows,
  memory: () => ({ cacheBytes: 256 * MEBIBYTE, writeBufferBytes: 1024 * MEBIBYTE }),
  autoCompact: true,
  fill: (subject, { rows }) => loadRows(subject, { from: 0, to: rows, total: rows }),
};

/** Cellar: five store files. */
const FILE_ROWS: Dataset = {
  rows: ({ fileRows }) => fileRows,
  memory: () => ({ cacheBytes: 256 * MEBIBYTE, writeBufferBytes: 1024 * MEBIBYTE }),
  autoCompact: false,
  fill: async (subject, { fileRows }) => {
    if (subject.name !== 'cellar') return loadAll(subject, fileRows);
    return loadFiles(subject, fileRows, FILES);
  },
};

const cells = (rows: (sizes: Sizes) => number): Dataset => ({
  rows,
  memory: () => SHIPPED_MEMORY,
  autoCompact: true,
  fill: (subject, sizes) => loadAll(subject, rows(sizes)),
});

/** Cellar: five store files, over which the versions of each row are strewn. */
const VERSIONS: Dataset = {
  rows: ({ versionRows }) => versionRows,
  memory: () => ({ cacheBytes: 256 * MEBIBYTE, writeBufferBytes: 1024 * MEBIBYTE }),
  autoCompact: false,
  versions: ({ versions }) => versions,
  fill: async (subject, { versionRows, versions }) => {
    const parts = subject.name === 'cellar' ? FILES : 1;
    await loadVersions(subject, { rows: versionRows, versions, parts });
    if (subject.name !== 'cellar') await subject.settle();
  },
};

/** Cellar: five store files of large values. */
const LARGE_ROWS: Dataset = {
  rows: ({ largeRows }) => largeRows,
  memory: () => ({ cacheBytes: 256 * MEBIBYTE, writeBufferBytes: 1024 * MEBIBYTE }),
  autoCompact: false,
  fill: async (subject, { largeRows, largeLength }) => {
    if (subject.name !== 'cellar') return loadAll(subject, largeRows, largeLength);
    return loadFiles(subject, largeRows, FILES, largeLength);
  },
};

/** Rows of a size among those of the growth curves, as shipped: flushed and compacted as they come. */
const growth = (share: number, regions: number): Dataset => ({
  rows: (sizes) => growthRowsOf(sizes, share),
  memory: () => SHIPPED_MEMORY,
  autoCompact: true,
  splits: () => cutsOf(regions),
  fill: async (subject, sizes) => {
    const rows = growthRowsOf(sizes, share);
    const values = new Values();
    for (let at = 0; at < rows; at += LOAD_BATCH) {
      const count = Math.min(LOAD_BATCH, rows - at);
      const keys = keysOf(count, (i) => growthKeyNumber(at + i, rows));
      await subject.putBatch(
        keys,
        keys.map(() => values.next()),
      );
    }
    await subject.settle();
  },
});

/** The stores of the growth curves: shares of the largest one's rows, each over so many regions. */
export const GROWTH_SHARES: readonly number[] = [0.02, 0.2, 1];
export const GROWTH_REGIONS: readonly number[] = [1, 10, 100];
export const growthRowsOf = ({ growthRows, growthHotRows }: Sizes, share: number): number =>
  Math.max(growthHotRows, Math.floor((growthRows * share) / GROWTH_RUNS) * GROWTH_RUNS);
export const growthName = (share: number, regions: number): string =>
  `growth-${Math.round(50 * share)}x-r${regions}`;

const regionStart = (region: number): string => `user${String(region).padStart(4, '0')}`;

/** Many small files in many regions: each file holds a row. */
const MANY_FILES: Dataset = {
  rows: ({ regions, filesPerRegion }) => regions * filesPerRegion,
  memory: () => SHIPPED_MEMORY,
  autoCompact: false,
  splits: ({ regions }) => Array.from({ length: regions - 1 }, (_, i) => regionStart(i + 1)),
  fill: async (subject, { regions, filesPerRegion }) => {
    for (let file = 0; file < filesPerRegion; file++) {
      const keys = Array.from({ length: regions }, (_, region) =>
        Buffer.from(`${regionStart(region)}${String(file).padStart(8, '0')}`),
      );
      await subject.putBatch(
        keys,
        keys.map((_, i) => keyOf(i)),
      );
      await subject.flush!();
    }
  },
};

export const DATASETS: ReadonlyMap<string, Dataset> = new Map([
  ['memory', MEMORY_ROWS],
  ['files', FILE_ROWS],
  ['cells-small', cells(({ cellsSmall }) => cellsSmall)],
  ['cells-large', cells(({ cellsLarge }) => cellsLarge)],
  ['many-files', MANY_FILES],
  ['versions', VERSIONS],
  ['large', LARGE_ROWS],
  // Its workloads write, so they come after those that only read.
  ['ycsb', { ...cells(({ fileRows }) => fileRows), peersUse: 'files' }],
  ...GROWTH_SHARES.flatMap((share) =>
    GROWTH_REGIONS.map((regions): [string, Dataset] => [
      growthName(share, regions),
      growth(share, regions),
    ]),
  ),
]);
