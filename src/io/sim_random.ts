/** Chance from a seed. The generator is sfc32 (PractRand's small fast counter): 128 bits of state, three adds a number. */
import type { Random } from './env.ts';

/** Numbers from the seed's start on the first draws still resemble the seed; they are thrown away. */
const WARM_UP = 16;

/** A deterministic `Random`: the same seed gives the same numbers on every platform and version. */
export class SeededRandom implements Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** `seed` is any number; its lower 53 bits count. `stream` tells generators of one seed apart. */
  constructor(seed: number, stream: number = 0) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 0x1_0000_0000) >>> 0;
    this.#c = stream >>> 0;
    for (let i = 0; i < WARM_UP; i++) this.next();
  }

  /** The next 32 bits, as an integer in [0, 2^32). */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  int(below: number): number {
    return Math.floor((this.next() / 0x1_0000_0000) * below);
  }

  /** A fraction in [0, 1), in steps of 2^-32. */
  float(): number {
    return this.next() / 0x1_0000_0000;
  }

  /** True with the given probability; 0 is never, 1 is always. */
  chance(probability: number): boolean {
    return this.float() < probability;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = this.next();
    return bytes;
  }

  /** A new generator whose numbers do not depend on how many are drawn from this one later. */
  fork(): SeededRandom {
    return new SeededRandom(this.next() + (this.next() & 0x1f_ffff) * 0x1_0000_0000, this.next());
  }
}

export function seeded(seed: number): SeededRandom {
  return new SeededRandom(seed);
}
