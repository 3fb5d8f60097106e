import { describe, expect, test } from 'vitest';
import { toStringBinary } from '../../src/cell/index.ts';
import {
  ALL_TIME,
  READ_DEFAULT,
  normalizeRead,
  normalizeScan,
  type FamilyReadSpec,
  type ReadOptions,
  type ScanOptions,
} from '../../src/model/index.ts';

const familiesOf = (families: readonly FamilyReadSpec[] | null): unknown =>
  families?.map(({ family, qualifiers }) => [family, qualifiers?.map(toStringBinary) ?? null]);

describe('reads', () => {
  test('absent options read the newest of everything', () => {
    expect(normalizeRead(undefined)).toBe(READ_DEFAULT);
    expect(normalizeRead({})).toEqual(READ_DEFAULT);
  });

  test.each<{ name: string; options: ReadOptions; want: unknown }>([
    {
      name: 'sorted by bytes, once',
      options: { columns: ['f:b', 'f:a', 'e:z', 'f:b'] },
      want: [
        ['e', ['z']],
        ['f', ['a', 'b']],
      ],
    },
    {
      name: 'first colon ends the family',
      options: { columns: ['f:a:b'] },
      want: [['f', ['a:b']]],
    },
    { name: 'empty qualifier', options: { columns: ['f:'] }, want: [['f', ['']]] },
    { name: 'no colon: whole family', options: { columns: ['f', 'f:a'] }, want: [['f', null]] },
    {
      name: 'family beats column',
      options: { columns: ['f:a'], families: ['f'] },
      want: [['f', null]],
    },
    {
      name: 'binary',
      options: { columns: [['f', Uint8Array.of(0, 255)]] },
      want: [['f', ['\\x00\\xFF']]],
    },
    { name: 'empty lists: all', options: { columns: [], families: [] }, want: undefined },
  ])('$name', ({ options, want }) => {
    expect(familiesOf(normalizeRead(options).families)).toEqual(want);
  });

  test('time ranges in halves', () => {
    const spec = normalizeRead({
      families: ['f', 'g'],
      timeRange: { min: 5, max: 2n ** 40n },
      familyTimeRanges: { g: { min: 7 } },
    });
    const main = { minHigh: 0, minLow: 5, maxHigh: 256, maxLow: 0, isAllTime: false };
    expect(spec.timeRange).toEqual(main);
    expect(spec.families!.map((family) => family.timeRange)).toEqual([
      main,
      { minHigh: 0, minLow: 7, maxHigh: 0x7fffffff, maxLow: 0xffffffff, isAllTime: false },
    ]);
    expect(normalizeRead({ ts: 8 }).timeRange).toMatchObject({ minLow: 8, maxLow: 9 });
    expect(normalizeRead({ timeRange: {} }).timeRange).toBe(ALL_TIME);
  });

  test('as of', () => {
    expect(normalizeRead({ asOf: 77n }).asOf).toBe(77n);
    expect(normalizeRead({ asOf: 'now' }).asOf).toBeNull();
    expect(normalizeRead({ asOf: new Date(1000) }).asOf).toBe((1001n << 18n) - 1n);
  });

  test('versions', () => {
    expect(normalizeRead({ versions: 3 }).versions).toBe(3);
    expect(normalizeRead({ versions: Infinity }).versions).toBe(0x7fffffff);
  });
});

describe('scans', () => {
  const rows = (options: ScanOptions): [string, string] => {
    const { from, to } = normalizeScan(options);
    return [toStringBinary(from), toStringBinary(to)];
  };
  test.each<{ options: ScanOptions; want: [string, string] }>([
    { options: {}, want: ['', ''] },
    { options: { start: 'a', stop: 'c' }, want: ['a', 'c'] },
    {
      options: { start: 'a', startInclusive: false, stop: 'c', stopInclusive: true },
      want: ['a\\x00', 'c\\x00'],
    },
    { options: { startInclusive: false, stopInclusive: true }, want: ['', ''] },
    { options: { prefix: 'ab' }, want: ['ab', 'ac'] },
    { options: { prefix: Uint8Array.of(1, 0xff) }, want: ['\\x01\\xFF', '\\x02'] },
    { options: { prefix: Uint8Array.of(0xff) }, want: ['\\xFF', ''] },
    { options: { reversed: true, start: 'c', stop: 'a' }, want: ['a\\x00', 'c\\x00'] },
    {
      options: {
        reversed: true,
        start: 'c',
        startInclusive: false,
        stop: 'a',
        stopInclusive: true,
      },
      want: ['a', 'c'],
    },
    { options: { reversed: true }, want: ['', ''] },
    { options: { reversed: true, prefix: 'ab' }, want: ['ab', 'ac'] },
  ])('rows of $options', ({ options, want }) => {
    expect(rows(options)).toEqual(want);
  });

  test('rows are copied', () => {
    const start = Buffer.from('abc');
    const spec = normalizeScan({ start });
    start[0] = 0x7a;
    expect(toStringBinary(spec.from)).toBe('abc');
  });

  test('limits', () => {
    expect(normalizeScan({})).toMatchObject({
      limit: Infinity,
      batch: 0x7fffffff,
      raw: false,
      maxResultSizeBytes: 2097152,
    });
    expect(normalizeScan({ limit: 0, batch: 2, maxResultSizeBytes: 10 })).toMatchObject({
      limit: 0,
      batch: 2,
      maxResultSizeBytes: 10,
    });
  });
});

