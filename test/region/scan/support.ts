/** Array-backed cells for the tests of the read path, and sources that may answer WAIT at any move. */
import {
  END,
  READY,
  WAIT,
  keyValueSize,
  toStringBinary,
  u32,
  writeKeyValue,
} from '../../../src/cell/index.ts';
import type { CellSource, NewestTimestamp, SeekKey, SourceState } from '../../../src/cell/index.ts';
import type { CellFilter } from '../../../src/filter/index.ts';
import { PACKED_CELL_HEADER, familySettings, parseFamily } from '../../../src/model/index.ts';
import type { FamilySettings, FamilySpec, Result, ScanSpec } from '../../../src/model/index.ts';
import {
  CellBatch,
  CompactionMatcher,
  PackedCell,
  RegionScanner,
  openStores,
} from '../../../src/region/scan/index.ts';
import type { BatchLimits, CompactionSpec } from '../../../src/region/scan/index.ts';

export const TYPES = {
  Put: 4,
  Delete: 8,
  DeleteFamilyVersion: 10,
  DeleteColumn: 12,
  DeleteFamily: 14,
};

export interface TestCell {
  readonly row: string;
  readonly qualifier: string;
  readonly ts: number;
  readonly type: number;
  readonly value: string;
  readonly write: number;
  /** Milliseconds of the cell's own TTL; absent for none. */
  readonly ttl?: number;
}

export type Random = () => number;

/** A small seeded generator (mulberry32): numbers in [0, 1). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x100000000;
  };
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** HBase's order. Strings hold one byte a character, so their own order is that of bytes. */
export function compareTestCells(a: TestCell, b: TestCell): number {
  if (a.row !== b.row) return a.row < b.row ? -1 : 1;
  if (a.qualifier !== b.qualifier) return a.qualifier < b.qualifier ? -1 : 1;
  return b.ts - a.ts || b.type - a.type || b.write - a.write;
}

function encode(cell: TestCell, family: string): Buffer {
  const tags =
    cell.ttl === undefined
      ? Buffer.alloc(0)
      : Buffer.from([
          0,
          9,
          8,
          ...Buffer.from(BigInt(cell.ttl).toString(16).padStart(16, '0'), 'hex'),
        ]);
  const parts = {
    row: latin1(cell.row),
    family: latin1(family),
    qualifier: latin1(cell.qualifier),
    timestampHigh: Math.floor(cell.ts / 2 ** 32),
    timestampLow: cell.ts % 2 ** 32,
    type: cell.type,
    value: latin1(cell.value),
    tags,
  };
  const { row, qualifier, value } = parts;
  const size = keyValueSize(row.length, family.length, qualifier.length, value.length, tags.length);
  const buf = Buffer.alloc(size);
  writeKeyValue(buf, 0, parts);
  return buf;
}

/**
 * Sorted cells as a source. It overwrites the bytes of a cell as soon as the cursor moves on, so that nobody lives on stale
 * views, and answers WAIT with the given chance; a move made again without `load` is an error.
 */
export class ArraySource implements CellSource {
  readonly cell: PackedCell = new PackedCell();
  /** Known by every other source, as files know it and memstores do not: moves of these are put off. */
  readonly newest: NewestTimestamp | null;
  closed = false;
  moves = 0;
  readonly #cells: readonly TestCell[];
  readonly #encoded: readonly Buffer[];
  readonly #waits: Random | null;
  readonly #chance: number;
  #at = -1;
  #mustLoad = false;
  #waitsOnce = false;

  constructor(cells: readonly TestCell[], family: string, waits: Random | null = null, chance = 0) {
    this.#cells = [...cells].sort(compareTestCells);
    this.#encoded = this.#cells.map((cell) => encode(cell, family));
    this.#waits = waits;
    this.#chance = chance;
    const newest = Math.max(0, ...cells.map(({ ts }) => ts));
    const isKnown = cells.length % 2 === 0;
    this.newest = isKnown ? { high: Math.floor(newest / 2 ** 32), low: newest % 2 ** 32 } : null;
  }

  /** Makes the next move answer WAIT, or forgets that a load is owed. */
  waitOnce(waits: boolean): void {
    this.#waitsOnce = waits;
    this.#mustLoad = false;
  }

  seek(key: SeekKey): SourceState {
    return this.#goto(() => this.#cells.findIndex((cell) => isAtOrAfter(cell, key)));
  }

  seekToFirst(): SourceState {
    return this.#goto(() => 0);
  }

  next(): SourceState {
    if (this.#at < 0 || this.#at >= this.#cells.length) throw new Error('next() after END');
    return this.#goto(() => this.#at + 1);
  }

  reseek(key: SeekKey): SourceState {
    return this.#goto(() => {
      const found = this.#cells.findIndex((cell) => isAtOrAfter(cell, key));
      return found < 0 ? found : Math.max(found, this.#at);
    });
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    const text = Buffer.from(row.subarray(rowAt, rowAt + rowLength)).toString('latin1');
    return this.#goto(() => this.#firstOfRow(this.#cells.findLast((cell) => cell.row < text)?.row));
  }

  seekToLastRow(): SourceState {
    return this.#goto(() => this.#firstOfRow(this.#cells.at(-1)?.row));
  }

  async load(): Promise<void> {
    this.#mustLoad = false;
  }

  close(): void {
    this.closed = true;
  }

