/**
 * Cells of a transaction on their way to its commit, as bytes. Timestamp LATEST (2^63-1) stands for the commit's
 * millisecond, 2^63-2 for the one before it.
 *
 * A block of sorted cells, as it is kept in the ledger (big-endian):
 *     u32 table id · u32 family id · u32 bytes of the cells that follow · cells, each: u32 length · KeyValue
 * one after the other, ordered by table id, family id, and HBase's order of cells.
 */
import { crc32c, keyValueFault, putU32, u32 } from '../cell/index.ts';
import { CorruptionException } from '../io/index.ts';

const GROUP_HEADER = 12;

/** Sorted cells of one family. Entry i of the arrays is cell i, in `buf`. */
export interface CellGroup {
  readonly tableId: number;
  readonly familyId: number;
  readonly buf: Uint8Array;
  readonly at: readonly number[];
  readonly length: readonly number[];
}

/** Bytes of the cells. */
export function cellBytesOf(groups: readonly CellGroup[]): number {
  let bytes = 0;
  for (const { length } of groups) for (const one of length) bytes += one;
  return bytes;
}

export const cellCountOf = (groups: readonly CellGroup[]): number =>
  groups.reduce((sum, { at }) => sum + at.length, 0);

/** The block of these groups. */
export function encodeGroups(groups: readonly CellGroup[]): Uint8Array {
  let size = 0;
  for (const { length } of groups) {
    size += GROUP_HEADER;
    for (const one of length) size += 4 + one;
  }
  const block = Buffer.allocUnsafe(size);
  let to = 0;
  for (const { tableId, familyId, buf, at, length } of groups) {
    const headerAt = to;
    putU32(block, to, tableId);
    putU32(block, to + 4, familyId);
    to += GROUP_HEADER;
    for (let i = 0; i < at.length; i++) {
      putU32(block, to, length[i]!);
      block.set(buf.subarray(at[i], at[i]! + length[i]!), to + 4);
      to += 4 + length[i]!;
    }
    putU32(block, headerAt + 8, to - headerAt - GROUP_HEADER);
  }
  return block;
}

/** Views of a block's groups. Throws CorruptionException naming `where`. */
export function decodeGroups(block: Uint8Array, where: string): CellGroup[] {
  const groups: CellGroup[] = [];
  for (let at = 0; at < block.length;) {
    if (at + GROUP_HEADER > block.length) throw damaged('group header is cut', where, at);
    const tableId = u32(block, at);
    const familyId = u32(block, at + 4);
    const end = at + GROUP_HEADER + u32(block, at + 8);
    if (end > block.length) throw damaged('group is cut', where, at);
    const ats: number[] = [];
    const lengths: number[] = [];
    for (at += GROUP_HEADER; at < end;) {
      const length = at + 4 <= end ? u32(block, at) : end;
      if (at + 4 + length > end) throw damaged('cell is cut', where, at);
      const fault = keyValueFault(block, at + 4, length);
      if (fault !== null) throw damaged(fault, where, at);
      ats.push(at + 4);
      lengths.push(length);
      at += 4 + length;
    }
    groups.push({ tableId, familyId, buf: block, at: ats, length: lengths });
  }
  return groups;
}

function damaged(what: string, where: string, at: number): CorruptionException {
  return new CorruptionException(`cells of a transaction: ${what}`, where, at);
}

/** `crc32c:9f1e0a77` of a block. */
export function digestOf(block: Uint8Array): string {
  return digestText(crc32c(block, 0, block.length));
}

export const digestText = (crc: number): string => `crc32c:${crc.toString(16).padStart(8, '0')}`;
