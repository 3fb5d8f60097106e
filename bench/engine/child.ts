/**
 * One store, one workload, one process. The request is the only argument (JSON); the last line on standard output is the
 * answer. Phase `load` makes a dataset and closes the store; `fill` fills the store, says so and waits to be killed.
 */
import { DATASETS, loadRows, rowsIn } from './datasets.ts';
import { measureLimits } from './limits.ts';
import type { Limits } from './limits.ts';
import { loadPeer, peerVersion } from './peers.ts';
import { VALUE_LENGTH } from './rows.ts';
import { SHIPPED_MEMORY } from './subject.ts';
import type { OpenRequest } from './subject.ts';
import { builtModule } from './subjects/cellar.ts';
import { SUBJECTS } from './subjects/index.ts';
import type { Measure, RunSettings } from './workload.ts';
import { cutsOf } from './growth_keys.ts';
import { WORKLOADS } from './workloads/index.ts';

export type ChildRequest = StoreRequest | LimitsRequest;

interface LimitsRequest {
  readonly phase: 'limits';
  readonly dir: string;
  /** Of each limit. */
  readonly ms: number;
}

interface StoreRequest {
  readonly subject: string;
  /** Of a workload, or in phase `load` of a dataset. */
  readonly id: string;
  readonly phase: 'run' | 'fill' | 'load';
  readonly settings: RunSettings;
}

export type ChildAnswer =
  | { readonly ok: true; readonly measure: Measure; readonly rssBytes: number }
  | { readonly ok: true; readonly rowsPerSecond: number }
  | { readonly ok: true; readonly limits: Limits }
  | { readonly ok: false; readonly unsupported: boolean; readonly reason: string };

async function loadDataset({ subject: name, id, settings }: StoreRequest): Promise<ChildAnswer> {
  const dataset = DATASETS.get(id)!;
  const subject = await SUBJECTS.get(name)!({
    ...dataset.memory(settings),
    dir: settings.dir,
    reopen: false,
    unflushed: false,
    autoCompact: dataset.autoCompact,
    splits: dataset.splits?.(settings) ?? [],
    versions: dataset.versions?.(settings) ?? 1,
    rows: 0,
    valueLength: VALUE_LENGTH,
  });
  const start = performance.now();
  await dataset.fill(subject, settings);
  const seconds = (performance.now() - start) / 1000;
  await subject.close();
  return { ok: true, rowsPerSecond: dataset.rows(settings) / seconds };
}

/** The code of the store is loaded before its opening is timed. */
async function loadCode(name: string): Promise<void> {
  if (name === 'cellar') await builtModule('index.js');
  else if (peerVersion(name) !== null) loadPeer(name);
}

async function runWorkload(request: StoreRequest): Promise<ChildAnswer> {
  const { settings } = request;
  const workload = WORKLOADS.find(({ id }) => id === request.id)!;
  const dataset = workload.data === undefined ? null : DATASETS.get(workload.data)!;
  const open: OpenRequest = {
    ...(workload.memory?.(settings) ?? SHIPPED_MEMORY),
    dir: settings.dir,
    reopen: dataset !== null || (workload.reopens === true && request.phase === 'run'),
    unflushed: workload.reopens === true,
    autoCompact: workload.autoCompact ?? true,
    splits: workload.regions === undefined ? [] : cutsOf(workload.regions),
    versions: workload.versions?.(settings) ?? 1,
    rows: dataset?.rows(settings) ?? 0,
    valueLength: workload.valueLength?.(settings) ?? VALUE_LENGTH,
  };
  await loadCode(request.subject);
  const start = performance.now();
  const subject = await SUBJECTS.get(request.subject)!(open);
  const openMs = performance.now() - start;
  if (!workload.supports(subject)) {
    await subject.close();
    return { ok: false, unsupported: true, reason: 'it has no such call' };
  }
  if (request.phase === 'fill') {
    const total = rowsIn(settings.unflushedBytes);
    await loadRows(subject, { from: 0, to: total, total });
    return { ok: true, rowsPerSecond: 0 };
  }
  const measured = await workload.run(subject, settings);
  const rssBytes = process.memoryUsage().rss;
  await subject.close();
  const measure =
    workload.countsOpening === true
      ? { ...measured, value: measured.value + openMs, details: { openMs, ...measured.details } }
      : measured;
  return { ok: true, measure, rssBytes };
}

async function answerOf(request: ChildRequest): Promise<ChildAnswer> {
  if (request.phase === 'limits') {
    return { ok: true, limits: await measureLimits(request.dir, request.ms) };
  }
  return request.phase === 'load' ? loadDataset(request) : runWorkload(request);
}

const request = JSON.parse(process.argv[2]!) as ChildRequest;
let told: ChildAnswer;
try {
  told = await answerOf(request);
} catch (error) {
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  told = { ok: false, unsupported: false, reason };
}
process.stdout.write(`${JSON.stringify(told)}\n`, () => {
  if (request.phase !== 'fill') process.exit(0);
});
// Phase `fill`: stay until killed, or until the parent has gone.
if (request.phase === 'fill') process.stdin.on('end', () => process.exit(0)).resume();
