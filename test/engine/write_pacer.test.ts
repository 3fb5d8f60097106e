/** Writers are slowed step by step before memory stops them, told so, and let on; nobody is passed over. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import { WritePacer } from '../../src/engine/write_pacer.ts';
import { simEnv } from '../../src/io/index.ts';

describe('the pacer', () => {
  test('waits longer the fuller memory is, and not at all below four fifths', async () => {
    const waits: number[] = [];
    for (const share of [0.8, 0.9, 0.95, 1]) {
      const env = simEnv({ seed: 1 });
      const pacer = new WritePacer(env.timers);
      expect(pacer.mayGo(0.79)).toBe(true);
      expect(pacer.mayGo(share)).toBe(false);
      const startMs = env.clock.monotonicMs();
      await env.drive(pacer.wait(share));
      waits.push(env.clock.monotonicMs() - startMs);
    }
    // 1 + 19 x ((share - 0.8) / 0.2)^2 milliseconds.
    expect(waits[0]).toBeCloseTo(1, 5);
    expect(waits[1]).toBeCloseTo(1 + 19 / 4, 5);
    expect(waits[2]).toBeCloseTo(1 + (19 * 9) / 16, 5);
    expect(waits[3]).toBeCloseTo(20, 5);
  });

  test('one tick lets on all that waited for it, each once', async () => {
    const env = simEnv({ seed: 1 });
    const pacer = new WritePacer(env.timers);
    let told = 0;
    pacer.onSlow = () => told++;
    await env.drive(Promise.all([pacer.wait(0.9), pacer.wait(0.9), pacer.wait(0.9)]));
    expect([pacer.takeGrant(), pacer.takeGrant(), pacer.takeGrant()]).toEqual([true, true, true]);
    expect(pacer.takeGrant()).toBe(false);
    expect(pacer.slowed).toBe(3);
    expect(told).toBe(1);
    // Told again only after memory was free in between.
    await env.drive(pacer.wait(0.9));
    expect(told).toBe(1);
    pacer.mayGo(0.1);
    await env.drive(pacer.wait(0.9));
    expect(told).toBe(2);
  });
});

test('a store that fills faster than it flushes slows its writers and says so', async () => {
  const env = simEnv({ seed: 5 });
  const lines: string[] = [];
  const keep = (_: unknown, text: string): void => void lines.push(text);
  const logger = { info: keep, warn: keep, error: keep, debug: keep };
  const options = { env, blockingSync: false, memstoreBytes: 32 << 20, logger };
  const store = await env.drive(open('/data', options));
  await env.drive(store.admin.createTable({ name: 't', families: ['f'] }));
  const table = store.table('t');
  const work = Array.from({ length: 1200 }, (_, i) =>
    i % 10 === 0
      ? table.increment(`n${i}`, { 'f:n': 1 }).then(() => undefined)
      : table.put(`row${i}`, { 'f:a': Buffer.alloc(40_000) }).then(() => undefined),
  );
  await env.drive(Promise.all(work));
  expect(store.status().counters['commits_slowed']).toBeGreaterThan(0);
  expect(lines.some((line) => line.startsWith('writers are slowed'))).toBe(true);
  expect(await env.drive(table.count())).toBe(1200);
  await env.drive(store.close());
});
