/**
 * What the region scanner asks of a filter: HBase's life cycle (org.apache.hadoop.hbase.filter.Filter) on cells as bytes.
 * It stands here because users may pass a filter of their own in their read options.
 *
 * For each row: `filterAllRemaining` (true ends the scan) · `reset` · `filterRowKey` (true skips the row unread) ·
 * `filterCell` for each cell that passed delete, TTL, time range, column and family-version checks, then
 * `transformCell` for those kept · after the row, if `hasFilterRow`: `filterRowCells`, then `filterRow` (true drops the row).
 * One instance serves one scanner: its state lives as long as that scanner of that region.
 */
import type { CellView, SeekKey } from '../cell/index.ts';

/** What `filterCell` decides. HBase: Filter.ReturnCode. */
export const FILTER_INCLUDE = 0;
/** Keep the cell, go to the next column. */
export const FILTER_INCLUDE_AND_NEXT_COL = 1;
/** Keep the cell, leave this row of this family. */
export const FILTER_INCLUDE_AND_SEEK_NEXT_ROW = 2;
/** Drop this cell. */
export const FILTER_SKIP = 3;
/** Drop this cell and the other versions of its column. */
export const FILTER_NEXT_COL = 4;
/** Drop the rest of the row of this family; the next family asks again. */
export const FILTER_NEXT_ROW = 5;
/** Drop this cell and jump to `nextCellHint`. */
export const FILTER_SEEK_NEXT_USING_HINT = 6;

export type FilterCode =
  | typeof FILTER_INCLUDE
  | typeof FILTER_INCLUDE_AND_NEXT_COL
  | typeof FILTER_INCLUDE_AND_SEEK_NEXT_ROW
  | typeof FILTER_SKIP
  | typeof FILTER_NEXT_COL
  | typeof FILTER_NEXT_ROW
  | typeof FILTER_SEEK_NEXT_USING_HINT;

/** The kept cells of one row, for `filterRowCells`. */
export interface RowCells {
  readonly count: number;
  /** The kept cell at `index` (0 … count-1), as a view that the next call changes. */
  cellAt(index: number): CellView;
  /** Takes the cell at `index` out; those behind it move up. */
  remove(index: number): void;
}

/**
 * Views and their bytes belong to the scanner and change with its next move: a filter that keeps bytes copies them.
 */
export interface CellFilter {
  /** Called before each row. */
  reset(): void;
  /** True: nothing more of this region is wanted. */
  filterAllRemaining(): boolean;
  /** True: skip the whole row. `firstCell` is the first cell of the row in key order, perhaps a marker. */
  filterRowKey(firstCell: CellView): boolean;
  filterCell(cell: CellView): FilterCode;
  /** The kept cell as it goes into the result: the same view, or one of the filter's own. */
  transformCell(cell: CellView): CellView;
  /**
   * Where to go after FILTER_SEEK_NEXT_USING_HINT; null: to the next cell. A key in another row is the next wanted row
   * in the scan's direction; an absent qualifier stands for the start of that row.
   */
  nextCellHint(cell: CellView): SeekKey | null;
  /** Whether `filterRowCells` or `filterRow` decide on whole rows: then rows are never cut into parts. */
  hasFilterRow(): boolean;
  /** May remove cells of the finished row. */
  filterRowCells(row: RowCells): void;
  /** True: drop the row. Called only for rows with kept cells. */
  filterRow(): boolean;
  /**
   * Whether the filter needs this family to decide on a row; others are read only for rows that it passes, unless the read
   * says otherwise (`loadColumnFamiliesOnDemand`). Absent: it needs all.
   */
  isFamilyEssential?(family: Uint8Array): boolean;
  /**
   * Work done since the last call beyond what a cell usually costs, counted in cells: a scan gives way to others the
   * sooner. Absent: none.
   */
  takeWork?(): number;
}

/** What a filter is made for. */
export interface FilterContext {
  readonly reversed: boolean;
  /** A number in [0, below), from the engine's source of chance. */
  random(below: number): number;
}

/** Makes a filter for the scanner of one region. */
export type FilterMaker = (context: FilterContext) => CellFilter;
