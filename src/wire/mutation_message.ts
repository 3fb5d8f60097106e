/**
 * Mutations from the wire (Client.proto: MutationProto) as KeyValues. Their cells come in the message, column by column, or in
 * the request's cell block, from which each mutation takes as many as it says; either way they are checked here.
 */
import {
  FAMILY_LENGTH_MAX,
  LATEST_HIGH,
  LATEST_LOW,
  ROW_LENGTH_MAX,
  TAG_TTL,
  TYPE_DELETE,
  TYPE_DELETE_COLUMN,
  TYPE_DELETE_FAMILY,
  TYPE_DELETE_FAMILY_VERSION,
  TYPE_PUT,
  compareRanges,
  keyValueFault,
  keyValueSize,
  putU32,
  timestampAt,
  toStringBinary,
  u16,
  u32,
  writeKeyValue,
} from '../cell/index.ts';
import { MUTATE_APPEND, MUTATE_DELETE, MUTATE_PUT } from '../engine/index.ts';
import type { ByteMutation, MutateType } from '../engine/index.ts';
import { ALL_TIME, DoNotRetryIOException } from '../model/index.ts';
import type { TimeRangeSpec } from '../model/index.ts';
import { ASYNC_WAL, FSYNC_WAL, SKIP_WAL, SYNC_WAL } from '../wal/index.ts';
import { MalformedMessageException, WrongRowIOException } from './errors.ts';
import { ProtoReader } from './proto_reader.ts';
import { readTimeRange } from './read_message.ts';

const EMPTY: Uint8Array = new Uint8Array(0);
/** The log's numbers by those of MutationProto.Durability; 0: none asked for. */
const DURABILITIES: readonly number[] = [0, SKIP_WAL, ASYNC_WAL, SYNC_WAL, FSYNC_WAL];
/** Cell types by MutationProto.DeleteType. */
const DELETE_TYPES: readonly number[] = [
  TYPE_DELETE,
  TYPE_DELETE_COLUMN,
  TYPE_DELETE_FAMILY,
  TYPE_DELETE_FAMILY_VERSION,
];

/** The cells beside a request, taken from the front. */
export class CellBlock {
  readonly #block: Uint8Array | null;
  #at = 0;

  constructor(block: Uint8Array | null) {
    this.#block = block;
  }

  get isAbsent(): boolean {
    return this.#block === null;
  }

  get bytes(): Uint8Array {
    return this.#block ?? EMPTY;
  }

  get at(): number {
    return this.#at;
  }

  /** Passes over `count` cells; what is behind them starts at the offset given. Throws MalformedMessageException. */
  skip(count: number): number {
    const block = this.bytes;
    let at = this.#at;
    for (let i = 0; i < count; i++) {
      const left = block.length - at;
      if (left < 4 || u32(block, at) > left - 4) {
        throw new MalformedMessageException(
          `Malformed request: its cell block ends before cell ${i + 1} of ${count}`,
        );
      }
      at += 4 + u32(block, at);
    }
    this.#at = at;
    return at;
  }
}

/** A MutationProto as it is read: one object for each. */
class MutationFields implements ByteMutation {
  row = EMPTY;
  /** Checked when everything is read. */
  type: MutateType = MUTATE_APPEND;
  cells = EMPTY;
  from = 0;
  to = 0;
  timestampHigh: number = LATEST_HIGH;
  timestampLow: number = LATEST_LOW;
  durability = 0;
  timeRange: TimeRangeSpec = ALL_TIME;
  /** Cells in the cell block; -1 if the message says nothing of it. */
  cellCount = -1;
  nonceHigh = 0;
  nonceLow = 0;
  nonce: Uint8Array | null = null;
  ttlMs = 0;
  returnResults = true;
  hasColumns = false;

  read(reader: ProtoReader): void {
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          this.row = reader.bytes();
          break;
        case 2:
          this.type = reader.uint32() as MutateType;
          break;
        case 3:
          this.hasColumns = true;
          reader.skip();
          break;
        case 4:
          reader.uint64();
          this.timestampHigh = reader.high;
          this.timestampLow = reader.low;
          break;
        case 5:
          this.#attribute(reader.message());
          break;
        case 6:
          this.durability = DURABILITIES[reader.uint32()] ?? 0;
          break;
        case 7:
          this.timeRange = readTimeRange(reader.message());
          break;
        case 8:
          this.cellCount = reader.int32();
          break;
        case 9:
          reader.uint64();
          this.nonceHigh = reader.high;
          this.nonceLow = reader.low;
          break;
        default:
          reader.skip();
      }
    }
  }

  #attribute(reader: ProtoReader): void {
    let name = '';
    let value = EMPTY;
    while (reader.next()) {
      if (reader.field === 1) name = reader.string();
      else if (reader.field === 2) value = reader.bytes();
      else reader.skip();
    }
    if (name === '_rr_') this.returnResults = value.length === 0 || value[0] !== 0;
    else if (name === '_ttl' && value.length === 8) {
      // HBase's "for ever" is 2^63-1: a life beyond 2^53 ms has no end either.
      const ttlMs = u32(value, 0) * 0x100000000 + u32(value, 4);
      this.ttlMs = Number.isSafeInteger(ttlMs) ? ttlMs : 0;
    }
  }
}

