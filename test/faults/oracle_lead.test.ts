/**
 * How far the oracle runs ahead of the clock when the whole engine is killed and opened again and again, at each
 * durability, stamps for outside included. (The oracle alone does 10,000 rounds in tso/crashes.test.ts.)
 */
import { expect, test } from 'vitest';
import { seeded } from '../../src/io/index.ts';
import type { Durability } from '../../src/model/index.ts';
import { Machine } from './support.ts';

const WINDOW_MS = 1000;
const ROUNDS = Number(process.env['CELLAR_LEAD_ROUNDS'] ?? 120);
const msOf = (tso: bigint): number => Number(tso >> 18n);

const DURABILITIES: readonly Exclude<Durability, 'USE_DEFAULT'>[] = [
  'SKIP_WAL',
  'ASYNC_WAL',
  'SYNC_WAL',
  'FSYNC_WAL',
];

test.each(
  DURABILITIES.flatMap((durability) => [
    { durability, outside: false },
    { durability, outside: true },
  ]),
)('$durability, outside stamps: $outside', async ({ durability, outside }) => {
  const random = seeded(11);
  const machine = new Machine(50, { durability });
  await machine.fill(1);
  let greatest = 0n;
  let worstMs = 0;
  const see = (tso: bigint): void => {
    expect(tso).toBeGreaterThan(greatest);
    greatest = tso;
    worstMs = Math.max(worstMs, msOf(tso) - machine.env.clock.nowMs());
  };
  for (let round = 0; round < ROUNDS; round++) {
    const nowMs = machine.env.clock.nowMs();
    await machine.do(async (store) => {
      const table = store.table('t');
      for (let i = random.int(3); i >= 0; i--) see(await table.put(`r${i}`, { 'f:q': `${round}` }));
      if (outside) see(await store.tso());
      see((await table.increment('n', { 'f:n': 1 })).tso);
      // A delete and a put of one row in one millisecond move the cursor on.
      see(await table.delete('r0'));
      see(await table.put('r0', { 'f:q': 'again' }));
    });
    if (random.chance(0.05)) await machine.close();
    // A power cut may take unsynced stamps with it, but none that is given again.
    machine.stop(random.chance(0.5) ? 'kill' : 'crash');
    // A minute for 10,000 rounds is 6 ms a round: what the simulated disk took beyond that does not count.
    machine.env.clock.set(nowMs + 6);
    await machine.open();
    if (random.chance(0.1)) machine.env.clock.step(-random.int(20));
  }
  expect(worstMs).toBeGreaterThan(0);
  expect(worstMs).toBeLessThan(2 * WINDOW_MS);
  await machine.close();
});
