/**
 * The hash functions of HBase's Bloom filters (HBase: JenkinsHash, MurmurHash, MurmurHash3): 32 bits, signed results.
 * Words are little-endian. Murmur's tail bytes are sign-extended, as Java's bytes are.
 */

/** On disk: the hash type of a Bloom filter. */
export const HASH_JENKINS = 0;
export const HASH_MURMUR = 1;
export const HASH_MURMUR3 = 2;

function word(buf: Uint8Array, at: number): number {
  return buf[at]! | (buf[at + 1]! << 8) | (buf[at + 2]! << 16) | (buf[at + 3]! << 24);
}

function signed(byte: number): number {
  return (byte << 24) >> 24;
}

/** Hash of `length` bytes at `at` with the function of a hash type; the type is trusted. */
export function hashBytes(
  type: number,
  buf: Uint8Array,
  at: number,
  length: number,
  seed: number,
): number {
  if (type === HASH_MURMUR) return murmur(buf, at, length, seed);
  return type === HASH_JENKINS ? jenkins(buf, at, length, seed) : murmur3(buf, at, length, seed);
}

/** MurmurHash2. */
export function murmur(buf: Uint8Array, at: number, length: number, seed: number): number {
  const m = 0x5bd1e995;
  let h = seed ^ length;
  const wordsEnd = at + (length & ~3);
  let i = at;
  for (; i < wordsEnd; i += 4) {
    let k = Math.imul(word(buf, i), m);
    k = Math.imul(k ^ (k >>> 24), m);
    h = Math.imul(h, m) ^ k;
  }
  const rest = length & 3;
  if (rest !== 0) {
    if (rest === 3) h ^= signed(buf[i + 2]!) << 16;
    if (rest >= 2) h ^= signed(buf[i + 1]!) << 8;
    h = Math.imul(h ^ signed(buf[i]!), m);
  }
  h = Math.imul(h ^ (h >>> 13), m);
  return h ^ (h >>> 15);
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

/** MurmurHash3, x86, 32 bits. */
export function murmur3(buf: Uint8Array, at: number, length: number, seed: number): number {
  const c1 = 0xcc9e2d51;
  const c2 = 0x1b873593;
  let h = seed;
  const wordsEnd = at + (length & ~3);
  let i = at;
  for (; i < wordsEnd; i += 4) {
    const k = Math.imul(rotate(Math.imul(word(buf, i), c1), 15), c2);
    h = (Math.imul(rotate(h ^ k, 13), 5) + 0xe6546b64) | 0;
  }
  const rest = length & 3;
  if (rest !== 0) {
    let k = buf[i]!;
    if (rest >= 2) k |= buf[i + 1]! << 8;
    if (rest === 3) k |= buf[i + 2]! << 16;
    h ^= Math.imul(rotate(Math.imul(k, c1), 15), c2);
  }
  h ^= length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** Bob Jenkins' lookup3, `hashlittle`. */
export function jenkins(buf: Uint8Array, at: number, length: number, seed: number): number {
  let a = (0xdeadbeef + length + seed) | 0;
  let b = a;
  let c = a;
  let i = at;
  let rest = length;
  for (; rest > 12; rest -= 12, i += 12) {
    a = (a + word(buf, i)) | 0;
    b = (b + word(buf, i + 4)) | 0;
    c = (c + word(buf, i + 8)) | 0;
    a = ((a - c) | 0) ^ rotate(c, 4);
    c = (c + b) | 0;
    b = ((b - a) | 0) ^ rotate(a, 6);
    a = (a + c) | 0;
    c = ((c - b) | 0) ^ rotate(b, 8);
    b = (b + a) | 0;
    a = ((a - c) | 0) ^ rotate(c, 16);
    c = (c + b) | 0;
    b = ((b - a) | 0) ^ rotate(a, 19);
    a = (a + c) | 0;
    c = ((c - b) | 0) ^ rotate(b, 4);
    b = (b + a) | 0;
  }
  if (rest === 0) return c;
  a = (a + partial(buf, i, rest)) | 0;
  b = (b + partial(buf, i + 4, rest - 4)) | 0;
  c = (c + partial(buf, i + 8, rest - 8)) | 0;
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  return ((c ^ b) - rotate(b, 24)) | 0;
}

/** The first `length` (perhaps none, at most 4) bytes as a little-endian word. */
function partial(buf: Uint8Array, at: number, length: number): number {
  let value = 0;
  for (let i = Math.min(length, 4) - 1; i >= 0; i--) value = (value << 8) | buf[at + i]!;
  return value;
}
