/**
 * The readers of single rows: one a region lives as long as the region's memstores and files stay what they are, so that a
 * get makes nothing, and remembers where it found rows.
 */
import type { ReadSpec } from '../model/index.ts';
import { FileWindow, PointReader, RowSeek, Store } from '../region/index.ts';
import type { Region, RowPlaces, SourceWishes } from '../region/index.ts';
import type { ReadableRegion } from './past_tables.ts';

/** All ones: sees every applied cell. */
const NEWEST = 0xffffffff;

/** Sources for seeks to single rows of the newest state. */
export const POINTS_NOW: SourceWishes = {
  high: NEWEST,
  low: NEWEST,
  points: true,
  cacheBlocks: true,
};

export interface RowReader {
  readonly reader: PointReader;
  readonly layoutVersion: number;
  /** In the middle of a row: others make their own. Set by whoever waits for it. */
  isBusy: boolean;
}

export class RowReaders {
  readonly #readers = new WeakMap<ReadableRegion, RowReader>();
  readonly #places: RowPlaces;

  constructor(places: RowPlaces) {
    this.#places = places;
  }

  /**
   * The region's reader, or one for this read alone: while that is in the middle of another row, for reads of the past,
   * and for reads that shall leave the cache alone. Behind each read: `done`.
   */
  of(region: ReadableRegion, spec: ReadSpec, high: number, low: number): RowReader {
    if (!spec.cacheBlocks || region.needsHistory(high, low)) {
      return makeReader(region, { high, low, points: true, cacheBlocks: spec.cacheBlocks }, null);
    }
    const known = this.#readers.get(region);
    if (known?.layoutVersion === region.layoutVersion) {
      return known.isBusy ? makeReader(region, POINTS_NOW, null) : known;
    }
    const made = makeReader(region, POINTS_NOW, this.#places);
    if (known?.isBusy === false) known.reader.close();
    this.#readers.set(region, made);
    return made;
  }

  /** Closes a reader that served one read only, or was replaced meanwhile. */
  done(region: ReadableRegion, used: RowReader): void {
    if (this.#readers.get(region) !== used) used.reader.close();
  }

  /** The region's layers have changed: lets go of the files that its reader holds. */
  forget(region: Region): void {
    const known = this.#readers.get(region);
    this.#readers.delete(region);
    if (known?.isBusy === false) known.reader.close();
  }
}

/** `places` for a reader that lives on: it learns where rows are. */
function makeReader(
  region: ReadableRegion,
  wishes: SourceWishes,
  places: RowPlaces | null,
): RowReader {
  const stores = region.stores.map((store, index) => {
    const window = new FileWindow();
    const hasFiles = store instanceof Store && store.files.length > 0;
    const seek = places !== null && hasFiles ? new RowSeek(places, index) : null;
    const sources = store.sources({ ...wishes, window, seek });
    return { settings: store.settings, sources, window, seek };
  });
  return { reader: new PointReader(stores), layoutVersion: region.layoutVersion, isBusy: false };
}
