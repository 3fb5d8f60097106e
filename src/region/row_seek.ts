/**
 * What the files of one store share while a get looks for its row: the row's hashes, computed once for all their Bloom
 * filters, and the place of the row where it is known; where it is not, what the search finds.
 */
import { KeyHash, RowFilters } from '../hfile/index.ts';
import type { HFileReader } from '../hfile/index.ts';
import { sameRowAs } from './scan/keys.ts';
import type { PlacedSource, RowPlaces } from './row_places.ts';

/** Keeps rows of different stores apart in the table. */
const SPREAD = 0x9e3779b1;

/** A file whose source is sought. */
export interface SoughtFile {
  /** Null until it is open. */
  readonly reader: HFileReader | null;
}

export class RowSeek {
  readonly hash: KeyHash = new KeyHash();
  /** The only file that has the row; its source stands there. Null: all files are asked. */
  known: PlacedSource | null = null;
  /** No file has the row: none is asked. */
  isNowhere = false;
  readonly #places: RowPlaces;
  readonly #seed: number;
  #found: PlacedSource | null = null;
  #foundCount = 0;
  #isPartial = false;
  readonly #files: SoughtFile[] = [];
  /** Of all files; null: not made yet, false: they have none that can be asked together. */
  #filters: RowFilters | null | false = null;

  /** `index` tells the stores of a region apart. */
  constructor(places: RowPlaces, index: number) {
    this.#places = places;
    this.#seed = Math.imul(index, SPREAD);
  }

  /** A file's source is made. All are, before the first is sought. */
  join(file: SoughtFile): void {
    this.#files.push(file);
  }

  /** Before the sources are sought. */
  begin(row: Uint8Array, rowAt: number, rowLength: number): void {
    this.known = null;
    this.#found = null;
    this.#foundCount = 0;
    this.#isPartial = false;
    this.hash.set(row, rowAt, rowLength);
    const places = this.#places;
    if (places.find(this.hash.first ^ this.#seed, this)) {
      const source = places.source!;
      if (source.standAt(places.offset, places.place)) {
        if (sameRowAs(source.cell, row, rowAt, rowLength)) this.known = source;
      }
    }
    const filters = this.#filters ?? this.#openFilters();
    this.isNowhere =
      filters !== false &&
      this.known === null &&
      filters.excludes(row, rowAt, rowLength, this.hash);
  }

  /** Made once all files are open. */
  #openFilters(): RowFilters | false {
    const readers: HFileReader[] = [];
    for (const { reader } of this.#files) {
      if (reader === null) return false;
      readers.push(reader);
    }
    this.#filters = RowFilters.of(readers) ?? false;
    return this.#filters;
  }

  /** A file was not asked, for another reason than its rows. */
  leaveOut(): void {
    this.#isPartial = true;
  }

  /** A file has the row; its source stands on the first cell. */
  found(source: PlacedSource): void {
    this.#found = source;
    this.#foundCount++;
  }

  /** All sources have been sought and none was moved since. */
  end(): void {
    if (this.known !== null || this.#isPartial || this.#foundCount !== 1) return;
    const source = this.#found!;
    const offset = source.rowBlock;
    if (offset >= 0) this.#places.put(this.hash.first ^ this.#seed, source, offset, source.cell.at);
  }

  /** A source is closed. */
  forget(source: PlacedSource): void {
    this.#places.forget(source);
  }
}
