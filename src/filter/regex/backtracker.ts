/**
 * Finds matches by trying, for expressions that look around or back, which no automaton does in linear time. Its steps are
 * counted and bounded: an expression that needs too many is given up with an error.
 */
import { DoNotRetryIOException } from '../../model/index.ts';
import { casesOf } from './char_set.ts';
import {
  ATOMIC,
  BACK,
  BACK_ANY_CASE,
  BACK_UNICODE_CASE,
  DONE,
  JUMP,
  LOOK,
  LOOK_BEHIND,
  LOOK_NEGATIVE,
  PLACE,
  PROGRESS,
  SAVE,
  SET,
  SPLIT,
} from './compiler.ts';
import type { Program } from './compiler.ts';
import { isAtPlace } from './places.ts';

/** Steps of one text at least, and for each of its characters. */
const STEPS_MAX = 500_000;
const STEPS_PER_CHARACTER_MAX = 64;

const NO_MATCH = -1;
/** The end of a part may be anywhere. */
const ANYWHERE = -1;

export class Backtracker {
  /** Instructions run by the last `find`. */
  steps = 0;
  readonly #program: Program;
  readonly #pattern: string;
  readonly #slots: Int32Array;
  #stepsMax = 0;
  #points: Uint32Array = new Uint32Array(0);
  #length = 0;
  /** Three numbers an entry: program, place, -1 to go on there; or slot, old value, -2 to restore it. */
  readonly #stack: number[] = [];

  constructor(program: Program, pattern: string) {
    this.#program = program;
    this.#pattern = pattern;
    this.#slots = new Int32Array(program.slotCount);
  }

  /** Whether the expression matches anywhere in the text. Throws DoNotRetryIOException when that takes too long. */
  find(points: Uint32Array, length: number): boolean {
    this.#points = points;
    this.#length = length;
    this.steps = 0;
    this.#stepsMax = Math.max(STEPS_MAX, length * STEPS_PER_CHARACTER_MAX);
    const last = this.#program.isAnchored ? 0 : length;
    const { firstSet } = this.#program;
    for (let at = 0; at <= last; at++) {
      if (firstSet !== null && (at === length || !firstSet.has(points[at]!))) continue;
      this.#slots.fill(-1);
      this.#stack.length = 0;
      if (this.#run(0, at, ANYWHERE) !== NO_MATCH) return true;
    }
    return false;
  }

  /** Where the part of the program that begins at `from` ends its first match, at `end` if that is given. */
  #run(from: number, startAt: number, end: number): number {
    const { ops, xs, ys, sets } = this.#program;
    const base = this.#stack.length;
    let pc = from;
    let at = startAt;
    for (;;) {
      this.#countStep();
      let holds = true;
      switch (ops[pc]) {
        case SET:
          holds = at < this.#length && sets[xs[pc]!]!.has(this.#points[at]!);
          at++;
          pc++;
          break;
        case PLACE:
          holds = isAtPlace(xs[pc]!, ys[pc] === 1, this.#points, this.#length, at);
          pc++;
          break;
        case SPLIT:
          this.#stack.push(ys[pc]!, at, -1);
          pc = xs[pc]!;
          break;
        case JUMP:
          pc = xs[pc]!;
          break;
        case SAVE:
          this.#stack.push(xs[pc]!, this.#slots[xs[pc]!]!, -2);
          this.#slots[xs[pc]!] = at;
          pc++;
          break;
        case PROGRESS:
          holds = this.#slots[xs[pc]!] !== at;
          pc++;
          break;
        case LOOK:
          holds = this.#looks(pc, at);
          pc = xs[pc]!;
          break;
        case ATOMIC: {
          const reached = this.#run(pc + 1, at, ANYWHERE);
          holds = reached !== NO_MATCH;
          at = reached;
          pc = xs[pc]!;
          break;
        }
        case BACK: {
          const reached = this.#back(xs[pc]!, ys[pc]!, at);
          holds = reached !== NO_MATCH;
          at = reached;
          pc++;
          break;
        }
        case DONE:
          if (end === ANYWHERE || at === end) {
            this.#commit(base);
            return at;
          }
          holds = false;
          break;
        default:
          break;
      }
      if (holds) continue;
      if (!this.#backtrack(base)) return NO_MATCH;
      at = this.#stack.pop()!;
      pc = this.#stack.pop()!;
    }
  }

  #countStep(): void {
    this.steps++;
    if (this.steps <= this.#stepsMax) return;
    throw new DoNotRetryIOException(
      `Regular expression '${this.#pattern}' was given up after ${this.#stepsMax} steps on one cell`,
    );
  }

  /** Restores slots down to the last choice, which is left as program and place; false if there is none above `base`. */
  #backtrack(base: number): boolean {
    const stack = this.#stack;
    while (stack.length > base) {
      const kind = stack.pop()!;
      if (kind === -1) return true;
      const old = stack.pop()!;
      this.#slots[stack.pop()!] = old;
    }
    return false;
  }

  /** Forgets the choices above `base`, not how to restore the slots. */
  #commit(base: number): void {
    const stack = this.#stack;
    let to = base;
    for (let i = base; i < stack.length; i += 3) {
      if (stack[i + 2] !== -2) continue;
      stack[to] = stack[i]!;
      stack[to + 1] = stack[i + 1]!;
      stack[to + 2] = -2;
      to += 3;
    }
    stack.length = to;
  }

  #looks(pc: number, at: number): boolean {
    const kind = this.#program.ys[pc]!;
    const base = this.#stack.length;
    const found = (kind & LOOK_BEHIND) === 0 ? this.#ahead(pc, at) : this.#behind(pc, at);
    const isNegative = (kind & LOOK_NEGATIVE) !== 0;
    // What a negative look has noted is undone.
    if (isNegative) while (this.#backtrack(base)) this.#stack.length -= 2;
    return found !== isNegative;
  }

  #ahead(pc: number, at: number): boolean {
    return this.#run(pc + 1, at, ANYWHERE) !== NO_MATCH;
  }

  #behind(pc: number, at: number): boolean {
    const width = this.#program.lookWidths.get(pc) ?? Infinity;
    const first = Math.max(0, at - width);
    for (let from = at; from >= first; from--) {
      if (this.#run(pc + 1, from, at) !== NO_MATCH) return true;
    }
    return false;
  }

  /** Where the text of the group ends if it stands here too. A group that took nothing matches nowhere. */
  #back(group: number, kind: number, at: number): number {
    const from = this.#slots[group * 2] ?? -1;
    const to = this.#slots[group * 2 + 1] ?? -1;
    if (group * 2 + 1 >= this.#slots.length || from < 0 || to < from) return NO_MATCH;
    const count = to - from;
    this.steps += count;
    if (at + count > this.#length) return NO_MATCH;
    for (let i = 0; i < count; i++) {
      if (!isSame(this.#points[from + i]!, this.#points[at + i]!, kind)) return NO_MATCH;
    }
    return at + count;
  }
}

function isSame(a: number, b: number, kind: number): boolean {
  if (a === b) return true;
  if ((kind & BACK_ANY_CASE) === 0) return false;
  return casesOf(a, (kind & BACK_UNICODE_CASE) !== 0).includes(b);
}
