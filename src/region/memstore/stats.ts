/** What a memstore holds, counted as cells come in. */
import { TYPE_PUT } from '../../cell/index.ts';
import type { Probe } from './probe.ts';

/**
 * 64-bit numbers are two unsigned halves. While `cellCount` is 0 the least are all ones and the greatest 0. A value is a
 * plain object: it may be cloned into a worker.
 */
export interface MemstoreStats {
  cellCount: number;
  /** Sum of the KeyValues' lengths. */
  cellBytes: number;
  /** Cells that are delete markers of any kind. */
  deleteCount: number;
  /** Cells with tags that were inserted, replaced ones too. */
  tagCount: number;
  minWriteHigh: number;
  minWriteLow: number;
  maxWriteHigh: number;
  maxWriteLow: number;
  minTimestampHigh: number;
  minTimestampLow: number;
  maxTimestampHigh: number;
  maxTimestampLow: number;
}

export function emptyStats(): MemstoreStats {
  return {
    cellCount: 0,
    cellBytes: 0,
    deleteCount: 0,
    tagCount: 0,
    minWriteHigh: 0xffffffff,
    minWriteLow: 0xffffffff,
    maxWriteHigh: 0,
    maxWriteLow: 0,
    minTimestampHigh: 0xffffffff,
    minTimestampLow: 0xffffffff,
    maxTimestampHigh: 0,
    maxTimestampLow: 0,
  };
}

/** Counts a new cell of `length` bytes whose key `probe` holds. */
export function countCell(stats: MemstoreStats, probe: Probe, length: number): void {
  stats.cellCount++;
  stats.cellBytes += length;
  if (probe.type !== TYPE_PUT) stats.deleteCount++;
  const { writeHigh, writeLow, timestampHigh, timestampLow } = probe;
  if (isBelow(writeHigh, writeLow, stats.minWriteHigh, stats.minWriteLow)) {
    stats.minWriteHigh = writeHigh;
    stats.minWriteLow = writeLow;
  }
  if (isBelow(stats.maxWriteHigh, stats.maxWriteLow, writeHigh, writeLow)) {
    stats.maxWriteHigh = writeHigh;
    stats.maxWriteLow = writeLow;
  }
  if (isBelow(timestampHigh, timestampLow, stats.minTimestampHigh, stats.minTimestampLow)) {
    stats.minTimestampHigh = timestampHigh;
    stats.minTimestampLow = timestampLow;
  }
  if (isBelow(stats.maxTimestampHigh, stats.maxTimestampLow, timestampHigh, timestampLow)) {
    stats.maxTimestampHigh = timestampHigh;
    stats.maxTimestampLow = timestampLow;
  }
}

function isBelow(aHigh: number, aLow: number, bHigh: number, bLow: number): boolean {
  return aHigh < bHigh || (aHigh === bHigh && aLow < bLow);
}
