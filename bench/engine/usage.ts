/** What a process and a folder use: bytes of files, bytes read and written. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

const STAT_BLOCK = 512;

/** Bytes that the files of a folder take on the disk, holes and shortened tails not counted. */
export function folderBytes(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const whole = path.join(folder, entry.name);
    bytes += entry.isDirectory() ? folderBytes(whole) : fileBytes(whole);
  }
  return bytes;
}

/** Files may be removed by background work while they are counted. */
function fileBytes(file: string): number {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? 0 : (stat.blocks ?? Math.ceil(stat.size / STAT_BLOCK)) * STAT_BLOCK;
}

export interface ProcessIo {
  /** Bytes that all threads have passed to the file system to write; what was written twice counts twice. */
  readonly writtenBytes: number;
  /** Bytes asked of the file system, from wherever it had them; reads of mapped files do not count. */
  readonly readBytes: number;
}

/** Of this process with all its threads; null where the system does not tell. */
export function processIo(): ProcessIo | null {
  let text: string;
  try {
    text = readFileSync('/proc/self/io', 'latin1');
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
  const field = (name: string): number =>
    Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1]);
  return { writtenBytes: field('write_bytes'), readBytes: field('rchar') };
}
