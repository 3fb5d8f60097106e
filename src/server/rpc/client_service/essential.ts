/**
 * Families that a filter decides by, and those that are only read for the rows it keeps. Here all are read at once; what is left
 * of the distinction is that HBase refuses a reversed scan that would make it (ReversedRegionScannerImpl).
 */
import { toBytes } from '../../../cell/index.ts';
import type { FilterSpec } from '../../../model/index.ts';

/** HBase: Filter#isFamilyEssential. */
export function isFamilyEssential(filter: FilterSpec, family: string): boolean {
  switch (filter.type) {
    case 'SingleColumnValueFilter':
    case 'SingleColumnValueExcludeFilter': {
      if (filter.filterIfMissing !== true) return true;
      return Buffer.from(toBytes(filter.family)).toString('latin1') === family;
    }
    case 'SkipFilter':
    case 'WhileMatchFilter':
      return isFamilyEssential(filter.filter, family);
    case 'FilterList':
      return (
        filter.filters.length === 0 ||
        filter.filters.some((member) => isFamilyEssential(member, family))
      );
    default:
      return true;
  }
}
