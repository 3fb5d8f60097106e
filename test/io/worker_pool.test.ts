/** Jobs on real worker threads, started from the built output (`npm test` builds first). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import {
  CorruptionException,
  FileNotFoundException,
  InvariantError,
  type IoException,
  JobFailedException,
  realEnv,
  StoreException,
  type ErrorClass,
} from '../../src/io/index.ts';
import { errorFromData, errorToData } from '../../src/io/job_errors.ts';
import { WorkerPool, builtModule } from '../../src/io/worker_pool.ts';

const MODULE = pathToFileURL(path.join(import.meta.dirname, 'fixtures/jobs.mjs')).href;
const dir = mkdtempSync(path.join(tmpdir(), 'cellar-jobs-'));
const env = realEnv();

afterAll(async () => {
  await env.executor.close();
  rmSync(dir, { recursive: true });
});

/** The worker calls the export of this name; the function itself is not called here. */
function call<Output>(
  name: string,
  input: unknown,
  errors: readonly ErrorClass[] = [],
): Promise<Output> {
  const run = { [name]: (): Promise<Output> => Promise.reject(new Error('inline')) }[name]!;
  return env.executor.run({ module: MODULE, run, input, errors });
}

class TooBusy extends StoreException {
  readonly code: string = 'TooBusy';
  readonly retryable: boolean = true;
  readonly region: string;
  constructor(region: string) {
    super(`region ${region} is too busy`);
    this.region = region;
  }
  describe(): string {
    return `busy ${this.region}`;
  }
}

describe('the pool', () => {
  test('runs a job in another thread and gives its result', async () => {
    const { total, threadId } = await call<{ total: number; threadId: number }>('sum', {
      numbers: [1, 2, 39],
    });
    expect(total).toBe(42);
    expect(threadId).toBeGreaterThan(0);
  });

  test('shares shared memory', async () => {
    const shared = new SharedArrayBuffer(1000);
    await call('fill', { shared });
    expect(new Uint8Array(shared).every((byte) => byte === 7)).toBe(true);
  });

  test('runs as many jobs at once as there are workers, in order, and closes when they are done', async () => {
    const gate = new SharedArrayBuffer(8);
    const flags = new Int32Array(gate);
    const jobs = [0, 1, 2, 3].map((index) =>
      call<{ index: number; threadId: number }>('waitFor', { gate, index }),
    );
    while (Atomics.load(flags, 1) < 2) await env.timers.sleep(1);
    const closed = env.executor.close();
    Atomics.store(flags, 0, 1);
    Atomics.notify(flags, 0);
    const results = await Promise.all(jobs);
    await closed;
    expect(results.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(new Set(results.map(({ threadId }) => threadId)).size).toBe(2);
    expect(await call<{ total: number }>('sum', { numbers: [5] })).toMatchObject({ total: 5 });
  });

  test('gives errors of io back as themselves', async () => {
    const file = `${dir}/none`;
    const error: unknown = await call('readAbsent', { path: file }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(FileNotFoundException);
    expect(error).toMatchObject({ code: 'FileNotFoundException', path: file, retryable: false });
    expect((error as IoException).cause).toMatchObject({ code: 'ENOENT' });
    expect((error as IoException).stack).toContain('none');
  });

  test('gives declared errors back as themselves and others as a failed job', async () => {
    const fields = { code: 'TooBusy', region: 'r1', retryable: true };
    const input = { name: 'TooBusy', fields };
    const mine: unknown = await call('failWith', input, [TooBusy]).catch((e: unknown) => e);
    expect(mine).toBeInstanceOf(TooBusy);
    expect((mine as TooBusy).describe()).toBe('busy r1');
    const other: unknown = await call('failWith', input).catch((e: unknown) => e);
    expect(other).toBeInstanceOf(JobFailedException);
    expect(other).toMatchObject({ causeName: 'TooBusy' });
    await expect(call('failWith', { name: 'TypeError' })).rejects.toMatchObject({
      code: 'JobFailedException',
      causeName: 'TypeError',
    });
  });

  test('names what is wrong with a job: no such export, results and inputs that cannot be cloned', async () => {
    await expect(call('missing', {})).rejects.toBeInstanceOf(InvariantError);
    await expect(call('uncloneable', {})).rejects.toMatchObject({ causeName: 'DataCloneError' });
    await expect(call('sum', { f: () => 1 })).rejects.toThrow('could not be cloned');
    expect(await call<{ total: number }>('sum', { numbers: [5] })).toMatchObject({ total: 5 });
  });

  test('survives a worker that dies', async () => {
    await expect(call('die', {})).rejects.toMatchObject({ code: 'JobFailedException' });
    expect(await call<{ total: number }>('sum', { numbers: [6] })).toMatchObject({ total: 6 });
  });

  test('stops a worker that has nothing to do, and starts another for the next job', async () => {
    const pool = new WorkerPool(1, 0);
    const sum = (): Promise<{ threadId: number }> =>
      pool.run({
        module: MODULE,
        run: { sum: (): Promise<{ threadId: number }> => Promise.reject(new Error('inline')) }.sum,
        input: { numbers: [1] },
      });
    const first = await sum();
    while (pool.workerCount > 0) await env.timers.sleep(1);
    const second = await sum();
    expect(second.threadId).toBeGreaterThan(first.threadId);
    await pool.close();
    expect(pool.workerCount).toBe(0);
  });

  test('a job that starts a job has it run in its own worker', async () => {
    const input = { numbers: [1, 2], module: MODULE };
    const result = await call<{ total: number; threadId: number }>('nested', input);
    expect(result.total).toBe(3);
    expect(result.threadId).toBeGreaterThan(0);
  });
});

test.each([
  { of: 'file:///a/src/hfile/flush.ts', is: 'file:///a/dist/hfile/flush.js' },
  { of: 'file:///a/src/hfile/flush.ts?v=1', is: 'file:///a/dist/hfile/flush.js' },
  { of: 'file:///a/dist/hfile/flush.js', is: 'file:///a/dist/hfile/flush.js' },
  { of: 'file:///a/test/jobs.mjs', is: 'file:///a/test/jobs.mjs' },
  { of: 'file:///b/src/x.ts', is: 'file:///b/src/x.ts' },
])('the built twin of $of', ({ of, is }) => {
  expect(builtModule(of, 'file:///a/src/io/worker_pool.ts')).toBe(is);
});

test('errors keep class, fields, text and causes through plain data', () => {
  const error = new CorruptionException('bad checksum', '/wal/1', 4096, {
    cause: new RangeError('why'),
  });
  const copy = errorFromData(structuredClone(errorToData(error)));
  expect(copy).toBeInstanceOf(CorruptionException);
  expect(copy).toMatchObject({ path: '/wal/1', offset: 4096, code: 'CorruptionException' });
  expect(copy.message).toBe('bad checksum in /wal/1 at offset 4096');
  expect(copy.name).toBe('CorruptionException');
  expect(copy.cause).toMatchObject({ name: 'RangeError', message: 'why' });
  expect(copy.stack).toBe(error.stack);
  expect(errorFromData(errorToData(new InvariantError('x')))).toBeInstanceOf(InvariantError);
  expect(errorFromData(errorToData('thrown text')).message).toContain('thrown text');
});
