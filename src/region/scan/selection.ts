/** Which stores a read touches, and what of each. */
import type { CellSource } from '../../cell/index.ts';
import type { FamilyReadSpec, FamilySettings, ReadSpec, ScanSpec } from '../../model/index.ts';
import { FileWindow } from '../file_window.ts';
import type { CellTally } from './explain_cells.ts';
import { mergeOf } from './merge_source.ts';
import type { ScanStore } from './region_scanner.ts';

/** A store as readers see it. */
export interface ReadableStore {
  readonly settings: FamilySettings;
  /** Fresh cursors over memstores and files that the window admits, newest first; the caller closes them. */
  sources(window: FileWindow): CellSource[];
  readonly tally?: CellTally | null;
}

/** What `spec` reads of a family; null for nothing. */
export function selectFamily(spec: ReadSpec, family: string): FamilyReadSpec | null {
  if (spec.families !== null) {
    return spec.families.find((selected) => selected.family === family) ?? null;
  }
  const timeRange = spec.familyTimeRanges.get(family) ?? spec.timeRange;
  return { family, qualifiers: null, timeRange };
}

/** The moment that a read sees, in halves; `nowMs` judges TTL. */
export interface ReadMoment {
  readonly high: number;
  readonly low: number;
  readonly nowMs: number;
}

/** The stores that a scan reads, in the order given, with merged sources of their own. */
export function openStores(
  stores: readonly ReadableStore[],
  spec: ScanSpec,
  moment: ReadMoment,
): ScanStore[] {
  const opened: ScanStore[] = [];
  for (const store of stores) {
    const selected = selectFamily(spec, store.settings.name);
    if (selected === null) continue;
    const { qualifiers, timeRange } = selected;
    const window = new FileWindow();
    window.setTimes(store.settings, timeRange, spec.raw, moment.nowMs);
    window.setRows(spec.from, spec.to, moment.high, moment.low);
    const { settings, tally = null } = store;
    const source = mergeOf(store.sources(window), spec.reversed, tally);
    opened.push({ settings, source, qualifiers, timeRange, tally });
  }
  return opened;
}
