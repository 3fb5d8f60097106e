/**
 * Compression of cell blocks: the block is the codec's stream over the cells, with nothing around it (protocol/rpc.md
 * section 3). Both directions of a connection use the same.
 *
 *     Java class, behind org.apache.hadoop.                                stream
 *     io.compress.GzipCodec, hbase.io.compress.ReusableStreamGzipCodec     gzip
 *     io.compress.DefaultCodec, io.compress.DeflateCodec                   zlib
 *     io.compress.SnappyCodec, hbase.io.compress.{xerial, aircompressor}.SnappyCodec
 *                                                                          Hadoop's block stream of raw snappy chunks
 *     io.compress.Lz4Codec, hbase.io.compress.{lz4, aircompressor}.Lz4Codec
 *                                                                          Hadoop's block stream of raw LZ4 blocks
 *     io.compress.ZStandardCodec                                           zstd frames
 *     hbase.io.compress.{zstd, aircompressor}.ZstdCodec                    Hadoop's block stream of zstd frames
 */
import zlib from 'node:zlib';
import { loadBlockStream, loadZstdFrames } from '../hfile/index.ts';
import type { StreamCodec } from '../hfile/index.ts';
import { MalformedMessageException } from './errors.ts';

export interface Compressor {
  compress(block: Uint8Array): Uint8Array;
  /** Gives at most `sizeMax` bytes. Throws MalformedMessageException. */
  decompress(block: Uint8Array, sizeMax: number): Uint8Array;
}

const PACKAGE = 'org.apache.hadoop.';

/**
 * The compressor of a Java class, or a promise of one whose package must be loaded; null for an empty name, undefined for one
 * that is not known.
 */
export function compressorOf(
  className: string,
): Compressor | Promise<Compressor> | null | undefined {
  if (className === '') return null;
  if (!className.startsWith(PACKAGE)) return undefined;
  return COMPRESSORS.get(className.slice(PACKAGE.length))?.();
}

const GZIP: Compressor = checked({
  compress: (block) => zlib.gzipSync(block, { level: zlib.constants.Z_BEST_SPEED }),
  decompress: (block, sizeMax) => zlib.gunzipSync(block, { maxOutputLength: sizeMax }),
});

const ZLIB: Compressor = checked({
  compress: (block) => zlib.deflateSync(block, { level: zlib.constants.Z_BEST_SPEED }),
  decompress: (block, sizeMax) => zlib.inflateSync(block, { maxOutputLength: sizeMax }),
});

type Load = () => Compressor | Promise<Compressor>;

const snappy: Load = () => loadBlockStream('SNAPPY').then(checked);
const lz4: Load = () => loadBlockStream('LZ4').then(checked);
const zstdBlocks: Load = () => loadBlockStream('ZSTD').then(checked);
const zstdFrames: Load = () => loadZstdFrames().then(checked);

const COMPRESSORS: ReadonlyMap<string, Load> = new Map<string, Load>([
  ['io.compress.GzipCodec', () => GZIP],
  ['hbase.io.compress.ReusableStreamGzipCodec', () => GZIP],
  ['io.compress.DefaultCodec', () => ZLIB],
  ['io.compress.DeflateCodec', () => ZLIB],
  ['io.compress.SnappyCodec', snappy],
  ['hbase.io.compress.xerial.SnappyCodec', snappy],
  ['hbase.io.compress.aircompressor.SnappyCodec', snappy],
  ['io.compress.Lz4Codec', lz4],
  ['hbase.io.compress.lz4.Lz4Codec', lz4],
  ['hbase.io.compress.aircompressor.Lz4Codec', lz4],
  ['io.compress.ZStandardCodec', zstdFrames],
  ['hbase.io.compress.zstd.ZstdCodec', zstdBlocks],
  ['hbase.io.compress.aircompressor.ZstdCodec', zstdBlocks],
]);

/** Whatever a library says of a block means that the block is damaged, or too large. */
function checked(codec: StreamCodec): Compressor {
  return {
    compress: (block) => codec.compress(block),
    decompress: (block, sizeMax) => {
      try {
        return codec.decompress(block, sizeMax);
      } catch (error) {
        throw new MalformedMessageException('Malformed cell block: it cannot be decompressed', {
          cause: error,
        });
      }
    },
  };
}
