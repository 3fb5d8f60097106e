/** Curves over the number of rows, a panel a figure, a line a series. Pure. */
import { FAINT, GOAL, GRID, INK, line, short, svg, text, ticks } from './draw.ts';

export interface CurvePoint {
  readonly x: number;
  readonly y: number;
}

export interface Curve {
  readonly name: string;
  readonly points: readonly CurvePoint[];
}

export interface CurvePanel {
  readonly title: string;
  readonly unit: string;
  readonly curves: readonly Curve[];
  /** A line across, and what it means. */
  readonly goal: { readonly value: number; readonly what: string } | null;
}

export interface CurveTexts {
  readonly title: string;
  readonly subtitle: string;
  readonly axis: string;
  readonly note: string;
}

const WIDTH = 900;
const MARGIN = 14;
const GAP = 22;
const PLOT_HEIGHT = 190;
const TOP = 96;
const LABELS = 46;
const COLOURS = ['#c2410c', '#3b6ea5', '#5f8a3a', '#8a7fb5'];

export function curvesPlot(panels: readonly CurvePanel[], texts: CurveTexts): string {
  const width = (WIDTH - 2 * MARGIN - (panels.length - 1) * GAP) / panels.length;
  const names = [...new Set(panels.flatMap(({ curves }) => curves.map(({ name }) => name)))];
  const body = [
    text({ x: MARGIN, y: 26, size: 17, bold: true }, texts.title),
    text({ x: MARGIN, y: 46, size: 11.5, fill: FAINT }, texts.subtitle),
    ...keyOf(names),
  ];
  panels.forEach((panel, i) => {
    body.push(
      ...panelOf(panel, names, { left: MARGIN + i * (width + GAP), width, axis: texts.axis }),
    );
  });
  const height = TOP + PLOT_HEIGHT + 66;
  body.push(text({ x: MARGIN, y: height - 8, size: 10, fill: FAINT }, texts.note));
  return svg({ width: WIDTH, height }, texts.title, body);
}

function panelOf(
  { title, unit, curves, goal }: CurvePanel,
  names: readonly string[],
  at: { left: number; width: number; axis: string },
): string[] {
  const left = at.left + LABELS;
  const right = at.left + at.width - 12;
  const bottom = TOP + PLOT_HEIGHT;
  const points = curves.flatMap((curve) => curve.points);
  const xs = [...new Set(points.map((point) => point.x))].sort((a, b) => a - b);
  const [first, last] = [Math.log10(xs[0] ?? 1), Math.log10(xs.at(-1) ?? 10)];
  const x = (value: number): number =>
    last === first ? left : left + ((Math.log10(value) - first) / (last - first)) * (right - left);
  const axis = ticks(Math.max(1e-9, goal?.value ?? 0, ...points.map((point) => point.y)), 4);
  const y = (value: number): number => bottom - (value / axis.at(-1)!) * (PLOT_HEIGHT - 20);
  const parts = [text({ x: at.left, y: TOP - 6, size: 12, bold: true }, `${title}, ${unit}`)];
  for (const tick of axis) {
    parts.push(line({ x: left, y: y(tick) }, { x: right, y: y(tick) }, GRID));
    parts.push(
      text({ x: left - 6, y: y(tick) + 4, anchor: 'end', size: 10, fill: FAINT }, short(tick)),
    );
  }
  for (const value of xs) {
    parts.push(line({ x: x(value), y: bottom }, { x: x(value), y: bottom + 4 }, INK));
    parts.push(
      text({ x: x(value), y: bottom + 17, anchor: 'middle', size: 10, fill: FAINT }, short(value)),
    );
  }
  parts.push(line({ x: left, y: bottom }, { x: right, y: bottom }, INK));
  parts.push(
    text(
      { x: (left + right) / 2, y: bottom + 33, anchor: 'middle', size: 10.5, fill: FAINT },
      at.axis,
    ),
  );
  if (goal !== null) {
    const dash = { width: 1.6, dash: '5 3' };
    parts.push(line({ x: left, y: y(goal.value) }, { x: right, y: y(goal.value) }, GOAL, dash));
    parts.push(
      text(
        { x: right, y: y(goal.value) - 5, anchor: 'end', size: 10, fill: GOAL, halo: true },
        goal.what,
      ),
    );
  }
  for (const { name, points: own } of curves) {
    const colour = COLOURS[names.indexOf(name) % COLOURS.length]!;
    const path = own.map((point) => `${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`);
    parts.push(`<path d="M${path.join('L')}" fill="none" stroke="${colour}" stroke-width="2.2"/>`);
    for (const point of own) {
      parts.push(
        `<circle cx="${x(point.x).toFixed(1)}" cy="${y(point.y).toFixed(1)}" r="3.4" fill="${colour}"/>`,
      );
    }
  }
  return parts;
}

function keyOf(names: readonly string[]): string[] {
  return names.flatMap((name, i) => {
    const at = MARGIN + i * 120;
    return [
      line({ x: at, y: 66 }, { x: at + 22, y: 66 }, COLOURS[i % COLOURS.length]!, { width: 2.6 }),
      text({ x: at + 28, y: 70, size: 11 }, name),
    ];
  });
}
