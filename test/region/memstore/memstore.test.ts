import { describe, expect, test } from 'vitest';
import { END, LATEST, READY } from '../../../src/cell/index.ts';
import type { CellSource, SourceState } from '../../../src/cell/index.ts';
import { InvariantError } from '../../../src/io/index.ts';
import { Memstore, imageCursor } from '../../../src/region/memstore/index.ts';
import type { MemstoreImage } from '../../../src/region/memstore/index.ts';
import {
  ModelStore,
  compareCells,
  decode,
  encode,
  high,
  low,
  seeded,
  seekKey,
  textOf,
} from './model.ts';
import type { ModelCell, ModelKey } from './model.ts';

type Chance = (below: number) => number;

interface KeySpace {
  readonly name: string;
  readonly cells: number;
  readonly row: (chance: Chance) => Buffer;
  readonly qualifier: (chance: Chance) => Buffer;
  readonly timestamp: (chance: Chance) => bigint;
}

const someBytes = (chance: Chance, lengthMax: number, alphabet: readonly number[]): Buffer =>
  Buffer.from(
    Array.from({ length: chance(lengthMax + 1) }, () => alphabet[chance(alphabet.length)]!),
  );
const smallTimestamp = (chance: Chance): bigint => BigInt(chance(4));
const edgeTimestamp = (chance: Chance): bigint =>
  [0n, 1n, 0x7fffffffn, 0x80000000n, 0xffffffffn, 0x100000000n, LATEST - 1n, LATEST][chance(8)]!;
const nonEmpty = (row: Buffer): Buffer => (row.length === 0 ? Buffer.from([0]) : row);
const q = Buffer.from('q');

const SPACES: readonly KeySpace[] = [
  {
    name: 'short keys of 0x00, 0x01 and 0xff, prefixes of each other, empty qualifiers',
    cells: 3000,
    row: (chance) => nonEmpty(someBytes(chance, 4, [0, 1, 0xff])),
    qualifier: (chance) => someBytes(chance, 3, [0, 0xff]),
    timestamp: edgeTimestamp,
  },
  {
    name: 'rows behind a shared prefix',
    cells: 4000,
    row: (chance) => Buffer.from(`user${String(chance(100_000_000)).padStart(12, '0')}`),
    qualifier: () => q,
    timestamp: smallTimestamp,
  },
  {
    name: 'one wide row',
    cells: 3000,
    row: () => Buffer.from('row'),
    qualifier: (chance) => Buffer.from(`column-${chance(1500)}`),
    timestamp: smallTimestamp,
  },
  {
    name: 'one column of many versions',
    cells: 2500,
    row: () => Buffer.from('row'),
    qualifier: () => q,
    timestamp: (chance) => BigInt(chance(100_000)),
  },
  {
    name: 'rows up to the greatest length',
    cells: 700,
    row: (chance) =>
      Buffer.concat([
        Buffer.alloc([3, 70, 200, 32765][chance(4)]!, chance(2)),
        Buffer.of(chance(3), chance(3)),
      ]),
    qualifier: (chance) => Buffer.alloc(chance(2) * 80, 7),
    timestamp: smallTimestamp,
  },
];

function randomCell(space: KeySpace, chance: Chance): ModelCell {
  const valueLength = chance(100) === 0 ? 30_000 : chance(20);
  return {
    row: space.row(chance),
    qualifier: space.qualifier(chance),
    timestamp: space.timestamp(chance),
    type: [4, 4, 4, 8, 10, 12, 14][chance(7)]!,
    write: (BigInt(chance(3)) << 40n) | BigInt(chance(5) * 0x3fffffff),
    value: Buffer.alloc(valueLength, chance(256)),
    tags: chance(5) === 0 ? Buffer.from([0, 2, 9, chance(256)]) : Buffer.alloc(0),
  };
}

function randomKey(space: KeySpace, chance: Chance): ModelKey {
  const whole = space.row(chance);
  const row = chance(3) === 0 ? whole.subarray(0, chance(whole.length + 1)) : whole;
  const qualifier = chance(4) === 0 ? null : space.qualifier(chance);
  return {
    row,
    qualifier,
    timestamp: space.timestamp(chance),
    type: [0, 4, 8, 14, 255][chance(5)]!,
  };
}

