/**
 * Interactive transactions: read, write, read the own writes, commit all or nothing with one TSO. Over the rows of one
 * region (`table.transact`), or over any rows of any tables (`connection.transact`).
 *
 * A transaction reads what was applied when it began, synced or not, as read-modify-write does, and keeps its own writes in
 * memstores of its own, which lie over the regions'. It takes no locks while it runs. In the commit step it looks whether
 * anything that it has read (serializable), or is to write (snapshot), was written since: if not, it commits in that very
 * step; otherwise its work is done again from the start. So nobody waits for a slow transaction, and whoever makes another
 * start over has committed. Every answer waits for the read point, as always.
 */
import { compareBytes } from '../cell/index.ts';
import {
  IllegalArgumentException,
  TransactionConflictException,
  checkOptionNames,
  shown,
} from '../model/index.ts';
import type {
  Durability,
  GroupTransaction,
  TransactOptions,
  TransactResult,
  TransactTable,
  TransactTarget,
  WideTransaction,
  WorkOptions,
} from '../model/index.ts';
import type { MutationBuffer, Region } from '../region/index.ts';
import type { CommitOptions, CommitPart } from './commit_queue.ts';
import { readOld } from './old_values.ts';
import { joinHalves } from './read_point.ts';
import type { RegionServer } from './region_server.ts';
import { isIntended } from './row_writer.ts';
import type { TableState } from './table_state.ts';
import { TransactView } from './transact_view.ts';

const OPTION_NAMES: ReadonlySet<string> = new Set(['durability', 'attemptsMax']);
const WORK_OPTION_NAMES: ReadonlySet<string> = new Set([
  'durability',
  'attemptsMax',
  'isolation',
  'label',
]);
const ATTEMPTS_MAX = 50;
const BACKOFF_MS_MAX = 10;

/** How a commit of these cells is made. */
export type OptionsOf = (
  table: TableState,
  mutation: MutationBuffer,
  durability: Durability | undefined,
) => CommitOptions;

export interface TransactParts {
  readonly server: RegionServer;
  readonly options: OptionsOf;
}

interface Plan<W> {
  /** Opens the tables of an attempt; null with a gate to wait for. */
  readonly open: (attempt: Attempt) => W | Promise<void>;
  readonly what: string;
  readonly isSnapshot: boolean;
  readonly durability: Durability | undefined;
  readonly attemptsMax: number;
  readonly label: string | null;
}

/**
 * Over one region of a table. Runs `work` until it commits. Throws what it throws, WrongRegionException,
 * TransactionConflictException.
 */
export async function transactInRegion<T>(
  parts: TransactParts,
  tableName: string,
  target: TransactTarget,
  work: (tx: GroupTransaction) => Promise<T>,
  options: TransactOptions,
): Promise<TransactResult<T>> {
  checkWork(work);
  checkOptionNames(options, OPTION_NAMES, 'transact');
  const { server } = parts;
  return run(parts, work, {
    open: (attempt) => {
      const table = server.catalog.writable(tableName);
      return table.gate ?? attempt.view(table, regionOf(server, table, target));
    },
    what: `a transaction on table ${tableName}`,
    isSnapshot: false,
    durability: options.durability,
    attemptsMax: options.attemptsMax ?? ATTEMPTS_MAX,
    label: null,
  });
}

/** Refuses what is no function, before anything is read. */
function checkWork(work: unknown): void {
  if (typeof work === 'function') return;
  throw new IllegalArgumentException(`transact takes a function, not ${shown(work)}`);
}

/** Over all tables. As `transactInRegion`. */
export async function transactOverAll<T>(
  parts: TransactParts,
  work: (tx: WideTransaction) => Promise<T>,
  options: WorkOptions,
): Promise<TransactResult<T>> {
  checkWork(work);
  checkOptionNames(options, WORK_OPTION_NAMES, 'transact');
  const { isolation } = options;
  if (isolation !== undefined && isolation !== 'serializable' && isolation !== 'snapshot') {
    throw new IllegalArgumentException(
      `isolation is serializable or snapshot, not '${String(isolation)}'`,
    );
  }
  return run(parts, work, {
    open: (attempt) => attempt,
    what: 'a transaction',
    isSnapshot: isolation === 'snapshot',
    durability: options.durability,
    attemptsMax: options.attemptsMax ?? ATTEMPTS_MAX,
    label: options.label ?? null,
  });
}

