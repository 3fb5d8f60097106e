/** What is measured: one store through the calls that its users make. Absent members: it has no such call. */

/** Gets every byte of a row; what it computes keeps the reading from being optimised away. */
export type Consume = (key: Uint8Array, value: Uint8Array) => void;

export interface Subject {
  readonly name: string;
  /** Settles when the row is on the disk. */
  put?(key: Uint8Array, value: Uint8Array): Promise<void>;
  /** As `put` for many rows; all are on the disk when it settles. */
  putBatch(keys: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void>;
  /** Adds 1 to the counter; settles when the sum is on the disk. */
  increment?(key: Uint8Array): Promise<void>;
  getSync?(key: Uint8Array): Uint8Array | null | undefined;
  get?(key: Uint8Array): Promise<Uint8Array | null | undefined>;
  /** All rows, by the iterator. */
  scanEach?(consume: Consume): Promise<void>;
  /** All rows, by the call that gives many at once. */
  scanBatches?(consume: Consume): Promise<void>;
  /** `count` rows from `start` on. */
  scanShort?(start: Uint8Array, count: number, consume: Consume): Promise<void>;
  close(): Promise<void>;
}

export interface OpenRequest {
  /** A folder of this run's own, on the disk that is measured. */
  readonly dir: string;
  /** The folder holds what an earlier run left: open it as it is. */
  readonly reopen: boolean;
  /** Keep everything in the log: no flush or checkpoint while the run lasts. */
  readonly unflushed: boolean;
}

export type OpenSubject = (request: OpenRequest) => Promise<Subject>;

/** Memory that each store may use for caches, and for what is not yet in its files. */
export const CACHE_BYTES: number = 64 * 1024 * 1024;
/** Larger than any run writes, for `unflushed`. */
export const UNFLUSHED_BYTES: number = 512 * 1024 * 1024;
