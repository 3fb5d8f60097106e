/** CRC-32 by the fastest code at hand: that of `@node-rs/crc32`, which is optional (10 GB/s), else zlib's (4 GB/s). */
import { crc32 as zlibCrc32 } from 'node:zlib';

/** The CRC-32 of `data` behind bytes of which `crc` is that; 0 at the start. */
export type Crc32 = (data: Uint8Array, crc: number) => number;

interface NativeCrc {
  crc32(input: Uint8Array, initialState?: number): number;
}

/** That the package cannot be loaded is an expected outcome and not an error. */
export async function loadCrc32(): Promise<Crc32> {
  const native = await import('@node-rs/crc32').then(
    (module: NativeCrc) => module,
    () => null,
  );
  return native === null ? zlibCrc32 : (data, crc) => native.crc32(data, crc);
}
