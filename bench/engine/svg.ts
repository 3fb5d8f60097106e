/** A bar chart as plain SVG: a bar for the median, a line from the lowest to the highest round. Pure. */
import { figure } from './report.ts';
import type { WorkloadResult } from './report.ts';

const WIDTH = 720;
const LEFT = 130;
const RIGHT = 120;
const ROW = 30;
const BAR = 16;
const TOP = 54;
const BOTTOM = 26;
const COLOURS: Readonly<Record<string, string>> = { cellar: '#b5482f', bare: '#c9c9c9' };
const PEER_COLOUR = '#5b7fa6';

/** The plot of one workload. */
export function plotOf(result: WorkloadResult, note: string): string {
  const height = TOP + result.subjects.length * ROW + BOTTOM;
  const most = Math.max(...result.subjects.map(({ spread }) => spread.max), 1e-9);
  const x = (value: number): number => LEFT + (value / most) * (WIDTH - LEFT - RIGHT);
  const bars = result.subjects.map(({ subject, spread }, i) => {
    const y = TOP + i * ROW;
    const middle = y + BAR / 2;
    const colour = COLOURS[subject] ?? PEER_COLOUR;
    return [
      text({ x: LEFT - 8, y: middle + 4, anchor: 'end' }, subject),
      `<rect x="${LEFT}" y="${y}" width="${fixed(x(spread.median) - LEFT)}" height="${BAR}" fill="${colour}"/>`,
      `<path d="M${fixed(x(spread.min))} ${middle}H${fixed(x(spread.max))}" stroke="#222" stroke-width="1.5"/>`,
      text({ x: x(spread.max) + 8, y: middle + 4, anchor: 'start' }, figure(spread.median)),
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12" role="img">
<title>${escape(result.title)}</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="12" y="22" font-size="15">${escape(result.title)}</text>
<text x="12" y="40" fill="#555">${escape(`${result.unit}, ${result.better} is better; median, lowest and highest round`)}</text>
${bars.join('\n')}
<text x="12" y="${height - 8}" fill="#777" font-size="10">${escape(note)}</text>
</svg>
`;
}

function text(at: { x: number; y: number; anchor: string }, content: string): string {
  return `<text x="${fixed(at.x)}" y="${fixed(at.y)}" text-anchor="${at.anchor}">${escape(content)}</text>`;
}

const fixed = (value: number): string => value.toFixed(1);

function escape(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
