/** Comparing cells and ranges of bytes; checksums. */
import type Benchmark from 'benchmark';
import { cellBuffer, writeRow } from '../engine/memstore_load.ts';
import { shuffled, writeKey } from '../engine/rows.ts';
import { compareRanges, crc32c } from '../../src/cell/index.ts';
import type { SeekKey } from '../../src/cell/index.ts';
import { compareCellToKey } from '../../src/hfile/data_block.ts';
import { loadChecksums } from '../../src/hfile/index.ts';

const ROW_LENGTH = 16;
const CELLS = 1024;
const SIZES = [200, 4096, 65536];

/** A key that seeks row `n` from its first cell on. */
export function seekKeyOf(n: number): SeekKey {
  const row = Buffer.alloc(ROW_LENGTH);
  writeKey(row, 0, n);
  return {
    row,
    rowAt: 0,
    rowLength: ROW_LENGTH,
    qualifier: null,
    qualifierAt: 0,
    qualifierLength: 0,
    timestampHigh: 0,
    timestampLow: 0,
    type: 0,
  };
}

export function addCompares(suite: Benchmark.Suite): void {
  const order = shuffled(CELLS);
  const cells = Array.from(order, (n) => {
    const cell = cellBuffer();
    writeRow(cell, n);
    return cell;
  });
  const key = seekKeyOf(CELLS / 2);
  const long = [Buffer.alloc(64, 0x61), Buffer.alloc(64, 0x61)] as const;
  long[1][63] = 0x62;
  let i = 0;
  let sum = 0;
  suite
    .add('cell compare: KeyValue to a seek key, rows of 16 bytes', () => {
      i = (i + 1) % CELLS;
      sum += compareCellToKey(cells[i]!, 0, key);
    })
    .add('cell compare: two rows of 16 bytes', () => {
      i = (i + 1) % (CELLS - 1);
      sum += compareRanges(cells[i]!, 10, ROW_LENGTH, cells[i + 1]!, 10, ROW_LENGTH);
    })
    .add('cell compare: two ranges of 64 bytes that differ in the last', () => {
      sum += compareRanges(long[0], 0, 64, long[1], 0, 64);
    })
    .on('complete', () => {
      if (Number.isNaN(sum)) throw new Error('nothing was compared');
    });
}

export async function addChecksums(suite: Benchmark.Suite): Promise<void> {
  const native = await loadChecksums();
  let sum = 0;
  for (const size of SIZES) {
    const buf = Buffer.alloc(size, 0x5a);
    suite.add(`CRC-32C of ${size} bytes, JavaScript`, () => {
      sum ^= crc32c(buf, 0, size);
    });
    suite.add(`CRC-32C of ${size} bytes, as store files use it (${native.source})`, () => {
      sum ^= native.crc32c(buf, 0, size);
    });
  }
  suite.on('complete', () => {
    if (!Number.isInteger(sum)) throw new Error('nothing was summed');
  });
}
