/** Which stores a read touches, and what of each. */
import type { CellSource } from '../../cell/index.ts';
import type { FamilyReadSpec, FamilySettings, ReadSpec } from '../../model/index.ts';
import { mergeOf } from './merge_source.ts';
import type { ScanStore } from './region_scanner.ts';

/** A store as readers see it. */
export interface ReadableStore {
  readonly settings: FamilySettings;
  /** Fresh cursors over memstores and files, newest first; the caller closes them. */
  sources(): CellSource[];
}

/** What `spec` reads of a family; null for nothing. */
export function selectFamily(spec: ReadSpec, family: string): FamilyReadSpec | null {
  if (spec.families !== null) {
    return spec.families.find((selected) => selected.family === family) ?? null;
  }
  const timeRange = spec.familyTimeRanges.get(family) ?? spec.timeRange;
  return { family, qualifiers: null, timeRange };
}

/** The stores that a scan reads, in the order given, with merged sources of their own. */
export function openStores(
  stores: readonly ReadableStore[],
  spec: ReadSpec,
  reversed: boolean,
): ScanStore[] {
  const opened: ScanStore[] = [];
  for (const store of stores) {
    const selected = selectFamily(spec, store.settings.name);
    if (selected === null) continue;
    const { qualifiers, timeRange } = selected;
    const source = mergeOf(store.sources(), reversed);
    opened.push({ settings: store.settings, source, qualifiers, timeRange });
  }
  return opened;
}
