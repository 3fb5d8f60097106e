/** The open scanners of all clients, each with a lease that every call renews. */
import type { PastHold } from '../../../engine/index.ts';
import type { Env, Timer } from '../../../io/index.ts';
import type { CellBatch } from '../../../region/index.ts';
import { RemoteException } from '../exceptions.ts';
import type { RpcLimits } from '../limits.ts';
import type { RowScanner, SystemRegion } from '../service.ts';
import type { FoundRegion } from './regions.ts';

/** A client's scan of one region. */
export interface ClientScanner {
  readonly id: number;
  readonly found: FoundRegion | SystemRegion;
  readonly scanner: RowScanner;
  readonly batch: CellBatch;
  /** Keeps what it sees; null for a system region. */
  readonly hold: PastHold | null;
  readonly maxResultSizeBytes: number;
  readonly needCursor: boolean;
  /** What the next call must carry as its `next_call_seq`. */
  nextCallSeq: number;
  /** A call is running. */
  isBusy: boolean;
  /** Figures of the scanner that clients were told. */
  rowsScannedTold: number;
  rowsFilteredTold: number;
  /** End of the lease on the steady clock. */
  untilMs: number;
}

/** Ids of scanners closed of late that are remembered: a close that comes after is no error. */
const CLOSED_KEPT = 1000;
/** Leases are looked at this often, or as often as they last. */
const SWEEP_MS_MAX = 5_000;

export class Scanners {
  readonly #env: Pick<Env, 'clock' | 'timers' | 'random'>;
  readonly #limits: RpcLimits;
  readonly #open = new Map<number, ClientScanner>();
  /** Closed of late, and the `next_call_seq` that would have been next. */
  readonly #closed = new Map<number, number>();
  #nextId: number;
  #sweep: Timer | null = null;

  constructor(env: Pick<Env, 'clock' | 'timers' | 'random'>, limits: RpcLimits) {
    this.#env = env;
    this.#limits = limits;
    // A server started anew does not take the scanners of the last one for its own.
    this.#nextId = env.random.int(0x40000000) * 0x100000 + 1;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Throws RegionTooBusyException with too many open. */
  checkRoom(): void {
    if (this.#open.size < this.#limits.scannersMax) return;
    throw new RemoteException('RegionTooBusyException', `${this.#open.size} scanners are open`);
  }

  takeId(): number {
    return this.#nextId++;
  }

  add(scanner: ClientScanner): void {
    this.#open.set(scanner.id, scanner);
    this.renew(scanner);
    this.#sweep ??= this.#sweepLater();
  }

  renew(scanner: ClientScanner): void {
    scanner.untilMs = this.#env.clock.monotonicMs() + this.#limits.scannerLeaseMs;
  }

  /** Throws UnknownScannerException; for one that was closed of late OutOfOrderScannerNextException. */
  get(id: number): ClientScanner {
    const scanner = this.#open.get(id);
    if (scanner !== undefined) return scanner;
    if (this.#closed.has(id)) {
      throw new RemoteException(
        'OutOfOrderScannerNextException',
        `Scanner ${id} was closed: it had come to its end`,
      );
    }
    throw new RemoteException(
      'UnknownScannerException',
      `Unknown scanner '${id}'. This can happen due to any of the following reasons: a) Scanner id given is wrong, ` +
        'b) Scanner lease expired because of long wait between consecutive client checkins, ' +
        'c) Server may be closing down, d) RegionServer restart during upgrade.',
    );
  }

  /**
   * Whether the scanner was closed of late, and the call is one that its client may still make: a close, or one more next of
   * a client that does not know how a region's end is told. It gets no rows.
   */
  wasClosed(id: number, nextCallSeq: number | null): boolean {
    const expected = this.#closed.get(id);
    if (expected === undefined) return false;
    return nextCallSeq === null || nextCallSeq === expected;
  }

  close(scanner: ClientScanner): void {
    scanner.scanner.close();
    scanner.hold?.release();
    if (!this.#open.delete(scanner.id)) return;
    this.#closed.set(scanner.id, scanner.nextCallSeq);
    if (this.#closed.size <= CLOSED_KEPT) return;
    for (const oldest of this.#closed.keys()) {
      this.#closed.delete(oldest);
      break;
    }
  }

  closeAll(): void {
    this.#sweep?.cancel();
    this.#sweep = null;
    for (const scanner of this.#open.values()) this.close(scanner);
  }

  #sweepLater(): Timer {
    const everyMs = Math.min(SWEEP_MS_MAX, this.#limits.scannerLeaseMs);
    return this.#env.timers.after(everyMs, () => {
      const nowMs = this.#env.clock.monotonicMs();
      for (const scanner of this.#open.values()) {
        if (scanner.isBusy || scanner.untilMs > nowMs) continue;
        this.close(scanner);
        // Whoever lets a lease end is told so.
        this.#closed.delete(scanner.id);
      }
      this.#sweep = this.#open.size === 0 ? null : this.#sweepLater();
    });
  }
}
