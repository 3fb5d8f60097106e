/** The pins of a run: moments that stay readable whatever happens, until they are released or their lease is over. */
import type { PinnedSnapshot } from '../../src/model/index.ts';

export interface Pin {
  /** Null: of one life. */
  readonly name: string | null;
  readonly tso: bigint;
  /** The clock's time up to which it holds. */
  readonly untilMs: number;
  /** Of the life that made it. */
  readonly handle: PinnedSnapshot | null;
}

export class PinBook {
  #pins: Pin[] = [];
  /** Named pins whose making or release was under way when the life ended. */
  readonly unsure = new Set<string>();

  add(pin: Pin): void {
    this.#pins.push(pin);
  }

  release(pin: Pin): void {
    this.#pins = this.#pins.filter((other) => other !== pin);
  }

  /** Those that hold as long as the clock has never shown more than this. */
  live(clockMaxMs: number): Pin[] {
    return this.#pins.filter(({ untilMs }) => clockMaxMs <= untilMs);
  }

  keeps(tso: bigint, clockMaxMs: number): boolean {
    return this.live(clockMaxMs).some((pin) => pin.tso === tso);
  }

  /** The oldest moment that must stay readable. */
  oldest(clockMaxMs: number): bigint | null {
    const tsos = this.live(clockMaxMs).map(({ tso }) => tso);
    return tsos.length === 0 ? null : tsos.reduce((a, b) => (a < b ? a : b));
  }

  /** The life is over: what has no name is gone. */
  endLife(): void {
    this.#pins = this.#pins.filter(({ name }) => name !== null);
  }

  get named(): Pin[] {
    return this.#pins.filter(({ name }) => name !== null);
  }
}
