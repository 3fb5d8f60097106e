/** The entry of a worker thread: runs one job after another. Started by `WorkerPool` only, from the built output. */
import { parentPort } from 'node:worker_threads';
import { invariant } from './errors.ts';
import { errorToData } from './job_errors.ts';
import { realEnv } from './real_env.ts';
import type { JobAnswer, JobOrder } from './worker_pool.ts';

const port = parentPort;
invariant(port !== null, 'worker_main is for worker threads only');

// Jobs that a job starts run in the same worker: a pool in a pool would multiply threads.
const env = realEnv({ workersMax: 0 });

async function answer(order: JobOrder): Promise<JobAnswer> {
  try {
    const module: unknown = await import(order.module);
    const run: unknown =
      typeof module === 'object' && module !== null ? Reflect.get(module, order.name) : undefined;
    invariant(typeof run === 'function', 'the module has no such export', order.module, order.name);
    return { id: order.id, output: await Reflect.apply(run, undefined, [order.input, env]) };
  } catch (error) {
    return { id: order.id, error: errorToData(error) };
  }
}

async function serve(order: JobOrder): Promise<void> {
  const found = await answer(order);
  try {
    port?.postMessage(found);
  } catch (error) {
    // The result cannot be cloned.
    port?.postMessage({ id: order.id, error: errorToData(error) } satisfies JobAnswer);
  }
}

port.on('message', (order: JobOrder) => void serve(order));
