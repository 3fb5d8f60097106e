/**
 * The naive model of a store: tables with their descriptors by TSO, and every cell ever written in plain lists with its
 * commit. Reads follow HBase's visible rules by their definition (protocol/semantics.md sections 4, 5 and 7): all cells of
 * the row are looked at each time, and nothing is remembered between them.
 */
import type { TimeRange, ReadOptions, ScanOptions } from '../../src/model/index.ts';
import {
  byKey,
  byText,
  columnOf,
  DELETE,
  DELETE_COLUMN,
  DELETE_FAMILY,
  DELETE_FAMILY_VERSION,
  PUT,
  sameKey,
  textOf,
  type ModelCell,
} from './cells.ts';

/** What of a family's descriptor matters to readers and writers. */
export interface FamilyRules {
  readonly name: string;
  readonly versions: number;
  readonly minVersions: number;
  /** Infinity for none. */
  readonly ttlSeconds: number;
  readonly keepDeletedCells: boolean;
  readonly newVersionBehavior: boolean;
  readonly durability: string;
}

export interface FamilyVersion {
  /** Identity: a family dropped and added again starts empty under a new one. */
  readonly id: number;
  readonly rules: FamilyRules;
}

export interface SchemaVersion {
  readonly tso: bigint;
  readonly durability: string;
  /** In byte order of the names. */
  readonly families: readonly FamilyVersion[];
}

/** What of the cells that were ever written is there. */
export interface View {
  /** Commits at or below this. */
  readonly tso: bigint;
  /**
   * After this many changes of files: the state that writers and uncommitted readers work on. Undefined: as of `tso`, by
   * the drop TSOs.
   */
  readonly turn?: number | undefined;
}

/** The moment that a read sees; TTL is judged at `nowMs`. */
export interface Moment extends View {
  readonly nowMs: number;
}

/** Whether the view shows the cell, as far as commits and switches of files decide that. */
export function isThere(cell: ModelCell, { tso, turn }: View): boolean {
  if (cell.tso > tso) return false;
  if (cell.dropTso === undefined) return true;
  return turn === undefined ? cell.dropTso > tso : (cell.dropTurn ?? 0) > turn;
}

type Rows = Map<string, ModelCell[]>;

/** The n-th table of a snapshot of tables. */
export interface TableOrigin {
  readonly snapshot: string;
  readonly index: number;
}

export class ModelTable {
  readonly id: number;
  readonly name: string;
  readonly createdTso: bigint;
  droppedTso: bigint | null = null;
  isEnabled = true;
  /** The snapshot that it was made of, and which of its tables; null: it began empty. */
  readonly origin: TableOrigin | null;
  readonly versions: SchemaVersion[] = [];
  readonly #families = new Map<number, Rows>();

  constructor(id: number, name: string, createdTso: bigint, origin: TableOrigin | null = null) {
    this.id = id;
    this.name = name;
    this.createdTso = createdTso;
    this.origin = origin;
  }

  /** The descriptor as of a commit with this TSO. */
  versionAt(tso: bigint): SchemaVersion {
    const found = this.versions.findLast((version) => version.tso < tso);
    if (found === undefined) throw new Error(`table ${this.name} has no schema as of ${tso}`);
    return found;
  }

  get current(): SchemaVersion {
    return this.versions.at(-1)!;
  }

  add(familyId: number, cell: ModelCell): void {
    let rows = this.#families.get(familyId);
    if (rows === undefined) this.#families.set(familyId, (rows = new Map<string, ModelCell[]>()));
    const cells = rows.get(cell.row);
    if (cells === undefined) rows.set(cell.row, [cell]);
    else cells.push(cell);
  }

  /** Forgets what a crash has lost. */
  forget(isLost: (cell: ModelCell) => boolean): void {
    for (const rows of this.#families.values()) {
      for (const [row, cells] of rows) {
        rows.set(
          row,
          cells.filter((cell) => !isLost(cell)),
        );
      }
    }
  }

