/**
 * Decides, cell by cell in key order, what a read of one store returns. HBase: UserScanQueryMatcher with its variants
 * (normal, NEW_VERSION_BEHAVIOR, raw) and column trackers; protocol/semantics.md sections 4, 5 and 7.
 *
 * The order of checks for a cell that the read point lets through: expired by family or cell TTL · marker (remembered) ·
 * hidden by a marker · time range · wanted column · VERSIONS and MIN_VERSIONS · filter · versions asked for.
 */
import {
  TYPE_DELETE_FAMILY,
  TYPE_DELETE_FAMILY_VERSION,
  TYPE_PUT,
  compareRanges,
  u32,
} from '../../cell/index.ts';
import type { CellView } from '../../cell/index.ts';
import {
  FILTER_INCLUDE,
  FILTER_INCLUDE_AND_NEXT_COL,
  FILTER_INCLUDE_AND_SEEK_NEXT_ROW,
  FILTER_NEXT_COL,
  FILTER_NEXT_ROW,
  FILTER_SEEK_NEXT_USING_HINT,
  FILTER_SKIP,
} from '../../filter/index.ts';
import type { CellFilter } from '../../filter/index.ts';
import { ALL_TIME } from '../../model/index.ts';
import type { FamilySettings, TimeRangeSpec } from '../../model/index.ts';
import { COLUMN_DELETED, DeleteTracker, NOT_DELETED } from './delete_tracker.ts';
import {
  HIDDEN_COLUMN,
  HIDDEN_DUPLICATE,
  HIDDEN_FILTER,
  HIDDEN_MARKER,
  HIDDEN_TIME_RANGE,
  HIDDEN_TTL,
  HIDDEN_VERSIONS,
} from './explain_cells.ts';
import type { CellTally } from './explain_cells.ts';
import { KeptBytes } from './keys.ts';
import { NewVersionTracker } from './new_version_tracker.ts';
import { compareToRange, isCellTtlExpired, oldestUnexpired } from './time_checks.ts';

/** What `match` decides. */
export const MATCH_INCLUDE = 0;
export const MATCH_INCLUDE_NEXT_COLUMN = 1;
export const MATCH_INCLUDE_NEXT_ROW = 2;
export const MATCH_SKIP = 3;
/** To the next wanted column: see `nextColumn`. */
export const MATCH_NEXT_COLUMN = 4;
export const MATCH_NEXT_ROW = 5;
/** To where the filter says. */
export const MATCH_HINT = 6;
/** The filter wants nothing more: the scan ends. */
export const MATCH_DONE = 7;
export type Match =
  | typeof MATCH_INCLUDE
  | typeof MATCH_INCLUDE_NEXT_COLUMN
  | typeof MATCH_INCLUDE_NEXT_ROW
  | typeof MATCH_SKIP
  | typeof MATCH_NEXT_COLUMN
  | typeof MATCH_NEXT_ROW
  | typeof MATCH_HINT
  | typeof MATCH_DONE;

/** What is read of one store. */
export interface MatchSpec {
  readonly settings: FamilySettings;
  /** In byte order, each once; null for all. Never empty, and null for raw reads. */
  readonly qualifiers: readonly Uint8Array[] | null;
  readonly timeRange: TimeRangeSpec;
  /** Versions asked for. */
  readonly versions: number;
  readonly raw: boolean;
  readonly filter: CellFilter | null;
  /** Counts what becomes of the cells, for explanations. */
  readonly tally?: CellTally | null;
}

const UNLIMITED = 0x7fffffff;

export class StoreMatcher {
  #qualifiers: readonly Uint8Array[] | null = null;
  #range: TimeRangeSpec = ALL_TIME;
  #raw = false;
  #filter: CellFilter | null = null;
  #tally: CellTally | null = null;
  #seesPastMarkers = false;
  #minVersions = 0;
  /** Versions before the filter is asked, and after it. */
  #versionsMax = 1;
  #versionsAfterFilter = 1;
  #oldestHigh = -1;
  #oldestLow = 0;
  #nowMs = 0;
  readonly #deletes: DeleteTracker = new DeleteTracker();
  /** Some delete marker was seen in the row so far. */
  metMarker = false;
  #newVersions: NewVersionTracker | null = null;

