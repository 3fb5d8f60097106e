import { describe, expect, test } from 'vitest';
import { InlineExecutor, SeededRandom, SimClock, SimFs, SimTimers } from '../../src/io/index.ts';
import type { Env } from '../../src/io/index.ts';
import type { OracleRecord } from '../../src/manifest/index.ts';
import { TsoNotCalibrated, TsoStateLost } from '../../src/model/index.ts';
import {
  composeTso,
  LOGICAL_MAX,
  logicalOf,
  Oracle,
  type TsoKnobs,
  physicalMsOf,
  tsoOfHalves,
} from '../../src/tso/index.ts';

const NOW = 1_786_851_294_000;

interface Machine {
  readonly env: Env;
  readonly timers: SimTimers;
  readonly clock: SimClock;
  readonly warnings: string[];
  /** What is on the disk. */
  record: OracleRecord | null;
  saves: number;
  /** Saves that will fail. */
  failures: number;
}

function machine(record: OracleRecord | null = null): Machine {
  const timers = new SimTimers();
  const clock = new SimClock(timers, { startMs: NOW });
  const fs = new SimFs({ random: new SeededRandom(1) });
  const executor = new InlineExecutor(() => env);
  const env: Env = { fs, clock, random: new SeededRandom(2), timers, executor };
  return { env, timers, clock, warnings: [], record, saves: 0, failures: 0 };
}

interface Given {
  readonly largestTso?: bigint;
  readonly dataExists?: boolean;
  readonly knobs?: Partial<TsoKnobs>;
  readonly durable?: () => bigint;
}

function open(on: Machine, given: Given = {}): Promise<Oracle> {
  return Oracle.open({
    env: on.env,
    persistence: {
      load: () => on.record,
      save: async (record) => {
        on.saves++;
        if (on.failures > 0) {
          on.failures--;
          throw new Error('disk');
        }
        on.record = record;
      },
    },
    largestTso: 0n,
    dataExists: false,
    serverId: '5e1c',
    warn: (text) => on.warnings.push(text),
    ...given,
  });
}

function next(oracle: Oracle): bigint {
  oracle.next();
  return tsoOfHalves(oracle.high, oracle.low);
}

const saved = (more: Partial<OracleRecord>): OracleRecord => ({
  v: 1,
  windowEndMs: 0,
  committedTso: 0n,
  external: false,
  cleanCursor: null,
  stampsMayBeLost: false,
  ...more,
});

