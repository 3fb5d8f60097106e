/**
 * What both sides are asked, and how answers are compared. Commands and answers are JSON; bytes are strings, one character
 * (U+0000 … U+00FF) a byte.
 *
 * Rows are those of a case: each case of a round owns the rows below a prefix, which neither commands nor answers show.
 * Times above `TIME_MIN` are relative to the round's start, `NOW`: a case replays at any time of day. Timestamps that a server
 * took from its clock are compared as `NOW`.
 */

import { placedFilter, textOf } from './filters.ts';
import type { FilterJson } from './filters.ts';

export type Column = readonly [family: string, qualifier: string];
export type Range = readonly [min: number, max: number];

export interface PutCommand {
  readonly op: 'put';
  readonly row: string;
  /** A cell without `ts` takes the server's time. */
  readonly cells: readonly {
    readonly f: string;
    readonly q: string;
    readonly ts?: number;
    readonly v: string;
  }[];
  /** Milliseconds. */
  readonly ttl?: number;
}

export interface DeleteCommand {
  readonly op: 'delete';
  readonly row: string;
  readonly ts?: number;
  readonly columns?: readonly Column[];
  readonly versions?: readonly Column[];
  readonly families?: readonly string[];
  readonly familyVersions?: readonly string[];
}

export interface IncrementCommand {
  readonly op: 'increment';
  readonly row: string;
  /** Amounts are decimal: they have 64 bits. */
  readonly amounts: readonly (readonly [family: string, qualifier: string, amount: string])[];
  readonly timeRange?: Range;
  readonly ttl?: number;
  /** Set: the new cells are not asked for. */
  readonly quiet?: 1;
}

export interface AppendCommand {
  readonly op: 'append';
  readonly row: string;
  readonly values: readonly (readonly [family: string, qualifier: string, value: string])[];
  readonly timeRange?: Range;
  readonly ttl?: number;
  readonly quiet?: 1;
}

export type MutationCommand = PutCommand | DeleteCommand | IncrementCommand | AppendCommand;

export interface MutateRowCommand {
  readonly op: 'mutateRow';
  readonly row: string;
  readonly mutations: readonly MutationCommand[];
}

/** A condition on the newest cell of a column, or a filter that passes something of the row. */
export type ConditionJson =
  | {
      readonly column: Column;
      readonly operator: string;
      readonly value: string | null;
      readonly timeRange?: Range;
    }
  | ({ readonly timeRange?: Range } & Filtered);

export interface CheckCommand {
  readonly op: 'check';
  readonly row: string;
  readonly condition: ConditionJson;
  readonly mutations: readonly MutationCommand[];
}

/** Conditional changes in one request. */
export interface CheckAllCommand {
  readonly op: 'checkAll';
  readonly checks: readonly CheckCommand[];
}

/** Operations in one request, each with an outcome of its own. HBase does not keep their order: rows are distinct. */
export interface BatchCommand {
  readonly op: 'batch';
  readonly operations: readonly (MutationCommand | MutateRowCommand | CheckCommand | GetCommand)[];
}

/** Puts and deletes of several rows of a region, all or none. */
export interface MutateRowsCommand {
  readonly op: 'mutateRows';
  readonly mutations: readonly MutationCommand[];
}

export interface Filtered {
  readonly filter?: FilterJson;
  /** Set: the filter is given in HBase's filter language. */
  readonly asText?: 1;
}

export interface ReadCommand extends Filtered {
  readonly columns?: readonly Column[];
  readonly families?: readonly string[];
  readonly versions?: number;
  readonly timeRange?: Range;
  readonly familyTimeRanges?: readonly (readonly [family: string, range: Range])[];
  readonly storeLimit?: number;
  readonly storeOffset?: number;
}

export interface GetCommand extends ReadCommand {
  readonly op: 'get';
  readonly row: string;
}

export interface ExistsCommand extends ReadCommand {
  readonly op: 'exists';
  readonly row: string;
}

export interface GetManyCommand extends ReadCommand {
  readonly op: 'getMany';
  readonly rows: readonly string[];
}

export interface ScanCommand extends ReadCommand {
  readonly op: 'scan';
  readonly start?: string;
  readonly startInclusive?: boolean;
  readonly stop?: string;
  readonly stopInclusive?: boolean;
  readonly reversed?: 1;
  readonly raw?: 1;
  readonly limit?: number;
  readonly batch?: number;
  /** HBase's caching; the size of batches fetched here. */
  readonly caching?: number;
  readonly maxResultSizeBytes?: number;
  readonly uncommitted?: 1;
}

export type Write =
  | MutationCommand
  | MutateRowCommand
  | CheckCommand
  | CheckAllCommand
  | BatchCommand
  | MutateRowsCommand;