  /** Index of the wanted column, with `#qualifiers`. */
  #wanted = 0;
  /** The current column, without `#qualifiers`; -1 in `length` before the first. */
  readonly #column: KeptBytes = new KeptBytes();
  #count = 0;
  #countAfterFilter = 0;
  /** Timestamp and type of the last counted cell of the column; type -1 for none. */
  #lastHigh = 0;
  #lastLow = 0;
  #lastType = -1;

  /** Sets what to read. May be called again, for another read. `nowMs` judges TTL. */
  begin(spec: MatchSpec, nowMs: number): void {
    const { settings, versions, filter } = spec;
    this.#qualifiers = spec.qualifiers;
    this.#range = spec.timeRange;
    this.#raw = spec.raw;
    this.#filter = filter;
    this.#tally = spec.tally ?? null;
    this.#seesPastMarkers = settings.keepDeletedCells !== 'FALSE';
    this.#minVersions = settings.minVersions;
    this.#versionsAfterFilter = spec.raw ? versions : Math.min(versions, settings.versions);
    if (filter === null) this.#versionsMax = this.#versionsAfterFilter;
    else this.#versionsMax = spec.raw ? UNLIMITED : settings.versions;
    this.#newVersions = null;
    if (settings.newVersionBehavior && !spec.raw) {
      this.#newVersions = new NewVersionTracker(settings.versions);
      // As in HBase, where this behaviour applies both limits before the filter.
      this.#versionsMax = this.#versionsAfterFilter;
    }
    this.#setNow(spec, nowMs);
    this.startRow();
  }

