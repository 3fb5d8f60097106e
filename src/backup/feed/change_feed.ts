/**
 * The change feed: the commits of the log, archived and live, in the order of their TSOs, up to the durable point. A commit
 * is given whole; what skipped the log shows as a gap.
 */
import { joinHalves } from '../../engine/index.ts';
import type { RegionServer } from '../../engine/index.ts';
import { IllegalArgumentException, SnapshotTooOld } from '../../model/index.ts';
import { BEFORE_GROUP, KIND_COMMIT, KIND_CONTROL, LogReader } from '../../wal/index.ts';
import type { LogRecord } from '../../wal/index.ts';
import { changeCell } from './change_cell.ts';
import type { Change, ChangeCell, ChangesOptions, CommitChange } from './change.ts';
import { FeedNames } from './names.ts';
import { stagedChanges } from './staged_changes.ts';

/** How long a feed that follows rests when there is nothing new. */
const REST_MS = 20;
/** Names of control commits that bring cells without logging them. */
const UNLOGGED = /^(?:bulk load|clone snapshot|restore snapshot) /;

/**
 * The changes, one commit after the other. Leaving the loop closes it. Throws SnapshotTooOld when the log does not reach
 * back to `from`, IllegalArgumentException, CorruptionException, IoException.
 */
export async function* changesOf(
  server: RegionServer,
  options: ChangesOptions = {},
): AsyncGenerator<Change, void, void> {
  server.checkOpen();
  if (server.log === null) {
    throw new IllegalArgumentException('a store in memory keeps no log: it has no change feed');
  }
  const hold = server.archive.hold(options.from ?? 0n, 'change feed');
  const feed = new Feed(server, options);
  try {
    await feed.start();
    yield* feed.run((tso) => hold.advance(tso));
  } finally {
    await feed.close();
    hold.release();
  }
}

class Feed {
  readonly #server: RegionServer;
  readonly #options: ChangesOptions;
  readonly #tables: ReadonlySet<string> | null;
  readonly #names: FeedNames;
  readonly #reader: LogReader;
  /** What comes next. */
  #next: bigint;
  /** Given up to here, exclusive. */
  #to: bigint;
  #hasRecord = false;
  #saidAtMs = 0;

