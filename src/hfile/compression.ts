/**
 * Block compression (protocol/files.md section 1.6).
 *
 *     codec   trailer id   stored data
 *     GZ               1   one gzip stream
 *     NONE             2   the bytes
 *     SNAPPY           3   Hadoop block stream of raw snappy chunks
 *     LZ4              4   Hadoop block stream of raw LZ4 blocks
 *     ZSTD             6   Hadoop block stream of zstd frames; read also as bare frames
 *
 * Hadoop block stream, integers big-endian: runs of { u32 uncompressed length · chunks { u32 compressed length · chunk }
 * until the run's uncompressed length is reached }. We write one run of one chunk, as Hadoop does below its buffer size
 * and in runs of RUN_LENGTH_MAX above.
 */
import zlib from 'node:zlib';
import { putU32, u32 } from '../cell/index.ts';
import { FormatFault, check } from './fault.ts';
import { decodeLz4, decodeSnappy } from './chunk_decoders.ts';
import { ZSTD_MAGIC, zstdFrameAt } from './zstd_frame.ts';

export type CompressionName = 'NONE' | 'GZ' | 'SNAPPY' | 'LZ4' | 'ZSTD';

/** On disk: the trailer's compression_codec. */
export const COMPRESSION_IDS: Readonly<Record<CompressionName, number>> = {
  GZ: 1,
  NONE: 2,
  SNAPPY: 3,
  LZ4: 4,
  ZSTD: 6,
};

/** Hadoop's compressors take at most this much in one chunk: io.compression.codec.*.buffersize 256 KiB less overhead. */
const RUN_LENGTH_MAX = 192 * 1024;

/** One loaded codec: synchronous once made. */
export interface Codec {
  readonly name: CompressionName;
  readonly id: number;
  /** Compresses `data`; the result is fresh. */
  compress(data: Uint8Array): Uint8Array;
  /** Gives exactly `size` fresh bytes or throws FormatFault. Never allocates more than a small multiple of `size`. */
  decompress(data: Uint8Array, size: number): Uint8Array;
}

/** Compresses and decompresses one chunk. `decompress` may give any length up to `sizeMax` or throw. */
export interface ChunkCodec {
  compress(data: Uint8Array): Uint8Array;
  decompress(data: Uint8Array, sizeMax: number): Uint8Array;
}

export function compressionNamed(name: string): CompressionName | null {
  const upper = name.toUpperCase();
  return Object.hasOwn(COMPRESSION_IDS, upper) ? (upper as CompressionName) : null;
}

export function compressionOfId(id: number): CompressionName | null {
  for (const [name, known] of Object.entries(COMPRESSION_IDS)) {
    if (known === id) return name as CompressionName;
  }
  return null;
}

/** Loads a codec; null for NONE. The packages are loaded only when a file needs them. */
export async function loadCodec(name: CompressionName): Promise<Codec | null> {
  switch (name) {
    case 'NONE':
      return null;
    case 'GZ':
      return gzipCodec;
    case 'SNAPPY':
    case 'LZ4':
    case 'ZSTD':
      return framed(name, await loadChunkCodec(name));
  }
}

/** The codecs whose chunks Hadoop frames. */
export type ChunkCodecName = 'SNAPPY' | 'LZ4' | 'ZSTD';

export function loadChunkCodec(name: ChunkCodecName): Promise<ChunkCodec> {
  switch (name) {
    case 'SNAPPY':
      return snappyChunks();
    case 'LZ4':
      return lz4Chunks();
    case 'ZSTD':
      return zstdChunks();
  }
}

/**
 * The codecs that were loaded, to be shared by readers and writers: with them at hand opening a file need not wait for a
 * package to be imported.
 */
export class Codecs {
  readonly #loaded: Map<CompressionName, Codec | null> = new Map();

  async load(name: CompressionName): Promise<Codec | null> {
    const known = this.#loaded.get(name);
    if (known !== undefined) return known;
    const codec = await loadCodec(name);
    this.#loaded.set(name, codec);
    return codec;
  }
}

const GZIP_OS_AT = 9;

const gzipCodec: Codec = {
  name: 'GZ',
  id: COMPRESSION_IDS.GZ,
  compress(data) {
    const stream = zlib.gzipSync(data);
    stream[GZIP_OS_AT] = 0; // As Java's GZIPOutputStream writes it.
    return stream;
  },
  decompress(data, size) {
    if (size === 0 && data.length === 0) return data;
    const plain = attempt(() => zlib.gunzipSync(data, { maxOutputLength: Math.max(size, 1) }));
    check(plain.length === size, 'a gzip block has another length than its header says');
    return plain;
  },
};

