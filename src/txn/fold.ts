/**
 * Folds what a transaction has loaded into what it will commit. By (seq, line): of equal keys the later wins, and a put
 * after a marker that covers it survives, the marker then standing one millisecond before it (transactions.md section 3).
 * Among explicit timestamps HBase's own rule holds.
 */
import {
  BEFORE_LOW,
  LATEST_HIGH,
  LATEST_LOW,
  ROW_AT,
  TYPE_DELETE_COLUMN,
  TYPE_DELETE_FAMILY,
  TYPE_PUT,
  compareRanges,
  putU32,
  timestampAt,
  u16,
  u32,
} from '../cell/index.ts';
import type { TransactionTimestamps } from '../model/index.ts';
import type { CellGroup } from './cells.ts';
import type { LoadBatch } from './staging.ts';

/** A cell by its place: of `batch`, number `index`. */
interface Loaded {
  readonly batch: LoadBatch;
  readonly index: number;
}

export interface Folded {
  readonly groups: CellGroup[];
  /** Some marker stands before the commit's millisecond: the commit takes the first stamp of a fresh one. */
  readonly isFresh: boolean;
}

/** The survivors, sorted. `batches` in any order. */
export function foldBatches(
  batches: readonly LoadBatch[],
  timestamps: TransactionTimestamps,
): Folded {
  const ordered = [...batches].sort((a, b) => a.seq - b.seq);
  const cells: Loaded[] = [];
  for (const batch of ordered) {
    for (let index = 0; index < batch.at.length; index++) cells.push({ batch, index });
  }
  // Stable: within a row the cells stay in the order of loading.
  cells.sort(compareStores);
  const groups: CellGroup[] = [];
  let isFresh = false;
  let from = 0;
  let output: GroupBuilder | null = null;
  while (from < cells.length) {
    let to = from + 1;
    while (to < cells.length && compareStores(cells[from]!, cells[to]!) === 0) to++;
    const { batch, index } = cells[from]!;
    const tableId = batch.tableId[index]!;
    const familyId = batch.familyId[index]!;
    if (output === null || output.tableId !== tableId || output.familyId !== familyId) {
      if (output !== null) groups.push(output.build());
      output = new GroupBuilder(tableId, familyId);
    }
    const row = foldRow(cells.slice(from, to), timestamps);
    isFresh ||= row.isFresh;
    for (const bytes of row.cells) output.add(bytes);
    from = to;
  }
  if (output !== null) groups.push(output.build());
  return { groups, isFresh };
}

function compareStores(a: Loaded, b: Loaded): number {
  const tables = a.batch.tableId[a.index]! - b.batch.tableId[b.index]!;
  if (tables !== 0) return tables;
  const families = a.batch.familyId[a.index]! - b.batch.familyId[b.index]!;
  if (families !== 0) return families;
  const left = a.batch.buf;
  const right = b.batch.buf;
  const leftAt = a.batch.at[a.index]!;
  const rightAt = b.batch.at[b.index]!;
  return compareRanges(
    left,
    leftAt + ROW_AT,
    u16(left, leftAt + 8),
    right,
    rightAt + ROW_AT,
    u16(right, rightAt + 8),
  );
}

class GroupBuilder {
  readonly tableId: number;
  readonly familyId: number;
  readonly #parts: Uint8Array[] = [];
  readonly #at: number[] = [];
  readonly #length: number[] = [];
  #size = 0;

  constructor(tableId: number, familyId: number) {
    this.tableId = tableId;
    this.familyId = familyId;
  }

  add(bytes: Uint8Array): void {
    this.#at.push(this.#size);
    this.#length.push(bytes.length);
    this.#parts.push(bytes);
    this.#size += bytes.length;
  }

