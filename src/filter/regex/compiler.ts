/**
 * Regular expressions as programs: what both matchers run.
 *
 *     op        x            y           what it does
 *     SET       set          –           takes a character of the set
 *     PLACE     place        unix lines  holds at this place
 *     SPLIT     first choice second      goes on at either
 *     JUMP      target       –
 *     SAVE      slot         –           notes the place (groups)
 *     PROGRESS  slot         –           holds if the place has moved since the slot was noted
 *     LOOK      end          kind        the program up to `end` must (not) match from here or up to here
 *     ATOMIC    end          –           takes the first match of the program up to `end`
 *     BACK      group        case kind   takes what the group took
 *     DONE      –            –           the whole, or the part of LOOK and ATOMIC, has matched
 */
import { IllegalArgumentException } from '../../model/index.ts';
import { TEXT_START } from './ast.ts';
import type { Expression, LookNode, Node, RepeatNode } from './ast.ts';
import type { CharSet } from './char_set.ts';

export const SET = 0;
export const PLACE = 1;
export const SPLIT = 2;
export const JUMP = 3;
export const SAVE = 4;
export const PROGRESS = 5;
export const LOOK = 6;
export const ATOMIC = 7;
export const BACK = 8;
export const DONE = 9;

/** Kinds of LOOK, added up. */
export const LOOK_BEHIND = 1;
export const LOOK_NEGATIVE = 2;
/** Kinds of BACK, added up. */
export const BACK_ANY_CASE = 1;
export const BACK_UNICODE_CASE = 2;

/** A longer program is refused: a match costs at most its length times that of the text. */
const PROGRAM_LENGTH_MAX = 4000;

export interface Program {
  readonly ops: Uint8Array;
  readonly xs: Int32Array;
  readonly ys: Int32Array;
  readonly sets: readonly CharSet[];
  readonly slotCount: number;
  /** Matches only at the start of the text. */
  readonly isAnchored: boolean;
  /** What a match begins with; null when it may be empty or is not known. */
  readonly firstSet: CharSet | null;
  /** Longest text that the body of the LOOK at this place takes; Infinity for no end. */
  readonly lookWidths: ReadonlyMap<number, number>;
  readonly needsBacktracking: boolean;
}

/** Throws IllegalArgumentException for a pattern that makes too long a program. */
export function compileExpression(expression: Expression, pattern: string): Program {
  return new Compiler(expression, pattern).compile();
}

class Compiler {
  readonly #expression: Expression;
  readonly #pattern: string;
  readonly #ops: number[] = [];
  readonly #xs: number[] = [];
  readonly #ys: number[] = [];
  readonly #sets: CharSet[] = [];
  readonly #lookWidths: Map<number, number> = new Map();
  #slots: number;

  constructor(expression: Expression, pattern: string) {
    this.#expression = expression;
    this.#pattern = pattern;
    this.#slots = (expression.groupCount + 1) * 2;
  }

