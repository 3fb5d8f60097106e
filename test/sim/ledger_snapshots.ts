/** Snapshots of tables in the ledger: what they name, and tables made of them. */
import type { SnapshotRecord } from '../../src/manifest/index.ts';
import { cellText, type ModelCell } from './cells.ts';
import type { Ledger } from './ledger.ts';
import type { ModelTable, TableOrigin } from './model.ts';

/** Cells that a snapshot names, by family, table by table. */
export interface SnapshotContent {
  readonly tables: readonly ReadonlyMap<string, readonly ModelCell[]>[];
}

/**
 * The cells a snapshot names: those of its tables at its TSO. What a switch has dropped between that moment and its record
 * may be among them, for it may name the files that a compaction has just replaced.
 */
export function checkSnapshot(ledger: Ledger, record: SnapshotRecord): SnapshotContent {
  const named = record.tables.map(({ id, familyIds }, i) => {
    const source = ledger.model.tables.get(record.tableIds[i]!);
    if (source === undefined) return ledger.fail(`snapshot ${record.name} is of an unknown table`);
    const families = new Map<string, readonly ModelCell[]>();
    for (const [name, familyId] of Object.entries(familyIds)) {
      const cells = cellsNamed(ledger, id, familyId);
      families.set(name, cells);
      compare(ledger, record, source, familyId, cells);
    }
    return families;
  });
  return { tables: named };
}

function cellsNamed(ledger: Ledger, tableId: number, familyId: number): ModelCell[] {
  return [...ledger.files.values()]
    .filter(({ record }) => record.tableId === tableId && record.familyId === familyId)
    .flatMap(({ cells }) => cells);
}

function compare(
  ledger: Ledger,
  { name, tso }: SnapshotRecord,
  source: ModelTable,
  familyId: number,
  cells: readonly ModelCell[],
): void {
  const found = new Set(cells);
  if (found.size !== cells.length) ledger.fail(`snapshot ${name} names a cell twice`);
  for (const cell of source.allOf(familyId)) {
    const isIn = cell.tso <= tso && (cell.dropTso === undefined || cell.dropTso > tso);
    const mustBeIn = isIn && cell.dropTso === undefined;
    const isNamed = found.delete(cell);
    if (isNamed ? isIn : !mustBeIn) continue;
    ledger.fail(`snapshot ${name} at ${tso} ${isNamed ? 'names' : 'lacks'} ${cellText(cell)}`);
  }
}

/** Gives a table made of a snapshot its cells, with the numbers that they had. */
export function fillFrom(
  ledger: Ledger,
  table: ModelTable,
  { snapshot, index }: TableOrigin,
): void {
  const content = ledger.snapshots.get(snapshot)?.tables[index];
  if (content === undefined)
    return ledger.fail(`${table.name} is made of snapshot ${snapshot}, which is not there`);
  for (const { id, rules } of table.versions[0]!.families) {
    for (const { row, family, qualifier, ts, type, value, ttlMs, tso } of content.get(rules.name) ??
      []) {
      table.add(id, { row, family, qualifier, ts, type, value, ttlMs, tso, isInFile: true });
    }
  }
}