export type Read = GetCommand | ExistsCommand | GetManyCommand | ScanCommand;
export type Command = Write | Read;
/** A cell of a bulk load; its row, like those of commands, is one of each case. */
export interface LoadedCell {
  readonly row: string;
  readonly f: string;
  readonly q: string;
  readonly ts: number;
  readonly type: 'Put' | 'Delete' | 'DeleteColumn';
  readonly v: string;
}

/**
 * What happens to a whole table. `reopen` is Cellar's alone; after `clone` a clone of a snapshot takes the table's place;
 * `alter` gives it other families' attributes; `load` brings HFiles from outside with these cells.
 */
export type TableEvent =
  | { readonly op: 'flush' | 'compact' | 'major' | 'reopen' | 'clone' }
  | { readonly op: 'alter'; readonly families: readonly Family[] }
  | { readonly op: 'load'; readonly cells: readonly LoadedCell[] };
export type Step = Command | TableEvent;

/** Attributes of a family as HBase's shell names them, as texts. */
export interface Family {
  readonly name: string;
  readonly CONFIGURATION?: Readonly<Record<string, string>>;
  readonly [attribute: string]: string | Readonly<Record<string, string>> | undefined;
}

export type AnswerCell = readonly [
  row: string,
  family: string,
  qualifier: string,
  ts: number,
  type: string,
  value: string,
];
export interface ErrorAnswer {
  readonly error: string;
  readonly message?: string;
}
/** Of operations that fail one by one. */
export interface OutcomesAnswer {
  readonly outcomes: readonly Answer[];
}
export type Answer =
  | 'ok'
  | boolean
  | null
  | OutcomesAnswer
  | readonly AnswerCell[]
  | readonly (readonly AnswerCell[])[]
  | { readonly processed: boolean; readonly result: readonly AnswerCell[] | null }
  | ErrorAnswer;

/** Something that takes commands: Apache HBase or Cellar. Lanes run at once, each in order. */
export interface Side {
  run(table: string, lanes: readonly (readonly object[])[]): Promise<Answer[][]>;
  /** `splits`: where regions begin but the first. */
  create(table: string, families: readonly Family[], splits: readonly string[]): Promise<void>;
  /** The name of the table from then on. */
  event(table: string, event: TableEvent): Promise<string>;
}

/** The round's start, in commands and answers. */
export const NOW = 4_000_000_000_000;
const TIME_MIN = 2_000_000_000_000;
/** Timestamps this near after the start came from a clock. */
const CLOCK_MS = 100_000_000;
const PREFIX_END = '0'; // The character after '/', with which prefixes end.

const EVENTS: ReadonlySet<string> = new Set([
  'flush',
  'compact',
  'major',
  'reopen',
  'clone',
  'alter',
  'load',
]);
const READS: ReadonlySet<string> = new Set(['get', 'scan', 'exists', 'getMany']);

export const isEvent = (step: Step): step is TableEvent => EVENTS.has(step.op);

export const isRead = (command: Step): command is Read => READS.has(command.op);

export const prefixOf = (index: number): string => `${String(index).padStart(4, '0')}/`;

/** Where and when a case runs. */
export interface Place {
  readonly prefix: string;
  /** What `NOW` stands for, Unix milliseconds. */
  readonly baseMs: number;
}

/** The command as a server gets it. */
export function toActual(command: Command, place: Place): Record<string, unknown> {
  const actual = withTimes(command, place.baseMs) as Record<string, unknown>;
  return placed(actual, place.prefix);
}

/** The event as a server gets it: cells to load stand in the rows of every case. */
export function toActualEvent(event: TableEvent, cases: number, baseMs: number): TableEvent {
  if (event.op !== 'load') return event;
  const cells = withTimes(event.cells, baseMs) as readonly LoadedCell[];
  const of = (prefix: string): LoadedCell[] =>
    cells.map((cell) => ({ ...cell, row: prefix + cell.row }));
  return { op: 'load', cells: Array.from({ length: cases }, (_, i) => of(prefixOf(i))).flat() };
}

/** Rows below the prefix, filters in the form asked for. */
function placed(command: Record<string, unknown>, prefix: string): Record<string, unknown> {
  const actual = placedFiltered(command, prefix);
  if (actual['op'] === 'scan') {
    Object.assign(actual, bounds(command as unknown as ScanCommand, prefix));
  }
  if (typeof actual['row'] === 'string') actual['row'] = prefix + actual['row'];
  if (actual['rows'] !== undefined) {
    actual['rows'] = (actual['rows'] as string[]).map((row) => prefix + row);
  }
  if (actual['condition'] !== undefined) {
    actual['condition'] = placedFiltered(actual['condition'] as Record<string, unknown>, prefix);
  }
  for (const name of ['mutations', 'operations', 'checks']) {
    const parts = actual[name] as Record<string, unknown>[] | undefined;
    if (parts !== undefined) actual[name] = parts.map((part) => placed(part, prefix));
  }
  if (takesClock(command as unknown as Command)) actual['latest'] = 1;
  return actual;
}

