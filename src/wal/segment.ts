/** One segment file of the log: its name, its header, how it comes to be and how it grows. */
import type { Env, FileHandle, FileSystem } from '../io/index.ts';
import { CorruptionException } from '../io/index.ts';
import {
  encodeSegmentHeader,
  SEGMENT_HEADER_SIZE,
  segmentSeed,
  type SegmentHeader,
} from './format.ts';

const NAME = /^(\d{10})\.wal$/;
/** Files on their way into or out of the log; the next recovery removes what a crash left of them. */
const TRANSIENT = /^\d{10}\.(?:new|free)$/;
const ZEROS: Uint8Array = new Uint8Array(256 * 1024);

/** What is known of a segment beside its bytes. TSOs are those of commit and control records, 0 while there are none. */
export interface SegmentInfo {
  readonly number: number;
  readonly path: string;
  /** How often the file was reused. */
  readonly generation: number;
  /** Bytes of the file; for the last segment with what is allocated ahead. */
  sizeBytes: number;
  firstHigh: number;
  firstLow: number;
  lastHigh: number;
  lastLow: number;
}

/** A segment that is open for appending. */
export interface OpenSegment extends SegmentInfo {
  readonly handle: FileHandle;
  readonly seed: number;
}

export function segmentPath(dir: string, number: number): string {
  return `${dir}/${String(number).padStart(10, '0')}.wal`;
}

/** The number in a segment's file name; 0 if it is no segment's. */
export function segmentNumber(name: string): number {
  const match = NAME.exec(name);
  return match === null ? 0 : Number(match[1]);
}

export function isTransientName(name: string): boolean {
  return TRANSIENT.test(name);
}

export function newSegmentInfo(
  path: string,
  header: { readonly number: number; readonly generation: number },
  sizeBytes: number,
): SegmentInfo {
  return {
    number: header.number,
    path,
    generation: header.generation,
    sizeBytes,
    firstHigh: 0,
    firstLow: 0,
    lastHigh: 0,
    lastLow: 0,
  };
}

/** Opens a known segment for appending. */
export async function openSegment(fs: FileSystem, info: SegmentInfo): Promise<OpenSegment> {
  const handle = await fs.open(info.path, 'write');
  return { ...info, handle, seed: segmentSeed(info.number) };
}

/** Reads the first bytes of a segment, fewer if the file is shorter than a header. */
export async function readHeaderBytes(fs: FileSystem, path: string): Promise<Uint8Array> {
  const handle = await fs.open(path, 'read');
  try {
    const bytes = new Uint8Array(SEGMENT_HEADER_SIZE);
    return bytes.subarray(0, await handle.read(bytes, 0));
  } finally {
    await handle.close();
  }
}

/**
 * Checks that a whole header stands in the file where it belongs. Throws CorruptionException for one under a wrong
 * name, or of another store if `storeId` is given.
 */
export function checkSegmentIdentity(
  header: SegmentHeader,
  path: string,
  number: number,
  storeId: Uint8Array | null,
): void {
  if (header.number !== number) {
    throw new CorruptionException(`log segment ${header.number} under a wrong name`, path, 16);
  }
  if (storeId !== null && !storeId.every((byte, i) => header.storeId[i] === byte)) {
    throw new CorruptionException('log segment of another store', path, 40);
  }
}

/** A copy with the fields of SegmentInfo and no other. */
export function copySegmentInfo(info: SegmentInfo): SegmentInfo {
  const { number, path, generation, sizeBytes, firstHigh, firstLow, lastHigh, lastLow } = info;
  return { number, path, generation, sizeBytes, firstHigh, firstLow, lastHigh, lastLow };
}

/**
 * Makes a segment of `sizeBytes` and opens it: header and zeros are on the disk, and so is its name, when this
 * resolves; before, no file has a segment's name. `spare` is a file of at least that size to be used again, its old
 * bytes left in place. On failure what was made is removed, and the error is thrown.
 */
export async function createSegment(
  env: Env,
  dir: string,
  header: Omit<SegmentHeader, 'createdMs'>,
  sizeBytes: number,
  spare: string | null,
): Promise<OpenSegment> {
  const { fs } = env;
  const path = segmentPath(dir, header.number);
  const made = spare ?? path.replace(/wal$/, 'new');
  try {
    const handle = await fs.open(made, spare === null ? 'create' : 'write');
    try {
      const bytes = encodeSegmentHeader({ ...header, createdMs: env.clock.nowMs() });
      await handle.write(bytes, 0);
      if (spare === null) await writeZeros(handle, SEGMENT_HEADER_SIZE, sizeBytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    await fs.remove(made);
    throw error;
  }
  await fs.rename(made, path);
  await fs.syncFolder(dir);
  return openSegment(fs, newSegmentInfo(path, header, sizeBytes));
}

/** Writes zeros from `from` up to `to`, in steps that leave the disk free in between. */
export async function writeZeros(handle: FileHandle, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += ZEROS.length) {
    await handle.write(to - at < ZEROS.length ? ZEROS.subarray(0, to - at) : ZEROS, at);
  }
}
