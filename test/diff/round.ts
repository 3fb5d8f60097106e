/** One round: a table, many cases on rows of their own, the same events for all; both sides side by side, every answer compared. */
import { prefixOf, sameAnswer, toActual, toActualEvent, toCanonical } from './commands.ts';
import type { Answer, Command, Family, Place, Side, Step, TableEvent } from './commands.ts';
import { isEvent, isRead } from './commands.ts';

/** The commands before the first event, between events, after the last: one more than events. */
export type Case = readonly (readonly Command[])[];

export interface Round {
  readonly families: readonly Family[];
  /** Rows at which regions begin, in every so many-th case. */
  readonly splits: readonly string[];
  readonly splitEvery: number;
  readonly events: readonly TableEvent[];
  readonly cases: readonly Case[];
}

export interface Difference {
  readonly caseIndex: number;
  /** Events that happened before. */
  readonly segment: number;
  readonly index: number;
  readonly command: Command;
  readonly want: Answer;
  readonly got: Answer;
}

/** What a round found: the other side's answers, as `cases` are nested, and where ours are others. */
export interface Outcome {
  readonly answers: readonly (readonly (readonly Answer[])[])[];
  readonly differences: readonly Difference[];
  /** Set: HBase failed at this, and the round ended there. */
  readonly failed: Command | null;
}

/** Told of every comparison. */
export type Observer = (caseIndex: number, segment: number, command: Command) => void;

export async function runRound(
  parts: { hbase: Side; cellar: Side; table: string; observe?: Observer },
  round: Round,
): Promise<Outcome> {
  const { hbase, cellar, table, observe } = parts;
  const answers: Answer[][][] = round.cases.map(() => []);
  const differences: Difference[] = [];
  const splits = splitsOf(round);
  await Promise.all([
    hbase.create(table, round.families, splits),
    cellar.create(table, round.families, splits),
  ]);
  let names = [table, table] as const;
  const baseMs = Date.now();
  for (let segment = 0; segment <= round.events.length; segment++) {
    if (segment > 0) {
      const event = toActualEvent(round.events[segment - 1]!, round.cases.length, baseMs);
      names = await Promise.all([hbase.event(names[0], event), cellar.event(names[1], event)]);
    }
    const places: Place[] = round.cases.map((_, index) => ({ prefix: prefixOf(index), baseMs }));
    const lanes = round.cases.map((steps, index) =>
      steps[segment]!.map((command) => toActual(command, places[index]!)),
    );
    const [theirs, ours] = await Promise.all([
      hbase.run(names[0], lanes),
      cellar.run(names[1], lanes),
    ]);
    const failed = failedRead(theirs, round, segment);
    if (failed !== null) return { answers, differences, failed };
    for (const [caseIndex, steps] of round.cases.entries()) {
      const place = places[caseIndex]!;
      answers[caseIndex]!.push(theirs[caseIndex]!.map((answer) => toCanonical(answer, place)));
      for (const [index, command] of steps[segment]!.entries()) {
        const want = answers[caseIndex]![segment]![index]!;
        const got = toCanonical(ours[caseIndex]![index]!, place);
        observe?.(caseIndex, segment, command);
        if (!sameAnswer(want, got)) {
          differences.push({ caseIndex, segment, index, command, want, got });
        }
      }
    }
  }
  return { answers, differences, failed: null };
}

/** HBase gave no answer, or its server ran into an error of its own. */
const FAILURES: ReadonlySet<string> = new Set([
  'TimeoutException',
  'CallTimeoutException',
  'IOException',
]);

/**
 * Where HBase failed as it read: its scanner stays open then, and keeps from flushes and compactions what they would drop; so
 * nothing behind it can be compared.
 */
function failedRead(
  lanes: readonly (readonly Answer[])[],
  round: Round,
  segment: number,
): Command | null {
  for (const [caseIndex, lane] of lanes.entries()) {
    for (const [index, one] of lane.entries()) {
      const command = round.cases[caseIndex]![segment]![index]!;
      if (!isRead(command) || one === null || typeof one !== 'object') continue;
      const parts = 'outcomes' in one ? one.outcomes : [one];
      for (const part of parts) {
        if (part === null || typeof part !== 'object' || !('error' in part)) continue;
        if (FAILURES.has(part.error)) return command;
      }
    }
  }
  return null;
}

/**
 * Whether regions begin within a case. Other cases stand before and behind it: a region with rows of one case alone may have too
 * few files for a compaction.
 */
export const isSplit = (
  { splits, splitEvery }: Pick<Round, 'splits' | 'splitEvery'>,
  caseIndex: number,
): boolean => splits.length > 0 && caseIndex % splitEvery === splitEvery >> 1;

function splitsOf(round: Round): string[] {
  return round.cases.flatMap((_, index) =>
    isSplit(round, index) ? round.splits.map((row) => prefixOf(index) + row) : [],
  );
}

/** The steps of a case up to and including one command. */
export function stepsUpTo(round: Round, difference: Difference): Step[] {
  const steps: Step[] = [];
  const commands = round.cases[difference.caseIndex]!;
  for (let segment = 0; segment <= difference.segment; segment++) {
    if (segment > 0) steps.push(round.events[segment - 1]!);
    const isLast = segment === difference.segment;
    steps.push(...commands[segment]!.slice(0, isLast ? difference.index + 1 : undefined));
  }
  return steps;
}

/** A case and its events, from a list of steps. */
export function splitSteps(steps: readonly Step[]): { case: Case; events: TableEvent[] } {
  const segments: Command[][] = [[]];
  const events: TableEvent[] = [];
  for (const step of steps) {
    if (isEvent(step)) {
      events.push(step);
      segments.push([]);
    } else {
      segments.at(-1)!.push(step);
    }
  }
  return { case: segments, events };
}
