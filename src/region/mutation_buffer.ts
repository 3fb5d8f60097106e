/**
 * The cells of one commit while they are on their way into log and memstore: KeyValues one after another in one
 * buffer, each with the index of its family. Nothing here is an object a cell.
 *
 * Timestamps: a cell that asked for LATEST is written with 2^63-1 and stamped in the commit step (`stamp`), with the
 * commit's millisecond or with its floor, the newest timestamp that the operation has read, if that is later
 * (HBase: HRegion#reckonDeltas, `Math.max(now, cell.getTimestamp())`).
 */
import { invariant } from '../io/index.ts';
import {
  KEY_AT,
  KEY_OVERHEAD,
  LATEST_HIGH,
  BEFORE_LOW,
  LATEST_LOW,
  ROW_AT,
  TAG_TTL,
  TYPE_PUT,
  compareRanges,
  putU16,
  putU32,
  timestampAt,
  u16,
  u32,
} from '../cell/index.ts';

const INITIAL_SIZE = 1024;
/** A buffer that grew past this is not worth keeping in a pool. */
export const POOLED_SIZE_MAX: number = 256 * 1024;
const TTL_TAG_SIZE = 2 + 2 + 1 + 8;

/** What was visible of the rows before the commit: KeyValues by family, ascending, for the log alone. */
export interface OldCells {
  readonly family: readonly number[];
  readonly cells: readonly Uint8Array[];
  readonly bytes: number;
}

export class MutationBuffer {
  buf: Uint8Array = Buffer.allocUnsafeSlow(INITIAL_SIZE);
  /** Bytes used. */
  size = 0;
  /** Cells. Entry i of the arrays below belongs to cell i; entries past `count` are stale. */
  count = 0;
  readonly at: number[] = [];
  readonly length: number[] = [];
  /** Index of the family in its table, in byte order of the names. */
  readonly family: number[] = [];
  readonly #floorHigh: number[] = [];
  readonly #floorLow: number[] = [];
  /** Some cell waits for the commit's timestamp: a put, or a marker. */
  latestPut = false;
  latestMarker = false;
  /** Some marker stands just before the commit's timestamp (`addStaged`). */
  hasBefore = false;
  /** Old values that go into the log with the commit; null: the table does not keep them. */
  old: OldCells | null = null;
  #ordered = true;

  clear(): void {
    this.size = 0;
    this.count = 0;
    this.latestPut = false;
    this.latestMarker = false;
    this.hasBefore = false;
    this.old = null;
    this.#ordered = true;
  }

  /**
   * Adds a cell and gives the offset of its value, `valueLength` bytes that the caller fills at once (the next `add` may
   * move the buffer). `ttlMs` 0 means none; the floor counts only for LATEST.
   */
  add(cell: {
    readonly familyIndex: number;
    readonly row: Uint8Array;
    readonly family: Uint8Array;
    readonly qualifier: Uint8Array;
    readonly timestampHigh: number;
    readonly timestampLow: number;
    readonly type: number;
    readonly valueLength: number;
    readonly ttlMs: number;
    readonly floorHigh: number;
    readonly floorLow: number;
  }): number {
    const { row, family, qualifier, valueLength, ttlMs } = cell;
    const keyLength = KEY_OVERHEAD + row.length + family.length + qualifier.length;
    const length = KEY_AT + keyLength + valueLength + (ttlMs > 0 ? TTL_TAG_SIZE : 0);
    const at = this.#begin(cell.familyIndex, length, cell.floorHigh, cell.floorLow);
    const buf = this.buf;
    putU32(buf, at, keyLength);
    putU32(buf, at + 4, valueLength);
    putU16(buf, at + KEY_AT, row.length);
    let end = copySmall(row, buf, at + ROW_AT);
    buf[end] = family.length;
    end = copySmall(family, buf, end + 1);
    end = copySmall(qualifier, buf, end);
    putU32(buf, end, cell.timestampHigh);
    putU32(buf, end + 4, cell.timestampLow);
    buf[end + 8] = cell.type;
    if (cell.timestampHigh === LATEST_HIGH && cell.timestampLow === LATEST_LOW) {
      if (cell.type === TYPE_PUT) this.latestPut = true;
      else this.latestMarker = true;
    }
    const valueAt = end + 9;
    if (ttlMs > 0) writeTtlTag(buf, valueAt + valueLength, ttlMs);
    return valueAt;
  }

  /**
   * Adds a KeyValue that is complete, e.g. from the wire. Its lengths have been checked (`keyValueFault`). The floor counts only
   * for LATEST.
   */
  addKeyValue(
    familyIndex: number,
    source: Uint8Array,
    sourceAt: number,
    length: number,
    floorHigh = 0,
    floorLow = 0,
  ): void {
    const at = this.#begin(familyIndex, length, floorHigh, floorLow);
    this.buf.set(source.subarray(sourceAt, sourceAt + length), at);
    const stampAt = timestampAt(this.buf, at);
    if (u32(this.buf, stampAt) !== LATEST_HIGH || u32(this.buf, stampAt + 4) !== LATEST_LOW) return;
    if (this.buf[stampAt + 8] === TYPE_PUT) this.latestPut = true;
    else this.latestMarker = true;
  }

  /**
   * As `addKeyValue`, for a cell of a transaction: timestamp 2^63-2 stands for the millisecond before the commit's. Such a
   * commit takes the first stamp of a millisecond, so that the marker covers everything older.
   */
  addStaged(familyIndex: number, source: Uint8Array, sourceAt: number, length: number): void {
    const at = this.size;
    this.addKeyValue(familyIndex, source, sourceAt, length);
    const stampAt = timestampAt(this.buf, at);
    if (u32(this.buf, stampAt) !== LATEST_HIGH) return;
    if (u32(this.buf, stampAt + 4) === BEFORE_LOW) this.hasBefore = true;
  }

