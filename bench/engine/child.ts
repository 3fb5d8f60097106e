/**
 * One store, one workload, one process. The request is the only argument (JSON); the last line on standard output is the
 * answer. Phase `fill` fills the store, says so and waits to be killed.
 */
import type { Subject } from './subject.ts';
import { Values, keysUpTo } from './rows.ts';
import { SUBJECTS } from './subjects/index.ts';
import { WORKLOADS } from './workloads/index.ts';
import { rowsOf } from './workloads/trouble.ts';
import type { Measure, RunSettings } from './workload.ts';

export interface ChildRequest {
  readonly subject: string;
  readonly workload: string;
  readonly phase: 'run' | 'fill';
  readonly settings: RunSettings;
}

export type ChildAnswer =
  | { readonly ok: true; readonly measure: Measure; readonly rssBytes: number }
  | { readonly ok: true; readonly filled: true }
  | { readonly ok: false; readonly unsupported: boolean; readonly reason: string };

const LOAD_BATCH = 1000;

async function load(subject: Subject, rows: number): Promise<void> {
  const keys = keysUpTo(rows);
  const values = new Values();
  for (let at = 0; at < rows; at += LOAD_BATCH) {
    const batch = keys.slice(at, at + LOAD_BATCH);
    await subject.putBatch(
      batch,
      batch.map(() => values.next()),
    );
  }
}

async function answer(request: ChildRequest): Promise<ChildAnswer> {
  const { settings } = request;
  const workload = WORKLOADS.find(({ id }) => id === request.workload)!;
  const reopens = workload.reopens === true;
  const start = performance.now();
  const subject = await SUBJECTS.get(request.subject)!({
    dir: settings.dir,
    reopen: reopens && request.phase === 'run',
    unflushed: reopens,
  });
  const openMs = performance.now() - start;
  if (!workload.supports(subject)) {
    await subject.close();
    return { ok: false, unsupported: true, reason: 'it has no such call' };
  }
  if (request.phase === 'fill') {
    await load(subject, rowsOf(settings.unflushedBytes));
    return { ok: true, filled: true };
  }
  if (workload.loaded) await load(subject, settings.rows);
  const measured = await workload.run(subject, settings);
  const rssBytes = process.memoryUsage().rss;
  await subject.close();
  const measure = reopens ? { ...measured, value: measured.value + openMs } : measured;
  return { ok: true, measure, rssBytes };
}

const request = JSON.parse(process.argv[2]!) as ChildRequest;
let told: ChildAnswer;
try {
  told = await answer(request);
} catch (error) {
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  told = { ok: false, unsupported: false, reason };
}
process.stdout.write(`${JSON.stringify(told)}\n`, () => {
  if (request.phase === 'run') process.exit(0);
});
// Phase `fill`: stay until killed, or until the parent has gone.
if (request.phase === 'fill') process.stdin.on('end', () => process.exit(0)).resume();
