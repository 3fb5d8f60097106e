/**
 * Goes over the regions of a table from key to key, in either direction. What comes next is looked up when it is needed:
 * regions that were split or merged meanwhile make a reader neither miss rows nor see them twice.
 */
import { compareBytes } from '../cell/index.ts';
import type { ScanSpec } from '../model/index.ts';
import { regionIndexOf } from '../region/index.ts';
import type { ReadableRegion, ReadableTable } from './past_tables.ts';

/** The next region and the rows that are to be read of it, or of what lies around it: not yet cut to its borders. */
export interface WalkStep {
  readonly region: ReadableRegion;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

export class RegionWalk {
  readonly #table: ReadableTable;
  readonly #reversed: boolean;
  readonly #from: Uint8Array;
  readonly #to: Uint8Array;
  /** Rows up to here are done; for a reversed walk from here on (empty: none). */
  #at: Uint8Array;
  #isDone = false;

  constructor(table: ReadableTable, spec: Pick<ScanSpec, 'from' | 'to' | 'reversed'>) {
    this.#table = table;
    this.#reversed = spec.reversed;
    this.#from = spec.from;
    this.#to = spec.to;
    this.#at = spec.reversed ? spec.to : spec.from;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Null at the end. */
  next(): WalkStep | null {
    if (this.#isDone) return null;
    return this.#reversed ? this.#nextBackward() : this.#nextForward();
  }

  #nextForward(): WalkStep {
    const { regions } = this.#table;
    const region = regions[regionIndexOf(regions, this.#at)]!;
    const step = { region, from: this.#at, to: this.#to };
    this.#at = region.endKey;
    this.#isDone = reaches(region.endKey, this.#to);
    return step;
  }

  #nextBackward(): WalkStep {
    const { regions } = this.#table;
    const region = regions[lastBefore(regions, this.#at)]!;
    const step = { region, from: this.#from, to: this.#at };
    this.#at = region.startKey;
    this.#isDone = compareBytes(region.startKey, this.#from) <= 0;
    return step;
  }
}

/** Whether what ends at `end` leaves nothing below `to`; empty is the end of all. */
function reaches(end: Uint8Array, to: Uint8Array): boolean {
  return end.length === 0 || (to.length > 0 && compareBytes(end, to) >= 0);
}

/** Index of the last region with rows before `end`. */
function lastBefore(regions: readonly ReadableRegion[], end: Uint8Array): number {
  if (end.length === 0) return regions.length - 1;
  const index = regionIndexOf(regions, end);
  return index > 0 && compareBytes(regions[index]!.startKey, end) === 0 ? index - 1 : index;
}
