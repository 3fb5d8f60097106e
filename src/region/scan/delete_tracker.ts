/**
 * Remembers the delete markers of a row and says what they hide: the classic rules, by which a marker hides matching
 * cells whenever they were written. HBase: ScanDeleteTracker. Markers come in key order, so a family's before its
 * columns, and a column's before the puts that they hide.
 */
import {
  TYPE_DELETE,
  TYPE_DELETE_COLUMN,
  TYPE_DELETE_FAMILY,
  TYPE_DELETE_FAMILY_VERSION,
} from '../../cell/index.ts';

/** What `hides` answers. */
export const NOT_DELETED = 0;
/** This cell is hidden; the next of the column may not be. */
export const VERSION_DELETED = 1;
/** This cell and every older one of the column are hidden. */
export const COLUMN_DELETED = 2;
export type DeleteResult = typeof NOT_DELETED | typeof VERSION_DELETED | typeof COLUMN_DELETED;

export class DeleteTracker {
  /** No marker is remembered: nothing is hidden. */
  isEmpty = true;
  #hasFamily = false;
  #familyHigh = 0;
  #familyLow = 0;
  /** Timestamps of family version markers, in pairs of halves. Rarely more than one. */
  readonly #familyVersions: number[] = [];
  /** The marker of the current column: 0 for none, or TYPE_DELETE or TYPE_DELETE_COLUMN. */
  #columnType = 0;
  #columnHigh = 0;
  #columnLow = 0;

  /** Forgets everything: a new row begins. */
  reset(): void {
    if (this.isEmpty) return;
    this.isEmpty = true;
    this.#hasFamily = false;
    this.#familyVersions.length = 0;
    this.#columnType = 0;
  }

  /** Forgets the column's marker: another column begins. */
  nextColumn(): void {
    if (this.#columnType === 0) return;
    this.#columnType = 0;
    this.isEmpty = !this.#hasFamily && this.#familyVersions.length === 0;
  }

  add(type: number, high: number, low: number): void {
    if (this.#isUnderFamily(high, low)) return;
    this.isEmpty = false;
    switch (type) {
      case TYPE_DELETE_FAMILY:
        this.#hasFamily = true;
        this.#familyHigh = high;
        this.#familyLow = low;
        return;
      case TYPE_DELETE_FAMILY_VERSION:
        this.#familyVersions.push(high, low);
        return;
      default:
        // A column marker hides more than the version markers below it.
        if (type < this.#columnType) return;
        this.#columnType = type;
        this.#columnHigh = high;
        this.#columnLow = low;
    }
  }

  /** What the markers so far say about a put of the current column. */
  hides(high: number, low: number): DeleteResult {
    if (this.#isUnderFamily(high, low)) return COLUMN_DELETED;
    const versions = this.#familyVersions;
    for (let i = 0; i < versions.length; i += 2) {
      if (versions[i] === high && versions[i + 1] === low) return VERSION_DELETED;
    }
    if (this.#columnType === TYPE_DELETE_COLUMN) return COLUMN_DELETED;
    if (this.#columnType === TYPE_DELETE && high === this.#columnHigh && low === this.#columnLow) {
      return VERSION_DELETED;
    }
    return NOT_DELETED;
  }

  #isUnderFamily(high: number, low: number): boolean {
    if (!this.#hasFamily) return false;
    return high < this.#familyHigh || (high === this.#familyHigh && low <= this.#familyLow);
  }
}
