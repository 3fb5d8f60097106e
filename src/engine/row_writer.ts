/**
 * Runs the operations that write one row: finds the table and region as they are at that moment, takes the row's lock
 * where it has to, asks the commit queue for admission, commits, and answers when the read point has passed.
 *
 * The common case never waits: it runs from call to commit in one synchronous step and costs one promise, the caller's.
 * An operation that has to read first is a generator that yields what it has to wait for; while it waits it holds the
 * row exclusively, and frees it when its commit is applied, not when it is on the disk.
 */
import type { CommitOptions, CommitQueue } from './commit_queue.ts';
import type { Catalog } from './catalog.ts';
import { highOf, lowOf } from './read_point.ts';
import type { ReadPoint } from './read_point.ts';
import { compareBytes, equalBytes } from '../cell/index.ts';
import { MutationBuffer, POOLED_SIZE_MAX } from '../region/index.ts';
import type { Region } from '../region/index.ts';
import { FSYNC_WAL } from '../wal/index.ts';
import { readOld } from './old_values.ts';
import { drive } from './steps.ts';
import type { Steps } from './steps.ts';
import type { TableState } from './table_state.ts';

/** What an operation found out before its commit: whether it writes, and what to answer. */
export interface Prepared<T> {
  readonly writes: boolean;
  /** No two cells have the same key (see MutationBuffer.settle). */
  readonly distinct: boolean;
  /** The answer for the commit's TSO in halves; 0, 0 when nothing was written. Called right after the commit. */
  readonly answer: (high: number, low: number) => T;
}

/** Fills the buffer with the cells of a blind write of `row` and says whether their keys are distinct. */
export type EncodeRow = (mutation: MutationBuffer, table: TableState, row: Uint8Array) => boolean;

export interface RowOperation<T> {
  readonly row: Uint8Array;
  prepare(table: TableState, region: Region, mutation: MutationBuffer): Steps<Prepared<T>>;
  options(table: TableState, mutation: MutationBuffer): CommitOptions;
  /** The answer says nothing of the commit's TSO: it need not wait until the oracle is sure to remember it. Default: it does. */
  readonly hidesStamp?: boolean;
}

const POOL_MAX = 64;

export class RowWriter {
  readonly #catalog: Catalog;
  readonly #queue: CommitQueue;
  readonly #readPoint: ReadPoint;
  readonly #publish: ((tso: bigint) => Promise<void>) | null;
  readonly #pool: MutationBuffer[] = [];

  /**
   * `publish` waits until a stamp may leave the process (Oracle#publish); null where no crash can make the oracle forget.
   */
  constructor(parts: {
    readonly catalog: Catalog;
    readonly queue: CommitQueue;
    readonly readPoint: ReadPoint;
    readonly publish: ((tso: bigint) => Promise<void>) | null;
  }) {
    this.#catalog = parts.catalog;
    this.#queue = parts.queue;
    this.#readPoint = parts.readPoint;
    this.#publish = parts.publish;
  }

  /** An empty buffer; give it back with `release`. */
  take(): MutationBuffer {
    return this.#pool.pop() ?? new MutationBuffer();
  }

  release(mutation: MutationBuffer): void {
    mutation.clear();
    if (this.#pool.length < POOL_MAX && mutation.buf.length <= POOLED_SIZE_MAX) {
      this.#pool.push(mutation);
    }
  }

