/** HFiles for bulk loads, as HBase's tools would make them: no write numbers, LATEST where the load's time shall stand. */
import { CellFields, LATEST, writeKeyValue } from '../../src/cell/index.ts';
import type { CellView } from '../../src/cell/index.ts';
import { HFileWriter } from '../../src/hfile/index.ts';
import type { Env } from '../../src/io/index.ts';
import { byText } from './cells.ts';
import type { LoadCell } from './file_watch.ts';

const NO_TAGS: Uint8Array = new Uint8Array(0);

/** Writes the cells below `dir`, in up to two files a family. */
export async function writeLoad(env: Env, dir: string, cells: readonly LoadCell[]): Promise<void> {
  for (const family of new Set(cells.map((cell) => cell.family))) {
    await env.fs.ensureFolder(`${dir}/${family}`);
    const own = cells.filter((cell) => cell.family === family);
    for (const half of [0, 1]) {
      const part = own.filter((_, i) => i % 2 === half).sort(byFileOrder);
      if (part.length > 0) await writeFile(env, `${dir}/${family}/file${half}`, part);
    }
  }
}

async function writeFile(env: Env, path: string, cells: readonly LoadCell[]): Promise<void> {
  const writer = await HFileWriter.create(env.fs, path, { createdMs: 1, blockSizeBytes: 1024 });
  try {
    for (const cell of cells) if (writer.append(viewOf(cell))) await writer.drain();
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

function byFileOrder(a: LoadCell, b: LoadCell): number {
  return (
    byText(a.row, b.row) ||
    byText(a.qualifier, b.qualifier) ||
    (b.ts ?? Infinity) - (a.ts ?? Infinity) ||
    b.type - a.type
  );
}

function viewOf(cell: LoadCell): CellView {
  const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
  const [row, family, qualifier] = [bytes(cell.row), bytes(cell.family), bytes(cell.qualifier)];
  const value = bytes(cell.value);
  const ts = cell.ts === null ? LATEST : BigInt(cell.ts);
  const view = new CellFields();
  view.block = Buffer.alloc(64 + row.length + family.length + qualifier.length + value.length);
  view.length = writeKeyValue(view.block, 0, {
    ...{ row, family, qualifier, value, type: cell.type, tags: NO_TAGS },
    timestampHigh: Number(ts >> 32n),
    timestampLow: Number(ts & 0xffffffffn),
  });
  view.rowAt = 10;
  view.rowLength = row.length;
  view.qualifierAt = 10 + row.length + 1 + family.length;
  view.qualifierLength = qualifier.length;
  view.timestampAt = view.qualifierAt + qualifier.length;
  view.valueAt = view.timestampAt + 9;
  view.valueLength = value.length;
  view.tagsAt = view.length;
  return view;
}
