/**
 * Arrays for runs, carved in units of 128 entries from buffers of 32 units and used again. A buffer for each run would be
 * simpler, but each new one counts as pressure on the garbage collector, whose pauses grow with the number of them.
 */

const ENTRY_SIZE = 12;
const PREFIX_SIZE = 8;
const UNIT_ENTRIES = 128;
const UNIT_SIZE: number = UNIT_ENTRIES * ENTRY_SIZE;
const UNITS = 32;
const UNITS_FIRST = 8;
/** Buffers looked at for a gap before a new one is made. */
const LOOK_MAX = 64;

/** A buffer of units; bit i of `free` says that unit i is. */
interface Region {
  readonly buffer: ArrayBuffer;
  free: number;
  /** Whether it is in the list of those with gaps. */
  listed: boolean;
}

/** The arrays of one run. */
export interface RunArrays {
  readonly prefixes: Float64Array;
  readonly refs: Int32Array;
  readonly capacity: number;
  /** Null: these have a buffer of their own. */
  readonly region: Region | null;
  readonly unit: number;
}

/** Owned by one index. */
export class RunPool {
  /** Bytes allocated: what runs use, and gaps. */
  bytes = 0;
  readonly #withGaps: Region[] = [];
  #lookAt = 0;

  /** Arrays for `capacity` entries; their contents are arbitrary. Whole units are pooled; an idle store needs none. */
  take(capacity: number): RunArrays {
    const units = capacity / UNIT_ENTRIES;
    if (!Number.isInteger(units) || units > UNITS) {
      this.bytes += capacity * ENTRY_SIZE;
      return arraysIn(new ArrayBuffer(capacity * ENTRY_SIZE), 0, capacity, null, 0);
    }
    const region = this.#regionWith(units);
    const unit = lowestBit(gapsOf(region.free, units));
    region.free &= ~maskOf(unit, units);
    return arraysIn(region.buffer, unit * UNIT_SIZE, capacity, region, unit);
  }

  /** Takes arrays back that no run uses any more. */
  give(arrays: RunArrays): void {
    const { region, capacity, unit } = arrays;
    if (region === null) {
      this.bytes -= capacity * ENTRY_SIZE; // The collector frees it.
      return;
    }
    region.free |= maskOf(unit, capacity / UNIT_ENTRIES);
    if (!region.listed) this.#list(region);
  }

  /** A region with a gap of so many units: one of some that are looked at in turn, else a new one. */
  #regionWith(units: number): Region {
    const list = this.#withGaps;
    for (let looks = 0; looks < Math.min(LOOK_MAX, list.length); looks++) {
      if (this.#lookAt >= list.length) this.#lookAt = 0;
      const region = list[this.#lookAt]!;
      if (gapsOf(region.free, units) !== 0) return region;
      if (region.free === 0) this.#unlist(this.#lookAt);
      else this.#lookAt++;
    }
    return this.#newRegion(units);
  }

  /** The first buffers are small: a store of a few hundred cells does not need 32 units. */
  #newRegion(least: number): Region {
    const units = this.bytes < UNITS * UNIT_SIZE ? Math.max(least, UNITS_FIRST) : UNITS;
    const buffer = new ArrayBuffer(units * UNIT_SIZE);
    this.bytes += buffer.byteLength;
    const region: Region = { buffer, free: maskOf(0, units), listed: false };
    this.#list(region);
    return region;
  }

  #list(region: Region): void {
    region.listed = true;
    this.#withGaps.push(region);
  }

  #unlist(index: number): void {
    const list = this.#withGaps;
    list[index]!.listed = false;
    list[index] = list.at(-1)!;
    list.pop();
  }
}

function arraysIn(
  buffer: ArrayBuffer,
  at: number,
  capacity: number,
  region: Region | null,
  unit: number,
): RunArrays {
  const prefixes = new Float64Array(buffer, at, capacity);
  const refs = new Int32Array(buffer, at + capacity * PREFIX_SIZE, capacity);
  return { prefixes, refs, capacity, region, unit };
}

/** Bits of the units at which a gap of so many starts. */
function gapsOf(free: number, units: number): number {
  let gaps = free;
  for (let i = 1; i < units; i++) gaps &= free >>> i;
  return gaps;
}

function maskOf(unit: number, units: number): number {
  return (units === UNITS ? -1 : (1 << units) - 1) << unit;
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}