function placedFiltered(
  { filter, asText, ...rest }: Record<string, unknown>,
  prefix: string,
): Record<string, unknown> {
  if (filter === undefined) return rest;
  const inPlace = placedFilter(filter as FilterJson, prefix, endOf(prefix));
  const text = asText === undefined ? null : textOf(inPlace);
  return text === null ? { ...rest, filter: inPlace } : { ...rest, filterText: text };
}

const endOf = (prefix: string): string => prefix.slice(0, -1) + PREFIX_END;

function withTimes(value: unknown, baseMs: number): unknown {
  if (typeof value === 'number') return value > TIME_MIN ? value - NOW + baseMs : value;
  if (Array.isArray(value)) return value.map((item) => withTimes(item, baseMs));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withTimes(item, baseMs)]),
  );
}

function bounds(scan: ScanCommand, prefix: string): Record<string, unknown> {
  const first = { row: prefix, inclusive: true };
  const end = { row: endOf(prefix), inclusive: false };
  const start =
    scan.start === undefined
      ? scan.reversed
        ? end
        : first
      : { row: prefix + scan.start, inclusive: scan.startInclusive ?? true };
  const stop =
    scan.stop === undefined
      ? scan.reversed
        ? first
        : end
      : { row: prefix + scan.stop, inclusive: scan.stopInclusive ?? false };
  return {
    start: start.row,
    startInclusive: start.inclusive,
    stop: stop.row,
    stopInclusive: stop.inclusive,
  };
}

/** Whether the server's clock goes into what the command writes. */
export function takesClock(command: Command): boolean {
  switch (command.op) {
    case 'put':
      return command.cells.some((cell) => cell.ts === undefined);
    case 'delete':
      return command.ts === undefined;
    case 'increment':
    case 'append':
      return true;
    case 'mutateRow':
    case 'mutateRows':
    case 'check':
      return command.mutations.some(takesClock);
    case 'checkAll':
      return command.checks.some(takesClock);
    case 'batch':
      return command.operations.some(takesClock);
    default:
      return false;
  }
}

/** A server's answer, as commands would write it. */
export function toCanonical(answer: Answer, place: Place): Answer {
  if (Array.isArray(answer)) {
    return (answer as readonly (AnswerCell | readonly AnswerCell[])[]).map((item) =>
      typeof item[0] === 'string'
        ? canonicalCell(item as AnswerCell, place)
        : (item as readonly AnswerCell[]).map((cell) => canonicalCell(cell, place)),
    ) as Answer;
  }
  if (answer === null || typeof answer !== 'object') return answer;
  if ('outcomes' in answer) {
    return { outcomes: answer.outcomes.map((outcome) => toCanonical(outcome, place)) };
  }
  if ('processed' in answer) {
    const result = answer.result?.map((cell) => canonicalCell(cell, place)) ?? null;
    return { processed: answer.processed, result };
  }
  return answer;
}

function canonicalCell(cell: AnswerCell, { prefix, baseMs }: Place): AnswerCell {
  const [row, family, qualifier, ts, type, value] = cell;
  const local = row.startsWith(prefix) ? row.slice(prefix.length) : `outside: ${row}`;
  return [local, family, qualifier, canonicalTime(ts, baseMs), type, value];
}

function canonicalTime(ts: number, baseMs: number): number {
  if (ts < baseMs - 1_000_000_000 || ts > baseMs + 10 * CLOCK_MS) return ts;
  const time = ts - baseMs + NOW;
  return time >= NOW && time < NOW + CLOCK_MS ? NOW : time;
}

/** Whether two answers are the same: of errors, the class is. */
export function sameAnswer(a: Answer, b: Answer): boolean {
  return JSON.stringify(comparable(a)) === JSON.stringify(comparable(b));
}

/** Ours that say more than HBase's. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  // HBase has the name for a row that the client may look for elsewhere.
  ['WrongRegionException', 'DoNotRetryIOException'],
]);

/** An answer to compare and keep: an error's message is each server's own. */
export function comparable(answer: Answer): Answer {
  if (answer === null || typeof answer !== 'object') return answer;
  if ('error' in answer) return { error: SYNONYMS.get(answer.error) ?? answer.error };
  return 'outcomes' in answer ? { outcomes: answer.outcomes.map(comparable) } : answer;
}
