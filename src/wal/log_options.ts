/** What a log writer is made with, and what it counts. */
export interface LogOptions {
  /** Usual size of a segment, bytes; larger records get larger ones. Default 16 MiB. */
  readonly segmentBytes?: number;
  /** Longest time a written record stays unsynced. Default 200 ms. */
  readonly asyncSyncMs?: number;
  /** Bytes that may gather while a write is under way, beyond which `roomFor` says no. Default 8 MiB. */
  readonly batchBytesMax?: number;
  /**
   * Whether a lone waiter may be served by blocking calls while the disk is quick. Default true; off in simulations, where
   * turns also start early, whatever the disk's pace.
   */
  readonly blockingSync?: boolean;
  /** Tells of background writes under way, during which the log never blocks. Default: none. */
  readonly isDiskBusy?: () => boolean;
  /** 16 bytes that mark the segments as this store's. Default zeros. */
  readonly storeId?: Uint8Array;
  /** Where released segments go that shall be kept. Default: none. */
  readonly archiveDir?: string;
}

/** Counts since the writer was made. */
export interface LogMetrics {
  records: number;
  /** Bytes of records, padding included. */
  bytes: number;
  batches: number;
  syncs: number;
  /** Those of the syncs that blocked the thread. */
  blockingSyncs: number;
}
