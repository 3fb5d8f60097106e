import { expect, test } from 'vitest';
import {
  encodedRegionName,
  DataLayout,
  regionName,
  splitTableName,
} from '../../src/manifest/index.ts';

// Values of HBase 2.6: shared facts on region names.
test.each([
  { table: 't', start: '', id: 1700000000000, want: '3e7c693fad145c1b69daad40c4b268c6' },
  { table: 't', start: 'm', id: 1700000000000, want: '60cf3460762c7213ab519b0384f99485' },
  { table: 'ns:tbl', start: 'k\x00x', id: 1700000000123, want: 'c3c50b4f3171dd6090c5f81f19a0fcc9' },
])('region $table,$start,$id is $want', ({ table, start, id, want }) => {
  const parts = { table, startKey: Buffer.from(start, 'latin1'), regionIdMs: id };
  expect(encodedRegionName(parts)).toBe(want);
  expect(Buffer.from(regionName(parts)).toString('latin1')).toBe(
    `${table},${start},${id}.${want}.`,
  );
});

test('folders of a store are where HBase has them', () => {
  const layout = new DataLayout('/s');
  expect(layout.family('ns:t', 'abc', 'f')).toBe('/s/data/ns/t/abc/f');
  expect(layout.family('t', 'abc', 'f')).toBe('/s/data/default/t/abc/f');
  expect(layout.relative(layout.region('t', 'abc'))).toBe('data/default/t/abc');
  expect(layout.resolve('data/x')).toBe('/s/data/x');
  expect(splitTableName('ns:t')).toEqual({ namespace: 'ns', qualifier: 't' });
});
