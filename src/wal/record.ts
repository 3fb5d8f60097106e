/** A view of one log record, used again for the next: valid until its reader moves. Whoever keeps bytes copies them. */
import { keyValueFault, u16, u32, u64 } from '../cell/index.ts';
import { CorruptionException } from '../io/index.ts';
import {
  align8,
  BEFORE_GROUP,
  CELL_HEADER_SIZE,
  DURABILITY_SHIFT,
  FLAG_LABEL,
  FLAG_NONCE,
  FLAG_TRANSACTION,
  FLAGS_AT,
  GROUP_HEADER_SIZE,
  KIND_AT,
  KIND_COMMIT,
  LABEL_LENGTH_AT,
  LENGTH_AT,
  NONCE_SIZE,
  RECORD_HEADER_SIZE,
  SKIPPED_AT,
  SYNCED_TO_AT,
  TRANSACTION_SIZE,
  TSO_AT,
} from './format.ts';

/**
 * The record under a reader. Offsets named `…At` are into `buf`. Cells are walked by
 * `while (record.nextGroup()) while (record.nextCell()) …`, without allocation.
 */
export class LogRecord {
  buf: Uint8Array = new Uint8Array(0);
  /** Where the record lies: its file, that file's segment number, and the offset in the file. */
  path = '';
  segment = 0;
  offset = 0;
  /** Bytes in the file, padding included. */
  size = 0;
  kind = 0;
  /** What the commit asked for: ASYNC_WAL, SYNC_WAL or FSYNC_WAL. */
  durability = 0;
  tsoHigh = 0;
  tsoLow = 0;
  /** First and last TSO of the commits that skipped the log since the record before; all 0 for none. */
  skippedFirstHigh = 0;
  skippedFirstLow = 0;
  skippedLastHigh = 0;
  skippedLastLow = 0;
  syncedSegment = 0;
  syncedOffset = 0;
  /** Offset of the 16 bytes of nonce group and nonce; -1 if the commit has none. */
  nonceAt = -1;
  /** Offset of the 8 bytes of the transaction's id; -1 if the commit is of none. */
  transactionAt = -1;
  labelAt = 0;
  labelLength = 0;
  bodyAt = 0;
  bodyLength = 0;
  /** The current group and cell, after `nextGroup` and `nextCell`. */
  tableId = 0;
  familyId = 0;
  cellAt = 0;
  cellLength = 0;
  #at = 0;
  #hasLabel = false;
  #groupEnd = 0;
  #nextAt = 0;

  /** Moves to the whole record at `at` of `buf`, whose first byte is at `base` of the file. */
  load(buf: Uint8Array, at: number, base: number): void {
    const flags = buf[at + FLAGS_AT]!;
    const length = u32(buf, at + LENGTH_AT);
    this.buf = buf;
    this.#at = at;
    this.offset = base + at;
    this.size = align8(length);
    this.kind = buf[at + KIND_AT]!;
    this.durability = (flags >> DURABILITY_SHIFT) & 7;
    this.tsoHigh = u32(buf, at + TSO_AT);
    this.tsoLow = u32(buf, at + TSO_AT + 4);
    this.skippedFirstHigh = u32(buf, at + SKIPPED_AT);
    this.skippedFirstLow = u32(buf, at + SKIPPED_AT + 4);
    this.skippedLastHigh = u32(buf, at + SKIPPED_AT + 8);
    this.skippedLastLow = u32(buf, at + SKIPPED_AT + 12);
    this.syncedSegment = u32(buf, at + SYNCED_TO_AT);
    this.syncedOffset = u32(buf, at + SYNCED_TO_AT + 4);
    this.#hasLabel = (flags & FLAG_LABEL) !== 0;
    const hasNonce = (flags & FLAG_NONCE) !== 0;
    this.nonceAt = hasNonce ? at + RECORD_HEADER_SIZE : -1;
    const next = at + RECORD_HEADER_SIZE + (hasNonce ? NONCE_SIZE : 0);
    const hasTransaction = (flags & FLAG_TRANSACTION) !== 0;
    this.transactionAt = hasTransaction ? next : -1;
    this.labelAt = next + (hasTransaction ? TRANSACTION_SIZE : 0);
    this.labelLength = u16(buf, at + LABEL_LENGTH_AT);
    this.bodyAt = this.labelAt + this.labelLength;
    this.bodyLength = at + length - this.bodyAt;
    this.rewind();
  }

