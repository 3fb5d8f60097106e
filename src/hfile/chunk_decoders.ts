/**
 * Decoders of raw snappy and raw LZ4 chunks that no input can hang or make write outside its output: the libraries
 * we compress with do not promise that (one moves backwards on a negative literal length, the other traps).
 *
 * Snappy (format_description.txt of google/snappy): varint length · elements, the low two bits of the tag say what:
 *     0  literal: 6 bits length-1, or 60…63 = 1…4 length bytes follow, little-endian
 *     1  copy: 3 bits length-4, 3 bits offset high, 1 byte offset low
 *     2  copy: 6 bits length-1, 2 bytes offset    3  the same with 4 bytes offset
 * LZ4 block (lz4_Block_format.md): sequences of token (4 bits literal length, 4 bits match length - 4; 15 = more bytes
 * follow, 255 continues) · literals · u16 offset, little-endian. The last sequence has literals only.
 */
import { check } from './fault.ts';

/** Output of a copy whose ranges may overlap: the bytes repeat. */
function copyWithin(out: Uint8Array, at: number, offset: number, length: number): void {
  if (offset >= length && length >= 32) {
    out.copyWithin(at, at - offset, at - offset + length);
    return;
  }
  for (let i = 0; i < length; i++) out[at + i] = out[at - offset + i]!;
}

function copyLiteral(
  input: Uint8Array,
  at: number,
  out: Uint8Array,
  outAt: number,
  length: number,
): void {
  if (length >= 64) {
    out.set(input.subarray(at, at + length), outAt);
    return;
  }
  for (let i = 0; i < length; i++) out[outAt + i] = input[at + i]!;
}

/** The bytes of a raw snappy chunk, at most `sizeMax`. Throws FormatFault. */
export function decodeSnappy(input: Uint8Array, sizeMax: number): Uint8Array {
  let at = 0;
  let size = 0;
  for (let shift = 0; ; shift += 7) {
    check(at < input.length && shift < 35, 'a snappy chunk has no length');
    const byte = input[at++]!;
    size += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  check(size <= sizeMax, 'a snappy chunk is longer than its block');
  const out = new Uint8Array(size);
  let filled = 0;
  while (at < input.length) {
    const tag = input[at++]!;
    const kind = tag & 3;
    if (kind === 0) {
      let length = (tag >> 2) + 1;
      if (length > 60) {
        const bytes = length - 60;
        check(at + bytes <= input.length, 'a snappy literal is cut off');
        length = littleEndian(input, at, bytes) + 1;
        at += bytes;
      }
      check(length <= input.length - at && length <= size - filled, 'a snappy literal is too long');
      copyLiteral(input, at, out, filled, length);
      at += length;
      filled += length;
      continue;
    }
    const bytes = kind === 3 ? 4 : kind;
    check(at + bytes <= input.length, 'a snappy copy is cut off');
    const length = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const offset = littleEndian(input, at, bytes) + (kind === 1 ? (tag >> 5) << 8 : 0);
    at += bytes;
    check(
      offset > 0 && offset <= filled && length <= size - filled,
      'a snappy copy is out of range',
    );
    copyWithin(out, filled, offset, length);
    filled += length;
  }
  check(filled === size, 'a snappy chunk ends early');
  return out;
}

function littleEndian(input: Uint8Array, at: number, bytes: number): number {
  let value = 0;
  for (let i = bytes - 1; i >= 0; i--) value = value * 256 + input[at + i]!;
  return value;
}

/** The bytes of a raw LZ4 block, at most `sizeMax`. Throws FormatFault. */
export function decodeLz4(input: Uint8Array, sizeMax: number): Uint8Array {
  const out = new Uint8Array(sizeMax);
  let at = 0;
  let filled = 0;
  while (at < input.length) {
    const token = input[at++]!;
    let literal = token >> 4;
    if (literal === 15) {
      for (let byte = 255; byte === 255; literal += byte) {
        check(at < input.length, 'an LZ4 literal is cut off');
        byte = input[at++]!;
      }
    }
    check(
      literal <= input.length - at && literal <= sizeMax - filled,
      'an LZ4 literal is too long',
    );
    copyLiteral(input, at, out, filled, literal);
    at += literal;
    filled += literal;
    if (at === input.length) break;
    check(at + 2 <= input.length, 'an LZ4 match is cut off');
    const offset = input[at]! | (input[at + 1]! << 8);
    at += 2;
    let match = (token & 15) + 4;
    if ((token & 15) === 15) {
      for (let byte = 255; byte === 255; match += byte) {
        check(at < input.length, 'an LZ4 match is cut off');
        byte = input[at++]!;
      }
    }
    check(
      offset > 0 && offset <= filled && match <= sizeMax - filled,
      'an LZ4 match is out of range',
    );
    copyWithin(out, filled, offset, match);
    filled += match;
  }
  return out.subarray(0, filled);
}
