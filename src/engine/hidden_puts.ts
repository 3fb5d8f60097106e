/** Which cells of a commit are hidden by markers that were there before: what `onHidden` of a put is told. */
import { equalBytes } from '../cell/index.ts';
import type { Cell, HiddenPut } from '../model/index.ts';

/**
 * `cells`: what a raw scan shows of the row, newest first within a column. `isClassic`: whether markers of the family hide
 * later writes too.
 */
export function hiddenPuts(
  cells: readonly Cell[],
  tso: bigint,
  isClassic: (family: string) => boolean,
): HiddenPut[] {
  const hidden: HiddenPut[] = [];
  for (const cell of cells) {
    if (cell.type !== 'Put' || cell.tso !== tso || !isClassic(cell.family)) continue;
    const { row, family, qualifier, ts } = cell;
    let marker: HiddenPut['marker'] | null = null;
    for (const other of cells) {
      const { type } = other;
      if (type === 'Put' || other.family !== family || !hides(other, cell)) continue;
      if (marker === null || RANKS[type] > RANKS[marker.type]) {
        marker = { type, qualifier: other.qualifier, ts: other.ts, tso: other.tso };
      }
    }
    if (marker !== null) hidden.push({ row, family, qualifier, ts, marker });
  }
  return hidden;
}

/** The more a marker hides, the higher. */
const RANKS: Readonly<Record<HiddenPut['marker']['type'], number>> = {
  Delete: 0,
  DeleteFamilyVersion: 1,
  DeleteColumn: 2,
  DeleteFamily: 3,
};

function hides(marker: Cell, put: Cell): boolean {
  switch (marker.type) {
    case 'DeleteFamily':
      return put.ts <= marker.ts;
    case 'DeleteFamilyVersion':
      return put.ts === marker.ts;
    case 'DeleteColumn':
      return put.ts <= marker.ts && equalBytes(put.qualifier, marker.qualifier);
    case 'Delete':
      return put.ts === marker.ts && equalBytes(put.qualifier, marker.qualifier);
    case 'Put':
      return false;
  }
}
