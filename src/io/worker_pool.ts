/** Background jobs on worker threads, which start at the first job and from the built output. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { ErrorClass, Executor, Job } from './env.ts';
import { invariant, JobFailedException } from './errors.ts';
import { errorFromData, type ErrorData } from './job_errors.ts';

/** A job as it goes to a worker. */
export interface JobOrder {
  readonly id: number;
  readonly module: string;
  readonly name: string;
  readonly input: unknown;
}

/** What comes back: an output or an error. */
export interface JobAnswer {
  readonly id: number;
  readonly output?: unknown;
  readonly error?: ErrorData;
}

interface Waiting {
  readonly order: JobOrder;
  readonly errors: readonly ErrorClass[];
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The built twin of a module. This file lies in `<root>/src/io` or `<root>/dist/io`; a module under `<root>/src` maps to
 * the same path under `<root>/dist`, any other is taken as it is.
 */
export function builtModule(moduleUrl: string, poolUrl: string = import.meta.url): string {
  const root = new URL('../..', poolUrl).href;
  const source = `${root}src/`;
  const bare = moduleUrl.split('?')[0]!;
  if (!bare.startsWith(source)) return bare;
  return `${root}dist/${bare.slice(source.length).replace(/\.ts$/, '.js')}`;
}

const ENTRY = builtModule(new URL('./worker_main.ts', import.meta.url).href);

function workerEntry(): URL {
  // Run from dist, this file's neighbour is already called .js.
  const entry = new URL(ENTRY.replace(/\.ts$/, '.js'));
  if (!existsSync(fileURLToPath(entry))) {
    const advice = 'build the project first (npm run build)';
    throw new JobFailedException(`no worker at ${entry.pathname}: ${advice}`, 'Error');
  }
  return entry;
}

/**
 * New objects of a worker: it works on bytes and has few. Memory that it shares with the main thread (memstores that were
 * flushed) is given back at its next collection only, and they come the more often the smaller this is.
 */
const WORKER_YOUNG_MIB = 4;
/**
 * An idle worker is stopped: a started one takes 20 to 50 MiB, and what its last job has read stays until then. Not sooner than the
 * next flush comes under a steady load of a few MiB a second: a fresh worker compiles everything anew, which takes as long
 * as a flush itself.
 */
const IDLE_MS = 8_000;

/** One worker and the job it is at. */
class PooledWorker {
  readonly thread: Worker;
  job: Waiting | null = null;
  idle: NodeJS.Timeout | null = null;
  constructor(thread: Worker) {
    this.thread = thread;
  }
}

/** An idle pool does not keep the process alive; a running job does. Jobs start in the order of their calls. */
export class WorkerPool implements Executor {
  readonly #workersMax: number;
  readonly #idleMs: number;
  readonly #workers = new Set<PooledWorker>();
  readonly #ending = new Set<Promise<unknown>>();
  readonly #queue: Waiting[] = [];
  #nextId = 1;
  #whenIdle: (() => void)[] = [];

  /** A worker that has had nothing to do for `idleMs` is stopped; the next job starts another. */
  constructor(workersMax: number, idleMs: number = IDLE_MS) {
    invariant(workersMax >= 1, 'a pool has at least one worker', workersMax);
    this.#workersMax = workersMax;
    this.#idleMs = idleMs;
  }

  /** Threads that are there now. */
  get workerCount(): number {
    return this.#workers.size;
  }

  async run<Input, Output>(job: Job<Input, Output>): Promise<Output> {
    const order: JobOrder = {
      id: this.#nextId++,
      module: builtModule(job.module),
      name: job.run.name,
      input: job.input,
    };
    const output = await new Promise((resolve, reject) => {
      this.#queue.push({ order, errors: job.errors ?? [], resolve, reject });
      this.#startNext();
    });
    // The worker ran `job.run` itself, whose type says so.
    return output as Output;
  }

  async close(): Promise<void> {
    while (this.#isBusy()) {
      await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    }
    for (const worker of this.#workers) this.#stop(worker);
    await Promise.all(this.#ending);
  }

  #stop(worker: PooledWorker): void {
    this.#workers.delete(worker);
    if (worker.idle !== null) clearTimeout(worker.idle);
    const ended = worker.thread.terminate().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  #isBusy(): boolean {
    return this.#queue.length > 0 || [...this.#workers].some((worker) => worker.job !== null);
  }

  #startNext(): void {
    const waiting = this.#queue[0];
    if (waiting === undefined) {
      if (!this.#isBusy()) for (const tell of this.#whenIdle.splice(0)) tell();
      return;
    }
    let worker = [...this.#workers].find((other) => other.job === null);
    if (worker === undefined && this.#workers.size >= this.#workersMax) return;
    this.#queue.shift();
    try {
      worker ??= this.#startWorker();
      worker.thread.postMessage(waiting.order);
      worker.job = waiting;
      if (worker.idle !== null) clearTimeout(worker.idle);
      worker.thread.ref();
    } catch (error) {
      // No worker, or an input that cannot be cloned: this job's failure alone.
      waiting.reject(error instanceof Error ? error : new Error(String(error)));
      this.#startNext();
    }
  }

  #startWorker(): PooledWorker {
    // Flags of the main thread (loaders, inspectors, test runners) are not for workers.
    const resourceLimits = { maxYoungGenerationSizeMb: WORKER_YOUNG_MIB };
    const worker = new PooledWorker(new Worker(workerEntry(), { execArgv: [], resourceLimits }));
    this.#workers.add(worker);
    worker.thread.on('message', (answer: JobAnswer) => this.#finish(worker, answer));
    worker.thread.on('error', (error: Error) => this.#lose(worker, error));
    worker.thread.on('exit', (status: number) =>
      this.#lose(worker, new Error(`the worker exited with status ${status}`)),
    );
    worker.thread.unref();
    return worker;
  }

  #finish(worker: PooledWorker, answer: JobAnswer): void {
    const job = worker.job;
    if (job === null || job.order.id !== answer.id) return;
    worker.job = null;
    worker.thread.unref();
    if (answer.error === undefined) job.resolve(answer.output);
    else job.reject(errorFromData(answer.error, job.errors));
    this.#startNext();
    if (worker.job === null) {
      worker.idle = setTimeout(() => this.#stop(worker), this.#idleMs).unref();
    }
  }

  #lose(worker: PooledWorker, error: Error): void {
    this.#workers.delete(worker);
    if (worker.idle !== null) clearTimeout(worker.idle);
    const job = worker.job;
    worker.job = null;
    const message = `the worker of job ${job?.order.name ?? ''} died: ${error.message}`;
    job?.reject(new JobFailedException(message, error.name, { cause: error }));
    this.#startNext();
  }
}
