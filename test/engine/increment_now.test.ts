/** The fast way of increments, which may know the counter without reading it, against the general way, which reads it. */
import { expect, test } from 'vitest';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';
import { contentOf, start } from './store_support.ts';

const STEPS = 150;
/** Ahead of the clock, so that stamps follow from the steps alone. */
const AHEAD = 2n ** 50n;

/** A small generator of whole numbers below `bound`. */
function numbers(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** One random change of table `t`; increments go by plain numbers, the fast way, or by bigints. Gives what it answered. */
async function change(
  connection: EmbeddedConnection,
  next: (bound: number) => number,
  isFast: boolean,
  fallback: bigint,
): Promise<string> {
  const table = connection.table('t');
  const row = next(8) === 0 ? 'other' : 'row';
  const amount = next(5) - 1;
  const kind = next(24);
  // Stamps at, before and just ahead of the counter's, which runs ahead of the clock.
  const newest = (await table.get('row', { columns: ['f:c'] }))?.cells[0]?.ts ?? fallback;
  const ts = newest + BigInt(next(6) - 2);
  if (kind === 0) await table.delete('row', { versions: ['f:c'], ts });
  else if (kind === 1) await table.delete('row', { columns: ['f:c'], ts });
  else if (kind === 2) await table.delete('row', { ts });
  else if (kind === 3 || kind > 20)
    await table.put('row', { 'f:c': Buffer.from('00000000000000ff', 'hex') }, { ts });
  else if (kind === 6) await table.delete('row', { familyVersions: ['f'], ts });
  else if (kind === 4) await table.put(row, { 'f:d': 'x' });
  else if (kind === 5) await connection.admin.flush('t');
  else {
    const { result } = await table.increment(row, { 'f:c': isFast ? amount : BigInt(amount) });
    const cell = result!.cells[0]!;
    const value = Buffer.from(cell.value).toString('hex');
    // A counter that is not there begins at the clock's time, which the steps alone do not give.
    return cell.ts < AHEAD ? value : `${value}@${cell.ts}`;
  }
  return `${kind}`;
}

const isOfClock = (line: string): boolean => BigInt(/@(\d+)/.exec(line)![1]!) < AHEAD;

test.each([1, 2])('as by the general way, seed %i', async (seed) => {
  const answers: string[][] = [];
  for (const isFast of [true, false]) {
    const env = simEnv({ seed });
    const connection = await env.drive(start(env));
    await env.drive(
      connection.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 3 }] }),
    );
    const next = numbers(seed);
    const table = connection.table('t');
    await env.drive(table.put('row', { 'f:c': Buffer.alloc(8) }, { ts: AHEAD }));
    await env.drive(table.put('other', { 'f:c': Buffer.alloc(8) }, { ts: AHEAD }));
    const given: string[] = [];
    for (let i = 0; i < STEPS; i++) {
      const fallback = AHEAD + BigInt(i) * 1000n;
      given.push(await env.drive(change(connection, next, isFast, fallback)));
    }
    const content = await env.drive(contentOf(connection, 't'));
    answers.push([...given, ...content.filter((line) => !isOfClock(line))]);
    await env.drive(connection.close());
  }
  expect(answers[0]!).toEqual(answers[1]!);
});

test('a marker just ahead of the counter hides what comes to stand at it', async () => {
  const env = simEnv({ seed: 5 });
  const connection = await env.drive(start(env));
  await env.drive(connection.admin.createTable({ name: 't', families: ['f'] }));
  const table = connection.table('t');
  const values: number[] = [];
  const increment = async (): Promise<void> => {
    const { result } = await env.drive(table.increment('row', { 'f:c': 1 }));
    values.push(Buffer.from(result!.cells[0]!.value).readUInt8(7));
  };
  await env.drive(table.put('row', { 'f:c': Buffer.alloc(8) }, { ts: AHEAD }));
  await increment();
  await env.drive(table.delete('row', { versions: ['f:c'], ts: AHEAD + 3n }));
  for (let i = 0; i < 4; i++) await increment();
  expect(values).toEqual([1, 2, 3, 3, 3]);
  await env.drive(connection.close());
});
