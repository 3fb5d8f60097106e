/** Pieces of the memstore: insert, seek, next. Whole loads, their memory and pauses: `bench:engine`, memstore-1m. */
import type Benchmark from 'benchmark';
import { CELL_LENGTH, cellBuffer, writeRow } from '../engine/memstore_load.ts';
import { shuffled, writeKey } from '../engine/rows.ts';
import { READY } from '../../src/cell/index.ts';
import { Memstore } from '../../src/region/memstore/index.ts';
import { seekKeyOf } from './cells.ts';

const CELLS = 200_000;

function loaded(order: Uint32Array): Memstore {
  const store = new Memstore();
  const cell = cellBuffer();
  for (let i = 0; i < order.length; i++) {
    writeRow(cell, order[i]!);
    store.insert(cell, 0, CELL_LENGTH, 1, i);
  }
  return store;
}

export function addMemstore(suite: Benchmark.Suite): void {
  const order = shuffled(CELLS);
  const cursor = loaded(order).cursor();
  const walker = loaded(order).cursor();
  walker.seekToFirst();
  const key = seekKeyOf(0);
  const cell = cellBuffer();
  let growing = new Memstore();
  let i = 0;
  const next = (): number => order[(i = i + 1 < order.length ? i + 1 : 0)]!;
  suite
    .add('memstore insert, random, up to 200,000 cells', () => {
      if (growing.cellCount >= CELLS) growing = new Memstore();
      writeRow(cell, next());
      growing.insert(cell, 0, CELL_LENGTH, 1, i);
    })
    .add('memstore seek, random, 200,000 cells', () => {
      writeKey(key.row, 0, next());
      if (cursor.seek(key) !== READY) throw new Error('a row is missing');
    })
    .add('memstore next, 200,000 cells inserted in random order', () => {
      if (walker.next() !== READY) walker.seekToFirst();
    });
}