async function run<T, W>(
  parts: TransactParts,
  work: (tx: W) => Promise<T>,
  plan: Plan<W>,
): Promise<TransactResult<T>> {
  const { server } = parts;
  for (let attempt = 1; attempt <= plan.attemptsMax; attempt++) {
    const tx = new Attempt(parts, plan.isSnapshot, plan.label);
    try {
      const opened = plan.open(tx);
      if (opened instanceof Promise) {
        await opened;
        attempt--;
        continue;
      }
      let value: T;
      try {
        value = await work(opened);
      } catch (error) {
        // It goes by what was read: that must be visible to everyone, and must have been so at one moment.
        if (await tx.isOutdated()) continue;
        throw error;
      } finally {
        tx.end();
      }
      const tso = await tx.commit(plan.durability);
      if (tso !== undefined) return { tso, value, attempts: attempt };
    } finally {
      tx.release();
    }
    server.transactConflicts++;
    const wait = Math.min(attempt, BACKOFF_MS_MAX) * (server.env.random.bytes(1)[0]! / 256);
    if (attempt > 2) await server.env.timers.sleep(wait);
  }
  throw new TransactionConflictException(
    `${plan.what} was overtaken by other writers ${plan.attemptsMax} times`,
  );
}

function regionOf(server: RegionServer, table: TableState, target: TransactTarget): Region {
  if (typeof target === 'object' && 'region' in target) {
    return server.splitter.region(table, target.region);
  }
  return table.regionOf(typeof target === 'string' ? Buffer.from(target, 'utf8') : target);
}

/** A row to lock for the commit. */
interface LockedRow {
  readonly table: TableState;
  readonly region: Region;
  readonly row: Uint8Array;
}

class Attempt implements WideTransaction {
  readonly #parts: TransactParts;
  readonly #isSnapshot: boolean;
  readonly #label: string | null;
  readonly #high: number;
  readonly #low: number;
  readonly #nowMs: number;
  readonly #views = new Map<TableState, TransactView>();
  readonly #hold: { release(): void };
  /** A table was changed between the moment and its first use. */
  #isStale = false;
  #isOver = false;

  constructor(parts: TransactParts, isSnapshot: boolean, label: string | null) {
    const { readPoint, reads, pins } = parts.server;
    this.#parts = parts;
    this.#isSnapshot = isSnapshot;
    this.#label = label;
    this.#nowMs = reads.clock.followedMs();
    this.#high = readPoint.appliedHigh;
    this.#low = readPoint.appliedLow;
    this.#hold = pins.hold(joinHalves(this.#high, this.#low), 'a transaction');
  }

  /** The work is done: what still runs of it is refused from now on. */
  end(): void {
    this.#isOver = true;
  }

  release(): void {
    this.#hold.release();
  }

