/**
 * Writes an HFile of version 3: cells in order, one after the other. For the same cells and settings the bytes are those of
 * HBase's writer, but for the text of compressed blocks (HBase: HFileWriterImpl, StoreFileWriter; protocol/files.md
 * section 1).
 *
 * `append` is synchronous and fills a buffer; when it answers true the caller awaits `drain` before the next cell. The
 * file is synced in steps while it grows, so that its last sync is short and none holds up the log's for long.
 */
import { invariant } from '../io/index.ts';
import type { FileHandle, FileSystem } from '../io/index.ts';
import { TYPE_DELETE_FAMILY, TYPE_DELETE_FAMILY_VERSION, u16 } from '../cell/index.ts';
import type { CellView } from '../cell/index.ts';
import {
  BlockOutput,
  MAGIC_BLOOM_META,
  MAGIC_DATA,
  MAGIC_DELETE_FAMILY_BLOOM_META,
  MAGIC_ENCODED_DATA,
  MAGIC_FILE_INFO,
  MAGIC_ROOT_INDEX,
} from './block.ts';
import type { EncodingName } from './block_decoding.ts';
import { DataBlockBuilder } from './block_encoding.ts';
import { BLOOM_CELL_COMPARATOR, columnKeySize, putColumnKey } from './bloom.ts';
import type { BloomType } from './bloom.ts';
import { BloomWriter } from './bloom_writer.ts';
import { javascriptChecksums } from './checksums.ts';
import type { Checksums } from './checksums.ts';
import { compareShort } from './data_block.ts';
import { COMPRESSION_IDS, Codecs } from './compression.ts';
import type { Codec, CompressionName } from './compression.ts';
import { IndexWriter, indexKeyBetween } from './index_writer.ts';
import type { IndexSummary } from './index_writer.ts';
import { TRAILER_SIZE, encodeFileInfo, encodeTrailer } from './metadata.ts';
import { CellStatistics, fileInfoOf } from './writer_info.ts';

export const BLOCK_SIZE_DEFAULT = 65536;
/** HBase: hfile.index.block.max.size, hfile.index.block.min.entries. */
const INDEX_CHUNK_BYTES_DEFAULT: number = 128 * 1024;
const INDEX_ENTRIES_MIN_DEFAULT = 16;
/** HBase: io.storefile.bloom.block.size, io.storefile.bloom.error.rate. */
const BLOOM_CHUNK_BYTES_DEFAULT: number = 128 * 1024;
const BLOOM_ERROR_RATE_DEFAULT = 0.01;
const SYNC_STEP_BYTES_DEFAULT: number = 1024 * 1024;

export interface HFileWriterOptions {
  /** Unix milliseconds, for hfile.CREATE_TIME_TS. */
  readonly createdMs: number;
  /** Plain bytes at which a data block is closed. Default 65536. */
  readonly blockSizeBytes?: number;
  readonly encoding?: EncodingName;
  readonly compression?: CompressionName;
  readonly bloomType?: BloomType;
  /** Of ROWPREFIX_FIXED_LENGTH. */
  readonly bloomPrefixLength?: number;
  /** Cells may have tags. Without it a cell with tags is a broken promise. */
  readonly hasTags?: boolean;
  /** Write numbers are kept. Default true. */
  readonly hasWriteNumbers?: boolean;
  /** MAX_SEQ_ID_KEY, for HBase's tools. */
  readonly maxSequenceId?: bigint;
  /** MAJOR_COMPACTION_KEY. */
  readonly isMajorCompaction?: boolean;
  readonly isExcludedFromMinorCompaction?: boolean;
  /** Further file info. Keys are ASCII and do not begin with `hfile.`. */
  readonly extraInfo?: ReadonlyMap<string, Uint8Array>;
  /** Whether the file is on the disk when `finish` settles; its folder entry is the caller's to sync. Default true. */
  readonly isSynced?: boolean;
  /** Bytes written between syncs, and buffered between writes. */
  readonly syncStepBytes?: number;
  readonly indexChunkBytes?: number;
  readonly indexEntriesMin?: number;
  readonly bloomChunkBytes?: number;
  readonly bloomErrorRate?: number;
  readonly checksums?: Checksums;
  readonly codecs?: Codecs;
}

