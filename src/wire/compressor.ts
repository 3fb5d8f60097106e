/**
 * Compression of cell blocks: the block is the codec's stream over the cells, with nothing around it (protocol/rpc.md
 * section 3). Both directions of a connection use the same. Which classes are known: hfile/hadoop_codecs.ts.
 */
import zlib from 'node:zlib';
import { hadoopStreamOf, loadHadoopCodec } from '../hfile/index.ts';
import type { StreamCodec } from '../hfile/index.ts';
import { MalformedMessageException } from './errors.ts';

export interface Compressor {
  compress(block: Uint8Array): Uint8Array;
  /** Gives at most `sizeMax` bytes. Throws MalformedMessageException. */
  decompress(block: Uint8Array, sizeMax: number): Uint8Array;
}

/**
 * The compressor of a Java class, or a promise of one whose package must be loaded; null for an empty name, undefined for one
 * that is not known.
 */
export function compressorOf(
  className: string,
): Compressor | Promise<Compressor> | null | undefined {
  if (className === '') return null;
  const stream = hadoopStreamOf(className);
  if (stream === null) return undefined;
  const codec = loadHadoopCodec(stream, zlib.constants.Z_BEST_SPEED);
  return codec instanceof Promise ? codec.then(checked) : checked(codec);
}

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