function put(store: Memstore, cell: ModelCell): void {
  const bytes = encode(cell);
  const padded = Buffer.concat([Buffer.from('before'), bytes, Buffer.from('after')]);
  store.insert(padded, 6, bytes.length, high(cell.write), low(cell.write));
}

function all(source: CellSource): ModelCell[] {
  const cells: ModelCell[] = [];
  let state = source.seekToFirst();
  for (; state === READY; state = source.next()) cells.push(decode(source.cell));
  return cells;
}

const textsOf = (cells: readonly ModelCell[]): string[] => cells.map(textOf);

function expectAt(source: CellSource, state: SourceState, want: ModelCell | undefined): void {
  expect(state).toBe(want === undefined ? END : READY);
  if (want !== undefined) expect(textOf(decode(source.cell))).toBe(textOf(want));
}

/** Seeks of every kind, forwards and backwards, against the model. */
function checkMoves(source: CellSource, model: ModelStore, space: KeySpace, chance: Chance): void {
  for (let i = 0; i < 150; i++) {
    const key = randomKey(space, chance);
    let at = model.seek(key);
    expectAt(source, source.seek(seekKey(key)), model.cells[at]);
    for (let step = chance(4); step > 0 && at < model.cells.length; step--) {
      at++;
      expectAt(source, source.next(), model.cells[at]);
    }
    const near = model.cells[at + chance(30)] ?? randomKey(space, chance);
    const further = chance(2) === 0 ? near : randomKey(space, chance);
    const wanted = Math.max(at, model.seek(further));
    expectAt(source, source.reseek(seekKey(further)), model.cells[wanted]);
    const { row } = key;
    const before = source.seekBeforeRow(Buffer.concat([q, row]), 1, row.length);
    expectAt(source, before, model.cells[model.seekBeforeRow(row)]);
  }
  const lastRow = model.cells.at(-1)?.row;
  const first = model.cells.find((cell) => lastRow !== undefined && cell.row.equals(lastRow));
  expectAt(source, source.seekToLastRow(), first);
}

describe.each(SPACES)('$name', (space) => {
  test.each([
    { seed: 1, runCapacity: 512 },
    { seed: 2, runCapacity: 16 },
    { seed: 5, runCapacity: 4 },
  ])('answers as the model does, live and as an image ($seed, runs of $runCapacity)', (given) => {
    const chance = seeded(given.seed);
    const store = new Memstore({ runCapacity: given.runCapacity });
    const model = new ModelStore();
    for (let i = 0; i < space.cells; i++) {
      const cell = randomCell(space, chance);
      put(store, cell);
      model.insert(cell);
      if (i % 1000 === 7) store.check();
    }
    store.check();
    expect(store.cellCount).toBe(model.cells.length);
    expect(textsOf(all(store.cursor()))).toEqual(textsOf(model.cells));
    checkMoves(store.cursor(), model, space, chance);
    expectStats(store, model);

    store.freeze();
    const image: MemstoreImage = structuredClone(store.sharedImage());
    expect(textsOf(all(imageCursor(image)))).toEqual(textsOf(model.cells));
    checkMoves(imageCursor(image), model, space, chance);
    expect(image.stats).toEqual(store.stats);
  });

  test.each([
    { seed: 3, runCapacity: 512 },
    { seed: 4, runCapacity: 8 },
  ])('cursors go on while cells are inserted ($seed, runs of $runCapacity)', (given) => {
    const chance = seeded(given.seed);
    const store = new Memstore({ runCapacity: given.runCapacity });
    const model = new ModelStore();
    const insertSome = (count: number): void => {
      for (let i = 0; i < count; i++) {
        const cell = randomCell(space, chance);
        put(store, cell);
        model.insert(cell);
      }
    };
    insertSome(50);
    const readers = Array.from({ length: 4 }, () => openReader(store, model));
    while (model.cells.length < Math.min(space.cells, 1500) && readers.some((r) => !r.done)) {
      insertSome(chance(12));
      for (const reader of readers) stepReader(reader, model, chance, space);
      if (chance(50) === 0) readers[chance(4)] = openReader(store, model);
    }
    store.check();
  });
});