/** Runs a decompressor of a library, whose errors all mean damaged input. */
function attempt(run: () => Uint8Array): Uint8Array {
  try {
    return run();
  } catch (cause) {
    throw new FormatFault('a block cannot be decompressed', { cause });
  }
}

function framed(name: CompressionName, chunks: ChunkCodec): Codec {
  return {
    name,
    id: COMPRESSION_IDS[name],
    compress: (data) => compressFramed(chunks, data),
    decompress: (data, size) =>
      name === 'ZSTD' && data.length >= 4 && u32(data, 0) === ZSTD_MAGIC
        ? exactly(chunks.decompress(data, size), size)
        : decompressFramed(chunks, data, size),
  };
}

function exactly(plain: Uint8Array, size: number): Uint8Array {
  check(plain.length === size, 'a compressed block has another length than its header says');
  return plain;
}

/** The data as a Hadoop block stream. */
export function compressFramed(chunks: ChunkCodec, data: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < data.length; at += RUN_LENGTH_MAX) {
    const run = data.subarray(at, Math.min(at + RUN_LENGTH_MAX, data.length));
    const chunk = chunks.compress(run);
    const lengths = new Uint8Array(8);
    putU32(lengths, 0, run.length);
    putU32(lengths, 4, chunk.length);
    parts.push(lengths, chunk);
  }
  return Buffer.concat(parts);
}

function decompressFramed(chunks: ChunkCodec, data: Uint8Array, size: number): Uint8Array {
  const plain = Buffer.allocUnsafeSlow(size);
  let at = 0;
  let filled = 0;
  while (at < data.length) {
    check(data.length - at >= 4, 'a compressed run is cut off');
    const runEnd = filled + u32(data, at);
    at += 4;
    check(runEnd <= size, 'a compressed run is longer than its block');
    while (filled < runEnd) {
      check(data.length - at >= 4, 'a compressed chunk is cut off');
      const length = u32(data, at);
      at += 4;
      check(length > 0 && length <= data.length - at, 'a compressed chunk reaches past its block');
      const chunk = chunks.decompress(data.subarray(at, at + length), runEnd - filled);
      check(
        chunk.length > 0 && chunk.length <= runEnd - filled,
        'a compressed chunk has a wrong length',
      );
      plain.set(chunk, filled);
      filled += chunk.length;
      at += length;
    }
  }
  check(filled === size, 'a compressed block has another length than its header says');
  return plain;
}

async function snappyChunks(): Promise<ChunkCodec> {
  const snappy = await import('snappyjs');
  return {
    compress: (data) => snappy.default.compress(asPlainArray(data)),
    decompress: decodeSnappy,
  };
}

/** snappyjs answers a Uint8Array only for one that is not a Buffer. */
function asPlainArray(data: Uint8Array): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.length);
}

/** The library puts the uncompressed length in front of its block: 4 bytes, little-endian. */
const LZ4_PREFIX_SIZE = 4;

async function lz4Chunks(): Promise<ChunkCodec> {
  const lz4 = await import('lz4-wasm-nodejs');
  return {
    compress: (data) => lz4.compress(data).subarray(LZ4_PREFIX_SIZE),
    decompress: decodeLz4,
  };
}

/** What Node 22.15 and later have in `node:zlib`; the types are those of Node 20. */
interface NodeZstd {
  zstdCompressSync(data: Uint8Array): Uint8Array;
  zstdDecompressSync(data: Uint8Array, options: { maxOutputLength: number }): Uint8Array;
}

function hasZstd(module: object): module is NodeZstd {
  return 'zstdCompressSync' in module && 'zstdDecompressSync' in module;
}

/** Level of the WebAssembly compressor: the fastest, 116 MB/s. */
const ZSTD_LEVEL = 1;

async function zstdChunks(): Promise<ChunkCodec> {
  const native: object = zlib;
  if (hasZstd(native)) {
    return {
      compress: (data) => native.zstdCompressSync(data),
      decompress: (data, sizeMax) =>
        attempt(() => native.zstdDecompressSync(data, { maxOutputLength: Math.max(sizeMax, 1) })),
    };
  }
  const zstd = await import('./zstd_wasm.ts');
  return {
    compress: (data) => zstd.zstdCompress(data, ZSTD_LEVEL),
    decompress: (data, sizeMax) => {
      check((zstdFrameAt(data, 0).size ?? 0) <= sizeMax, 'a zstd frame is longer than its block');
      return attempt(() => zstd.zstdDecompress(data, sizeMax));
    },
  };
}
