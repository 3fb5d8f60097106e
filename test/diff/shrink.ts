/**
 * Makes a difference small (delta debugging): steps, events, attributes and parts of commands are left out as long as the last
 * command is still answered differently. Candidates with the same events and families run together, as cases of one round.
 */
import { isEvent } from './commands.ts';
import type { Answer, Command, Family, Step } from './commands.ts';
import { smallerFilters } from './filters.ts';
import { splitSteps } from './round.ts';
import type { Outcome, Round } from './round.ts';

export interface Repro {
  readonly families: readonly Family[];
  /** Rows at which regions begin. */
  readonly splits: readonly string[];
  /** The last is the command that is answered differently. */
  readonly steps: readonly Step[];
}

/** A repro that still differs, with all answers of the other side, and ours to the last command. */
export interface Proof {
  readonly repro: Repro;
  /** One for each command, in order; events have none. */
  readonly answers: readonly Answer[];
  readonly want: Answer;
  readonly got: Answer;
}

export type Runner = (round: Round) => Promise<Outcome>;

/** A round takes a second or two, mostly HBase's. */
const ROUNDS_MAX = 60;

export class Shrinker {
  readonly #run: Runner;
  #rounds = 0;

  constructor(run: Runner) {
    this.#run = run;
  }

  /** The smallest found; null if the difference does not show itself again. */
  async shrink(start: Repro): Promise<Proof | null> {
    let best = await this.#firstOf([start]);
    if (best === null) return null;
    for (let before = -1; before !== weight(best.repro) && this.#rounds < ROUNDS_MAX;) {
      before = weight(best.repro);
      for (const variants of [withoutSteps, withoutParts]) {
        for (;;) {
          const next: Proof | null = await this.#firstOf(variants(best.repro));
          if (next === null) break;
          best = next;
        }
      }
      for (const variants of [withoutSplits, withoutEvents, withoutAttributes]) {
        for (const variant of variants(best.repro)) {
          if (weight(variant) >= weight(best.repro)) continue;
          best = (await this.#firstOf([variant])) ?? best;
        }
      }
    }
    return best;
  }

  /** The lightest of the variants that still differs. All must have the same families and events. */
  async #firstOf(variants: readonly Repro[]): Promise<Proof | null> {
    if (variants.length === 0 || this.#rounds >= ROUNDS_MAX) return null;
    this.#rounds++;
    const split = variants.map(({ steps }) => splitSteps(steps));
    const { answers, differences } = await this.#run({
      families: variants[0]!.families,
      splits: variants[0]!.splits,
      splitEvery: 1,
      events: split[0]!.events,
      cases: split.map((one) => one.case),
    });
    let best: Proof | null = null;
    for (const { caseIndex, segment, index, want, got } of differences) {
      const repro = variants[caseIndex]!;
      const isLast =
        segment === split[caseIndex]!.events.length &&
        index === split[caseIndex]!.case[segment]!.length - 1;
      if (!isLast || (best !== null && weight(best.repro) <= weight(repro))) continue;
      best = { repro, answers: answers[caseIndex]!.flat(), want, got };
    }
    return best;
  }
}

const weight = (repro: Repro): number => JSON.stringify(repro).length;

/** Runs of commands left out, from half of them to single ones. */
function withoutSteps(repro: Repro): Repro[] {
  const variants: Repro[] = [];
  const { steps } = repro;
  for (let size = Math.floor(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < steps.length - 1; from += size) {
      const left = steps.filter(
        (step, i) => i < from || i >= from + size || i === steps.length - 1 || isEvent(step),
      );
      if (left.length < steps.length) variants.push({ ...repro, steps: left });
    }
  }
  return variants;
}

/** Members and list items of commands left out, one at a time. */
function withoutParts(repro: Repro): Repro[] {
  return repro.steps.flatMap((step, i) =>
    isEvent(step)
      ? []
      : smaller(step).map((command) => ({ ...repro, steps: repro.steps.with(i, command) })),
  );
}

