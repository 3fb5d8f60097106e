/**
 * An open HFile: its metadata, its blocks through the cache, its Bloom filters, and cursors over its cells.
 *
 * Opening reads the end of the file only: trailer, root index, file info, Bloom meta blocks; one read for most files.
 * Every block is checked when it is read and never again. Damage rejects with CorruptionException naming file and offset;
 * no input makes it hang, crash, or allocate far beyond the size of the block it claims to be.
 * A reader may be used by any number of cursors at once. Closing it while cursors move is the caller's mistake.
 */
import { CorruptionException } from '../io/index.ts';
import type { FileHandle, FileSystem } from '../io/index.ts';
import type {
  BlockCache,
  BlockRequest,
  CacheFile,
  CachedBlock,
  CachePriority,
} from './block_cache.ts';
import {
  MAGIC_BLOOM_CHUNK,
  MAGIC_BLOOM_META,
  MAGIC_DATA,
  MAGIC_DELETE_FAMILY_BLOOM_META,
  MAGIC_ENCODED_DATA,
  MAGIC_FILE_INFO,
  MAGIC_INTERMEDIATE_INDEX,
  MAGIC_LEAF_INDEX,
  MAGIC_ROOT_INDEX,
  expectMagic,
  openBlock,
} from './block.ts';
import type { BlockContext, PlainBlock } from './block.ts';
import { decodeCells } from './block_decoding.ts';
import type { CellsShape } from './block_decoding.ts';
import { BloomChunk, decodeBloomMeta } from './bloom.ts';
import type { BloomMeta } from './bloom.ts';
import { BloomProbe } from './bloom_probe.ts';
import { javascriptChecksums } from './checksums.ts';
import type { Checksums } from './checksums.ts';
import { Codecs, compressionOfId } from './compression.ts';
import type { CompressionName } from './compression.ts';
import { HFileCursor } from './cursor.ts';
import type { BlockSource, CursorOptions } from './cursor.ts';
import { DataBlock, OffsetList } from './data_block.ts';
import type { FileStamp } from './data_block.ts';
import { FormatFault, check, locate } from './fault.ts';
import { IndexChunk, readNonRootEntries, readRootEntries } from './index_chunk.ts';
import type { IndexEntries } from './index_chunk.ts';
import { readProperties } from './properties.ts';
import type { HFileProperties } from './properties.ts';
import { TRAILER_SIZE, decodeFileInfo, decodeTrailer } from './metadata.ts';
import type { FileInfo, Trailer } from './metadata.ts';
import { ByteReader } from './varlen.ts';

/** Read from the end of a file at opening: trailer and, in most files, the whole load-on-open section. */
const TAIL_SIZE = 32 * 1024;
/** No real load-on-open section comes near. */
const LOAD_ON_OPEN_SIZE_MAX = 256 * 1024 * 1024;
const MID_KEY_SIZE = 16;

export interface HFileReaderOptions {
  /** From `loadChecksums`; the JavaScript ones by default. */
  readonly checksums?: Checksums;
  /** Loaded codecs to share between files. */
  readonly codecs?: Codecs;
  /** Write number, and timestamp in place of LATEST, that stand for those in the file. */
  readonly stamp?: FileStamp | null;
  /** The family is IN_MEMORY. */
  readonly inMemory?: boolean;
}

interface Parts {
  readonly handle: FileHandle;
  readonly sizeBytes: number;
  readonly trailer: Trailer;
  readonly context: BlockContext;
  readonly compression: CompressionName;
  readonly info: FileInfo;
  readonly root: IndexChunk;
  readonly metaIndex: IndexEntries;
  readonly blooms: readonly PlainBlock[];
  readonly stamp: FileStamp | null;
}

