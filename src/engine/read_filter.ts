/** How filters come into reads: made once for each region, and gets with one run as scans of one row. */
import { END, WAIT } from '../cell/index.ts';
import { filterMaker } from '../filter/index.ts';
import type { CellFilter } from '../filter/index.ts';
import { STORE_LIMIT_NONE } from '../model/index.ts';
import type { ReadSpec, Result, ScanSpec } from '../model/index.ts';
import { CellBatch, checkBatch } from '../region/index.ts';
import type { RegionScanner } from '../region/index.ts';
import { drive } from './steps.ts';
import type { Steps } from './steps.ts';

/** A get's one result, whole; a search that finds nothing gives way to others in between. */
const ONE_ROW = { resultsMax: 1, bytesMax: Infinity, examinedMax: 20_000 };

/** The spec with its filter parsed and checked. Throws IllegalArgumentException. */
export function prepareFilter<T extends ReadSpec>(spec: T): T {
  return spec.filter === null ? spec : { ...spec, filter: filterMaker(spec.filter) };
}

/** `prepareFilter` for a scan: throws IncompatibleFilterException at once, also where there is nothing to read. */
export function prepareScan(spec: ScanSpec): ScanSpec {
  const prepared = prepareFilter(spec);
  const isOurs = typeof spec.filter !== 'function' && spec.batch !== STORE_LIMIT_NONE;
  const filter = isOurs ? newFilter(prepared, () => 0) : null;
  if (filter !== null) checkBatch(filter, spec);
  return prepared;
}

/** A fresh filter for the scanner of one region; null for none. */
export function newFilter(spec: ScanSpec, random: (below: number) => number): CellFilter | null {
  if (spec.filter === null) return null;
  return filterMaker(spec.filter)({ reversed: spec.reversed, random });
}

/** A get as a scan. */
export function oneRowOf(spec: ReadSpec, row: Uint8Array): ScanSpec {
  const to = new Uint8Array(row.length + 1);
  to.set(row);
  return {
    ...spec,
    from: row,
    to,
    reversed: false,
    limit: 1,
    batch: STORE_LIMIT_NONE,
    maxResultSizeBytes: ONE_ROW.bytesMax,
    raw: false,
  };
}

/** The scanner's one row, or null. Closes the scanner. */
export function readOneRow(
  scanner: RegionScanner,
  sleep: (ms: number) => Promise<void>,
): Promise<Result | null> {
  return drive(rowInSteps(scanner, sleep));
}

/** As `readOneRow`; 'absent' when bytes are not in memory. */
export function readOneRowSync(scanner: RegionScanner): Result | null | 'absent' {
  const batch = new CellBatch();
  try {
    for (;;) {
      const state = scanner.next(batch, ONE_ROW);
      if (batch.size > 0) return batch.result(0);
      if (state === END) return null;
      if (state === WAIT) return 'absent';
    }
  } finally {
    scanner.close();
  }
}

/** As `readOneRow`, for an operation in steps. */
export function* rowInSteps(
  scanner: RegionScanner,
  sleep: (ms: number) => Promise<void>,
): Steps<Result | null> {
  const batch = new CellBatch();
  try {
    for (;;) {
      const state = scanner.next(batch, ONE_ROW);
      if (batch.size > 0) return batch.result(0);
      if (state === END) return null;
      if (state === WAIT) yield scanner.load();
      else yield sleep(0);
    }
  } finally {
    scanner.close();
  }
}
