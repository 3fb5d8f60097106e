/** What the tests of bad input and faults share: stores that can be reopened, errors checked by code and text. */
import { expect } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection, OpenOptions } from '../../src/engine/index.ts';
import { StoreException, simEnv } from '../../src/io/index.ts';
import type { Env, SimEnv } from '../../src/io/index.ts';

export const DIR = '/store';

/** The error is one of ours, has this code, and its text holds each of the parts. */
export function expectFault(error: unknown, code: string, ...parts: readonly string[]): void {
  expect(error, `${code}: ${String(error)}`).toBeInstanceOf(StoreException);
  expect((error as StoreException).code, String(error)).toBe(code);
  for (const part of parts) expect((error as StoreException).message).toContain(part);
}

/** What the call throws or rejects with; undefined if it does neither. */
export async function faultOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Every visible cell of the table, all versions. */
export async function contentOf(connection: EmbeddedConnection, table = 't'): Promise<string[]> {
  const lines: string[] = [];
  for await (const result of connection.table(table).scan({ versions: 1000 })) {
    for (const { family, qualifier, ts, value } of result.cells) {
      const column = `${family}:${Buffer.from(qualifier).toString()}`;
      const bytes = Buffer.from(value);
      const shown = bytes.length > 100 ? `${bytes.length} bytes` : bytes.toString('latin1');
      lines.push(`${result.rowText} ${column} @${ts} ${shown}`);
    }
  }
  return lines;
}

const SMALL: OpenOptions = { blockingSync: false, logSegmentBytes: 65_536 };

export function openAt(env: Env, options: OpenOptions = {}): Promise<EmbeddedConnection> {
  return open(DIR, { ...SMALL, env, ...options });
}

/**
 * A simulated machine with one store at `DIR`. Everything runs through `drive`; the machine may be exchanged by a crash.
 */
export class Machine {
  env: SimEnv;
  readonly #options: OpenOptions;
  #connection: EmbeddedConnection | null = null;

  constructor(seed: number, options: OpenOptions = {}) {
    this.env = simEnv({ seed });
    this.#options = options;
  }

  get store(): EmbeddedConnection {
    expect(this.#connection).not.toBeNull();
    return this.#connection!;
  }

  do<T>(work: (store: EmbeddedConnection) => Promise<T>): Promise<T> {
    return this.env.drive(work(this.store));
  }

  /** The error that the work ends with. */
  fault(work: (store: EmbeddedConnection) => Promise<unknown>): Promise<unknown> {
    return this.env.drive(faultOf(() => work(this.store)));
  }

  async open(options: OpenOptions = {}): Promise<EmbeddedConnection> {
    this.#connection = await this.env.drive(openAt(this.env, { ...this.#options, ...options }));
    return this.#connection;
  }

  /** The error that opening ends with; if it does not fail the store is open. */
  openFault(options: OpenOptions = {}): Promise<unknown> {
    return faultOf(() => this.open(options));
  }

  async close(): Promise<void> {
    await this.do((store) => store.close());
    this.#connection = null;
  }

  /** Kills the process, or cuts the power, and does not open again. */
  stop(how: 'kill' | 'crash'): void {
    this.env = how === 'kill' ? this.env.kill() : this.env.crash({ keepUnsynced: 0 });
    this.#connection = null;
  }

  content(table?: string): Promise<string[]> {
    return this.do((store) => contentOf(store, table));
  }

  /** A new store with table `t` of families `f` and `g`, and `rows` rows in it. */
  async fill(rows: number): Promise<string[]> {
    await this.open();
    return this.do(async (store) => {
      await store.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 3 }, 'g'] });
      await putRows(store, 0, rows);
      return contentOf(store);
    });
  }

  /** All files, as the store names them. */
  paths(): string[] {
    return this.env.fs.paths().map((path) => (path.startsWith('/') ? path : `/${path}`));
  }

  /** The only file below a folder whose name matches. */
  pathOf(pattern: RegExp): string {
    const found = this.paths().filter((path) => pattern.test(path));
    expect(found, String(pattern)).toHaveLength(1);
    return found[0]!;
  }
}

export const rowName = (i: number): string => `row${String(i).padStart(4, '0')}`;

export async function putRows(
  store: EmbeddedConnection,
  from: number,
  to: number,
  size = 20,
): Promise<void> {
  const table = store.table('t');
  const puts: Promise<bigint>[] = [];
  for (let i = from; i < to; i++) {
    puts.push(table.put(rowName(i), { 'f:a': `${i} `.padEnd(size, 'v') }));
  }
  await Promise.all(puts);
}
