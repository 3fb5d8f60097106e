/**
 * The ordered index of a memstore: a B+tree of sorted runs over refs (run.ts). An insert moves at most one run's entries
 * and splits at most one run a level, so there is no pause that grows with the store. Nothing is ever removed; an equal
 * full key (write number included) replaces its entry's ref.
 */
import { invariant } from '../../io/index.ts';
import { PREFIX_LENGTH, Probe } from './probe.ts';
import { RUN_OVERHEAD, Run } from './run.ts';
import { RunPool } from './run_pool.ts';
import { NO_REF } from './slabs.ts';

const CAPACITY_MIN = 16;
/** A run that may skip this many symbols more than it does is given new prefixes when it splits. */
const SKIP_GAIN_MIN = 2;

export class SortedIndex {
  /** The key to search for: set it, then call `find` or `insert`. */
  readonly probe: Probe = new Probe();
  /** Results of `find` and `insert`: the leaf, the place in it, and whether that entry's key equals the probe. */
  leaf: Run;
  at = 0;
  exact = false;
  readonly firstLeaf: Run;
  readonly #pool: RunPool = new RunPool();
  #runCount = 1;
  #root: Run;
  #depth = 0;
  readonly #blocks: readonly Uint8Array[];
  /** Entries of a full run, and of a half. */
  readonly #capacityMax: number;
  readonly #capacityHalf: number;
  readonly #scratch: Probe = new Probe();
  /** The last insert went to the end of the last leaf, which is `leaf` then: the next may do so too. */
  #appending = false;
  readonly #pathRuns: Run[] = [];
  readonly #pathAt: number[] = [];
  /** The probe's prefix in the run searched last; NaN if it does not share the run's skip. */
  #prefix = 0;

  /** `runCapacity`: entries of a full run, even, at least 4. */
  constructor(blocks: readonly Uint8Array[], runCapacity: number) {
    invariant(runCapacity >= 4 && runCapacity % 2 === 0, 'capacity of a run', runCapacity);
    this.#blocks = blocks;
    this.#capacityMax = runCapacity;
    this.#capacityHalf = runCapacity / 2;
    this.#root = new Run(this.#pool.take(Math.min(CAPACITY_MIN, runCapacity)), null);
    this.firstLeaf = this.#root;
    this.leaf = this.#root;
  }

  /** Bytes of all runs. */
  get bytes(): number {
    return this.#pool.bytes + this.#runCount * RUN_OVERHEAD;
  }

  get root(): Run {
    return this.#root;
  }

  /** Finds the first entry at or after the probe. `at` may be the leaf's count: then it is the next leaf's first, if any. */
  find(): void {
    let run = this.#root;
    let depth = 0;
    let index = this.#search(run, 0);
    while (run.children !== null) {
      // An equal key stands under that very child, any other in the one before.
      if (!this.exact && index > 0) index--;
      this.#pathRuns[depth] = run;
      this.#pathAt[depth] = index;
      depth++;
      run = run.children[index]!;
      index = this.#search(run, 0);
    }
    this.#depth = depth;
    this.leaf = run;
    this.at = index;
  }

  /** Finds the first entry at or after the probe within one leaf, from entry `from` on. */
  findInLeaf(leaf: Run, from: number): number {
    const index = this.#search(leaf, from);
    return index < from ? from : index;
  }

  /** The last leaf. */
  lastLeaf(): Run {
    let run = this.#root;
    while (run.children !== null) run = run.children[run.count - 1]!;
    return run;
  }

