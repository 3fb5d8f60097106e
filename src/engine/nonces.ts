/**
 * Nonces make a repeated request harmless: the first with a nonce runs, a repeat waits for it and answers as a read as
 * of its commit (HBase: ServerNonceManager). Kept for 30 minutes, also over a restart: they stand in the log's records.
 */
import type { Clock } from '../io/index.ts';
import { putU64, u64 } from '../cell/index.ts';
import type { Nonce } from '../model/index.ts';
import { IllegalArgumentException, requireObject } from '../model/index.ts';

export const NONCE_KEPT_MS: number = 30 * 60 * 1000;
/** How many entries are looked at for age when one is added: enough to keep up, never a pause. */
const SWEEP_STEP = 4;

const NONCE_SIZE = 16;
const PACKED_SIZE: number = NONCE_SIZE + 8;
const TSO_LOGICAL_BITS = 18n;

interface Entry {
  /** Null while the first request runs. */
  tso: bigint | null;
  readonly addedMs: number;
  readonly done: Promise<bigint | null>;
}

/** Group and nonce as 16 bytes, as the log keeps them. */
export function nonceBytes(nonce: Nonce): Uint8Array {
  requireObject(nonce, 'nonce');
  const { group, nonce: number } = nonce;
  for (const part of [group, number]) {
    if (typeof part !== 'bigint' || BigInt.asIntN(64, part) !== part) {
      throw new IllegalArgumentException(`nonce ${String(part)} is not a 64-bit bigint`);
    }
  }
  const bytes = new Uint8Array(16);
  putU64(bytes, 0, BigInt.asUintN(64, group));
  putU64(bytes, 8, BigInt.asUintN(64, number));
  return bytes;
}

const keyOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

export class Nonces {
  readonly #clock: Clock;
  /** In the order of adding, so that the oldest come first. */
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Found in the log by recovery: committed with `tso`, at about `atMs`. */
  recovered(nonce: Uint8Array, tso: bigint, atMs: number): void {
    if (this.#clock.nowMs() - atMs > NONCE_KEPT_MS) return;
    this.#entries.set(keyOf(nonce), { tso, addedMs: atMs, done: Promise.resolve(tso) });
  }

  /**
   * Nonces of commits at or below `upTo` and their commits, 24 bytes each, for a checkpoint that outlives the log's segments.
   * Those commits must be on the disk: a nonce that is remembered for a commit that power has taken would answer its repeat,
   * and nothing would be written.
   */
  pack(upTo: bigint): Uint8Array {
    const finished = [...this.#entries].filter(([, { tso }]) => tso !== null && tso <= upTo);
    const body = Buffer.alloc(finished.length * PACKED_SIZE);
    finished.forEach(([key, entry], i) => {
      body.write(key, i * PACKED_SIZE, 'latin1');
      putU64(body, i * PACKED_SIZE + NONCE_SIZE, entry.tso ?? 0n);
    });
    return body;
  }

  /** Takes what `pack` gave. */
  unpack(body: Uint8Array): void {
    for (let at = 0; at + PACKED_SIZE <= body.length; at += PACKED_SIZE) {
      const tso = u64(body, at + NONCE_SIZE);
      this.recovered(body.subarray(at, at + NONCE_SIZE), tso, Number(tso >> TSO_LOGICAL_BITS));
    }
  }

  /** The commit with this nonce was made, at this TSO: told in the commit's step, whatever becomes of its answer. */
  committed(nonce: Uint8Array, tso: bigint): void {
    const entry = this.#entries.get(keyOf(nonce));
    if (entry !== undefined) entry.tso = tso;
  }

  /**
   * Runs `first` if the nonce is new. Otherwise waits for the first request and, if it committed, gives `repeat` of its
   * TSO, even if its answer failed; if it wrote nothing, the repeat runs as a first.
   */
  async once<T>(
    nonce: Uint8Array,
    first: () => Promise<T>,
    repeat: (tso: bigint) => Promise<T>,
  ): Promise<T> {
    const key = keyOf(nonce);
    for (;;) {
      const known = this.#entries.get(key);
      if (known === undefined) break;
      const tso = known.tso ?? (await known.done);
      if (tso !== null) return repeat(tso);
    }
    return this.#runFirst(key, first);
  }

  async #runFirst<T>(key: string, first: () => Promise<T>): Promise<T> {
    const settled: { resolve: (tso: bigint | null) => void } = { resolve: () => undefined };
    const done = new Promise<bigint | null>((resolve) => (settled.resolve = resolve));
    const entry: Entry = { tso: null, addedMs: this.#clock.nowMs(), done };
    this.#sweep();
    this.#entries.set(key, entry);
    try {
      return await first();
    } finally {
      if (entry.tso === null) this.#entries.delete(key);
      settled.resolve(entry.tso);
    }
  }

  #sweep(): void {
    const oldest = this.#clock.nowMs() - NONCE_KEPT_MS;
    let looked = 0;
    for (const [key, entry] of this.#entries) {
      if (looked++ === SWEEP_STEP || entry.addedMs > oldest) return;
      if (entry.tso !== null) this.#entries.delete(key);
    }
  }
}
