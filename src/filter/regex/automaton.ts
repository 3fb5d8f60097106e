/**
 * Finds matches in time linear in the text: all ways through the program are followed at once, each instruction at most
 * once a character (Thompson's construction, Pike's lists).
 */
import { DONE, JUMP, PLACE, SET, SPLIT } from './compiler.ts';
import type { Program } from './compiler.ts';
import { isAtPlace } from './places.ts';

export class Automaton {
  /** Instructions visited by the last `find`. */
  steps = 0;
  readonly #program: Program;
  /** SET instructions that wait for the next character. */
  #threads: Int32Array;
  #count = 0;
  #nextThreads: Int32Array;
  readonly #stack: Int32Array;
  /** The character before which the instruction was last visited. */
  readonly #seenAt: Int32Array;

  constructor(program: Program) {
    this.#program = program;
    const { length } = program.ops;
    this.#threads = new Int32Array(length);
    this.#nextThreads = new Int32Array(length);
    this.#stack = new Int32Array(length + 1);
    this.#seenAt = new Int32Array(length);
  }

  /** Whether the expression matches anywhere in the text. */
  find(points: Uint32Array, length: number): boolean {
    const { xs, sets, isAnchored, firstSet } = this.#program;
    this.#seenAt.fill(-1);
    this.#count = 0;
    this.steps = 0;
    for (let at = 0; at <= length; at++) {
      if (this.#count === 0) {
        if (isAnchored && at > 0) return false;
        if (firstSet !== null) {
          const from = at;
          while (at < length && !firstSet.has(points[at]!)) at++;
          this.steps += at - from;
          if (at === length) return false;
        }
      }
      if (!(isAnchored && at > 0) && this.#follow(0, points, length, at)) return true;
      if (at === length) return false;
      const threads = this.#threads;
      const count = this.#count;
      this.#threads = this.#nextThreads;
      this.#nextThreads = threads;
      this.#count = 0;
      const point = points[at]!;
      for (let i = 0; i < count; i++) {
        const pc = threads[i]!;
        if (!sets[xs[pc]!]!.has(point)) continue;
        if (this.#follow(pc + 1, points, length, at + 1)) return true;
      }
      this.steps += count;
    }
    return false;
  }

  /** Goes on from `pc` as far as no character is taken; true when the end of the program is reached. */
  #follow(from: number, points: Uint32Array, length: number, at: number): boolean {
    const { ops, xs, ys } = this.#program;
    const seenAt = this.#seenAt;
    const stack = this.#stack;
    let depth = 0;
    if (seenAt[from] === at) return false;
    seenAt[from] = at;
    stack[depth++] = from;
    while (depth > 0) {
      const pc = stack[--depth]!;
      this.steps++;
      let next = pc + 1;
      switch (ops[pc]) {
        case SET:
          this.#threads[this.#count++] = pc;
          continue;
        case DONE:
          return true;
        case PLACE:
          if (!isAtPlace(xs[pc]!, ys[pc] === 1, points, length, at)) continue;
          break;
        case JUMP:
          next = xs[pc]!;
          break;
        case SPLIT: {
          const other = ys[pc]!;
          if (seenAt[other] !== at) {
            seenAt[other] = at;
            stack[depth++] = other;
          }
          next = xs[pc]!;
          break;
        }
        default: // SAVE and PROGRESS: nobody asks for groups, and no instruction is visited twice.
          break;
      }
      if (seenAt[next] !== at) {
        seenAt[next] = at;
        stack[depth++] = next;
      }
    }
    return false;
  }
}
