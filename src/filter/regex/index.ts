import { Automaton } from './automaton.ts';
import { Backtracker } from './backtracker.ts';
import { compileExpression } from './compiler.ts';
import { parseExpression } from './parser.ts';

/** A regular expression that finds, in bounded time. For one caller at a time. */
export interface Regex {
  /** Instructions run by the last `find`: what it cost. */
  readonly steps: number;
  /** Whether the first `length` code points hold a match. Throws DoNotRetryIOException when a search is given up. */
  find(points: Uint32Array, length: number): boolean;
}

/** Java's syntax and flags. Throws IllegalArgumentException for what Pattern refuses, and for \G, \X, \N and CANON_EQ. */
export function compileRegex(pattern: string, flags: number): Regex {
  const program = compileExpression(parseExpression(pattern, flags), pattern);
  return program.needsBacktracking ? new Backtracker(program, pattern) : new Automaton(program);
}
