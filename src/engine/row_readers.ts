/** The readers of single rows: a region's own makes nothing for a get, and remembers where it found rows. */
import type { ReadSpec } from '../model/index.ts';
import { FileWindow, PointReader, RowSeek, Store } from '../region/index.ts';
import type { PointStoreParts, Region, RowPlaces, SourceWishes } from '../region/index.ts';
import { KeptReaders } from './kept_readers.ts';
import type { KeptReader } from './kept_readers.ts';
import type { ReadableFamily, ReadableRegion } from './past_tables.ts';

/** All ones: sees every applied cell. */
const NEWEST = 0xffffffff;

/** Sources for seeks to single rows of the newest state. */
export const POINTS_NOW: SourceWishes = {
  high: NEWEST,
  low: NEWEST,
  points: true,
  cacheBlocks: true,
};

export type RowReader = KeptReader<PointReader>;

export class RowReaders {
  readonly #kept: KeptReaders<ReadableRegion, PointReader>;

  constructor(places: RowPlaces) {
    this.#kept = new KeptReaders((region, isKept) =>
      makeReader(region, POINTS_NOW, isKept ? places : null),
    );
  }

  /**
   * The region's reader, or one for this read alone: while that is in the middle of another row, for reads of the past,
   * and for reads that shall leave the cache alone. Behind each read: `done`.
   */
  of(region: ReadableRegion, spec: ReadSpec, high: number, low: number): RowReader {
    const { cacheBlocks } = spec;
    if (cacheBlocks && !region.needsHistory(high, low)) {
      return this.#kept.of(region, region.layoutVersion);
    }
    const reader = makeReader(region, { high, low, points: true, cacheBlocks }, null);
    return { reader, layoutVersion: region.layoutVersion, isBusy: false };
  }

  /** See KeptReaders. */
  done(region: ReadableRegion, used: RowReader): void {
    this.#kept.done(region, used);
  }

  /** See KeptReaders. */
  forget(region: Region): void {
    this.#kept.forget(region);
  }
}

/** `places` for a reader that lives on: it learns where rows are. */
function makeReader(
  region: ReadableRegion,
  wishes: SourceWishes,
  places: RowPlaces | null,
): PointReader {
  return new PointReader(
    region.stores.map((store, index) => {
      const hasFiles = store instanceof Store && store.files.length > 0;
      const seek = places !== null && hasFiles ? new RowSeek(places, index) : null;
      return pointStoreOf(store, { ...wishes, seek });
    }),
  );
}

/** What a point reader reads of a family: its sources, made with a window that the reader sets. */
export function pointStoreOf(store: ReadableFamily, wishes: SourceWishes): PointStoreParts {
  const window = new FileWindow();
  const { seek = null, tally = null } = wishes;
  return {
    settings: store.settings,
    sources: store.sources({ ...wishes, window }),
    window,
    seek,
    tally: tally === null ? null : tally.cells,
  };
}
