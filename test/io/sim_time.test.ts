/** Virtual time, its clock, chance from a seed, and jobs run inline. */
import { describe, expect, test } from 'vitest';
import {
  InvariantError,
  type SeededRandom,
  seeded,
  SimClock,
  simEnv,
  SimStuckError,
  SimTimers,
  type Env,
} from '../../src/io/index.ts';

describe('timers', () => {
  test('fire in the order of their times, equal ones in the order they came', async () => {
    const timers = new SimTimers();
    const seen: string[] = [];
    const delays = [5, 1, 3, 1, 0, 5];
    delays.forEach((ms, i) => timers.after(ms, () => seen.push(`${i}@${timers.virtualMs}`)));
    timers.after(2, () => seen.push('never')).cancel();
    await timers.run(4);
    expect(seen).toEqual(['4@0', '1@1', '3@1', '2@3']);
    expect(timers.virtualMs).toBe(4);
    await timers.runFor(10);
    expect(seen.slice(4)).toEqual(['0@5', '5@5']);
    expect(timers.virtualMs).toBe(14);
    expect(timers.eventCount).toBe(6);
  });

  test('a thousand timers in random order come out sorted', async () => {
    const timers = new SimTimers();
    const random = seeded(3);
    const seen: number[] = [];
    const times = Array.from({ length: 1000 }, () => random.int(500));
    for (const ms of times) timers.after(ms, () => seen.push(ms));
    await timers.run(500);
    expect(seen).toEqual(times.toSorted((a, b) => a - b));
  });

  test('between two events all promises go on as far as they can', async () => {
    const timers = new SimTimers();
    const seen: string[] = [];
    const chain = async (): Promise<void> => {
      await timers.sleep(1);
      for (let i = 0; i < 50; i++) await Promise.resolve();
      seen.push('chain');
    };
    const done = chain();
    timers.after(1, () => seen.push('next'));
    await timers.run(2);
    await done;
    expect(seen).toEqual(['chain', 'next']);
  });

  test('drive gives the result, throws the error, and finds a deadlock', async () => {
    const timers = new SimTimers();
    expect(await timers.drive(timers.sleep(5).then(() => 'done'))).toBe('done');
    expect(timers.virtualMs).toBe(5);
    const failing = timers.sleep(1).then(() => Promise.reject(new RangeError('no')));
    await expect(timers.drive(failing)).rejects.toThrow(RangeError);
    const never = new Promise<void>(() => undefined);
    await expect(timers.drive(never)).rejects.toThrow(SimStuckError);
    const tick = (): void => void timers.after(1000, tick);
    tick();
    await expect(timers.drive(never, 10_000)).rejects.toThrow('virtual time');
    timers.soon(() => {
      throw new InvariantError('in an event');
    });
    await expect(timers.drive(never)).rejects.toThrow('in an event');
  });

  test('soon runs after what is due now', async () => {
    const timers = new SimTimers();
    const seen: number[] = [];
    timers.after(0, () => seen.push(1));
    timers.soon(() => seen.push(2));
    await timers.run(0);
    expect(seen).toEqual([1, 2]);
  });
});

test('the clock follows virtual time, is set, stepped and drifts; the monotonic one is not touched', () => {
  const time = { virtualMs: 0 };
  const clock = new SimClock(time, { startMs: 1000 });
  expect(clock.nowMs()).toBe(1000);
  time.virtualMs = 10.7;
  expect(clock.nowMs()).toBe(1010);
  clock.step(-500);
  expect(clock.nowMs()).toBe(510);
  clock.set(2000);
  clock.setDrift(0.5);
  time.virtualMs = 20.7;
  expect(clock.nowMs()).toBe(2015);
  expect(clock.monotonicMs()).toBe(20.7);
  const other = { virtualMs: 0 };
  const copy = clock.on(other);
  other.virtualMs = 10;
  expect(copy.nowMs()).toBe(2030);
});

describe('chance', () => {
  test('is the same for a seed, different for others, and in its range', () => {
    const draw = (random: SeededRandom): number[] =>
      Array.from({ length: 50 }, () => random.int(1000));
    expect(draw(seeded(1))).toEqual(draw(seeded(1)));
    const firsts = new Set(Array.from({ length: 200 }, (_, seed) => draw(seeded(seed)).join()));
    expect(firsts.size).toBe(200);
    expect(draw(seeded(2 ** 40))).not.toEqual(draw(seeded(0)));
    const random = seeded(9);
    const counts = [0, 0, 0];
    for (let i = 0; i < 3000; i++) counts[random.int(3)]!++;
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
    for (let i = 0; i < 1000; i++) expect(random.float()).toBeLessThan(1);
    expect(random.int(1)).toBe(0);
    expect(random.int(2 ** 32)).toBeLessThan(2 ** 32);
    expect(random.bytes(5).length).toBe(5);
    expect([random.chance(0), random.chance(1)]).toEqual([false, true]);
  });

  test('a fork does not depend on what its parent draws later', () => {
    const one = seeded(1);
    const two = seeded(1);
    const a = one.fork();
    const b = two.fork();
    two.next();
    expect(a.bytes(20)).toEqual(b.bytes(20));
    expect(one.fork().next()).not.toBe(a.next());
  });
});

describe('inline jobs', () => {
  const double = async (input: { n: number }, env: Env): Promise<{ n: number }> => {
    await env.timers.sleep(10);
    input.n *= 2;
    return input;
  };

  test('run in the simulation with clones of input and result; close waits', async () => {
    const env = simEnv({ seed: 1 });
    const input = { n: 21 };
    const running = env.executor.run({ module: import.meta.url, run: double, input });
    const closed = env.executor.close();
    await env.drive(closed);
    expect(await running).toEqual({ n: 42 });
    expect(input.n).toBe(21);
    expect(env.timers.virtualMs).toBe(10);
  });

  test('what cannot be cloned fails as it would with workers', async () => {
    const env = simEnv({ seed: 1 });
    const input = { n: 1, f: (): void => undefined };
    const job = { module: import.meta.url, run: double, input };
    await expect(env.drive(env.executor.run(job))).rejects.toThrow('could not be cloned');
  });
});
