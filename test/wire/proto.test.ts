/** Protobuf as we read and write it. */
import { describe, expect, test } from 'vitest';
import { MalformedMessageException, ProtoReader, ProtoWriter } from '../../src/wire/index.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function written(write: (writer: ProtoWriter) => void): Uint8Array {
  const writer = new ProtoWriter(1);
  write(writer);
  return writer.take();
}

describe('written', () => {
  // Bytes by the specification of protobuf's encoding.
  test.each<[string, (w: ProtoWriter) => void, string]>([
    ['a number', (w) => w.uint32(1, 150), '089601'],
    ['the largest uint32', (w) => w.uint32(1, 0xffffffff), '08ffffffff0f'],
    ['a negative int32', (w) => w.int32(1, -2), '08feffffffffffffffff01'],
    ['a number of 64 bits', (w) => w.uint64(2, 0x7fffffff, 0xffffffff), '10ffffffffffffffff7f'],
    ['a bigint below 0', (w) => w.bigint(1, -1n), '08ffffffffffffffffff01'],
    ['2^53', (w) => w.count(1, 2 ** 53), '088080808080808010'],
    ['truth', (w) => w.bool(3, true), '1801'],
    ['text', (w) => w.string(2, 'testing'), '120774657374696e67'],
    ['bytes', (w) => w.bytes(2, Buffer.of(1, 2)), '12020102'],
    ['a double', (w) => w.double(1, 1), '09000000000000f03f'],
    ['an empty message', (w) => w.empty(4), '2200'],
    ['a high field number', (w) => w.uint32(100, 1), 'a00601'],
  ])('%s', (_what, write, want) => {
    expect(hex(written(write))).toBe(want);
  });

  test('messages within messages, whatever their lengths', () => {
    for (const length of [0, 1, 127, 128, 16_383, 16_384, 3_000_000]) {
      const bytes = written((w) => {
        const outer = w.begin(1);
        const inner = w.begin(2);
        w.bytes(3, Buffer.alloc(length, 7));
        w.end(inner);
        w.uint32(4, 5);
        w.end(outer);
        w.uint32(6, 7);
      });
      const reader = new ProtoReader(bytes);
      reader.next();
      const outer = reader.message();
      outer.next();
      const inner = outer.message();
      inner.next();
      expect(inner.bytes()).toHaveLength(length);
      outer.next();
      expect([outer.field, outer.uint32(), outer.next()]).toEqual([4, 5, false]);
      reader.next();
      expect([reader.field, reader.uint32(), reader.next()]).toEqual([6, 7, false]);
    }
  });
});

describe('read', () => {
  test('numbers of each size come back', () => {
    for (let bit = 0n; bit < 64n; bit++) {
      for (const value of [1n << bit, (1n << bit) - 1n, (1n << 64n) - 1n]) {
        const reader = new ProtoReader(written((w) => w.bigint(1, value)));
        reader.next();
        expect(reader.bigUint64()).toBe(value);
      }
    }
  });

  test('fields that nobody knows are passed over', () => {
    const reader = new ProtoReader(
      Buffer.from('0801' + '110102030405060708' + '1a02aabb' + '2501020304' + '2807', 'hex'),
    );
    const fields: number[] = [];
    while (reader.next()) {
      fields.push(reader.field);
      reader.skip();
    }
    expect(fields).toEqual([1, 2, 3, 4, 5]);
  });

  test.each([
    ['a cut number', '08ff'],
    ['a number without end', '08ffffffffffffffffffffff01'],
    ['a length past the end', '0a05aa'],
    ['a group', '0b'],
    ['field 0', '00'],
    ['cut fixed bytes', '0901'],
  ])('%s is refused', (_what, bytes) => {
    const reader = new ProtoReader(Buffer.from(bytes, 'hex'));
    expect(() => {
      while (reader.next()) reader.skip();
    }).toThrow(MalformedMessageException);
  });

  test('another wire type than the field has is refused', () => {
    const reader = new ProtoReader(Buffer.from('0801', 'hex'));
    reader.next();
    expect(() => reader.bytes()).toThrow('field 1 has wire type 0, not 2');
  });
});
