/** What a worker thread does: it runs one job after another. */
import { parentPort } from 'node:worker_threads';
import { invariant } from './errors.ts';
import { errorToData } from './job_errors.ts';
import { realEnv } from './real_env.ts';
import type { JobAnswer, JobOrder } from './worker_pool.ts';

export interface WorkerOptions {
  /** Modules of jobs that are loaded already, by their URLs; any other is imported. */
  readonly modules?: ReadonlyMap<string, object>;
  /** Called when the answer to a job has been sent. */
  readonly onAnswered?: () => void;
}

/** Serves the thread's parent from now on. Throws on the main thread. */
export function serveJobs({ modules, onAnswered }: WorkerOptions = {}): void {
  const port = parentPort;
  invariant(port !== null, 'jobs are served by worker threads only');
  // Jobs that a job starts run in the same worker: a pool in a pool would multiply threads.
  const env = realEnv({ workersMax: 0 });

  async function answer(order: JobOrder): Promise<JobAnswer> {
    try {
      const module: unknown = modules?.get(order.module) ?? (await import(order.module));
      const run: unknown =
        typeof module === 'object' && module !== null ? Reflect.get(module, order.name) : undefined;
      invariant(
        typeof run === 'function',
        'the module has no such export',
        order.module,
        order.name,
      );
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
    onAnswered?.();
  }

  port.on('message', (order: JobOrder) => void serve(order));
}
