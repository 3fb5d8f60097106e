/**
 * The compression codecs of Hadoop and HBase by the names of their Java classes, which cell blocks and SequenceFiles name. The
 * same stream has several: Hadoop's own comes first.
 *
 *     class, behind org.apache.hadoop.                                        stream
 *     io.compress.{DefaultCodec, DeflateCodec}                                zlib
 *     io.compress.GzipCodec, hbase.io.compress.ReusableStreamGzipCodec        gzip
 *     io.compress.SnappyCodec, hbase.io.compress.{xerial, aircompressor}.SnappyCodec
 *                                                                             block stream of raw snappy chunks (codec_stream.ts)
 *     io.compress.Lz4Codec, hbase.io.compress.{lz4, aircompressor}.Lz4Codec   block stream of raw LZ4 blocks
 *     io.compress.ZStandardCodec                                              zstd frames
 *     hbase.io.compress.{zstd, aircompressor}.ZstdCodec                       block stream of zstd frames
 */
import zlib from 'node:zlib';
import { loadBlockStream, loadZstdFrames } from './codec_stream.ts';
import type { StreamCodec } from './codec_stream.ts';

export type HadoopStream = 'deflate' | 'gz' | 'snappy' | 'lz4' | 'zstd' | 'zstd blocks';

const PACKAGE = 'org.apache.hadoop.';

const STREAMS: ReadonlyMap<string, HadoopStream> = new Map<string, HadoopStream>([
  ['io.compress.DefaultCodec', 'deflate'],
  ['io.compress.DeflateCodec', 'deflate'],
  ['io.compress.GzipCodec', 'gz'],
  ['hbase.io.compress.ReusableStreamGzipCodec', 'gz'],
  ['io.compress.SnappyCodec', 'snappy'],
  ['hbase.io.compress.xerial.SnappyCodec', 'snappy'],
  ['hbase.io.compress.aircompressor.SnappyCodec', 'snappy'],
  ['io.compress.Lz4Codec', 'lz4'],
  ['hbase.io.compress.lz4.Lz4Codec', 'lz4'],
  ['hbase.io.compress.aircompressor.Lz4Codec', 'lz4'],
  ['io.compress.ZStandardCodec', 'zstd'],
  ['hbase.io.compress.zstd.ZstdCodec', 'zstd blocks'],
  ['hbase.io.compress.aircompressor.ZstdCodec', 'zstd blocks'],
]);

/** The stream of a Java class; null for a class that is not known. */
export function hadoopStreamOf(className: string): HadoopStream | null {
  if (!className.startsWith(PACKAGE)) return null;
  return STREAMS.get(className.slice(PACKAGE.length)) ?? null;
}

/** The class that Hadoop itself has for a stream; null for a word that is none. */
export function hadoopClassOf(stream: string): string | null {
  for (const [name, known] of STREAMS) if (known === stream) return `${PACKAGE}${name}`;
  return null;
}

/** The codec of a stream, or a promise of one whose package must be loaded. `level` is zlib's. */
export function loadHadoopCodec(
  stream: HadoopStream,
  level: number = zlib.constants.Z_DEFAULT_COMPRESSION,
): StreamCodec | Promise<StreamCodec> {
  switch (stream) {
    case 'deflate':
      return {
        compress: (data) => zlib.deflateSync(data, { level }),
        decompress: (data, maxOutputLength) => zlib.inflateSync(data, { maxOutputLength }),
      };
    case 'gz':
      return {
        compress: (data) => zlib.gzipSync(data, { level }),
        decompress: (data, maxOutputLength) => zlib.gunzipSync(data, { maxOutputLength }),
      };
    case 'snappy':
      return loadBlockStream('SNAPPY');
    case 'lz4':
      return loadBlockStream('LZ4');
    case 'zstd':
      return loadZstdFrames();
    case 'zstd blocks':
      return loadBlockStream('ZSTD');
  }
}