  table(name: string): TransactTable {
    return this.view(this.#parts.server.catalog.writable(name), null);
  }

  view(table: TableState, only: Region | null): TransactView {
    const known = this.#views.get(table);
    if (known !== undefined) return known;
    const moment = {
      server: this.#parts.server,
      high: this.#high,
      low: this.#low,
      nowMs: this.#nowMs,
      isOver: () => this.#isOver,
    };
    const at = joinHalves(this.#high, this.#low);
    if (table.describedTso > at || table.createdTso > at) this.#isStale = true;
    const view = new TransactView(moment, table, only);
    this.#views.set(table, view);
    return view;
  }

  /** Waits until what was read is visible to everyone. True: it was written since, or a table or region changed. */
  async isOutdated(): Promise<boolean> {
    await this.#parts.server.readPoint.whenPassed(this.#high, this.#low, undefined);
    return !this.#isCurrent() || this.#isReadOvertaken();
  }

  #isCurrent(): boolean {
    if (this.#isStale) return false;
    for (const view of this.#views.values()) if (!view.isCurrent()) return false;
    return true;
  }

  #isReadOvertaken(): boolean {
    for (const view of this.#views.values()) if (view.isReadOvertaken()) return true;
    return false;
  }

  #isOvertaken(): boolean {
    if (!this.#isSnapshot) return this.#isReadOvertaken();
    for (const view of this.#views.values()) if (view.isWriteOvertaken()) return true;
    return false;
  }

  /** The commit's TSO; null if there was nothing to write; undefined: others wrote what counts, start over. */
  async commit(durability: Durability | undefined): Promise<bigint | null | undefined> {
    const { server } = this.#parts;
    const writers = [...this.#views.values()].filter(({ hasWrites }) => hasWrites);
    if (writers.length === 0) {
      // All of it was read as of one moment.
      await server.readPoint.whenPassed(this.#high, this.#low, undefined);
      return this.#isStale ? undefined : null;
    }
    const rows = lockedRows(writers);
    for (const { table, row } of rows) if (isIntended(table, row)) await table.intents!.free(row);
    const parts = partsOf(server, writers);
    let held = 0;
    try {
      for (const { region, row } of rows) {
        await region.locks.acquire(row);
        held++;
      }
      await this.#readOld(parts, rows);
      for (let wait = this.#obstacle(parts); wait !== null; wait = this.#obstacle(parts)) {
        await wait;
      }
      const isIntendedNow = rows.some(({ table, row }) => isIntended(table, row));
      const holdsAll = parts.every(({ table, region }) => table.holdsRegion(region));
      if (isIntendedNow || !holdsAll || !this.#isCurrent() || this.#isOvertaken()) return undefined;
      this.#commitParts(parts, writers, durability);
    } finally {
      for (let i = 0; i < held; i++) rows[i]!.region.locks.release(rows[i]!.row);
      for (const { mutation } of parts) server.rows.release(mutation);
    }
    const { appliedHigh, appliedLow } = server.readPoint;
    const tso = joinHalves(appliedHigh, appliedLow);
    await server.rows.acknowledged(tso);
    return tso;
  }

  async #readOld(parts: readonly CommitPart[], rows: readonly LockedRow[]): Promise<void> {
    for (const { table, region, mutation } of parts) {
      if (!table.settings.changeBefore) continue;
      const own = rows.filter((row) => row.region === region).map(({ row }) => row);
      mutation.old = await readOld(table, region, own, this.#parts.server.queue.nowMs);
    }
  }

  #obstacle(parts: readonly CommitPart[]): Promise<void> | null {
    for (const { table } of parts) if (table.gate !== null) return table.gate;
    return this.#parts.server.queue.admitParts(parts);
  }

  /** The strongest durability that any part asks for holds for all. */
  #commitParts(
    parts: readonly CommitPart[],
    views: readonly TransactView[],
    durability: Durability | undefined,
  ): void {
    const { server, options } = this.#parts;
    let chosen: CommitOptions | null = null;
    for (const { table, mutation } of parts) {
      const view = views.find((one) => one.table === table);
      const own = options(table, mutation, durability ?? view?.durability);
      if (chosen === null || own.durability > chosen.durability) chosen = own;
    }
    server.queue.commitParts(parts, { ...chosen!, label: this.#label });
  }
}

/** A buffer for each region that is written. */
function partsOf(server: RegionServer, views: readonly TransactView[]): CommitPart[] {
  const parts: CommitPart[] = [];
  for (const view of views) {
    const buffers = new Map<Region, MutationBuffer>();
    view.encode((region) => {
      let mutation = buffers.get(region);
      if (mutation === undefined) {
        mutation = server.rows.take();
        buffers.set(region, mutation);
        parts.push({ table: view.table, region, mutation });
      }
      return mutation;
    });
  }
  return parts;
}

/** By table and key, so that no two transactions can wait for each other. */
function lockedRows(views: readonly TransactView[]): LockedRow[] {
  const rows = views.flatMap(({ table, rows: own }) =>
    own.map((row) => ({ table, region: table.regionOf(row), row })),
  );
  return rows.sort((a, b) => a.table.id - b.table.id || compareBytes(a.row, b.row));
}
