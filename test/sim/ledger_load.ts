/** Bulk loads in the ledger: what became live is what the files held, stamped with one TSO. */
import { byText, cellText, type ModelCell } from './cells.ts';
import { filesPut, type FileEvent } from './file_watch.ts';
import type { Ledger } from './ledger.ts';

/** Adds the cells of a bulk load to the model; null: the event is none. Throws SimFailure for others than were to come. */
export function checkLoad(ledger: Ledger, event: FileEvent): bigint | null {
  const loaded = filesPut(event.edits).filter(
    ({ flags, path }) => flags.includes('bulk') && event.cells.has(path),
  );
  const [first] = loaded;
  if (first === undefined) return null;
  const { load } = event;
  const tso = first.stamp?.writeNumber ?? 0n;
  if (load === null) return ledger.fail(`files are loaded at ${tso}, which nobody asked for`);
  const table = ledger.model.tables.get(first.tableId);
  if (table === undefined) return ledger.fail(`files are loaded into table ${first.tableId}`);
  const expected = load.map((cell): ModelCell => ({
    ...cell,
    ts: cell.ts ?? Number(tso >> 18n),
    tso,
  }));
  const found = new Set<string>();
  for (const { path } of loaded) {
    for (const { cell } of event.cells.get(path) ?? []) found.add(cellText(cell));
  }
  const texts = [...found].sort(byText).join(' ');
  const wanted = expected.map(cellText).sort(byText).join(' ');
  if (texts !== wanted) ledger.fail(`the load at ${tso} brought\n  ${texts}\nnot\n  ${wanted}`);
  for (const cell of expected) {
    const family = table.versionAt(tso).families.find(({ rules }) => rules.name === cell.family);
    if (family === undefined) return ledger.fail(`a load into family ${cell.family}`);
    table.add(family.id, cell);
  }
  return tso;
}