  /** Goes back before the first group. */
  rewind(): void {
    this.#nextAt = this.bodyAt;
    this.#groupEnd = this.bodyAt;
  }

  get label(): string | null {
    if (!this.#hasLabel) return null;
    const { buffer, byteOffset } = this.buf;
    return Buffer.from(buffer, byteOffset + this.labelAt, this.labelLength).toString('utf8');
  }

  /** A copy of nonce group and nonce, 16 bytes; null for none. */
  get nonce(): Uint8Array | null {
    return this.nonceAt < 0 ? null : this.buf.slice(this.nonceAt, this.nonceAt + NONCE_SIZE);
  }

  /** Id of the transaction whose commit this is; null for none. */
  get transaction(): bigint | null {
    return this.transactionAt < 0 ? null : u64(this.buf, this.transactionAt);
  }

  get hasSkipped(): boolean {
    return this.skippedLastHigh !== 0 || this.skippedLastLow !== 0;
  }

  get tso(): bigint {
    return joined(this.tsoHigh, this.tsoLow);
  }

  get skippedFirst(): bigint {
    return joined(this.skippedFirstHigh, this.skippedFirstLow);
  }

  get skippedLast(): bigint {
    return joined(this.skippedLastHigh, this.skippedLastLow);
  }

  /** A view of the body, valid as long as the record. */
  get body(): Uint8Array {
    return this.buf.subarray(this.bodyAt, this.bodyAt + this.bodyLength);
  }

  /**
   * Moves to the next group of a commit; false after the last, and for every other kind. Passes over groups of old values
   * unless asked for them. Throws CorruptionException.
   */
  nextGroup(withOld: boolean = false): boolean {
    while (this.#nextGroup()) if (withOld || this.familyId < BEFORE_GROUP) return true;
    return false;
  }

  #nextGroup(): boolean {
    const at = this.#groupEnd;
    const end = this.bodyAt + this.bodyLength;
    if (at === end || this.kind !== KIND_COMMIT) return false;
    if (at + GROUP_HEADER_SIZE > end) this.#damaged('group header reaches past the body', at);
    this.tableId = u32(this.buf, at);
    this.familyId = u32(this.buf, at + 4);
    this.#nextAt = at + GROUP_HEADER_SIZE;
    this.#groupEnd = this.#nextAt + u32(this.buf, at + 8);
    if (this.#groupEnd > end) this.#damaged('group reaches past the body', at);
    return true;
  }

  /** Moves to the next cell of the current group; false after the last. Throws CorruptionException. */
  nextCell(): boolean {
    const at = this.#nextAt;
    if (at === this.#groupEnd) return false;
    if (at + CELL_HEADER_SIZE > this.#groupEnd)
      this.#damaged('cell length reaches past its group', at);
    this.cellAt = at + CELL_HEADER_SIZE;
    this.cellLength = u32(this.buf, at);
    this.#nextAt = this.cellAt + this.cellLength;
    if (this.#nextAt > this.#groupEnd) this.#damaged('cell reaches past its group', at);
    const fault = keyValueFault(this.buf, this.cellAt, this.cellLength);
    if (fault !== null) this.#damaged(fault, at);
    return true;
  }

  #damaged(what: string, at: number): never {
    throw new CorruptionException(`log record: ${what}`, this.path, this.offset + at - this.#at);
  }
}

function joined(high: number, low: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}
