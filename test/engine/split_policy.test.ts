/** When regions are split by themselves, and where; what the normalizer makes of sizes. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import { normalizationOf } from '../../src/engine/normalizer.ts';
import { splitPolicyOf } from '../../src/engine/split_policy.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import { DoNotRetryIOException, parseTable } from '../../src/model/index.ts';
import type { TableSpec } from '../../src/model/index.ts';

const MIB = 1024 * 1024;
const SIZES = { maxFileSizeBytes: 10 * 1024 * MIB, memstoreFlushSizeBytes: 128 * MIB };
const bytes = (text: string): Uint8Array => Buffer.from(text);

const policyOf = (spec: Partial<TableSpec>): ReturnType<typeof splitPolicyOf> =>
  splitPolicyOf(parseTable({ name: 't', families: ['f'], ...spec }), SIZES);

describe('policies', () => {
  // HBase: SteppingSplitPolicy, IncreasingToUpperBoundRegionSplitPolicy, ConstantSizeRegionSplitPolicy.
  test.each([
    ['SteppingSplitPolicy', [256, 10_240, 10_240, 10_240]],
    [
      'org.apache.hadoop.hbase.regionserver.ConstantSizeRegionSplitPolicy',
      [10_240, 10_240, 10_240, 10_240],
    ],
    ['IncreasingToUpperBoundRegionSplitPolicy', [256, 2048, 10_240, 10_240]],
  ])('%s', (SPLIT_POLICY, sizes) => {
    const policy = policyOf({ SPLIT_POLICY });
    expect([1, 2, 4, 101].map((count) => policy.sizeMax(count) / MIB)).toEqual(sizes);
  });

  test('the default is stepping; Disabled never splits by itself; unknown ones are refused', () => {
    expect(policyOf({}).name).toBe('SteppingSplitPolicy');
    expect(policyOf({ SPLIT_POLICY: 'DisabledRegionSplitPolicy' }).isDisabled).toBe(true);
    expect(() => policyOf({ SPLIT_POLICY: 'NoSuchPolicy' })).toThrow(DoNotRetryIOException);
  });

  test('prefix policies cut the row', () => {
    const byLength = policyOf({
      SPLIT_POLICY: 'KeyPrefixRegionSplitPolicy',
      CONFIGURATION: { 'KeyPrefixRegionSplitPolicy.prefix_length': '3' },
    });
    expect(byLength.splitRow(bytes('abcd'))).toEqual(bytes('abc'));
    expect(byLength.splitRow(bytes('ab'))).toEqual(bytes('ab'));
    const byDelimiter = policyOf({
      SPLIT_POLICY: 'DelimitedKeyPrefixRegionSplitPolicy',
      CONFIGURATION: { 'DelimitedKeyPrefixRegionSplitPolicy.delimiter': '|' },
    });
    expect(byDelimiter.splitRow(bytes('user1|x|y'))).toEqual(bytes('user1'));
    expect(byDelimiter.splitRow(bytes('plain'))).toEqual(bytes('plain'));
  });
});

describe('the normalizer', () => {
  const all = { canSplit: true, canMerge: true, targetCount: 0, targetSizeBytes: 0 };
  test.each([
    ['splits what is twice the average', [10, 10, 100, 10], all, { merges: [[0, 1]], splits: [2] }],
    [
      'merges neighbours that fit',
      [1, 1, 1, 30, 1, 1],
      all,
      {
        merges: [
          [0, 2],
          [4, 5],
        ],
        splits: [3],
      },
    ],
    ['leaves an even table', [5, 5, 5], all, { merges: [], splits: [] }],
    [
      'does not merge two regions',
      [1, 1],
      { ...all, targetSizeBytes: 10 },
      { merges: [], splits: [] },
    ],
    [
      'keeps to the switches',
      [1, 1, 90, 1],
      { ...all, canSplit: false, canMerge: false },
      { merges: [], splits: [] },
    ],
    [
      'goes by the target',
      [6, 6, 6],
      { ...all, targetSizeBytes: 2 },
      { merges: [], splits: [0, 1, 2] },
    ],
    ['does nothing for an empty table', [0, 0, 0], all, { merges: [], splits: [] }],
  ])('%s', (_, sizes, wishes, plan) => {
    expect(normalizationOf(sizes, wishes)).toEqual(plan);
  });
});

describe('splits by themselves', () => {
  const load = async (keys: (i: number) => string, spec: Partial<TableSpec>): Promise<string[]> => {
    const env = simEnv({ seed: 3 });
    const random = seeded(4);
    return env.drive(
      (async (): Promise<string[]> => {
        const connection = await open('/data', { env, blockingSync: false });
        await connection.admin.createTable({
          name: 't',
          families: ['f'],
          MEMSTORE_FLUSHSIZE: String(MIB),
          ...spec,
        });
        const table = connection.table('t');
        for (let i = 0; i < 250; i++) await table.put(keys(i), { 'f:v': random.bytes(10_000) });
        await connection.admin.flush('t');
        await env.timers.sleep(5000);
        expect(await table.count()).toBe(250);
        const regions = await connection.regions('t');
        expect(connection.status().counters['split_failures']).toBe(0);
        await connection.close();
        return regions.map(({ startKey }) => Buffer.from(startKey).toString());
      })(),
      1_000_000,
    );
  };
  const numbered = (i: number): string => String(i).padStart(4, '0');

  test('a region beyond the policy’s size is split in the middle', async () => {
    const [first, second, ...more] = await load(numbered, {});
    expect(first).toBe('');
    expect(Number(second)).toBeGreaterThan(80);
    expect(Number(second)).toBeLessThan(170);
    expect(more).toEqual([]);
  });

  test('a group that may not be torn apart stays, whatever its size', async () => {
    const prefixed = {
      SPLIT_POLICY: 'KeyPrefixRegionSplitPolicy',
      CONFIGURATION: { 'KeyPrefixRegionSplitPolicy.prefix_length': '3' },
      SPLITS: ['abc'],
      MAX_FILESIZE: String(2 * MIB),
    };
    expect(await load((i) => `abc${numbered(i)}`, prefixed)).toEqual(['', 'abc']);
    expect(await load(numbered, { SPLIT_ENABLED: 'false' })).toEqual(['']);
  });

  test('by hand, too: the row is cut to its prefix, and refused if that is the start key', async () => {
    const env = simEnv({ seed: 5 });
    await env.drive(
      (async (): Promise<void> => {
        const connection = await open('/data', { env, blockingSync: false });
        await connection.admin.createTable({
          name: 't',
          families: ['f'],
          SPLIT_POLICY: 'KeyPrefixRegionSplitPolicy',
          CONFIGURATION: { 'KeyPrefixRegionSplitPolicy.prefix_length': '3' },
          SPLITS: ['abc'],
        });
        await expect(connection.admin.split('t', 'abcm')).rejects.toThrow(/equal to startkey/);
        await connection.admin.split('t', 'xyzm');
        const regions = await connection.regions('t');
        const keys = regions.map(({ startKey }) => Buffer.from(startKey).toString());
        expect(keys).toEqual(['', 'abc', 'xyz']);
        await connection.close();
      })(),
    );
  });
});