  compile(): Program {
    const { root, needsBacktracking } = this.#expression;
    this.#node(root);
    this.#emit(DONE);
    return {
      ops: Uint8Array.from(this.#ops),
      xs: Int32Array.from(this.#xs),
      ys: Int32Array.from(this.#ys),
      sets: this.#sets,
      slotCount: this.#slots,
      isAnchored: isAnchored(root),
      firstSet: firstSet(root),
      lookWidths: this.#lookWidths,
      needsBacktracking,
    };
  }

  #emit(op: number, x: number = 0, y: number = 0): number {
    if (this.#ops.length >= PROGRAM_LENGTH_MAX) {
      throw new IllegalArgumentException(
        `Regular expression '${this.#pattern}' is too large: its repetitions are written out`,
      );
    }
    this.#ops.push(op);
    this.#xs.push(x);
    this.#ys.push(y);
    return this.#ops.length - 1;
  }

  get #here(): number {
    return this.#ops.length;
  }

  #node(node: Node): void {
    switch (node.kind) {
      case 'empty':
        return;
      case 'set':
        this.#sets.push(node.set);
        this.#emit(SET, this.#sets.length - 1);
        return;
      case 'place':
        this.#emit(PLACE, node.place, node.unixLines ? 1 : 0);
        return;
      case 'all':
        for (const item of node.items) this.#node(item);
        return;
      case 'one':
        this.#choice(node.items);
        return;
      case 'repeat':
        this.#repeat(node);
        return;
      case 'group':
        this.#emit(SAVE, node.index * 2);
        this.#node(node.item);
        this.#emit(SAVE, node.index * 2 + 1);
        return;
      case 'atomic':
        this.#atomic(node.item);
        return;
      case 'look':
        this.#look(node);
        return;
      case 'back':
        this.#emit(
          BACK,
          node.index,
          (node.anyCase ? BACK_ANY_CASE : 0) + (node.unicodeCase ? BACK_UNICODE_CASE : 0),
        );
        return;
    }
  }

  #choice(items: readonly Node[]): void {
    const jumps: number[] = [];
    items.forEach((item, index) => {
      if (index === items.length - 1) {
        this.#node(item);
        return;
      }
      const split = this.#emit(SPLIT);
      this.#xs[split] = this.#here;
      this.#node(item);
      jumps.push(this.#emit(JUMP));
      this.#ys[split] = this.#here;
    });
    for (const jump of jumps) this.#xs[jump] = this.#here;
  }

  #atomic(item: Node): void {
    const at = this.#emit(ATOMIC);
    this.#node(item);
    this.#emit(DONE);
    this.#xs[at] = this.#here;
  }

  #look(node: LookNode): void {
    const kind = (node.ahead ? 0 : LOOK_BEHIND) + (node.negative ? LOOK_NEGATIVE : 0);
    const at = this.#emit(LOOK, 0, kind);
    this.#lookWidths.set(at, widthOf(node.item));
    this.#node(node.item);
    this.#emit(DONE);
    this.#xs[at] = this.#here;
  }

  #repeat(node: RepeatNode): void {
    if (node.mode === 'possessive') {
      this.#atomic({ ...node, mode: 'greedy' });
      return;
    }
    if (widthOf(node.item) === 0 && node.min > 1) {
      // Taking nothing many times is taking it once.
      this.#repeat({ ...node, min: 1, max: Math.max(1, Math.min(node.max, 1)) });
      return;
    }
    for (let i = 0; i < node.min; i++) this.#node(node.item);
    const isLazy = node.mode === 'lazy';
    if (node.max === Infinity) {
      this.#loop(node.item, isLazy);
      return;
    }
    const splits: number[] = [];
    for (let i = node.min; i < node.max; i++) {
      const split = this.#emit(SPLIT);
      splits.push(split);
      this.#prefer(split, this.#here, isLazy);
      this.#node(node.item);
    }
    for (const split of splits) this.#otherwise(split, this.#here, isLazy);
  }

  #loop(item: Node, isLazy: boolean): void {
    const split = this.#emit(SPLIT);
    this.#prefer(split, this.#here, isLazy);
    const slot = this.#slots++;
    this.#emit(SAVE, slot);
    this.#node(item);
    this.#emit(PROGRESS, slot);
    this.#emit(JUMP, split);
    this.#otherwise(split, this.#here, isLazy);
  }

  #prefer(split: number, target: number, isLazy: boolean): void {
    if (isLazy) this.#ys[split] = target;
    else this.#xs[split] = target;
  }

  #otherwise(split: number, target: number, isLazy: boolean): void {
    if (isLazy) this.#xs[split] = target;
    else this.#ys[split] = target;
  }
}

/** Most characters that the node takes. */
function widthOf(node: Node): number {
  switch (node.kind) {
    case 'set':
      return 1;
    case 'all':
      return node.items.reduce((sum, item) => sum + widthOf(item), 0);
    case 'one':
      return Math.max(...node.items.map(widthOf));
    case 'repeat': {
      const width = widthOf(node.item);
      return width === 0 ? 0 : width * node.max;
    }
    case 'group':
    case 'atomic':
      return widthOf(node.item);
    case 'back':
      return Infinity;
    default:
      return 0;
  }
}

function isAnchored(node: Node): boolean {
  switch (node.kind) {
    case 'place':
      return node.place === TEXT_START;
    case 'all':
      return isAnchored(node.items[0]!);
    case 'one':
      return node.items.every(isAnchored);
    case 'group':
    case 'atomic':
      return isAnchored(node.item);
    case 'repeat':
      return node.min > 0 && isAnchored(node.item);
    default:
      return false;
  }
}

function firstSet(node: Node): CharSet | null {
  switch (node.kind) {
    case 'set':
      return node.set;
    case 'all':
      return firstSet(node.items[0]!);
    case 'one': {
      const sets = node.items.map(firstSet);
      if (sets.some((set) => set === null)) return null;
      return sets.reduce((left, right) => left!.union(right!)) ?? null;
    }
    case 'group':
    case 'atomic':
      return firstSet(node.item);
    case 'repeat':
      return node.min > 0 ? firstSet(node.item) : null;
    default:
      return null;
  }
}
