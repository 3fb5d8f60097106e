/** The view of a cell in a slab: what cursors over a memstore and over its image show. */
import { KEY_AT, KEY_OVERHEAD, KEY_VALUE_OVERHEAD, ROW_AT, u16, u32 } from '../../cell/index.ts';
import type { CellView } from '../../cell/index.ts';
import { TAGS_FLAG, blockOf, keyValueAt } from './slabs.ts';

/** A reused view; `load` points it at another cell. */
export class SlabCell implements CellView {
  block: Uint8Array = new Uint8Array(0);
  at = 0;
  length = 0;
  rowAt = 0;
  rowLength = 0;
  qualifierAt = 0;
  qualifierLength = 0;
  timestampAt = 0;
  valueAt = 0;
  valueLength = 0;
  tagsAt = 0;
  tagsLength = 0;
  // Start above 2^31, so that the engine keeps these two as unboxed doubles from the start.
  writeHigh = 0xffffffff;
  writeLow = 0xffffffff;

  /** Points the view at the cell of `ref`. */
  load(blocks: readonly Uint8Array[], ref: number): void {
    const block = blockOf(blocks, ref);
    const at = keyValueAt(ref);
    const keyLength = u32(block, at);
    const valueLength = u32(block, at + 4);
    const rowLength = u16(block, at + KEY_AT);
    const familyLength = block[at + ROW_AT + rowLength]!;
    const qualifierLength = keyLength - KEY_OVERHEAD - rowLength - familyLength;
    const qualifierAt = at + ROW_AT + 1 + rowLength + familyLength;
    const valueAt = at + KEY_AT + keyLength;
    const end = valueAt + valueLength;
    const header = u32(block, at - 8);
    this.block = block;
    this.at = at;
    this.rowAt = at + ROW_AT;
    this.rowLength = rowLength;
    this.qualifierAt = qualifierAt;
    this.qualifierLength = qualifierLength;
    this.timestampAt = qualifierAt + qualifierLength;
    this.valueAt = valueAt;
    this.valueLength = valueLength;
    this.writeLow = u32(block, at - 4);
    if (header < TAGS_FLAG) {
      this.writeHigh = header;
      this.tagsAt = end;
      this.tagsLength = 0;
      this.length = end - at;
    } else {
      this.writeHigh = header - TAGS_FLAG;
      this.tagsAt = end + 2;
      this.tagsLength = u16(block, end);
      this.length = end + 2 + this.tagsLength - at;
    }
  }
}

/** Length of the KeyValue of a stored cell, tags included. */
export function storedLength(blocks: readonly Uint8Array[], ref: number): number {
  const block = blockOf(blocks, ref);
  const at = keyValueAt(ref);
  const length = KEY_AT + u32(block, at) + u32(block, at + 4);
  return u32(block, at - 8) < TAGS_FLAG ? length : length + 2 + u16(block, at + length);
}

/** Whether a stored cell has the row of another. */
export function sameRow(blocks: readonly Uint8Array[], ref: number, otherRef: number): boolean {
  const block = blockOf(blocks, ref);
  const other = blockOf(blocks, otherRef);
  const at = keyValueAt(ref) + KEY_AT;
  const otherAt = keyValueAt(otherRef) + KEY_AT;
  const length = u16(block, at);
  if (u16(other, otherAt) !== length) return false;
  // From the end, where neighbours differ most often; the row's length has just been compared.
  for (let i = length + 1; i >= 2; i--) {
    if (block[at + i] !== other[otherAt + i]) return false;
  }
  return true;
}

/** Least length of a KeyValue that can be stored: a row of one byte. */
export const KEY_VALUE_LENGTH_MIN: number = KEY_VALUE_OVERHEAD + 1;
