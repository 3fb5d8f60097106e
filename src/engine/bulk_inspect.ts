/**
 * Looks through a file that is to be loaded, on a worker: every block is read and checked, every cell must be of the family,
 * of a known type and in order. Says which part of it lies in which region.
 */
import {
  LATEST_HIGH,
  LATEST_LOW,
  READY,
  TYPE_DELETE,
  TYPE_DELETE_COLUMN,
  TYPE_DELETE_FAMILY,
  TYPE_DELETE_FAMILY_VERSION,
  TYPE_PUT,
  WAIT,
  compareBytes,
  compareRanges,
  toStringBinary,
  u32,
} from '../cell/index.ts';
import type { CellSource, CellView } from '../cell/index.ts';
import { BlockCache, HFileReader } from '../hfile/index.ts';
import type { Env, Job } from '../io/index.ts';

/** Survives structured cloning. */
export interface InspectInput {
  readonly path: string;
  readonly family: Uint8Array;
  /** Of the table's regions, in order; the first is empty. */
  readonly startKeys: readonly Uint8Array[];
  /** Milliseconds: cells of LATEST get this or more. In halves. */
  readonly nowHigh: number;
  readonly nowLow: number;
}

/** The rows of the file that lie in one region. */
export interface FilePart {
  readonly regionIndex: number;
  readonly cellCount: number;
  readonly firstRow: Uint8Array;
  readonly lastRow: Uint8Array;
}

export interface Inspection {
  /** Why the file cannot be loaded; null if it can. */
  readonly fault: string | null;
  readonly sizeBytes: number;
  readonly cellCount: number;
  /** Of the cells with a timestamp of their own, from 0 if a marker reaches down to there; null if there are none. */
  readonly minTimestamp: bigint | null;
  readonly maxTimestamp: bigint | null;
  /** Some cells ask for LATEST. */
  readonly hasLatest: boolean;
  readonly hasTags: boolean;
  readonly parts: readonly FilePart[];
}

/** The inspection as a job for the executor. Rejects with CorruptionException and what the file system says. */
export function inspectJob(input: InspectInput): Job<InspectInput, Inspection> {
  return { module: import.meta.url, run: inspect, input };
}

/** The job of a worker. */
export async function inspect(input: InspectInput, env: Env): Promise<Inspection> {
  const reader = await HFileReader.open(env.fs, input.path, new BlockCache(1 << 20));
  try {
    const source = reader.cursor({ cacheBlocks: false, sequential: true });
    const inspector = new Inspector(input);
    const fault = await walk(source, inspector);
    const { hasTags } = reader.properties;
    return { fault, sizeBytes: reader.sizeBytes, hasTags, ...inspector.findings() };
  } finally {
    await reader.close();
  }
}

async function walk(source: CellSource, inspector: Inspector): Promise<string | null> {
  let state = source.seekToFirst();
  for (; state === WAIT; state = source.seekToFirst()) await source.load();
  while (state === READY) {
    const fault = inspector.add(source.cell);
    if (fault !== null) return fault;
    state = source.next();
    for (; state === WAIT; state = source.next()) await source.load();
  }
  return null;
}

/** The part under way. */
interface OpenPart {
  readonly regionIndex: number;
  readonly firstRow: Uint8Array;
  cellCount: number;
}

class Inspector {
  readonly #input: InspectInput;
  /** Key of the cell before: row, qualifier, timestamp and type, one after the other. */
  #last: Buffer = Buffer.alloc(1024);
  #lastRowLength = 0;
  #lastQualifierLength = 0;
  /** A cell of LATEST came before in the column of the cell before. */
  #isAfterLatest = false;
  #cellCount = 0;
  #ownTimestamps = 0;
  #reachesToZero = false;
  #hasLatest = false;
  #minHigh = 0xffffffff;
  #minLow = 0xffffffff;
  #maxHigh = 0;
  #maxLow = 0;
  #part: OpenPart | null = null;
  readonly #parts: FilePart[] = [];

  constructor(input: InspectInput) {
    this.#input = input;
  }

  /** What is wrong with the cell; null if nothing is. */
  add(cell: CellView): string | null {
    const { block, timestampAt } = cell;
    if (!this.#isOfFamily(cell)) return this.#fault(cell, `is of family ${familyText(cell)}`);
    const type = block[timestampAt + 8]!;
    if (!isKnownType(type)) return this.#fault(cell, `has type ${type}`);
    const high = u32(block, timestampAt);
    const low = u32(block, timestampAt + 4);
    if (high > LATEST_HIGH) return this.#fault(cell, 'has a negative timestamp');
    const isLatest = high === LATEST_HIGH && low === LATEST_LOW;
    const fault = this.#place(cell, isLatest, high, low);
    if (fault !== null) return this.#fault(cell, fault);
    this.#cellCount++;
    this.#part!.cellCount++;
    if (isLatest) this.#hasLatest = true;
    else this.#note(high, low, type);
    this.#keep(cell);
    return null;
  }

  #fault(cell: CellView, what: string): string {
    const { block, rowAt, rowLength, qualifierAt, qualifierLength } = cell;
    const row = toStringBinary(block.subarray(rowAt, rowAt + rowLength));
    const qualifier = toStringBinary(block.subarray(qualifierAt, qualifierAt + qualifierLength));
    return `cell ${this.#cellCount} (row ${row}, qualifier ${qualifier}) ${what}`;
  }

