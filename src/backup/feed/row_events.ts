/** Changes of cells as changes of rows: what was there before, what is there after. */
import type { ChangeCell, CommitChange } from './change.ts';

/** `c` created, `u` updated (only with what was there before), `d` deleted. */
export type RowOp = 'c' | 'u' | 'd';

/** A column as `family:qualifier` in latin1, so that no byte is lost. */
export type ColumnName = string;

export interface RowEvent {
  readonly tso: bigint;
  /** Number of the row's first cell within the commit. */
  readonly seq: number;
  readonly label: string | null;
  readonly table: string;
  readonly row: Uint8Array;
  readonly op: RowOp;
  /** Null: not kept, or there was nothing. */
  readonly before: ReadonlyMap<ColumnName, Uint8Array> | null;
  readonly after: ReadonlyMap<ColumnName, Uint8Array> | null;
}

interface RowParts {
  readonly table: string;
  readonly row: Uint8Array;
  readonly seq: number;
  readonly cells: ChangeCell[];
  readonly before: ChangeCell[];
}

export const columnOf = (cell: ChangeCell): ColumnName =>
  `${cell.family}:${Buffer.from(cell.qualifier).toString('latin1')}`;

/** The rows of a commit, or of a piece of it, in the order of their first cells. */
export function rowEventsOf(commit: CommitChange): RowEvent[] {
  const rows = new Map<string, RowParts>();
  const partsOf = (cell: ChangeCell, seq: number): RowParts => {
    const key = `${cell.table}\0${Buffer.from(cell.row).toString('latin1')}`;
    let parts = rows.get(key);
    if (parts === undefined) {
      parts = { table: cell.table, row: cell.row, seq, cells: [], before: [] };
      rows.set(key, parts);
    }
    return parts;
  };
  commit.cells.forEach((cell, i) => partsOf(cell, commit.seq + i).cells.push(cell));
  for (const cell of commit.before ?? []) partsOf(cell, commit.seq).before.push(cell);
  const events: RowEvent[] = [];
  for (const parts of rows.values()) {
    if (parts.cells.length === 0) continue;
    events.push(eventOf(commit, parts));
  }
  return events;
}

function eventOf(commit: CommitChange, { table, row, seq, cells, before }: RowParts): RowEvent {
  const { tso, label } = commit;
  const head = { tso, seq, label, table, row };
  const old = new Map(before.map((cell) => [columnOf(cell), cell.value]));
  const kept = commit.before !== null && old.size > 0;
  const after = kept ? new Map(old) : new Map<ColumnName, Uint8Array>();
  // Markers first: in one commit they are older than the puts that survive, or hide what was there before.
  for (const cell of cells) if (cell.type !== 'Put') remove(after, cell);
  for (const cell of cells) if (cell.type === 'Put') after.set(columnOf(cell), cell.value);
  if (after.size === 0) return { ...head, op: 'd', before: kept ? old : null, after: null };
  if (kept) return { ...head, op: 'u', before: old, after };
  return { ...head, op: 'c', before: null, after };
}

function remove(columns: Map<ColumnName, Uint8Array>, cell: ChangeCell): void {
  if (cell.type === 'DeleteColumn') columns.delete(columnOf(cell));
  if (cell.type !== 'DeleteFamily') return;
  const prefix = `${cell.family}:`;
  for (const column of columns.keys()) if (column.startsWith(prefix)) columns.delete(column);
}
