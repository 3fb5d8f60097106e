/**
 * Workloads of one kind as small bar charts, two a row: a bar for the median, a line from the lowest to the highest, the
 * figure and its ratio to the best peer behind it; the goal and the machine's limit as lines across. Pure.
 */
import type { SubjectResult, WorkloadResult } from '../report.ts';
import { bestPeer } from '../stats.ts';
import {
  CELLAR,
  FAINT,
  GOAL,
  GRID,
  INK,
  colourOf,
  line,
  rect,
  short,
  svg,
  text,
  ticks,
  wrap,
} from './draw.ts';

const WIDTH = 900;
const MARGIN = 14;
const GAP = 18;
const PANEL = (WIDTH - 2 * MARGIN - GAP) / 2;
const NAMES = 104;
const FIGURES = 104;
const PLOT = PANEL - NAMES - FIGURES;
const ROW = 21;
const BAR = 13;
/** Above the bars: the title and a line of small print. */
const HEAD = 48;
const TITLE_LINE = 14;
const AXIS = 34;
const TITLE_CHARACTERS = 42;
/** A goal this much beyond the bars is told in words only. */
const BEYOND = 4;

export interface PanelInput {
  readonly result: WorkloadResult;
  /** How many times the best peer's figure is to be reached; null: no such goal. */
  readonly goal: number | null;
}

/** One plot of all panels. */
export function panelsPlot(title: string, panels: readonly PanelInput[], note: string): string {
  const body: string[] = [
    text({ x: MARGIN, y: 26, size: 17, bold: true }, title),
    text(
      { x: MARGIN, y: 44, size: 11, fill: FAINT },
      'Bars: medians; lines on them: lowest to highest sample. × : to the best peer, above 1 better.',
    ),
  ];
  let y = 58;
  for (let i = 0; i < panels.length; i += 2) {
    const pair = panels.slice(i, i + 2);
    pair.forEach((panel, column) => {
      body.push(panelOf(panel, MARGIN + column * (PANEL + GAP), y));
    });
    y += Math.max(...pair.map(heightOf)) + GAP;
  }
  body.push(text({ x: MARGIN, y: y + 4, size: 10, fill: FAINT }, note));
  return svg({ width: WIDTH, height: Math.ceil(y + 16) }, title, body);
}

const titleOf = ({ short: words }: WorkloadResult): string[] =>
  wrap(words, TITLE_CHARACTERS).slice(0, 2);

const headOf = (result: WorkloadResult): number => HEAD + (titleOf(result).length - 1) * TITLE_LINE;

const heightOf = ({ result }: PanelInput): number =>
  headOf(result) + result.subjects.length * ROW + AXIS;

function panelOf({ result, goal }: PanelInput, left: number, top: number): string {
  const { subjects, unit, better, limit } = result;
  const medians = new Map(subjects.map(({ subject, spread }) => [subject, spread.median]));
  const best = bestPeer(better, medians);
  const goalValue =
    goal === null || best === null
      ? null
      : better === 'more'
        ? goal * medians.get(best)!
        : medians.get(best)! / goal;
  // A store without limits would flatten the others: the axis is for those that are compared.
  const compared = subjects.filter(({ subject }) => subject !== 'bare');
  const tallest = Math.max(...(compared.length > 0 ? compared : subjects).map((s) => s.spread.max));
  const isNear = (value: number | null): value is number =>
    value !== null && Number.isFinite(value) && value <= BEYOND * tallest;
  const most = Math.max(tallest, isNear(goalValue) ? goalValue : 0, 1e-9);
  const axis = ticks(most, 4);
  const end = axis.at(-1)!;
  const x = (value: number): number => left + NAMES + (Math.min(value, end) / end) * PLOT;
  const head = headOf(result);
  const bottom = top + head + subjects.length * ROW;
  const parts = [...headParts(result, goal, limit, left, top)];
  for (const tick of axis) {
    parts.push(line({ x: x(tick), y: top + head - 4 }, { x: x(tick), y: bottom }, GRID));
    parts.push(
      text({ x: x(tick), y: bottom + 13, anchor: 'middle', size: 10, fill: FAINT }, short(tick)),
    );
  }
  parts.push(
    text(
      { x: left + NAMES + PLOT / 2, y: bottom + 27, anchor: 'middle', size: 10, fill: FAINT },
      `${unit}, ${better} is better`,
    ),
  );
  if (isNear(goalValue)) {
    const at = x(goalValue);
    const dash = { width: 1.6, dash: '5 3' };
    parts.push(line({ x: at, y: top + head - 6 }, { x: at, y: bottom }, GOAL, dash));
  }
  subjects.forEach((one, i) => {
    parts.push(...barOf(one, { left, y: top + head + i * ROW, end, x }));
  });
  return parts.join('\n');
}

function headParts(
  result: WorkloadResult,
  goal: number | null,
  limit: WorkloadResult['limit'],
  left: number,
  top: number,
): string[] {
  const lines = titleOf(result);
  const parts = lines.map((words, i) =>
    text({ x: left, y: top + 16 + i * TITLE_LINE, size: 12, bold: true }, words),
  );
  if (limit !== null && Number.isFinite(limit.value)) {
    const y = top + 15 + lines.length * TITLE_LINE;
    const words = `limit of the machine: ${short(limit.value)} (${limit.what})`;
    parts.push(text({ x: left, y, size: 9.5, fill: FAINT }, words));
  }
  if (goal !== null) {
    const content = `goal ${goal} × the best peer`;
    parts.push(
      text({ x: left + PANEL, y: top + 16, anchor: 'end', size: 10.5, fill: GOAL }, content),
    );
  }
  return parts;
}

function barOf(
  { subject, spread, ratioToBestPeer }: SubjectResult,
  at: { left: number; y: number; end: number; x: (value: number) => number },
): string[] {
  const { left, y, end, x } = at;
  const middle = y + BAR / 2;
  const start = left + NAMES;
  const ratio =
    ratioToBestPeer === null || subject === 'bare' ? '' : ` · ${ratioText(ratioToBestPeer)}`;
  const isOurs = subject === 'cellar';
  const fill = isOurs ? CELLAR : INK;
  const bold = isOurs ? ({ bold: true } as const) : {};
  const parts = [
    text(
      { x: start - 8, y: middle + 4, anchor: 'end', size: 11, fill, ...bold },
      subject === 'bare' ? 'bare, no store' : subject,
    ),
    rect({ x: start, y, width: x(spread.median) - start, height: BAR }, colourOf(subject)),
  ];
  if (spread.median > end) {
    // Beyond the axis: the bar ends in a gap.
    parts.push(
      line({ x: x(end) - 7, y: y - 1 }, { x: x(end) - 3, y: y + BAR + 1 }, '#ffffff', { width: 3 }),
    );
  } else if (spread.max > spread.min) {
    parts.push(
      line({ x: x(spread.min), y: middle }, { x: x(spread.max), y: middle }, INK, { width: 1.4 }),
    );
  }
  const behind = Math.max(x(spread.median), x(spread.max)) + 6;
  parts.push(
    text(
      { x: behind, y: middle + 4, size: 11, fill, halo: true, ...bold },
      `${short(spread.median)}${ratio}`,
    ),
  );
  return parts;
}

const ratioText = (ratio: number): string =>
  `${ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(ratio < 0.1 ? 3 : 2)} ×`;