/**
 * Reads the MutationProto that the reader has begun. The bytes of row and cells stay views. `nonceGroup` is the request's, in
 * halves. Throws DoNotRetryIOException, WrongRowIOException, MalformedMessageException.
 */
export function readMutation(
  reader: ProtoReader,
  block: CellBlock,
  nonceGroup: { readonly high: number; readonly low: number },
): ByteMutation {
  const fields = new MutationFields();
  const { buf, at: from, end } = reader;
  fields.read(reader);
  const { type, row } = fields;
  if (type > MUTATE_DELETE) throw new DoNotRetryIOException(`Unknown mutation type ${type}`);
  if (fields.cellCount > 0) takeBlockCells(fields, block);
  else if (fields.hasColumns) takeColumnCells(fields, buf, from, end);
  if (row.length === 0) throw new DoNotRetryIOException('Row length is 0');
  if (row.length > ROW_LENGTH_MAX) {
    throw new DoNotRetryIOException(`Row length ${row.length} is > ${ROW_LENGTH_MAX}`);
  }
  fields.nonce = nonceOf(fields, nonceGroup);
  return fields;
}

/** Passes over the cells of a mutation that is not run. */
export function skipMutation(reader: ProtoReader, block: CellBlock): void {
  while (reader.next()) {
    if (reader.field === 8) block.skip(Math.max(0, reader.int32()));
    else reader.skip();
  }
}

function nonceOf(
  { nonceHigh, nonceLow }: MutationFields,
  group: { readonly high: number; readonly low: number },
): Uint8Array | null {
  if (nonceHigh === 0 && nonceLow === 0) return null;
  const nonce = new Uint8Array(16);
  putU32(nonce, 0, group.high);
  putU32(nonce, 4, group.low);
  putU32(nonce, 8, nonceHigh);
  putU32(nonce, 12, nonceLow);
  return nonce;
}

/** The next cells of the block. */
function takeBlockCells(fields: MutationFields, block: CellBlock): void {
  if (block.isAbsent) {
    throw new DoNotRetryIOException(
      `Cell count of ${fields.cellCount} but no cells in the request's cell block`,
    );
  }
  const from = block.at;
  const to = block.skip(fields.cellCount);
  const cells = block.bytes;
  for (let at = from; at < to; at += 4 + u32(cells, at)) {
    checkCell(fields, cells, at + 4, u32(cells, at));
  }
  fields.cells = cells;
  fields.from = from;
  fields.to = to;
}

function checkCell(fields: MutationFields, cells: Uint8Array, at: number, length: number): void {
  const fault = keyValueFault(cells, at, length);
  if (fault !== null) throw new DoNotRetryIOException(`Malformed cell: ${fault}`);
  const { row } = fields;
  const rowLength = u16(cells, at + 8);
  if (compareRanges(cells, at + 10, rowLength, row, 0, row.length) !== 0) {
    const own = toStringBinary(cells.subarray(at + 10, at + 10 + rowLength));
    throw new WrongRowIOException(
      `The row in ${own} doesn't match the original one ${toStringBinary(row)}`,
    );
  }
  checkType(fields.type, cells[timestampAt(cells, at) + 8]!);
  checkTtlTags(cells, at, length);
}

/** A TTL's tag has 8 bytes: who reads it later does not ask. The tags themselves are whole. */
function checkTtlTags(cells: Uint8Array, at: number, length: number): void {
  const end = at + length;
  let tagAt = at + 8 + u32(cells, at) + u32(cells, at + 4) + 2;
  for (; tagAt < end; tagAt += 2 + u16(cells, tagAt)) {
    if (cells[tagAt + 2] === TAG_TTL && u16(cells, tagAt) !== 9) {
      throw new DoNotRetryIOException('Malformed cell: a TTL tag has another length than 9');
    }
  }
}

function checkType(mutateType: number, cellType: number): void {
  const fits =
    mutateType === MUTATE_DELETE ? DELETE_TYPES.includes(cellType) : cellType === TYPE_PUT;
  if (!fits) {
    throw new DoNotRetryIOException(
      `A cell of type ${cellType} in a mutation of type ${mutateType}`,
    );
  }
}

