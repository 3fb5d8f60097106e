/** The machine itself: the `Env` of a store in production. */
import { randomBytes, randomInt } from 'node:crypto';
import type { Clock, Env, Executor, Random, Timer, Timers } from './env.ts';
import { InlineExecutor } from './inline_executor.ts';
import { RealFs } from './real_fs.ts';
import { WorkerPool } from './worker_pool.ts';

class RealClock implements Clock {
  nowMs(): number {
    return Date.now();
  }
  monotonicMs(): number {
    return performance.now();
  }
}

class RealRandom implements Random {
  int(below: number): number {
    return randomInt(below);
  }
  bytes(length: number): Uint8Array {
    return randomBytes(length);
  }
}

/** The longest that `setTimeout` can wait; beyond it fires at once. */
const TIMEOUT_MAX_MS = 0x7fff_ffff;

class RealTimer implements Timer {
  readonly #keepsAlive: boolean;
  #timeout: NodeJS.Timeout;

  constructor(ms: number, task: () => void, keepsAlive: boolean) {
    this.#keepsAlive = keepsAlive;
    this.#timeout = this.#wait(ms, task);
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  #wait(ms: number, task: () => void): NodeJS.Timeout {
    const step = Math.min(ms, TIMEOUT_MAX_MS);
    const timeout = setTimeout(() => {
      if (step === ms) task();
      else this.#timeout = this.#wait(ms - step, task);
    }, step);
    return this.#keepsAlive ? timeout : timeout.unref();
  }
}

class RealTimers implements Timers {
  after(ms: number, task: () => void, keepsAlive: boolean = false): Timer {
    return new RealTimer(ms, task, keepsAlive);
  }
  soon(task: () => void): void {
    setImmediate(task);
  }
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }
}

export interface RealEnvOptions {
  /** Threads for background jobs, started at the first job; 0 runs jobs on the calling thread. By default 2. */
  readonly workersMax?: number;
}

/** A new environment with a pool of its own. Close its executor to stop the workers. */
export function realEnv(options: RealEnvOptions = {}): Env {
  const workersMax = options.workersMax ?? 2;
  const executor: Executor =
    workersMax === 0 ? new InlineExecutor(() => env) : new WorkerPool(workersMax);
  const env: Env = {
    fs: new RealFs(),
    clock: new RealClock(),
    random: new RealRandom(),
    timers: new RealTimers(),
    executor,
  };
  return env;
}
