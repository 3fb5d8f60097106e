/** Runs one store on one workload in a process of its own, in a folder of its own or on a dataset that was loaded before. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { ChildAnswer, ChildRequest } from './child.ts';
import { ROOT } from './peers.ts';
import { datasetOf } from './plan.ts';
import type { Sizes, Workload } from './workload.ts';

const CHILD = path.join(import.meta.dirname, 'child.js');
/** On the repository's disk: a temporary folder may be a RAM disk. */
export const SCRATCH: string = path.join(ROOT, 'bench', 'peers', 'dist', 'scratch');
const TIME_MAX_MS = 3_600_000;

/** The datasets that are there, by store and name. */
export class Datasets {
  readonly #loaded: Map<string, Promise<ChildAnswer>> = new Map();
  readonly #dirs: Map<string, { readonly subject: string; readonly dataset: string }> = new Map();
  readonly #sizes: Sizes;
  readonly #log: (line: string) => void;

  constructor(sizes: Sizes, log: (line: string) => void) {
    this.#sizes = sizes;
    this.#log = log;
    rmSync(SCRATCH, { recursive: true, force: true });
  }

  dirOf(subject: string, id: string): string {
    return path.join(SCRATCH, `data-${datasetOf(subject, id)}-${subject}`);
  }

  /** Loads it, once; `bare` keeps nothing. */
  load(subject: string, id: string): Promise<ChildAnswer> {
    if (subject === 'bare') return Promise.resolve({ ok: true, rowsPerSecond: 0 });
    const dir = this.dirOf(subject, id);
    const loading = this.#loaded.get(dir) ?? this.#load(subject, datasetOf(subject, id), dir);
    this.#loaded.set(dir, loading);
    this.#dirs.set(dir, { subject, dataset: datasetOf(subject, id) });
    return loading;
  }

  async #load(subject: string, id: string, dir: string): Promise<ChildAnswer> {
    mkdirSync(dir, { recursive: true });
    const start = performance.now();
    const settings = { ...this.#sizes, dir, cellarDir: '', loadedPerSecond: 0 };
    const answer = await ask({ subject, id, phase: 'load', settings });
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    this.#log(`rows '${id}' of ${subject}: ${answer.ok ? `loaded in ${seconds} s` : 'not loaded'}`);
    return answer;
  }

  /** After a workload on `id`: frees what none of the later workloads' datasets needs. */
  dropUnneeded(id: string, later: readonly (string | undefined)[]): void {
    for (const [dir, { subject, dataset }] of this.#dirs) {
      const isOf = (data: string | undefined): boolean =>
        data !== undefined && datasetOf(subject, data) === dataset;
      if (!isOf(id) || later.some(isOf)) continue;
      rmSync(dir, { recursive: true, force: true });
      this.#loaded.delete(dir);
      this.#dirs.delete(dir);
    }
  }
}

/** With `profileDir` the process of the workload leaves a CPU profile there. */
export async function runChild(
  workload: Workload,
  subject: string,
  sizes: Sizes,
  datasets: Datasets,
  profileDir: string | null = null,
): Promise<ChildAnswer> {
  const { data, id } = workload;
  let loadedPerSecond = 0;
  if (data !== undefined) {
    const loaded = await datasets.load(subject, data);
    if (!loaded.ok) return loaded;
    if ('rowsPerSecond' in loaded) loadedPerSecond = loaded.rowsPerSecond;
  }
  const own = path.join(SCRATCH, `${id}-${subject}`);
  const isOwn = data === undefined || subject === 'bare';
  const dir = isOwn ? own : datasets.dirOf(subject, data);
  const cellarDir = data === undefined ? '' : datasets.dirOf('cellar', data);
  const settings = { ...sizes, dir, cellarDir, loadedPerSecond };
  mkdirSync(dir, { recursive: true });
  try {
    if (workload.reopens === true) {
      const filled = await ask({ subject, id, phase: 'fill', settings });
      if (!filled.ok) return filled;
    }
    return await ask({ subject, id, phase: 'run', settings }, profileDir);
  } finally {
    if (isOwn) rmSync(dir, { recursive: true, force: true });
  }
}

/** The limits of the machine, on the disk of the runs. */
export async function runLimits(ms: number): Promise<ChildAnswer> {
  const dir = path.join(SCRATCH, 'limits');
  mkdirSync(dir, { recursive: true });
  try {
    return await ask({ phase: 'limits', dir, ms });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** In phase `fill` the child is killed as soon as it has answered. */
async function ask(request: ChildRequest, profileDir: string | null = null): Promise<ChildAnswer> {
  const profiling = profileDir === null ? [] : ['--cpu-prof', '--cpu-prof-dir', profileDir];
  // The collector may be called, so that what is left of loading does not count as memory in use.
  const given = [...profiling, '--expose-gc', CHILD, JSON.stringify(request)];
  const child = spawn(process.execPath, given, {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), TIME_MAX_MS);
  const closed = once(child, 'close');
  try {
    return await firstLine(child);
  } finally {
    clearTimeout(timer);
    if (request.phase === 'fill') child.kill('SIGKILL');
    await closed;
  }
}

function firstLine(child: ChildProcess): Promise<ChildAnswer> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout!.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      const lineEnd = text.indexOf('\n');
      if (lineEnd >= 0) resolve(JSON.parse(text.slice(0, lineEnd)) as ChildAnswer);
    });
    child.on('close', (code, signal) => {
      const reason = `the process ended without an answer (${signal ?? code})`;
      resolve({ ok: false, unsupported: false, reason });
    });
  });
}
