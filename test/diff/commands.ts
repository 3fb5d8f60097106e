/**
 * What both sides are asked, and how answers are compared. Commands and answers are JSON; bytes are strings, one character
 * (U+0000 … U+00FF) a byte.
 *
 * Rows are those of a case: each case of a round owns the rows below a prefix, which neither commands nor answers show.
 * Times above `TIME_MIN` are relative to the round's start, `NOW`: a case replays at any time of day. Timestamps that a server
 * took from its clock are compared as `NOW`.
 */

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

export interface CheckCommand {
  readonly op: 'check';
  readonly row: string;
  readonly condition: {
    readonly column: Column;
    readonly operator: string;
    readonly value: string | null;
    readonly timeRange?: Range;
  };
  readonly mutations: readonly MutationCommand[];
}

export interface ReadCommand {
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

export type Write = MutationCommand | MutateRowCommand | CheckCommand;
export type Read = GetCommand | ScanCommand;
export type Command = Write | Read;
/** What happens to a whole table. `reopen` is Cellar's alone. */
export type TableEvent = 'flush' | 'compact' | 'major' | 'reopen';
export type Step = Command | { readonly op: TableEvent };

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
export type Answer =
  | 'ok'
  | null
  | readonly AnswerCell[]
  | readonly (readonly AnswerCell[])[]
  | { readonly processed: boolean; readonly result: readonly AnswerCell[] | null }
  | ErrorAnswer;

/** Something that takes commands: Apache HBase or Cellar. Lanes run at once, each in order. */
export interface Side {
  run(table: string, lanes: readonly (readonly object[])[]): Promise<Answer[][]>;
  create(table: string, families: readonly Family[]): Promise<void>;
  event(table: string, event: TableEvent): Promise<void>;
}

/** The round's start, in commands and answers. */
export const NOW = 4_000_000_000_000;
const TIME_MIN = 2_000_000_000_000;
/** Timestamps this near after the start came from a clock. */
const CLOCK_MS = 100_000_000;
const PREFIX_END = '0'; // The character after '/', with which prefixes end.

export const isEvent = (step: Step): step is { readonly op: TableEvent } =>
  step.op === 'flush' || step.op === 'compact' || step.op === 'major' || step.op === 'reopen';

export const isRead = (command: Step): command is Read =>
  command.op === 'get' || command.op === 'scan';

export const prefixOf = (index: number): string => `${String(index).padStart(4, '0')}/`;

/** Where and when a case runs. */
export interface Place {
  readonly prefix: string;
  /** What `NOW` stands for, Unix milliseconds. */
  readonly baseMs: number;
}

/** The command as a server gets it. */
export function toActual(command: Command, { prefix, baseMs }: Place): Record<string, unknown> {
  const actual = withTimes(command, baseMs) as Record<string, unknown>;
  if (command.op === 'scan') return { ...actual, ...bounds(command, prefix) };
  actual['row'] = prefix + command.row;
  for (const mutation of (actual['mutations'] ?? []) as { row: string }[]) {
    mutation.row = prefix + mutation.row;
  }
  if (takesClock(command)) actual['latest'] = 1;
  return actual;
}

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
  const end = { row: prefix.slice(0, -1) + PREFIX_END, inclusive: false };
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
    case 'check':
      return command.mutations.some(takesClock);
    case 'get':
    case 'scan':
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
  if (answer !== null && typeof answer === 'object' && 'processed' in answer) {
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

const comparable = (answer: Answer): unknown =>
  answer !== null && typeof answer === 'object' && 'error' in answer
    ? { error: answer.error }
    : answer;
