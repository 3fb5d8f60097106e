/** `serve` in process: the host around it is a fake, the store and the sockets are real. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runServe } from '../../src/cli/serve.ts';
import type { ServeHost, ServeOptions } from '../../src/cli/serve.ts';
import { open } from '../../src/engine/index.ts';
import { FolderLockedException, realEnv } from '../../src/io/index.ts';
import { BindException } from '../../src/server/index.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'cellar-serve-')).replaceAll('\\', '/');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const OPTIONS: ServeOptions = {
  demo: false,
  httpPort: 0,
  host: '127.0.0.1',
  json: true,
  logLevel: 'silent',
};

interface Ready {
  readonly ready: boolean;
  readonly http: string;
  readonly data: string | null;
  readonly durability: string;
  readonly reallySyncs: boolean | null;
}

/** A running command: its texts, and how to stop it. */
class Run {
  out = '';
  err = '';
  exited: number | null = null;
  /** Null: nobody watches it. */
  endInput: (() => void) | null = null;
  readonly status: Promise<number>;
  readonly #ready: Promise<Ready>;
  #stop: () => void = () => undefined;

  constructor(options: Partial<ServeOptions>) {
    let ready: (line: Ready) => void;
    this.#ready = new Promise((resolve) => (ready = resolve));
    const host: ServeHost = {
      env: realEnv({ workersMax: 0 }),
      open,
      stdout: {
        write: (text) => {
          this.out += text;
          ready(JSON.parse(text) as Ready);
        },
      },
      stderr: { write: (text) => (this.err += text) },
      terminal: null,
      onStop: (task) => {
        this.#stop = task;
        return () => (this.#stop = () => undefined);
      },
      onInputEnd: (task) => {
        this.endInput = task;
        return () => (this.endInput = null);
      },
      exit: (status) => (this.exited = status),
      program: 'cellar',
    };
    this.status = runServe({ ...OPTIONS, ...options }, host);
  }

  stop(): void {
    this.#stop();
  }

  /** Settles when the ready line is there; throws what kept it from coming. */
  ready(): Promise<Ready> {
    return Promise.race([
      this.#ready,
      this.status.then((): Ready => {
        throw new Error(`ended before it was ready: ${this.err}`);
      }),
    ]);
  }
}

test('one line when ready, a banner beside it, a clean end', async () => {
  const run = new Run({ dir, demo: true });
  const ready = await run.ready();
  expect(run.out.split('\n')).toHaveLength(2);
  expect(ready).toMatchObject({ ready: true, durability: 'FSYNC_WAL' });
  expect(ready.data).toContain(path.basename(dir));
  expect(typeof ready.reallySyncs).toBe('boolean');
  expect((await fetch(`${ready.http}/health`)).status).toBe(200);
  run.stop();
  expect(await run.status).toBe(0);
  expect(run.exited).toBeNull();
  await expect(fetch(`${ready.http}/health`)).rejects.toThrow();
  expect(run.err).toContain('FSYNC_WAL: a commit is on the disk before its answer');
  expect(run.err).toMatch(/medium +a write with its sync takes \d+\.\d{3} ms/);
  expect(run.err).toMatch(/holds +quakes: 2,367 rows/);
  expect(run.err).toContain(`cellar count quakes --data ${dir}`);
  expect(run.err).toContain(ready.http);
  expect(run.err).toMatch(/^stopped/m);

  const again = new Run({ dir, demo: true });
  await again.ready();
  again.stop();
  expect(await again.status).toBe(0);
  expect(again.err).not.toContain('loading earthquakes');
  expect(again.err).toMatch(/holds +quakes: 2,367 rows/);
});

test('the end of standard input stops it where that is asked for', async () => {
  const run = new Run({ stopWithInput: true });
  await run.ready();
  run.endInput!();
  expect(await run.status).toBe(0);
  expect(run.err).toMatch(/^stopped/m);
  expect(run.endInput).toBeNull();
  const other = new Run({});
  await other.ready();
  expect(other.endInput).toBeNull();
  other.stop();
  expect(await other.status).toBe(0);
});

test('without a folder the store is in memory, and it says what that means', async () => {
  const run = new Run({});
  const ready = await run.ready();
  expect(ready.data).toBeNull();
  expect(ready.reallySyncs).toBeNull();
  run.stop();
  expect(await run.status).toBe(0);
  expect(run.err).toContain('gone when the process ends');
});

test('a second request to stop ends the process at once', async () => {
  const run = new Run({ dir });
  await run.ready();
  run.stop();
  run.stop();
  expect(run.exited).toBe(130);
  await run.status;
});

test('a stop while the demo is loading closes the store', async () => {
  const run = new Run({ dir, demo: true });
  run.stop();
  expect(await run.status).toBe(0);
  expect(run.out).toBe('');
  await (await open(dir)).close();
});

test('a port in use: named, and the folder is free again', async () => {
  const first = new Run({});
  const { http } = await first.ready();
  const httpPort = Number(new URL(http).port);
  const second = new Run({ dir, httpPort });
  await expect(second.status).rejects.toThrow(BindException);
  await expect(second.status).rejects.toThrow(`port ${httpPort} on 127.0.0.1 is in use`);
  await (await open(dir)).close();
  first.stop();
  await first.status;
});

test('a folder in use: the error names the holder and its address', async () => {
  const first = new Run({ dir });
  const { http } = await first.ready();
  const second = new Run({ dir });
  await expect(second.status).rejects.toThrow(FolderLockedException);
  await expect(second.status).rejects.toMatchObject({
    holderPid: process.pid,
    holderAddress: http,
  });
  first.stop();
  await first.status;
});
