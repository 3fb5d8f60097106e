/** What is measured: one store through the calls that its users make. Absent members: it has no such call. */

/** Gets every byte of a row; what it computes keeps the reading from being optimised away. */
export type Consume = (key: Uint8Array, value: Uint8Array) => void;

export interface Row {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface Subject {
  readonly name: string;
  /** Settles when the row is on the disk. */
  put?(key: Uint8Array, value: Uint8Array): Promise<void>;
  /** As `put` for many rows; all are on the disk when it settles. */
  putBatch(keys: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void>;
  /** Adds 1 to the counter; settles when the sum is on the disk. */
  increment?(key: Uint8Array): Promise<void>;
  /** May throw an error named `NotInMemoryException`: then `get` has the answer. */
  getSync?(key: Uint8Array): Uint8Array | null | undefined;
  get?(key: Uint8Array): Promise<Uint8Array | null | undefined>;
  /** As `putBatch`, with the time of each: what stands under the key stays readable at its own time. */
  putVersions?(
    keys: readonly Uint8Array[],
    times: readonly number[],
    values: readonly Uint8Array[],
  ): Promise<void>;
  /** The newest value that is not newer than `time`. */
  getVersion?(key: Uint8Array, time: number): Promise<Uint8Array | null | undefined>;
  /** As `getVersion`; may throw as `getSync` does. */
  getVersionSync?(key: Uint8Array, time: number): Uint8Array | null | undefined;
  /** The first row from `start` on. */
  firstSync?(start: Uint8Array): Row | undefined;
  /** All rows, by the iterator. */
  scanEach?(consume: Consume): Promise<void>;
  /** All rows, by the call that gives many at once. */
  scanBatches?(consume: Consume): Promise<void>;
  /** `count` rows from `start` on. */
  scanShort?(start: Uint8Array, count: number, consume: Consume): Promise<void>;
  /** Brings what is in memory into store files. */
  flush?(): Promise<void>;
  /** Merges all store files, beside reads and writes. */
  compact?(): Promise<void>;
  /** Splits the region that holds the row, there. */
  split?(row: Uint8Array): Promise<void>;
  /** What the store counts itself. */
  counters?(): Readonly<Record<string, number>>;
  /**
   * Settles when all data lie in the store's own files and no background work is left. Answers the milliseconds at the end
   * in which nothing happened any more: how long it took to be sure.
   */
  settle(): Promise<number>;
  close(): Promise<void>;
}

/** What a store may use, the same for all; a store without such a setting goes by its own rule (see `docs/bench.md`). */
export interface Memory {
  readonly cacheBytes: number;
  /** What is not yet in store files: memstores, write buffers. */
  readonly writeBufferBytes: number;
}

export interface OpenRequest extends Memory {
  /** A folder of this run's own, on the disk that is measured. */
  readonly dir: string;
  /** The folder holds what an earlier run left: open it as it is. */
  readonly reopen: boolean;
  /** Keep everything in the log: no flush or checkpoint while the run lasts. */
  readonly unflushed: boolean;
  /** Whether files are compacted by themselves. */
  readonly autoCompact: boolean;
  /** Keys at which the table is cut into regions. */
  readonly splits: readonly string[];
  /** Versions of a row that are kept, where a store has such. */
  readonly versions: number;
  /** Rows that were loaded before, and the length of their values, for the store that keeps nothing. */
  readonly rows: number;
  readonly valueLength: number;
}

export type OpenSubject = (request: OpenRequest) => Promise<Subject>;

export const MEBIBYTE: number = 1024 * 1024;
/** As Cellar is shipped. */
export const SHIPPED_MEMORY: Memory = {
  cacheBytes: 64 * MEBIBYTE,
  writeBufferBytes: 64 * MEBIBYTE,
};