  #isOfFamily(cell: CellView): boolean {
    const { family } = this.#input;
    const at = cell.rowAt + cell.rowLength;
    if (cell.block[at] !== family.length) return false;
    return compareRanges(cell.block, at + 1, family.length, family, 0, family.length) === 0;
  }

  /** Checks the cell against the one before, and opens the part of a region that it is the first of. */
  #place(cell: CellView, isLatest: boolean, high: number, low: number): string | null {
    const { block, rowAt, rowLength, qualifierAt, qualifierLength, timestampAt } = cell;
    const last = this.#last;
    const lastRow = this.#lastRowLength;
    const lastQualifier = this.#lastQualifierLength;
    const isFirst = this.#cellCount === 0;
    let order = isFirst ? 1 : compareRanges(block, rowAt, rowLength, last, 0, lastRow);
    if (order < 0) return 'is before the one before it';
    if (order > 0) {
      this.#startRow(block, rowAt, rowLength);
    } else {
      order = compareRanges(block, qualifierAt, qualifierLength, last, lastRow, lastQualifier);
      if (order < 0) return 'is before the one before it';
    }
    if (order > 0) {
      this.#isAfterLatest = isLatest;
      return null;
    }
    // Timestamp and type are 9 bytes that fall together.
    order = compareRanges(block, timestampAt, 9, last, lastRow + lastQualifier, 9);
    if (order > 0) return 'is before the one before it';
    const { nowHigh, nowLow } = this.#input;
    const isOfPast = high < nowHigh || (high === nowHigh && low < nowLow);
    if (this.#isAfterLatest && !isLatest && !isOfPast) {
      return 'has a timestamp of the future, behind a cell of its column that asks for the latest';
    }
    return null;
  }

  #startRow(block: Uint8Array, rowAt: number, rowLength: number): void {
    const { startKeys } = this.#input;
    let regionIndex = this.#part?.regionIndex ?? 0;
    for (let next = startKeys[regionIndex + 1]; next !== undefined;) {
      if (compareRanges(block, rowAt, rowLength, next, 0, next.length) < 0) break;
      regionIndex++;
      next = startKeys[regionIndex + 1];
    }
    if (this.#part !== null && this.#part.regionIndex === regionIndex) return;
    this.#closePart();
    const firstRow = Uint8Array.prototype.slice.call(block, rowAt, rowAt + rowLength);
    this.#part = { regionIndex, firstRow, cellCount: 0 };
  }

  #closePart(): void {
    if (this.#part === null) return;
    const lastRow = Uint8Array.prototype.slice.call(this.#last, 0, this.#lastRowLength);
    this.#parts.push({ ...this.#part, lastRow });
    this.#part = null;
  }

  #note(high: number, low: number, type: number): void {
    this.#ownTimestamps++;
    if (type === TYPE_DELETE_COLUMN || type === TYPE_DELETE_FAMILY) this.#reachesToZero = true;
    if (high < this.#minHigh || (high === this.#minHigh && low < this.#minLow)) {
      this.#minHigh = high;
      this.#minLow = low;
    }
    if (high > this.#maxHigh || (high === this.#maxHigh && low > this.#maxLow)) {
      this.#maxHigh = high;
      this.#maxLow = low;
    }
  }

  #keep(cell: CellView): void {
    const { block, rowAt, rowLength, qualifierAt, qualifierLength, timestampAt } = cell;
    const length = rowLength + qualifierLength + 9;
    if (length > this.#last.length) this.#last = Buffer.alloc(2 * length);
    this.#last.set(block.subarray(rowAt, rowAt + rowLength), 0);
    this.#last.set(block.subarray(qualifierAt, qualifierAt + qualifierLength), rowLength);
    this.#last.set(block.subarray(timestampAt, timestampAt + 9), rowLength + qualifierLength);
    this.#lastRowLength = rowLength;
    this.#lastQualifierLength = qualifierLength;
  }

  findings(): Omit<Inspection, 'fault' | 'sizeBytes' | 'hasTags'> {
    this.#closePart();
    const has = this.#ownTimestamps > 0;
    const min = this.#reachesToZero ? 0n : join(this.#minHigh, this.#minLow);
    return {
      cellCount: this.#cellCount,
      minTimestamp: has ? min : null,
      maxTimestamp: has ? join(this.#maxHigh, this.#maxLow) : null,
      hasLatest: this.#hasLatest,
      parts: this.#parts,
    };
  }
}

const join = (high: number, low: number): bigint => (BigInt(high) << 32n) | BigInt(low);

function familyText(cell: CellView): string {
  const at = cell.rowAt + cell.rowLength;
  return toStringBinary(cell.block.subarray(at + 1, at + 1 + cell.block[at]!));
}

function isKnownType(type: number): boolean {
  switch (type) {
    case TYPE_PUT:
    case TYPE_DELETE:
    case TYPE_DELETE_COLUMN:
    case TYPE_DELETE_FAMILY:
    case TYPE_DELETE_FAMILY_VERSION:
      return true;
    default:
      return false;
  }
}

/** The index of the region that holds `row`, by the regions' start keys. */
export function regionAt(startKeys: readonly Uint8Array[], row: Uint8Array): number {
  let index = 0;
  while (index + 1 < startKeys.length && compareBytes(startKeys[index + 1]!, row) <= 0) index++;
  return index;
}
