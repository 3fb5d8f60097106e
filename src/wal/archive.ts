/**
 * The archive of a log: segments that left the log's folder and that somebody still reads. Which of them may go is told by a
 * TSO: a segment is needed while it holds a record above it.
 */
import { FileNotFoundException } from '../io/index.ts';
import type { Env, FileHandle } from '../io/index.ts';
import {
  SEGMENT_HEADER_SIZE,
  claimedRecordSize,
  compareHalves,
  decodeSegmentHeader,
  segmentSeed,
  wholeRecordSize,
} from './format.ts';
import { LogRecord } from './record.ts';
import { segmentNumber, segmentPath } from './segment.ts';
import { surveySegment, surveySegments, type SurveyedSegment } from './survey.ts';

/** Bytes that are enough for a record's header. */
const HEAD_SIZE = 64;

export interface ArchivedSegment {
  readonly number: number;
  readonly path: string;
  readonly sizeBytes: number;
  /** Number of the segment before it, 0 for the first of a log; -1 if its header is damaged. */
  readonly previous: number;
  /** TSO of its first record, in halves; 0 if it has none. */
  readonly firstHigh: number;
  readonly firstLow: number;
}

/** The segments of a folder in the order of their numbers. An absent folder is an empty one. */
export async function listSegments(env: Env, dir: string): Promise<ArchivedSegment[]> {
  const { chain, unlinked } = await surveySegments(env.fs, dir, null);
  const all = [...unlinked, ...chain].sort((a, b) => a.number - b.number);
  const segments: ArchivedSegment[] = [];
  for (const segment of all) {
    const described = await describe(env, segment);
    if (described !== null) segments.push(described);
  }
  return segments;
}

/** Null for a segment that has left the folder since it was seen. */
async function describe(env: Env, segment: SurveyedSegment): Promise<ArchivedSegment | null> {
  const { number, path, sizeBytes, header } = segment;
  const record = new LogRecord();
  let handle: FileHandle;
  try {
    handle = await env.fs.open(path, 'read');
  } catch (error) {
    if (error instanceof FileNotFoundException) return null;
    throw error;
  }
  try {
    const start = new Uint8Array(HEAD_SIZE);
    const length = await handle.read(start, SEGMENT_HEADER_SIZE);
    if (claimedRecordSize(start, 0, length) > 0) record.load(start, 0, SEGMENT_HEADER_SIZE);
  } finally {
    await handle.close();
  }
  return {
    number,
    path,
    sizeBytes,
    previous: header?.previous ?? -1,
    firstHigh: record.tsoHigh,
    firstLow: record.tsoLow,
  };
}

/**
 * Removes the segments of `archiveDir` that hold no record above the TSO, oldest first; null: all. `firstLive` is the first
 * segment of the log itself, which bounds the last archived one; null if it has none. Gives their count.
 */
export async function pruneArchive(
  env: Env,
  archiveDir: string,
  above: { readonly high: number; readonly low: number } | null,
  firstLive: { readonly firstHigh: number; readonly firstLow: number } | null,
): Promise<number> {
  if ((await env.fs.stat(archiveDir)) === null) return 0;
  const numbers = (await env.fs.list(archiveDir)).map(segmentNumber).filter((number) => number > 0);
  numbers.sort((a, b) => a - b);
  // Only as far as they go: the archive may be long.
  let removed = 0;
  for (const [i, number] of numbers.entries()) {
    const following = numbers[i + 1];
    const next = following === undefined ? firstLive : await seen(env, archiveDir, following);
    if (above !== null && !startsAtOrBelow(next, above.high, above.low)) break;
    await env.fs.remove(segmentPath(archiveDir, number));
    await env.fs.syncFolder(archiveDir);
    removed++;
  }
  return removed;
}

/** Null for a segment that is not there any more. */
async function seen(env: Env, dir: string, number: number): Promise<ArchivedSegment | null> {
  const segment = await surveySegment(env.fs, dir, number, null);
  return segment === null ? null : describe(env, segment);
}

/** The segment's first record is not above the TSO's successor: nothing before it is above the TSO. */
function startsAtOrBelow(
  segment: { readonly firstHigh: number; readonly firstLow: number } | null,
  high: number,
  low: number,
): boolean {
  if (segment === null || segment.firstHigh + segment.firstLow === 0) return false;
  return compareHalves(segment.firstHigh, segment.firstLow, high, low) <= 0;
}

/** What `checkSegment` found. */
export interface SegmentCheck {
  readonly path: string;
  readonly number: number;
  readonly records: number;
  readonly bytes: number;
  /** Where there is no further whole record; the end of the file or of what was written. */
  readonly endAt: number;
  /** Offset of a whole record behind `endAt`: the file is damaged in between; -1 for none. */
  readonly behindAt: number;
  /** The last record says that another segment follows, or that the log was closed. */
  readonly isEnded: boolean;
}

/** Reads a whole segment and checks every record. Throws CorruptionException for a damaged header, IoException. */
export async function checkSegment(env: Env, path: string): Promise<SegmentCheck> {
  const buf = await env.fs.readFile(path);
  const { number } = decodeSegmentHeader(buf, path);
  const seed = segmentSeed(number);
  const record = new LogRecord();
  let at = SEGMENT_HEADER_SIZE;
  let records = 0;
  for (;;) {
    const size = wholeRecordSize(buf, at, buf.length, seed);
    if (size === 0) break;
    record.load(buf, at, 0);
    records++;
    at += size;
  }
  let behindAt = -1;
  for (let probe = at + 8; probe + HEAD_SIZE <= buf.length && behindAt < 0; probe += 8) {
    if (wholeRecordSize(buf, probe, buf.length, seed) > 0) behindAt = probe;
  }
  const isEnded = record.kind >= 250 && record.kind <= 251;
  return { path, number, records, bytes: at - SEGMENT_HEADER_SIZE, endAt: at, behindAt, isEnded };
}
