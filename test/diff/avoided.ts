/** Shapes that rounds do not have, because HBase is wrong there, loops, or answers by chance (README.md). */
import type { Family, MutationCommand, ScanCommand } from './commands.ts';

/** HBase loops for ever when it looks for the next column from an empty qualifier in such blocks (README.md). */
export const isPrefixCoded = (family: Family): boolean =>
  ['PREFIX', 'DIFF', 'FAST_DIFF'].includes(family['DATA_BLOCK_ENCODING'] as string);

/** Nothing makes HBase's readers seek oddly. An altered family keeps it so. */
export const isPlain = (family: Family): boolean =>
  !('DATA_BLOCK_ENCODING' in family) && family['BLOOMFILTER'] !== 'ROWCOL';

/**
 * With NEW_VERSION_BEHAVIOR and MIN_VERSIONS above 1 a read of one version of a named column is also given the expired one behind it,
 * if its file does not happen to be left there (HBase: NewVersionBehaviorTracker#checkVersions, #getColumnHint).
 */
export const showsExpired = (family: Family): boolean =>
  'NEW_VERSION_BEHAVIOR' in family && Number(family['MIN_VERSIONS'] ?? 0) > 1;

/** Whether a raw scan may leave the empty column when it has its versions: HBase then looks for the next column, at times for ever. */
export const leavesEmptyColumn = (scan: ScanCommand, hasEmptyQualifier: boolean): boolean =>
  scan.raw === 1 && hasEmptyQualifier && scan.columns === undefined;

/**
 * Whether one commit has two markers of times up to theirs for the same column of a family with NEW_VERSION_BEHAVIOR: HBase keeps
 * the last of them in key order, that is the older, and forgets the version markers between them.
 */
export function forgetsMarker(mutations: readonly MutationCommand[], family: string): boolean {
  const columns: string[] = [];
  let whole = 0;
  for (const mutation of mutations) {
    if (mutation.op !== 'delete' || mutation.versions || mutation.familyVersions) continue;
    if (mutation.columns === undefined) {
      if (mutation.families?.includes(family) ?? true) whole++;
    } else {
      const named = mutation.columns.filter(([f]) => f === family).map(([, q]) => q);
      columns.push(...new Set(named));
    }
  }
  return whole > 1 || (whole > 0 && columns.length > 0) || new Set(columns).size < columns.length;
}

/** Whether a put without a timestamp and an increment or append meet in a column. */
export function stampsTwice(mutations: readonly MutationCommand[]): boolean {
  const put = new Set<string>();
  const read = new Set<string>();
  for (const mutation of mutations) {
    if (mutation.op === 'put') {
      for (const { f, q, ts } of mutation.cells) if (ts === undefined) put.add(`${f}:${q}`);
    }
    const named =
      mutation.op === 'increment'
        ? mutation.amounts
        : mutation.op === 'append'
          ? mutation.values
          : [];
    for (const [f, q] of named) read.add(`${f}:${q}`);
  }
  return [...put].some((column) => read.has(column));
}
