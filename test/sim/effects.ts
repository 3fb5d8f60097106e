/**
 * What mutations do, by definition: the cells that a commit writes and what it answers, computed from the model as it was
 * just below the commit's TSO (protocol/semantics.md sections 3, 4, 8, 9 and 11).
 */
import type {
  CellInput,
  ColumnCondition,
  DeleteSpec,
  IncrementOptions,
  Mutation,
  TimeRange,
  Values,
} from '../../src/model/index.ts';
import {
  byKey,
  cellsText,
  columnOf,
  counterOf,
  DELETE,
  DELETE_COLUMN,
  DELETE_FAMILY,
  DELETE_FAMILY_VERSION,
  PUT,
  sameKey,
  textOf,
  valueText,
  type ModelCell,
} from './cells.ts';
import { visibleCells, toRange, type ModelTable, type SchemaVersion } from './model.ts';

/** Where and when a commit happens. */
export interface CommitPlace {
  readonly table: ModelTable;
  readonly version: SchemaVersion;
  readonly tso: bigint;
  /** The timestamp of LATEST cells: the commit's millisecond, or the one its batch shares. */
  readonly stampMs: number;
  /** The time at which the row was read. */
  readonly nowMs: number;
  /** Changes of files that had been made when it was read. */
  readonly turn: number;
  /** Least timestamps of what is put, by row: what a transaction has read. */
  readonly floors?: ReadonlyMap<string, number>;
}

/** An operation that failed on what it read, with HBase's class for it. */
export class DataError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export interface Effect {
  /** As they are logged and stored: each key once, the later mutation's. */
  readonly cells: readonly ModelCell[];
  /** The new cells that increments and appends answer, as text; 'null' for none. */
  readonly answer: string;
  /** Rows with puts, and with markers, that asked for the commit's own timestamp. */
  readonly latestPuts: ReadonlySet<string>;
  readonly latestMarkers: ReadonlySet<string>;
}

/** The effect of one commit's mutations. Throws DataError, and Error for families that are not there. */
export function effectOf(
  place: CommitPlace,
  mutations: readonly Mutation[],
  condition: ColumnCondition | null = null,
): Effect {
  return new Composer(place, floorOf(place, condition, mutations)).run(mutations);
}

/** Null: the condition does not hold. */
export function holds(place: CommitPlace, row: string, condition: ColumnCondition): boolean {
  const stored = newest(place, row, condition.column, condition.timeRange);
  const operator = condition.operator ?? 'EQUAL';
  const wanted = condition.value === null ? '' : valueText(condition.value);
  if (wanted === '') {
    const isAbsent = stored === null || stored.value === '';
    return isAbsent === (operator !== 'NOT_EQUAL');
  }
  if (stored === null) return false;
  if (operator === 'NO_OP') {
    throw new DataError('IOException', 'NO_OP with a value');
  }
  const isLess = wanted < stored.value;
  const isEqual = wanted === stored.value;
  switch (operator) {
    case 'LESS':
      return isLess;
    case 'LESS_OR_EQUAL':
      return isLess || isEqual;
    case 'EQUAL':
      return isEqual;
    case 'NOT_EQUAL':
      return !isEqual;
    case 'GREATER_OR_EQUAL':
      return !isLess;
    case 'GREATER':
      return !isLess && !isEqual;
  }
}

/** A condition's cell is the least timestamp of what is put then. */
function floorOf(
  place: CommitPlace,
  condition: ColumnCondition | null,
  mutations: readonly Mutation[],
): number {
  if (condition === null) return 0;
  const row = rowOf(mutations[0]!);
  return newest(place, row, condition.column, condition.timeRange)?.ts ?? 0;
}

export function rowOf(mutation: Mutation): string {
  if ('put' in mutation) return textOf(mutation.put);
  if ('delete' in mutation) return textOf(mutation.delete);
  if ('increment' in mutation) return textOf(mutation.increment);
  return textOf(mutation.append);
}

function familyOf(place: CommitPlace, name: string): SchemaVersion['families'][number] {
  const family = place.version.families.find(({ rules }) => rules.name === name);
  if (family === undefined) throw new DataError('NoSuchColumnFamilyException', name);
  return family;
}

/** The newest visible cell of a column below the commit. */
function newest(
  place: CommitPlace,
  row: string,
  column: ColumnCondition['column'],
  timeRange: TimeRange | undefined,
): ModelCell | null {
  const { family, qualifier } = columnOf(column);
  const { id, rules } = familyOf(place, family);
  const cells = place.table.cellsOf(id, row, { tso: place.tso - 1n, turn: place.turn });
  const spec = {
    qualifiers: new Set([qualifier ?? '']),
    range: toRange(timeRange),
    versions: 1,
    nowMs: place.nowMs,
  };
  return visibleCells(cells, rules, spec)[0] ?? null;
}

class Composer {
  readonly #place: CommitPlace;
  readonly #floor: number;
  #cells: ModelCell[] = [];
  readonly #returned: ModelCell[] = [];
  readonly #latestPuts = new Set<string>();
  readonly #latestMarkers = new Set<string>();

