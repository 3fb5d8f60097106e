/** What the change feed gives. */
export type ChangeType = 'Put' | 'Delete' | 'DeleteColumn' | 'DeleteFamily' | 'DeleteFamilyVersion';

/** One cell of a commit. The bytes are the consumer's. */
export interface ChangeCell {
  readonly table: string;
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly type: ChangeType;
  /** Milliseconds. */
  readonly ts: bigint;
  readonly value: Uint8Array;
  /** Milliseconds that the cell lives; null: as long as its family says. */
  readonly ttl: number | null;
}

/**
 * Cells of one commit, in its order; all of it, or, of a large transaction, a piece. `isLast`: the commit is complete. A
 * consumer that has taken it goes on from `tso + 1`.
 */
export interface CommitChange {
  readonly kind: 'commit';
  readonly tso: bigint;
  /** Number of the first cell within the commit. */
  readonly seq: number;
  /** Of its transaction; null for none. */
  readonly label: string | null;
  readonly txnId: bigint | null;
  readonly cells: readonly ChangeCell[];
  /** Old cells of the rows, where their table has CHANGE_BEFORE: what was visible of each row before. Null: not kept. */
  readonly before: readonly ChangeCell[] | null;
  readonly isLast: boolean;
}

/** Commits in [first, last] that the log does not hold: their cells are in the store, not in the feed. */
export interface GapChange {
  readonly kind: 'gap';
  readonly first: bigint;
  readonly last: bigint;
}

/** Everything below was given. */
export interface WatermarkChange {
  readonly kind: 'watermark';
  readonly tso: bigint;
}

export type Change = CommitChange | GapChange | WatermarkChange;

export interface ChangesOptions {
  /** From this TSO on, inclusive. Default: the oldest that the log holds. */
  readonly from?: bigint;
  /** Up to this TSO, exclusive. Default: what is on the disk when the feed is asked. */
  readonly to?: bigint;
  /** Default: all. */
  readonly tables?: readonly string[];
  /** Goes on with what is committed later, until it is closed or `signal` is aborted. Default false. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
  /** Gives a watermark when there is nothing else for so many milliseconds; 0, the default: only at the end. */
  readonly heartbeatMs?: number;
}
