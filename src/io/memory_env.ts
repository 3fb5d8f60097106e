/** The environment of a store without a folder: real time and chance, files in memory. */
import type { Env } from './env.ts';
import { InlineExecutor } from './inline_executor.ts';
import { realEnv } from './real_env.ts';
import { SimFs } from './sim_fs.ts';
import { SeededRandom } from './sim_random.ts';

/** A new one with an empty file system. Jobs run on the calling thread: a worker could not see its files. */
export function memoryEnv(): Env {
  const real = realEnv({ workersMax: 0 });
  const fs = new SimFs({ random: new SeededRandom(0), clock: real.clock, isVolatile: true });
  const env: Env = { ...real, fs, executor: new InlineExecutor(() => env) };
  return env;
}
