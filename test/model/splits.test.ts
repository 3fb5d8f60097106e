import { describe, expect, test } from 'vitest';
import { toStringBinary } from '../../src/cell/index.ts';
import { splitKeysOf } from '../../src/model/index.ts';

const splitsOf = (spec: Record<string, unknown>): string[] =>
  splitKeysOf({ name: 't', ...spec }).map(toStringBinary);

describe('split keys', () => {
  test.each([
    { name: 'none', spec: {}, want: [] },
    {
      name: 'given, sorted as bytes',
      spec: { SPLITS: ['b', Uint8Array.of(0xff), 'a'] },
      want: ['a', 'b', '\\xFF'],
    },
    {
      name: 'hex',
      spec: { NUMREGIONS: 4, SPLITALGO: 'HexStringSplit' },
      want: ['40000000', '80000000', 'c0000000'],
    },
    {
      name: 'hex by 3, whole steps',
      spec: {
        NUMREGIONS: '3',
        SPLITALGO: 'org.apache.hadoop.hbase.util.RegionSplitter$HexStringSplit',
      },
      want: ['55555555', 'aaaaaaaa'],
    },
    {
      name: 'decimal',
      spec: { numregions: 4, splitalgo: 'DecimalStringSplit' },
      want: ['25000000', '50000000', '75000000'],
    },
    {
      name: 'uniform',
      spec: { NUMREGIONS: 4, SPLITALGO: 'UniformSplit' },
      want: [
        '@\\x00\\x00\\x00\\x00\\x00\\x00\\x00',
        '\\x80\\x00\\x00\\x00\\x00\\x00\\x00\\x00',
        '\\xC0\\x00\\x00\\x00\\x00\\x00\\x00\\x00',
      ],
    },
    {
      name: 'uniform by 3',
      spec: { NUMREGIONS: 3, SPLITALGO: 'UniformSplit' },
      want: ['UUUUUUUU', '\\xAA'.repeat(8)],
    },
  ])('$name', ({ spec, want }) => {
    expect(splitsOf(spec)).toEqual(want);
  });

  test.each([
    { spec: { SPLITS: ['a', 'a'] }, want: /must be unique, found duplicate: a/ },
    { spec: { SPLITS: [''] }, want: /Empty split key/ },
    { spec: { SPLITS: ['x'.repeat(32768)] }, want: /Split key of 32768 bytes/ },
    { spec: { SPLITS: 'a' }, want: /SPLITS must be an array/ },
    { spec: { SPLITS: [1] }, want: /split key must be bytes or a string, not 1/ },
    { spec: { NUMREGIONS: 3 }, want: /Split algorithm must be specified/ },
    { spec: { SPLITALGO: 'HexStringSplit' }, want: /Number of regions must be specified/ },
    { spec: { NUMREGIONS: 1, SPLITALGO: 'HexStringSplit' }, want: /must be greater than 1/ },
    { spec: { NUMREGIONS: 'x', SPLITALGO: 'HexStringSplit' }, want: /must be greater than 1/ },
    { spec: { NUMREGIONS: 1e6, SPLITALGO: 'HexStringSplit' }, want: /NUMREGIONS 1000000 is above/ },
    { spec: { NUMREGIONS: 3, SPLITALGO: 'Best' }, want: /SPLITALGO 'Best' is unknown/ },
    { spec: { SPLITS: ['a'], NUMREGIONS: 3 }, want: /exclude each other/ },
    { spec: { SPLITS_FILE: 'x' }, want: /SPLITS_FILE of table t/ },
  ])('refuses: $want', ({ spec, want }) => {
    expect(() => splitsOf(spec)).toThrow(want);
  });
});