  #firstOfRow(row: string | undefined): number {
    return row === undefined ? -1 : this.#cells.findIndex((cell) => cell.row === row);
  }

  #goto(place: () => number): SourceState {
    if (this.#mustLoad) throw new Error('moved again without load()');
    if (this.#waitsOnce || (this.#waits !== null && this.#waits() < this.#chance)) {
      this.#waitsOnce = false;
      this.#mustLoad = true;
      return WAIT;
    }
    this.moves++;
    const found = place();
    this.#at = found < 0 ? this.#cells.length : found;
    this.cell.block.fill(0xee);
    if (this.#at >= this.#cells.length) return END;
    const bytes = Buffer.from(this.#encoded[this.#at]!);
    this.cell.setKeyValue(bytes, 0, bytes.length);
    const { write } = this.#cells[this.#at]!;
    this.cell.writeHigh = Math.floor(write / 2 ** 32);
    this.cell.writeLow = write % 2 ** 32;
    return READY;
  }
}

function isAtOrAfter(cell: TestCell, key: SeekKey): boolean {
  const row = Buffer.from(key.row.subarray(key.rowAt, key.rowAt + key.rowLength)).toString(
    'latin1',
  );
  if (cell.row !== row) return cell.row > row;
  if (key.qualifier === null) return true;
  const qualifier = Buffer.from(
    key.qualifier.subarray(key.qualifierAt, key.qualifierAt + key.qualifierLength),
  ).toString('latin1');
  if (cell.qualifier !== qualifier) return cell.qualifier > qualifier;
  const ts = key.timestampHigh * 2 ** 32 + key.timestampLow;
  return cell.ts !== ts ? cell.ts < ts : cell.type <= key.type;
}

/** A store of layers, newest first, each a list of cells. */
export class TestStore {
  readonly settings: FamilySettings;
  layers: TestCell[][];
  waits: Random | null = null;
  chance = 0;

  constructor(spec: FamilySpec, layers: TestCell[][] = [[]]) {
    this.settings = familySettings(parseFamily(spec));
    this.layers = layers;
  }

  sources(): ArraySource[] {
    const { name } = this.settings;
    return this.layers.map((cells) => new ArraySource(cells, name, this.waits, this.chance));
  }

  all(): TestCell[] {
    return this.layers.flat().sort(compareTestCells);
  }

  /** All layers through the compaction's matcher into one; gives what was dropped. */
  compact(
    spec: Omit<CompactionSpec, 'settings' | 'earliestPutHigh' | 'earliestPutLow'>,
  ): TestCell[] {
    const cells = this.all();
    const puts = cells.filter((cell) => cell.type === TYPES.Put).map((cell) => cell.ts);
    const earliest = puts.length === 0 ? 2 ** 52 : Math.min(...puts);
    const matcher = new CompactionMatcher({
      ...spec,
      settings: this.settings,
      earliestPutHigh: Math.floor(earliest / 2 ** 32),
      earliestPutLow: earliest % 2 ** 32,
    });
    const source = new ArraySource(cells, this.settings.name);
    const kept: TestCell[] = [];
    const dropped: TestCell[] = [];
    let state = source.seekToFirst();
    for (const cell of cells) {
      if (state !== READY) throw new Error('source ended early');
      (matcher.keeps(source.cell) ? kept : dropped).push(cell);
      state = source.next();
    }
    this.layers = [[], kept];
    return dropped;
  }
}

export interface ScanRun {
  readonly spec: ScanSpec;
  readonly readPoint?: number;
  readonly nowMs: number;
  readonly filter?: CellFilter | null;
  readonly limits?: BatchLimits;
}

/** A result as text, and whether it says that more of its row follows. */
export interface ShownResult {
  readonly text: string;
  readonly partial: boolean;
}

/** Runs a scan to its end, loading whenever it waits. */
export async function runScan(stores: readonly TestStore[], run: ScanRun): Promise<ShownResult[]> {
  const { spec, nowMs, filter = null, limits = { resultsMax: 3, bytesMax: 1000 } } = run;
  const readPoint = run.readPoint ?? 2 ** 52;
  const high = Math.floor(readPoint / 2 ** 32);
  const low = readPoint % 2 ** 32;
  const opened = openStores(stores, spec, { high, low, nowMs });
  const scanner = new RegionScanner({
    stores: opened,
    spec,
    readHigh: high,
    readLow: low,
    nowMs,
    filter,
  });
  const batch = new CellBatch(256);
  const results: Result[] = [];
  for (;;) {
    const state = scanner.next(batch, limits);
    for (let i = 0; i < batch.size; i++) results.push(batch.result(i));
    batch.clear();
    if (state === END) break;
    if (state === WAIT) await scanner.load();
  }
  scanner.close();
  return results.map((result) => ({ text: showResult(result), partial: result.partial }));
}

export function showResult(result: Result): string {
  return `[${result.cells
    .map((cell) => {
      const [qualifier, value] = [cell.qualifier, cell.value].map((bytes) =>
        Buffer.from(bytes).toString('latin1'),
      );
      return `${toStringBinary(cell.row)}/${cell.family}:${qualifier}@${cell.ts}/${cell.type}=${value}`;
    })
    .join(' ')}]`;
}

/** The cells of a result as packed bytes say them, to compare write numbers too. */
export function writesOf(result: Result): number[] {
  const writes: number[] = [];
  const { packed } = result;
  for (let at = 0; at < packed.length; at += PACKED_CELL_HEADER + u32(packed, at)) {
    writes.push(u32(packed, at + 4) * 2 ** 32 + u32(packed, at + 8));
  }
  return writes;
}
