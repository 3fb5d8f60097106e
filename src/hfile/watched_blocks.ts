/** A file's blocks as its cursors and Bloom filters see them, each use told to whoever watches: for explanations of reads. */
import type { BlockLookup, BlockRequest, CachedBlock } from './block_cache.ts';
import { BloomProbe } from './bloom_probe.ts';
import { HFileCursor } from './cursor.ts';
import type { BlockSource, CursorOptions } from './cursor.ts';
import type { IndexChunk } from './index_chunk.ts';
import type { FileStamp } from './data_block.ts';
import type { HFileReader } from './reader.ts';

/** Told of blocks. A move that is made again after a wait tells of the same blocks again. */
export interface BlockWatch {
  fromCache(block: CachedBlock): void;
  /** `sizeOnDisk` bytes. */
  fromDisk(block: CachedBlock, sizeOnDisk: number): void;
}

/** An open file whose blocks are watched. Its cursors and answers are those of the reader itself. */
export class WatchedFile implements BlockSource {
  readonly path: string;
  readonly root: IndexChunk;
  readonly indexLevels: number;
  readonly stamp: FileStamp | null;
  readonly cached: BlockLookup;
  readonly probe: BloomProbe;
  readonly #reader: HFileReader;
  readonly #watch: BlockWatch;

  constructor(reader: HFileReader, watch: BlockWatch) {
    this.path = reader.path;
    this.root = reader.root;
    this.indexLevels = reader.indexLevels;
    this.stamp = reader.stamp;
    this.#reader = reader;
    this.#watch = watch;
    const { cached } = reader;
    const watched = (block: CachedBlock | undefined): CachedBlock | undefined => {
      if (block !== undefined) watch.fromCache(block);
      return block;
    };
    this.cached = {
      has: (offset) => cached.has(offset),
      get: (offset) => watched(cached.get(offset)),
      peek: (offset) => watched(cached.peek(offset)),
    };
    const { properties, bloom, deleteFamilyBloom } = reader;
    this.probe = new BloomProbe({
      properties,
      bloom,
      deleteFamilyBloom,
      cached: this.cached,
      load: (request) => this.load(request, true),
    });
  }

  cursor(options: CursorOptions): HFileCursor {
    return new HFileCursor(this, options);
  }

  async load(request: BlockRequest, isKept: boolean): Promise<CachedBlock> {
    const block = await this.#reader.load(request, isKept);
    this.#watch.fromDisk(block, request.sizeOnDisk);
    return block;
  }

  async loadRun(requests: readonly BlockRequest[]): Promise<CachedBlock[]> {
    const blocks = await this.#reader.loadRun(requests);
    for (const [i, block] of blocks.entries()) this.#watch.fromDisk(block, requests[i]!.sizeOnDisk);
    return blocks;
  }

  keep(block: CachedBlock): void {
    this.#reader.keep(block);
  }
}
