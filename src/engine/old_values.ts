/** Reads what is visible of rows before a commit, for tables with CHANGE_BEFORE. The caller holds the rows' locks. */
import { WAIT, writeKeyValue, keyValueSize, TYPE_PUT, toBytes } from '../cell/index.ts';
import { READ_DEFAULT } from '../model/index.ts';
import { PointReader } from '../region/index.ts';
import type { OldCells, Region } from '../region/index.ts';
import { POINTS_NOW } from './row_readers.ts';
import type { TableState } from './table_state.ts';

const NEWEST = 0xffffffff;
const NOTHING: Uint8Array = new Uint8Array(0);

/** The newest visible cell of every column of these rows of a region, as applied now. */
export async function readOld(
  table: TableState,
  region: Region,
  rows: readonly Uint8Array[],
  nowMs: number,
): Promise<OldCells> {
  const found: { readonly family: number; readonly cell: Uint8Array }[] = [];
  for (const row of rows) {
    const reader = new PointReader(
      region.stores.map((store) => ({
        settings: store.settings,
        sources: store.sources(POINTS_NOW),
      })),
    );
    try {
      while (reader.read(row, READ_DEFAULT, NEWEST, NEWEST, nowMs) === WAIT) await reader.load();
      for (const { family, qualifier, ts, value } of reader.result?.cells ?? []) {
        const cell = keyValueOf(row, toBytes(family), qualifier, ts, value);
        found.push({ family: table.familyIndex(family), cell });
      }
    } finally {
      reader.close();
    }
  }
  found.sort((a, b) => a.family - b.family);
  return {
    family: found.map(({ family }) => family),
    cells: found.map(({ cell }) => cell),
    bytes: found.reduce((sum, { cell }) => sum + cell.length, 0),
  };
}

function keyValueOf(
  row: Uint8Array,
  family: Uint8Array,
  qualifier: Uint8Array,
  ts: bigint,
  value: Uint8Array,
): Uint8Array {
  const size = keyValueSize(row.length, family.length, qualifier.length, value.length, 0);
  const cell = Buffer.allocUnsafe(size);
  writeKeyValue(cell, 0, {
    row,
    family,
    qualifier,
    timestampHigh: Number(ts >> 32n),
    timestampLow: Number(ts & 0xffffffffn),
    type: TYPE_PUT,
    value,
    tags: NOTHING,
  });
  return cell;
}