describe('refusals', () => {
  const scan = (options: unknown) => () => normalizeScan(options as ScanOptions);
  test.each([
    {
      run: scan({ colums: ['f'] }),
      want: /Unknown option 'colums' of a scan \(did you mean 'columns'\?\)/,
    },
    { run: () => normalizeRead({ start: 'a' } as never), want: /Unknown option 'start' of a read/ },
    {
      run: () => normalizeRead('f:a' as never),
      want: /Options of read must be an object, not 'f:a'/,
    },
    { run: scan({ columns: 'f:a' }), want: /columns must be an array/ },
    { run: scan({ columns: [3] }), want: /must be an array, not 3/ },
    { run: scan({ columns: [['f', 3]] }), want: /Qualifier of f must be bytes or a string, not 3/ },
    { run: scan({ columns: [':a'] }), want: /can not be empty/ },
    { run: scan({ families: ['a/b'] }), want: /Illegal character <47>/ },
    { run: scan({ versions: 0 }), want: /versions must be positive: 0/ },
    { run: scan({ versions: 1.5 }), want: /versions must be an integer, not 1.5/ },
    { run: scan({ versions: '3' }), want: /versions must be an integer, not '3'/ },
    { run: scan({ limit: -1 }), want: /limit is below 0: -1/ },
    { run: scan({ batch: 0 }), want: /batch is below 1/ },
    { run: scan({ storeLimit: 2 ** 31 }), want: /storeLimit is above/ },
    { run: scan({ ts: -1 }), want: /Timestamp cannot be negative. ts=-1/ },
    { run: scan({ ts: 2n ** 63n }), want: /ts=9223372036854775808 is above 2\^63-1/ },
    { run: scan({ ts: 2n ** 63n - 1n }), want: /invalid ts/ },
    { run: scan({ ts: 1.5 }), want: /ts must be a bigint or a safe integer, not 1.5/ },
    { run: scan({ ts: 1, timeRange: {} }), want: /exclude each other/ },
    {
      run: scan({ timeRange: { min: 5, max: 4 } }),
      want: /maxStamp is smaller than minStamp: timeRange is \[5, 4\)/,
    },
    { run: scan({ timeRange: { from: 5 } }), want: /Unknown option 'from' of timeRange/ },
    { run: scan({ familyTimeRanges: { f: { min: -1 } } }), want: /familyTimeRanges.f.min=-1/ },
    { run: scan({ isolation: 'SERIALIZABLE' }), want: /isolation must be/ },
    { run: scan({ asOf: 12 }), want: /asOf must be a TSO/ },
    { run: scan({ asOf: new Date(NaN) }), want: /asOf must be a TSO/ },
    { run: scan({ cacheBlocks: 'no' }), want: /cacheBlocks must be true or false/ },
    { run: scan({ prefix: 'a', start: 'a' }), want: /prefix and start or stop exclude each other/ },
    { run: scan({ start: 5 }), want: /start must be bytes or a string, not 5/ },
    { run: scan({ stop: 'x'.repeat(32768) }), want: /Row length 32768 is > 32767 \(option stop\)/ },
  ])('$want', ({ run, want }) => {
    expect(run).toThrow(
      expect.objectContaining({
        code: 'IllegalArgumentException',
        message: expect.stringMatching(want) as string,
      }),
    );
  });

  test('a raw scan takes families but no qualifiers', () => {
    expect(normalizeScan({ raw: true, families: ['f'] }).raw).toBe(true);
    expect(scan({ raw: true, columns: ['f:a'] })).toThrow(
      expect.objectContaining({
        code: 'DoNotRetryIOException',
        message: 'Cannot specify any column for a raw scan',
      }),
    );
  });
});