describe('calibration', () => {
  test.each([
    { name: 'a fresh store', record: null, largest: 0n, at: NOW },
    {
      name: 'window end 1 800 000 ms ahead',
      record: saved({ external: true, windowEndMs: NOW + 1_800_000 }),
      largest: 0n,
      at: NOW + 1_800_001,
    },
    {
      name: 'window end at the clock',
      record: saved({ external: true, windowEndMs: NOW }),
      largest: 0n,
      at: NOW + 1,
    },
    {
      name: 'window end 1 ms before the clock',
      record: saved({ external: true, windowEndMs: NOW - 1 }),
      largest: 0n,
      at: NOW,
    },
    {
      name: 'a window but no stamp given outside',
      record: saved({ windowEndMs: NOW + 1000 }),
      largest: composeTso(NOW - 5, 7),
      at: NOW,
    },
    {
      name: 'a clean close stands above the window',
      record: saved({
        external: true,
        windowEndMs: NOW + 1000,
        cleanCursor: composeTso(NOW + 3, 9),
      }),
      largest: 0n,
      at: NOW + 4,
    },
    {
      name: 'data one hour ahead within a larger threshold',
      record: saved({}),
      largest: composeTso(NOW + 3_600_000, 1),
      at: NOW + 3_600_001,
      knobs: { tso_clock_backward_startup_threshold_ms: 3_600_000 },
    },
    {
      name: 'the committed TSO counts',
      record: saved({ committedTso: composeTso(NOW + 10, 1) }),
      largest: 0n,
      at: NOW + 11,
    },
  ])('$name', async ({ record, largest, at, knobs }) => {
    const on = machine(record);
    const oracle = await open(on, {
      largestTso: largest,
      ...(knobs === undefined ? {} : { knobs }),
    });
    expect(oracle.initialized).toBe(true);
    expect(oracle.cursor()).toBe(composeTso(at, 0));
    expect(next(oracle)).toBe(composeTso(at, 1));
    expect(on.record?.external ?? false).toBe(false);
    await oracle.close();
  });

  test('1 800 001 ms ahead refuses, names both times and the knob, and heals with the clock', async () => {
    const windowEndMs = NOW + 1_800_001;
    const on = machine(saved({ external: true, windowEndMs }));
    const oracle = await open(on);
    expect(oracle.snapshot()).toMatchObject({
      initialized: false,
      reason: 'CLOCK_BACKWARD',
      currentTso: 0n,
    });
    for (const part of [
      String(NOW),
      String(windowEndMs),
      'tso_clock_backward_startup_threshold_ms',
    ]) {
      expect(() => oracle.next()).toThrow(part);
    }
    expect(() => oracle.next()).toThrow(TsoNotCalibrated);
    await expect(oracle.allocate(1)).rejects.toThrow(TsoNotCalibrated);
    await on.timers.runFor(500 - 0.5);
    expect(on.warnings).toHaveLength(1);
    on.clock.set(NOW + 10);
    await on.timers.runFor(60);
    expect(oracle.initialized).toBe(true);
    expect(next(oracle)).toBe(composeTso(windowEndMs + 1, 1));
    await oracle.close();
  });

  test('a state that is missing beside data, unreadable or impossible is lost, never fresh', async () => {
    await expect(open(machine(), { dataExists: true })).rejects.toThrow(TsoStateLost);
    await expect(open(machine(saved({ v: 2 })))).rejects.toThrow(TsoStateLost);
    await expect(open(machine(saved({ windowEndMs: 2 ** 45 })))).rejects.toThrow(TsoStateLost);
    const on = machine();
    Object.defineProperty(on, 'record', {
      get: () => {
        throw new Error('checksum');
      },
    });
    await expect(open(on)).rejects.toMatchObject({
      code: 'TsoStateLost',
      cause: Error('checksum'),
    });
  });

  test('if clearing the window cannot be saved nothing is given, until it can', async () => {
    const on = machine(saved({ external: true, windowEndMs: NOW + 50 }));
    on.failures = 3;
    const oracle = await open(on);
    expect(on.saves).toBe(3);
    expect(oracle.snapshot().reason).toBe('STATE_NOT_SAVED');
    expect(() => oracle.next()).toThrow(TsoNotCalibrated);
    await on.timers.runFor(50);
    expect(next(oracle)).toBe(composeTso(NOW + 51, 1));
    await oracle.close();
  });
});

