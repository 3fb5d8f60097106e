/** The curve over checkpoint intervals as plain SVG: rows a second (left) and visibility delay (right). Pure. */
import type { IntervalPoint } from './intervals.ts';

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 360, 80, 80, 50, 50];

export function plotOfIntervals(points: readonly IntervalPoint[]): string {
  const last = points.at(-1)?.intervalSeconds ?? 1;
  const x = (seconds: number): number => LEFT + (seconds / last) * (WIDTH - LEFT - RIGHT);
  const line = (
    valueOf: (point: IntervalPoint) => number,
    colour: string,
    anchorAtEnd: boolean,
  ): string => {
    const most = Math.max(...points.map(valueOf), 1e-9);
    const y = (value: number): number => HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM);
    const at = points.map(
      (point) => `${x(point.intervalSeconds).toFixed(1)},${y(valueOf(point)).toFixed(1)}`,
    );
    const side = anchorAtEnd ? WIDTH - RIGHT + 6 : LEFT - 6;
    return `<polyline points="${at.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>
<text x="${side}" y="${TOP + 4}" fill="${colour}" text-anchor="${anchorAtEnd ? 'start' : 'end'}">${most.toFixed(most > 100 ? 0 : 1)}</text>`;
  };
  const ticks = points.map(
    ({ intervalSeconds }) =>
      `<text x="${x(intervalSeconds).toFixed(1)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${intervalSeconds}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="12" role="img">
<title>Exactly-once ingestion over checkpoint intervals</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="12" y="22" font-size="15">Exactly-once ingestion over checkpoint intervals</text>
<text x="12" y="40" fill="#b5482f">rows a second</text>
<text x="120" y="40" fill="#5b7fa6">visibility delay, seconds</text>
${line(({ rowsPerSecond }) => rowsPerSecond, '#b5482f', false)}
${line(({ visibilityDelaySeconds }) => visibilityDelaySeconds, '#5b7fa6', true)}
${ticks.join('\n')}
<text x="${WIDTH / 2}" y="${HEIGHT - 10}" text-anchor="middle" fill="#555">checkpoint interval, seconds (run at a fiftieth of the time)</text>
</svg>
`;
}
