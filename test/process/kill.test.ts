/**
 * A real process that writes, killed with SIGKILL at random moments, again and again on one folder. What it acknowledged
 * with FSYNC_WAL or SYNC_WAL is there, counters are exact, a repeated nonce counts once, stamps grow.
 * CELLAR_KILLS sets how often; the built output is what runs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';

const KILLS = Number(process.env['CELLAR_KILLS'] ?? 8);
const WRITER = path.join(import.meta.dirname, 'fixtures/writer.mjs');
const DIST = path.resolve(import.meta.dirname, '../../dist/index.js');

let top: string;
let dir: string;

beforeAll(() => {
  top = mkdtempSync(path.join(os.tmpdir(), 'cellar-kill-'));
  dir = path.join(top, 'data');
});

afterAll(() => rmSync(top, { recursive: true }));

/** What all runs so far were told. */
class Told {
  /** Rows that must be there. */
  readonly rows = new Set<string>();
  /** Rows that may be there. */
  readonly weak = new Set<string>();
  readonly tried = new Set<bigint>();
  readonly counted = new Map<bigint, { tso: bigint; value: bigint }>();
  greatestTso = 0n;
  /** Greatest stamp before the run that is read now. */
  #floor = 0n;

  take(lines: readonly string[]): void {
    this.#floor = this.greatestTso;
    for (const line of lines) {
      const [kind, name = '', ...rest] = line.split(' ');
      if (kind === 'ready') this.#see(BigInt(name));
      else if (kind === 'try') this.tried.add(BigInt(name));
      else if (kind === 'count') {
        const [tso, value] = rest.map(BigInt) as [bigint, bigint];
        this.#see(tso);
        this.counted.set(BigInt(name), { tso, value });
      } else {
        expect(kind).toBe('put');
        this.#see(BigInt(rest[0]!));
        const isStrong = name.startsWith('FSYNC_WAL') || name.startsWith('SYNC_WAL');
        (isStrong ? this.rows : this.weak).add(name);
      }
    }
  }

  #see(tso: bigint): void {
    expect(tso, 'a stamp of a later run is above all of those before').toBeGreaterThan(this.#floor);
    if (tso > this.greatestTso) this.greatestTso = tso;
  }
}

/** Runs a writer, kills it some milliseconds after it is ready, and gives its whole lines. */
async function runAndKill(run: number, afterMs: number): Promise<string[]> {
  const child = spawn(process.execPath, [WRITER, DIST, dir, String(run)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  const isReady = new Promise<void>((resolve) => {
    child.stdout.on('data', (data: Buffer) => {
      text += data.toString();
      if (text.includes('\n')) resolve();
    });
  });
  const ended = once(child, 'close');
  await Promise.race([isReady, ended]);
  expect(child.exitCode, 'the writer runs until it is killed').toBeNull();
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill('SIGKILL');
  await ended;
  expect(child.signalCode).toBe('SIGKILL');
  return text.slice(0, text.lastIndexOf('\n')).split('\n');
}

async function checkRows(store: EmbeddedConnection, told: Told): Promise<void> {
  const found = new Set<string>();
  for await (const result of store.table('t').scan()) {
    const row = result.rowText;
    if (row === 'counter') continue;
    found.add(row);
    expect(result.text('f:q')).toBe(`value of ${row}`);
  }
  const missing = [...told.rows].filter((row) => !found.has(row));
  expect(missing, 'acknowledged and lost').toEqual([]);
}

async function checkCounter(store: EmbeddedConnection, told: Told): Promise<void> {
  const table = store.table('t');
  const read = async (): Promise<bigint> => (await table.get('counter'))?.int64('f:n') ?? 0n;
  const before = await read();
  expect(before).toBeGreaterThanOrEqual(BigInt(told.counted.size));
  expect(before).toBeLessThanOrEqual(BigInt(told.tried.size));
  // Repeats of what was acknowledged answer as then and count nothing; the others count once, whether or not they had.
  const sample = [...told.counted].slice(-5);
  for (const [nonce, { tso, value }] of sample) {
    const again = await table.increment('counter', { 'f:n': 1 }, { nonce: { group: 1n, nonce } });
    expect(again.tso).toBe(tso);
    expect(again.result?.int64('f:n')).toBe(value);
  }
  expect(await read()).toBe(before);
  for (const nonce of told.tried) {
    if (told.counted.has(nonce)) continue;
    for (let i = 0; i < 2; i++) {
      const { tso, result } = await table.increment(
        'counter',
        { 'f:n': 1 },
        { nonce: { group: 1n, nonce } },
      );
      told.counted.set(nonce, { tso, value: result?.int64('f:n') ?? 0n });
    }
  }
  expect(await read()).toBe(BigInt(told.tried.size));
  const values = [...told.counted.values()].map(({ value }) => value);
  expect(new Set(values).size, 'each increment saw its own value').toBe(values.length);
}

test(`${KILLS} kills lose nothing that was acknowledged`, { timeout: KILLS * 20_000 }, async () => {
  const told = new Told();
  for (let run = 0; run < KILLS; run++) {
    told.take(await runAndKill(run, Math.floor(Math.random() * 120)));
    const store = await open(dir, { logSegmentBytes: 262_144 });
    await checkRows(store, told);
    await checkCounter(store, told);
    const tso = await store.tso();
    expect(tso).toBeGreaterThan(told.greatestTso);
    told.greatestTso = tso;
    await store.close();
  }
  expect(told.rows.size).toBeGreaterThan(KILLS);
  expect(told.counted.size).toBeGreaterThan(KILLS);
});
