/**
 * Asks a file's ROWCOL Bloom filter whether it can hold any of the columns that a read of one row names. A file that has
 * none of them, and no marker of a whole family in the row, has nothing for the read: markers of a column have its key, those of the
 * family that of the empty column.
 *
 * Where a chunk of the filter is not in memory the answer is PROBE_WAIT; `load` fetches what is missing and finds the answer, which the
 * same question gets then, whatever the cache keeps.
 */
import { NO_BYTES, compareRanges } from '../cell/index.ts';
import { PROBE_ABSENT, PROBE_MAYBE, PROBE_WAIT } from '../hfile/index.ts';
import type { BloomProbe, ProbeAnswer } from '../hfile/index.ts';

/** Of more columns one is likely to be there, and each question costs. */
const COLUMNS_MAX = 8;

export class ColumnFilter {
  readonly #probe: BloomProbe;
  /** The row and columns that `load` has found the answer for. */
  #row: Uint8Array | null = null;
  #qualifiers: readonly Uint8Array[] | null = null;
  #answer: ProbeAnswer = PROBE_MAYBE;

  constructor(probe: BloomProbe) {
    this.#probe = probe;
  }

  /** `qualifiers`: those asked for; null for the whole family. */
  mayHold(
    row: Uint8Array,
    rowAt: number,
    rowLength: number,
    qualifiers: readonly Uint8Array[] | null,
  ): ProbeAnswer {
    if (qualifiers === null || qualifiers.length > COLUMNS_MAX) return PROBE_MAYBE;
    const known = this.#row;
    this.#row = null;
    if (
      known !== null &&
      this.#qualifiers === qualifiers &&
      compareRanges(known, 0, known.length, row, rowAt, rowLength) === 0
    ) {
      return this.#answer;
    }
    const probe = this.#probe;
    let answer: ProbeAnswer = probe.hasFamilyMarkers
      ? probe.mightContainColumn(row, rowAt, rowLength, NO_BYTES, 0, 0)
      : PROBE_ABSENT;
    for (let i = 0; answer === PROBE_ABSENT && i < qualifiers.length; i++) {
      const qualifier = qualifiers[i]!;
      answer = probe.mightContainColumn(row, rowAt, rowLength, qualifier, 0, qualifier.length);
    }
    return answer;
  }

  /** After PROBE_WAIT, with the same row and columns. */
  async load(
    row: Uint8Array,
    rowAt: number,
    rowLength: number,
    qualifiers: readonly Uint8Array[],
  ): Promise<void> {
    const kept = Uint8Array.prototype.slice.call(row, rowAt, rowAt + rowLength);
    this.#answer = await this.#ask(kept, qualifiers);
    this.#row = kept;
    this.#qualifiers = qualifiers;
  }

  async #ask(row: Uint8Array, qualifiers: readonly Uint8Array[]): Promise<ProbeAnswer> {
    const probe = this.#probe;
    const length = row.length;
    let answer: ProbeAnswer = PROBE_ABSENT;
    for (let i = probe.hasFamilyMarkers ? -1 : 0; answer === PROBE_ABSENT; i++) {
      if (i === qualifiers.length) break;
      const qualifier = i < 0 ? NO_BYTES : qualifiers[i]!;
      const ask = (): ProbeAnswer =>
        probe.mightContainColumn(row, 0, length, qualifier, 0, qualifier.length);
      for (answer = ask(); answer === PROBE_WAIT; answer = ask()) {
        await probe.loadForColumn(row, 0, length, qualifier, 0, qualifier.length);
      }
    }
    return answer;
  }
}
