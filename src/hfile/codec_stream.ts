/**
 * What Hadoop's codecs write where nobody says how long the data is: the streams of whole cell blocks.
 *
 *     block stream   of SnappyCodec, Lz4Codec and HBase's own codecs: as in compression.ts, runs until the data ends; a run of
 *                    length 0 ends it, too (HBase: BlockDecompressorStream)
 *     frames         of ZStandardCodec: zstd frames, one after another
 */
import { u32 } from '../cell/index.ts';
import { compressFramed, loadChunkCodec } from './compression.ts';
import type { ChunkCodec, ChunkCodecName } from './compression.ts';
import { check } from './fault.ts';
import { measureZstdFrame } from './zstd_frame.ts';

/** One loaded codec: synchronous once made. */
export interface StreamCodec {
  /** The result is fresh. */
  compress(data: Uint8Array): Uint8Array;
  /** Gives at most `sizeMax` fresh bytes; throws on damage and for more, having allocated little more. */
  decompress(data: Uint8Array, sizeMax: number): Uint8Array;
}

/** Loads the codec of block streams. */
export async function loadBlockStream(name: ChunkCodecName): Promise<StreamCodec> {
  const chunks = await loadChunkCodec(name);
  const rate = name === 'ZSTD' ? Infinity : RATE_MAX;
  return {
    compress: (data) => compressFramed(chunks, data),
    decompress: (data, sizeMax) => readBlocks(chunks, data, sizeMax, rate),
  };
}

/** Loads the codec of bare zstd frames. */
export async function loadZstdFrames(): Promise<StreamCodec> {
  const chunks = await loadChunkCodec('ZSTD');
  return {
    compress: (data) => chunks.compress(data),
    decompress: (data, sizeMax) => readFrames(chunks, data, sizeMax),
  };
}

/** A byte of snappy or LZ4 stands for at most so many: what a chunk may claim. */
const RATE_MAX = 256;

function readBlocks(
  chunks: ChunkCodec,
  data: Uint8Array,
  sizeMax: number,
  rateMax: number,
): Uint8Array {
  const parts: Uint8Array[] = [];
  let room = sizeMax;
  let at = 0;
  while (at < data.length) {
    let left = lengthAt(data, at);
    at += 4;
    if (left === 0) break;
    check(left <= room, 'a compressed stream has too many bytes');
    room -= left;
    while (left > 0) {
      const length = lengthAt(data, at);
      at += 4;
      check(length > 0 && length <= data.length - at, 'a compressed chunk reaches past its end');
      const chunk = data.subarray(at, at + length);
      const part = chunks.decompress(chunk, Math.min(left, length * rateMax));
      check(part.length > 0 && part.length <= left, 'a compressed chunk has a wrong length');
      parts.push(part);
      left -= part.length;
      at += length;
    }
  }
  return joined(parts);
}

function lengthAt(data: Uint8Array, at: number): number {
  check(data.length - at >= 4, 'a compressed stream is cut off');
  return u32(data, at);
}

function readFrames(chunks: ChunkCodec, data: Uint8Array, sizeMax: number): Uint8Array {
  const parts: Uint8Array[] = [];
  let room = sizeMax;
  let at = 0;
  while (at < data.length) {
    const frame = measureZstdFrame(data, at);
    // A bound may be far above what comes; the library refuses what does not fit into its room.
    const part = chunks.decompress(data.subarray(at, frame.end), Math.min(frame.sizeMax, room));
    check(part.length <= room, 'a compressed stream has too many bytes');
    parts.push(part);
    room -= part.length;
    at = frame.end;
  }
  return joined(parts);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}
