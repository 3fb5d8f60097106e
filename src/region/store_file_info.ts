/** What is known of a store file without opening it. */
import type { FileStamp } from '../hfile/index.ts';

/** What the manifest says of a file. */
export interface StoreFileInfo {
  readonly id: number;
  readonly path: string;
  readonly sizeBytes: number;
  readonly cellCount: number;
  readonly level: number;
  readonly hasTags: boolean;
  /** Null when the file is empty. */
  readonly firstRow: Uint8Array | null;
  readonly lastRow: Uint8Array | null;
  /** Of its cells; the least is 0 if a marker reaches down to there. In halves, the greatest inclusive. */
  readonly minTimestampHigh: number;
  readonly minTimestampLow: number;
  readonly maxTimestampHigh: number;
  readonly maxTimestampLow: number;
  /** Least write number of its cells, in halves: a read as of before sees nothing of it. */
  readonly minWriteHigh: number;
  readonly minWriteLow: number;
  /** Greatest one, in halves; absent: not known. */
  readonly maxWriteHigh?: number;
  readonly maxWriteLow?: number;
  readonly stamp: FileStamp | null;
  readonly inMemory: boolean;
  /** What a split or merge left: a range of a file that belonged to another region. */
  readonly isReference: boolean;
  /** Only these rows belong to the region; empty bounds are open. */
  readonly fromRow: Uint8Array;
  readonly toRow: Uint8Array;
}
