/** The summary of all goals as Markdown and for the README. Pure. */
import { aligned, figure } from '../engine/report.ts';
import type { Verdict } from './evaluate.ts';

export interface Summary {
  readonly taken: string;
  /** When each bench was run; null: it was not. */
  readonly runs: Readonly<Record<string, string | null>>;
  readonly met: number;
  readonly missed: number;
  readonly unmeasured: number;
  readonly goals: readonly Verdict[];
}

export function summaryOf(
  taken: string,
  runs: Summary['runs'],
  goals: readonly Verdict[],
): Summary {
  return {
    taken,
    runs,
    met: goals.filter(({ met }) => met === true).length,
    missed: goals.filter(({ met }) => met === false).length,
    unmeasured: goals.filter(({ met }) => met === null).length,
    goals,
  };
}

/** `2 ×`, `400,000 cells/s`. */
export const quantity = (value: number, unit: string): string =>
  unit === '×' ? `${figure(value)} ×` : `${figure(value)} ${unit}`;

export const boundText = ({ bound, unit }: Pick<Verdict, 'bound' | 'unit'>): string =>
  'least' in bound ? `≥ ${quantity(bound.least, unit)}` : `≤ ${quantity(bound.most, unit)}`;

const answerText = ({ met, missedBy }: Verdict): string => {
  if (met === null) return 'not measured';
  if (met) return 'met';
  return `**missed** by ${missedBy!.toFixed(2)} ×`;
};

export const SPEED_BEGIN = '<!-- speed: written by npm run bench -- --readme -->';
export const SPEED_END = '<!-- /speed -->';

/** The README's table: the goals of issue 10 that were measured. */
export function speedTable({ goals }: Summary): string {
  const lines = goals
    .filter(({ issue, measured }) => issue === 10 && measured !== null)
    .map((goal) => {
      const measured = quantity(goal.measured!, goal.unit);
      const figures = goal.detail.includes('miss it') ? '' : goal.detail;
      return [
        goal.work,
        goal.met === true ? `**${measured}**` : measured,
        boundText(goal),
        figures,
      ];
    });
  return aligned(['work', 'measured', 'goal', 'figures'], lines);
}

/** The README with that table between the two marks. Throws where they are missing. */
export function withSpeedTable(readme: string, summary: Summary): string {
  const from = readme.indexOf(SPEED_BEGIN);
  const to = readme.indexOf(SPEED_END);
  if (from < 0 || to < from) throw new RangeError('the README has no place for the table');
  const head = readme.slice(0, from + SPEED_BEGIN.length);
  return `${head}\n\n${speedTable(summary)}\n\n${readme.slice(to)}`;
}

export function reportOf(summary: Summary): string {
  const lines = summary.goals.map((goal) => {
    const aim = goal.aim === null ? '' : ` (aim ${figure(goal.aim)})`;
    const measured = goal.measured === null ? '–' : quantity(goal.measured, goal.unit);
    return [
      String(goal.issue),
      goal.work,
      `${boundText(goal)}${aim}`,
      measured,
      answerText(goal),
      goal.detail,
    ];
  });
  const runs = Object.entries(summary.runs).map(([name, taken]) => `${name} ${taken ?? 'not run'}`);
  return [
    '# Goals against what was measured',
    '',
    `Made ${summary.taken} from the results beside this file: ${runs.join(', ')}. ${summary.met} met, ${summary.missed} missed, ${summary.unmeasured} not measured.`,
    'A ratio is to the best embedded peer of the same run, above 1 better, where nothing else is said. *Missed by 1.5 ×*: it would have to be so much better.',
    '',
    aligned(['issue', 'work', 'goal', 'measured', 'verdict', 'figures'], lines),
    '',
  ].join('\n');
}
