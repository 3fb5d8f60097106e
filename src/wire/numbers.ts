import { u64 } from '../cell/index.ts';

/** A signed big-endian 64-bit number. */
export function i64At(buf: Uint8Array, at: number): bigint {
  return BigInt.asIntN(64, u64(buf, at));
}
