/**
 * The outside of zstd frames (RFC 8878 section 3.1.1), little-endian: the library allocates what a frame says, so that what it
 * says is looked at before.
 *
 *     u32 magic · u8 descriptor · [u8 window, unless single segment] · [0, 1, 2, 4 bytes dictionary] · [content size]
 *     blocks { u24: bit 0 last, bits 1-2 type (0 raw, 1 one byte repeated, 2 compressed), then size } · [u32 checksum]
 */
import { u32 } from '../cell/index.ts';
import { check } from './fault.ts';

/** The magic as a big-endian number. */
export const ZSTD_MAGIC = 0x28b52ffd;

const REPEATED = 1;
const COMPRESSED = 2;
const BLOCK_SIZE_MAX = 128 * 1024;
const CHECKSUM_SIZE = 4;

export interface ZstdFrameHeader {
  /** Bytes of content that the header states; null if it states none. */
  readonly size: number | null;
  readonly blocksAt: number;
  readonly hasChecksum: boolean;
}

/** The header of the frame at `at`. Throws FormatFault. */
export function zstdFrameAt(data: Uint8Array, at: number): ZstdFrameHeader {
  check(data.length - at >= 6 && u32(data, at) === ZSTD_MAGIC, 'a zstd frame has a wrong magic');
  const descriptor = data[at + 4]!;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionarySize = [0, 1, 2, 4][descriptor & 3]!;
  const sizeLength = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6]!;
  const sizeAt = at + 5 + (isSingleSegment ? 0 : 1) + dictionarySize;
  const blocksAt = sizeAt + sizeLength;
  check(blocksAt <= data.length, 'a zstd frame header is cut off');
  let size = 0;
  for (let i = sizeLength - 1; i >= 0; i--) size = size * 256 + data[sizeAt + i]!;
  if (sizeLength === 2) size += 256;
  return {
    size: sizeLength === 0 ? null : size,
    blocksAt,
    hasChecksum: (descriptor & 4) !== 0,
  };
}

export interface ZstdFrame {
  readonly end: number;
  /** The content has at most so many bytes. */
  readonly sizeMax: number;
}

/** Walks over the blocks of the frame at `at`. Throws FormatFault. */
export function measureZstdFrame(data: Uint8Array, at: number): ZstdFrame {
  const { size, blocksAt, hasChecksum } = zstdFrameAt(data, at);
  let blockAt = blocksAt;
  let sizeMax = 0;
  for (let isLast = false; !isLast;) {
    check(data.length - blockAt >= 3, 'a zstd block is cut off');
    const header = data[blockAt]! | (data[blockAt + 1]! << 8) | (data[blockAt + 2]! << 16);
    const type = (header >> 1) & 3;
    const length = header >> 3;
    check(type <= COMPRESSED, 'a zstd block has an unknown type');
    isLast = (header & 1) !== 0;
    sizeMax += type === COMPRESSED ? BLOCK_SIZE_MAX : length;
    blockAt += 3 + (type === REPEATED ? 1 : length);
  }
  const end = blockAt + (hasChecksum ? CHECKSUM_SIZE : 0);
  check(end <= data.length, 'a zstd frame is cut off');
  return { end, sizeMax: size ?? sizeMax };
}