  #begin(familyIndex: number, length: number, floorHigh: number, floorLow: number): number {
    const at = this.size;
    if (at + length > this.buf.length) this.#grow(at + length);
    const index = this.count++;
    if (index > 0 && this.family[index - 1]! > familyIndex) this.#ordered = false;
    this.at[index] = at;
    this.length[index] = length;
    this.family[index] = familyIndex;
    this.#floorHigh[index] = floorHigh;
    this.#floorLow[index] = floorLow;
    this.size = at + length;
    return at;
  }

  #grow(size: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(size, this.buf.length * 2));
    grown.set(this.buf.subarray(0, this.size));
    this.buf = grown;
  }

  /** Gives every LATEST cell the commit's millisecond, or its floor if that is later. Costs one look a cell. */
  stamp(millisHigh: number, millisLow: number): void {
    if (this.hasBefore) this.#stampBefore(millisHigh, millisLow);
    if (!this.latestPut && !this.latestMarker) return;
    const buf = this.buf;
    for (let i = 0; i < this.count; i++) {
      const stampAt = timestampAt(buf, this.at[i]!);
      if (u32(buf, stampAt) !== LATEST_HIGH || u32(buf, stampAt + 4) !== LATEST_LOW) continue;
      const floorHigh = this.#floorHigh[i]!;
      const floorLow = this.#floorLow[i]!;
      const floored = floorHigh > millisHigh || (floorHigh === millisHigh && floorLow > millisLow);
      putU32(buf, stampAt, floored ? floorHigh : millisHigh);
      putU32(buf, stampAt + 4, floored ? floorLow : millisLow);
    }
  }

  #stampBefore(millisHigh: number, millisLow: number): void {
    const { buf } = this;
    for (let i = 0; i < this.count; i++) {
      const stampAt = timestampAt(buf, this.at[i]!);
      if (u32(buf, stampAt) !== LATEST_HIGH || u32(buf, stampAt + 4) !== BEFORE_LOW) continue;
      putU32(buf, stampAt, millisLow === 0 ? millisHigh - 1 : millisHigh);
      putU32(buf, stampAt + 4, millisLow === 0 ? 0xffffffff : millisLow - 1);
    }
  }

  /**
   * Brings the cells in order of family and drops those whose full key comes again later in the commit: the later
   * replaces the earlier before it is logged. After `stamp`. `distinct` says that the caller knows no key repeats.
   */
  settle(distinct: boolean): void {
    if (!distinct && this.count > 1) this.#dropReplaced();
    if (!this.#ordered) this.#orderByFamily();
  }

  #dropReplaced(): void {
    const order = Array.from({ length: this.count }, (_, i) => i);
    order.sort((a, b) => this.#compareKeys(a, b) || a - b);
    const replaced = new Set<number>();
    for (let i = 1; i < order.length; i++) {
      if (this.#compareKeys(order[i - 1]!, order[i]!) === 0) replaced.add(order[i - 1]!);
    }
    if (replaced.size > 0) this.#keep((index) => !replaced.has(index));
  }

  #compareKeys(a: number, b: number): number {
    const aAt = this.at[a]!;
    const bAt = this.at[b]!;
    const { buf } = this;
    return compareRanges(buf, aAt + KEY_AT, u32(buf, aAt), buf, bAt + KEY_AT, u32(buf, bAt));
  }

  #keep(wanted: (index: number) => boolean): void {
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      if (!wanted(i)) continue;
      this.at[kept] = this.at[i]!;
      this.length[kept] = this.length[i]!;
      this.family[kept] = this.family[i]!;
      kept++;
    }
    this.count = kept;
  }

  #orderByFamily(): void {
    const order = Array.from({ length: this.count }, (_, i) => i);
    order.sort((a, b) => this.family[a]! - this.family[b]! || a - b);
    const [at, length, family] = [this.at, this.length, this.family].map((values) =>
      order.map((index) => values[index]!),
    );
    for (let i = 0; i < this.count; i++) {
      this.at[i] = at![i]!;
      this.length[i] = length![i]!;
      this.family[i] = family![i]!;
    }
    this.#ordered = true;
  }

  /** A hash of the row of cell `index`, for the rule on markers and puts of one millisecond (FNV-1a, 32 bits). */
  rowHash(index: number, seed: number): number {
    invariant(index < this.count, 'cell index within the commit', index, this.count);
    const at = this.at[index]!;
    return hashBytes(this.buf, at + ROW_AT, u16(this.buf, at + KEY_AT), seed);
  }
}

function writeTtlTag(buf: Uint8Array, at: number, ttlMs: number): void {
  putU16(buf, at, TTL_TAG_SIZE - 2);
  putU16(buf, at + 2, 9);
  buf[at + 4] = TAG_TTL;
  putU32(buf, at + 5, Math.floor(ttlMs / 0x100000000));
  putU32(buf, at + 9, ttlMs % 0x100000000);
}

/** FNV-1a of a byte range, from `seed`. */
export function hashBytes(buf: Uint8Array, at: number, length: number, seed: number): number {
  let hash = (seed ^ 0x811c9dc5) >>> 0;
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ buf[at + i]!, 0x01000193);
  return hash >>> 0;
}

/** Copies a short range in a loop: below some 32 bytes cheaper than the call of `set`. Gives the offset after it. */
function copySmall(from: Uint8Array, to: Uint8Array, at: number): number {
  const length = from.length;
  if (length > 32) to.set(from, at);
  else for (let i = 0; i < length; i++) to[at + i] = from[i]!;
  return at + length;
}
