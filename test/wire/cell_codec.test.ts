/** Cell blocks in each codec: what HBase's codecs write (protocol/rpc.md section 3), back and forth, and cut anywhere. */
import { describe, expect, test } from 'vitest';
import { keyValueSize, putU32, writeKeyValue } from '../../src/cell/index.ts';
import { MalformedMessageException, cellCodecOf, compressorOf } from '../../src/wire/index.ts';

const CODECS = [
  'KeyValueCodec',
  'KeyValueCodecWithTags',
  'CellCodec',
  'CellCodecWithTags',
  'MessageCodec',
];
const codecOf = (name: string) => cellCodecOf(`org.apache.hadoop.hbase.codec.${name}`)!;

function cell(row: string, qualifier: string, value: string): Buffer {
  const parts = {
    row: Buffer.from(row),
    family: Buffer.from('f'),
    qualifier: Buffer.from(qualifier),
    timestampHigh: 0,
    timestampLow: 5,
    type: 4,
    value: Buffer.from(value),
    tags: new Uint8Array(0),
  };
  const size = keyValueSize(row.length, 1, qualifier.length, value.length, 0);
  const buf = Buffer.alloc(4 + size);
  putU32(buf, 0, size);
  writeKeyValue(buf, 4, parts);
  return buf;
}

const cells = [
  cell('r', 'q', 'v'),
  cell('row-2', '', ''),
  cell('r3', 'qualifier', 'x'.repeat(300)),
];

test.each([
  ['CellCodec', '00000001720000000166000000017100000000000000050400000001760000000000000000'],
  [
    'CellCodecWithTags',
    '0000000172000000016600000001710000000000000005040000000176000000000000000000000000',
  ],
  ['MessageCodec', '100a01721201661a0171200528043201' + '76'],
])('%s', (name, want) => {
  const [block] = codecOf(name).encode([cells[0]!]);
  expect(Buffer.from(block!).toString('hex')).toBe(want);
});

test.each(CODECS)('%s there and back', (name) => {
  const codec = codecOf(name);
  const block = Buffer.concat(codec.encode(cells));
  expect(Buffer.from(codec.decode(block)).toString('hex')).toBe(
    Buffer.concat(cells).toString('hex'),
  );
});

test.each(CODECS.slice(2))('%s cut anywhere but between cells is refused', (name) => {
  const codec = codecOf(name);
  const block = Buffer.concat(codec.encode(cells));
  const ends = new Set(
    cells.map((_cell, i) => Buffer.concat(codec.encode(cells.slice(0, i + 1))).length),
  );
  for (let length = 1; length < block.length; length++) {
    if (ends.has(length)) continue;
    expect(() => codec.decode(block.subarray(0, length)), `${length}`).toThrow(
      MalformedMessageException,
    );
  }
});

test('unknown names, and none', () => {
  expect(cellCodecOf('')).toBeNull();
  expect(cellCodecOf('com.example.Codec')).toBeUndefined();
  expect(compressorOf('')).toBeNull();
  expect(compressorOf('com.example.Zip')).toBeUndefined();
});

const COMPRESSORS = [
  'io.compress.GzipCodec',
  'io.compress.DefaultCodec',
  'io.compress.SnappyCodec',
  'io.compress.Lz4Codec',
  'io.compress.ZStandardCodec',
  'hbase.io.compress.ReusableStreamGzipCodec',
  'hbase.io.compress.xerial.SnappyCodec',
  'hbase.io.compress.aircompressor.SnappyCodec',
  'hbase.io.compress.lz4.Lz4Codec',
  'hbase.io.compress.aircompressor.Lz4Codec',
  'hbase.io.compress.zstd.ZstdCodec',
  'hbase.io.compress.aircompressor.ZstdCodec',
];

test.each(COMPRESSORS)('%s there and back, bounded, and cut short', async (name) => {
  const compressor = (await compressorOf(`org.apache.hadoop.${name}`))!;
  const block = Buffer.alloc(500_000, 'abc');
  const packed = compressor.compress(block);
  expect(packed.length).toBeLessThan(30_000);
  expect(Buffer.from(compressor.decompress(packed, 500_000)).equals(block)).toBe(true);
  for (const sizeMax of [499_999, 200_000, 1]) {
    expect(() => compressor.decompress(packed, sizeMax)).toThrow(MalformedMessageException);
  }
  for (const length of [1, 3, 5, 9, 30, packed.length - 1]) {
    expect(() => compressor.decompress(packed.subarray(0, length), 500_000), `${length}`).toThrow(
      MalformedMessageException,
    );
  }
});

describe("Hadoop's block stream", () => {
  const u32 = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  /** Raw snappy: the length, then one literal. */
  const chunk = (text: string): Buffer =>
    Buffer.concat([Buffer.of(text.length, (text.length - 1) << 2), Buffer.from(text)]);
  const framed = (text: string): Buffer => Buffer.concat([u32(chunk(text).length), chunk(text)]);
  const snappy = async (bytes: Buffer, sizeMax = 100): Promise<string> => {
    const codec = (await compressorOf('org.apache.hadoop.io.compress.SnappyCodec'))!;
    return Buffer.from(codec.decompress(bytes, sizeMax)).toString();
  };

  test('is read in runs, each in chunks, up to its end or an empty run', async () => {
    const runs = Buffer.concat([u32(5), framed('ab'), framed('cde'), u32(3), framed('fgh')]);
    expect(await snappy(runs)).toBe('abcdefgh');
    expect(await snappy(Buffer.concat([runs, u32(0)]))).toBe('abcdefgh');
    expect(await snappy(u32(0))).toBe('');
    expect(await snappy(Buffer.alloc(0))).toBe('');
  });

  test.each([
    ['a run over the bound', Buffer.concat([u32(101), framed('ab')])],
    ['a chunk longer than its run', Buffer.concat([u32(1), framed('ab')])],
    ['an empty chunk', Buffer.concat([u32(2), u32(0), framed('ab')])],
    ['a chunk past the end', Buffer.concat([u32(2), u32(9), chunk('ab')])],
    [
      'a length that no chunk can have',
      Buffer.concat([u32(90), u32(5), Buffer.of(90, 0, 0x61, 0, 0)]),
    ],
  ])('%s is refused', async (_what, bytes) => {
    await expect(snappy(bytes)).rejects.toThrow(MalformedMessageException);
  });
});

test('zstd frames without content size, several in a row', async () => {
  const codec = (await compressorOf('org.apache.hadoop.io.compress.ZStandardCodec'))!;
  // RFC 8878: magic, descriptor 0 (no size, no checksum), window, then a last raw block.
  const frame = (text: string): Buffer =>
    Buffer.concat([
      Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0, (text.length << 3) | 1, 0, 0),
      Buffer.from(text),
    ]);
  const frames = Buffer.concat([frame('abc'), frame('de')]);
  expect(Buffer.from(codec.decompress(frames, 5)).toString()).toBe('abcde');
  expect(() => codec.decompress(frames, 4)).toThrow(MalformedMessageException);
  expect(() => codec.decompress(frames.subarray(0, -1), 5)).toThrow(MalformedMessageException);
});
