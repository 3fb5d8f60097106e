/** A pinned moment of an embedded store, and read-only tables as of it. */
import {
  DoNotRetryIOException,
  IllegalArgumentException,
  checkOptionNames,
} from '../model/index.ts';
import type {
  AsOf,
  Bytes,
  ExplainTarget,
  PinDescription,
  PinnedSnapshot,
  ReadExplanation,
  ReadOptions,
  Result,
  ScanOptions,
  Scanner,
  SnapshotOptions,
  SnapshotTable,
  Table,
} from '../model/index.ts';
import { EmbeddedTable } from './embedded_table.ts';
import { LEASE_MS } from './pins.ts';
import type { PastHold } from './pins.ts';
import type { RegionServer } from './region_server.ts';

const OPTION_NAMES: ReadonlySet<string> = new Set(['name', 'owner', 'leaseMs']);

/**
 * Pins this moment: everything acknowledged so far is in it. A named one is made of commits that are on the disk. Throws
 * SnapshotExistsException, IllegalArgumentException.
 */
export async function pinSnapshot(
  server: RegionServer,
  options: SnapshotOptions,
): Promise<PinnedSnapshot> {
  checkOptionNames(options, OPTION_NAMES, 'snapshot');
  const { name, owner = '', leaseMs } = options;
  if (leaseMs !== undefined && (!Number.isSafeInteger(leaseMs) || leaseMs < 1)) {
    throw new IllegalArgumentException(`leaseMs must be a whole number of at least 1`);
  }
  if (name !== undefined) server.pins.checkFree(name);
  const holder = owner === '' ? 'a snapshot' : owner;
  const tso = await server.tso();
  const hold = server.pins.holdSnapshot(tso, holder, leaseMs ?? LEASE_MS);
  try {
    // What was given a smaller stamp is acknowledged, or not at all, before the snapshot is.
    await server.reads.reached(tso);
    // A drop that could not keep the past was just under way: the next moment is behind it.
    if (tso < server.past.floors.highest()) {
      hold.release();
      return await pinSnapshot(server, options);
    }
    if (name === undefined) return new EmbeddedSnapshot(server, tso, null, hold);
    await server.sync();
    await server.pins.name(name, tso, { owner, leaseMs: leaseMs ?? null });
  } catch (error) {
    hold.release();
    throw error;
  }
  hold.release();
  return new EmbeddedSnapshot(server, tso, name, null);
}

/** The snapshot that was pinned under this name. Throws SnapshotDoesNotExistException. */
export function openSnapshot(server: RegionServer, name: string): PinnedSnapshot {
  const { tso }: PinDescription = server.pins.named(name);
  return new EmbeddedSnapshot(server, tso, name, null);
}

class EmbeddedSnapshot implements PinnedSnapshot {
  readonly tso: bigint;
  readonly name: string | null;
  readonly #server: RegionServer;
  readonly #hold: PastHold | null;
  #isReleased = false;

  constructor(server: RegionServer, tso: bigint, name: string | null, hold: PastHold | null) {
    this.#server = server;
    this.tso = tso;
    this.name = name;
    this.#hold = hold;
  }

  table(name: string): SnapshotTable {
    return new TableAsOf(new EmbeddedTable(this.#server, name), this.tso, () => this.#check());
  }

  #check(): void {
    if (!this.#isReleased) return;
    throw new DoNotRetryIOException(`the snapshot at ${this.tso} was released`);
  }

  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#hold?.release();
    const { pins } = this.#server;
    const isPinned = pins.list().some(({ name, tso }) => name === this.name && tso === this.tso);
    if (this.name !== null && isPinned) await pins.release(this.name);
  }

  /** Lets go of one without a name; a named one stays pinned. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.name === null) await this.release();
  }
}

/** A table that is read as of one moment unless a read names another. */
class TableAsOf implements SnapshotTable {
  readonly #table: Table;
  readonly #asOf: bigint;
  /** Throws once the snapshot was released. */
  readonly #check: () => void;

  constructor(table: Table, asOf: bigint, check: () => void) {
    this.#table = table;
    this.#asOf = asOf;
    this.#check = check;
  }

  get name(): string {
    return this.#table.name;
  }

  #options<T extends ReadOptions>(options: T | undefined): T | { readonly asOf: AsOf } {
    this.#check();
    return { asOf: this.#asOf, ...options };
  }

  async get(row: Bytes, options?: ReadOptions): Promise<Result | null> {
    return this.#table.get(row, this.#options(options));
  }

  getSync(row: Bytes, options?: ReadOptions): Result | null {
    return this.#table.getSync(row, this.#options(options));
  }

  async getMany(rows: readonly Bytes[], options?: ReadOptions): Promise<(Result | null)[]> {
    return this.#table.getMany(rows, this.#options(options));
  }

  async exists(row: Bytes, options?: ReadOptions): Promise<boolean> {
    return this.#table.exists(row, this.#options(options));
  }

  scan(options?: ScanOptions): Scanner {
    return this.#table.scan(this.#options(options));
  }

  async count(options?: ScanOptions): Promise<number> {
    return this.#table.count(this.#options(options));
  }

  async explain(target: ExplainTarget): Promise<ReadExplanation> {
    if ('scan' in target) return this.#table.explain({ scan: this.#options(target.scan) });
    return this.#table.explain({ get: target.get, options: this.#options(target.options) });
  }
}
