/** The rows of a run: 16-byte keys, 100-byte values, the same for every store. Everything random has a fixed seed. */

export const VALUE_LENGTH = 100;
const KEY_LENGTH = 16;
const POOL_LENGTH = 64 * 1024;

/** xorshift32: the same sequence everywhere, from any seed but 0. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** An integer in [0, below). */
  int(below: number): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state >>> 0;
    return this.#state % below;
  }
}

/** Key number `n`: `user` and twelve digits. */
export function keyOf(n: number): Uint8Array {
  return Buffer.from(`user${String(n).padStart(KEY_LENGTH - 4, '0')}`, 'latin1');
}

export function keysUpTo(count: number): Uint8Array[] {
  const all = Buffer.alloc(count * KEY_LENGTH);
  return Array.from({ length: count }, (_, n) => {
    all.set(keyOf(n), n * KEY_LENGTH);
    return all.subarray(n * KEY_LENGTH, (n + 1) * KEY_LENGTH);
  });
}

/** Values that do not compress, cut from one pool. */
export class Values {
  readonly #pool: Buffer = Buffer.alloc(POOL_LENGTH);
  #at = 0;

  constructor() {
    const random = new Random(4711);
    for (let i = 0; i < POOL_LENGTH; i++) this.#pool[i] = random.int(256);
  }

  next(): Uint8Array {
    this.#at = (this.#at + 37) % (POOL_LENGTH - VALUE_LENGTH);
    return this.#pool.subarray(this.#at, this.#at + VALUE_LENGTH);
  }
}

/** Reads every byte; the sum is reported, so that no reading can be left out. */
export class ByteSum {
  sum = 0;
  rows = 0;

  add(bytes: Uint8Array): void {
    let sum = 0;
    for (let i = 0; i < bytes.length; i++) sum += bytes[i]!;
    this.sum = (this.sum + sum) % 1_000_000_007;
  }

  readonly row = (key: Uint8Array, value: Uint8Array): void => {
    this.rows++;
    this.add(key);
    this.add(value);
  };
}
