/** What the simulator reads out of store files, beside the engine: a copy of the bytes, every cell of it. */
import { READY, WAIT } from '../../src/cell/index.ts';
import type { CellSource } from '../../src/cell/index.ts';
import { BlockCache, HFileReader } from '../../src/hfile/index.ts';
import type { FileStamp as ReaderStamp } from '../../src/hfile/index.ts';
import { seeded, SimFs } from '../../src/io/index.ts';
import type { FileRecord } from '../../src/manifest/index.ts';
import { CellCopy, dropHighOf, dropLowOf } from '../../src/region/drop_tag.ts';
import { fromKeyValue, type ModelCell } from './cells.ts';
import { joined } from './observe.ts';

/** A cell of a file; of a merged history file with its own drop TSO. */
export interface FileCell {
  readonly cell: ModelCell;
  readonly dropTso: bigint | null;
}

/** Every cell of a store file, in its order. Runs without any time going by. */
export async function cellsOfFile(bytes: Uint8Array, record: FileRecord): Promise<FileCell[]> {
  const fs = new SimFs({ random: seeded(1) });
  fs.plant('disk/file', bytes);
  const reader = await HFileReader.open(fs, 'disk/file', new BlockCache(1 << 22), {
    stamp: stampOf(record),
  });
  const source = reader.cursor({ cacheBlocks: false });
  const isMerged = record.flags.includes('merged');
  const cells: FileCell[] = [];
  for (let ready = await moved(source, true); ready; ready = await moved(source, false)) {
    cells.push(fileCell(source, isMerged));
  }
  source.close();
  await reader.close();
  return cells;
}

async function moved(source: CellSource, isFirst: boolean): Promise<boolean> {
  for (;;) {
    const state = isFirst ? source.seekToFirst() : source.next();
    if (state !== WAIT) return state === READY;
    await source.load();
  }
}

function fileCell(source: CellSource, isMerged: boolean): FileCell {
  const { cell } = source;
  const tso = joined(cell.writeHigh, cell.writeLow);
  if (!isMerged) {
    return { cell: fromKeyValue(cell.block, cell.at, cell.length, tso), dropTso: null };
  }
  const copy = new CellCopy();
  copy.setWithoutDrop(cell);
  const dropTso = joined(dropHighOf(cell), dropLowOf(cell));
  return { cell: fromKeyValue(copy.block, copy.at, copy.length, tso), dropTso };
}

function stampOf({ stamp }: FileRecord): ReaderStamp | null {
  if (stamp === null) return null;
  const { writeNumber, timestamp } = stamp;
  return {
    ...{ writeHigh: Number(writeNumber >> 32n), writeLow: Number(writeNumber & 0xffffffffn) },
    timestamp:
      timestamp === null
        ? null
        : { high: Number(timestamp >> 32n), low: Number(timestamp & 0xffffffffn) },
  };
}