const NEEDED: ReadonlySet<string> = new Set(['op', 'row', 'rows', 'condition', 'startInclusive']);
const LISTS = ['cells', 'mutations', 'amounts', 'values', 'operations', 'checks'];

function smaller(command: Command): Command[] {
  const variants: Command[] = [];
  for (const [name, value] of Object.entries(command) as [string, unknown][]) {
    if (NEEDED.has(name)) continue;
    const isList = LISTS.includes(name);
    // A list that is optional may go, but a delete without any of them is another delete.
    if (!isList && !(command.op === 'delete')) variants.push(withoutMember(command, name));
    if (!Array.isArray(value) || name === 'timeRange') continue;
    for (let i = 0; i < value.length && value.length > 1; i++) {
      variants.push({ ...command, [name]: value.toSpliced(i, 1) as unknown });
    }
  }
  if ('filter' in command && command.filter !== undefined) {
    for (const filter of smallerFilters(command.filter)) variants.push({ ...command, filter });
  }
  if (command.op === 'check' && 'filter' in command.condition) {
    const { condition } = command;
    for (const filter of smallerFilters(condition.filter!)) {
      variants.push({ ...command, condition: { ...condition, filter } });
    }
  }
  if (command.op === 'batch') variants.push(...command.operations);
  if (command.op === 'checkAll') variants.push(...command.checks);
  if (command.op === 'mutateRow' || command.op === 'check' || command.op === 'mutateRows') {
    variants.push(...command.mutations);
    for (const [i, mutation] of command.mutations.entries()) {
      for (const less of smaller(mutation)) {
        variants.push({ ...command, mutations: command.mutations.toSpliced(i, 1, less as never) });
      }
    }
  }
  return variants;
}

function withoutMember(command: Command, name: string): Command {
  const left = Object.entries(command).filter(([other]) => other !== name);
  return Object.fromEntries(left) as unknown as Command;
}

const withoutSplits = (repro: Repro): Repro[] =>
  repro.splits.map((_, i) => ({ ...repro, splits: repro.splits.toSpliced(i, 1) }));

function withoutEvents(repro: Repro): Repro[] {
  return repro.steps.flatMap((step, i) => {
    if (!isEvent(step)) return [];
    const without = { ...repro, steps: repro.steps.toSpliced(i, 1) };
    if (step.op !== 'load' || step.cells.length === 1) return [without];
    const less = step.cells.map((_, at): Step => ({ ...step, cells: step.cells.toSpliced(at, 1) }));
    return [without, ...less.map((one) => ({ ...repro, steps: repro.steps.with(i, one) }))];
  });
}

const isPrefixed = (family: Family): boolean => family['BLOOMFILTER'] === 'ROWPREFIX_FIXED_LENGTH';

function withoutAttributes(repro: Repro): Repro[] {
  return repro.families.flatMap((family, i) => {
    const less = Object.keys(family)
      // Filters by a prefix need its length, which nothing else needs; VERSIONS is above MIN_VERSIONS.
      .filter((name) => name !== 'name' && (name !== 'CONFIGURATION' || !isPrefixed(family)))
      .filter((name) => name !== 'VERSIONS' || !('MIN_VERSIONS' in family))
      .map((name) => {
        const left = Object.entries(family).filter(([other]) => other !== name);
        const changed: Family = { ...Object.fromEntries(left), name: family.name };
        return { ...repro, families: repro.families.with(i, changed) };
      });
    const only = repro.families.length > 1 ? [withoutFamily(repro, i)] : [];
    return [...only, ...less];
  });
}

/** Files that are loaded hold nothing of it either: who loads what no family takes gets an error on both sides. */
function withoutFamily(repro: Repro, at: number): Repro {
  const { name } = repro.families[at]!;
  const steps = repro.steps.flatMap((step): Step[] => {
    if (step.op !== 'load') return [step];
    const cells = step.cells.filter(({ f }) => f !== name);
    return cells.length === 0 ? [] : [{ ...step, cells }];
  });
  return { ...repro, families: repro.families.toSpliced(at, 1), steps };
}