  constructor(place: CommitPlace, floor: number) {
    this.#place = place;
    this.#floor = floor;
  }

  run(mutations: readonly Mutation[]): Effect {
    const answered: ModelCell[] = [];
    for (const mutation of mutations) {
      this.#returned.length = 0;
      this.#mutate(rowOf(mutation), mutation);
      // The new cells of one mutation in key order, the mutations in theirs.
      answered.push(...this.#returned.sort(byKey));
    }
    return {
      cells: this.#cells,
      answer: cellsText(answered),
      latestPuts: this.#latestPuts,
      latestMarkers: this.#latestMarkers,
    };
  }

  #mutate(row: string, mutation: Mutation): void {
    if ('put' in mutation) this.#put(row, mutation.values, mutation.options);
    else if ('delete' in mutation) this.#delete(row, mutation.spec ?? {});
    else if ('increment' in mutation) {
      for (const [column, amount] of Object.entries(mutation.amounts)) {
        this.#modify(row, column, mutation.options, (old) => incremented(old, BigInt(amount)));
      }
    } else {
      for (const [column, value] of Object.entries(mutation.values)) {
        const added = valueText(value);
        this.#modify(row, column, mutation.options, (old) => (old ?? '') + added);
      }
    }
  }

  #put(row: string, values: Values, options: { ts?: unknown; ttl?: number } | undefined): void {
    const { ts, ttl = 0 } = options ?? {};
    const inputs: readonly CellInput[] = isList(values)
      ? values
      : Object.entries(values).map(([column, value]) => {
          const { family, qualifier } = columnOf(column);
          return { family, qualifier: qualifier ?? '', value };
        });
    for (const input of inputs) {
      this.#add(row, [input.family, textOf(input.qualifier)], input.ts ?? ts, {
        type: PUT,
        value: valueText(input.value),
        ttlMs: input.ttl ?? ttl,
        floor: Math.max(this.#floor, this.#place.floors?.get(row) ?? 0),
      });
    }
  }

  #delete(row: string, spec: DeleteSpec): void {
    const marker = (type: number) => ({ type, value: '', ttlMs: 0, floor: 0 });
    const { ts } = spec;
    for (const name of spec.families ?? []) this.#add(row, [name, ''], ts, marker(DELETE_FAMILY));
    for (const name of spec.familyVersions ?? []) {
      this.#add(row, [name, ''], ts, marker(DELETE_FAMILY_VERSION));
    }
    for (const column of spec.columns ?? []) {
      const { family, qualifier } = columnOf(column);
      this.#add(row, [family, qualifier ?? ''], ts, marker(DELETE_COLUMN));
    }
    for (const column of spec.versions ?? []) {
      const { family, qualifier } = columnOf(column);
      const at = ts ?? newest(this.#place, row, column, undefined)?.ts;
      this.#add(row, [family, qualifier ?? ''], at, marker(DELETE));
    }
    const { families = [], familyVersions = [], columns = [], versions = [] } = spec;
    if (families.length + familyVersions.length + columns.length + versions.length > 0) return;
    for (const { rules } of this.#place.version.families) {
      this.#add(row, [rules.name, ''], ts, marker(DELETE_FAMILY));
    }
  }

  #modify(
    row: string,
    column: string,
    options: IncrementOptions | undefined,
    change: (old: string | null) => string,
  ): void {
    const { family, qualifier } = columnOf(column);
    const old = newest(this.#place, row, column, options?.timeRange);
    const value = change(old === null ? null : old.value);
    const cell = this.#add(row, [family, qualifier ?? ''], options?.ts, {
      type: PUT,
      value,
      ttlMs: options?.ttl ?? old?.ttlMs ?? 0,
      floor: old === null ? 0 : old.ts + 1,
    });
    if (options?.returnResults !== false) this.#returned.push(cell);
  }

  #add(
    row: string,
    [family, qualifier]: readonly [string, string],
    ts: unknown,
    rest: { type: number; value: string; ttlMs: number; floor: number },
  ): ModelCell {
    familyOf(this.#place, family);
    const { floor, ...fields } = rest;
    if (ts === undefined) (rest.type === PUT ? this.#latestPuts : this.#latestMarkers).add(row);
    const stamp = ts === undefined ? Math.max(this.#place.stampMs, floor) : Number(ts);
    const cell = { row, family, qualifier, ts: stamp, tso: this.#place.tso, ...fields };
    this.#cells = this.#cells.filter((other) => !sameKey(other, cell));
    this.#cells.push(cell);
    return cell;
  }
}

const isList = (values: Values): values is readonly CellInput[] => Array.isArray(values);

function incremented(old: string | null, amount: bigint): string {
  if (old !== null && old.length !== 8) {
    throw new DataError('DoNotRetryIOException', `a counter of ${old.length} bytes`);
  }
  return valueText(BigInt.asIntN(64, (old === null ? 0n : counterOf(old)) + amount));
}
