/**
 * Which files of a store a minor compaction takes (HBase: RatioBasedCompactionPolicy). Pure: sizes in, a choice out.
 */

/** A file as the choice sees it. Candidates come oldest first. */
export interface CompactionCandidate {
  readonly sizeBytes: number;
}

export interface CompactionRules {
  /** HBase: hbase.hstore.compaction.min and .max: files a compaction at least and at most. */
  readonly filesMin: number;
  readonly filesMax: number;
  /** A file is taken only if it is not larger than this times all newer ones together (hbase.hstore.compaction.ratio). */
  readonly ratio: number;
  /** Files below this are always taken (hbase.hstore.compaction.min.size). */
  readonly sizeMin: number;
  /** Files above this are never taken (hbase.hstore.compaction.max.size). */
  readonly sizeMax: number;
}

export const COMPACTION_RULES: CompactionRules = {
  filesMin: 3,
  filesMax: 10,
  ratio: 1.2,
  sizeMin: 128 * 1024 * 1024,
  sizeMax: Number.MAX_SAFE_INTEGER,
};

/** HBase: hbase.hstore.compaction.ratio.offpeak. */
export const OFF_PEAK_RATIO = 5;

/** Hours of the day in which larger files are compacted, too: from `start` up to before `end`, over midnight if that is less. */
export interface OffPeakHours {
  /** 0 to 23, as the clock on the wall shows it. */
  readonly start: number;
  readonly end: number;
}

/** Whether an hour (0 to 23) is off-peak. As in HBase (OffPeakHours) equal ends mean never. */
export function isOffPeak({ start, end }: OffPeakHours, hour: number): boolean {
  if (start <= end) return start <= hour && hour < end;
  return hour >= start || hour < end;
}

/**
 * Indexes [from, to) of the files to compact, oldest first; null for none. Leading (oldest) files that are too large in
 * proportion to the newer ones are passed over; `isForced` (too many files) takes at least the newest `filesMin`.
 */
export function selectCompaction(
  candidates: readonly CompactionCandidate[],
  rules: CompactionRules,
  isForced: boolean,
): { readonly from: number; readonly to: number } | null {
  const count = candidates.length;
  let start = 0;
  while (start < count && candidates[start]!.sizeBytes > rules.sizeMax) start++;
  const sums = sumsOfNewer(candidates, rules.filesMax);
  while (
    count - start >= rules.filesMin &&
    candidates[start]!.sizeBytes > Math.max(rules.sizeMin, sums[start]! * rules.ratio)
  ) {
    start++;
  }
  if (count - start < rules.filesMin) {
    if (!isForced) return null;
    start = Math.max(0, count - rules.filesMin);
  }
  const to = Math.min(count, start + rules.filesMax);
  return to - start < Math.min(2, rules.filesMin) ? null : { from: start, to };
}

/** For each file the bytes of the up to `filesMax - 1` files that follow it. */
function sumsOfNewer(candidates: readonly CompactionCandidate[], filesMax: number): number[] {
  const sums = new Array<number>(candidates.length + 1).fill(0);
  for (let i = candidates.length - 1; i >= 0; i--) {
    const next = candidates[i + 1]?.sizeBytes ?? 0;
    const leaving = candidates[i + filesMax]?.sizeBytes ?? 0;
    sums[i] = sums[i + 1]! + next - leaving;
  }
  return sums;
}
