/** What differs between two states, cell by cell: two moments of a table, or two stores. */
import { EmbeddedConnection } from '../engine/index.ts';
import { PACKED_CELL_HEADER, canonicalTableName } from '../model/index.ts';
import type {
  AsOf,
  Connection,
  Result,
  ScanOptions,
  Scanner,
  TableDescription,
} from '../model/index.ts';
import { compareRanges, u32 } from '../cell/index.ts';
import { PackedCell } from '../region/index.ts';
import type { Cell } from '../model/index.ts';
import type { Work } from './work.ts';

export type DifferenceKind = 'added' | 'removed' | 'changed';

/** A cell that only one side has, or that has another value or other tags there. */
export interface Difference {
  readonly table: string;
  readonly kind: DifferenceKind;
  /** As it was, null for an added one; and as it is, null for a removed one. */
  readonly before: Cell | null;
  readonly after: Cell | null;
}

/** A table that only one side has, or that is described otherwise there. */
export interface TableDifference {
  readonly table: string;
  readonly kind: DifferenceKind;
}

/** One side of a comparison: cells in HBase's order. */
class Side {
  readonly #scanner: Scanner;
  readonly #work: Work | null;
  readonly #view = new PackedCell();
  #results: readonly Result[] = [];
  #resultAt = 0;
  #result: Result | null = null;
  #cells: readonly Cell[] = [];
  #cellAt = 0;
  #packed: Uint8Array = new Uint8Array(0);
  #packedAt = 0;

  constructor(scanner: Scanner, work: Work | null) {
    this.#scanner = scanner;
    this.#work = work;
  }

