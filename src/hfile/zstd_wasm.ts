/**
 * The WebAssembly zstd, started when this module is imported and so once a process: starting it again would swap its memory
 * beneath calls under way.
 */
import { compress, decompress, init } from '@bokuweb/zstd-wasm';

await init();

/** One zstd frame of `data`. */
export function zstdCompress(data: Uint8Array, level: number): Uint8Array {
  return compress(data, level);
}

/** The content of zstd frames; at most `sizeMax` bytes if the frame does not state its size. Throws on damage. */
export function zstdDecompress(data: Uint8Array, sizeMax: number): Uint8Array {
  return decompress(data, { defaultHeapSize: sizeMax });
}