describe('stamps', () => {
  test('follow the clock, grow when it stands or goes back, and never show logical 0', async () => {
    const on = machine();
    const oracle = await open(on);
    expect(next(oracle)).toBe(composeTso(NOW, 1));
    expect(next(oracle)).toBe(composeTso(NOW, 2));
    on.clock.step(2);
    expect(next(oracle)).toBe(composeTso(NOW + 2, 1));
    on.clock.step(-600_000);
    expect(next(oracle)).toBe(composeTso(NOW + 2, 2));
    expect(oracle.metrics.tso_clock_backward_detected).toBe(1);
    expect(on.warnings).toHaveLength(1);
    oracle.nextInFreshMillisecond();
    expect(tsoOfHalves(oracle.high, oracle.low)).toBe(composeTso(NOW + 3, 1));
    on.clock.step(3_600_000);
    oracle.follow();
    expect(oracle.physicalMs).toBe(NOW + 2 + 3_000_000);
    oracle.nextInFreshMillisecond();
    expect(logicalOf(tsoOfHalves(oracle.high, oracle.low))).toBe(1);
    await oracle.close();
  });

  test('plain writing saves nothing but the clean close', async () => {
    const on = machine();
    const oracle = await open(on);
    for (let i = 0; i < 100; i++) {
      oracle.next();
      await on.timers.runFor(37);
    }
    expect(on.saves).toBe(0);
    const last = oracle.cursor();
    await oracle.close();
    expect(on.record).toMatchObject({ external: false, cleanCursor: last });
    expect(() => oracle.next()).toThrow('closed');
    await expect(oracle.allocate(1)).rejects.toThrow('closed');
  });

  test('outside stamps wait for a synced window and stay below it', async () => {
    const on = machine();
    const oracle = await open(on);
    const { first, last } = await oracle.allocate(3);
    expect([first, last]).toEqual([composeTso(NOW, 1), composeTso(NOW, 3)]);
    expect(on.record).toMatchObject({ external: true, windowEndMs: NOW + 1000, cleanCursor: null });
    for (let i = 0; i < 200; i++) {
      await on.timers.runFor(13);
      const run = await oracle.allocate(1);
      expect(physicalMsOf(run.last)).toBeLessThan(on.record!.windowEndMs);
    }
    expect(on.saves).toBeLessThan(6);
    await oracle.close();
  });

  test('publish waits for a window above a commit stamp', async () => {
    const on = machine();
    const oracle = await open(on);
    const tso = next(oracle);
    expect(on.saves).toBe(0);
    await oracle.publish(tso);
    await oracle.publish(tso);
    expect(on.saves).toBe(1);
    expect(on.record!.windowEndMs).toBeGreaterThan(physicalMsOf(tso));
    on.failures = 9;
    await expect(oracle.publish(composeTso(NOW + 5000, 1))).rejects.toThrow('disk');
    await oracle.close().catch(() => undefined);
  });

  test('the clock back 10 minutes, 300 000 stamps at once: on, the millisecond moves on', async () => {
    const on = machine();
    const oracle = await open(on);
    await oracle.allocate(1);
    on.clock.step(-600_000);
    let before = oracle.cursor();
    for (let i = 0; i < 30; i++) {
      const { first, last } = await on.timers.drive(oracle.allocate(10_000));
      expect(first).toBeGreaterThan(before);
      expect(last - first).toBe(9_999n);
      expect(physicalMsOf(last)).toBeLessThan(on.record!.windowEndMs);
      before = last;
    }
    expect(physicalMsOf(before)).toBeGreaterThan(NOW);
    await oracle.close();
  });

  test('… off: after 262 143 in one ms it retries, then fails, and never repeats', async () => {
    const on = machine();
    on.clock.setDrift(-1); // The clock stands; timers go on.
    const oracle = await open(on, { knobs: { enable_tso_forward_when_counter_full: false } });
    await oracle.allocate(LOGICAL_MAX);
    const full = oracle.cursor();
    expect(full).toBe(composeTso(NOW, LOGICAL_MAX));
    const startedMs = on.timers.virtualMs;
    await expect(on.timers.drive(oracle.allocate(1))).rejects.toMatchObject({
      code: 'TsoExhausted',
      retryable: true,
    });
    expect(on.timers.virtualMs - startedMs).toBe(500);
    expect(oracle.hasRoom()).toBe(false);
    expect(() => oracle.next()).toThrow('262143');
    await expect(on.timers.drive(oracle.waitForRoom())).rejects.toThrow('262143');
    expect(oracle.cursor()).toBe(full);
    expect(oracle.metrics.tso_exhausted).toBe(3);
    on.clock.setDrift(0);
    on.clock.step(1);
    expect(next(oracle)).toBe(composeTso(NOW + 1, 1));
    await oracle.close();
  });

  test('a commit with a full counter goes on in the next millisecond', async () => {
    const on = machine();
    const oracle = await open(on);
    oracle.raiseAbove(composeTso(NOW, LOGICAL_MAX));
    expect(next(oracle)).toBe(composeTso(NOW + 1, 1));
    await oracle.close();
  });

  test('a closed millisecond takes no more commits', async () => {
    const on = machine();
    const oracle = await open(on);
    oracle.next();
    const asOf = oracle.closeMillisecond(NOW);
    expect(asOf).toBe(composeTso(NOW, LOGICAL_MAX));
    expect(next(oracle)).toBe(composeTso(NOW + 1, 1));
    expect(oracle.closeMillisecond(NOW - 10)).toBe(composeTso(NOW - 10, LOGICAL_MAX));
    expect(next(oracle)).toBe(composeTso(NOW + 1, 2));
    await oracle.close();
  });
});