  /** Stands on the next cell; null at the end. */
  async next(): Promise<PackedCell | null> {
    this.#cellAt++;
    if (this.#packed.length > 0) {
      this.#packedAt += PACKED_CELL_HEADER + u32(this.#packed, this.#packedAt);
    }
    while (this.#packedAt >= this.#packed.length) {
      if (this.#resultAt >= this.#results.length) {
        this.#results = await this.#scanner.nextBatch();
        this.#resultAt = 0;
        if (this.#results.length === 0) return null;
        await this.#tell();
      }
      const result = this.#results[this.#resultAt++]!;
      this.#packed = result.packed;
      this.#packedAt = 0;
      this.#cells = [];
      this.#cellAt = 0;
      this.#result = result;
    }
    this.#view.set(this.#packed, this.#packedAt);
    return this.#view;
  }

  async #tell(): Promise<void> {
    if (this.#work === null) return;
    this.#work.rows += this.#results.length;
    await this.#work.step(this.#results.reduce((sum, { packed }) => sum + packed.length, 0));
  }

  /** The cell, decoded. */
  get cell(): Cell {
    if (this.#cells.length === 0) this.#cells = this.#result!.cells;
    return this.#cells[this.#cellAt]!;
  }

  close(): Promise<void> {
    return this.#scanner.close();
  }
}

/** Row, family and qualifier rising, timestamp and type falling. */
function compareKeys(a: PackedCell, b: PackedCell): number {
  const rows = compareRanges(a.block, a.rowAt, a.rowLength, b.block, b.rowAt, b.rowLength);
  if (rows !== 0) return rows;
  const aFamily = a.rowAt + a.rowLength + 1;
  const bFamily = b.rowAt + b.rowLength + 1;
  const families = compareRanges(
    a.block,
    aFamily,
    a.qualifierAt - aFamily,
    b.block,
    bFamily,
    b.qualifierAt - bFamily,
  );
  if (families !== 0) return families;
  const qualifiers = compareRanges(
    a.block,
    a.qualifierAt,
    a.qualifierLength,
    b.block,
    b.qualifierAt,
    b.qualifierLength,
  );
  if (qualifiers !== 0) return qualifiers;
  return compareRanges(b.block, b.timestampAt, 9, a.block, a.timestampAt, 9);
}

function sameContent(a: PackedCell, b: PackedCell): boolean {
  return (
    compareRanges(a.block, a.valueAt, a.valueLength, b.block, b.valueAt, b.valueLength) === 0 &&
    compareRanges(a.block, a.tagsAt, a.tagsLength, b.block, b.tagsAt, b.tagsLength) === 0
  );
}

/** The differences of two scans, in the order of the cells. Closes both. */
export async function* diffScans(
  table: string,
  before: Scanner,
  after: Scanner,
  work: Work | null = null,
): AsyncGenerator<Difference> {
  const old = new Side(before, work);
  const now = new Side(after, work);
  work?.begin(table);
  try {
    let a = await old.next();
    let b = await now.next();
    while (a !== null || b !== null) {
      const order = a === null ? 1 : b === null ? -1 : compareKeys(a, b);
      if (order < 0) yield { table, kind: 'removed', before: old.cell, after: null };
      else if (order > 0) yield { table, kind: 'added', before: null, after: now.cell };
      else if (!sameContent(a!, b!)) {
        yield { table, kind: 'changed', before: old.cell, after: now.cell };
      }
      if (order <= 0) a = await old.next();
      if (order >= 0) b = await now.next();
    }
  } finally {
    await old.close();
    await now.close();
  }
}

export interface DiffOptions {
  /** Markers and hidden cells, too. */
  readonly raw?: boolean;
  /** Versions a column at most; default all that are kept. */
  readonly versions?: number;
  readonly scan?: ScanOptions;
  /** Is told of the rows and bytes of both sides, and ends the comparison. */
  readonly work?: Work;
}

/** About how many bytes a scan of these tables goes through: that of their files. 0 for a store that does not say. */
export function scanBytes(store: Connection, tables: readonly string[]): number {
  if (!(store instanceof EmbeddedConnection)) return 0;
  const { manifest, catalog } = store.server;
  const ids = new Set(tables.map((name) => catalog.find(canonicalTableName(name))?.id));
  let bytes = 0;
  for (const { tableId, regionId, removedTso, sizeBytes } of manifest.all('file')) {
    if (regionId !== null && removedTso === null && ids.has(tableId)) bytes += sizeBytes;
  }
  return bytes;
}

const VERSIONS_ALL = 0x7fffffff;

const scanOf = ({ raw = false, versions = VERSIONS_ALL, scan }: DiffOptions): ScanOptions => ({
  ...scan,
  versions,
  cacheBlocks: false,
  ...(raw ? { raw } : {}),
});

/** What changed in a table between two moments. */
export function diffMoments(
  store: Connection,
  table: string,
  from: AsOf,
  to: AsOf,
  options: DiffOptions = {},
): AsyncGenerator<Difference> {
  const scan = scanOf(options);
  return diffScans(
    table,
    store.table(table).scan({ ...scan, asOf: from }),
    store.table(table).scan({ ...scan, asOf: to }),
    options.work ?? null,
  );
}

/** What differs between two stores: tables and descriptions first, then cells, by default raw ones. */
export async function* diffStores(
  before: Connection,
  after: Connection,
  options: DiffOptions = {},
): AsyncGenerator<Difference | TableDifference> {
  const old = await before.admin.listTables();
  const now = await after.admin.listTables();
  for (const table of old) if (!now.includes(table)) yield { table, kind: 'removed' };
  for (const table of now) if (!old.includes(table)) yield { table, kind: 'added' };
  const scan = scanOf({ raw: true, ...options });
  for (const table of old.filter((name) => now.includes(name))) {
    const descriptions = [
      await before.admin.describeTable(table),
      await after.admin.describeTable(table),
    ].map(descriptionText);
    if (descriptions[0] !== descriptions[1]) yield { table, kind: 'changed' };
    const [a, b] = [before.table(table).scan(scan), after.table(table).scan(scan)];
    yield* diffScans(table, a, b, options.work ?? null);
  }
}

function descriptionText({ attributes, configuration, families }: TableDescription): string {
  const sorted = (members: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    sorted(attributes),
    sorted(configuration),
    families.map((family) => [
      family.name,
      sorted(family.attributes),
      sorted(family.configuration),
    ]),
  ]);
}
