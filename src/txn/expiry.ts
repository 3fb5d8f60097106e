/**
 * Time-outs, by wall time: of open transactions, of prepared ones, of terminal records. A clock that outruns the monotonic
 * one by the oracle's threshold suspends it: nothing is ended because a clock was set.
 */
import type { RegionServer } from '../engine/index.ts';
import { StoreException } from '../io/index.ts';
import type { Timer } from '../io/index.ts';
import type { AbortReason } from '../model/index.ts';
import { clockMs } from './commit_step.ts';
import type { Decider } from './decider.ts';
import type { TransactionKnobs } from './knobs.ts';
import type { Ledger, LedgerRecord } from './ledger.ts';
import type { TransactionMetrics } from './metrics.ts';
import type { Registry } from './registry.ts';
import type { Stager } from './stager.ts';
import type { Txn } from './txn.ts';

const TICK_MS = 500;
/** Terminal records are looked through once in so many ticks, and so many a time at most. */
const SWEEP_TICKS = 120;
const SWEEP_RECORDS = 2000;

export interface ExpiryParts {
  readonly server: RegionServer;
  readonly ledger: Ledger;
  readonly registry: Registry;
  readonly metrics: TransactionMetrics;
  readonly decider: Decider;
  readonly stager: Stager;
  readonly knobs: () => TransactionKnobs;
  /** Runs after the verbs on the transaction that came before. */
  readonly exclusively: <T>(txn: Txn, work: () => Promise<T>) => Promise<T>;
}

export class Expiry {
  readonly #parts: ExpiryParts;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  #isStopped = false;
  #ticks = 0;
  #startWallMs = 0;
  #startMonotonicMs = 0;
  #isSuspended = false;
  /** Terminal records, once they were counted. */
  #kept: number | null = null;

  constructor(parts: ExpiryParts) {
    this.#parts = parts;
  }

  start(): void {
    const { server } = this.#parts;
    this.#startWallMs = clockMs(server);
    this.#startMonotonicMs = server.env.clock.monotonicMs();
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#timer = this.#parts.server.env.timers.after(TICK_MS, () => {
      this.#running ??= this.tick().finally(() => {
        this.#running = null;
        this.#schedule();
      });
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  /** Ends what is due. Never rejects: a failure is told to the logger, and tried again. */
  async tick(): Promise<void> {
    const { server, registry } = this.#parts;
    if (this.#clockRan()) return;
    const nowMs = clockMs(server);
    this.#ticks++;
    try {
      for (const txn of registry.all()) {
        const reason = dueReason(txn, nowMs);
        if (reason !== null) await this.#end(txn, reason);
        else this.#warnAtHalf(txn, nowMs);
        if (this.#isStopped) return;
      }
      if (this.#ticks % SWEEP_TICKS === 0) await this.sweep();
    } catch (error) {
      if (this.#isStopped || server.fatal !== null) return;
      const level = error instanceof StoreException && error.retryable ? 'warn' : 'error';
      server.logger[level]({ err: error }, 'time-outs of transactions could not be applied');
    }
  }

  async #end(txn: Txn, reason: AbortReason): Promise<void> {
    const { exclusively, decider, server } = this.#parts;
    await exclusively(txn, async () => {
      // Verbs came before: perhaps it is decided, or was loaded again.
      if (txn.isDecided || dueReason(txn, clockMs(server)) === null) return;
      await decider.abort(txn, reason);
      server.logger.warn(
        { label: txn.facts.label, txnId: String(txn.facts.id), reason },
        'a transaction was aborted: its time is over',
      );
    });
  }

  #warnAtHalf(txn: Txn, nowMs: number): void {
    if (txn.state !== 'PREPARED' || txn.warnedAtHalf || txn.preparedMs === null) return;
    if (nowMs < (txn.preparedMs + txn.expiresMs) / 2) return;
    txn.warnedAtHalf = true;
    this.#parts.server.logger.warn(
      { label: txn.facts.label, txnId: String(txn.facts.id), expiresMs: txn.expiresMs },
      'a prepared transaction is not decided and half of its time is over',
    );
  }

  /** The wall clock was set forward by more than the threshold while we watched. */
  #clockRan(): boolean {
    const { server } = this.#parts;
    const wall = clockMs(server) - this.#startWallMs;
    const monotonic = server.env.clock.monotonicMs() - this.#startMonotonicMs;
    const isAhead = wall - monotonic > server.oracle.knobs.tso_clock_backward_startup_threshold_ms;
    if (isAhead && !this.#isSuspended) {
      server.logger.warn(
        { aheadMs: Math.round(wall - monotonic) },
        'the clock was set forward: transactions do not time out until it is right, or the store is opened again',
      );
    }
    this.#isSuspended = isAhead;
    return isAhead;
  }

  /** Forgets terminal records that are too old, or too many; the oldest first. */
  async sweep(): Promise<void> {
    const { server, ledger, registry, metrics, knobs } = this.#parts;
    const { label_keep_max_second: keep, label_num_threshold: most } = knobs();
    const before = clockMs(server) - keep * 1000;
    let surplus = this.#kept === null ? 0 : this.#kept - most;
    const due: LedgerRecord[] = [];
    let seen = 0;
    for await (const record of ledger.records(0n)) {
      if (record.state !== 'COMMITTED' && record.state !== 'ABORTED') continue;
      seen++;
      const isOld = record.finishedMs !== null && record.finishedMs <= before;
      if (isOld || surplus > 0) {
        due.push(record);
        surplus--;
      } else if (this.#kept !== null && record.createdMs > before) break;
      if (due.length >= SWEEP_RECORDS) break;
    }
    await this.#parts.stager.sweep();
    this.#kept ??= seen;
    await ledger.forget(due);
    if (due.length > 0) registry.forgottenTo = await ledger.forgottenTo();
    this.#kept -= due.length;
    metrics.labelsForgotten += due.length;
  }
}

/** Why the transaction ends now; null: it does not. */
export function dueReason(txn: Txn, nowMs: number): AbortReason | null {
  if (txn.state === 'PREPARED') return nowMs >= txn.expiresMs ? 'PREPARED_TIMEOUT' : null;
  if (txn.state !== 'OPEN') return null;
  if (nowMs >= txn.expiresMs) return 'TIMEOUT';
  const { idleTimeoutMs } = txn.facts;
  return idleTimeoutMs > 0 && nowMs - txn.lastLoadMs >= idleTimeoutMs ? 'IDLE_TIMEOUT' : null;
}
