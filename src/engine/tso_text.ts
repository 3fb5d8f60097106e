/** TSOs in the text of errors. */

/** Bits of a TSO below its milliseconds. */
const LOGICAL_BITS = 18n;
/** Times beyond this are no dates (ECMAScript). */
const DATE_MS_MAX = 8_640_000_000_000_000n;

/** A TSO and its time, for people: `465…824 (2026-01-31T12:00:00.000Z)`. */
export function tsoText(tso: bigint): string {
  const ms = tso >> LOGICAL_BITS;
  return ms > DATE_MS_MAX ? `${tso}` : `${tso} (${new Date(Number(ms)).toISOString()})`;
}
