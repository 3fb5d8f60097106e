/** Checksums of blocks. One object is made by whoever opens readers and writers, and is shared by them. */
import { crc32 as zlibCrc32 } from 'node:zlib';
import { crc32c } from '../cell/index.ts';
import { putU32, u32 } from '../cell/index.ts';
import { FormatFault } from './fault.ts';

/** On disk: the checksum type of a block header (HBase: ChecksumType). */
export const CHECKSUM_NONE = 0;
export const CHECKSUM_CRC32 = 1;
export const CHECKSUM_CRC32C = 2;

/** Bytes under one checksum (HBase: hbase.hstore.bytes.per.checksum). */
export const BYTES_PER_CHECKSUM = 16384;

export interface Checksums {
  /** CRC-32C of `buf[at … at+length)`. */
  readonly crc32c: (buf: Uint8Array, at: number, length: number) => number;
  /** Says which implementation it is, for `stats`. */
  readonly source: 'native' | 'javascript';
}

/** The implementation that is always there. */
export const javascriptChecksums: Checksums = {
  crc32c: (buf, at, length) => crc32c(buf, at, length),
  source: 'javascript',
};

interface NativeCrc {
  crc32c(input: Uint8Array): number;
}

/**
 * The fastest checksums this machine has: `@node-rs/crc32` (3.5 GB/s against 0.8) where its prebuilt binary loads.
 * That package is optional, so that it cannot be loaded is an expected outcome and not an error.
 */
export async function loadChecksums(): Promise<Checksums> {
  const native = await import('@node-rs/crc32').then(
    (module: NativeCrc) => module,
    () => null,
  );
  if (native === null) return javascriptChecksums;
  return {
    crc32c: (buf, at, length) =>
      // A call into native code costs more than it saves on short ranges.
      length < 256 ? crc32c(buf, at, length) : native.crc32c(buf.subarray(at, at + length)) >>> 0,
    source: 'native',
  };
}

/** Bytes that the checksums of `dataSize` bytes (header and stored data) take. */
export function checksumsSize(type: number, dataSize: number, bytesPerChecksum: number): number {
  return type === CHECKSUM_NONE ? 0 : 4 * Math.ceil(dataSize / bytesPerChecksum);
}

/** Writes the CRC-32C checksums of `buf[at … end)` behind it and gives the offset after them. */
export function putChecksums(
  checksums: Checksums,
  buf: Uint8Array,
  at: number,
  end: number,
): number {
  let putAt = end;
  for (let chunkAt = at; chunkAt < end; chunkAt += BYTES_PER_CHECKSUM) {
    const length = Math.min(BYTES_PER_CHECKSUM, end - chunkAt);
    putU32(buf, putAt, checksums.crc32c(buf, chunkAt, length));
    putAt += 4;
  }
  return putAt;
}

/** Throws FormatFault unless the checksums that stand at `end` fit the bytes `buf[at … end)`. */
export function verifyChecksums(
  checksums: Checksums,
  type: number,
  bytesPerChecksum: number,
  buf: Uint8Array,
  at: number,
  end: number,
): void {
  if (type === CHECKSUM_NONE) return;
  let expectedAt = end;
  for (let chunkAt = at; chunkAt < end; chunkAt += bytesPerChecksum) {
    const length = Math.min(bytesPerChecksum, end - chunkAt);
    const found =
      type === CHECKSUM_CRC32C
        ? checksums.crc32c(buf, chunkAt, length)
        : zlibCrc32(buf.subarray(chunkAt, chunkAt + length));
    if (found !== u32(buf, expectedAt))
      throw new FormatFault('the checksum of a block does not match');
    expectedAt += 4;
  }
}
