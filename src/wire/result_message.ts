/**
 * Results as the wire carries them (Client.proto: Result): their cells in the cell block, counted in the message, or in the
 * message itself for clients without a codec.
 *
 *     1 cell · 2 associated_cell_count · 3 exists · 4 stale · 5 partial
 *
 * In memory cells are packed (model/result.ts): u32 length · u64 write number · KeyValue. A cell block has them without write
 * numbers, and without tags unless the codec carries them.
 */
import { putU32, u32 } from '../cell/index.ts';
import { PACKED_CELL_HEADER } from '../model/index.ts';
import type { Result } from '../model/index.ts';
import { writeCell } from './cell_message.ts';
import type { ProtoWriter } from './proto_writer.ts';

/** Below this a loop copies faster than a native call. */
const NATIVE_COPY_MIN = 48;

/** What a result's cells are written into. */
export interface CellsOut {
  /** False: into the messages. */
  readonly cellBlocks: boolean;
  readonly cellTags: boolean;
}

/** Collects the results of one answer. */
export class ResultWriter {
  readonly writer: ProtoWriter;
  readonly #out: CellsOut;
  /** Pieces of the cell block. */
  readonly cells: Uint8Array[] = [];
  /** Bytes of cells so far, in the block and in messages. */
  cellBytes = 0;

  constructor(writer: ProtoWriter, out: CellsOut) {
    this.writer = writer;
    this.#out = out;
  }

  /** Writes the fields of a Result; null stands for one without cells. */
  fields(result: Result | null): void {
    const { writer } = this;
    if (result === null) {
      if (this.#out.cellBlocks) writer.uint32(2, 0);
      return;
    }
    const { packed } = result;
    this.cellBytes += packed.length;
    if (!this.#out.cellBlocks) {
      writeCells(writer, packed);
      writer.bool(4, false);
      return;
    }
    writer.uint32(2, result.size);
    writer.bool(4, false);
    this.cells.push(blockOf(packed, result.size, this.#out.cellTags));
  }

  /** Writes a Result as a message of the field. */
  message(field: number, result: Result | null): void {
    const mark = this.writer.begin(field);
    this.fields(result);
    this.writer.end(mark);
  }
}

/** Writes packed cells as Cell messages, field 1. */
export function writeCells(writer: ProtoWriter, packed: Uint8Array): void {
  for (let at = 0; at < packed.length; at += PACKED_CELL_HEADER + u32(packed, at)) {
    const mark = writer.begin(1);
    writeCell(writer, packed, at + PACKED_CELL_HEADER);
    writer.end(mark);
  }
}

/** Packed cells as a piece of a cell block. */
export function blockOf(packed: Uint8Array, count: number, withTags: boolean): Uint8Array {
  const block = Buffer.allocUnsafe(packed.length - (PACKED_CELL_HEADER - 4) * count);
  let to = 0;
  for (let at = 0; at < packed.length;) {
    const length = u32(packed, at);
    const cellAt = at + PACKED_CELL_HEADER;
    const kept = withTags ? length : 8 + u32(packed, cellAt) + u32(packed, cellAt + 4);
    putU32(block, to, kept);
    to += 4;
    if (kept < NATIVE_COPY_MIN) {
      for (let i = 0; i < kept; i++) block[to + i] = packed[cellAt + i]!;
    } else block.set(packed.subarray(cellAt, cellAt + kept), to);
    to += kept;
    at = cellAt + length;
  }
  return to === block.length ? block : block.subarray(0, to);
}
