/**
 * The entry of a worker thread. Started by `WorkerPool` only, from the built output: from one file with all jobs in it where
 * the build has made it (scripts/bundle.mjs), which spares two thirds of the time, else from the modules.
 */
import { fileURLToPath } from 'node:url';
import { runCompiled } from './compiled_program.ts';
import type { WorkerOptions } from './worker_jobs.ts';

/** What the file of jobs exports. */
interface JobsBundle {
  readonly serveJobs: (options: WorkerOptions) => void;
  /** By the modules' paths below the bundle's root. */
  readonly modules: Readonly<Record<string, object>>;
}

const root = new URL('../', import.meta.url);
const bundle =
  process.env['CELLAR_BUNDLE'] === 'off'
    ? null
    : runCompiled(fileURLToPath(new URL('bundle/jobs.cjs', root)));
if (bundle === null) {
  const { serveJobs } = await import('./worker_jobs.ts');
  serveJobs();
} else {
  const { serveJobs, modules } = bundle.exports as JobsBundle;
  const byUrl = Object.entries(modules).map(
    ([path, module]) => [new URL(path, root).href, module] as const,
  );
  // Threads are stopped without notice, so what the first job has compiled is kept after it.
  serveJobs({ modules: new Map(byUrl), onAnswered: () => bundle.keepCode(1) });
}
