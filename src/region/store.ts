/**
 * A store: one family of one region. Cells are in the active memstore, in memstores frozen for a flush, and in store
 * files; a read merges them all, newest source first.
 */
import type { CellSource } from '../cell/index.ts';
import type { FamilySettings } from '../model/index.ts';
import { Memstore } from './memstore/index.ts';

/** What gives the cells of one more layer of a store: a frozen memstore or a store file. */
export interface StoreLayer {
  cursor(): CellSource;
}

export class Store {
  readonly familyId: number;
  settings: FamilySettings;
  memstore: Memstore = new Memstore();
  /** Newest first. */
  layers: readonly StoreLayer[] = [];

  /** Commits up to this TSO (in halves) are in the files: replay of the log skips them. */
  flushedHigh = 0;
  flushedLow = 0;

  constructor(familyId: number, settings: FamilySettings) {
    this.familyId = familyId;
    this.settings = settings;
  }

  /** Fresh cursors over every layer, the newest first. The caller closes them. */
  sources(): CellSource[] {
    const sources: CellSource[] = [this.memstore.cursor()];
    for (const layer of this.layers) sources.push(layer.cursor());
    return sources;
  }
}