  constructor(server: RegionServer, options: ChangesOptions) {
    this.#server = server;
    this.#options = options;
    this.#tables = options.tables === undefined ? null : new Set(options.tables);
    this.#names = new FeedNames(server.manifest);
    this.#next = options.from ?? 0n;
    this.#to = options.to ?? 0n;
    const { archivedWal, wal } = server.layout;
    this.#reader = new LogReader(server.env, [archivedWal, wal], {
      fromHigh: Number(BigInt.asUintN(64, this.#next) >> 32n),
      fromLow: Number(BigInt.asUintN(32, this.#next)),
    });
  }

  async close(): Promise<void> {
    await this.#reader.close();
  }

  /** Everything so far is brought to the disk, and the log must reach back. */
  async start(): Promise<void> {
    await this.#checkReach();
    await this.#server.sync();
    const durable = this.#durable();
    const { to, follow } = this.#options;
    if (to === undefined) this.#to = follow === true ? 2n ** 63n : durable + 1n;
    else if (follow !== true && to > durable + 1n) this.#to = durable + 1n;
    this.#saidAtMs = this.#server.env.clock.monotonicMs();
  }

  /** Throws SnapshotTooOld. */
  async #checkReach(): Promise<void> {
    const { archivedWal, wal } = this.#server.layout;
    await using oldest = new LogReader(this.#server.env, [archivedWal, wal]);
    if (!(await oldest.nextBatch()) || !oldest.next()) return;
    const { segment, tso } = oldest.record;
    // The first segment of all: nothing was ever given up.
    if (segment === 1) return;
    if (this.#options.from === undefined) this.#next = tso;
    else if (this.#options.from < tso) {
      throw new SnapshotTooOld(
        `the log reaches back to ${tso}, not to ${this.#options.from} (enable_feature_binlog keeps it)`,
      );
    }
  }

  #durable(): bigint {
    const { durableHigh, durableLow } = this.#server.readPoint;
    return joinHalves(durableHigh, durableLow);
  }

  get #isStopped(): boolean {
    return this.#options.signal?.aborted === true;
  }

  async *run(advanced: (tso: bigint) => void): AsyncGenerator<Change, void, void> {
    while (!this.#isStopped && this.#next < this.#to) {
      const durable = this.#durable();
      if (!(await this.#fetch())) {
        if (this.#options.follow !== true) break;
        yield* this.#heartbeat(durable);
        await this.#rest();
        continue;
      }
      const { record } = this.#reader;
      if (record.tso >= this.#to) break;
      if (record.tso > durable) {
        if (this.#options.follow !== true) break;
        yield* this.#heartbeat(durable);
        await this.#rest();
        continue;
      }
      this.#hasRecord = false;
      if (record.hasSkipped && record.skippedLast >= this.#next) {
        yield { kind: 'gap', first: record.skippedFirst, last: record.skippedLast };
      }
      if (record.tso < this.#next) continue;
      const { tso } = record;
      yield* this.#changesOf(record);
      this.#next = tso + 1n;
      advanced(tso);
    }
    if (!this.#isStopped) yield { kind: 'watermark', tso: this.#ended() };
  }

  /** All below was given. */
  #ended(): bigint {
    const durable = this.#durable() + 1n;
    return this.#to < durable ? this.#to : durable;
  }

  /** The reader stands on a record; false: there is none for now. */
  async #fetch(): Promise<boolean> {
    if (this.#hasRecord) return true;
    while (!this.#reader.next()) {
      if (!(await this.#reader.nextBatch())) return false;
    }
    this.#hasRecord = true;
    return true;
  }

  async #rest(): Promise<void> {
    this.#server.checkOpen();
    await this.#server.env.timers.sleep(REST_MS);
  }

  *#heartbeat(durable: bigint): Generator<Change> {
    const every = this.#options.heartbeatMs ?? 0;
    if (every === 0) return;
    const nowMs = this.#server.env.clock.monotonicMs();
    if (nowMs - this.#saidAtMs < every) return;
    this.#saidAtMs = nowMs;
    yield { kind: 'watermark', tso: durable + 1n };
  }

  async *#changesOf(record: LogRecord): AsyncGenerator<Change> {
    this.#saidAtMs = this.#server.env.clock.monotonicMs();
    if (record.kind === KIND_CONTROL) {
      const text = Buffer.from(record.body).toString('utf8');
      if (UNLOGGED.test(text)) yield { kind: 'gap', first: record.tso, last: record.tso };
      return;
    }
    if (record.kind !== KIND_COMMIT) return;
    const { tso, label, transaction } = record;
    const { cells, before, hasOwn } = this.#cellsOf(record);
    const commit = { kind: 'commit', tso, label, txnId: transaction } as const;
    if (transaction !== null && !hasOwn) {
      // Its cells are in files: the log has the decision alone.
      yield* stagedChanges(this.#server, commit, (id, family) => this.#wanted(id, family));
    } else if (cells.length > 0) {
      yield { ...commit, seq: 0, cells, before, isLast: true } satisfies CommitChange;
    }
  }

  #cellsOf(record: LogRecord): {
    cells: ChangeCell[];
    before: ChangeCell[] | null;
    hasOwn: boolean;
  } {
    const cells: ChangeCell[] = [];
    let before: ChangeCell[] | null = null;
    let hasOwn = false;
    while (record.nextGroup(true)) {
      const isBefore = record.familyId >= BEFORE_GROUP;
      const familyId = isBefore ? record.familyId - BEFORE_GROUP : record.familyId;
      const { name, isHidden, families } = this.#names.table(record.tableId, familyId);
      if (!isHidden) hasOwn = true;
      if (isBefore) before ??= [];
      const isWanted = !isHidden && (this.#tables === null || this.#tables.has(name));
      const family = families.get(familyId) ?? `#${familyId}`;
      while (record.nextCell()) {
        if (!isWanted) continue;
        const cell = changeCell(record.buf, record.cellAt, record.cellLength, name, family);
        if (isBefore) before!.push(cell);
        else cells.push(cell);
      }
    }
    return { cells, before, hasOwn };
  }

  /** Names of a table and family; null: not asked for. */
  #wanted(tableId: number, familyId: number): { table: string; family: string } | null {
    const { name, families } = this.#names.table(tableId, familyId);
    if (this.#tables !== null && !this.#tables.has(name)) return null;
    return { table: name, family: families.get(familyId) ?? `#${familyId}` };
  }
}
