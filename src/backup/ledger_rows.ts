/** The rows of a ledger that a restore has gathered: what a reader of the moment got, a row at a time. */
import { READY, TYPE_DELETE_FAMILY, TYPE_PUT, WAIT, compareRanges, u64 } from '../cell/index.ts';
import type { CellSource, CellView } from '../cell/index.ts';
import type { BuiltTable } from './built_table.ts';

export interface LedgerRow {
  readonly row: Uint8Array;
  /** The newest value of each column of the family, by its qualifier in latin1. */
  readonly columns: ReadonlyMap<string, Uint8Array>;
}

/** Rows of one family, in their order. The table's cells are in files (`spill`). */
export async function* ledgerRows(table: BuiltTable, family: string): AsyncGenerator<LedgerRow> {
  for (let region = 0; region < table.startKeys.length; region++) {
    const opened = await table.open(region, family);
    if (opened === null) continue;
    try {
      yield* rowsOf(opened.source);
    } finally {
      await opened.close();
    }
  }
}

async function* rowsOf(source: CellSource): AsyncGenerator<LedgerRow> {
  let gathered: GatheredRow | null = null;
  let state = source.seekToFirst();
  for (; state === WAIT; state = source.seekToFirst()) await source.load();
  while (state === READY) {
    const { cell } = source;
    if (gathered === null || !gathered.isOf(cell)) {
      if (gathered !== null && gathered.columns.size > 0) yield gathered;
      gathered = new GatheredRow(cell);
    }
    gathered.take(cell);
    state = source.next();
    for (; state === WAIT; state = source.next()) await source.load();
  }
  if (gathered !== null && gathered.columns.size > 0) yield gathered;
}

/** The ledger's families keep one version, and its rows are deleted whole: nothing else of HBase's rules applies. */
class GatheredRow implements LedgerRow {
  readonly row: Uint8Array;
  readonly columns = new Map<string, Uint8Array>();
  readonly #seen = new Set<string>();
  #deletedTo = -1n;

  constructor({ block, rowAt, rowLength }: CellView) {
    this.row = Uint8Array.prototype.slice.call(block, rowAt, rowAt + rowLength);
  }

  isOf({ block, rowAt, rowLength }: CellView): boolean {
    return compareRanges(block, rowAt, rowLength, this.row, 0, this.row.length) === 0;
  }

  /** Cells of one row come with its marker first, then column by column, the newest first. */
  take({ block, timestampAt, qualifierAt, qualifierLength, valueAt, valueLength }: CellView): void {
    const timestamp = u64(block, timestampAt);
    const type = block[timestampAt + 8];
    if (type === TYPE_DELETE_FAMILY) {
      if (timestamp > this.#deletedTo) this.#deletedTo = timestamp;
      return;
    }
    if (type !== TYPE_PUT || timestamp <= this.#deletedTo) return;
    const from = block.byteOffset + qualifierAt;
    const name = Buffer.from(block.buffer, from, qualifierLength).toString('latin1');
    if (this.#seen.has(name)) return;
    this.#seen.add(name);
    this.columns.set(name, Uint8Array.prototype.slice.call(block, valueAt, valueAt + valueLength));
  }
}
