/**
 * The Cell message (Cell.proto): how cells travel where no cell block is agreed upon.
 *
 *     1 row · 2 family · 3 qualifier · 4 timestamp · 5 cell_type · 6 value · 7 tags
 */
import { u16, u32 } from '../cell/index.ts';
import type { KeyValueParts } from '../cell/index.ts';
import type { ProtoReader } from './proto_reader.ts';
import type { ProtoWriter } from './proto_writer.ts';

const EMPTY: Uint8Array = new Uint8Array(0);
const TYPE_PUT = 4;

/** Reads the message that the reader has begun; its bytes are views. */
export function readCell(reader: ProtoReader): KeyValueParts {
  let row = EMPTY;
  let family = EMPTY;
  let qualifier = EMPTY;
  let timestampHigh = 0;
  let timestampLow = 0;
  let type = TYPE_PUT;
  let value = EMPTY;
  let tags = EMPTY;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        row = reader.bytes();
        break;
      case 2:
        family = reader.bytes();
        break;
      case 3:
        qualifier = reader.bytes();
        break;
      case 4:
        reader.uint64();
        timestampHigh = reader.high;
        timestampLow = reader.low;
        break;
      case 5:
        type = reader.uint32();
        break;
      case 6:
        value = reader.bytes();
        break;
      case 7:
        tags = reader.bytes();
        break;
      default:
        reader.skip();
    }
  }
  return { row, family, qualifier, timestampHigh, timestampLow, type, value, tags };
}

/** Writes the fields of the KeyValue at `at` (without tags) as a Cell message. */
export function writeCell(writer: ProtoWriter, buf: Uint8Array, at: number): void {
  const keyEnd = at + 8 + u32(buf, at);
  const rowEnd = at + 10 + u16(buf, at + 8);
  const familyEnd = rowEnd + 1 + buf[rowEnd]!;
  writer.bytesOf(1, buf, at + 10, rowEnd);
  writer.bytesOf(2, buf, rowEnd + 1, familyEnd);
  writer.bytesOf(3, buf, familyEnd, keyEnd - 9);
  writer.uint64(4, u32(buf, keyEnd - 9), u32(buf, keyEnd - 5));
  writer.uint32(5, buf[keyEnd - 1]!);
  writer.bytesOf(6, buf, keyEnd, keyEnd + u32(buf, at + 4));
}