  /**
   * Inserts `ref`, whose key the probe holds. Gives NO_REF, or the ref it replaced because the full keys are equal.
   */
  insert(ref: number): number {
    if (this.#appending && this.#append(ref)) return NO_REF;
    this.find();
    const leaf = this.leaf;
    this.#appending = leaf.next === null && this.at === leaf.count;
    if (this.exact) {
      const replaced = leaf.refs[this.at]!;
      leaf.refs[this.at] = ref;
      leaf.version++;
      return replaced;
    }
    this.#add(this.#depth, leaf, this.at, ref, this.#prefix, null);
    return NO_REF;
  }

  /** Adds a key that follows all others to the last leaf, if it has room and the key shares its skip. */
  #append(ref: number): boolean {
    const leaf = this.leaf;
    const { count, skip } = leaf;
    if (leaf.next !== null || count === 0 || count === leaf.capacity) return false;
    if (this.probe.compare(this.#blocks, leaf.refs[count - 1]!, 0) <= 0) return false;
    if (skip > 0 && this.#compareShared(leaf) !== 0) return false;
    leaf.insertAt(count, this.probe.prefix(skip), ref);
    return true;
  }

  /** Position of the first entry of `run` not before the probe; sets `exact` and `#prefix`. */
  #search(run: Run, from: number): number {
    const { prefixes, refs, count, skip } = run;
    const probe = this.probe;
    this.exact = false;
    if (run.checked && skip > 0) {
      const shares = this.#compareShared(run);
      if (shares !== 0) {
        this.#prefix = Number.NaN;
        return shares < 0 ? 0 : count;
      }
    }
    const prefix = probe.prefix(skip);
    this.#prefix = prefix;
    let low = from;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (prefixes[middle]! < prefix) low = middle + 1;
      else high = middle;
    }
    if (low === count || prefixes[low] !== prefix) return low;
    const known = skip + PREFIX_LENGTH;
    const order = probe.compare(this.#blocks, refs[low]!, known);
    if (order <= 0) {
      this.exact = order === 0;
      return low;
    }
    return this.#searchEqual(run, low + 1, prefix, known);
  }

  /** Goes on among entries of one prefix, comparing keys. */
  #searchEqual(run: Run, from: number, prefix: number, known: number): number {
    const { prefixes, refs, count } = run;
    let low = from;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (prefixes[middle]! > prefix) {
        high = middle;
        continue;
      }
      const order = this.probe.compare(this.#blocks, refs[middle]!, known);
      if (order === 0) {
        this.exact = true;
        return middle;
      }
      if (order > 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** 0 if the probe shares the symbols that the run skips; else its order against all entries. */
  #compareShared(run: Run): number {
    if (run.count === 0) return -1;
    if (this.probe.sharesRowStart(this.#blocks, run.refs[0]!, run.skip)) return 0;
    const scratch = this.#scratch;
    scratch.setStored(this.#blocks, run.refs[0]!);
    const shared = this.probe.shared(scratch, run.skip);
    return shared === run.skip ? 0 : this.probe.symbol(shared) - scratch.symbol(shared);
  }

  /**
   * Adds an entry to the run at `level` of the path, splitting it if it is full. `prefix` NaN: the key does not share
   * the run's skip.
   */
  #add(
    level: number,
    run: Run,
    index: number,
    ref: number,
    prefix: number,
    child: Run | null,
  ): void {
    if (run.count === this.#capacityMax) {
      this.#addBySplit(level, run, index, ref, child);
      return;
    }
    let entryPrefix = prefix;
    if (Number.isNaN(prefix)) entryPrefix = this.#lowerSkip(run, ref);
    if (run.count === run.capacity) {
      run.resize(this.#grownCapacity(run.capacity), this.#pool);
    }
    run.insertAt(index, entryPrefix, ref);
    if (child !== null) run.children?.splice(index, 0, child);
  }

  /** Fine steps near the end keep the unused part of runs small. */
  #grownCapacity(capacity: number): number {
    const half = this.#capacityHalf;
    const next = capacity < half ? Math.min(capacity * 4, half) : capacity + Math.ceil(half / 2);
    return Math.min(next, this.#capacityMax);
  }

  /** Makes the run's skip what the new key shares too, and gives that key's prefix. */
  #lowerSkip(run: Run, ref: number): number {
    const key = this.#storedProbe(ref);
    let skip = run.skip;
    if (run.count > 0) {
      this.#scratch.setStored(this.#blocks, run.refs[0]!);
      skip = this.#skipOf(key, key.shared(this.#scratch, run.skip));
    }
    if (skip !== run.skip) run.setSkip(skip, this.#blocks, this.#scratch);
    return key.prefix(skip);
  }

  #storedProbe(ref: number): Probe {
    this.probe.setStored(this.#blocks, ref);
    return this.probe;
  }

  /** Splits a full run in two, or continues the last one, and adds the entry to the half it belongs to. */
  #addBySplit(level: number, run: Run, index: number, ref: number, child: Run | null): void {
    const continues = index === run.count && run.highRef === NO_REF;
    const middle = continues ? run.count : run.count >>> 1;
    const separator = continues ? ref : run.refs[middle]!;
    const right = this.#splitAt(run, middle, separator);
    if (continues || index > middle) {
      this.#add(level, right, index - middle, ref, this.#prefixIn(right, ref), child);
    } else {
      this.#add(level, run, index, ref, this.#prefixIn(run, ref), child);
    }
    this.#addToParent(level, run, right, separator);
  }

  /** The prefix of a stored key in a run; NaN if it does not share the run's skip. */
  #prefixIn(run: Run, ref: number): number {
    this.#storedProbe(ref);
    if (run.checked && (run.count === 0 || this.#compareShared(run) !== 0)) return Number.NaN;
    return this.probe.prefix(run.skip);
  }

  /** Moves the entries from `middle` on to a new run behind `run`. */
  #splitAt(run: Run, middle: number, separator: number): Run {
    const children = run.children === null ? null : run.children.splice(middle);
    const right = new Run(this.#pool.take(this.#capacityHalf), children);
    right.prefixes.set(run.prefixes.subarray(middle, run.count));
    right.refs.set(run.refs.subarray(middle, run.count));
    right.count = run.count - middle;
    right.skip = run.skip;
    right.lowRef = separator;
    right.highRef = run.highRef;
    run.count = middle;
    run.highRef = separator;
    run.version++;
    if (middle <= this.#capacityHalf) run.resize(this.#capacityHalf, this.#pool);
    if (run.children === null) {
      right.previous = run;
      right.next = run.next;
      if (run.next !== null) run.next.previous = right;
      run.next = right;
    }
    this.#refit(run);
    this.#refit(right);
    this.#runCount++;
    return right;
  }

  /** Chooses the skip of a run whose fences have changed. */
  #refit(run: Run): void {
    const blocks = this.#blocks;
    const fenced = run.lowRef !== NO_REF && run.highRef !== NO_REF;
    run.checked = !fenced;
    let skip: number;
    if (fenced) {
      skip = this.#sharedOf(run.lowRef, run.highRef);
    } else if (run.count > 0) {
      skip = this.#sharedOf(run.refs[0]!, run.refs[run.count - 1]!);
    } else {
      // Continued with its first key, which is its lower fence: that may be skipped whole until a second key comes.
      this.#scratch.setStored(blocks, run.lowRef);
      skip = this.#scratch.symbolCount();
    }
    if (skip < run.skip || skip >= run.skip + SKIP_GAIN_MIN)
      run.setSkip(skip, blocks, this.#scratch);
  }

  #sharedOf(first: number, last: number): number {
    this.#scratch.setStored(this.#blocks, last);
    const key = this.#storedProbe(first);
    return this.#skipOf(key, key.shared(this.#scratch, key.symbolCount()));
  }

  /** How much to skip when so much is shared: where rows differ, whole prefixes within the row are taken quickest. */
  #skipOf(key: Probe, shared: number): number {
    const { rowLength } = key;
    if (shared >= rowLength) return shared;
    return Math.min(shared, Math.max(0, rowLength - PREFIX_LENGTH));
  }

  #addToParent(level: number, left: Run, right: Run, separator: number): void {
    if (level === 0) {
      const capacity = Math.min(CAPACITY_MIN, this.#capacityMax);
      const root = new Run(this.#pool.take(capacity), [left]);
      root.refs[0] = left.refs[0]!;
      root.count = 1;
      this.#scratch.setStored(this.#blocks, root.refs[0]);
      root.setSkip(this.#scratch.symbolCount(), this.#blocks, this.#scratch);
      this.#runCount++;
      this.#root = root;
      this.#add(0, root, 1, separator, this.#prefixIn(root, separator), right);
      return;
    }
    const parent = this.#pathRuns[level - 1]!;
    const index = this.#pathAt[level - 1]! + 1;
    if (index === 1 && parent.lowRef === NO_REF) this.#lowerFirst(parent, left.refs[0]!);
    this.#add(level - 1, parent, index, separator, this.#prefixIn(parent, separator), right);
  }

  /** Cells may have come in before the first key of an edge run, and the next entry's key may be such: entry 0 follows. */
  #lowerFirst(run: Run, ref: number): void {
    run.refs[0] = ref;
    const skip = Math.min(run.skip, this.#sharedOf(ref, run.refs[run.count - 1]!));
    if (skip < run.skip) run.setSkip(skip, this.#blocks, this.#scratch);
    else run.prefixes[0] = this.#storedProbe(ref).prefix(skip);
  }

  /** Walks the whole index and asserts its invariants; for tests. */
  check(): void {
    let leaf: Run | null = this.firstLeaf;
    const checkRun = (run: Run, isLast: boolean): number => {
      invariant(run.count <= run.capacity, 'run holds more than its capacity', run.count);
      let runCount = 1;
      for (let i = 0; i < run.count; i++) {
        const key = this.#storedProbe(run.refs[i]!);
        invariant(key.prefix(run.skip) === run.prefixes[i], 'prefix is not the key’s', i);
        if (i > 0) {
          invariant(key.compare(this.#blocks, run.refs[i - 1]!, 0) > 0, 'keys do not ascend', i);
        }
        if (run.highRef !== NO_REF) {
          invariant(key.compare(this.#blocks, run.highRef, 0) < 0, 'key beyond the fence', i);
        }
        if (run.lowRef !== NO_REF) {
          invariant(key.compare(this.#blocks, run.lowRef, 0) >= 0, 'key before the fence', i);
        }
      }
      if (run.children === null) {
        invariant(leaf === run, 'leaves are not linked in order');
        invariant(isLast === (run.next === null), 'the last leaf has no next');
        leaf = run.next;
      } else {
        invariant(run.children.length === run.count, 'children do not match entries', run.count);
        run.children.forEach((child, i) => {
          runCount += checkRun(child, isLast && i === run.count - 1);
        });
      }
      return runCount;
    };
    invariant(checkRun(this.#root, true) === this.#runCount, 'runs are counted wrongly');
  }
}