describe('ticks', () => {
  test('a late tick counts as drift, an idle store does not, and writes nothing', async () => {
    const on = machine();
    let durable = 0n;
    const oracle = await open(on, { durable: () => durable });
    await oracle.allocate(1);
    const saves = on.saves;
    await on.timers.runFor(3_600_000);
    expect(on.saves).toBe(saves);
    durable = next(oracle);
    expect(oracle.metrics.tso_clock_drift_detected).toBe(0);
    on.clock.step(400); // No timer ran in between: the event loop was busy.
    durable = next(oracle);
    expect(oracle.metrics.tso_clock_drift_detected).toBe(1);
    await on.timers.runFor(2000);
    oracle.next();
    await on.timers.runFor(1);
    expect(on.record!.committedTso).toBe(durable);
    await oracle.close();
  });

  test('a clock that runs ahead of the monotonic one is warned of, a thread that was busy is not', async () => {
    const on = machine();
    const oracle = await open(on);
    const tick = async (): Promise<void> => {
      oracle.next();
      await on.timers.runFor(60);
    };
    await tick();
    await on.timers.runFor(5_000);
    await tick();
    expect(on.warnings).toEqual([]);
    // An hour forward at once, and back: a warning each.
    on.clock.step(3_600_000);
    await tick();
    expect(on.warnings).toEqual([expect.stringContaining('run ahead by 3600000 ms')]);
    on.clock.step(-3_600_000);
    await tick();
    await tick();
    expect(on.warnings).toHaveLength(2);
    expect(on.warnings[1]).toContain('the clock went back');
    // One that is a thousandth too fast: once for each second that it gains.
    const behind = on.warnings.length;
    on.clock.setDrift(0.001);
    for (let i = 0; i < 25; i++) {
      await on.timers.runFor(100_000);
      await tick();
    }
    expect(on.warnings.slice(behind)).toEqual([
      expect.stringContaining('the clock drifts'),
      expect.stringContaining('the clock drifts'),
    ]);
    await oracle.close();
  });

  test('a window that cannot be made durable gives no stamp outside, and commits go on', async () => {
    const on = machine();
    const oracle = await open(on);
    on.failures = 1e9;
    await expect(on.timers.drive(oracle.allocate(1))).rejects.toThrow('disk');
    expect(on.record).toBeNull();
    expect(next(oracle)).toBe(composeTso(NOW, 1));
    expect(oracle.metrics.tso_state_persist_failed).toBe(3);
    on.failures = 0;
    const { first } = await on.timers.drive(oracle.allocate(1));
    expect(first).toBeGreaterThan(composeTso(NOW, 1));
    expect(physicalMsOf(first)).toBeLessThan(on.record!.windowEndMs);
    await oracle.close();
  });

  test('a failed window keeps the old one; the next try serves', async () => {
    const on = machine();
    const oracle = await open(on, { knobs: { tso_max_update_retry_count: 0 } });
    await oracle.allocate(1);
    const { windowEndMs } = on.record!;
    on.clock.set(windowEndMs + 5);
    on.failures = 1;
    await expect(oracle.allocate(1)).rejects.toThrow('disk');
    expect(on.record!.windowEndMs).toBe(windowEndMs);
    const { first } = await oracle.allocate(1);
    expect(physicalMsOf(first)).toBe(windowEndMs + 5);
    expect(oracle.metrics.tso_state_persist_failed).toBe(1);
    await oracle.close();
  });

  test('knobs change while open, or say why not', async () => {
    const on = machine();
    const oracle = await open(on);
    oracle.setKnob('tso_time_offset_debug_mode', 5000);
    expect(physicalMsOf(next(oracle))).toBe(NOW + 5000);
    expect(on.warnings[0]).toContain('tests only');
    expect(() => oracle.setKnob('tso_service_update_interval_ms', 10)).toThrow('while the store');
    expect(() => oracle.setKnob('tso_service_window_duration_ms', 0)).toThrow('from 1');
    expect(() => oracle.setKnob('nothing', 0)).toThrow('no knob');
    await oracle.close();
  });
});

test('snapshot gives no stamp and shows the state', async () => {
  const on = machine();
  const oracle = await open(on);
  const tso = next(oracle);
  const shown = oracle.snapshot();
  expect(shown).toEqual({
    windowEndPhysicalTime: NOW,
    currentTso: tso,
    currentTsoPhysicalTime: NOW,
    currentTsoLogicalCounter: 1,
    committedTso: 0n,
    initialized: true,
    reason: null,
    serverId: '5e1c',
  });
  expect(oracle.snapshot()).toEqual(shown);
  await oracle.allocate(1);
  expect(oracle.snapshot().windowEndPhysicalTime).toBe(NOW + 1000);
  await oracle.close();
});
