/** Runs jobs on the calling thread: in the simulator, in memory-only stores, and inside a worker. */
import type { Env, Executor, Job } from './env.ts';

/**
 * Jobs start in a later turn and run interleaved with everything else. Input and result are cloned as they would be
 * on the way to a worker, so that code which only works inline fails here too.
 */
export class InlineExecutor implements Executor {
  readonly #env: () => Env;
  readonly #running = new Set<Promise<unknown>>();

  constructor(env: () => Env) {
    this.#env = env;
  }

  async run<Input, Output>(job: Job<Input, Output>): Promise<Output> {
    const running = this.#start(job, structuredClone(job.input));
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async close(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  async #start<Input, Output>(job: Job<Input, Output>, input: Input): Promise<Output> {
    const env = this.#env();
    await new Promise<void>((resolve) => env.timers.soon(resolve));
    return structuredClone(await job.run(input, env));
  }
}
