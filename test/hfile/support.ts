/** What the HFile suites share: golden files, cells from text, files in memory, and walking a cursor. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  READY,
  WAIT,
  type CellSource,
  type CellView,
  type SeekKey,
  type SourceState,
  u32,
  writeKeyValue,
} from '../../src/cell/index.ts';
import { memoryEnv, type FileSystem } from '../../src/io/index.ts';

const GOLDEN = path.resolve(import.meta.dirname, '../golden/hfile');

export const GOLDEN_FILES: readonly string[] = [
  'comp-gz',
  'comp-lz4',
  'comp-snappy',
  'comp-zstd',
  'enc-diff',
  'enc-fast_diff-tags',
  'enc-fast_diff',
  'enc-prefix',
  'enc-row_index_v1-tags',
  'enc-row_index_v1',
  'mvcc-rowbloom',
  'none',
  'rowcolbloom',
  'tags',
];

export function goldenBytes(name: string): Buffer {
  return readFileSync(path.join(GOLDEN, `${name}.hfile`));
}

/** A cell as a test writes it down. */
export interface PlainCell {
  readonly row: string;
  readonly family: string;
  readonly qualifier: string;
  readonly timestamp: bigint;
  readonly type: number;
  readonly value: string;
  readonly write: bigint;
  /** Hex. */
  readonly tags: string;
}

function tagHex(text: string): string {
  return text
    .split(' ')
    .filter((tag) => tag !== '')
    .map((tag) => {
      const [type, data] = tag.split(':');
      const length = 1 + data!.length / 2;
      return `${length.toString(16).padStart(4, '0')}${Number(type).toString(16).padStart(2, '0')}${data}`;
    })
    .join('');
}

/** The cells of the golden files: `hfile-cells.tsv`. */
export function goldenCells(options: { tags: boolean; mvcc: boolean }): PlainCell[] {
  const sections = readFileSync(path.join(GOLDEN, 'hfile-cells.tsv'), 'utf8').split(/^#.*\n/m);
  return sections[options.tags ? 2 : 1]!.split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, row, family, qualifier, timestamp, type, value, write, tags] = line.split('\t');
      return {
        row: row!,
        family: family!,
        qualifier: qualifier!,
        timestamp: BigInt(timestamp!),
        type: Number(type),
        value: value!,
        write: options.mvcc ? BigInt(write!) : 0n,
        tags: tagHex(tags!),
      };
    });
}

/** A view of a cell in bytes of its own. */
export function viewOf(cell: PlainCell): CellView {
  const row = Buffer.from(cell.row, 'latin1');
  const family = Buffer.from(cell.family, 'latin1');
  const qualifier = Buffer.from(cell.qualifier, 'latin1');
  const value = Buffer.from(cell.value, 'latin1');
  const tags = Buffer.from(cell.tags, 'hex');
  const block = Buffer.alloc(
    64 + row.length + family.length + qualifier.length + value.length + tags.length,
  );
  const at = 7; // Cells seldom stand at the start of their block.
  const length =
    writeKeyValue(block, at, {
      row,
      family,
      qualifier,
      timestampHigh: Number(cell.timestamp >> 32n),
      timestampLow: Number(cell.timestamp & 0xffffffffn),
      type: cell.type,
      value,
      tags,
    }) - at;
  const rowAt = at + 10;
  const qualifierAt = rowAt + row.length + 1 + family.length;
  const timestampAt = qualifierAt + qualifier.length;
  const valueAt = timestampAt + 9;
  return {
    block,
    at,
    length,
    rowAt,
    rowLength: row.length,
    qualifierAt,
    qualifierLength: qualifier.length,
    timestampAt,
    valueAt,
    valueLength: value.length,
    tagsAt: valueAt + value.length + (tags.length > 0 ? 2 : 0),
    tagsLength: tags.length,
    writeHigh: Number(cell.write >> 32n),
    writeLow: Number(cell.write & 0xffffffffn),
  };
}

/** The cell a view shows, having checked that its offsets agree with its KeyValue. */
export function plainOf(cell: CellView): PlainCell {
  const { block } = cell;
  const text = (at: number, length: number): string =>
    Buffer.from(block.subarray(at, at + length)).toString('latin1');
  const familyAt = cell.rowAt + cell.rowLength + 1;
  const keyLength = u32(block, cell.at);
  const tagsSize = cell.tagsLength === 0 ? 0 : 2 + cell.tagsLength;
  const sizes = [
    cell.rowAt - cell.at,
    cell.timestampAt + 9 - cell.at,
    cell.length,
    cell.tagsAt - cell.at,
  ];
  const wanted = [
    10,
    8 + keyLength,
    8 + keyLength + cell.valueLength + tagsSize,
    8 + keyLength + cell.valueLength + (cell.tagsLength === 0 ? 0 : 2),
  ];
  if (sizes.join() !== wanted.join())
    throw new Error(`offsets ${sizes.join()} instead of ${wanted.join()}`);
  return {
    row: text(cell.rowAt, cell.rowLength),
    family: text(familyAt, block[familyAt - 1]!),
    qualifier: text(cell.qualifierAt, cell.qualifierLength),
    timestamp: Buffer.from(block.buffer, block.byteOffset, block.length).readBigUInt64BE(
      cell.timestampAt,
    ),
    type: block[cell.timestampAt + 8]!,
    value: text(cell.valueAt, cell.valueLength),
    write: (BigInt(cell.writeHigh) << 32n) | BigInt(cell.writeLow),
    tags: Buffer.from(block.subarray(cell.tagsAt, cell.tagsAt + cell.tagsLength)).toString('hex'),
  };
}

/** Makes a move, loading as long as it waits. */
export async function settle(source: CellSource, move: () => SourceState): Promise<SourceState> {
  for (let tries = 0; tries < 100; tries++) {
    const state = move();
    if (state !== WAIT) return state;
    await source.load();
  }
  throw new Error('a move makes no progress');
}

/** All cells from the first on. */
export async function readAll(source: CellSource): Promise<PlainCell[]> {
  const cells: PlainCell[] = [];
  let state = await settle(source, () => source.seekToFirst());
  while (state === READY) {
    cells.push(plainOf(source.cell));
    state = await settle(source, () => source.next());
  }
  return cells;
}

/** A file system in memory with one file in it. */
export async function fsWith(name: string, bytes: Uint8Array): Promise<FileSystem> {
  const { fs } = memoryEnv();
  const handle = await fs.open(name, 'create');
  await handle.write(bytes, 0);
  await handle.close();
  return fs;
}

export function keyOf(
  row: string,
  qualifier: string | null = null,
  timestamp: bigint = 0x7fffffffffffffffn,
  type = 255,
): SeekKey {
  const rowBytes = Buffer.from(row, 'latin1');
  const qualifierBytes = qualifier === null ? null : Buffer.from(qualifier, 'latin1');
  return {
    row: rowBytes,
    rowAt: 0,
    rowLength: rowBytes.length,
    qualifier: qualifierBytes,
    qualifierAt: 0,
    qualifierLength: qualifierBytes === null ? 0 : qualifierBytes.length,
    timestampHigh: Number(timestamp >> 32n),
    timestampLow: Number(timestamp & 0xffffffffn),
    type,
  };
}
