/**
 * Folds what a transaction has loaded into what it will commit. By (seq, line): of equal keys the later wins, and a put
 * after a marker that covers it survives, the marker then standing one millisecond before it (transactions.md section 3).
 * Among explicit timestamps HBase's own rule holds.
 */
import {
  BEFORE_LOW,
  KEY_AT,
  LATEST_HIGH,
  LATEST_LOW,
  ROW_AT,
  TYPE_DELETE_COLUMN,
  TYPE_DELETE_FAMILY,
  TYPE_PUT,
  putU32,
  timestampAt,
  u16,
  u32,
} from '../cell/index.ts';
import type { TransactionTimestamps } from '../model/index.ts';
import { BlockBuilder } from './cells.ts';
import type { CellGroup } from './cells.ts';
import { compareKeys, sortLoaded } from './load_order.ts';
import type { LoadBatch } from './staging.ts';

export interface Folded {
  /** The groups one after the other, as they are kept (cells.ts). */
  readonly block: Uint8Array;
  readonly groups: CellGroup[];
  readonly cells: number;
  /** Some marker stands before the commit's millisecond: the commit takes the first stamp of a fresh one. */
  readonly isFresh: boolean;
}

/** The survivors, sorted. `batches` in any order. */
export function foldBatches(
  batches: readonly LoadBatch[],
  timestamps: TransactionTimestamps,
): Folded {
  const stores = sortLoaded(batches);
  let cells = 0;
  let bytes = 0;
  for (const { at, buf } of batches) {
    cells += at.length;
    bytes += buf.length;
  }
  const output = new BlockBuilder(bytes, cells, stores.length);
  let isFresh = false;
  for (const { tableId, familyId, batches: ordered, batch, index, at, order } of stores) {
    output.enter(tableId, familyId);
    const folder = new Folder(timestamps);
    for (const i of order) {
      const { buf, length, seq, loadedMs } = ordered[batch[i]!]!;
      if (folder.startsRow(buf, at[i]!)) {
        for (const held of folder.release()) output.add(held, 0, held.length);
      }
      const size = length[index[i]!]!;
      if (folder.passes(buf, at[i]!, size)) output.add(buf, at[i]!, size);
      else if (folder.isHolding)
        folder.hold(buf, at[i]!, size, { seq, index: index[i]!, loadedMs });
    }
    for (const held of folder.release()) output.add(held, 0, held.length);
    isFresh ||= folder.isFresh;
  }
  const groups = output.finish();
  return { block: output.block, groups, cells: output.cells, isFresh };
}

/** When a cell was loaded. */
export interface LoadPlace {
  readonly seq: number;
  /** Within the request. */
  readonly index: number;
  readonly loadedMs: number;
}

/**
 * Folds the cells of one family as they come in the order of keys, of equal keys the latest loaded first. Most rows only have to lose
 * repeats: their cells pass as they are. From the first marker of a row on that waits for the commit's time, the rest of the
 * row is held until it is whole; with `timestamps: "load"` every row is.
 */
export class Folder {
  readonly #timestamps: TransactionTimestamps;
  /** Key of the cell before, as in its KeyValue. */
  #last: Uint8Array = new Uint8Array(256);
  #lastLength = 0;
  #held: (LoadPlace & RowCell)[] = [];
  isFresh = false;
  /** What did not pass is to be held; otherwise it is replaced. */
  isHolding = false;

  constructor(timestamps: TransactionTimestamps) {
    this.#timestamps = timestamps;
  }

  /** A new row: what is held of the one before has to be released first. */
  startsRow(buf: Uint8Array, at: number): boolean {
    const length = u16(buf, at + KEY_AT);
    const last = this.#last;
    if (this.#lastLength > 0 && u16(last, 0) === length) {
      let i = 0;
      while (i < length && last[2 + i] === buf[at + ROW_AT + i]) i++;
      if (i === length) return false;
    }
    this.isHolding = this.#timestamps === 'load';
    return true;
  }

  /** The cell survives as it is. Otherwise it is replaced or, with `isHolding`, to be held. */
  passes(buf: Uint8Array, at: number, length: number): boolean {
    const keyLength = u32(buf, at);
    const keyAt = at + KEY_AT;
    const stampAt = keyAt + keyLength - 9;
    const waits =
      buf[stampAt + 8] !== TYPE_PUT &&
      u32(buf, stampAt) === LATEST_HIGH &&
      u32(buf, stampAt + 4) === LATEST_LOW;
    if (waits) this.isHolding = true;
    const last = this.#last;
    if (!this.isHolding && keyLength === this.#lastLength) {
      let i = keyLength - 1;
      while (i >= 0 && last[i] === buf[keyAt + i]) i--;
      if (i < 0) return false;
    }
    this.#keepKey(buf, keyAt, Math.min(keyLength, length));
    return !this.isHolding;
  }

