/** Blocks of store files: decoding and checking one, asking a Bloom chunk. */
import type Benchmark from 'benchmark';
import { CELL_LENGTH, cellBuffer, writeRow } from '../engine/memstore_load.ts';
import { keysOf } from '../engine/rows.ts';
import { READY } from '../../src/cell/index.ts';
import { decodeCells } from '../../src/hfile/block_decoding.ts';
import { BloomChunk, addToBits } from '../../src/hfile/bloom.ts';
import { DataBlock, OffsetList } from '../../src/hfile/data_block.ts';
import { HASH_MURMUR, hashBytes } from '../../src/hfile/hashes.ts';
import { BlockCache, HFileReader, HFileWriter } from '../../src/hfile/index.ts';
import type { EncodingName } from '../../src/hfile/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import { Memstore } from '../../src/region/memstore/index.ts';

const ENCODINGS: readonly EncodingName[] = ['NONE', 'ROW_INDEX_V1', 'PREFIX', 'DIFF', 'FAST_DIFF'];
const CELLS = 2000;
/** Ten bits a key, as an error rate of 1 % asks for, in a chunk of the usual size. */
const BLOOM_BYTES = 128 * 1024;
const BLOOM_KEYS = 100_000;
const HASHES = 7;

/** A file of some blocks, in memory. */
async function fileOf(encoding: EncodingName): Promise<HFileReader> {
  const env = memoryEnv();
  const store = new Memstore();
  const cell = cellBuffer();
  for (let i = 0; i < CELLS; i++) {
    writeRow(cell, i);
    store.insert(cell, 0, CELL_LENGTH, 1, i);
  }
  const path = `/bench/${encoding}`;
  await env.fs.ensureFolder('/bench');
  const writer = await HFileWriter.create(env.fs, path, { createdMs: 0, encoding });
  const cursor = store.cursor();
  for (let state = cursor.seekToFirst(); state === READY; state = cursor.next()) {
    if (writer.append(cursor.cell)) await writer.drain();
  }
  await writer.finish();
  return HFileReader.open(env.fs, path, new BlockCache());
}

export async function addBlocks(suite: Benchmark.Suite): Promise<void> {
  for (const encoding of ENCODINGS) {
    const reader = await fileOf(encoding);
    const { offsets, sizes } = reader.root.entries;
    const block = await reader.readPlain(offsets[0]!, sizes[0]!);
    const shape = {
      hasTags: reader.properties.hasTags,
      hasWriteNumbers: reader.properties.hasWriteNumbers,
    };
    const scratch = new OffsetList();
    const decode = (): DataBlock => {
      const cells = decodeCells(block.encodingId, block.data, shape);
      return new DataBlock(0, cells, shape, null, scratch);
    };
    suite.add(`block decode, ${encoding}, ${decode().cellCount} cells`, decode);
  }
}

export function addBloom(suite: Benchmark.Suite): void {
  const bits = new Uint8Array(BLOOM_BYTES);
  const keys = keysOf(2 * BLOOM_KEYS, (i) => i * 7919);
  for (const key of keys.slice(0, BLOOM_KEYS)) {
    addToBits(bits, HASH_MURMUR, HASHES, key, 0, key.length);
  }
  const chunk = new BloomChunk(0, bits);
  let i = 0;
  const ask = (from: number): boolean => {
    i = (i + 1) % BLOOM_KEYS;
    const key = keys[from + i]!;
    const h1 = hashBytes(HASH_MURMUR, key, 0, key.length, 0);
    return chunk.mightContain(HASHES, h1, hashBytes(HASH_MURMUR, key, 0, key.length, h1));
  };
  suite.add('Bloom probe, a key that is there', () => {
    if (!ask(0)) throw new Error('a key is missing');
  });
  suite.add('Bloom probe, a key that is not there', () => {
    ask(BLOOM_KEYS);
  });
}
