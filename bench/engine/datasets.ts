/**
 * Rows that a store holds before it is measured. They are loaded once a store by a process of their own, in random order,
 * the same for all, and every workload that names the set opens that folder again.
 */
import { Values, keyOf, keysOf, shuffled } from './rows.ts';
import { MEBIBYTE, SHIPPED_MEMORY } from './subject.ts';
import type { Memory, Subject } from './subject.ts';
import type { Sizes } from './workload.ts';

export interface Dataset {
  rows(sizes: Sizes): number;
  /** While it is loaded. */
  memory(sizes: Sizes): Memory;
  readonly autoCompact: boolean;
  splits?(sizes: Sizes): string[];
  fill(subject: Subject, sizes: Sizes): Promise<void>;
}

/** Large, so that a peer that writes whole pages at each commit gets there too; how fast is not compared. */
const LOAD_BATCH = 10_000;
const FILES = 5;

/** Rows of 16 + 100 bytes in so many bytes. */
export const rowsIn = (bytes: number): number => Math.floor(bytes / 116);

/** Writes the rows at `from` … `to` of a random order of `total`. */
export async function loadRows(
  subject: Subject,
  rows: { readonly from: number; readonly to: number; readonly total: number },
): Promise<void> {
  const order = shuffled(rows.total);
  const values = new Values();
  for (let at = rows.from; at < rows.to; at += LOAD_BATCH) {
    const keys = keysOf(Math.min(LOAD_BATCH, rows.to - at), (i) => order[at + i]!);
    await subject.putBatch(
      keys,
      keys.map(() => values.next()),
    );
  }
}

/** Loads `total` rows in `parts`, flushing after each: so many store files, each over the whole range. */
export async function loadFiles(subject: Subject, total: number, parts: number): Promise<void> {
  for (let part = 0; part < parts; part++) {
    const from = Math.floor((total * part) / parts);
    await loadRows(subject, { from, to: Math.floor((total * (part + 1)) / parts), total });
    await subject.flush?.();
  }
}

const loadAll = async (subject: Subject, total: number): Promise<void> => {
  await loadRows(subject, { from: 0, to: total, total });
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
  // Of its own, since its workloads write.
  ['ycsb', cells(({ fileRows }) => fileRows)],
]);
