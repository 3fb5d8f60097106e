import { expect, test } from 'vitest';
import { crc32c } from '../../src/cell/crc32c.ts';

const of = (bytes: Uint8Array): number => crc32c(bytes, 0, bytes.length);

/** The definition, a bit at a time. */
function slowCrc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

// RFC 3720 appendix B.4, and the check value of the CRC catalogue.
test.each([
  { name: 'nothing', bytes: Buffer.alloc(0), want: 0 },
  { name: '123456789', bytes: Buffer.from('123456789'), want: 0xe3069283 },
  { name: '32 zeros', bytes: Buffer.alloc(32), want: 0x8a9136aa },
  { name: '32 ones', bytes: Buffer.alloc(32, 0xff), want: 0x62a8ab43 },
  { name: '0 … 31', bytes: Buffer.from(Array.from({ length: 32 }, (_, i) => i)), want: 0x46dd794e },
])('$name', ({ bytes, want }) => {
  expect(of(bytes)).toBe(want);
});

test('every length and offset agrees with the definition, and so does every split', () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, i) => (i * 151 + 13) & 0xff);
  for (let at = 0; at < 9; at++) {
    for (let length = 0; length <= 80; length++) {
      expect(crc32c(bytes, at, length)).toBe(slowCrc32c(bytes.subarray(at, at + length)));
    }
  }
  const whole = of(bytes);
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(crc32c(bytes, cut, bytes.length - cut, crc32c(bytes, 0, cut))).toBe(whole);
  }
});