/** The cells of the message's columns, `buf[from, end)` being the message. */
function takeColumnCells(fields: MutationFields, buf: Uint8Array, from: number, end: number): void {
  const columns = new ColumnCells(fields, end - from);
  const reader = new ProtoReader(buf, from, end);
  while (reader.next()) {
    if (reader.field === 3) columns.add(reader.message());
    else reader.skip();
  }
  // As the cells of a block: not as a Buffer.
  fields.cells = new Uint8Array(columns.buf.buffer, columns.buf.byteOffset, columns.at);
  fields.to = columns.at;
}

/** KeyValues made of ColumnValue messages. */
class ColumnCells {
  buf: Buffer;
  at = 0;
  readonly #fields: MutationFields;
  readonly #cell = {
    row: EMPTY,
    family: EMPTY,
    qualifier: EMPTY,
    timestampHigh: 0,
    timestampLow: 0,
    type: TYPE_PUT,
    value: EMPTY,
    tags: EMPTY,
  };

  constructor(fields: MutationFields, messageLength: number) {
    this.#fields = fields;
    this.#cell.row = fields.row;
    this.buf = Buffer.allocUnsafe(messageLength + fields.row.length + 64);
  }

  /** Adds the cells of one ColumnValue: a family, and its qualifiers with what is to be there. */
  add(reader: ProtoReader): void {
    const cell = this.#cell;
    const { at, end, buf } = reader;
    cell.family = EMPTY;
    while (reader.next()) {
      if (reader.field === 1) cell.family = reader.bytes();
      else reader.skip();
    }
    if (cell.family.length > FAMILY_LENGTH_MAX) {
      throw new DoNotRetryIOException(`Family length ${cell.family.length} is too long`);
    }
    reader.begin(buf, at, end);
    while (reader.next()) {
      if (reader.field === 2) this.#addQualifier(reader.message());
      else reader.skip();
    }
  }

  #addQualifier(reader: ProtoReader): void {
    const fields = this.#fields;
    const cell = this.#cell;
    const isDelete = fields.type === MUTATE_DELETE;
    cell.qualifier = EMPTY;
    cell.value = EMPTY;
    cell.tags = EMPTY;
    // A delete's own timestamp is for what names no columns (HBase: ProtobufUtil#toDelete).
    cell.timestampHigh = isDelete ? LATEST_HIGH : fields.timestampHigh;
    cell.timestampLow = isDelete ? LATEST_LOW : fields.timestampLow;
    let deleteType = 0;
    let hasValue = false;
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          cell.qualifier = reader.bytes();
          break;
        case 2:
          cell.value = reader.bytes();
          hasValue = true;
          break;
        case 3:
          reader.uint64();
          cell.timestampHigh = reader.high;
          cell.timestampLow = reader.low;
          break;
        case 4:
          deleteType = reader.uint32();
          break;
        case 5:
          cell.tags = reader.bytes();
          break;
        default:
          reader.skip();
      }
    }
    if (isDelete) {
      cell.type = DELETE_TYPES[deleteType] ?? TYPE_DELETE;
      cell.value = EMPTY;
    } else if (!hasValue && fields.type === MUTATE_PUT) {
      throw new DoNotRetryIOException('Missing required field: qualifier value');
    }
    this.#write();
  }

  #write(): void {
    const cell = this.#cell;
    const { row, family, qualifier, value, tags } = cell;
    if (row.length > ROW_LENGTH_MAX) return; // Refused as a whole, when all is read.
    const size = keyValueSize(
      row.length,
      family.length,
      qualifier.length,
      value.length,
      tags.length,
    );
    const at = this.at + 4;
    if (at + size > this.buf.length) this.#grow(at + size);
    putU32(this.buf, this.at, size);
    if (tags.length > 0xffff) throw new DoNotRetryIOException('Malformed cell: too many tags');
    this.at = writeKeyValue(this.buf, at, cell);
    if (tags.length > 0) {
      const fault = keyValueFault(this.buf, at, size);
      if (fault !== null) throw new DoNotRetryIOException(`Malformed cell: ${fault}`);
      checkTtlTags(this.buf, at, size);
    }
    if (cell.timestampHigh > LATEST_HIGH) {
      throw new DoNotRetryIOException('Timestamp cannot be negative.');
    }
  }

  #grow(size: number): void {
    const grown = Buffer.allocUnsafe(Math.max(size, this.buf.length * 2));
    this.buf.copy(grown, 0, 0, this.at);
    this.buf = grown;
  }
}
