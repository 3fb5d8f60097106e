/** Splits and merges on the command line and in the shell. */
import { expect, test } from 'vitest';
import { CliHarness } from './support.ts';

interface Shown {
  readonly encodedName: string;
  readonly startKey: string;
}

test('split, merge and the listing of regions', async () => {
  const harness = new CliHarness();
  const ok = async (words: string[]): Promise<string> => {
    const { status, stdout, stderr } = await harness.run(words);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    return stdout;
  };
  const regions = async (): Promise<Shown[]> =>
    (await ok(['stats', '--regions', '--json']))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Shown);
  await ok(['create', 't', 'f']);
  for (const row of ['a', 'b', 'c', 'd']) await ok(['put', 't', row, 'f:q', row]);
  expect(await ok(['split', 't', 'c'])).toBe('Split t\n');
  const [left, right] = await regions();
  expect([left!.startKey, right!.startKey]).toEqual(['', 'c']);
  expect(await ok(['stats', '--regions'])).toContain(`t ${right!.encodedName} ['c', '')`);
  const refused = await harness.run(['split', 't', 'c']);
  expect(refused.status).toBe(1);
  expect(refused.stderr).toMatch(/^DoNotRetryIOException: Split row is equal to startkey/);
  expect(await ok(['merge', 't', left!.encodedName, right!.encodedName])).toMatch(/^Merged /);
  expect((await regions()).map(({ startKey }) => startKey)).toEqual(['']);
  expect(await ok(['normalize', 't'])).toBe('0 regions split, 0 merged\n');
});
