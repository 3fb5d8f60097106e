/** A regular expression as a tree. */
import type { CharSet } from './char_set.ts';

/** Where something must hold without a character being taken. */
export const TEXT_START = 0;
export const TEXT_END = 1;
/** The end, or before the last line's terminator. */
export const TEXT_END_LINE = 2;
export const LINE_START = 3;
export const LINE_END_AT = 4;
export const WORD_BOUNDARY = 5;
export const NO_WORD_BOUNDARY = 6;
export type Place =
  | typeof TEXT_START
  | typeof TEXT_END
  | typeof TEXT_END_LINE
  | typeof LINE_START
  | typeof LINE_END_AT
  | typeof WORD_BOUNDARY
  | typeof NO_WORD_BOUNDARY;

export type Node =
  | { readonly kind: 'empty' }
  | { readonly kind: 'set'; readonly set: CharSet }
  /** `unixLines`: only \n ends a line. */
  | { readonly kind: 'place'; readonly place: Place; readonly unixLines: boolean }
  | { readonly kind: 'all'; readonly items: readonly Node[] }
  | { readonly kind: 'one'; readonly items: readonly Node[] }
  | RepeatNode
  | { readonly kind: 'group'; readonly item: Node; readonly index: number }
  | { readonly kind: 'atomic'; readonly item: Node }
  | LookNode
  | {
      readonly kind: 'back';
      readonly index: number;
      readonly anyCase: boolean;
      readonly unicodeCase: boolean;
    };

export interface RepeatNode {
  readonly kind: 'repeat';
  readonly item: Node;
  readonly min: number;
  /** Infinity for no end. */
  readonly max: number;
  readonly mode: 'greedy' | 'lazy' | 'possessive';
}

export interface LookNode {
  readonly kind: 'look';
  readonly item: Node;
  readonly ahead: boolean;
  readonly negative: boolean;
}

export interface Expression {
  readonly root: Node;
  readonly groupCount: number;
  /** Whether it needs what no automaton has: looking around, atomic groups, back references. */
  readonly needsBacktracking: boolean;
}
