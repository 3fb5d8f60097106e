/** Whether a place of a regular expression is here. HBase runs java.util.regex: its nodes Begin, Caret, Dollar, Bound. */
import {
  LINE_START,
  NO_WORD_BOUNDARY,
  TEXT_END,
  TEXT_END_LINE,
  TEXT_START,
  WORD_BOUNDARY,
} from './ast.ts';
import { BOUNDARY_WORD, LINE_END } from './char_set.ts';

export function isAtPlace(
  place: number,
  unixLines: boolean,
  points: Uint32Array,
  length: number,
  at: number,
): boolean {
  switch (place) {
    case TEXT_START:
      return at === 0;
    case TEXT_END:
      return at === length;
    case TEXT_END_LINE:
      return at === length || isLastLineEnd(unixLines, points, length, at);
    case LINE_START:
      return at === 0 || (at < length && isBehindLineEnd(unixLines, points, at));
    case WORD_BOUNDARY:
      return isWordAt(points, length, at - 1) !== isWordAt(points, length, at);
    case NO_WORD_BOUNDARY:
      return isWordAt(points, length, at - 1) === isWordAt(points, length, at);
    default:
      return at === length || isBeforeLineEnd(unixLines, points, at);
  }
}

const isWordAt = (points: Uint32Array, length: number, at: number): boolean =>
  at >= 0 && at < length && BOUNDARY_WORD.has(points[at]!);

const isLineEnd = (unixLines: boolean, point: number): boolean =>
  point === 10 || (!unixLines && LINE_END.has(point));

/** Not between \r and \n. */
function isBeforeLineEnd(unixLines: boolean, points: Uint32Array, at: number): boolean {
  const point = points[at]!;
  if (!isLineEnd(unixLines, point)) return false;
  return unixLines || point !== 10 || at === 0 || points[at - 1] !== 13;
}

function isBehindLineEnd(unixLines: boolean, points: Uint32Array, at: number): boolean {
  if (!isLineEnd(unixLines, points[at - 1]!)) return false;
  return unixLines || points[at - 1] !== 13 || points[at] !== 10;
}

function isLastLineEnd(
  unixLines: boolean,
  points: Uint32Array,
  length: number,
  at: number,
): boolean {
  if (at < length - 2) return false;
  if (at === length - 2) return !unixLines && points[at] === 13 && points[at + 1] === 10;
  return isBeforeLineEnd(unixLines, points, at);
}
