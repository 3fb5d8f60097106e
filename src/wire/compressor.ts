/**
 * Compression of cell blocks: the block is the codec's stream over the cells, with nothing around it (protocol/rpc.md
 * section 3). Both directions of a connection use the same.
 */
import zlib from 'node:zlib';
import { MalformedMessageException } from './errors.ts';

export interface Compressor {
  compress(block: Uint8Array): Uint8Array;
  /** Gives at most `sizeMax` bytes. Throws MalformedMessageException. */
  decompress(block: Uint8Array, sizeMax: number): Uint8Array;
}

const PACKAGE = 'org.apache.hadoop.io.compress.';

/** The compressor of a Java class; null for an empty name, undefined for one that is not known. */
export function compressorOf(className: string): Compressor | null | undefined {
  if (className === '') return null;
  return className.startsWith(PACKAGE)
    ? COMPRESSORS.get(className.slice(PACKAGE.length))
    : undefined;
}

const GZIP: Compressor = {
  compress: (block) => zlib.gzipSync(block, { level: zlib.constants.Z_BEST_SPEED }),
  decompress: (block, sizeMax) =>
    unpacked(() => zlib.gunzipSync(block, { maxOutputLength: sizeMax })),
};

const ZLIB: Compressor = {
  compress: (block) => zlib.deflateSync(block, { level: zlib.constants.Z_BEST_SPEED }),
  decompress: (block, sizeMax) =>
    unpacked(() => zlib.inflateSync(block, { maxOutputLength: sizeMax })),
};

const COMPRESSORS: ReadonlyMap<string, Compressor> = new Map([
  ['GzipCodec', GZIP],
  ['DefaultCodec', ZLIB],
  ['DeflateCodec', ZLIB],
]);

function unpacked(inflate: () => Uint8Array): Uint8Array {
  try {
    return inflate();
  } catch (error) {
    throw new MalformedMessageException('Malformed cell block: it cannot be decompressed', {
      cause: error,
    });
  }
}