  build(): CellGroup {
    return {
      tableId: this.tableId,
      familyId: this.familyId,
      buf: Buffer.concat(this.#parts, this.#size),
      at: this.#at,
      length: this.#length,
    };
  }
}

/** A cell of the row that is being folded. */
export interface RowCell {
  /** The KeyValue alone. A cell that survives may be changed in its timestamp. */
  readonly bytes: Uint8Array;
  readonly loadedMs: number;
}

/** The surviving cells of one row and family, given in the order of loading; sorted. */
function foldRow(
  cells: readonly Loaded[],
  timestamps: TransactionTimestamps,
): { cells: Uint8Array[]; isFresh: boolean } {
  return foldRowCells(
    cells.map(({ batch, index }) => {
      const at = batch.at[index]!;
      const bytes = batch.buf.slice(at, at + batch.length[index]!);
      return { bytes, loadedMs: batch.loadedMs };
    }),
    timestamps,
  );
}

/** As `foldRow`, of cells that are the caller's to give away. */
export function foldRowCells(
  cells: readonly RowCell[],
  timestamps: TransactionTimestamps,
): { cells: Uint8Array[]; isFresh: boolean } {
  if (cells.length === 1 && timestamps === 'commit') {
    return { cells: [cells[0]!.bytes], isFresh: false };
  }
  const row = new RowFold();
  for (const cell of cells) row.take(cell);
  const kept = row.finish(timestamps);
  kept.sort(compareCells);
  return { cells: kept, isFresh: row.isFresh };
}

class RowFold {
  readonly #explicit = new Map<string, RowCell>();
  readonly #puts = new Map<string, RowCell>();
  readonly #columns = new Map<string, RowCell>();
  #family: RowCell | null = null;
  isFresh = false;

  take(cell: RowCell): void {
    const { bytes } = cell;
    const at = timestampAt(bytes, 0);
    const isLatest = u32(bytes, at) === LATEST_HIGH && u32(bytes, at + 4) === LATEST_LOW;
    if (!isLatest) {
      this.#explicit.set(textOf(bytes, qualifierAtOf(bytes), at + 9), cell);
      return;
    }
    const qualifier = textOf(bytes, qualifierAtOf(bytes), at);
    switch (bytes[at + 8]) {
      case TYPE_PUT:
        this.#puts.set(qualifier, cell);
        break;
      case TYPE_DELETE_COLUMN:
        this.#puts.delete(qualifier);
        this.#columns.set(qualifier, cell);
        break;
      case TYPE_DELETE_FAMILY:
        this.#puts.clear();
        this.#columns.clear();
        this.#family = cell;
        break;
      default:
        // Markers of one version have a timestamp of their own: refused when they were loaded.
        this.#explicit.set(textOf(bytes, qualifierAtOf(bytes), at + 9), cell);
    }
  }

  finish(timestamps: TransactionTimestamps): Uint8Array[] {
    const kept: Uint8Array[] = [];
    const isLoad = timestamps === 'load';
    if (this.#family !== null) {
      if (isLoad) setMs(this.#family.bytes, this.#family.loadedMs);
      else if (this.#puts.size > 0) this.#before(this.#family.bytes);
      kept.push(this.#family.bytes);
    }
    for (const [qualifier, marker] of this.#columns) {
      if (isLoad) setMs(marker.bytes, marker.loadedMs);
      else if (this.#puts.has(qualifier)) this.#before(marker.bytes);
      kept.push(marker.bytes);
    }
    for (const [qualifier, put] of this.#puts) {
      if (isLoad) {
        const markers = [this.#family, this.#columns.get(qualifier) ?? null];
        const newest = Math.max(...markers.map((marker) => (marker?.loadedMs ?? -2) + 1));
        setMs(put.bytes, Math.max(put.loadedMs, newest));
      }
      kept.push(put.bytes);
    }
    for (const { bytes } of this.#explicit.values()) kept.push(bytes);
    return kept;
  }

  #before(marker: Uint8Array): void {
    putU32(marker, timestampAt(marker, 0) + 4, BEFORE_LOW);
    this.isFresh = true;
  }
}

function setMs(bytes: Uint8Array, ms: number): void {
  const at = timestampAt(bytes, 0);
  putU32(bytes, at, Math.floor(ms / 0x100000000));
  putU32(bytes, at + 4, ms >>> 0);
}

/** Offset of the qualifier in a KeyValue at 0. */
function qualifierAtOf(bytes: Uint8Array): number {
  const rowLength = u16(bytes, 8);
  return ROW_AT + rowLength + 1 + bytes[ROW_AT + rowLength]!;
}

const textOf = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');

/** HBase's order of cells of one row and family: qualifier up, timestamp and type down. */
function compareCells(a: Uint8Array, b: Uint8Array): number {
  const aAt = qualifierAtOf(a);
  const bAt = qualifierAtOf(b);
  const aTime = timestampAt(a, 0);
  const bTime = timestampAt(b, 0);
  const qualifiers = compareRanges(a, aAt, aTime - aAt, b, bAt, bTime - bAt);
  return qualifiers !== 0 ? qualifiers : compareRanges(b, bTime, 9, a, aTime, 9);
}
