/** An HFile in words, for `cellar hfile dump`: what HBase's HFilePrettyPrinter tells, and where the blocks are. */
import { toStringBinary, u32, u64 } from '../cell/index.ts';
import type { BloomMeta } from './bloom.ts';
import { readNonRootEntries } from './index_chunk.ts';
import type { IndexEntries } from './index_chunk.ts';
import {
  INFO_AVG_KEY_LEN,
  INFO_AVG_VALUE_LEN,
  INFO_BLOOM_PARAM,
  INFO_BULKLOAD_TIMESTAMP,
  INFO_CREATE_TIME_TS,
  INFO_DELETE_FAMILY_COUNT,
  INFO_EARLIEST_PUT_TS,
  INFO_KEY_VALUE_VERSION,
  INFO_LEN_OF_BIGGEST_CELL,
  INFO_MAX_MEMSTORE_TS,
  INFO_MAX_SEQ_ID,
  INFO_MAX_TAGS_LEN,
  INFO_TIMERANGE,
} from './properties.ts';
import type { HFileReader } from './reader.ts';

export interface BlockDescription {
  readonly magic: string;
  readonly offset: number;
  readonly sizeOnDisk: number;
  readonly plainSize: number;
  /** Of index and Bloom chunk entries: the flat key or row that leads to the block, in HBase's readable form. */
  readonly firstKey: string;
}

export interface BloomDescription {
  readonly hashCount: number;
  readonly hashType: number;
  readonly keyCount: number;
  readonly keysMax: number;
  readonly sizeBytes: number;
  readonly chunkCount: number;
}

/** Plain values only: it can be printed as JSON. 64-bit numbers are decimal text. */
export interface HFileDescription {
  readonly path: string;
  readonly sizeBytes: number;
  readonly trailer: {
    readonly cellCount: number;
    readonly compression: string;
    readonly dataIndexLevels: number;
    readonly dataIndexCount: number;
    readonly dataIndexSize: number;
    readonly plainSize: number;
    readonly fileInfoOffset: number;
    readonly loadOnOpenOffset: number;
    readonly firstDataBlockOffset: number;
    readonly lastDataBlockOffset: number;
    readonly comparator: string;
  };
  readonly fileInfo: Readonly<Record<string, string>>;
  readonly bloom: BloomDescription | null;
  readonly deleteFamilyBloom: BloomDescription | null;
  /** Null unless asked for. In the order of their keys. */
  readonly dataBlocks: readonly BlockDescription[] | null;
}

const LONGS: ReadonlySet<string> = new Set([
  INFO_CREATE_TIME_TS,
  INFO_LEN_OF_BIGGEST_CELL,
  INFO_MAX_MEMSTORE_TS,
  INFO_DELETE_FAMILY_COUNT,
  INFO_EARLIEST_PUT_TS,
  INFO_MAX_SEQ_ID,
  INFO_BULKLOAD_TIMESTAMP,
]);
const INTS: ReadonlySet<string> = new Set([
  INFO_AVG_KEY_LEN,
  INFO_AVG_VALUE_LEN,
  INFO_MAX_TAGS_LEN,
  INFO_KEY_VALUE_VERSION,
  INFO_BLOOM_PARAM,
]);

/** A value of the file info as text: numbers in decimal where the key says so, else HBase's readable form. */
function infoText(key: string, value: Uint8Array): string {
  const long = (at: number): bigint => BigInt.asIntN(64, u64(value, at));
  if (LONGS.has(key) && value.length === 8) return String(long(0));
  if (INTS.has(key) && value.length === 4) return String(u32(value, 0) | 0);
  if (key === INFO_TIMERANGE && value.length === 16) return `${long(0)}....${long(8)}`;
  if (value.length === 1) return value[0] === 0 ? 'false' : 'true';
  return toStringBinary(value);
}

function bloomDescription(bloom: BloomMeta | null): BloomDescription | null {
  if (bloom === null) return null;
  const { hashCount, hashType, keyCount, keysMax, sizeBytes } = bloom;
  return { hashCount, hashType, keyCount, keysMax, sizeBytes, chunkCount: bloom.chunks.count };
}

/** Describes an open file. With `blocks` it reads the whole index and every data block. Rejects with CorruptionException. */
export async function describeHFile(
  reader: HFileReader,
  options: { readonly blocks?: boolean } = {},
): Promise<HFileDescription> {
  const { trailer } = reader;
  return {
    path: reader.path,
    sizeBytes: reader.sizeBytes,
    trailer: {
      cellCount: trailer.cellCount,
      compression: reader.compression,
      dataIndexLevels: trailer.dataIndexLevels,
      dataIndexCount: trailer.dataIndexCount,
      dataIndexSize: trailer.dataIndexSize,
      plainSize: trailer.plainSize,
      fileInfoOffset: trailer.fileInfoOffset,
      loadOnOpenOffset: trailer.loadOnOpenOffset,
      firstDataBlockOffset: trailer.firstDataBlockOffset,
      lastDataBlockOffset: trailer.lastDataBlockOffset,
      comparator: trailer.comparator,
    },
    fileInfo: Object.fromEntries(
      [...reader.info].map(([key, value]) => [key, infoText(key, value)]),
    ),
    bloom: bloomDescription(reader.bloom),
    deleteFamilyBloom: bloomDescription(reader.deleteFamilyBloom),
    dataBlocks: options.blocks === true ? await describeBlocks(reader) : null,
  };
}

async function describeBlocks(reader: HFileReader): Promise<BlockDescription[]> {
  let entries: IndexEntries[] = [reader.root.entries];
  for (let level = 1; level < reader.indexLevels; level++) {
    const below: IndexEntries[] = [];
    for (const { block } of await readBlocks(reader, entries)) {
      below.push(readNonRootEntries(block.data, reader.sizeBytes));
    }
    entries = below;
  }
  return (await readBlocks(reader, entries)).map(({ block, firstKey }) => ({
    magic: block.magic,
    offset: block.offset,
    sizeOnDisk: block.sizeOnDisk,
    plainSize: block.data.length,
    firstKey,
  }));
}

async function readBlocks(
  reader: HFileReader,
  lists: readonly IndexEntries[],
): Promise<{ block: Awaited<ReturnType<HFileReader['readPlain']>>; firstKey: string }[]> {
  const found = [];
  for (const { count, offsets, sizes, keys, keysAt, keyLengths } of lists) {
    for (let i = 0; i < count; i++) {
      const block = await reader.readPlain(offsets[i]!, sizes[i]!);
      const keyAt = keysAt[i]!;
      found.push({ block, firstKey: toStringBinary(keys.subarray(keyAt, keyAt + keyLengths[i]!)) });
    }
  }
  return found;
}

/** The description as lines of text, each ended. */
export function hfileText(description: HFileDescription): string {
  const lines: string[] = [`${description.path}: ${description.sizeBytes} bytes`];
  const section = (title: string, values: object | null): void => {
    lines.push(`${title}:`);
    if (values === null) lines.push('    none');
    else for (const [key, value] of Object.entries(values)) lines.push(`    ${key} = ${value}`);
  };
  section('Trailer', description.trailer);
  section('File info', description.fileInfo);
  section('Bloom filter', description.bloom);
  section('Delete-family Bloom filter', description.deleteFamilyBloom);
  if (description.dataBlocks !== null) {
    lines.push(`Data blocks: ${description.dataBlocks.length}`);
    for (const { offset, magic, sizeOnDisk, plainSize, firstKey } of description.dataBlocks) {
      lines.push(
        `    ${offset} ${magic} ${sizeOnDisk} on disk, ${plainSize} plain, from ${firstKey}`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}
