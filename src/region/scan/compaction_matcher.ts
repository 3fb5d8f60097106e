/**
 * Decides, cell by cell in key order over all rows of a store, what a flush or compaction writes to its file and what it
 * drops (for the history file). HBase: MinorCompactionScanQueryMatcher (flush too), MajorCompactionScanQueryMatcher,
 * IncludeAllCompactionQueryMatcher (NEW_VERSION_BEHAVIOR: only a major compaction drops anything);
 * protocol/semantics.md section 6.
 *
 * Where HBase seeks to the next column this matcher says DROP for each cell on the way, so that every cell dropped is seen.
 */
import { TYPE_PUT, u32 } from '../../cell/index.ts';
import type { CellView } from '../../cell/index.ts';
import type { FamilySettings } from '../../model/index.ts';
import { COLUMN_DELETED, DeleteTracker, NOT_DELETED } from './delete_tracker.ts';
import { KeptBytes, sameRowAs } from './keys.ts';
import { NewVersionTracker } from './new_version_tracker.ts';
import { isCellTtlExpired, oldestUnexpired } from './time_checks.ts';

/** Flush and minor compaction keep markers; a major one, over all files of the store, may drop them. */
export type CompactionKind = 'flush' | 'minor' | 'major';

export interface CompactionSpec {
  readonly settings: FamilySettings;
  readonly kind: CompactionKind;
  /** The smallest read point: cells above it neither count as versions nor, if they are markers, hide or go. */
  readonly readHigh: number;
  readonly readLow: number;
  /** Judges TTL. */
  readonly nowMs: number;
  /** The smallest timestamp of a put in the files: kept markers below it have nothing left to hide. */
  readonly earliestPutHigh: number;
  readonly earliestPutLow: number;
  /** A major compaction keeps markers that are not older than this. HBase: hbase.hstore.time.to.purge.deletes. */
  readonly purgeDeletesAfterMs: number;
}

const TWO_TO_32 = 0x100000000;

export class CompactionMatcher {
  readonly #spec: CompactionSpec;
  readonly #versions: number;
  readonly #minVersions: number;
  readonly #oldestHigh: number;
  readonly #oldestLow: number;
  readonly #deletes: DeleteTracker = new DeleteTracker();
  readonly #newVersions: NewVersionTracker | null;
  readonly #row: KeptBytes = new KeptBytes();
  readonly #column: KeptBytes = new KeptBytes();
  #hasRow = false;
  #count = 0;
  /** The rest of the column goes. Never set in the empty column, where the family's markers stand. */
  #dropsColumn = false;
  #lastHigh = 0;
  #lastLow = 0;
  #lastType = -1;

  constructor(spec: CompactionSpec) {
    const { settings } = spec;
    this.#spec = spec;
    this.#versions = settings.versions;
    this.#minVersions = settings.minVersions;
    const oldest = oldestUnexpired(settings.ttlSeconds, spec.nowMs);
    this.#oldestHigh = oldest.high;
    this.#oldestLow = oldest.low;
    this.#newVersions = settings.newVersionBehavior
      ? new NewVersionTracker(settings.versions)
      : null;
  }

