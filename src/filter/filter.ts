/** The life cycle of a filter, from `model`, and what every filter here shares. */
import type { CellView, SeekKey } from '../cell/index.ts';
import { FILTER_INCLUDE, FILTER_INCLUDE_AND_SEEK_NEXT_ROW } from '../model/index.ts';
import type { CellFilter, FilterCode, RowCells } from '../model/index.ts';

export {
  FILTER_INCLUDE,
  FILTER_INCLUDE_AND_NEXT_COL,
  FILTER_INCLUDE_AND_SEEK_NEXT_ROW,
  FILTER_NEXT_COL,
  FILTER_NEXT_ROW,
  FILTER_SEEK_NEXT_USING_HINT,
  FILTER_SKIP,
} from '../model/index.ts';
export type {
  CellFilter,
  FilterCode,
  FilterContext,
  FilterMaker,
  RowCells,
} from '../model/index.ts';

/** Whether the code keeps the cell. */
export function isIncluded(code: FilterCode): boolean {
  return code <= FILTER_INCLUDE_AND_SEEK_NEXT_ROW;
}

/** Whether a filter needs the family to decide on a row. */
export const needsFamily = (filter: CellFilter, family: Uint8Array): boolean =>
  filter.isFamilyEssential?.(family) ?? true;

/* eslint-disable @typescript-eslint/no-unused-vars -- the parameters are for those who override */
/** A filter that passes everything: the start of every other. HBase: FilterBase. */
export abstract class BaseFilter implements CellFilter {
  /** A MUST_PASS_ALL list asks such filters for a hint although another filter has dropped the cell. HBase: HintingFilter. */
  readonly isHinting: boolean = false;
  /**
   * What it is shown of one row tells on the rows behind it. HBase shows a filter the cells of rows, too, that it has left out
   * by their key (RegionScannerImpl#nextRow reads them for nobody); only for such a filter that makes a difference.
   */
  readonly isLasting: boolean = false;
  /** Set on the filter that the scanner holds. */
  takeWork?(): number;

  reset(): void {
    // Without state of a row there is nothing to do.
  }

  filterAllRemaining(): boolean {
    return false;
  }

  filterRowKey(_firstCell: CellView): boolean {
    return this.filterAllRemaining();
  }

  filterCell(_cell: CellView): FilterCode {
    return FILTER_INCLUDE;
  }

  transformCell(cell: CellView): CellView {
    return cell;
  }

  nextCellHint(_cell: CellView): SeekKey | null {
    return null;
  }

  hasFilterRow(): boolean {
    return false;
  }

  isFamilyEssential(_family: Uint8Array): boolean {
    return true;
  }

  filterRowCells(_row: RowCells): void {
    // Keeps them all.
  }

  filterRow(): boolean {
    return false;
  }
}