  /**
   * A blind write, synchronous up to the commit if nothing is in its way. `row` may change after the call: a write that
   * has to wait keeps a copy, and encodes again from it.
   */
  write(
    tableName: string,
    row: Uint8Array,
    encode: EncodeRow,
    optionsOf: (table: TableState, mutation: MutationBuffer) => CommitOptions,
  ): Promise<bigint> {
    const options = this.writeNow(tableName, row, encode, optionsOf);
    if (options !== null) return this.#acknowledged(options);
    const kept = Uint8Array.from(row);
    return this.#locked(tableName, {
      row: kept,
      prepare: (now, _region, mutation) => blindSteps(encode(mutation, now, kept)),
      options: optionsOf,
    });
  }

  /**
   * Commits a blind write now, its TSO being the read point's `applied`; null if it would have to wait. The caller
   * acknowledges it (`acknowledged`). The row may change after the call.
   */
  writeNow(
    tableName: string,
    row: Uint8Array,
    encode: EncodeRow,
    optionsOf: (table: TableState, mutation: MutationBuffer) => CommitOptions,
  ): CommitOptions | null {
    const table = this.#catalog.writable(tableName);
    if (table.gate !== null) return null;
    const region = table.regionOf(row);
    if (!region.locks.isFree(row) || isIntended(table, row)) return null;
    // What was there before has to be read first.
    if (table.settings.changeBefore) return null;
    const mutation = this.take();
    try {
      const distinct = encode(mutation, table, row);
      if (!this.#queue.canAdmit(region, mutation)) return null;
      const options = optionsOf(table, mutation);
      this.#queue.commit(table, region, mutation, options, distinct);
      return options;
    } finally {
      this.release(mutation);
    }
  }

  /** Waits until commits up to this one, whatever their durability, may be acknowledged. */
  async acknowledged(tso: bigint): Promise<void> {
    await this.#readPoint.whenPassed(highOf(tso), lowOf(tso), undefined);
    await this.#publish?.(tso);
  }

  /**
   * Blind writes of several rows of one region as one commit, under the locks of all of them, taken in key order.
   * `encode` throws for rows outside the region.
   */
  async writeRows(
    tableName: string,
    rows: readonly Uint8Array[],
    encode: (mutation: MutationBuffer, table: TableState, region: Region) => void,
    optionsOf: (table: TableState, mutation: MutationBuffer) => CommitOptions,
  ): Promise<bigint> {
    const distinct = distinctRows(rows);
    for (;;) {
      const table = this.#catalog.writable(tableName);
      if (table.gate !== null) {
        await table.gate;
        continue;
      }
      for (const row of distinct) if (isIntended(table, row)) await table.intents!.free(row);
      const { version } = table;
      const region = table.regionOf(rows[0]!);
      const mutation = this.take();
      let held = 0;
      try {
        encode(mutation, table, region);
        for (const row of distinct) {
          if (!region.locks.tryAcquire(row)) await region.locks.acquire(row);
          held++;
        }
        if (table.settings.changeBefore) {
          mutation.old = await readOld(table, region, distinct, this.#queue.nowMs);
        }
        const prepared = { writes: true };
        for (let wait = this.#obstacle(table, region, mutation, prepared); wait !== null;) {
          await wait;
          wait = this.#obstacle(table, region, mutation, prepared);
        }
        const isFree = !distinct.some((row) => isIntended(table, row));
        if (isFree && isCurrent(table, version, region)) {
          const options = optionsOf(table, mutation);
          this.#queue.commit(table, region, mutation, options, false);
          return this.#acknowledged(options);
        }
      } finally {
        for (let i = 0; i < held; i++) region.locks.release(distinct[i]!);
        this.release(mutation);
      }
    }
  }

  /**
   * A read-modify-write of several rows of one region as one commit, under the locks of all of them, taken in key order.
   * `prepare` throws for rows outside the region. `operation.row` is any of them.
   */
  async runRows<T>(
    tableName: string,
    rows: readonly Uint8Array[],
    operation: RowOperation<T>,
  ): Promise<T> {
    const distinct = distinctRows(rows);
    for (;;) {
      const table = this.#catalog.writable(tableName);
      if (table.gate !== null) {
        await table.gate;
        continue;
      }
      for (const row of distinct) if (isIntended(table, row)) await table.intents!.free(row);
      const { version } = table;
      const region = table.regionOf(operation.row);
      const mutation = this.take();
      let held = 0;
      let answer: Promise<T> | null = null;
      try {
        for (const row of distinct) {
          if (!region.locks.tryAcquire(row)) await region.locks.acquire(row);
          held++;
        }
        if (isCurrent(table, version, region)) {
          const prepared = await drive(operation.prepare(table, region, mutation));
          if (prepared.writes && table.settings.changeBefore) {
            mutation.old = await readOld(table, region, distinct, this.#queue.nowMs);
          }
          for (let wait = this.#obstacle(table, region, mutation, prepared); wait !== null;) {
            await wait;
            wait = this.#obstacle(table, region, mutation, prepared);
          }
          const isFree = !prepared.writes || !distinct.some((row) => isIntended(table, row));
          if (isFree && isCurrent(table, version, region)) {
            answer = this.#finish(table, region, mutation, operation, prepared);
          }
        }
      } catch (error) {
        answer = this.#failedOnData(error);
      } finally {
        for (let i = 0; i < held; i++) region.locks.release(distinct[i]!);
        this.release(mutation);
      }
      if (answer !== null) return answer;
    }
  }

  /** A read-modify-write. */
  run<T>(tableName: string, operation: RowOperation<T>): Promise<T> {
    const table = this.#catalog.writable(tableName);
    if (table.gate !== null) return this.#locked(tableName, operation);
    const region = table.regionOf(operation.row);
    const isHeld = !region.locks.isFree(operation.row) || isIntended(table, operation.row);
    if (isHeld || table.settings.changeBefore) {
      return this.#locked(tableName, operation);
    }
    const mutation = this.take();
    let keep = false;
    try {
      const steps = operation.prepare(table, region, mutation);
      const step = this.#step(steps);
      if (step instanceof Failure) return this.#failedOnData(step.error);
      if (step.done === true) {
        const prepared = step.value;
        if (!prepared.writes || this.#queue.canAdmit(region, mutation)) {
          return this.#finish(table, region, mutation, operation, prepared);
        }
        return this.#locked(tableName, operation);
      }
      // Nobody held the row when this turn began, so the lock is free.
      region.locks.tryAcquire(operation.row);
      keep = true;
      return this.#resume({
        tableName,
        table,
        region,
        mutation,
        operation,
        steps,
        wait: step.value,
      });
    } finally {
      if (!keep) this.release(mutation);
    }
  }

  #step<T>(steps: Steps<Prepared<T>>): IteratorResult<Promise<void>, Prepared<T>> | Failure {
    try {
      return steps.next();
    } catch (error) {
      return new Failure(error);
    }
  }

  /** An error that depended on data is an answer, too: it waits until what it read is visible to everyone. */
  async #failedOnData(error: unknown): Promise<never> {
    await this.#readPoint.whenAllApplied();
    throw error;
  }

  #finish<T>(
    table: TableState,
    region: Region,
    mutation: MutationBuffer,
    operation: RowOperation<T>,
    prepared: Prepared<T>,
  ): Promise<T> {
    const readPoint = this.#readPoint;
    if (!prepared.writes) {
      return readPoint.whenPassed(
        readPoint.appliedHigh,
        readPoint.appliedLow,
        prepared.answer(0, 0),
      );
    }
    const options = operation.options(table, mutation);
    this.#queue.commit(table, region, mutation, options, prepared.distinct);
    const { appliedHigh, appliedLow } = readPoint;
    const answer = prepared.answer(appliedHigh, appliedLow);
    return operation.hidesStamp === true
      ? readPoint.whenPassed(appliedHigh, appliedLow, answer)
      : this.answered(options, answer);
  }

  /** The answer of the commit just made, once it may be given. */
  answered<T>(options: CommitOptions, answer: T): Promise<T> {
    const { appliedHigh, appliedLow } = this.#readPoint;
    if (options.durability === FSYNC_WAL || this.#publish === null) {
      return this.#readPoint.whenPassed(appliedHigh, appliedLow, answer);
    }
    return this.#published(answer);
  }

  /** The TSO of the commit just made, once the read point has passed it. */
  #acknowledged(options: CommitOptions): Promise<bigint> {
    const { appliedHigh, appliedLow } = this.#readPoint;
    return this.answered(options, joinHalvesOf(appliedHigh, appliedLow));
  }

  /**
   * The answer of a commit whose TSO leaves the process without lying in a synced log record: the oracle has to know of
   * it, or might give it again after a crash. Costs a sync of the manifest a second at most.
   */
  async #published<T>(answer: T): Promise<T> {
    const { appliedHigh, appliedLow } = this.#readPoint;
    await this.#readPoint.whenPassed(appliedHigh, appliedLow, undefined);
    await this.#publish?.(joinHalvesOf(appliedHigh, appliedLow));
    return answer;
  }

  /** Goes on with an operation that waits for the disk and whose row lock is held. */
  async #resume<T>(state: {
    readonly tableName: string;
    readonly table: TableState;
    readonly region: Region;
    readonly mutation: MutationBuffer;
    readonly operation: RowOperation<T>;
    readonly steps: Steps<Prepared<T>>;
    readonly wait: Promise<void>;
  }): Promise<T> {
    const { tableName, table, region, mutation, operation, steps } = state;
    const { version } = table;
    let answer: Promise<T> | null = null;
    try {
      const prepared = await drive(steps, state.wait);
      for (let wait = this.#obstacle(table, region, mutation, prepared); wait !== null;) {
        await wait;
        wait = this.#obstacle(table, region, mutation, prepared);
      }
      const isFree = !prepared.writes || !isIntended(table, operation.row);
      if (isFree && isCurrent(table, version, region)) {
        answer = this.#finish(table, region, mutation, operation, prepared);
      }
    } catch (error) {
      answer = this.#failedOnData(error);
    } finally {
      region.locks.release(operation.row);
      this.release(mutation);
    }
    return answer ?? this.#locked(tableName, operation);
  }

  /** What keeps a prepared operation from its commit now; null: nothing, commit in this turn. */
  #obstacle(
    table: TableState,
    region: Region,
    mutation: MutationBuffer,
    prepared: { readonly writes: boolean },
  ): Promise<void> | null {
    if (!prepared.writes) return null;
    return table.gate ?? this.#queue.admit(region, mutation);
  }

  /** The general way: waits for the table, then for the row, then runs. Starts over if the table changed meanwhile. */
  async #locked<T>(tableName: string, operation: RowOperation<T>): Promise<T> {
    for (;;) {
      const table = this.#catalog.writable(tableName);
      if (table.gate !== null) {
        await table.gate;
        continue;
      }
      if (isIntended(table, operation.row)) await table.intents!.free(operation.row);
      const { version } = table;
      const region = table.regionOf(operation.row);
      await region.locks.acquire(operation.row);
      const mutation = this.take();
      let answer: Promise<T> | null = null;
      try {
        if (isCurrent(table, version, region)) {
          const prepared = await drive(operation.prepare(table, region, mutation));
          if (prepared.writes && table.settings.changeBefore) {
            mutation.old = await readOld(table, region, [operation.row], this.#queue.nowMs);
          }
          for (let wait = this.#obstacle(table, region, mutation, prepared); wait !== null;) {
            await wait;
            wait = this.#obstacle(table, region, mutation, prepared);
          }
          const isFree = !prepared.writes || !isIntended(table, operation.row);
          if (isFree && isCurrent(table, version, region)) {
            answer = this.#finish(table, region, mutation, operation, prepared);
          }
        }
      } catch (error) {
        answer = this.#failedOnData(error);
      } finally {
        region.locks.release(operation.row);
        this.release(mutation);
      }
      if (answer !== null) return answer;
    }
  }
}

/** Each row once, in key order. */
function distinctRows(rows: readonly Uint8Array[]): Uint8Array[] {
  const sorted = [...rows].sort(compareBytes);
  return sorted.filter((row, i) => i === 0 || !equalBytes(row, sorted[i - 1]!));
}

class Failure {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }
}

/** A blind write as an operation: it never has to wait for what it reads. */
// eslint-disable-next-line require-yield -- It has the shape of operations that do.
function* blindSteps(distinct: boolean): Steps<Prepared<bigint>> {
  return { writes: true, distinct, answer: joinHalvesOf };
}

const joinHalvesOf = (high: number, low: number): bigint => (BigInt(high) << 32n) | BigInt(low);

/** A prepared transaction is going to write the row. */
export const isIntended = (table: TableState, row: Uint8Array): boolean =>
  table.intents !== null && table.intents.of(row) !== null;

/** Nothing that an operation was prepared with has changed: the table, its families, the region's borders. */
export const isCurrent = (table: TableState, version: number, region: Region): boolean =>
  table.enabled && table.version === version && table.holdsRegion(region);
