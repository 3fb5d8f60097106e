/** The hashes of HBase's Bloom filters: values computed by HBase (protocol/files.md section 1.9). */
import { expect, test } from 'vitest';
import { HASH_JENKINS, HASH_MURMUR, HASH_MURMUR3, hashBytes } from '../../src/hfile/hashes.ts';

test.each([
  { input: '', want: [-559038737, 0, 1540447798, 0, 1364076727] },
  { input: 'a', want: [1490454280, -1838653602, 626045324, 1009084850, 1485495528] },
  { input: 'ab', want: [-72111905, 446775395, 1692487918, -1681926305, -1207461050] },
  { input: 'abc', want: [238646833, 324500635, 1621425345, -1277324294, -1435112961] },
  { input: 'abcd', want: [-1242265444, 646393889, -918586858, 1139631978, -1678424686] },
  { input: 'row-0001', want: [1743648622, 1526543397, 718118125, 800641604, 1485470865] },
  {
    input: 'hello world, this is longer',
    want: [1110501874, 2114093457, -11938075, -129867266, 19338368],
  },
  { input: '\xff\x80\x01', want: [287998601, 1397589984, null, 957812471, null] },
])('$input', ({ input, want }) => {
  const bytes = Buffer.from(`..${input}.`, 'latin1');
  const hash = (type: number, seed: number): number =>
    hashBytes(type, bytes, 2, input.length, seed);
  const found = [
    hash(HASH_JENKINS, 0),
    hash(HASH_MURMUR, 0),
    hash(HASH_MURMUR, 1),
    hash(HASH_MURMUR3, 0),
    hash(HASH_MURMUR3, 1),
  ];
  for (const [i, value] of want.entries()) if (value !== null) expect(found[i]).toBe(value);
});
