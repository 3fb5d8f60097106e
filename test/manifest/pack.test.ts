import fc from 'fast-check';
import msgpack from 'msgpack-lite';
import { expect, test } from 'vitest';
import { Packer } from '../../src/manifest/pack.ts';

const leaf = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.nat(),
  fc.maxSafeNat(),
  fc.constantFrom(0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, -1, -32),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);
const value = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('node'), { maxLength: 20 })),
})).node;

test('reads what msgpack-lite writes, as msgpack-lite reads it', () => {
  const packer = new Packer();
  fc.assert(
    fc.property(value, (given) => {
      const payload = packer.encode(given);
      expect(packer.decode(payload)).toEqual(given);
      expect(packer.decode(payload)).toEqual(msgpack.decode(payload));
    }),
  );
});

test('long texts, bytes and lists', () => {
  const packer = new Packer();
  const given = ['x'.repeat(70_000), Buffer.alloc(70_000, 1), new Array<number>(70_000).fill(300)];
  expect(packer.decode(packer.encode(given))).toEqual(given);
});

test('every prefix, bytes behind, deep nesting and random bytes only throw errors', () => {
  const packer = new Packer();
  const payload = packer.encode([[1, 'abc', Buffer.from('xyz'), 2 ** 40, null], 70_000, 300]);
  for (let size = 0; size < payload.length; size++) {
    expect(() => packer.decode(payload.subarray(0, size))).toThrow('cut short');
  }
  expect(() => packer.decode(Buffer.concat([payload, Buffer.alloc(1)]))).toThrow('behind');
  expect(() => packer.decode(Buffer.alloc(20_000, 0x91))).toThrow('too deep');
  expect(() => packer.decode(Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff]))).toThrow('cut short');
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        packer.decode(bytes);
      } catch (error) {
        expect((error as Error).constructor).toBe(Error);
      }
    }),
  );
});
