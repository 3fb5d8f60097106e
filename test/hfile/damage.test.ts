/** Damaged files: CorruptionException naming file and offset, or the right cells where no byte counts; never a crash or a hang. */
import { describe, expect, test } from 'vitest';
import { putU32, u32 } from '../../src/cell/index.ts';
import { crc32c } from '../../src/cell/index.ts';
import {
  BlockCache,
  Codecs,
  HFileReader,
  HFileWriter,
  type CompressionName,
  type EncodingName,
} from '../../src/hfile/index.ts';
import { CorruptionException, memoryEnv, seeded, type FileSystem } from '../../src/io/index.ts';
import { goldenCells, readAll, viewOf, type PlainCell } from './support.ts';

const TRAILER_SIZE = 4096;
const codecs = new Codecs();

async function smallFile(
  encoding: EncodingName,
  compression: CompressionName,
  count: number,
): Promise<{ bytes: Buffer; cells: PlainCell[] }> {
  const { fs } = memoryEnv();
  const cells = goldenCells({ tags: true, mvcc: true }).slice(18, 18 + count);
  const writer = await HFileWriter.create(fs, '/f', {
    createdMs: 1,
    encoding,
    compression,
    hasTags: true,
    bloomType: 'ROW',
    blockSizeBytes: 200,
    indexChunkBytes: 100,
    indexEntriesMin: 2,
    bloomChunkBytes: 128,
    codecs,
  });
  for (const cell of cells) writer.append(viewOf(cell));
  await writer.finish();
  return { bytes: Buffer.from(await fs.readFile('/f')), cells };
}

/** Puts the bytes where the file was. */
async function replace(fs: FileSystem, bytes: Uint8Array): Promise<void> {
  await fs.remove('/f');
  const handle = await fs.open('/f', 'create');
  await handle.write(bytes, 0);
  await handle.close();
}

/** The cells read; null for the one allowed failure. Everything is asked for: cells, Bloom filters, the last row. */
async function readOrCorrupt(fs: FileSystem, bytes: Uint8Array): Promise<PlainCell[] | null> {
  await replace(fs, bytes);
  let reader: HFileReader | null = null;
  try {
    reader = await HFileReader.open(fs, '/f', new BlockCache(), { codecs });
    const row = Buffer.from('row-0005');
    await reader.probe.loadForRow(row, 0, row.length);
    reader.probe.mightContainRow(row, 0, row.length);
    await reader.probe.loadForDeleteFamily(row, 0, row.length);
    return await readAll(reader.cursor());
  } catch (error) {
    if (!(error instanceof CorruptionException)) throw error;
    expect(error.path).toBe('/f');
    expect(error.offset).toBeGreaterThanOrEqual(0);
    expect(error.offset).toBeLessThanOrEqual(bytes.length);
    return null;
  } finally {
    await reader?.close();
  }
}

/** Where flips are tried: every byte of blocks and trailer fields, few of the trailer's padding. */
function placesIn(bytes: Buffer): number[] {
  const trailerAt = bytes.length - TRAILER_SIZE;
  const fieldsEnd = trailerAt + 8 + 1 + bytes[trailerAt + 8]!;
  const places: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    const isPadding = at >= fieldsEnd && at < bytes.length - 4;
    if (!isPadding || at % 97 === 0) places.push(at);
  }
  return places;
}

test('a flip of any byte', async () => {
  const { fs } = memoryEnv();
  const { bytes, cells } = await smallFile('NONE', 'NONE', 12);
  let unnoticed = 0;
  for (const at of placesIn(bytes)) {
    for (const mask of [0x01, 0xff]) {
      bytes[at]! ^= mask;
      const found = await readOrCorrupt(fs, bytes);
      bytes[at]! ^= mask;
      if (found === null) continue;
      expect(at, `byte ${at} is under a checksum`).toBeGreaterThanOrEqual(
        bytes.length - TRAILER_SIZE,
      );
      expect(found).toEqual(cells);
      unnoticed++;
    }
  }
  expect(unnoticed).toBeGreaterThan(0); // Padding, and the trailer's informative fields.
});

test('a file cut off anywhere', async () => {
  const { fs } = memoryEnv();
  const { bytes } = await smallFile('FAST_DIFF', 'NONE', 6);
  for (let length = 0; length < bytes.length; length += length < 1500 ? 1 : 41) {
    expect(await readOrCorrupt(fs, bytes.subarray(0, length)), `${length} bytes`).toBeNull();
  }
});

/** Writes right checksums for all blocks, as a hostile writer would. */
function mend(bytes: Buffer): void {
  let at = 0;
  while (at + 33 <= bytes.length - TRAILER_SIZE) {
    const dataSize = u32(bytes, at + 29);
    const stored = u32(bytes, at + 8);
    if (dataSize < 33 || at + dataSize + 4 > bytes.length - TRAILER_SIZE) return;
    putU32(bytes, at + dataSize, crc32c(bytes, at, dataSize));
    at += 33 + stored;
  }
}

describe('damage under right checksums', () => {
  test.each([
    ['NONE', 'NONE'],
    ['PREFIX', 'NONE'],
    ['DIFF', 'NONE'],
    ['FAST_DIFF', 'NONE'],
    ['ROW_INDEX_V1', 'NONE'],
    ['NONE', 'GZ'],
    ['NONE', 'SNAPPY'],
    ['NONE', 'LZ4'],
    ['NONE', 'ZSTD'],
  ] as const)('%s %s', async (encoding, compression) => {
    const { fs } = memoryEnv();
    const { bytes } = await smallFile(encoding, compression, 5);
    const random = seeded(7);
    const end = bytes.length - TRAILER_SIZE;
    for (let at = 0; at < end; at++) {
      const damaged = Buffer.from(bytes);
      damaged[at] = random.int(2) === 0 ? 0xff : random.int(256);
      mend(damaged);
      await readOrCorrupt(fs, damaged);
    }
  });
});

test('random bytes with a whole trailer', async () => {
  const { fs } = memoryEnv();
  const { bytes } = await smallFile('NONE', 'NONE', 8);
  const random = seeded(11);
  for (let i = 0; i < 200; i++) {
    const noise = Buffer.concat([
      random.bytes(random.int(3000)),
      bytes.subarray(bytes.length - TRAILER_SIZE),
    ]);
    expect(await readOrCorrupt(fs, noise)).toBeNull();
  }
});
