/** How often each feature was compared, in which state of the table. */
import type {
  CheckCommand,
  Command,
  Family,
  MutationCommand,
  ReadCommand,
  TableEvent,
} from './commands.ts';
import { isRead } from './commands.ts';
import { partsOf } from './filters.ts';
import type { FilterJson } from './filters.ts';
import { isSplit } from './round.ts';
import type { Round } from './round.ts';

const STATES = ['memory', 'flush', 'compact', 'major', 'reopen', 'clone', 'alter', 'load'] as const;
type State = (typeof STATES)[number];
const STATE_TITLES: Readonly<Record<State, string>> = {
  memory: 'memory',
  flush: 'flushed',
  compact: 'compacted',
  major: 'major',
  reopen: 'reopened',
  clone: 'cloned',
  alter: 'altered',
  load: 'loaded',
};

export class Coverage {
  readonly #counts = new Map<string, Map<State, number>>();
  comparisons = 0;

  /** Counts one comparison. `segment`: events that happened before. */
  count(round: Round, caseIndex: number, segment: number, index: number): void {
    this.comparisons++;
    const commands = round.cases[caseIndex]![segment]!;
    const command = commands[index]!;
    const state = stateOf(round.events, segment, commands.slice(0, index).every(isRead));
    this.#add('all', state);
    if (isSplit(round, caseIndex)) this.#add('several regions', state);
    for (const feature of featuresOf(command)) this.#add(feature, state);
    for (const feature of familyFeatures(round.families)) this.#add(feature, state);
  }

  #add(feature: string, state: State): void {
    const counts = this.#counts.get(feature) ?? new Map<State, number>();
    this.#counts.set(feature, counts);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }

  /** The table, as text. */
  toString(): string {
    const lines = [row('feature', [...STATES.map((state) => STATE_TITLES[state]), 'sum'])];
    for (const feature of [...this.#counts.keys()].sort()) {
      const counts = STATES.map((state) => this.#counts.get(feature)!.get(state) ?? 0);
      const sum = counts.reduce((a, b) => a + b, 0);
      lines.push(row(feature, [...counts, sum].map(String)));
    }
    return lines.join('\n');
  }
}

const row = (feature: string, cells: readonly string[]): string =>
  feature.padEnd(44) + cells.map((cell) => cell.padStart(11)).join('');

/** The last event, as long as nothing was written since; a reopened table is in the state `reopen`. */
function stateOf(events: readonly TableEvent[], segment: number, isUnwritten: boolean): State {
  return segment === 0 || !isUnwritten ? 'memory' : events[segment - 1]!.op;
}

function familyFeatures(families: readonly Family[]): Set<string> {
  const features = new Set<string>();
  for (const family of families) {
    for (const [name, value] of Object.entries(family)) {
      if (name !== 'name' && typeof value === 'string') features.add(`family ${name}=${value}`);
    }
  }
  return features;
}

function featuresOf(command: Command): Set<string> {
  const features = new Set<string>();
  addCommand('', command, features);
  return features;
}

function addCommand(kind: string, command: Command, features: Set<string>): void {
  switch (command.op) {
    case 'get':
    case 'exists':
    case 'getMany':
    case 'scan':
      return addRead(`${kind}${command.op}`, command, features);
    case 'mutateRow':
    case 'mutateRows':
      features.add(kind + command.op);
      for (const one of command.mutations) addMutation(`${kind}${command.op} `, one, features);
      return;
    case 'check':
      return addCheck(`${kind}checkAndMutate`, command, features);
    case 'checkAll':
      features.add('checkAndMutateAll');
      for (const one of command.checks) addCheck('checkAndMutateAll', one, features);
      return;
    case 'batch':
      features.add('batch');
      for (const one of command.operations) addCommand('batch ', one, features);
      return;
    default:
      addMutation(kind, command, features);
  }
}

function addCheck(
  kind: string,
  { condition, mutations }: CheckCommand,
  features: Set<string>,
): void {
  features.add(kind);
  if (condition.timeRange !== undefined) features.add(`${kind} timeRange`);
  if ('column' in condition) {
    features.add(`${kind} ${condition.operator}`);
    features.add(`${kind} ${condition.value === null ? 'null' : 'value'}`);
  } else addFilter(kind, condition.filter, features);
  if (mutations.length > 1) features.add(`${kind} several mutations`);
  for (const mutation of mutations) addMutation(`${kind} `, mutation, features);
}

function addFilter(kind: string, filter: FilterJson | undefined, features: Set<string>): void {
  if (filter === undefined) return;
  features.add(`${kind} filter`);
  for (const part of partsOf(filter)) features.add(`filter ${part}`);
}

function addRead(kind: string, command: ReadCommand & object, features: Set<string>): void {
  features.add(kind);
  for (const [name, value] of Object.entries(command)) {
    if (name === 'op' || name === 'row' || name === 'rows' || name === 'filter') continue;
    if (name.endsWith('Inclusive')) features.add(`${kind} ${name} ${String(value)}`);
    else features.add(name === 'asText' ? 'filter as text' : `${kind} ${name}`);
    if (name === 'versions' && value === 1) features.add(`${kind} versions 1`);
  }
  addFilter(kind, command.filter, features);
}

function addMutation(kind: string, command: MutationCommand, features: Set<string>): void {
  features.add(`${kind}${command.op}`);
  if (command.op === 'put') {
    if (command.ttl !== undefined) features.add(`${kind}put ttl`);
    if (command.cells.some((cell) => cell.ts === undefined)) features.add(`${kind}put latest`);
    return;
  }
  for (const name of Object.keys(command)) {
    if (name !== 'op' && name !== 'row' && name !== 'ts') {
      features.add(`${kind}${command.op} ${name}`);
    }
  }
  if (command.op === 'delete' && command.ts === undefined) features.add(`${kind}delete latest`);
}
