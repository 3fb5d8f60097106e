/** The rows of a run: 16-byte keys, values of 100 bytes or as said, the same for every store. Everything random has a fixed seed. */

export const VALUE_LENGTH = 100;
const KEY_LENGTH = 16;
const POOL_LENGTH = 256 * 1024;
/** No value begins within the one before it. */
const POOL_STEP = 10_007;

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
  const key = Buffer.allocUnsafe(KEY_LENGTH);
  writeKey(key, 0, n);
  return key;
}

export function writeKey(buf: Uint8Array, at: number, n: number): void {
  buf[at] = 0x75;
  buf[at + 1] = 0x73;
  buf[at + 2] = 0x65;
  buf[at + 3] = 0x72;
  let rest = n;
  for (let i = at + KEY_LENGTH - 1; i >= at + 4; i--) {
    const tenth = Math.floor(rest / 10);
    buf[i] = 0x30 + rest - tenth * 10;
    rest = tenth;
  }
}

/** Keys 0 … `count`, views of one buffer. */
export function keysUpTo(count: number): Uint8Array[] {
  return keysOf(count, (i) => i);
}

/** `count` keys, the numbers given by `number`, views of one buffer. */
export function keysOf(count: number, number: (i: number) => number): Uint8Array[] {
  const all = Buffer.alloc(count * KEY_LENGTH);
  return Array.from({ length: count }, (_, i) => {
    writeKey(all, i * KEY_LENGTH, number(i));
    return all.subarray(i * KEY_LENGTH, (i + 1) * KEY_LENGTH);
  });
}

/** 0 … `count` in random order, from a fixed seed: the same for every store. */
export function shuffled(count: number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  const random = new Random(88172645);
  for (let i = count - 1; i > 0; i--) {
    const j = random.int(i + 1);
    const taken = order[i]!;
    order[i] = order[j]!;
    order[j] = taken;
  }
  return order;
}

/** Values that do not compress, cut from one pool. */
export class Values {
  readonly #pool: Buffer = Buffer.alloc(POOL_LENGTH);
  readonly #length: number;
  #at = 0;

  /** `length`: bytes of each, at most 64 KiB. */
  constructor(length: number = VALUE_LENGTH) {
    this.#length = length;
    const random = new Random(4711);
    for (let i = 0; i < POOL_LENGTH; i++) this.#pool[i] = random.int(256);
  }

  next(): Uint8Array {
    this.#at = (this.#at + POOL_STEP) % (POOL_LENGTH - this.#length);
    return this.#pool.subarray(this.#at, this.#at + this.#length);
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
