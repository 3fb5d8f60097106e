/** A whole machine from a seed: disk, clock, chance, time and background work, replayed to the byte. */
import type { Env } from './env.ts';
import { InlineExecutor } from './inline_executor.ts';
import { SimClock, type SimClockOptions } from './sim_clock.ts';
import type { FsFault, FsOp } from './sim_faults.ts';
import { SimFs } from './sim_fs.ts';
import { SeededRandom } from './sim_random.ts';
import { SimTimers } from './sim_timers.ts';

export interface SimEnvOptions extends SimClockOptions {
  readonly seed: number;
  readonly capacityBytes?: number;
  readonly failWhen?: (op: FsOp) => FsFault;
}

/** The simulated machine. Nothing of it runs but inside `drive` or `timers.run`. */
export class SimEnv implements Env {
  readonly fs: SimFs;
  readonly clock: SimClock;
  readonly random: SeededRandom;
  readonly timers: SimTimers;
  readonly executor: InlineExecutor;
  readonly #chance: SeededRandom;

  constructor(parts: {
    fs: SimFs;
    clock: SimClock;
    random: SeededRandom;
    timers: SimTimers;
    chance: SeededRandom;
  }) {
    this.fs = parts.fs;
    this.clock = parts.clock;
    this.random = parts.random;
    this.timers = parts.timers;
    this.#chance = parts.chance;
    this.executor = new InlineExecutor(() => this);
  }

  /** Runs the machine until `promise` settles; see `SimTimers.drive`. */
  drive<T>(promise: Promise<T>, limitMs?: number): Promise<T> {
    return this.timers.drive(promise, limitMs);
  }

  /**
   * The machine after a power cut now: a new one with the disk as `SimFs.crash` leaves it, the same time of day and no
   * events. This one stands still as long as nobody drives it.
   */
  crash(options: { keepUnsynced: number }): SimEnv {
    return this.#next((outside) => this.fs.crash({ ...options, ...outside }));
  }

  /** The machine after this process was killed: as `crash`, but with everything written; see `SimFs.kill`. */
  kill(): SimEnv {
    return this.#next((outside) => this.fs.kill(outside));
  }

  #next(
    fork: (outside: { random: SeededRandom; timers: SimTimers; clock: SimClock }) => SimFs,
  ): SimEnv {
    const timers = new SimTimers(this.timers.virtualMs);
    const clock = this.clock.on(timers);
    const fs = fork({ random: this.#chance.fork(), timers, clock });
    const chance = this.#chance.fork();
    return new SimEnv({ fs, clock, timers, random: chance.fork(), chance });
  }
}

/** A machine with an empty disk. */
export function simEnv(options: SimEnvOptions): SimEnv {
  const chance = new SeededRandom(options.seed);
  const timers = new SimTimers();
  const clock = new SimClock(timers, options);
  const { capacityBytes, failWhen } = options;
  const fs = new SimFs({
    random: chance.fork(),
    timers,
    clock,
    ...(capacityBytes === undefined ? {} : { capacityBytes }),
    ...(failWhen === undefined ? {} : { failWhen }),
  });
  return new SimEnv({ fs, clock, timers, random: chance.fork(), chance });
}
