/** HFiles for bulk loads: the same bytes for both sides, written by Cellar's own writer. */
import { CellFields, compareBytes, writeKeyValue } from '../../src/cell/index.ts';
import { HFileWriter } from '../../src/hfile/index.ts';
import type { Env } from '../../src/io/index.ts';
import type { LoadedCell } from './commands.ts';

const TYPES: Readonly<Record<LoadedCell['type'], number>> = { Put: 4, Delete: 8, DeleteColumn: 12 };
const NO_TAGS = new Uint8Array(0);
/** Of the fields of a KeyValue but row, family, qualifier and value. */
const OVERHEAD_BYTES = 64;

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');

function viewOf(cell: LoadedCell): CellFields {
  const [row, family, qualifier, value] = [cell.row, cell.f, cell.q, cell.v].map(bytes) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  const view = new CellFields();
  const size = row.length + family.length + qualifier.length + value.length + OVERHEAD_BYTES;
  view.block = new Uint8Array(size);
  const timestamp = BigInt(cell.ts);
  view.length = writeKeyValue(view.block, 0, {
    row,
    family,
    qualifier,
    timestampHigh: Number(timestamp >> 32n),
    timestampLow: Number(timestamp & 0xffffffffn),
    type: TYPES[cell.type],
    value,
    tags: NO_TAGS,
  });
  view.rowAt = 10;
  view.rowLength = row.length;
  view.qualifierAt = view.rowAt + row.length + 1 + family.length;
  view.qualifierLength = qualifier.length;
  view.timestampAt = view.qualifierAt + qualifier.length;
  view.valueAt = view.timestampAt + 9;
  view.valueLength = value.length;
  return view;
}

/** The order of keys: newest first, markers before puts. */
function compareCells(a: LoadedCell, b: LoadedCell): number {
  return (
    compareBytes(bytes(a.row), bytes(b.row)) ||
    compareBytes(bytes(a.q), bytes(b.q)) ||
    b.ts - a.ts ||
    TYPES[b.type] - TYPES[a.type]
  );
}

/** Writes one file a family below `folder`, as bulk loads want them. Returns their paths by family. */
export async function writeLoadFiles(
  env: Env,
  folder: string,
  cells: readonly LoadedCell[],
): Promise<Map<string, string>> {
  const paths = new Map<string, string>();
  for (const family of new Set(cells.map((cell) => cell.f))) {
    const file = `${folder}/${family}/0123456789abcdef0123456789abcdef`;
    await env.fs.ensureFolder(`${folder}/${family}`);
    const writer = await HFileWriter.create(env.fs, file, { createdMs: 1, hasWriteNumbers: false });
    for (const cell of cells.filter(({ f }) => f === family).sort(compareCells)) {
      if (writer.append(viewOf(cell))) await writer.drain();
    }
    await writer.finish();
    paths.set(family, file);
  }
  return paths;
}
