/** Which segments a log folder holds, and in what order: the chain of `previous` in their headers. */
import type { FileSystem } from '../io/index.ts';
import { CorruptionException, FileNotFoundException } from '../io/index.ts';
import { decodeSegmentHeader, type SegmentHeader } from './format.ts';
import {
  checkSegmentIdentity,
  isTransientName,
  readHeaderBytes,
  segmentNumber,
  segmentPath,
} from './segment.ts';

export interface SurveyedSegment {
  readonly number: number;
  readonly path: string;
  readonly sizeBytes: number;
  /** Null if it is damaged; `fault` then says how. */
  readonly header: SegmentHeader | null;
  /** The header as it lies in the file, shorter if that is cut. */
  readonly headerBytes: Uint8Array;
  readonly fault: CorruptionException | null;
}

export interface Survey {
  /** In the order of the log. Headers of the last ones may be damaged. */
  readonly chain: readonly SurveyedSegment[];
  /** Segments that no header names as its predecessor. They may hold no records. */
  readonly unlinked: readonly SurveyedSegment[];
  /** Segments that a header names as its predecessor and that are not there. */
  readonly missing: readonly { readonly path: string; readonly follower: SurveyedSegment }[];
  /** Paths of what allocation and release left behind. */
  readonly transient: readonly string[];
  /** Greater than every number in the folder. */
  readonly nextNumber: number;
}

/**
 * Reads the headers of all segments, or of those from `fromNumber` on; changes nothing. An absent folder is an empty one.
 * Throws LogVersionException, CorruptionException for a segment under a wrong name or of another store, IoException.
 */
export async function surveySegments(
  fs: FileSystem,
  dir: string,
  storeId: Uint8Array | null,
  fromNumber: number = 1,
): Promise<Survey> {
  const names = (await fs.stat(dir)) === null ? [] : await fs.list(dir);
  const all: SurveyedSegment[] = [];
  for (const name of names) {
    const number = segmentNumber(name);
    const segment = number >= fromNumber ? await surveySegment(fs, dir, number, storeId) : null;
    if (segment !== null) all.push(segment);
  }
  all.sort((a, b) => a.number - b.number);
  return {
    ...linkSegments(dir, all),
    transient: names.filter(isTransientName).map((name) => `${dir}/${name}`),
    nextNumber: (all.at(-1)?.number ?? 0) + 1,
  };
}

/** Null if the file is gone: a writer at work has released it. Throws as `surveySegments`. */
export async function surveySegment(
  fs: FileSystem,
  dir: string,
  number: number,
  storeId: Uint8Array | null,
): Promise<SurveyedSegment | null> {
  const path = segmentPath(dir, number);
  let bytes: Uint8Array;
  try {
    bytes = await readHeaderBytes(fs, path);
  } catch (error) {
    if (error instanceof FileNotFoundException) return null;
    throw error;
  }
  const sizeBytes = (await fs.stat(path))?.sizeBytes ?? 0;
  let header: SegmentHeader;
  try {
    header = decodeSegmentHeader(bytes, path);
  } catch (error) {
    if (!(error instanceof CorruptionException)) throw error;
    return { number, path, sizeBytes, header: null, headerBytes: bytes, fault: error };
  }
  checkSegmentIdentity(header, path, number, storeId);
  return { number, path, sizeBytes, header, headerBytes: bytes, fault: null };
}

/**
 * Walks from the last whole header back. Behind a damaged header the next lower number is taken as its predecessor:
 * whether that is right shows when records follow, which is an error anyway.
 */
function linkSegments(
  dir: string,
  all: readonly SurveyedSegment[],
): Pick<Survey, 'chain' | 'unlinked' | 'missing'> {
  const lastWhole = all.findLastIndex((segment) => segment.header !== null);
  const chain: SurveyedSegment[] = all.slice(lastWhole + 1);
  const unlinked: SurveyedSegment[] = [];
  const missing: { path: string; follower: SurveyedSegment }[] = [];
  let wanted = all[lastWhole]?.number ?? 0;
  for (let i = lastWhole; i >= 0; i--) {
    const segment = all[i]!;
    if (segment.number > wanted) {
      unlinked.unshift(segment);
      continue;
    }
    const follower = chain[0];
    if (segment.number < wanted && follower !== undefined) {
      missing.push({ path: segmentPath(dir, wanted), follower });
    }
    chain.unshift(segment);
    wanted = segment.header === null ? (all[i - 1]?.number ?? 0) : segment.header.previous;
  }
  return { chain, unlinked, missing };
}