  /** Every cell of a row and family that the view shows, in no order. */
  cellsOf(familyId: number, row: string, view: View): ModelCell[] {
    const cells = this.#families.get(familyId)?.get(row) ?? [];
    return cells.filter((cell) => isThere(cell, view));
  }

  /** The cell of this key and commit. */
  find(familyId: number, like: ModelCell): ModelCell | undefined {
    const cells = this.#families.get(familyId)?.get(like.row) ?? [];
    return cells.find(
      (cell) => cell.tso === like.tso && cell.qualifier === like.qualifier && sameKey(cell, like),
    );
  }

  /** Every cell ever written to the family. */
  *allOf(familyId: number): Iterable<ModelCell> {
    for (const cells of this.#families.get(familyId)?.values() ?? []) yield* cells;
  }

  /** Ids of the families that hold or held cells. */
  familyIds(): number[] {
    return [...this.#families.keys()];
  }

  rows(): string[] {
    const names = new Set<string>();
    for (const rows of this.#families.values()) for (const row of rows.keys()) names.add(row);
    return [...names].sort(byText);
  }

  /** The visible cells of a row; with `raw` the stored ones. Throws for a family that the descriptor does not have. */
  read(
    version: SchemaVersion,
    row: string,
    options: ReadOptions & { raw?: boolean },
    moment: Moment,
  ): ModelCell[] {
    const wanted = wantedOf(options);
    const found: ModelCell[] = [];
    for (const { id, rules } of version.families) {
      if (wanted !== null && !wanted.has(rules.name)) continue;
      const cells = this.cellsOf(id, row, moment);
      const spec: StoreRead = {
        qualifiers: wanted?.get(rules.name) ?? null,
        range: rangeOf(options, rules.name),
        versions: options.versions ?? 1,
        nowMs: moment.nowMs,
      };
      const visible =
        options.raw === true ? rawCells(cells, spec) : visibleCells(cells, rules, spec);
      const offset = options.storeOffset ?? 0;
      found.push(...visible.slice(offset, offset + (options.storeLimit ?? Infinity)));
    }
    return found;
  }

  /** The rows of a scan, each with its cells. */
  scan(version: SchemaVersion, options: ScanOptions, moment: Moment): ModelCell[][] {
    const isInside = insideOf(options);
    const rows = this.rows().filter(isInside);
    if (options.reversed === true) rows.reverse();
    const found: ModelCell[][] = [];
    for (const row of rows) {
      if (found.length >= (options.limit ?? Infinity)) break;
      const cells = this.read(version, row, options, moment);
      if (cells.length > 0) found.push(cells);
    }
    return found;
  }
}

export class Model {
  /** The table of this name as of a moment. */
  at(name: string, tso: bigint): ModelTable | null {
    for (const table of this.tables.values()) {
      const isDropped = table.droppedTso !== null && table.droppedTso <= tso;
      if (table.name === name && table.createdTso <= tso && !isDropped) return table;
    }
    return null;
  }

  /** Every table there ever was, by id. */
  readonly tables = new Map<number, ModelTable>();
  /** Ids that families have or had: none comes again. */
  readonly familyIds = new Set<number>();

  /** The table of this name now. */
  find(name: string): ModelTable | null {
    for (const table of this.tables.values()) {
      if (table.name === name && table.droppedTso === null) return table;
    }
    return null;
  }

  live(): ModelTable[] {
    return [...this.tables.values()].filter((table) => table.droppedTso === null);
  }
}

interface StoreRead {
  /** Null: all. */
  readonly qualifiers: ReadonlySet<string> | null;
  /** [min, max). */
  readonly range: readonly [number, number];
  readonly versions: number;
  readonly nowMs: number;
}

/** Names of the families asked for, each with its qualifiers or null for all of them; null: everything. */
export function wantedOf(options: ReadOptions): Map<string, Set<string> | null> | null {
  const { columns = [], families = [] } = options;
  if (columns.length === 0 && families.length === 0) return null;
  const wanted = new Map<string, Set<string> | null>();
  for (const column of columns) {
    const { family, qualifier } = columnOf(column);
    const known = wanted.get(family);
    if (qualifier === null || known === null) wanted.set(family, null);
    else wanted.set(family, (known ?? new Set()).add(qualifier));
  }
  for (const family of families) wanted.set(family, null);
  return wanted;
}

function rangeOf(options: ReadOptions, family: string): readonly [number, number] {
  const own = options.familyTimeRanges?.[family];
  if (own !== undefined) return toRange(own);
  if (options.ts !== undefined) return [Number(options.ts), Number(options.ts) + 1];
  return toRange(options.timeRange);
}

export const toRange = (range: TimeRange | undefined): readonly [number, number] => [
  Number(range?.min ?? 0),
  range?.max === undefined ? Infinity : Number(range.max),
];

function insideOf(options: ScanOptions): (row: string) => boolean {
  if (options.prefix !== undefined) {
    const prefix = textOf(options.prefix);
    return (row) => row.startsWith(prefix);
  }
  const start = textOf(options.start ?? '');
  const stop = textOf(options.stop ?? '');
  const isReversed = options.reversed === true;
  const isAfterStart = (row: string): boolean =>
    start === '' ||
    (isReversed ? row < start : row > start) ||
    (row === start && options.startInclusive !== false);
  const isBeforeStop = (row: string): boolean =>
    stop === '' ||
    (isReversed ? row > stop : row < stop) ||
    (row === stop && options.stopInclusive === true);
  return (row) => isAfterStart(row) && isBeforeStop(row);
}

const isInRange = (ts: number, [min, max]: readonly [number, number]): boolean =>
  ts >= min && ts < max;

const isOwnTtlOver = (cell: ModelCell, nowMs: number): boolean =>
  cell.ttlMs > 0 && cell.ts + cell.ttlMs < nowMs;

/** Older than the family's TTL. A time of 0 or less expires nothing. */
function isExpired(cell: ModelCell, rules: FamilyRules, nowMs: number): boolean {
  const oldest = nowMs - rules.ttlSeconds * 1000;
  return oldest > 0 && cell.ts < oldest;
}

/** In key order, each key once: the newest commit's. */
function distinct(cells: readonly ModelCell[]): ModelCell[] {
  const sorted = cells.toSorted(byKey);
  return sorted.filter((cell, i) => i === 0 || !sameKey(cell, sorted[i - 1]!));
}

/** What a raw read gives: markers and hidden cells, but not those whose own TTL is over. */
function rawCells(cells: readonly ModelCell[], spec: StoreRead): ModelCell[] {
  const stored = cells.filter(
    (cell) => !isOwnTtlOver(cell, spec.nowMs) && isInRange(cell.ts, spec.range),
  );
  const found: ModelCell[] = [];
  for (const column of columnsOf(distinct(stored))) {
    let puts = 0;
    for (const cell of column) {
      if (cell.type === PUT && ++puts > spec.versions) break;
      found.push(cell);
    }
  }
  return found;
}

function columnsOf(sorted: readonly ModelCell[]): ModelCell[][] {
  const columns: ModelCell[][] = [];
  for (const cell of sorted) {
    const last = columns.at(-1);
    if (last?.[0]?.qualifier === cell.qualifier) last.push(cell);
    else columns.push([cell]);
  }
  return columns;
}

/** What a read of one row and family gives, in key order. */
export function visibleCells(
  cells: readonly ModelCell[],
  rules: FamilyRules,
  spec: StoreRead,
): ModelCell[] {
  const alive = cells.filter((cell) => !isOwnTtlOver(cell, spec.nowMs));
  const markers = alive.filter(
    (cell) => cell.type !== PUT && (!rules.keepDeletedCells || isInRange(cell.ts, spec.range)),
  );
  const puts = alive.filter((cell) => cell.type === PUT);
  const shown = rules.newVersionBehavior
    ? livePuts(puts, markers, rules.versions)
    : distinct(puts).filter((put) => !markers.some((marker) => hides(marker, put)));
  const inTime = shown.filter((cell) => isInRange(cell.ts, spec.range)).sort(byKey);
  const found: ModelCell[] = [];
  for (const column of columnsOf(inTime)) {
    const isNamed = spec.qualifiers !== null;
    if (isNamed && !spec.qualifiers.has(column[0]!.qualifier)) continue;
    found.push(...newestOf(column, rules, spec, isNamed && !rules.newVersionBehavior));
  }
  return found;
}

function hides(marker: ModelCell, put: ModelCell): boolean {
  switch (marker.type) {
    case DELETE_FAMILY:
      return put.ts <= marker.ts;
    case DELETE_FAMILY_VERSION:
      return put.ts === marker.ts;
    case DELETE_COLUMN:
      return put.qualifier === marker.qualifier && put.ts <= marker.ts;
    case DELETE:
      return put.qualifier === marker.qualifier && put.ts === marker.ts;
    default:
      throw new Error(`a marker of type ${marker.type}`);
  }
}

/** Versions, MIN_VERSIONS and TTL of one column. As in HBase a named column gives one expired version too many. */
function newestOf(
  column: readonly ModelCell[],
  rules: FamilyRules,
  spec: StoreRead,
  isNamed: boolean,
): ModelCell[] {
  const most = Math.min(spec.versions, rules.versions);
  const found: ModelCell[] = [];
  for (const cell of column) {
    if (found.length === most) break;
    if (isExpired(cell, rules, spec.nowMs)) {
      if (rules.minVersions <= 0) break;
      if (isNamed) {
        found.push(cell);
        if (found.length >= rules.minVersions) break;
        continue;
      }
      if (found.length >= rules.minVersions) break;
    }
    found.push(cell);
  }
  return found;
}

/** The newest puts of a column up to VERSIONS, those of one commit counting once, as in HBase. */
function withinVersions(column: readonly ModelCell[], versions: number): ReadonlySet<ModelCell> {
  const commits = new Set<bigint>();
  const kept = new Set<ModelCell>();
  for (const cell of column) {
    if (commits.size >= versions) break;
    commits.add(cell.tso);
    kept.add(cell);
  }
  return kept;
}

const isVersionMarker = (marker: ModelCell, qualifier: string): boolean =>
  marker.type === DELETE_FAMILY_VERSION ||
  (marker.type === DELETE && marker.qualifier === qualifier);

/**
 * NEW_VERSION_BEHAVIOR by its definition: the history of the family is played commit by commit. A put is there from its
 * commit on, until one of equal timestamp replaces it, VERSIONS newer ones push it out, or a marker removes it; none comes back.
 */
function livePuts(
  puts: readonly ModelCell[],
  markers: readonly ModelCell[],
  versions: number,
): ModelCell[] {
  let live: ModelCell[] = [];
  const tsos = [...new Set([...puts, ...markers].map((cell) => cell.tso))];
  tsos.sort((a, b) => (a < b ? -1 : 1));
  for (const tso of tsos) {
    const added = puts.filter((cell) => cell.tso === tso);
    const removing = markers.filter((cell) => cell.tso === tso);
    live.push(...added);
    live = columnsOf(live.sort(byKey)).flatMap((column) => {
      const { qualifier } = column[0]!;
      const left = column.filter((cell, i) => i === 0 || !sameKey(cell, column[i - 1]!));
      // As in HBase a put still counts where its successor comes together with a version marker.
      const counted = removing.some((marker) => isVersionMarker(marker, qualifier)) ? column : left;
      const kept = withinVersions(counted, versions);
      return left.filter((cell) => kept.has(cell));
    });
    live = live.filter((put) => !removing.some((marker) => hides(marker, put)));
  }
  return live;
}
