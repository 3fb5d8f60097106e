/**
 * What became of the cells that a read of one store looked at, counted for `table.explain`. A read that is not explained has
 * no tally, and asks for none but by a null check where cells are dropped.
 */
import type { CellView } from '../../cell/index.ts';
import type { CellCounts, HintCounts } from '../../model/index.ts';
import { KeptBytes } from './keys.ts';

/** Why a cell is not returned: places in `CellTally#hidden`. */
export const HIDDEN_MARKER = 0;
export const HIDDEN_VERSIONS = 1;
export const HIDDEN_TTL = 2;
export const HIDDEN_TIME_RANGE = 3;
export const HIDDEN_FILTER = 4;
export const HIDDEN_READ_POINT = 5;
export const HIDDEN_COLUMN = 6;
export const HIDDEN_DUPLICATE = 7;
export const HIDDEN_STORE_LIMIT = 8;
const REASONS = 9;
export type HiddenReason =
  | typeof HIDDEN_MARKER
  | typeof HIDDEN_VERSIONS
  | typeof HIDDEN_TTL
  | typeof HIDDEN_TIME_RANGE
  | typeof HIDDEN_FILTER
  | typeof HIDDEN_READ_POINT
  | typeof HIDDEN_COLUMN
  | typeof HIDDEN_DUPLICATE
  | typeof HIDDEN_STORE_LIMIT;

export class CellTally {
  /** Cells that the matcher and the filter let through; the filter may still drop them with their row. */
  kept = 0;
  markers = 0;
  hintsGiven = 0;
  hintsFollowed = 0;
  /** Seeks that a merge has put off, and those of them that it had to make after all. */
  seeksPostponed = 0;
  seeksMade = 0;
  /** The family was read only for rows that the filter had passed. */
  onDemand = false;
  readonly #hidden: number[] = new Array<number>(REASONS).fill(0);
  /** Why the last cell was the last that is wanted of its column or row. */
  #cause: HiddenReason = HIDDEN_VERSIONS;
  /** The column of the last cell that was judged. */
  readonly #column: KeptBytes = new KeptBytes();

  /** A cell is not returned; those that follow in its column, if they are stepped over, for the same reason. */
  hide(reason: HiddenReason): void {
    this.#hidden[reason]!++;
    this.#cause = reason;
  }

  /** The cell is kept; those stepped over behind it go for this reason. */
  because(reason: HiddenReason): void {
    this.#cause = reason;
  }

  /** A cell is about to be judged. If it is kept as the last of its column, VERSIONS is why, unless something else is said. */
  stand(cell: CellView): void {
    this.#cause = HIDDEN_VERSIONS;
    this.#column.set(cell.block, cell.qualifierAt, cell.qualifierLength);
  }

  /** The reader steps over a cell on its way to the next column, or row. */
  passOver(cell: CellView, leavesRow: boolean): void {
    const { block, qualifierAt, qualifierLength } = cell;
    const cause = this.#cause;
    const isOfRow = cause === HIDDEN_FILTER || cause === HIDDEN_STORE_LIMIT;
    const isSame = this.#column.equals(block, qualifierAt, qualifierLength);
    this.#hidden[isSame || (leavesRow && isOfRow) ? cause : HIDDEN_COLUMN]!++;
  }

  get hints(): HintCounts {
    return { given: this.hintsGiven, followed: this.hintsFollowed };
  }

  get lazySeeksSaved(): number {
    return this.seeksPostponed - this.seeksMade;
  }

  /** `returned`: cells of the family in the results. What else was kept went with its row. */
  counts(returned: number): CellCounts {
    const hidden = this.#hidden;
    const { markers } = this;
    const lookedAt = hidden.reduce((sum, count) => sum + count, this.kept + markers);
    return {
      lookedAt,
      returned,
      markers,
      hidden: {
        marker: hidden[HIDDEN_MARKER]!,
        versions: hidden[HIDDEN_VERSIONS]!,
        ttl: hidden[HIDDEN_TTL]!,
        timeRange: hidden[HIDDEN_TIME_RANGE]!,
        filter: hidden[HIDDEN_FILTER]! + this.kept - returned,
        readPoint: hidden[HIDDEN_READ_POINT]!,
        column: hidden[HIDDEN_COLUMN]!,
        duplicate: hidden[HIDDEN_DUPLICATE]!,
        storeLimit: hidden[HIDDEN_STORE_LIMIT]!,
      },
    };
  }
}
