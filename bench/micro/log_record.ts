/** Encoding a log record of one cell, and sealing it with its checksum. */
import type Benchmark from 'benchmark';
import { CELL_LENGTH, cellBuffer } from '../engine/memstore_load.ts';
import { Batch } from '../../src/wal/batch.ts';
import { FSYNC_WAL, KIND_COMMIT, sealRecords } from '../../src/wal/index.ts';
import { RecordWriter } from '../../src/wal/record_writer.ts';

const SIZE_MAX = 512;

export function addLogRecords(suite: Benchmark.Suite): void {
  const cell = cellBuffer();
  const nonce = new Uint8Array(16);
  const heads = [null, nonce].map((bytes) => ({
    kind: KIND_COMMIT,
    tsoHigh: 1,
    tsoLow: 2,
    nonce: bytes,
    label: null,
    durability: FSYNC_WAL,
  }));
  const writer = new RecordWriter();
  const batch = new Batch();
  batch.ensure(SIZE_MAX);
  const encode = (withNonce: number): number => {
    writer.begin(batch, SIZE_MAX, heads[withNonce]!);
    writer.group(1, 1);
    writer.cell(cell, 0, CELL_LENGTH);
    return writer.end();
  };
  const size = encode(0);
  suite
    .add(`log record encode, one cell, ${size} bytes`, () => void encode(0))
    .add('log record encode, one cell, with a nonce', () => void encode(1))
    .add('log record encode and seal (CRC-32C in JavaScript), one cell', () => {
      sealRecords(batch.buf, 0, encode(0), 0, 1, 0);
    });
}
