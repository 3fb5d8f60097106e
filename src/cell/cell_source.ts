/**
 * The one way in which ordered cells are read: a cursor over memstore, store file, or a merge of several.
 *
 * Order (protocol/semantics.md section 1): row, family, qualifier ascending, timestamp descending, type code
 * descending, write number descending. A source holds cells of one store (one family), so the family never decides.
 *
 * Moving is synchronous. When bytes are not in memory a move answers WAIT, changes nothing that can be seen, and the
 * caller does `await source.load()` and makes *the same move again*. So inner loops never await, and the synchronous
 * read path can give up cleanly.
 */
import { NO_BYTES } from './bytes.ts';
export const END = 0;
export const READY = 1;
export const WAIT = 2;
export type SourceState = typeof END | typeof READY | typeof WAIT;

/**
 * A place to seek to. Row bytes are compared whole; an absent qualifier means the start of the row.
 * `beforeRow` fields left at their defaults give: first cell of the column, newest first.
 */
export interface SeekKey {
  readonly row: Uint8Array;
  readonly rowAt: number;
  readonly rowLength: number;
  /** Null: before every cell of the row (family markers included). */
  readonly qualifier: Uint8Array | null;
  readonly qualifierAt: number;
  readonly qualifierLength: number;
  /** The position among the versions of the column: cells with this timestamp and type or after. */
  readonly timestampHigh: number;
  readonly timestampLow: number;
  readonly type: number;
}

/** A timestamp in two unsigned halves. */
export interface NewestTimestamp {
  readonly high: number;
  readonly low: number;
}

/**
 * The cell under the cursor, as offsets into `block`: valid after READY and until the next move. `block` belongs to
 * the source; whoever keeps bytes copies them. Implementations set every field in their constructor, always numbers.
 */
export interface CellView {
  block: Uint8Array;
  /** Offset of the KeyValue (its key length field) in `block`. */
  at: number;
  /** Whole length of the KeyValue, tags included. */
  length: number;
  rowAt: number;
  rowLength: number;
  qualifierAt: number;
  qualifierLength: number;
  /** Offset of the 8-byte timestamp; the type is the byte after it. */
  timestampAt: number;
  valueAt: number;
  valueLength: number;
  /** Encoded tags without their length field; length 0 for none. */
  tagsAt: number;
  tagsLength: number;
  /** The write number: the commit's TSO in two unsigned halves; 0, 0 once a compaction has dropped it. */
  writeHigh: number;
  writeLow: number;
}

/** A view as a plain object, on no cell yet: what cursors move and others stand on a cell of their own. */
export class CellFields implements CellView {
  block: Uint8Array = NO_BYTES;
  at = 0;
  length = 0;
  rowAt = 0;
  rowLength = 0;
  qualifierAt = 0;
  qualifierLength = 0;
  timestampAt = 0;
  valueAt = 0;
  valueLength = 0;
  tagsAt = 0;
  tagsLength = 0;
  writeHigh = 0;
  writeLow = 0;
}

export interface CellSource {
  /** The current cell; the same object for the life of the source, or of the current source of a merge: read it after each move. */
  readonly cell: CellView;
  /** No cell of the source has a later timestamp; null or absent: nobody knows. Lets a merge put off a `reseek`. */
  readonly newest?: NewestTimestamp | null;
  /** Moves to the first cell at or after `key`; may move backwards too. */
  seek(key: SeekKey): SourceState;
  /** Moves to the first cell of the store. */
  seekToFirst(): SourceState;
  /** Moves to the next cell. Only after READY. */
  next(): SourceState;
  /**
   * Moves forward only, to the first cell at or after `key`; never behind the current cell. Cheaper than `seek` when the key is near.
   */
  reseek(key: SeekKey): SourceState;
  /**
   * For reversed scans: moves to the first cell of the greatest row that is smaller than the given row; END if none.
   */
  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState;
  /** For reversed scans: moves to the first cell of the last row. */
  seekToLastRow(): SourceState;
  /** Fetches what the last WAIT wanted. Rejects with IoException or CorruptionException. */
  load(): Promise<void>;
  /** Frees what is pinned. Idempotent. */
  close(): void;
}