  #setNow(spec: MatchSpec, nowMs: number): void {
    this.#nowMs = nowMs;
    // The TTL of the family does not bind a raw read.
    const oldest = oldestUnexpired(spec.raw ? UNLIMITED : spec.settings.ttlSeconds, nowMs);
    this.#oldestHigh = oldest.high;
    this.#oldestLow = oldest.low;
  }

  /** A new row begins. */
  startRow(): void {
    this.#wanted = 0;
    this.#column.length = -1;
    this.metMarker = false;
    this.#deletes.reset();
    this.#newVersions?.reset();
    this.#resetColumn();
  }

  /** The next wanted column, for MATCH_NEXT_COLUMN: null for the one behind the current column. */
  get nextColumn(): Uint8Array | null {
    return this.#qualifiers === null ? null : this.#qualifiers[this.#wanted]!;
  }

  /** The decision about a cell of the current row. Cells come in key order. */
  match(cell: CellView): Match {
    const { block, timestampAt } = cell;
    if (this.#filter !== null && this.#filter.filterAllRemaining()) {
      this.#tally?.hide(HIDDEN_FILTER);
      return MATCH_DONE;
    }
    if (!this.#enterColumn(cell)) {
      this.#tally?.hide(HIDDEN_COLUMN);
      return this.#wanted >= this.#qualifiers!.length ? MATCH_NEXT_ROW : MATCH_NEXT_COLUMN;
    }
    const high = u32(block, timestampAt);
    const low = u32(block, timestampAt + 4);
    const type = block[timestampAt + 8]!;
    if (this.#minVersions <= 0 && this.#newVersions === null && this.#isExpired(high, low)) {
      this.#tally?.hide(HIDDEN_TTL);
      return this.#leaveColumn(cell);
    }
    if (cell.tagsLength > 0 && isCellTtlExpired(cell, high, low, this.#nowMs)) {
      this.#tally?.hide(HIDDEN_TTL);
      return MATCH_SKIP;
    }
    if (!this.#raw) {
      if (type !== TYPE_PUT) {
        this.metMarker = true;
        return this.#remember(cell, type, high, low);
      }
      if (this.#newVersions !== null) {
        const { writeHigh, writeLow } = cell;
        if (this.#newVersions.hides(high, low, writeHigh, writeLow)) {
          this.#tally?.hide(HIDDEN_MARKER);
          return MATCH_SKIP;
        }
      } else if (!this.#deletes.isEmpty) {
        const deleted = this.#deletes.hides(high, low);
        if (deleted !== NOT_DELETED) {
          this.#tally?.hide(HIDDEN_MARKER);
          return deleted === COLUMN_DELETED ? this.#leaveColumn(cell) : MATCH_SKIP;
        }
      }
    }
    if (!this.#range.isAllTime) {
      const order = compareToRange(this.#range, high, low);
      if (order !== 0) {
        this.#tally?.hide(HIDDEN_TIME_RANGE);
        return order > 0 ? MATCH_SKIP : this.#leaveColumn(cell);
      }
    }
    return this.#matchVersions(cell, type, high, low);
  }

  /**
   * Notes the column of the cell. False if nobody asked for it: then `#wanted` is the next one asked for. The empty column
   * is always looked at, since the family's markers stand there.
   */
  #enterColumn(cell: CellView): boolean {
    const { block, qualifierAt, qualifierLength } = cell;
    const qualifiers = this.#qualifiers;
    if (qualifiers !== null) {
      if (qualifierLength > 0 && !this.#seekWanted(qualifiers, cell)) return false;
      if (this.#newVersions === null) return true;
    }
    if (!this.#column.equals(block, qualifierAt, qualifierLength)) {
      this.#column.set(block, qualifierAt, qualifierLength);
      this.#resetColumn();
    }
    return true;
  }

  /** Moves `#wanted` to the first column at or after the cell's; true if it is the cell's. */
  #seekWanted(qualifiers: readonly Uint8Array[], cell: CellView): boolean {
    const { block, qualifierAt, qualifierLength } = cell;
    while (this.#wanted < qualifiers.length) {
      const wanted = qualifiers[this.#wanted]!;
      const order = compareRanges(block, qualifierAt, qualifierLength, wanted, 0, wanted.length);
      if (order <= 0) return order === 0;
      this.#passWanted();
    }
    return false;
  }

  #passWanted(): void {
    this.#wanted++;
    this.#resetColumn();
  }

  #resetColumn(): void {
    this.#count = 0;
    this.#countAfterFilter = 0;
    this.#lastType = -1;
    this.#deletes.nextColumn();
    this.#newVersions?.nextColumn();
  }

  /** Whether the cell's column is the wanted one: false for the empty column when it is only looked at for its markers. */
  #isWanted(cell: CellView): boolean {
    const qualifiers = this.#qualifiers;
    if (qualifiers === null || cell.qualifierLength > 0) return true;
    return this.#wanted < qualifiers.length && qualifiers[this.#wanted]!.length === 0;
  }

  /** No further cell of this column is wanted. HBase: ColumnTracker#getNextRowOrNextColumn. */
  #leaveColumn(cell: CellView): Match {
    const qualifiers = this.#qualifiers;
    if (qualifiers === null) return MATCH_NEXT_COLUMN;
    if (this.#isWanted(cell)) this.#passWanted();
    return this.#wanted >= qualifiers.length ? MATCH_NEXT_ROW : MATCH_NEXT_COLUMN;
  }

  #remember(cell: CellView, type: number, high: number, low: number): Match {
    if (this.#tally !== null) this.#tally.markers++;
    const order = this.#range.isAllTime ? 0 : compareToRange(this.#range, high, low);
    const acts = this.#seesPastMarkers ? order === 0 : order >= 0;
    const isOfFamily = type === TYPE_DELETE_FAMILY || type === TYPE_DELETE_FAMILY_VERSION;
    if (!acts || (!isOfFamily && !this.#isWanted(cell))) return MATCH_SKIP;
    if (this.#newVersions === null) this.#deletes.add(type, high, low);
    else this.#newVersions.add(type, high, low, cell.writeHigh, cell.writeLow);
    return MATCH_SKIP;
  }

  #isExpired(high: number, low: number): boolean {
    return high < this.#oldestHigh || (high === this.#oldestHigh && low < this.#oldestLow);
  }

  #matchVersions(cell: CellView, type: number, high: number, low: number): Match {
    if (!this.#isWanted(cell)) {
      this.#tally?.hide(HIDDEN_COLUMN);
      return MATCH_SKIP;
    }
    if (high === this.#lastHigh && low === this.#lastLow && type === this.#lastType) {
      this.#tally?.hide(HIDDEN_DUPLICATE);
      return MATCH_SKIP; // An equal key that was written before.
    }
    const isExplicit = this.#qualifiers !== null && this.#newVersions === null;
    const code = isExplicit ? this.#countExplicit(high, low) : this.#countAny(type, high, low);
    if (code >= MATCH_SKIP) {
      this.#tally?.hide(this.#count > this.#versionsMax ? HIDDEN_VERSIONS : HIDDEN_TTL);
      return this.#leaveColumn(cell);
    }
    this.#lastHigh = high;
    this.#lastLow = low;
    this.#lastType = type;
    const merged = this.#filter === null ? code : this.#askFilter(this.#filter, cell, code);
    if (this.#qualifiers === null) return merged;
    if (merged === MATCH_INCLUDE_NEXT_COLUMN) {
      return this.#leaveColumn(cell) === MATCH_NEXT_ROW
        ? MATCH_INCLUDE_NEXT_ROW
        : MATCH_INCLUDE_NEXT_COLUMN;
    }
    return merged === MATCH_NEXT_COLUMN ? this.#leaveColumn(cell) : merged;
  }

  /**
   * HBase: ExplicitColumnTracker#checkVersions. As there, one expired version beyond MIN_VERSIONS is still returned when
   * its column was named.
   */
  #countExplicit(high: number, low: number): Match {
    this.#count++;
    const isLast =
      this.#count >= this.#versionsMax ||
      (this.#count >= this.#minVersions && this.#isExpired(high, low));
    return isLast ? MATCH_INCLUDE_NEXT_COLUMN : MATCH_INCLUDE;
  }

  /** HBase: ScanWildcardColumnTracker#checkVersions, NewVersionBehaviorTracker#checkVersions. Markers do not count. */
  #countAny(type: number, high: number, low: number): Match {
    if (type === TYPE_PUT) this.#count++;
    if (this.#count > this.#versionsMax) return MATCH_NEXT_COLUMN;
    if (this.#count > this.#minVersions && this.#isExpired(high, low)) return MATCH_NEXT_COLUMN;
    // In a raw read the markers below the last version are returned too.
    return this.#count === this.#versionsMax && !this.#raw
      ? MATCH_INCLUDE_NEXT_COLUMN
      : MATCH_INCLUDE;
  }

  /** HBase: UserScanQueryMatcher#mergeFilterResponse. */
  #askFilter(filter: CellFilter, cell: CellView, code: Match): Match {
    let merged: Match = code;
    const answer = filter.filterCell(cell);
    if (this.#tally !== null) {
      if (answer >= FILTER_SKIP) this.#tally.hide(HIDDEN_FILTER);
      else if (answer !== FILTER_INCLUDE) this.#tally.because(HIDDEN_FILTER);
    }
    switch (answer) {
      case FILTER_INCLUDE:
        break;
      case FILTER_INCLUDE_AND_NEXT_COL:
        merged = MATCH_INCLUDE_NEXT_COLUMN;
        break;
      case FILTER_INCLUDE_AND_SEEK_NEXT_ROW:
        merged = MATCH_INCLUDE_NEXT_ROW;
        break;
      case FILTER_SKIP:
        return code === MATCH_INCLUDE ? MATCH_SKIP : MATCH_NEXT_COLUMN;
      case FILTER_NEXT_COL:
        return MATCH_NEXT_COLUMN;
      case FILTER_NEXT_ROW:
        return MATCH_NEXT_ROW;
      case FILTER_SEEK_NEXT_USING_HINT:
        return MATCH_HINT;
    }
    this.#countAfterFilter++;
    if (this.#countAfterFilter <= this.#versionsAfterFilter) return merged;
    this.#tally?.hide(HIDDEN_VERSIONS);
    return merged === MATCH_INCLUDE_NEXT_ROW ? MATCH_NEXT_ROW : MATCH_NEXT_COLUMN;
  }
}