/** What was written. The keys are flat keys of their own. */
export interface HFileSummary {
  readonly path: string;
  readonly sizeBytes: number;
  readonly cellCount: number;
  /** Bytes of all KeyValues, tags included. */
  readonly cellBytes: number;
  readonly rowCount: number;
  readonly dataBlockCount: number;
  /** Null in a file without cells. */
  readonly firstKey: Uint8Array | null;
  readonly lastKey: Uint8Array | null;
  /** Of the cells as they are; 0 in a file without cells. */
  readonly timestampMin: bigint;
  readonly timestampMax: bigint;
  /** As TIMERANGE states it: from 0 if a marker reaches down to there. */
  readonly timeRangeMin: bigint;
  readonly writeMin: bigint;
  readonly writeMax: bigint;
  readonly putCount: number;
  /** Markers of all types. */
  readonly deleteCount: number;
  /** DeleteFamily and DeleteFamilyVersion among them. */
  readonly deleteFamilyCount: number;
  readonly hasTags: boolean;
}

export class HFileWriter {
  readonly path: string;
  readonly #fs: FileSystem;
  readonly #handle: FileHandle;
  readonly #options: HFileWriterOptions;
  readonly #blockSizeBytes: number;
  readonly #syncStepBytes: number;
  readonly #output: BlockOutput;
  readonly #block: DataBlockBuilder;
  readonly #index: IndexWriter;
  readonly #bloomType: BloomType;
  readonly #bloomPrefixLength: number;
  readonly #bloom: BloomWriter | null;
  readonly #deleteFamilyBloom: BloomWriter | null;
  readonly #statistics: CellStatistics = new CellStatistics();
  readonly #hasTags: boolean;
  /** Flat key of the cell before, and where its parts are. */
  #last: Buffer = Buffer.allocUnsafeSlow(1024);
  #lastLength = 0;
  #lastWriteHigh = 0;
  #lastWriteLow = 0;
  #family: Uint8Array = new Uint8Array(0);
  #firstKey: Uint8Array | null = null;
  /** First flat key of the block being built, last one of the block before. */
  #blockFirstKey: Uint8Array = new Uint8Array(0);
  #blockBeforeLastKey: Uint8Array | null = null;
  #bloomKey: Uint8Array = new Uint8Array(256);
  #bloomKeyLength = 0;
  #firstDataBlockOffset = -1;
  #lastDataBlockOffset = -1;
  #dataBlockCount = 0;
  #plainSize = 0;
  #writtenSize = 0;
  #syncedSize = 0;
  #isClosed = false;

