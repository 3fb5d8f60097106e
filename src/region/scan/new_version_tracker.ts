/**
 * NEW_VERSION_BEHAVIOR: a marker hides only cells written before it, and every put counts toward VERSIONS at each moment
 * at which it was not yet deleted, so that deleting a newer version never brings back one that was beyond the limit.
 * HBase: NewVersionBehaviorTracker. (Other than there, family markers hide cells of the empty qualifier too.)
 *
 * The life of a column is cut at each marker that covers a range (family, column) into epochs, ordered by write number; the last
 * epoch lasts until now. An epoch is cut again at each version marker into segments. A put lives from its own write
 * number on: it is counted in each segment it lives through, and is masked where VERSIONS newer puts live already.
 */
import {
  TYPE_DELETE_COLUMN,
  TYPE_DELETE_FAMILY,
  TYPE_DELETE_FAMILY_VERSION,
} from '../../cell/index.ts';

/** Above every write number. */
const NOW = 0xffffffff;

interface VersionDelete {
  readonly high: number;
  readonly low: number;
  readonly writeHigh: number;
  readonly writeLow: number;
}

/** The puts alive just before the write number that ends it, as pairs of write numbers; those of one commit count once. */
interface Segment {
  readonly writeHigh: number;
  readonly writeLow: number;
  readonly puts: number[];
}

/** Ends with a range marker of timestamp (high, low), or now (high -1). */
interface Epoch {
  readonly high: number;
  readonly low: number;
  readonly writeHigh: number;
  readonly writeLow: number;
  readonly deletes: VersionDelete[];
  readonly segments: Segment[];
}

export class NewVersionTracker {
  readonly #versionsMax: number;
  #family: Epoch[] = [];
  #column: Epoch[] = [];
  /** The last put of the column, -1 for none, or when a marker came after it. */
  #lastHigh = -1;
  #lastLow = 0;
  #lastWriteHigh = 0;
  #lastWriteLow = 0;

  /** `versionsMax` is the family's VERSIONS, whatever a reader asks for. */
  constructor(versionsMax: number) {
    this.#versionsMax = versionsMax;
    this.reset();
  }

  /** A new row begins. */
  reset(): void {
    this.#family = [newEpoch(-1, 0, NOW, NOW)];
    this.nextColumn();
  }

  /** Another column begins: only the family's markers carry over. */
  nextColumn(): void {
    this.#column = this.#family.map(copyOf);
    this.#lastHigh = -1;
  }

