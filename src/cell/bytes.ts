/** Big-endian numbers in byte arrays, and unsigned byte order. Offsets are trusted: callers check lengths first. */

export function u16(buf: Uint8Array, at: number): number {
  return (buf[at]! << 8) | buf[at + 1]!;
}

export function u32(buf: Uint8Array, at: number): number {
  return ((buf[at]! << 24) | (buf[at + 1]! << 16) | (buf[at + 2]! << 8) | buf[at + 3]!) >>> 0;
}

export function putU16(buf: Uint8Array, at: number, value: number): void {
  buf[at] = value >>> 8;
  buf[at + 1] = value;
}

export function putU32(buf: Uint8Array, at: number, value: number): void {
  buf[at] = value >>> 24;
  buf[at + 1] = value >>> 16;
  buf[at + 2] = value >>> 8;
  buf[at + 3] = value;
}

/** An unsigned 64-bit number at `at` as a bigint. For the API and for control records, not for hot paths. */
export function u64(buf: Uint8Array, at: number): bigint {
  return (BigInt(u32(buf, at)) << 32n) | BigInt(u32(buf, at + 4));
}

export function putU64(buf: Uint8Array, at: number, value: bigint): void {
  putU32(buf, at, Number((value >> 32n) & 0xffffffffn));
  putU32(buf, at + 4, Number(value & 0xffffffffn));
}

/** Below this many bytes a plain loop is faster than `Buffer.compare`, whose call alone costs about 100 ns. */
const NATIVE_COMPARE_MIN = 48;

/** Orders two byte ranges as unsigned bytes, a prefix first. Negative, 0 or positive. */
export function compareRanges(
  a: Uint8Array,
  aAt: number,
  aLength: number,
  b: Uint8Array,
  bAt: number,
  bLength: number,
): number {
  const common = aLength < bLength ? aLength : bLength;
  if (common >= NATIVE_COMPARE_MIN) {
    const order = Buffer.compare(a.subarray(aAt, aAt + aLength), b.subarray(bAt, bAt + bLength));
    return order;
  }
  for (let i = 0; i < common; i++) {
    const difference = a[aAt + i]! - b[bAt + i]!;
    if (difference !== 0) return difference;
  }
  return aLength - bLength;
}

/** No bytes: one for all who need something to point at before there is anything. */
export const NO_BYTES: Uint8Array = new Uint8Array(0);

/** Orders two byte arrays as unsigned bytes, a prefix first. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return compareRanges(a, 0, a.length, b, 0, b.length);
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && compareBytes(a, b) === 0;
}

/** UTF-8 of a string; bytes are passed through, not copied. */
export function toBytes(value: Uint8Array | string): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
}

const HEX = '0123456789ABCDEF';

/**
 * HBase's readable form (`Bytes.toStringBinary`): printable ASCII as it is, every other byte and the backslash as `\xNN`.
 */
export function toStringBinary(buf: Uint8Array): string {
  let text = '';
  for (const byte of buf) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x5c;
    text += plain ? String.fromCharCode(byte) : `\\x${HEX[byte >> 4]}${HEX[byte & 15]}`;
  }
  return text;
}

/** Reverses `toStringBinary` (`Bytes.toBytesBinary`): `\xNN` becomes a byte, other text its UTF-8. */
export function fromStringBinary(text: string): Uint8Array {
  if (!text.includes('\\x')) return Buffer.from(text, 'utf8');
  const parts: Uint8Array[] = [];
  const pattern = /\\x([0-9A-Fa-f]{2})/g;
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    parts.push(Buffer.from(text.slice(from, match.index), 'utf8'));
    parts.push(Uint8Array.of(Number.parseInt(match[1]!, 16)));
    from = match.index + match[0].length;
  }
  parts.push(Buffer.from(text.slice(from), 'utf8'));
  return Buffer.concat(parts);
}

/** Adds 1 to the bytes read as a big-endian number, dropping trailing 0xff: the least key after every key with this prefix. Empty: no such key. */
export function afterPrefix(prefix: Uint8Array): Uint8Array {
  let length = prefix.length;
  while (length > 0 && prefix[length - 1] === 0xff) length--;
  const after = Uint8Array.from(prefix.subarray(0, length));
  if (length > 0) after[length - 1] = after[length - 1]! + 1;
  return after;
}
