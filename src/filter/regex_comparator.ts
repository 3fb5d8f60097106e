/** RegexStringComparator on an engine of our own, whose time is bounded. */
import type { Comparator } from './comparators.ts';
import type { Meter } from './meter.ts';
import type { Regex } from './regex/index.ts';
import type { CodePoints } from './text.ts';

/** 0 when the expression finds a match anywhere in the part, else 1. */
export class RegexStringComparator implements Comparator {
  readonly #regex: Regex;
  readonly #text: CodePoints;
  readonly #meter: Meter;

  constructor(regex: Regex, text: CodePoints, meter: Meter) {
    this.#regex = regex;
    this.#text = text;
    this.#meter = meter;
  }

  compare(buf: Uint8Array, at: number, length: number): number {
    this.#text.set(buf, at, length);
    const found = this.#regex.find(this.#text.points, this.#text.length);
    this.#meter.add(this.#regex.steps);
    return found ? 0 : 1;
  }
}
