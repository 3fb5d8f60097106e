/**
 * All goals that are ratios in one plot: a bar from 1 to what was measured, on a scale where twice as good and half as good
 * are as far from 1, and a mark where the goal is. Pure.
 */
import { CELLAR, FAINT, GOAL, GRID, INK, line, rect, svg, text } from './draw.ts';

export interface RatioBar {
  readonly work: string;
  /** Above 1 is better. Null: not measured. */
  readonly ratio: number | null;
  /** To be reached: at least. */
  readonly goal: number;
  /** The figures behind it. */
  readonly detail: string;
}

const WIDTH = 900;
const LEFT = 208;
const RIGHT = 322;
const TOP = 72;
const ROW = 26;
const BAR = 14;
const BOTTOM = 54;
const MISSED = '#d9a08a';
const PLOT = WIDTH - LEFT - RIGHT;

export interface RatioTexts {
  readonly title: string;
  readonly subtitle: string;
  readonly axis: string;
  readonly note: string;
}

export function ratiosPlot(bars: readonly RatioBar[], texts: RatioTexts): string {
  const values = bars.flatMap(({ ratio, goal }) => (ratio === null ? [goal] : [ratio, goal]));
  const least = powerBelow(Math.min(0.5, ...values));
  const most = powerAbove(Math.max(2, ...values));
  const span = Math.log2(most) - Math.log2(least);
  const x = (value: number): number => LEFT + ((Math.log2(value) - Math.log2(least)) / span) * PLOT;
  const bottom = TOP + bars.length * ROW;
  const body = [
    text({ x: 14, y: 26, size: 17, bold: true }, texts.title),
    text({ x: 14, y: 46, size: 11.5, fill: FAINT }, texts.subtitle),
  ];
  const step = span > 8 ? 2 : 1;
  for (let power = Math.log2(least); power <= Math.log2(most); power += step) {
    const at = x(2 ** power);
    body.push(line({ x: at, y: TOP - 8 }, { x: at, y: bottom }, GRID));
    const label = 2 ** power >= 1 ? `${2 ** power} ×` : `1/${2 ** -power}`;
    body.push(text({ x: at, y: bottom + 16, anchor: 'middle', size: 11, fill: FAINT }, label));
  }
  bars.forEach((bar, i) => body.push(...rowOf(bar, TOP + i * ROW, x)));
  body.push(line({ x: x(1), y: TOP - 8 }, { x: x(1), y: bottom }, INK, { width: 1.4 }));
  body.push(
    text(
      { x: LEFT + PLOT / 2, y: bottom + 32, anchor: 'middle', size: 11, fill: FAINT },
      texts.axis,
    ),
  );
  body.push(...keyOf(26));
  body.push(text({ x: 14, y: bottom + BOTTOM - 6, size: 10, fill: FAINT }, texts.note));
  return svg({ width: WIDTH, height: bottom + BOTTOM }, texts.title, body);
}

function rowOf(
  { work, ratio, goal, detail }: RatioBar,
  y: number,
  x: (value: number) => number,
): string[] {
  const middle = y + BAR / 2;
  const parts = [text({ x: LEFT - 10, y: middle + 4, anchor: 'end', size: 12 }, work)];
  if (ratio !== null) {
    const [from, to] = [x(Math.min(1, ratio)), x(Math.max(1, ratio))];
    const isMet = ratio >= goal;
    parts.push(
      rect({ x: from, y, width: Math.max(2, to - from), height: BAR }, isMet ? CELLAR : MISSED),
    );
    const words = `${ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(2)} ×`;
    parts.push(
      text(
        { x: LEFT + PLOT + 14, y: middle + 4, size: 12, bold: true, fill: isMet ? CELLAR : INK },
        words,
      ),
    );
  }
  const told = ratio === null ? 'not measured' : detail;
  parts.push(text({ x: LEFT + PLOT + 72, y: middle + 4, size: 10.5, fill: FAINT }, told));
  parts.push(line({ x: x(goal), y: y - 4 }, { x: x(goal), y: y + BAR + 4 }, GOAL, { width: 3 }));
  return parts;
}

function keyOf(y: number): string[] {
  const at = LEFT + PLOT + 14;
  return [
    rect({ x: at, y: y - 9, width: 16, height: 10 }, CELLAR),
    text({ x: at + 21, y, size: 10.5, fill: FAINT }, 'goal met'),
    rect({ x: at + 82, y: y - 9, width: 16, height: 10 }, MISSED),
    text({ x: at + 103, y, size: 10.5, fill: FAINT }, 'missed'),
    line({ x: at + 158, y: y - 11 }, { x: at + 158, y: y + 2 }, GOAL, { width: 3 }),
    text({ x: at + 165, y, size: 10.5, fill: FAINT }, 'goal'),
  ];
}

const powerBelow = (value: number): number => 2 ** Math.floor(Math.log2(value) + 1e-9);
const powerAbove = (value: number): number => 2 ** Math.ceil(Math.log2(value) - 1e-9);
