/** Pieces of plots as plain SVG: text, axes, colours. Pure. */

export const FONT = 'DejaVu Sans, Verdana, sans-serif';
export const INK = '#1f2328';
export const FAINT = '#59636e';
export const GRID = '#e3e6ea';
export const GOAL = '#1a7f37';
export const CELLAR = '#c2410c';

const COLOURS: Readonly<Record<string, string>> = {
  cellar: CELLAR,
  lmdb: '#3b6ea5',
  'better-sqlite3': '#5b9aa0',
  'classic-level': '#8a7fb5',
  rocksdb: '#a08a5b',
  'level-unsynced': '#c9c3dc',
  bare: '#c6cbd1',
};

export const colourOf = (subject: string): string => COLOURS[subject] ?? '#7d8590';

export interface TextAt {
  readonly x: number;
  readonly y: number;
  readonly anchor?: 'start' | 'middle' | 'end';
  readonly size?: number;
  readonly fill?: string;
  readonly bold?: true;
  /** A white edge, so that it is read over lines. */
  readonly halo?: true;
}

export function text(at: TextAt, content: string): string {
  const { x, y, anchor = 'start', size = 12, fill = INK, bold, halo } = at;
  const weight = bold === true ? ' font-weight="bold"' : '';
  const edge =
    halo === true
      ? ' stroke="#ffffff" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
      : '';
  return `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}" font-size="${size}" fill="${fill}"${weight}${edge}>${escape(content)}</text>`;
}

export function rect(
  at: { x: number; y: number; width: number; height: number },
  fill: string,
): string {
  return `<rect x="${fixed(at.x)}" y="${fixed(at.y)}" width="${fixed(Math.max(0, at.width))}" height="${fixed(at.height)}" fill="${fill}"/>`;
}

/** A straight line; `dash` as SVG has it. */
export function line(
  from: { x: number; y: number },
  to: { x: number; y: number },
  stroke: string,
  { width = 1, dash = '' }: { width?: number; dash?: string } = {},
): string {
  const dashes = dash === '' ? '' : ` stroke-dasharray="${dash}"`;
  return `<path d="M${fixed(from.x)} ${fixed(from.y)}L${fixed(to.x)} ${fixed(to.y)}" stroke="${stroke}" stroke-width="${width}" fill="none"${dashes}/>`;
}

/** A whole plot on white: it is shown on dark pages too. */
export function svg(
  size: { width: number; height: number },
  title: string,
  body: readonly string[],
): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}" height="${size.height}" font-family="${FONT}" role="img">
<title>${escape(title)}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
${body.join('\n')}
</svg>
`;
}

export const fixed = (value: number): string => (Math.round(value * 10) / 10).toString();

export function escape(content: string): string {
  return content
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Round numbers from 0 to `most` or a little beyond, about `count` of them. */
export function ticks(most: number, count: number): number[] {
  const raw = most / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10);
  const result: number[] = [];
  for (let i = 0; (i - 1) * step < most; i++) result.push(Number((i * step).toPrecision(12)));
  return result;
}

/** Short numbers for axes and bars: 1.5 M, 420 k, 0.25. */
export function short(value: number): string {
  const of = (scaled: number, suffix: string): string =>
    `${Number(scaled.toPrecision(3)).toString()}${suffix}`;
  if (value >= 999_500) return of(value / 1e6, ' M');
  if (value >= 999.5) return of(value / 1000, ' k');
  return of(value, '');
}

/** Cuts a text into lines of at most so many characters, between words. */
export function wrap(content: string, most: number): string[] {
  const lines: string[] = [];
  let rest = '';
  for (const word of content.split(' ')) {
    if (rest !== '' && rest.length + 1 + word.length > most) {
      lines.push(rest);
      rest = word;
    } else rest = rest === '' ? word : `${rest} ${word}`;
  }
  return rest === '' ? lines : [...lines, rest];
}
