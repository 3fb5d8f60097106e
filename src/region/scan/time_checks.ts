/** What time does to cells: TTL of the family, TTL of a cell, time ranges. Timestamps are two unsigned halves. */
import { TAG_TTL, u16, u32 } from '../../cell/index.ts';
import type { CellView } from '../../cell/index.ts';
import { TTL_FOREVER } from '../../model/index.ts';
import type { TimeRangeSpec } from '../../model/index.ts';

const TWO_TO_32 = 0x100000000;

/** The oldest timestamp that has not expired: cells strictly older have. `high` is -1 when nothing expires. */
export interface OldestUnexpired {
  readonly high: number;
  readonly low: number;
}

const NEVER: OldestUnexpired = { high: -1, low: 0 };

export function oldestUnexpired(ttlSeconds: number, nowMs: number): OldestUnexpired {
  const oldest = nowMs - ttlSeconds * 1000;
  if (ttlSeconds >= TTL_FOREVER || oldest <= 0) return NEVER;
  return { high: Math.floor(oldest / TWO_TO_32), low: oldest % TWO_TO_32 };
}

/** Whether the cell carries a TTL of its own (milliseconds; the first such tag counts) and is older than it. */
export function isCellTtlExpired(
  cell: CellView,
  high: number,
  low: number,
  nowMs: number,
): boolean {
  const { block } = cell;
  const end = cell.tagsAt + cell.tagsLength;
  for (let at = cell.tagsAt; at + 3 <= end; at += 2 + u16(block, at)) {
    if (block[at + 2] !== TAG_TTL) continue;
    // Sums beyond 2^53 are inexact, but far above any clock.
    const ttl = u32(block, at + 3) * TWO_TO_32 + u32(block, at + 7);
    return high * TWO_TO_32 + low + ttl < nowMs;
  }
  return false;
}

/** -1: before the range, 0: in it, 1: at its end or after. HBase: TimeRange#compare. */
export function compareToRange(range: TimeRangeSpec, high: number, low: number): number {
  if (high < range.minHigh || (high === range.minHigh && low < range.minLow)) return -1;
  if (high > range.maxHigh || (high === range.maxHigh && low >= range.maxLow)) return 1;
  return 0;
}
