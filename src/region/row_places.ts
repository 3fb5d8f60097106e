/**
 * Where rows were found: a table of fixed size that lets a get go straight to its cell in a block that is in memory.
 *
 * An entry is a fact learned by a whole search: of the store files of one reader only this one has the row, and its first
 * cell is at this place of this block. Files never change, so the fact holds as long as the reader does. Nothing is believed
 * of a key: the row that stands at the place is compared, and only the row itself could have made the entry. So an equal
 * hash costs a search, never an answer.
 *
 * Each entry is two words, `tag << 24 | place` and a number of a file's block counted from 1; a bucket is four entries, the
 * newest first: what is put in drops the fourth. Forgetting everything is allowed at any time.
 */
import type { CellView } from '../cell/index.ts';

/** A source of one file that can be put on a cell of it. */
export interface PlacedSource {
  readonly cell: CellView;
  /** Stands on the cell at `place` of the block at `offset`, as found before; false if that block is not in memory. */
  standAt(offset: number, place: number): boolean;
  /** Offset of the block that has the rest of the current row; -1 if the row may go on in the next. */
  readonly rowBlock: number;
  /** Who may use its places. */
  readonly owner: object | null;
  /** Numbers of its blocks by their offsets, and the table's generation that they are of. Kept by the table. */
  readonly numbers: Map<number, number>;
  generation: number;
}

interface PlacedBlock {
  /** Null once the source is closed. */
  source: PlacedSource | null;
  readonly offset: number;
}

const WAYS = 4;
const ENTRY_WORDS = 2;
const BUCKET_WORDS = WAYS * ENTRY_WORDS;
const BYTES_PER_BUCKET = 4 * BUCKET_WORDS;
/** Places are offsets in a block, below this. */
const PLACES_MAX = 1 << 24;
/** A block holds many rows: more blocks than this share of the entries do not pay. */
const ENTRIES_PER_BLOCK = 16;

export class RowPlaces {
  /** Of the last `find` that gave true. */
  source: PlacedSource | null = null;
  offset = 0;
  place = 0;
  readonly #bucketMask: number;
  readonly #blocksMax: number;
  /** Made when the first place is put in. */
  #words: Uint32Array | null = null;
  #blocks: PlacedBlock[] = [];
  #generation = 1;

  /** At most `bytes` for the table; less than one bucket: it keeps nothing. */
  constructor(bytes: number) {
    const buckets = Math.floor(bytes / BYTES_PER_BUCKET);
    const bits = buckets < 1 ? -1 : Math.min(31 - Math.clz32(buckets), 24);
    this.#bucketMask = bits < 0 ? -1 : (1 << bits) - 1;
    this.#blocksMax = Math.floor(((this.#bucketMask + 1) * WAYS) / ENTRIES_PER_BLOCK);
  }

  /** A place of `owner` that may be the row's, in `source`, `offset` and `place`: the caller compares the row. */
  find(hash: number, owner: object): boolean {
    const words = this.#words;
    if (words === null) return false;
    const tag = hash >>> 24;
    const from = (hash & this.#bucketMask) * BUCKET_WORDS;
    for (let at = from; at < from + BUCKET_WORDS; at += ENTRY_WORDS) {
      const number = words[at + 1]!;
      if (words[at]! >>> 24 !== tag || number === 0) continue;
      const block = this.#blocks[number - 1]!;
      if (block.source === null || block.source.owner !== owner) continue;
      this.source = block.source;
      this.offset = block.offset;
      this.place = words[at]! & (PLACES_MAX - 1);
      return true;
    }
    return false;
  }

  /** Keeps that of all files only that of `source` has the row, from `place` of the block at `offset` on. */
  put(hash: number, source: PlacedSource, offset: number, place: number): void {
    if (this.#blocksMax === 0 || place >= PLACES_MAX) return;
    const number = this.#numberOf(source, offset);
    const words = (this.#words ??= new Uint32Array((this.#bucketMask + 1) * BUCKET_WORDS));
    const from = (hash & this.#bucketMask) * BUCKET_WORDS;
    for (let at = from + BUCKET_WORDS - 1; at >= from + ENTRY_WORDS; at--) {
      words[at] = words[at - ENTRY_WORDS]!;
    }
    words[from] = ((hash >>> 24) << 24) | place;
    words[from + 1] = number;
  }

  /** The source is closed: nothing leads to it any more. */
  forget(source: PlacedSource): void {
    if (source.generation === this.#generation) {
      for (const number of source.numbers.values()) this.#blocks[number - 1]!.source = null;
    }
    source.numbers.clear();
  }

  /** Bytes that the table occupies. */
  get sizeBytes(): number {
    return this.#words === null ? 0 : this.#words.byteLength;
  }

  #numberOf(source: PlacedSource, offset: number): number {
    if (this.#blocks.length >= this.#blocksMax) this.#clear();
    if (source.generation !== this.#generation) {
      source.numbers.clear();
      source.generation = this.#generation;
    }
    const known = source.numbers.get(offset);
    if (known !== undefined) return known;
    this.#blocks.push({ source, offset });
    source.numbers.set(offset, this.#blocks.length);
    return this.#blocks.length;
  }

  /** Numbers are used once in a generation, so that no entry is ever taken for one of another block. */
  #clear(): void {
    this.#words?.fill(0);
    this.#blocks = [];
    this.#generation++;
  }
}