interface Reader {
  readonly source: CellSource;
  /** Cells there when it last moved, from which none may be missed. */
  known: ModelCell[];
  current: ModelCell;
  done: boolean;
}

function openReader(store: Memstore, model: ModelStore): Reader {
  const source = store.cursor();
  expect(source.seekToFirst()).toBe(READY);
  return { source, known: [...model.cells], current: decode(source.cell), done: false };
}

function stepReader(reader: Reader, model: ModelStore, chance: Chance, space: KeySpace): void {
  if (reader.done) return;
  const { source, current } = reader;
  const key = chance(3) === 0 ? randomKey(space, chance) : null;
  const state = key === null ? source.next() : source.reseek(seekKey(key));
  const least = key === null ? 0 : model.seek(key);
  // Cells are never removed, so a move may be judged by the model as it now is.
  const here = model.cells.findIndex((cell) => compareCells(cell, current) === 0);
  const want = model.cells[key === null ? here + 1 : Math.max(here, least)];
  expectAt(source, state, want);
  if (want === undefined) reader.done = true;
  else reader.current = want;
}

function expectStats(store: Memstore, model: ModelStore): void {
  const { stats } = store;
  const pair = (upper: number, lower: number): bigint => (BigInt(upper) << 32n) | BigInt(lower);
  const least = (values: bigint[]): bigint => values.reduce((a, b) => (b < a ? b : a));
  const greatest = (values: bigint[]): bigint => values.reduce((a, b) => (b > a ? b : a));
  const writes = model.cells.map((cell) => cell.write);
  const timestamps = model.cells.map((cell) => cell.timestamp);
  expect(stats.cellBytes).toBe(model.cells.reduce((sum, cell) => sum + encode(cell).length, 0));
  expect(stats.deleteCount).toBe(model.cells.filter((cell) => cell.type !== 4).length);
  expect(pair(stats.minWriteHigh, stats.minWriteLow)).toBe(least(writes));
  expect(pair(stats.maxWriteHigh, stats.maxWriteLow)).toBe(greatest(writes));
  expect(pair(stats.minTimestampHigh, stats.minTimestampLow)).toBe(least(timestamps));
  expect(pair(stats.maxTimestampHigh, stats.maxTimestampLow)).toBe(greatest(timestamps));
  expect(store.heapBytes).toBeGreaterThan(store.cellBytes);
}

const rowTextOf = ({ cell }: CellSource): string =>
  Buffer.from(cell.block.subarray(cell.rowAt, cell.rowAt + cell.rowLength)).toString();

const plainCell = (row: string, write: bigint, value = 'v'): ModelCell => ({
  row: Buffer.from(row),
  qualifier: q,
  timestamp: 5n,
  type: 4,
  write,
  value: Buffer.from(value),
  tags: Buffer.alloc(0),
});

