/** The machine's errors as ours, timers and chance of the machine, and the measure of a medium. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import {
  DiskFullException,
  IoException,
  measureSync,
  realEnv,
  simEnv,
} from '../../src/io/index.ts';
import { toIoException } from '../../src/io/real_errors.ts';

const IO = pathToFileURL(path.resolve(import.meta.dirname, '../../dist/io/index.js')).href;
const dir = mkdtempSync(path.join(tmpdir(), 'cellar-real-'));
const env = realEnv();
afterAll(() => rmSync(dir, { recursive: true }));

test.each([
  { system: 'ENOSPC', code: 'DiskFullException', retryable: true },
  { system: 'EDQUOT', code: 'DiskFullException', retryable: true },
  { system: 'EROFS', code: 'ReadOnlyException', retryable: false },
  { system: 'EACCES', code: 'ReadOnlyException', retryable: false },
  { system: 'EPERM', code: 'ReadOnlyException', retryable: false },
  { system: 'ENOENT', code: 'FileNotFoundException', retryable: false },
  { system: 'EIO', code: 'IoException', retryable: false },
])('$system is $code', ({ system, code, retryable }) => {
  const cause = Object.assign(new Error(`${system}: text`), { code: system });
  const error = toIoException(cause, 'write', '/data/f');
  expect(error).toMatchObject({ code, retryable, path: '/data/f', name: code, cause });
  expect(error).toBeInstanceOf(IoException);
  expect(error.message).toBe(`cannot write /data/f: ${system}: text`);
  expect(toIoException(error, 'again', '/x')).toBe(error);
});

test.runIf(existsSync('/dev/full'))('a full device', async () => {
  const handle = await env.fs.open('/dev/full', 'write');
  await expect(handle.write(new Uint8Array(10), 0)).rejects.toBeInstanceOf(DiskFullException);
  expect(() => handle.writeSync(new Uint8Array(10), 0)).toThrow(DiskFullException);
  await handle.close();
});

test.runIf(process.platform !== 'win32')('a folder without the right to write', () => {
  const denied = mkdtempSync(path.join(tmpdir(), 'cellar-denied-'));
  chmodSync(denied, 0o555);
  const script = path.join(import.meta.dirname, 'fixtures/write_denied.mjs');
  const { stdout } = spawnSync(process.execPath, [script, IO, denied], { encoding: 'utf8' });
  rmSync(denied, { recursive: true });
  expect(stdout.trim()).toBe('ReadOnlyException ReadOnlyException ReadOnlyException');
});

test('a medium is measured and left as it was', async () => {
  const { medianMs, reallySyncs } = await measureSync(env, dir);
  expect(medianMs).toBeGreaterThan(0);
  expect(reallySyncs).toBe(medianMs >= 0.02);
  expect(readdirSync(dir)).toEqual([]);
  const sim = simEnv({ seed: 1 });
  // Synchronous operations take no virtual time: a disk that does not sync.
  const measured = await sim.drive(measureSync(sim, '/'));
  expect(measured).toEqual({ medianMs: 0, reallySyncs: false });
});

test('timers fire, can be cancelled, and bear any duration', async () => {
  const seen: string[] = [];
  const far = env.timers.after(2 ** 40, () => seen.push('far'));
  env.timers.after(1, () => seen.push('cancelled')).cancel();
  await new Promise<void>((resolve) => {
    env.timers.after(2, () => {
      seen.push('after');
      env.timers.soon(resolve);
    });
  });
  await env.timers.sleep(1);
  far.cancel();
  expect(seen).toEqual(['after']);
});

test('chance and clock of the machine', () => {
  expect(env.random.bytes(16).length).toBe(16);
  expect(env.random.int(1)).toBe(0);
  expect(env.random.int(2 ** 32)).toBeLessThan(2 ** 32);
  expect(Number.isInteger(env.clock.nowMs())).toBe(true);
  expect(env.clock.monotonicMs()).toBeLessThanOrEqual(env.clock.monotonicMs());
});