  add(type: number, high: number, low: number, writeHigh: number, writeLow: number): void {
    const isRange = type === TYPE_DELETE_FAMILY || type === TYPE_DELETE_COLUMN;
    const isOfFamily = type === TYPE_DELETE_FAMILY || type === TYPE_DELETE_FAMILY_VERSION;
    this.#lastHigh = -1;
    if (isOfFamily) addTo(this.#family, isRange, high, low, writeHigh, writeLow);
    // Family markers stand among the cells of the empty qualifier, which they hide too.
    addTo(this.#column, isRange, high, low, writeHigh, writeLow);
  }

  /**
   * Whether the put of the current column is hidden: deleted, beyond VERSIONS, or a duplicate. Must be asked for every put,
   * in key order: it counts.
   */
  hides(high: number, low: number, writeHigh: number, writeLow: number): boolean {
    const isDuplicate = high === this.#lastHigh && low === this.#lastLow;
    const endHigh = isDuplicate ? this.#lastWriteHigh : NOW;
    const endLow = isDuplicate ? this.#lastWriteLow : NOW;
    if (!isDuplicate) {
      this.#lastHigh = high;
      this.#lastLow = low;
      this.#lastWriteHigh = writeHigh;
      this.#lastWriteLow = writeLow;
    }
    for (const epoch of this.#column) {
      if (isLess(epoch.writeHigh, epoch.writeLow, writeHigh, writeLow)) continue;
      const deleted = firstDelete(epoch, high, low, writeHigh, writeLow);
      for (const segment of epoch.segments) {
        if (isLess(segment.writeHigh, segment.writeLow, writeHigh, writeLow)) continue;
        if (isLess(endHigh, endLow, segment.writeHigh, segment.writeLow)) break;
        if (
          deleted !== null &&
          isLess(deleted.writeHigh, deleted.writeLow, segment.writeHigh, segment.writeLow)
        ) {
          break;
        }
        if (segment.puts.length / 2 >= this.#versionsMax) return true;
        addWrite(segment.puts, writeHigh, writeLow);
      }
      if (deleted !== null) return true;
      if (high < epoch.high || (high === epoch.high && low <= epoch.low)) return true;
    }
    return isDuplicate;
  }
}

function newEpoch(high: number, low: number, writeHigh: number, writeLow: number): Epoch {
  const segments = [{ writeHigh: NOW, writeLow: NOW, puts: [] }];
  return { high, low, writeHigh, writeLow, deletes: [], segments };
}

function copyOf(epoch: Epoch): Epoch {
  return {
    ...epoch,
    deletes: [...epoch.deletes],
    segments: epoch.segments.map((segment) => ({ ...segment, puts: [] })),
  };
}

function addTo(
  epochs: Epoch[],
  isRange: boolean,
  high: number,
  low: number,
  writeHigh: number,
  writeLow: number,
): void {
  let at = 0;
  while (isLess(epochs[at]!.writeHigh, epochs[at]!.writeLow, writeHigh, writeLow)) at++;
  const epoch = epochs[at]!;
  if (isRange) {
    if (epoch.writeHigh !== writeHigh || epoch.writeLow !== writeLow) {
      epochs.splice(at, 0, newEpoch(high, low, writeHigh, writeLow));
    } else if (isLess(epoch.high, epoch.low, high, low)) {
      // Two range markers of one commit, of the family and of the column: the greater timestamp hides more.
      epochs[at] = { ...epoch, high, low };
    }
    return;
  }
  epoch.deletes.push({ high, low, writeHigh, writeLow });
  addSegment(epoch.segments, writeHigh, writeLow);
}

/** Cuts a segment at a version marker. Puts that were there before it live through both halves. */
function addSegment(segments: Segment[], writeHigh: number, writeLow: number): void {
  let at = 0;
  while (isLess(segments[at]!.writeHigh, segments[at]!.writeLow, writeHigh, writeLow)) at++;
  const later = segments[at]!;
  if (later.writeHigh === writeHigh && later.writeLow === writeLow) return;
  const puts: number[] = [];
  for (let i = 0; i < later.puts.length; i += 2) {
    const putHigh = later.puts[i]!;
    const putLow = later.puts[i + 1]!;
    if (isLess(putHigh, putLow, writeHigh, writeLow)) puts.push(putHigh, putLow);
  }
  segments.splice(at, 0, { writeHigh, writeLow, puts });
}

/** The first version marker of this epoch that was written at or after the put, at its timestamp. */
function firstDelete(
  epoch: Epoch,
  high: number,
  low: number,
  writeHigh: number,
  writeLow: number,
): VersionDelete | null {
  let first: VersionDelete | null = null;
  for (const marker of epoch.deletes) {
    if (marker.high !== high || marker.low !== low) continue;
    if (isLess(marker.writeHigh, marker.writeLow, writeHigh, writeLow)) continue;
    if (
      first === null ||
      isLess(marker.writeHigh, marker.writeLow, first.writeHigh, first.writeLow)
    ) {
      first = marker;
    }
  }
  return first;
}

function addWrite(puts: number[], writeHigh: number, writeLow: number): void {
  for (let i = 0; i < puts.length; i += 2) {
    if (puts[i] === writeHigh && puts[i + 1] === writeLow) return;
  }
  puts.push(writeHigh, writeLow);
}

function isLess(aHigh: number, aLow: number, bHigh: number, bLow: number): boolean {
  return aHigh < bHigh || (aHigh === bHigh && aLow < bLow);
}