  /** True: the cell is written to the file. False: it is dropped. Asked once for each cell, in key order. */
  keeps(cell: CellView): boolean {
    // Whether a put counts depends on markers and puts in other files too. HBase: IncludeAllCompactionQueryMatcher.
    if (this.#newVersions !== null && this.#spec.kind !== 'major') return true;
    this.#enter(cell);
    if (this.#dropsColumn) {
      // What was written later may be alive although VERSIONS older ones were, where each moment counts for itself.
      return this.#newVersions !== null && this.#isAboveReadPoint(cell);
    }
    const high = u32(cell.block, cell.timestampAt);
    const low = u32(cell.block, cell.timestampAt + 4);
    const type = cell.block[cell.timestampAt + 8]!;
    const isExpired = this.#isExpired(high, low);
    if (isExpired && this.#minVersions <= 0 && this.#newVersions === null) {
      return this.#dropColumn(cell);
    }
    const { nowMs } = this.#spec;
    if (cell.tagsLength > 0 && isCellTtlExpired(cell, high, low, nowMs)) return false;
    const isRecent = this.#isAboveReadPoint(cell);
    if (type === TYPE_PUT) {
      if (this.#newVersions !== null) {
        // Older markers do not hide it, and it must not count for readers that do not see it.
        if (isRecent) return true;
        const { writeHigh, writeLow } = cell;
        if (this.#newVersions.hides(high, low, writeHigh, writeLow)) return false;
      } else if (!this.#deletes.isEmpty) {
        const deleted = this.#deletes.hides(high, low);
        if (deleted === COLUMN_DELETED) return this.#dropColumn(cell);
        if (deleted !== NOT_DELETED) return false;
      }
    } else {
      if (isRecent) return true;
      // With KEEP_DELETED_CELLS cells go by versions and TTL only: a marker that is kept hides nothing.
      if (!this.#keepsDeleted(isExpired)) this.#remember(cell, type, high, low);
      if (this.#spec.kind !== 'major' || this.#isTooYoung(high, low)) return true;
      if (!this.#keepsDeleted(isExpired)) return false;
      if (this.#isBeforePuts(high, low)) return this.#dropColumn(cell);
    }
    if (isRecent) return true;
    return this.#newVersions === null
      ? this.#counts(cell, type, high, low, isExpired)
      : this.#countsNew(cell, type, isExpired);
  }

  #enter(cell: CellView): void {
    const { block, qualifierAt, qualifierLength } = cell;
    if (!this.#hasRow || !sameRowAs(cell, this.#row.buf, 0, this.#row.length)) {
      this.#hasRow = true;
      this.#row.set(block, cell.rowAt, cell.rowLength);
      this.#deletes.reset();
      this.#newVersions?.reset();
    } else if (this.#column.equals(block, qualifierAt, qualifierLength)) return;
    this.#column.set(block, qualifierAt, qualifierLength);
    this.#count = 0;
    this.#lastType = -1;
    this.#dropsColumn = false;
    this.#deletes.nextColumn();
    this.#newVersions?.nextColumn();
  }

  /** The cell goes, and the rest of its column with it. */
  #dropColumn(cell: CellView): false {
    this.#dropsColumn = cell.qualifierLength > 0;
    return false;
  }

  #remember(cell: CellView, type: number, high: number, low: number): void {
    if (this.#newVersions === null) this.#deletes.add(type, high, low);
    else this.#newVersions.add(type, high, low, cell.writeHigh, cell.writeLow);
  }

  #keepsDeleted(isExpired: boolean): boolean {
    const { keepDeletedCells } = this.#spec.settings;
    return keepDeletedCells === 'TRUE' || (keepDeletedCells === 'TTL' && !isExpired);
  }

  #isTooYoung(high: number, low: number): boolean {
    const { purgeDeletesAfterMs, nowMs } = this.#spec;
    return purgeDeletesAfterMs > 0 && nowMs - (high * TWO_TO_32 + low) <= purgeDeletesAfterMs;
  }

  #isBeforePuts(high: number, low: number): boolean {
    const { earliestPutHigh, earliestPutLow } = this.#spec;
    return high < earliestPutHigh || (high === earliestPutHigh && low < earliestPutLow);
  }

  #isExpired(high: number, low: number): boolean {
    return high < this.#oldestHigh || (high === this.#oldestHigh && low < this.#oldestLow);
  }

  #isAboveReadPoint(cell: CellView): boolean {
    const { readHigh, readLow } = this.#spec;
    return cell.writeHigh > readHigh || (cell.writeHigh === readHigh && cell.writeLow > readLow);
  }

  /** HBase: ScanWildcardColumnTracker#checkVersions. Markers do not count, but go where the puts above them fill VERSIONS. */
  #counts(cell: CellView, type: number, high: number, low: number, isExpired: boolean): boolean {
    if (high === this.#lastHigh && low === this.#lastLow && type === this.#lastType) return false;
    if (type === TYPE_PUT) this.#count++;
    if (this.#count > this.#versions) return this.#dropColumn(cell);
    if (isExpired && this.#count > this.#minVersions) return this.#dropColumn(cell);
    this.#lastHigh = high;
    this.#lastLow = low;
    this.#lastType = type;
    return true;
  }

  /** HBase: NewVersionBehaviorTracker#checkVersions. Puts beyond VERSIONS are hidden already. */
  #countsNew(cell: CellView, type: number, isExpired: boolean): boolean {
    if (type !== TYPE_PUT) return true;
    this.#count++;
    if (isExpired && this.#count > this.#minVersions) return this.#dropColumn(cell);
    const isLast =
      this.#count >= this.#versions || (isExpired && this.#count === this.#minVersions);
    if (isLast) this.#dropColumn(cell);
    return true;
  }
}
