/**
 * Asking the Bloom filters of a file. Synchronous when the chunk is in memory; else the answer is PROBE_WAIT, and after
 * `await load…` of the same key the question is asked again. (After a load the answer comes from the chunk it loaded, whatever
 * the cache did with it.)
 */
import type { BlockLookup, BlockRequest, CachedBlock } from './block_cache.ts';
import { KeyHash, columnKeySize, findColumnChunk, findRowChunk, putColumnKey } from './bloom.ts';
import type { BloomMeta } from './bloom.ts';
import type { HFileProperties } from './properties.ts';

/** The file certainly has no such cell. */
export const PROBE_ABSENT = 0;
/** It may have some; also when there is no filter that could tell. */
export const PROBE_MAYBE = 1;
/** The chunk is not in memory. */
export const PROBE_WAIT = 2;
export type ProbeAnswer = typeof PROBE_ABSENT | typeof PROBE_MAYBE | typeof PROBE_WAIT;

interface ProbeParts {
  readonly properties: HFileProperties;
  readonly bloom: BloomMeta | null;
  readonly deleteFamilyBloom: BloomMeta | null;
  readonly cached: BlockLookup;
  readonly load: (request: BlockRequest) => Promise<CachedBlock>;
}

export class BloomProbe {
  /** The general filter has a key for each column: it can tell more of a column than of its row. */
  readonly knowsColumns: boolean;
  /** The file has markers of whole families, or may have. */
  readonly hasFamilyMarkers: boolean;
  readonly #parts: ProbeParts;
  /** The chunk that was loaded last, so that asking again after a load always gets an answer. */
  #loaded: CachedBlock | null = null;
  /** The column key that is being asked for. */
  #columnKey: Uint8Array = new Uint8Array(256);
  readonly #hash: KeyHash = new KeyHash();

  constructor(parts: ProbeParts) {
    this.#parts = parts;
    this.knowsColumns = parts.bloom !== null && parts.properties.bloomType === 'ROWCOL';
    this.hasFamilyMarkers = parts.properties.deleteFamilyCount !== 0n;
  }

  /** Whether the file may hold a cell of the row. `hash`: the row's, if the caller has it. */
  mightContainRow(
    row: Uint8Array,
    rowAt: number,
    rowLength: number,
    hash: KeyHash | null = null,
  ): ProbeAnswer {
    const { bloom } = this.#parts;
    if (bloom === null) return PROBE_MAYBE;
    const length = this.#rowKeyLength(rowLength);
    if (length < 0) return PROBE_MAYBE;
    const chunk = findRowChunk(bloom.chunks, row, rowAt, length);
    return this.#ask(bloom, chunk, row, rowAt, length, hash);
  }

  async loadForRow(row: Uint8Array, rowAt: number, rowLength: number): Promise<void> {
    const { bloom } = this.#parts;
    const length = this.#rowKeyLength(rowLength);
    if (bloom === null || length < 0) return;
    await this.#load(bloom, findRowChunk(bloom.chunks, row, rowAt, length));
  }

  /** Whether the file may hold a cell of the column. Delete-family markers of the row are another question. */
  mightContainColumn(
    row: Uint8Array,
    rowAt: number,
    rowLength: number,
    qualifier: Uint8Array,
    qualifierAt: number,
    qualifierLength: number,
  ): ProbeAnswer {
    const { bloom, properties } = this.#parts;
    if (properties.bloomType !== 'ROWCOL') return this.mightContainRow(row, rowAt, rowLength);
    if (bloom === null) return PROBE_MAYBE;
    const length = this.#putKey(row, rowAt, rowLength, qualifier, qualifierAt, qualifierLength);
    const chunk = findColumnChunk(bloom.chunks, this.#columnKey, length);
    return this.#ask(bloom, chunk, this.#columnKey, 0, length);
  }

  async loadForColumn(
    row: Uint8Array,
    rowAt: number,
    rowLength: number,
    qualifier: Uint8Array,
    qualifierAt: number,
    qualifierLength: number,
  ): Promise<void> {
    const { bloom, properties } = this.#parts;
    if (properties.bloomType !== 'ROWCOL') return this.loadForRow(row, rowAt, rowLength);
    if (bloom === null) return;
    const length = this.#putKey(row, rowAt, rowLength, qualifier, qualifierAt, qualifierLength);
    await this.#load(bloom, findColumnChunk(bloom.chunks, this.#columnKey, length));
  }

  /** Whether the file may hold a DeleteFamily or DeleteFamilyVersion marker of the row. */
  mightDeleteFamily(row: Uint8Array, rowAt: number, rowLength: number): ProbeAnswer {
    const { deleteFamilyBloom: bloom, properties } = this.#parts;
    if (properties.deleteFamilyCount === 0n) return PROBE_ABSENT;
    if (bloom === null) return PROBE_MAYBE;
    const chunk = findRowChunk(bloom.chunks, row, rowAt, rowLength);
    return this.#ask(bloom, chunk, row, rowAt, rowLength);
  }

  async loadForDeleteFamily(row: Uint8Array, rowAt: number, rowLength: number): Promise<void> {
    const { deleteFamilyBloom: bloom } = this.#parts;
    if (bloom !== null) await this.#load(bloom, findRowChunk(bloom.chunks, row, rowAt, rowLength));
  }

  /** Length of the filter's key for a row; -1 if its keys are not rows. */
  #rowKeyLength(rowLength: number): number {
    const { bloomType, bloomPrefixLength } = this.#parts.properties;
    if (bloomType === 'ROW') return rowLength;
    if (bloomType !== 'ROWPREFIX_FIXED_LENGTH' || bloomPrefixLength <= 0) return -1;
    return Math.min(rowLength, bloomPrefixLength);
  }

  #putKey(
    row: Uint8Array,
    rowAt: number,
    rowLength: number,
    qualifier: Uint8Array,
    qualifierAt: number,
    qualifierLength: number,
  ): number {
    const size = columnKeySize(rowLength, qualifierLength);
    if (this.#columnKey.length < size) this.#columnKey = new Uint8Array(2 * size);
    return putColumnKey(
      this.#columnKey,
      row,
      rowAt,
      rowLength,
      qualifier,
      qualifierAt,
      qualifierLength,
    );
  }

  #ask(
    bloom: BloomMeta,
    chunk: number,
    key: Uint8Array,
    keyAt: number,
    keyLength: number,
    hash: KeyHash | null = null,
  ): ProbeAnswer {
    if (chunk < 0) return PROBE_ABSENT;
    const offset = bloom.chunks.offsets[chunk]!;
    const loaded = this.#loaded;
    const isLoaded = loaded !== null && loaded.offset === offset;
    // Used once: from then on it is the cache that decides what stays in memory.
    if (isLoaded) this.#loaded = null;
    const block = isLoaded ? loaded : this.#parts.cached.get(offset);
    if (block === undefined || block.kind !== 'bloom') return PROBE_WAIT;
    const { hashType, hashCount } = bloom;
    let known = hash;
    if (known?.fits(hashType, keyLength) !== true) {
      known = this.#hash;
      known.set(key, keyAt, keyLength, hashType);
    }
    return block.mightContain(hashCount, known.first, known.second()) ? PROBE_MAYBE : PROBE_ABSENT;
  }

  async #load(bloom: BloomMeta, chunk: number): Promise<void> {
    if (chunk < 0) return;
    const offset = bloom.chunks.offsets[chunk]!;
    const sizeOnDisk = bloom.chunks.sizes[chunk]!;
    this.#loaded = await this.#parts.load({ kind: 'bloom', offset, sizeOnDisk });
  }
}
