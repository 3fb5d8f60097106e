/** The manifest on a disk that loses power or process at random: every acknowledged commit is there, each one whole. */
import { expect, test } from 'vitest';
import { seeded, simEnv } from '../../src/io/index.ts';
import { Manifest, put } from '../../src/manifest/index.ts';

const DIR = '/store';

test.each([1, 2, 3, 4])('80 crashes with checkpoints under way, seed %i', async (seed) => {
  const random = seeded(seed);
  let env = simEnv({ seed });
  await env.drive(env.fs.ensureFolder(DIR));
  await env.drive(env.fs.syncFolder('/'));
  let acknowledged = 0;
  let asked = 0;
  for (let round = 0; round < 80; round++) {
    const opening = Manifest.open(env, DIR, { checkpointAfterBytes: 600 });
    if (random.chance(0.2)) {
      opening.catch(() => undefined);
      await env.timers.runFor(random.float() * 10);
    } else {
      const manifest = await env.drive(opening);
      const a = manifest.get('setting', 'a');
      expect(manifest.get('setting', 'b')?.value).toBe(a?.value);
      const found = Number(a?.value ?? 0);
      expect(found).toBeGreaterThanOrEqual(acknowledged);
      expect(found).toBeLessThanOrEqual(asked);
      acknowledged = found; // Whatever an open has shown stays.
      asked = found;
      for (let i = random.int(30); i > 0; i--) {
        const number = ++asked;
        const value = String(number);
        manifest
          .commit([put('setting', { name: 'a', value }), put('setting', { name: 'b', value })])
          .then(
            () => (acknowledged = number),
            () => undefined,
          );
        if (random.chance(0.7)) await env.timers.runFor(random.float() * 3);
      }
      if (random.chance(0.1)) await env.drive(manifest.close());
    }
    env = random.chance(0.5) ? env.kill() : env.crash({ keepUnsynced: random.float() });
  }
  expect(acknowledged).toBeGreaterThan(80);
});