  private constructor(
    fs: FileSystem,
    handle: FileHandle,
    options: HFileWriterOptions,
    codec: Codec | null,
  ) {
    this.path = handle.path;
    this.#fs = fs;
    this.#handle = handle;
    this.#options = options;
    this.#blockSizeBytes = options.blockSizeBytes ?? BLOCK_SIZE_DEFAULT;
    this.#syncStepBytes = options.syncStepBytes ?? SYNC_STEP_BYTES_DEFAULT;
    this.#hasTags = options.hasTags ?? false;
    const checksums = options.checksums ?? javascriptChecksums;
    this.#output = new BlockOutput(
      checksums,
      codec,
      this.#syncStepBytes + 2 * this.#blockSizeBytes,
    );
    this.#block = new DataBlockBuilder(
      options.encoding ?? 'NONE',
      { hasTags: this.#hasTags, hasWriteNumbers: options.hasWriteNumbers ?? true },
      this.#blockSizeBytes,
    );
    this.#index = new IndexWriter(
      this.#output,
      options.indexChunkBytes ?? INDEX_CHUNK_BYTES_DEFAULT,
      options.indexEntriesMin ?? INDEX_ENTRIES_MIN_DEFAULT,
    );
    this.#bloomType = options.bloomType ?? 'NONE';
    this.#bloomPrefixLength = options.bloomPrefixLength ?? 0;
    invariant(
      this.#bloomType !== 'ROWPREFIX_FIXED_LENGTH' || this.#bloomPrefixLength > 0,
      'a prefix Bloom filter has a prefix length',
    );
    const isByColumn = this.#bloomType === 'ROWCOL';
    const errorRate = Math.fround(options.bloomErrorRate ?? BLOOM_ERROR_RATE_DEFAULT);
    const bloomOptions = {
      chunkBytes: options.bloomChunkBytes ?? BLOOM_CHUNK_BYTES_DEFAULT,
      // HBase asks a ROWCOL filter twice, for the column and the row's markers: each gets half of the error. In float, as Java.
      errorRate: isByColumn ? Math.fround(1 - Math.sqrt(1 - errorRate)) : errorRate,
      comparator: isByColumn ? BLOOM_CELL_COMPARATOR : '',
    };
    this.#bloom = this.#bloomType === 'NONE' ? null : new BloomWriter(this.#output, bloomOptions);
    // A ROWCOL filter has the markers' empty qualifiers among its keys; HBase writes no second filter beside it.
    this.#deleteFamilyBloom = isByColumn ? null : new BloomWriter(this.#output, bloomOptions);
  }

  /** Creates the file, which must not exist. Throws IoException. */
  static async create(
    fs: FileSystem,
    path: string,
    options: HFileWriterOptions,
  ): Promise<HFileWriter> {
    const codec = await (options.codecs ?? new Codecs()).load(options.compression ?? 'NONE');
    const handle = await fs.open(path, 'create');
    return new HFileWriter(fs, handle, options, codec);
  }

  /** Bytes of the file so far. */
  get sizeBytes(): number {
    return this.#output.offset;
  }

  get cellCount(): number {
    return this.#statistics.cellCount;
  }

  /** Adds a cell, copying it. It must not be before the last one. True: `drain` before the next cell. */
  append(cell: CellView): boolean {
    invariant(!this.#isClosed, 'a closed writer takes no cells');
    invariant(
      this.#hasTags || cell.tagsLength === 0,
      'a file without tags takes no cell with tags',
    );
    const keyLength = cell.timestampAt + 9 - cell.at - 8;
    this.#checkFamily(cell);
    const shared = this.#orderAfterLast(cell);
    const block = this.#block;
    // Cells of equal keys are kept in one block, as HBase does.
    if (shared !== SAME_KEY && block.cellCount > 0) {
      if (block.plainSize >= this.#blockSizeBytes || block.encodedSize >= this.#blockSizeBytes) {
        this.#finishBlock();
        this.#writeInlineBlocks(false);
      }
    }
    if (block.cellCount === 0) {
      this.#blockFirstKey = Uint8Array.from(
        cell.block.subarray(cell.at + 8, cell.at + 8 + keyLength),
      );
      this.#firstKey ??= this.#blockFirstKey;
    }
    const startsRow = shared === OTHER_ROW;
    block.append(cell, startsRow);
    this.#statistics.add(cell, keyLength, startsRow);
    this.#addToBlooms(cell, shared);
    if (shared !== SAME_KEY) this.#keepLast(cell, keyLength);
    this.#lastWriteHigh = cell.writeHigh;
    this.#lastWriteLow = cell.writeLow;
    return this.#output.bufferedSize >= this.#syncStepBytes;
  }

  /** Writes what is buffered. Not while another call is under way. Rejects with IoException. */
  async drain(): Promise<void> {
    const data = this.#output.take();
    if (data.length > 0) await this.#handle.write(data, this.#writtenSize);
    this.#writtenSize += data.length;
    if (this.#options.isSynced === false) return;
    if (this.#writtenSize - this.#syncedSize < this.#syncStepBytes) return;
    await this.#handle.sync();
    this.#syncedSize = this.#writtenSize;
  }

  /** Completes the file, syncs and closes it. Rejects with IoException; then `abort`. */
  async finish(): Promise<HFileSummary> {
    invariant(!this.#isClosed, 'a writer is finished once');
    this.#finishBlock();
    this.#writeInlineBlocks(true);
    const index = this.#index.writeRoot();
    this.#plainSize += index.intermediatePlainSize;
    this.#add(MAGIC_ROOT_INDEX, new Uint8Array(0)); // The meta index: there are no meta blocks.
    const fileInfoOffset = this.#output.offset;
    this.#add(MAGIC_FILE_INFO, encodeFileInfo(this.#fileInfo()));
    if (this.#bloom !== null && this.#bloom.keyCount > 0) {
      this.#plainSize += this.#bloom.writeMeta(MAGIC_BLOOM_META);
    }
    if (this.#deleteFamilyBloom !== null && this.#deleteFamilyBloom.keyCount > 0) {
      this.#plainSize += this.#deleteFamilyBloom.writeMeta(MAGIC_DELETE_FAMILY_BLOOM_META);
    }
    this.#output.addRaw(this.#trailer(index, fileInfoOffset));
    await this.drain();
    if (this.#options.isSynced !== false && this.#syncedSize < this.#writtenSize) {
      await this.#handle.sync();
    }
    this.#isClosed = true;
    await this.#handle.close();
    return this.#summary();
  }

  /** Closes and removes the file. Idempotent; does nothing after a successful `finish`. */
  async abort(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#handle.close();
    await this.#fs.remove(this.path);
  }

  #checkFamily(cell: CellView): void {
    const at = cell.rowAt + cell.rowLength;
    const { block } = cell;
    // The family with the length before it; empty before the first cell.
    if (this.#family.length === 0)
      this.#family = Uint8Array.from(block.subarray(at, at + 1 + block[at]!));
    const family = this.#family;
    for (let i = 0; i < family.length; i++) {
      invariant(family[i] === block[at + i], 'all cells of a file are of one family', this.path);
    }
  }

  /** Checks the order and says what the cell shares with the one before. */
  #orderAfterLast(cell: CellView): Shared {
    if (this.#lastLength === 0) return OTHER_ROW;
    const last = this.#last;
    const { block } = cell;
    const lastRowLength = u16(last, 0);
    const rows = compareShort(block, cell.rowAt, cell.rowLength, last, 2, lastRowLength);
    invariant(rows >= 0, 'cells come in order of their rows', this.path);
    if (rows > 0) return OTHER_ROW;
    const lastQualifierAt = cell.qualifierAt - cell.at - 8;
    const lastTimestampAt = this.#lastLength - 9;
    const qualifiers = compareShort(
      block,
      cell.qualifierAt,
      cell.qualifierLength,
      last,
      lastQualifierAt,
      lastTimestampAt - lastQualifierAt,
    );
    invariant(qualifiers >= 0, 'cells come in order of their qualifiers', this.path);
    if (qualifiers > 0) return SAME_ROW;
    for (let i = 0; i < 9; i++) {
      const difference = last[lastTimestampAt + i]! - block[cell.timestampAt + i]!;
      invariant(difference >= 0, 'cells come newest first', this.path);
      if (difference > 0) return SAME_COLUMN;
    }
    invariant(
      cell.writeHigh < this.#lastWriteHigh ||
        (cell.writeHigh === this.#lastWriteHigh && cell.writeLow <= this.#lastWriteLow),
      'cells of one key come in falling order of their write numbers',
      this.path,
    );
    return SAME_KEY;
  }

  #keepLast(cell: CellView, keyLength: number): void {
    if (this.#last.length < keyLength) this.#last = Buffer.allocUnsafeSlow(2 * keyLength);
    const last = this.#last;
    const { block } = cell;
    const from = cell.at + 8;
    if (keyLength >= 64) last.set(block.subarray(from, from + keyLength), 0);
    else for (let i = 0; i < keyLength; i++) last[i] = block[from + i]!;
    this.#lastLength = keyLength;
  }

  #addToBlooms(cell: CellView, shared: Shared): void {
    const bloom = this.#bloom;
    if (bloom !== null) {
      if (this.#bloomType === 'ROWCOL') {
        if (shared === OTHER_ROW || shared === SAME_ROW) this.#addColumn(bloom, cell);
      } else if (shared === OTHER_ROW) this.#addRow(bloom, cell);
    }
    const type = cell.block[cell.timestampAt + 8]!;
    if (type !== TYPE_DELETE_FAMILY && type !== TYPE_DELETE_FAMILY_VERSION) return;
    this.#statistics.deleteFamilyCount++;
    this.#deleteFamilyBloom?.addRowOnce(cell.block, cell.rowAt, cell.rowLength);
  }

  #addRow(bloom: BloomWriter, cell: CellView): void {
    const isPrefix = this.#bloomType === 'ROWPREFIX_FIXED_LENGTH';
    const length = isPrefix ? Math.min(cell.rowLength, this.#bloomPrefixLength) : cell.rowLength;
    bloom.addRowOnce(cell.block, cell.rowAt, length);
  }

  #addColumn(bloom: BloomWriter, cell: CellView): void {
    const size = columnKeySize(cell.rowLength, cell.qualifierLength);
    if (this.#bloomKey.length < size) this.#bloomKey = new Uint8Array(2 * size);
    this.#bloomKeyLength = putColumnKey(
      this.#bloomKey,
      cell.block,
      cell.rowAt,
      cell.rowLength,
      cell.block,
      cell.qualifierAt,
      cell.qualifierLength,
    );
    bloom.add(this.#bloomKey, 0, this.#bloomKeyLength);
  }

  #finishBlock(): void {
    const block = this.#block;
    if (block.cellCount === 0) return;
    block.finish();
    const offset = this.#output.offset;
    const magic = block.isEncoded ? MAGIC_ENCODED_DATA : MAGIC_DATA;
    const sizes = this.#output.add(magic, block.bytes, block.length);
    const key = indexKeyBetween(this.#blockBeforeLastKey, this.#blockFirstKey);
    this.#index.add(key, offset, sizes.sizeOnDisk);
    this.#plainSize += sizes.plainSizeWithHeader;
    this.#blockBeforeLastKey = Uint8Array.from(this.#last.subarray(0, this.#lastLength));
    if (this.#firstDataBlockOffset < 0) this.#firstDataBlockOffset = offset;
    this.#lastDataBlockOffset = offset;
    this.#dataBlockCount++;
    block.reset();
  }

  #writeInlineBlocks(isClosing: boolean): void {
    this.#plainSize += this.#index.writeLeaf(isClosing);
    if (this.#bloom !== null) this.#plainSize += this.#bloom.writeChunks(isClosing);
    if (this.#deleteFamilyBloom !== null) {
      this.#plainSize += this.#deleteFamilyBloom.writeChunks(isClosing);
    }
  }

  #add(magic: typeof MAGIC_ROOT_INDEX | typeof MAGIC_FILE_INFO, data: Uint8Array): void {
    this.#plainSize += this.#output.add(magic, data, data.length).plainSizeWithHeader;
  }

  #fileInfo(): Map<string, Uint8Array> {
    const bloomKey =
      this.#bloomType === 'ROWCOL'
        ? this.#bloomKey.subarray(0, this.#bloomKeyLength)
        : (this.#bloom?.lastKey ?? new Uint8Array(0));
    return fileInfoOf(this.#statistics, this.#options, {
      lastKey: this.#last.subarray(0, this.#lastLength),
      lastBloomKey: bloomKey,
      hasBloom: this.#bloom !== null && this.#bloom.keyCount > 0,
    });
  }

  #trailer(index: IndexSummary, fileInfoOffset: number): Uint8Array {
    return encodeTrailer({
      fileInfoOffset,
      loadOnOpenOffset: index.rootOffset,
      dataIndexSize: index.plainSize,
      plainSize: this.#plainSize + TRAILER_SIZE,
      dataIndexCount: index.rootCount,
      metaIndexCount: 0,
      cellCount: this.#statistics.cellCount,
      dataIndexLevels: index.levels,
      firstDataBlockOffset: this.#firstDataBlockOffset,
      lastDataBlockOffset: this.#lastDataBlockOffset,
      compressionId: COMPRESSION_IDS[this.#options.compression ?? 'NONE'],
    });
  }

  #summary(): HFileSummary {
    const isEmpty = this.#statistics.cellCount === 0;
    return {
      ...this.#statistics.summary(),
      path: this.path,
      sizeBytes: this.#writtenSize,
      dataBlockCount: this.#dataBlockCount,
      firstKey: this.#firstKey,
      lastKey: isEmpty ? null : Uint8Array.from(this.#last.subarray(0, this.#lastLength)),
      hasTags: this.#hasTags,
    };
  }
}

/** What a cell shares with the one before. */
const OTHER_ROW = 0;
const SAME_ROW = 1;
const SAME_COLUMN = 2;
const SAME_KEY = 3;
type Shared = typeof OTHER_ROW | typeof SAME_ROW | typeof SAME_COLUMN | typeof SAME_KEY;
