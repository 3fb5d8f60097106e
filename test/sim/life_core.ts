/** What a life of a store records, whoever uses it: its commits as the queue applied them, and moments. */
import type { RegionServer } from '../../src/engine/region_server.ts';
import { EmbeddedConnection } from '../../src/engine/index.ts';
import type { SeededRandom, SimEnv } from '../../src/io/index.ts';
import { textOf } from './cells.ts';
import { physicalMs } from './checker.ts';
import {
  SimFailure,
  type ChangeRecord,
  type Instant,
  type Intent,
  type ReadRecord,
} from './history.ts';
import type { FileWatch } from './file_watch.ts';
import type { Journal } from './journal.ts';
import type { Model } from './model.ts';
import { appliedTso, durableTso, observe, readTso, type Entry } from './observe.ts';
import type { Workload, Write } from './operations.ts';
import type { PinBook } from './pins.ts';
import type { Shelf } from './shelf.ts';

/** What outlives a life: stamps that clients know. */
export interface Told {
  /** The greatest stamp of any kind, and of a commit. */
  told: bigint;
  acked: bigint;
}

/** A request to issue again. */
export interface Retry {
  readonly table: string;
  readonly write: Write;
}

export interface LifeParts {
  readonly env: SimEnv;
  readonly server: RegionServer;
  readonly random: SeededRandom;
  readonly workload: Workload;
  readonly model: Model;
  readonly journal: Journal;
  readonly told: Told;
  readonly tables: readonly string[];
  /** With those that have clients of their own. */
  readonly maintained: readonly string[];
  readonly clients: number;
  /** Retries of requests whose outcome nobody knows. */
  readonly retries: Retry[];
  /** The chance of a change of schema, an operation. */
  readonly changes: number;
  readonly watch: FileWatch;
  readonly pins: PinBook;
  readonly shelf: Shelf;
  /** Virtual milliseconds between two operations of maintenance, about. */
  readonly maintenanceMs: number;
  /** Stamps of other lives, to read as of. */
  readonly moments: readonly bigint[];
}
/** The oracle may be this far ahead of the greatest time the clock ever showed: two windows, and the milliseconds made up. */
const LEAD_MAX_MS = 5000;
/** What the control record of a change of schema begins with. */
const SCHEMA_CHANGE =
  /^(?:create|alter|enable|disable|truncate|drop) table |^(?:clone|restore) snapshot /;

export class LifeCore {
  readonly entries: Entry[] = [];
  readonly intents: Intent[] = [];
  readonly reads: ReadRecord[] = [];
  /** The schema change whose outcome nobody knows. */
  pendingChange: (ChangeRecord & { tso: bigint }) | null = null;
  /** Everything logged up to here was promised to be on the disk (`sync`). */
  syncedTo = 0n;
  /** The greatest read point that an answer spoke of. */
  shownTo = 0n;
  /** Faults were made, so that operations may fail. */
  isFaulty = false;
  isOver = false;
  /** Clients finish what they do and stop. */
  isStopping = false;
  failure: Error | null = null;
  readonly clients: Promise<void>[] = [];
  readonly connection: EmbeddedConnection;
  readonly parts: LifeParts;
  readonly turns = new Map<string, { turn: number; changing: boolean }>();
  clockMax: number;

  constructor(parts: LifeParts, clockMaxMs: number) {
    this.parts = parts;
    this.clockMax = clockMaxMs;
    this.connection = new EmbeddedConnection(parts.server);
    const { watch } = parts;
    observe(
      parts.server,
      () => watch.turn,
      (entry) => this.#observed(entry),
    );
  }

  get server(): RegionServer {
    return this.parts.server;
  }

  /** The clock showed this time. */
  sawClock(nowMs: number): void {
    this.clockMax = Math.max(this.clockMax, nowMs);
  }

  get clockMaxMs(): number {
    return this.clockMax;
  }
  #observed(entry: Entry): void {
    if (this.isOver) return;
    const { env, told } = this.parts;
    const before = this.entries.at(-1)?.tso ?? 0n;
    const step = this.parts.journal.step;
    if (entry.tso <= before || entry.tso <= told.told) {
      throw new SimFailure(step, `commit ${entry.tso} is not above ${before} and ${told.told}`);
    }
    const nowMs = env.clock.nowMs();
    this.clockMax = Math.max(this.clockMax, nowMs);
    const ms = physicalMs(entry.tso);
    if (ms < nowMs) throw new SimFailure(step, `commit ${entry.tso} is behind the clock, ${nowMs}`);
    if (ms > this.clockMax + LEAD_MAX_MS) {
      throw new SimFailure(step, `commit ${entry.tso} is ${ms - nowMs} ms ahead of the clock`);
    }
    this.entries.push(entry);
  }

  turn(table: string): { turn: number; changing: boolean } {
    let turn = this.turns.get(table);
    if (turn === undefined) this.turns.set(table, (turn = { turn: 0, changing: false }));
    return turn;
  }

  instant(table: string): Instant {
    const { server, told } = this.parts;
    const { turn, changing } = this.turn(table);
    return {
      applied: appliedTso(server),
      readPoint: readTso(server),
      told: told.told,
      acked: told.acked,
      nowMs: server.reads.clock.followedMs(),
      turn: this.parts.watch.turn,
      borders: server.catalog.find(table)?.regions.map(({ startKey }) => textOf(startKey)) ?? null,
      schemaTurn: turn,
      isChanging: changing,
    };
  }

  /** The state at an answer, which shows everything up to the read point. */
  answered(table: string): Instant {
    const instant = this.instant(table);
    if (instant.readPoint > this.shownTo) this.shownTo = instant.readPoint;
    return instant;
  }

  tell(tso: bigint, isCommit: boolean): void {
    const { told } = this.parts;
    if (tso > told.told) told.told = tso;
    if (isCommit && tso > told.acked) told.acked = tso;
  }
  get isLive(): boolean {
    return !this.isOver && !this.isStopping && this.failure === null;
  }
  checkFault(step: number, error: Error): void {
    if (this.isFaulty || this.isStopping) return;
    throw new SimFailure(step, `failed without a fault: ${error.stack ?? error.message}`);
  }
  /** The change that a crash now would leave undecided. */
  undecided: (ChangeRecord & { seenBefore: number }) | null = null;
  /** The change of schema that took its TSO since then; switches of files take some, too. */
  changeSince(seenBefore: number): Entry | undefined {
    return this.entries
      .slice(seenBefore)
      .find((entry) => entry.kind === 'control' && SCHEMA_CHANGE.test(entry.what));
  }

  /** Ends the life: from now on nothing is recorded. */
  end(): { durable: bigint } {
    const durable = durableTso(this.server);
    this.isOver = true;
    this.parts.watch.isOver = true;
    if (this.undecided !== null && this.pendingChange === null) {
      const { seenBefore, ...record } = this.undecided;
      const control = this.changeSince(seenBefore);
      if (control !== undefined) this.pendingChange = { ...record, tso: control.tso };
    }
    return { durable };
  }
}
