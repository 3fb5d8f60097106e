/** Filters as HBase's client writes them (test/golden/wire/filters.tsv: name, text, bytes) and what they are read as. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { describeFilter, filterMaker } from '../../src/filter/index.ts';
import { StoreException } from '../../src/io/index.ts';
import { ProtoReader, readFilter } from '../../src/wire/index.ts';

const GOLDEN = path.resolve(import.meta.dirname, '../golden/wire/filters.tsv');
const filters = readFileSync(GOLDEN, 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split('\t') as [name: string, text: string, hex: string]);

test.each(filters)('%s', (name, text, hex) => {
  const spec = readFilter(new ProtoReader(Buffer.from(hex, 'hex')), 0);
  expect(filterMaker(spec)).toBeTypeOf('function');
  expect(describeFilter(spec)).toBe(name === 'Fuzzy' ? 'FuzzyRowFilter' : text);
});

test('a fuzzy filter keeps its pattern and the coding of its mask', () => {
  const [, , hex] = filters.find(([name]) => name === 'Fuzzy')!;
  expect(readFilter(new ProtoReader(Buffer.from(hex, 'hex')), 0)).toEqual({
    type: 'FuzzyRowFilter',
    keys: [
      {
        pattern: Uint8Array.from(Buffer.from('a\0\0b')),
        mask: Uint8Array.of(0xff, 2, 2, 0xff),
      },
    ],
    maskVersion: 2,
  });
});

describe('from hostile hands', () => {
  test('every truncation is read as something, or refused by name', () => {
    for (const [name, , hex] of filters) {
      const bytes = Buffer.from(hex, 'hex');
      for (let length = 0; length < bytes.length; length++) {
        try {
          filterMaker(readFilter(new ProtoReader(bytes, 0, length), 0));
        } catch (error) {
          expect(error, `${name} cut at ${length}`).toBeInstanceOf(StoreException);
        }
      }
    }
  });

  test('filters within filters without end are refused', () => {
    const className = Buffer.from('org.apache.hadoop.hbase.filter.SkipFilter');
    const varint = (value: number): Buffer =>
      value < 0x80 ? Buffer.of(value) : Buffer.of((value & 0x7f) | 0x80, value >> 7);
    let filter = Buffer.alloc(0);
    for (let depth = 0; depth < 110; depth++) {
      const inner = Buffer.concat([Buffer.of(0x0a), varint(filter.length), filter]);
      const name = Buffer.concat([Buffer.of(0x0a), varint(className.length), className]);
      filter = Buffer.concat([name, Buffer.of(0x12), varint(inner.length), inner]);
    }
    expect(() => readFilter(new ProtoReader(filter), 0)).toThrow('nested deeper than 100');
  });

  test('an unknown class is named', () => {
    const bytes = Buffer.from('0a0b636f6d2e65782e4d696e65', 'hex');
    expect(() => readFilter(new ProtoReader(bytes), 0)).toThrow(
      'java.lang.ClassNotFoundException: com.ex.Mine',
    );
  });
});
