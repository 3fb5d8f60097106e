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

/** Writes the block of groups. */
export class BlockBuilder {
  readonly #buf: Buffer;
  readonly #groups: { tableId: number; familyId: number; at: number[]; length: number[] }[] = [];
  #end = 0;
  #headerAt = 0;
  cells = 0;

  /** Room for so many cells of so many bytes in all, and groups. */
  constructor(bytes: number, cells: number, groups: number) {
    this.#buf = Buffer.allocUnsafeSlow(bytes + 4 * cells + GROUP_HEADER * groups);
  }

  /** The cells that follow are of this family. */
  enter(tableId: number, familyId: number): void {
    this.#closeGroup();
    this.#headerAt = this.#end;
    putU32(this.#buf, this.#end, tableId);
    putU32(this.#buf, this.#end + 4, familyId);
    this.#end += GROUP_HEADER;
    this.#groups.push({ tableId, familyId, at: [], length: [] });
  }

  add(from: Uint8Array, at: number, length: number): void {
    const group = this.#groups[this.#groups.length - 1]!;
    putU32(this.#buf, this.#end, length);
    const to = this.#end + 4;
    this.#buf.set(from.subarray(at, at + length), to);
    group.at.push(to);
    group.length.push(length);
    this.#end = to + length;
    this.cells++;
  }

  #closeGroup(): void {
    if (this.#groups.length === 0) return;
    putU32(this.#buf, this.#headerAt + 8, this.#end - this.#headerAt - GROUP_HEADER);
  }

  /** The groups, in `block`. */
  finish(): CellGroup[] {
    this.#closeGroup();
    const { block } = this;
    return this.#groups.map((group) => ({ ...group, buf: block }));
  }

  get block(): Uint8Array {
    return this.#buf.subarray(0, this.#end);
  }
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
