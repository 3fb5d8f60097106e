/**
 * Cell blocks (protocol/rpc.md section 3). Inside the server cells are always KeyValues, each behind its 4-byte length,
 * which is what KeyValueCodec sends; the other codecs are turned into it and from it. No count stands in front: a block is
 * read until it ends. Integers big-endian.
 *
 *     KeyValueCodec           u32 length · KeyValue without tags
 *     KeyValueCodecWithTags   u32 length · KeyValue with tags, where it has any
 *     CellCodec               u32+row · u32+family · u32+qualifier · u64 timestamp · u8 type · u32+value · u64 sequence id
 *     CellCodecWithTags       … · u32+value · u32+tags · u64 sequence id
 *     MessageCodec            Cell messages, delimited
 */
import { keyValueSize, putU32, u16, u32, writeKeyValue } from '../cell/index.ts';
import type { KeyValueParts } from '../cell/index.ts';
import { readCell, writeCell } from './cell_message.ts';
import { MalformedMessageException } from './errors.ts';
import { ProtoReader } from './proto_reader.ts';
import { ProtoWriter } from './proto_writer.ts';

export interface CellCodec {
  /** It carries tags. */
  readonly hasTags: boolean;
  /** The block as KeyValues behind their lengths; perhaps the block itself. Throws MalformedMessageException. */
  decode(block: Uint8Array): Uint8Array;
  /** The reverse, for cells of our own. */
  encode(pieces: readonly Uint8Array[]): readonly Uint8Array[];
}

const PACKAGE = 'org.apache.hadoop.hbase.codec.';
const EMPTY: Uint8Array = new Uint8Array(0);

/** The codec of a Java class; null for an empty name, undefined for one that is not known. */
export function cellCodecOf(className: string): CellCodec | null | undefined {
  if (className === '') return null;
  return className.startsWith(PACKAGE) ? CODECS.get(className.slice(PACKAGE.length)) : undefined;
}

const same = <T>(value: T): T => value;

const CODECS: ReadonlyMap<string, CellCodec> = new Map<string, CellCodec>([
  ['KeyValueCodec', { hasTags: false, decode: same, encode: same }],
  ['KeyValueCodecWithTags', { hasTags: true, decode: same, encode: same }],
  ['CellCodec', fieldCodec(false)],
  ['CellCodecWithTags', fieldCodec(true)],
  ['MessageCodec', { hasTags: false, decode: decodeMessages, encode: encodeMessages }],
]);

function fieldCodec(hasTags: boolean): CellCodec {
  return {
    hasTags,
    decode: (block) => decodeFields(block, hasTags),
    encode: (pieces) => [encodeFields(pieces, hasTags)],
  };
}

/** Collects KeyValues behind their lengths. */
class KeyValueSink {
  readonly #writer: ProtoWriter;

  constructor(size: number) {
    this.#writer = new ProtoWriter(size);
  }

  add(parts: KeyValueParts): void {
    const { row, family, qualifier, value, tags } = parts;
    if (row.length > 0x7fff || family.length > 0xff) {
      throw new MalformedMessageException('Malformed cell block: a row or family is too long');
    }
    const size = keyValueSize(
      row.length,
      family.length,
      qualifier.length,
      value.length,
      tags.length,
    );
    const writer = this.#writer;
    writer.reserve(4 + size);
    putU32(writer.buf, writer.at, size);
    writer.at = writeKeyValue(writer.buf, writer.at + 4, parts);
  }

  take(): Uint8Array {
    return this.#writer.take();
  }
}

function decodeFields(block: Uint8Array, hasTags: boolean): Uint8Array {
  const sink = new KeyValueSink(block.length);
  let at = 0;
  const need = (length: number): number => {
    if (length > block.length - at) {
      throw new MalformedMessageException('Malformed cell block: a cell reaches past the end');
    }
    const from = at;
    at += length;
    return from;
  };
  const field = (): Uint8Array => {
    const length = u32(block, need(4));
    return block.subarray(need(length), at);
  };
  while (at < block.length) {
    const row = field();
    const family = field();
    const qualifier = field();
    const stampAt = need(9);
    const value = field();
    const tags = hasTags ? field() : EMPTY;
    need(8);
    sink.add({
      row,
      family,
      qualifier,
      timestampHigh: u32(block, stampAt),
      timestampLow: u32(block, stampAt + 4),
      type: block[stampAt + 8]!,
      value,
      tags,
    });
  }
  return sink.take();
}

function encodeFields(pieces: readonly Uint8Array[], hasTags: boolean): Uint8Array {
  const writer = new ProtoWriter(1024);
  const field = (buf: Uint8Array, from: number, to: number): void => {
    writer.reserve(4 + to - from);
    putU32(writer.buf, writer.at, to - from);
    writer.at += 4;
    writer.raw(buf.subarray(from, to));
  };
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += 4 + u32(piece, at)) {
      const cell = at + 4;
      const keyEnd = cell + 8 + u32(piece, cell);
      const rowEnd = cell + 10 + u16(piece, cell + 8);
      const familyEnd = rowEnd + 1 + piece[rowEnd]!;
      const valueEnd = keyEnd + u32(piece, cell + 4);
      const end = cell + u32(piece, at);
      field(piece, cell + 10, rowEnd);
      field(piece, rowEnd + 1, familyEnd);
      field(piece, familyEnd, keyEnd - 9);
      writer.raw(piece.subarray(keyEnd - 9, keyEnd));
      field(piece, keyEnd, valueEnd);
      if (hasTags) field(piece, Math.min(valueEnd + 2, end), end);
      writer.raw(ZERO_SEQUENCE_ID);
    }
  }
  return writer.take();
}

const ZERO_SEQUENCE_ID: Uint8Array = new Uint8Array(8);

function decodeMessages(block: Uint8Array): Uint8Array {
  const sink = new KeyValueSink(block.length + 64);
  const reader = new ProtoReader(block);
  while (reader.at < reader.end) {
    const length = reader.uint32Bare();
    const end = reader.at + length;
    if (end > block.length) {
      throw new MalformedMessageException('Malformed cell block: a cell reaches past the end');
    }
    sink.add(readCell(new ProtoReader(block, reader.at, end)));
    reader.at = end;
  }
  return sink.take();
}

function encodeMessages(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const writer = new ProtoWriter(1024);
  const cell = new ProtoWriter(256);
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += 4 + u32(piece, at)) {
      cell.at = 0;
      writeCell(cell, piece, at + 4);
      writer.uint32Bare(cell.at);
      writer.raw(cell.take());
    }
  }
  return [writer.take()];
}
