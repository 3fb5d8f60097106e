/** What the normalizer does to a table: pure (HBase: SimpleRegionNormalizer). */

export interface NormalizerWishes {
  readonly canSplit: boolean;
  readonly canMerge: boolean;
  /** 0: not given. The size counts first. */
  readonly targetCount: number;
  readonly targetSizeBytes: number;
}

export interface NormalizerPlan {
  /** Runs of neighbours to merge into one, by index, first and last. */
  readonly merges: readonly (readonly [first: number, last: number])[];
  /** Indexes of regions to split. */
  readonly splits: readonly number[];
}

/** A table of fewer regions is not merged (HBase: hbase.normalizer.merge.min.region.count). */
const MERGE_REGIONS_MIN = 3;

/**
 * Regions of more than twice the average (or target) are split; neighbours that together stay below it are merged, as many
 * as fit. No region is in both.
 */
export function normalizationOf(
  sizes: readonly number[],
  wishes: NormalizerWishes,
): NormalizerPlan {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const byCount = wishes.targetCount > 0 ? total / wishes.targetCount : total / sizes.length;
  const target = wishes.targetSizeBytes > 0 ? wishes.targetSizeBytes : byCount;
  if (target <= 0) return { merges: [], splits: [] };
  const splits = wishes.canSplit ? sizes.flatMap((size, i) => (size > 2 * target ? [i] : [])) : [];
  if (!wishes.canMerge || sizes.length < MERGE_REGIONS_MIN) return { merges: [], splits };
  const merges: [number, number][] = [];
  for (let first = 0; first < sizes.length;) {
    let last = first;
    let sum = sizes[first]!;
    while (last + 1 < sizes.length && sum + sizes[last + 1]! <= target) sum += sizes[++last]!;
    if (last > first) merges.push([first, last]);
    first = last + 1;
  }
  return { merges, splits };
}