export class HFileReader implements BlockSource {
  readonly path: string;
  readonly sizeBytes: number;
  readonly trailer: Trailer;
  readonly compression: CompressionName;
  /** Raw file info. The values are the reader's: do not change them. */
  readonly info: FileInfo;
  readonly properties: HFileProperties;
  readonly stamp: FileStamp | null;
  readonly root: IndexChunk;
  readonly metaIndex: IndexEntries;
  /** General Bloom filter and that of the delete-family rows; null where the file has none. */
  readonly bloom: BloomMeta | null;
  readonly deleteFamilyBloom: BloomMeta | null;
  readonly probe: BloomProbe;
  readonly cached: CacheFile;
  readonly #handle: FileHandle;
  readonly #context: BlockContext;
  readonly #shape: CellsShape;
  readonly #isInMemory: boolean;
  readonly #loading: Map<number, Promise<CachedBlock>> = new Map();
  readonly #scratch: OffsetList = new OffsetList();

  private constructor(parts: Parts, cache: BlockCache, isInMemory: boolean) {
    this.path = parts.handle.path;
    this.sizeBytes = parts.sizeBytes;
    this.trailer = parts.trailer;
    this.compression = parts.compression;
    this.info = parts.info;
    this.properties = readProperties(parts.info);
    this.stamp = parts.stamp;
    this.root = parts.root;
    this.metaIndex = parts.metaIndex;
    this.bloom = bloomOf(parts, MAGIC_BLOOM_META);
    this.deleteFamilyBloom = bloomOf(parts, MAGIC_DELETE_FAMILY_BLOOM_META);
    this.cached = cache.file();
    this.#handle = parts.handle;
    this.#context = parts.context;
    this.#shape = {
      hasTags: this.properties.hasTags,
      hasWriteNumbers: this.properties.hasWriteNumbers,
    };
    this.#isInMemory = isInMemory;
    this.probe = new BloomProbe({
      properties: this.properties,
      bloom: this.bloom,
      deleteFamilyBloom: this.deleteFamilyBloom,
      cached: this.cached,
      load: (request) => this.load(request),
    });
  }

  /**
   * Opens a file. Throws FileNotFoundException, IoException, or CorruptionException if it is not an HFile of version 3 that
   * we can read.
   */
  static async open(
    fs: FileSystem,
    path: string,
    cache: BlockCache,
    options: HFileReaderOptions = {},
  ): Promise<HFileReader> {
    const handle = await fs.open(path, 'read');
    try {
      const parts = await readParts(handle, options);
      try {
        return new HFileReader(parts, cache, options.inMemory ?? false);
      } catch (error) {
        throw locate(error, path, parts.trailer.fileInfoOffset);
      }
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Levels of the data index; 1: the root names data blocks. */
  get indexLevels(): number {
    return this.trailer.dataIndexLevels;
  }

  /** A cursor of its own place. Close it, or drop it: it holds only references to blocks. */
  cursor(options: CursorOptions = {}): HFileCursor {
    return new HFileCursor(this, options);
  }

  /** Takes this file's blocks out of the cache and closes the file. Idempotent. */
  async close(): Promise<void> {
    this.cached.close();
    await this.#handle.close();
  }

  /**
   * Reads one block and, unless `isKept` is false, adds it to the cache. Callers that want the same block at the same time
   * share one read.
   */
  async load(request: BlockRequest, isKept: boolean = true): Promise<CachedBlock> {
    const under = this.#loading.get(request.offset);
    const loading = under ?? this.#read(request);
    if (under === undefined) this.#loading.set(request.offset, loading);
    try {
      const block = await loading;
      if (isKept) this.cached.add(block, this.#priority(block));
      return block;
    } finally {
      if (under === undefined) this.#loading.delete(request.offset);
    }
  }

  /** Reads data blocks that stand side by side, in one read. They do not go to the cache by themselves. */
  async loadRun(requests: readonly BlockRequest[]): Promise<CachedBlock[]> {
    const first = requests[0]!;
    const last = requests[requests.length - 1]!;
    const size = last.offset + last.sizeOnDisk - first.offset;
    const buf = await readFully(this.#handle, first.offset, size);
    const blocks: CachedBlock[] = [];
    for (const request of requests) {
      const at = request.offset - first.offset;
      // A view would keep the whole run alive as long as one of its blocks is cached.
      const copy = Buffer.allocUnsafeSlow(request.sizeOnDisk);
      buf.copy(copy, 0, at, at + request.sizeOnDisk);
      try {
        blocks.push(this.#parse(request, copy));
      } catch (error) {
        // Damage further on is met again, and told, by whoever gets there.
        if (blocks.length === 0) throw error;
        return blocks;
      }
    }
    return blocks;
  }

  /** Adds a block that `loadRun` gave to the cache. */
  keep(block: CachedBlock): void {
    this.cached.add(block, this.#priority(block));
  }

  /** Reads and checks one whole block and gives its plain data, whatever its kind, past the cache: for tools. */
  async readPlain(offset: number, sizeOnDisk: number): Promise<PlainBlock> {
    const buf = await readFully(this.#handle, offset, sizeOnDisk);
    return openBlock(this.#context, buf, 0, buf.length, offset);
  }

  #priority(block: CachedBlock): CachePriority {
    if (block.kind !== 'data') return 'index';
    return this.#isInMemory ? 'inMemory' : 'normal';
  }

  async #read(request: BlockRequest): Promise<CachedBlock> {
    const buf = await readFully(this.#handle, request.offset, request.sizeOnDisk);
    return this.#parse(request, buf);
  }

  #parse(request: BlockRequest, buf: Uint8Array): CachedBlock {
    const context = this.#context;
    const { offset } = request;
    const block = openBlock(context, buf, 0, buf.length, offset);
    if (block.sizeOnDisk !== request.sizeOnDisk) {
      throw new CorruptionException(
        'a block has another size than its index says',
        this.path,
        offset,
      );
    }
    try {
      switch (request.kind) {
        case 'data':
          expectMagic(context, block, MAGIC_DATA, MAGIC_ENCODED_DATA);
          return new DataBlock(
            offset,
            decodeCells(block.encodingId, block.data, this.#shape),
            this.#shape,
            this.stamp,
            this.#scratch,
          );
        case 'index':
          expectMagic(context, block, MAGIC_LEAF_INDEX, MAGIC_INTERMEDIATE_INDEX);
          return new IndexChunk(offset, readNonRootEntries(block.data, this.sizeBytes), this.stamp);
        case 'bloom':
          expectMagic(context, block, MAGIC_BLOOM_CHUNK);
          return new BloomChunk(offset, block.data);
      }
    } catch (error) {
      throw locate(error, this.path, offset);
    }
  }
}

async function readFully(handle: FileHandle, offset: number, size: number): Promise<Buffer> {
  const buf = Buffer.allocUnsafeSlow(size);
  const count = await handle.read(buf, offset);
  if (count !== size) throw new CorruptionException('the file ends early', handle.path, offset);
  return buf;
}

async function readParts(handle: FileHandle, options: HFileReaderOptions): Promise<Parts> {
  const path = handle.path;
  const sizeBytes = await handle.size();
  const trailerOffset = sizeBytes - TRAILER_SIZE;
  if (trailerOffset < 0) throw new CorruptionException('the file is too short', path, 0);
  const tailOffset = Math.max(0, sizeBytes - TAIL_SIZE);
  const tail = await readFully(handle, tailOffset, sizeBytes - tailOffset);
  const { trailer, compression } = trailerOf(tail, path, sizeBytes);
  const codec = await (options.codecs ?? new Codecs()).load(compression);
  const context = { path, checksums: options.checksums ?? javascriptChecksums, codec };
  const loadAt = trailer.loadOnOpenOffset;
  let section: Buffer;
  if (loadAt >= tailOffset) {
    section = tail.subarray(loadAt - tailOffset, trailerOffset - tailOffset);
  } else {
    if (trailerOffset - loadAt > LOAD_ON_OPEN_SIZE_MAX) {
      throw new CorruptionException('the load-on-open section is too large', path, trailerOffset);
    }
    section = await readFully(handle, loadAt, trailerOffset - loadAt);
  }
  const blocks = openSection(context, section, loadAt);
  const stamp = options.stamp ?? null;
  return {
    ...decodeSection(context, blocks, trailer, sizeBytes, stamp),
    handle,
    sizeBytes,
    trailer,
    context,
    compression,
    stamp,
  };
}

function trailerOf(
  tail: Buffer,
  path: string,
  sizeBytes: number,
): { trailer: Trailer; compression: CompressionName } {
  try {
    const trailer = decodeTrailer(tail.subarray(tail.length - TRAILER_SIZE), sizeBytes);
    const compression = compressionOfId(trailer.compressionId);
    if (compression === null) throw new FormatFault(`unknown compression ${trailer.compressionId}`);
    return { trailer, compression };
  } catch (error) {
    throw locate(error, path, sizeBytes - TRAILER_SIZE);
  }
}

/** The blocks of the load-on-open section: they must fill it. */
function openSection(context: BlockContext, section: Buffer, offset: number): PlainBlock[] {
  const blocks: PlainBlock[] = [];
  for (let at = 0; at < section.length;) {
    const block = openBlock(context, section, at, section.length, offset + at);
    blocks.push(block);
    at += block.sizeOnDisk;
  }
  return blocks;
}

function decodeSection(
  context: BlockContext,
  blocks: readonly PlainBlock[],
  trailer: Trailer,
  sizeBytes: number,
  stamp: FileStamp | null,
): Pick<Parts, 'root' | 'metaIndex' | 'info' | 'blooms'> {
  const [rootBlock, metaBlock, infoBlock, ...blooms] = blocks;
  const { path } = context;
  if (rootBlock === undefined || metaBlock === undefined || infoBlock === undefined) {
    throw new CorruptionException('the load-on-open section is cut off', path, sizeBytes);
  }
  expectMagic(context, rootBlock, MAGIC_ROOT_INDEX);
  expectMagic(context, metaBlock, MAGIC_ROOT_INDEX);
  expectMagic(context, infoBlock, MAGIC_FILE_INFO);
  for (const block of blooms) {
    expectMagic(context, block, MAGIC_BLOOM_META, MAGIC_DELETE_FAMILY_BLOOM_META);
  }
  if (infoBlock.offset !== trailer.fileInfoOffset) {
    throw new CorruptionException('the trailer misplaces the file info', path, infoBlock.offset);
  }
  let offset = rootBlock.offset;
  try {
    const root = readRoot(rootBlock, trailer, sizeBytes, stamp);
    offset = metaBlock.offset;
    const metaReader = new ByteReader(metaBlock.data);
    const metaIndex = readRootEntries(metaReader, trailer.metaIndexCount, sizeBytes);
    check(metaReader.at === metaReader.end, 'the meta index has a wrong count');
    offset = infoBlock.offset;
    return { root, metaIndex, info: decodeFileInfo(infoBlock.data), blooms };
  } catch (error) {
    throw locate(error, path, offset);
  }
}

function readRoot(
  block: PlainBlock,
  trailer: Trailer,
  sizeBytes: number,
  stamp: FileStamp | null,
): IndexChunk {
  const reader = new ByteReader(block.data);
  const entries = readRootEntries(reader, trailer.dataIndexCount, sizeBytes);
  const rest = reader.end - reader.at;
  // Files of one level have no mid-key; other writers may leave it out of the rest too.
  check(
    rest === 0 || (rest === MID_KEY_SIZE && trailer.dataIndexLevels > 1),
    'the root index has a wrong count',
  );
  return new IndexChunk(block.offset, entries, stamp);
}

function bloomOf(parts: Parts, magic: string): BloomMeta | null {
  const block = parts.blooms.find((candidate) => candidate.magic === magic);
  if (block === undefined) return null;
  try {
    return decodeBloomMeta(block.data, parts.sizeBytes);
  } catch (error) {
    throw locate(error, parts.handle.path, block.offset);
  }
}