  #keepKey(buf: Uint8Array, keyAt: number, length: number): void {
    if (this.#last.length < length) this.#last = new Uint8Array(2 * length);
    const last = this.#last;
    for (let i = 0; i < length; i++) last[i] = buf[keyAt + i]!;
    this.#lastLength = length;
  }

  /** Keeps a copy. */
  hold(buf: Uint8Array, at: number, length: number, place: LoadPlace): void {
    this.#held.push({ ...place, bytes: Uint8Array.prototype.slice.call(buf, at, at + length) });
  }

  /** The survivors of what was held, sorted: KeyValues, the caller's. */
  release(): Uint8Array[] {
    if (this.#held.length === 0) return [];
    const held = this.#held.sort((a, b) => a.seq - b.seq || a.index - b.index);
    this.#held = [];
    const row = new RowFold();
    for (const cell of held) row.take(cell);
    const kept = row.finish(this.#timestamps);
    this.isFresh ||= row.isFresh;
    return kept.sort((a, b) => compareKeys(a, 0, b, 0));
  }
}

/** A cell of the row that is being folded. */
interface RowCell {
  /** The KeyValue alone. A cell that survives may be changed in its timestamp. */
  readonly bytes: Uint8Array;
  readonly loadedMs: number;
}

class RowFold {
  readonly #explicit = new Map<string, RowCell>();
  readonly #puts = new Map<string, RowCell>();
  readonly #columns = new Map<string, RowCell>();
  #family: RowCell | null = null;
  isFresh = false;

  take(cell: RowCell): void {
    const { bytes } = cell;
    const at = timestampAt(bytes, 0);
    const isLatest = u32(bytes, at) === LATEST_HIGH && u32(bytes, at + 4) === LATEST_LOW;
    if (!isLatest) {
      this.#explicit.set(textOf(bytes, qualifierAtOf(bytes), at + 9), cell);
      return;
    }
    const qualifier = textOf(bytes, qualifierAtOf(bytes), at);
    switch (bytes[at + 8]) {
      case TYPE_PUT:
        this.#puts.set(qualifier, cell);
        break;
      case TYPE_DELETE_COLUMN:
        this.#puts.delete(qualifier);
        this.#columns.set(qualifier, cell);
        break;
      case TYPE_DELETE_FAMILY:
        this.#puts.clear();
        this.#columns.clear();
        this.#family = cell;
        break;
      default:
        // Markers of one version have a timestamp of their own: refused when they were loaded.
        this.#explicit.set(textOf(bytes, qualifierAtOf(bytes), at + 9), cell);
    }
  }

  finish(timestamps: TransactionTimestamps): Uint8Array[] {
    const kept: Uint8Array[] = [];
    const isLoad = timestamps === 'load';
    if (this.#family !== null) {
      if (isLoad) setMs(this.#family.bytes, this.#family.loadedMs);
      else if (this.#puts.size > 0) this.#before(this.#family.bytes);
      kept.push(this.#family.bytes);
    }
    for (const [qualifier, marker] of this.#columns) {
      if (isLoad) setMs(marker.bytes, marker.loadedMs);
      else if (this.#puts.has(qualifier)) this.#before(marker.bytes);
      kept.push(marker.bytes);
    }
    for (const [qualifier, put] of this.#puts) {
      if (isLoad) {
        const markers = [this.#family, this.#columns.get(qualifier) ?? null];
        const newest = Math.max(...markers.map((marker) => (marker?.loadedMs ?? -2) + 1));
        setMs(put.bytes, Math.max(put.loadedMs, newest));
      }
      kept.push(put.bytes);
    }
    for (const { bytes } of this.#explicit.values()) kept.push(bytes);
    return kept;
  }

  #before(marker: Uint8Array): void {
    putU32(marker, timestampAt(marker, 0) + 4, BEFORE_LOW);
    this.isFresh = true;
  }
}

function setMs(bytes: Uint8Array, ms: number): void {
  const at = timestampAt(bytes, 0);
  putU32(bytes, at, Math.floor(ms / 0x100000000));
  putU32(bytes, at + 4, ms >>> 0);
}

/** Offset of the qualifier in a KeyValue at 0. */
function qualifierAtOf(bytes: Uint8Array): number {
  const rowLength = u16(bytes, 8);
  return ROW_AT + rowLength + 1 + bytes[ROW_AT + rowLength]!;
}

const textOf = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');
