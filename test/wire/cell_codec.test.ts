/** Cell blocks in each codec: what HBase's codecs write (protocol/rpc.md section 3), back and forth, and cut anywhere. */
import { expect, test } from 'vitest';
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

test.each(['GzipCodec', 'DefaultCodec'])('%s there and back, and bounded', (name) => {
  const compressor = compressorOf(`org.apache.hadoop.io.compress.${name}`)!;
  const block = Buffer.alloc(100_000, 'abc');
  const packed = compressor.compress(block);
  expect(packed.length).toBeLessThan(2000);
  expect(Buffer.from(compressor.decompress(packed, 100_000)).equals(block)).toBe(true);
  expect(() => compressor.decompress(packed, 99_999)).toThrow(MalformedMessageException);
  expect(() => compressor.decompress(packed.subarray(0, 50), 100_000)).toThrow(
    MalformedMessageException,
  );
});