describe('whole stores', () => {
  test('an empty store has no cell, and costs little', () => {
    const store = new Memstore();
    const cursor = store.cursor();
    expect(cursor.seekToFirst()).toBe(END);
    expect(cursor.seek(seekKey(plainCell('r', 1n)))).toBe(END);
    expect(cursor.seekToLastRow()).toBe(END);
    expect(cursor.seekBeforeRow(q, 0, 1)).toBe(END);
    expect(store.cellCount).toBe(0);
    expect(store.heapBytes).toBeLessThan(1024);
    store.freeze();
    expect(all(imageCursor(store.sharedImage()))).toEqual([]);
  });

  test.each([
    { name: 'ascending', place: (i: number) => i },
    { name: 'descending', place: (i: number) => 39_999 - i },
    { name: 'two ascending streams', place: (i: number) => (i % 2) * 20_000 + (i >> 1) },
    { name: 'strewn', place: (i: number) => (i * 24_007) % 40_000 },
  ])('40,000 rows, $name', ({ place }) => {
    const store = new Memstore({ runCapacity: 32 });
    const rowOf = (i: number): string => `user${String(i).padStart(12, '0')}`;
    for (let i = 0; i < 40_000; i++) put(store, plainCell(rowOf(place(i)), BigInt(i)));
    store.check();
    const cursor = store.cursor();
    let state = cursor.seekToFirst();
    for (let i = 0; i < 40_000; i++) {
      if (state !== READY || rowTextOf(cursor) !== rowOf(i)) throw new Error(`row ${i} is wrong`);
      state = cursor.next();
    }
    expect(state).toBe(END);
  });

  test('the same write replayed replaces, another write is kept beside', () => {
    const store = new Memstore();
    put(store, plainCell('r', 7n, 'first'));
    const cursor = store.cursor();
    expect(cursor.seekToFirst()).toBe(READY);
    put(store, plainCell('r', 7n, 'again'));
    put(store, plainCell('r', 9n, 'later'));
    expect(cursor.next()).toBe(END);
    expect(all(cursor).map((cell) => cell.value.toString())).toEqual(['later', 'again']);
    expect(store.cellCount).toBe(2);
    expect(store.cellBytes).toBe(2 * encode(plainCell('r', 7n, 'again')).length);
  });

  test('values larger than a slab, between small ones', () => {
    const store = new Memstore();
    const cells = Array.from({ length: 40 }, (_, i) => ({
      ...plainCell(`row${String(i).padStart(2, '0')}`, BigInt(i)),
      value: Buffer.alloc([10, 600_000, 100, 2_500_000, 150_000][i % 5]!, i),
    }));
    for (const cell of cells) {
      expect(store.reserve(1, encode(cell).length)).toBe(true);
      const before = store.heapBytes;
      put(store, cell);
      expect(store.heapBytes - before).toBeLessThan(10_000); // The slab was there already.
    }
    const read = all(store.cursor());
    expect(read.length).toBe(cells.length);
    for (const [i, cell] of read.entries()) expect(cell.value.equals(cells[i]!.value)).toBe(true);
    store.freeze();
    expect(all(imageCursor(structuredClone(store.sharedImage()))).length).toBe(cells.length);
  });

  test('a reservation holds for all cells of a commit', () => {
    const store = new Memstore();
    const lengths = [10, 700_000, 30, 5_000_000, 90_000, 1_999_999, 3];
    const cells = lengths.map((length, i) => ({
      ...plainCell(`r${i}`, 1n),
      value: Buffer.alloc(length, i),
    }));
    const bytes = cells.reduce((sum, cell) => sum + encode(cell).length, 0);
    put(store, plainCell('a', 1n));
    expect(store.reserve(cells.length, bytes)).toBe(true);
    const before = store.heapBytes;
    for (const cell of cells) put(store, cell);
    expect(store.heapBytes - before).toBeLessThan(1000);
    for (const [i, cell] of all(store.cursor()).slice(1).entries()) {
      expect(cell.value.equals(cells[i]!.value)).toBe(true);
    }
    expect(store.reserve(1, 20_000_000_000)).toBe(false);
  });

  test('a frozen store takes no cell, and a live one gives no image', () => {
    const store = new Memstore();
    put(store, plainCell('r', 1n));
    expect(() => store.sharedImage()).toThrow(InvariantError);
    store.freeze();
    expect(store.isFrozen).toBe(true);
    expect(() => put(store, plainCell('s', 1n))).toThrow(InvariantError);
    expect(store.sharedImage()).toBe(store.sharedImage());
  });

  test('malformed cells and write numbers are refused before anything changes', () => {
    const store = new Memstore();
    const bytes = encode(plainCell('r', 1n));
    expect(() => store.insert(bytes, 0, bytes.length - 1, 0, 1)).toThrow(InvariantError);
    expect(() => store.insert(bytes, 1, bytes.length, 0, 1)).toThrow(InvariantError);
    expect(() => store.insert(bytes, 0, bytes.length, 0x80000000, 1)).toThrow(InvariantError);
    expect(store.cellCount).toBe(0);
  });

  test('a cursor that stands on no cell has no next', () => {
    const store = new Memstore();
    put(store, plainCell('r', 1n));
    const cursor = store.cursor();
    expect(() => cursor.next()).toThrow(InvariantError);
    cursor.close();
    cursor.close();
    expect(cursor.reseek(seekKey(plainCell('r', 1n)))).toBe(END);
  });
});
