/**
 * Transactions that came with a backup. Tables and families have other ids here than where they were prepared; their cells,
 * and the digest over them, which clients know, stay as they were made. The ledger's record says which id stands for which.
 */
import type { CellGroup } from './cells.ts';
import type { LoadStore } from './staging.ts';

/** A family by the ids that the cells and the digest were made with, and by those that it has in this store. */
export interface FamilyOrigin extends LoadStore {
  readonly fromTable: number;
  readonly fromFamily: number;
}

/** The groups of the families of this store. Without origins they are so already. */
export function placedGroups(
  groups: CellGroup[],
  origins: readonly FamilyOrigin[] | undefined,
): CellGroup[] {
  if (origins === undefined) return groups;
  return groups.map((group) => ({ ...group, ...placeOf(group, origins) }));
}

/** What stands here for ids of where it was prepared. */
export function placeOf(
  { tableId, familyId }: LoadStore,
  origins: readonly FamilyOrigin[] | undefined,
): LoadStore {
  const found = origins?.find(
    ({ fromTable, fromFamily }) => fromTable === tableId && fromFamily === familyId,
  );
  return found === undefined
    ? { tableId, familyId }
    : { tableId: found.tableId, familyId: found.familyId };
}

/** The reverse of `placeOf`. */
export function originOf(
  { tableId, familyId }: LoadStore,
  origins: readonly FamilyOrigin[] | undefined,
): LoadStore {
  const found = origins?.find((one) => one.tableId === tableId && one.familyId === familyId);
  return found === undefined
    ? { tableId, familyId }
    : { tableId: found.fromTable, familyId: found.fromFamily };
}
