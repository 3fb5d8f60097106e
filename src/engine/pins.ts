/**
 * Who keeps the past readable: snapshots of a moment (`connection.snapshot()`), running scans, and holds that other parts
 * put into the manifest. Nothing that was dropped after the oldest of these goes, whatever the rules of the retention.
 *
 * What lives in memory has a lease, so that a forgotten one cannot hold space for ever; a named pin is a record of the
 * manifest, lives until it is released or its lease ends, and survives reopening.
 */
import type { Clock } from '../io/index.ts';
import { put, remove } from '../manifest/index.ts';
import type { Edit, Manifest, SnapshotRecord } from '../manifest/index.ts';
import {
  IllegalArgumentException,
  SnapshotDoesNotExistException,
  SnapshotExistsException,
} from '../model/index.ts';
import type { PinDescription } from '../model/index.ts';

/** Lease of what lives in memory, unless another is asked for. */
export const LEASE_MS: number = 60 * 60 * 1000;

/** A hold in memory. */
export class PastHold {
  readonly tso: bigint;
  readonly owner: string;
  readonly isSnapshot: boolean;
  readonly #leaseMs: number;
  readonly #holds: Set<PastHold>;
  #untilMs: number;

  constructor(parts: {
    readonly tso: bigint;
    readonly owner: string;
    /** A user's, not that of a scan or a transaction. */
    readonly isSnapshot: boolean;
    readonly leaseMs: number;
    readonly nowMs: number;
    readonly holds: Set<PastHold>;
  }) {
    this.tso = parts.tso;
    this.owner = parts.owner;
    this.isSnapshot = parts.isSnapshot;
    this.#leaseMs = parts.leaseMs;
    this.#untilMs = parts.nowMs + parts.leaseMs;
    this.#holds = parts.holds;
    this.#holds.add(this);
  }

  get expiresMs(): number {
    return this.#untilMs;
  }

  isLive(nowMs: number): boolean {
    return nowMs <= this.#untilMs && this.#holds.has(this);
  }

  /** It is in use: the lease starts again, unless it has ended. */
  renew(nowMs: number): void {
    if (this.isLive(nowMs)) this.#untilMs = nowMs + this.#leaseMs;
  }

  /** Idempotent. */
  release(): void {
    this.#holds.delete(this);
  }
}

/** The oldest moment that somebody needs, and who. */
export interface OldestNeed {
  readonly tso: bigint;
  readonly owner: string;
}

export class Pins {
  readonly #manifest: Manifest;
  readonly #clock: Clock;
  readonly #holds = new Set<PastHold>();

  constructor(parts: { readonly manifest: Manifest; readonly clock: Clock }) {
    this.#manifest = parts.manifest;
    this.#clock = parts.clock;
  }

  /** Keeps what readers at `tso` see, until the release or the end of the lease. */
  hold(tso: bigint, owner: string, leaseMs: number = LEASE_MS): PastHold {
    return this.#hold(tso, owner, leaseMs, false);
  }

  /** As `hold`, for a snapshot that a user has asked for: nothing gives up what it sees. */
  holdSnapshot(tso: bigint, owner: string, leaseMs: number): PastHold {
    return this.#hold(tso, owner, leaseMs, true);
  }

  #hold(tso: bigint, owner: string, leaseMs: number, isSnapshot: boolean): PastHold {
    const nowMs = this.#clock.nowMs();
    return new PastHold({ tso, owner, isSnapshot, leaseMs, nowMs, holds: this.#holds });
  }

  isLive(hold: PastHold): boolean {
    return hold.isLive(this.#clock.nowMs());
  }

  renew(hold: PastHold): void {
    hold.renew(this.#clock.nowMs());
  }

  /** Null: nobody needs the past. */
  oldest(): OldestNeed | null {
    let oldest: OldestNeed | null = null;
    for (const need of this.#needs()) {
      if (oldest === null || need.tso < oldest.tso) oldest = need;
    }
    return oldest;
  }

  /** A snapshot, or a hold of the manifest, of this moment or a later one: scans and transactions do not count. Null: none. */
  promisedFrom(tso: bigint): OldestNeed | null {
    for (const need of this.#needs()) if (need.isPromised && need.tso >= tso) return need;
    return null;
  }

  *#needs(): Generator<OldestNeed & { readonly isPromised: boolean }> {
    const nowMs = this.#clock.nowMs();
    for (const hold of this.#holds) {
      const { tso, owner, isSnapshot } = hold;
      if (hold.isLive(nowMs)) yield { tso, owner, isPromised: isSnapshot };
      else hold.release();
    }
    for (const record of this.#manifest.all('snapshot')) {
      if (!isLivePin(record, nowMs)) continue;
      yield { tso: record.tso, owner: `snapshot ${record.name}`, isPromised: true };
    }
    for (const { tso, owner, expiresMs } of this.#manifest.all('hold')) {
      if (expiresMs === null || nowMs <= expiresMs) yield { tso, owner, isPromised: true };
    }
  }

  /** Pins that live in the manifest, by name. */
  list(): PinDescription[] {
    const nowMs = this.#clock.nowMs();
    const pins = [...this.#manifest.all('snapshot')].filter((record) => isLivePin(record, nowMs));
    return pins.map(describePin).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws SnapshotDoesNotExistException. */
  named(name: string): PinDescription {
    const record = this.#manifest.get('snapshot', name);
    if (record === undefined || !isLivePin(record, this.#clock.nowMs())) {
      throw new SnapshotDoesNotExistException(`There is no pinned snapshot ${name}`);
    }
    return describePin(record);
  }

  /** Throws IllegalArgumentException, SnapshotExistsException: pins and snapshots of tables share their names. */
  checkFree(name: string): void {
    if (name === '') throw new IllegalArgumentException('the name of a snapshot is not empty');
    const record = this.#manifest.get('snapshot', name);
    if (record === undefined) return;
    if (record.kind === 'pin' && !isLivePin(record, this.#clock.nowMs())) return;
    throw new SnapshotExistsException(`Snapshot ${name} already exists`);
  }

  /** Makes a hold a named pin, durably. `leaseMs` null: until it is released. */
  async name(
    name: string,
    tso: bigint,
    options: { readonly owner: string; readonly leaseMs: number | null },
  ): Promise<PinDescription> {
    this.checkFree(name);
    const createdMs = this.#clock.nowMs();
    const record: SnapshotRecord = {
      name,
      tso,
      createdMs,
      kind: 'pin',
      owner: options.owner,
      expiresMs: options.leaseMs === null ? null : createdMs + options.leaseMs,
      tableIds: [],
      fileIds: [],
      schemas: [],
      tables: [],
    };
    await this.#manifest.commit([put('snapshot', record)]);
    return describePin(record);
  }

  /** Throws SnapshotDoesNotExistException. */
  async release(name: string): Promise<void> {
    this.named(name);
    await this.#manifest.commit([remove('snapshot', name)]);
  }

  /** Edits that take away named pins whose lease has ended. */
  expired(): Edit[] {
    const nowMs = this.#clock.nowMs();
    return [...this.#manifest.all('snapshot')]
      .filter((record) => record.kind === 'pin' && !isLivePin(record, nowMs))
      .map(({ name }) => remove('snapshot', name));
  }
}

const isLivePin = (record: SnapshotRecord, nowMs: number): boolean =>
  record.kind === 'pin' && (record.expiresMs === null || nowMs <= record.expiresMs);

const describePin = (record: SnapshotRecord): PinDescription => ({
  name: record.name,
  tso: record.tso,
  owner: record.owner,
  createdMs: record.createdMs,
  expiresMs: record.expiresMs,
});
