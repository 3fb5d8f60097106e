/**
 * A sorted run of refs: a leaf of the index (its entries are cells) or an inner node (its entries are children, each
 * under a key that no cell of the child precedes; the first child also takes everything before).
 *
 * Invariants
 * - `prefixes[i]` are the six symbols of entry i's key behind `skip`; entries ascend, so prefixes do not descend.
 * - Fences: every key that is ever searched for or inserted here lies in [lowRef, highRef) as far as they are set. With
 *   both set, `skip` is at most what the two share, so that any key that gets here shares it (`checked` false).
 * - Without both (the runs at the edges) `skip` is learned: what all keys of the run share. A key must be checked against
 *   one of them (`checked` true) and, if it does not share it, lowers `skip` when it is inserted.
 */
import type { Probe } from './probe.ts';
import type { RunArrays, RunPool } from './run_pool.ts';
import { NO_REF } from './slabs.ts';

/** Entries of a full run. From 256 to 1024 speed is alike; fewer cost more memory. */
export const RUN_CAPACITY_DEFAULT = 512;
/** Estimated bytes of a run's objects, beside its arrays; its place among its parent's children included. */
export const RUN_OVERHEAD = 500;

export class Run {
  prefixes: Float64Array;
  refs: Int32Array;
  readonly children: Run[] | null;
  count = 0;
  capacity: number;
  skip = 0;
  checked = true;
  lowRef: number = NO_REF;
  highRef: number = NO_REF;
  /** Changes whenever an entry moves; a cursor compares it. */
  version = 0;
  /** Leaves only: the neighbours in order. */
  next: Run | null = null;
  previous: Run | null = null;

  #arrays: RunArrays;

  constructor(arrays: RunArrays, children: Run[] | null) {
    this.#arrays = arrays;
    this.prefixes = arrays.prefixes;
    this.refs = arrays.refs;
    this.capacity = arrays.capacity;
    this.children = children;
  }

  /** Moves the entries to arrays of another capacity and gives back the old. */
  resize(capacity: number, pool: RunPool): void {
    const arrays = pool.take(capacity);
    arrays.prefixes.set(this.prefixes.subarray(0, this.count));
    arrays.refs.set(this.refs.subarray(0, this.count));
    pool.give(this.#arrays);
    this.#arrays = arrays;
    this.prefixes = arrays.prefixes;
    this.refs = arrays.refs;
    this.capacity = capacity;
  }

  /** Puts an entry at `index`; the capacity must allow it. */
  insertAt(index: number, prefix: number, ref: number): void {
    const { prefixes, refs, count } = this;
    if (count - index > 16) {
      prefixes.copyWithin(index + 1, index, count);
      refs.copyWithin(index + 1, index, count);
    } else {
      for (let i = count; i > index; i--) {
        prefixes[i] = prefixes[i - 1]!;
        refs[i] = refs[i - 1]!;
      }
    }
    prefixes[index] = prefix;
    refs[index] = ref;
    this.count = count + 1;
    this.version++;
  }

  /** Takes another skip and computes the prefixes anew; `scratch` is overwritten. */
  setSkip(skip: number, blocks: readonly Uint8Array[], scratch: Probe): void {
    const { prefixes, refs, count } = this;
    this.skip = skip;
    for (let i = 0; i < count; i++) {
      scratch.setStored(blocks, refs[i]!);
      prefixes[i] = scratch.prefix(skip);
    }
  }
}
