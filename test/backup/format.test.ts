/** JSON of manifests: nothing is taken for something else. */
import { expect, test } from 'vitest';
import { plainOf, richOf } from '../../src/backup/backup_format.ts';
import { readSealed, writeSealed } from '../../src/backup/sealed_json.ts';
import { memoryEnv } from '../../src/io/index.ts';

test.each([
  [5n],
  [-5n],
  [{ a: 2n ** 63n, b: Uint8Array.of(0, 255), c: [null, 'x', true, 1.5] }],
  [{ n: '123', x: 'ff', t: 5 }],
  [{ $n: '123' }],
  [{ $o: [] }],
  [{ $x: 'ff', other: { $t: 5n } }],
  [new Date(5)],
])('%s there and back', (value) => {
  expect(richOf(JSON.parse(JSON.stringify(plainOf(value))))).toEqual(value);
});

test('every flipped bit of a manifest is found', async () => {
  const env = memoryEnv();
  const seal = { format: 'f', version: 1 };
  await writeSealed(env, 'dir/m.json', { ...seal, ...{ tso: '123', list: ['a', { b: 1 }] } }).catch(
    async () => {
      await env.fs.ensureFolder('dir');
      await writeSealed(env, 'dir/m.json', { ...seal, ...{ tso: '123', list: ['a', { b: 1 }] } });
    },
  );
  expect(await readSealed(env, 'dir/m.json', seal)).toEqual({
    ...seal,
    tso: '123',
    list: ['a', { b: 1 }],
  });
  const whole = await env.fs.readFile('dir/m.json');
  for (let bit = 0; bit < whole.length * 8; bit++) {
    const bytes = Uint8Array.from(whole);
    bytes[bit >> 3] = bytes[bit >> 3]! ^ (1 << (bit & 7));
    const isBlank = (byte: number): boolean => [0x09, 0x0a, 0x0d, 0x20].includes(byte);
    if (isBlank(whole[bit >> 3]!) && isBlank(bytes[bit >> 3]!)) continue;
    const handle = await env.fs.open('dir/m.json', 'write');
    await handle.write(bytes, 0);
    await handle.close();
    await expect(readSealed(env, 'dir/m.json', seal), String(bit)).rejects.toMatchObject({
      code: 'CorruptionException',
    });
  }
});
