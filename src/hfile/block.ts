/**
 * The frame around every block of an HFile (HBase: HFileBlock; protocol/files.md section 1.3). Integers big-endian.
 *
 *     offset  size  field
 *          0     8  magic
 *          8     4  stored size: stored data and checksums, without this header
 *         12     4  plain size: the data before compression
 *         16     8  offset of the previous block of this type, -1 if none
 *         24     1  checksum type: 0 none, 1 CRC32, 2 CRC32C
 *         25     4  bytes per checksum
 *         29     4  size of header and stored data
 *         33     n  stored data
 *       33+n   4·c  a checksum of each started `bytes per checksum` of header and stored data
 *
 * The encoding id of an encoded data block is the first two bytes of its plain data, so a codec compresses it too.
 * A block whose fields contradict each other, or whose checksums do not fit, is corrupt.
 */
import { CorruptionException } from '../io/index.ts';
import { putU32, u16, u32 } from '../cell/index.ts';
import { BYTES_PER_CHECKSUM, CHECKSUM_CRC32C } from './checksums.ts';
import { CHECKSUM_NONE, checksumsSize, putChecksums, verifyChecksums } from './checksums.ts';
import type { Checksums } from './checksums.ts';
import type { Codec } from './compression.ts';
import { FormatFault, check, locate } from './fault.ts';

export const BLOCK_HEADER_SIZE = 33;
const STORED_SIZE_AT = 8;
const PLAIN_SIZE_AT = 12;
const PREVIOUS_AT = 16;
const CHECKSUM_TYPE_AT = 24;
const BYTES_PER_CHECKSUM_AT = 25;
const DATA_SIZE_AT = 29;

/** No block that HBase or we write comes near; what claims more is damaged. Cells are at most 10 MiB by default. */
export const BLOCK_SIZE_MAX: number = 256 * 1024 * 1024;

/** On disk. */
export const MAGIC_DATA = 'DATABLK*';
export const MAGIC_ENCODED_DATA = 'DATABLKE';
export const MAGIC_LEAF_INDEX = 'IDXLEAF2';
export const MAGIC_INTERMEDIATE_INDEX = 'IDXINTE2';
export const MAGIC_ROOT_INDEX = 'IDXROOT2';
export const MAGIC_BLOOM_CHUNK = 'BLMFBLK2';
export const MAGIC_BLOOM_META = 'BLMFMET2';
export const MAGIC_DELETE_FAMILY_BLOOM_META = 'DFBLMET2';
export const MAGIC_META = 'METABLKc';
export const MAGIC_FILE_INFO = 'FILEINF2';

export type BlockMagic =
  | typeof MAGIC_DATA
  | typeof MAGIC_ENCODED_DATA
  | typeof MAGIC_LEAF_INDEX
  | typeof MAGIC_INTERMEDIATE_INDEX
  | typeof MAGIC_ROOT_INDEX
  | typeof MAGIC_BLOOM_CHUNK
  | typeof MAGIC_BLOOM_META
  | typeof MAGIC_DELETE_FAMILY_BLOOM_META
  | typeof MAGIC_META
  | typeof MAGIC_FILE_INFO;

const MAGICS: ReadonlySet<string> = new Set([
  MAGIC_DATA,
  MAGIC_ENCODED_DATA,
  MAGIC_LEAF_INDEX,
  MAGIC_INTERMEDIATE_INDEX,
  MAGIC_ROOT_INDEX,
  MAGIC_BLOOM_CHUNK,
  MAGIC_BLOOM_META,
  MAGIC_DELETE_FAMILY_BLOOM_META,
  MAGIC_META,
  MAGIC_FILE_INFO,
]);

/** A block with its data as it was before compression. */
export interface PlainBlock {
  readonly magic: BlockMagic;
  /** Offset in the file. */
  readonly offset: number;
  /** Header, stored data and checksums. */
  readonly sizeOnDisk: number;
  /** Of an encoded data block; 0 for all others. */
  readonly encodingId: number;
  /** Without the encoding id. May be a view of the bytes that were read. */
  readonly data: Uint8Array;
}

/** What is needed to open the blocks of one file. */
export interface BlockContext {
  readonly path: string;
  readonly checksums: Checksums;
  readonly codec: Codec | null;
}

/**
 * Checks and decompresses the block that stands at `at` of `buf` and at `offset` of the file; it must end at or before
 * `end`. Throws CorruptionException.
 */
export function openBlock(
  context: BlockContext,
  buf: Uint8Array,
  at: number,
  end: number,
  offset: number,
): PlainBlock {
  try {
    return open(context, buf, at, end, offset);
  } catch (error) {
    throw locate(error, context.path, offset);
  }
}

function open(
  context: BlockContext,
  buf: Uint8Array,
  at: number,
  end: number,
  offset: number,
): PlainBlock {
  check(end - at >= BLOCK_HEADER_SIZE, 'a block header is cut off');
  const magic = Buffer.from(buf.buffer, buf.byteOffset + at, 8).toString('latin1');
  if (!isBlockMagic(magic)) throw new FormatFault('a block has an unknown magic');
  const storedSize = u32(buf, at + STORED_SIZE_AT);
  const plainSize = u32(buf, at + PLAIN_SIZE_AT);
  const checksumType = buf[at + CHECKSUM_TYPE_AT]!;
  const bytesPerChecksum = u32(buf, at + BYTES_PER_CHECKSUM_AT);
  const dataSize = u32(buf, at + DATA_SIZE_AT);
  check(storedSize <= end - at - BLOCK_HEADER_SIZE, 'a block reaches past its end');
  check(plainSize <= BLOCK_SIZE_MAX, 'a block is too large');
  check(checksumType <= CHECKSUM_CRC32C, 'a block has an unknown checksum type');
  check(checksumType === CHECKSUM_NONE || bytesPerChecksum > 0, 'a checksum covers no bytes');
  const sums = checksumsSize(checksumType, dataSize, bytesPerChecksum);
  check(
    dataSize >= BLOCK_HEADER_SIZE && dataSize + sums === BLOCK_HEADER_SIZE + storedSize,
    'the sizes of a block contradict each other',
  );
  const dataEnd = at + dataSize;
  verifyChecksums(context.checksums, checksumType, bytesPerChecksum, buf, at, dataEnd);
  const stored = buf.subarray(at + BLOCK_HEADER_SIZE, dataEnd);
  const plain = context.codec === null ? stored : context.codec.decompress(stored, plainSize);
  check(plain.length === plainSize, 'a block has another length than its header says');
  const sizeOnDisk = BLOCK_HEADER_SIZE + storedSize;
  if (magic !== MAGIC_ENCODED_DATA)
    return { magic, offset, sizeOnDisk, encodingId: 0, data: plain };
  check(plainSize >= 2, 'an encoded block has no encoding');
  return { magic, offset, sizeOnDisk, encodingId: u16(plain, 0), data: plain.subarray(2) };
}

function isBlockMagic(text: string): text is BlockMagic {
  return MAGICS.has(text);
}

/** Asserts that a block is one of the kinds that may stand where it was found. */
export function expectMagic(
  context: BlockContext,
  block: PlainBlock,
  ...magics: BlockMagic[]
): void {
  if (magics.includes(block.magic)) return;
  throw new CorruptionException(
    `a block of type ${block.magic} instead of ${magics.join(' or ')}`,
    context.path,
    block.offset,
  );
}

export interface BlockSizes {
  readonly sizeOnDisk: number;
  /** Header and plain data, without checksums. */
  readonly plainSizeWithHeader: number;
}

/**
 * Where finished blocks go: bytes in file order, handed out by `take`. One growing buffer; a block's plain data is put
 * together elsewhere and copied or compressed into it.
 */
export class BlockOutput {
  readonly #checksums: Checksums;
  readonly #codec: Codec | null;
  readonly #previous: Map<string, number> = new Map();
  #buf: Buffer;
  #length = 0;
  /** Bytes handed out before. */
  #takenSize = 0;

  constructor(checksums: Checksums, codec: Codec | null, capacity: number) {
    this.#checksums = checksums;
    this.#codec = codec;
    this.#buf = Buffer.allocUnsafeSlow(capacity);
  }

  /** Offset in the file of the next block. */
  get offset(): number {
    return this.#takenSize + this.#length;
  }

  get bufferedSize(): number {
    return this.#length;
  }

  /** Adds a block of the plain bytes `data[0 … dataLength)`; of MAGIC_ENCODED_DATA the first two are the encoding id. */
  add(magic: BlockMagic, data: Uint8Array, dataLength: number): BlockSizes {
    const plain = data.subarray(0, dataLength);
    const stored = this.#codec === null ? plain : this.#codec.compress(plain);
    const dataSize = BLOCK_HEADER_SIZE + stored.length;
    const sizeOnDisk = dataSize + checksumsSize(CHECKSUM_CRC32C, dataSize, BYTES_PER_CHECKSUM);
    this.#reserve(sizeOnDisk);
    const buf = this.#buf;
    const at = this.#length;
    buf.write(magic, at, 'latin1');
    putU32(buf, at + STORED_SIZE_AT, sizeOnDisk - BLOCK_HEADER_SIZE);
    putU32(buf, at + PLAIN_SIZE_AT, dataLength);
    buf.writeBigInt64BE(BigInt(this.#previousOf(magic)), at + PREVIOUS_AT);
    buf[at + CHECKSUM_TYPE_AT] = CHECKSUM_CRC32C;
    putU32(buf, at + BYTES_PER_CHECKSUM_AT, BYTES_PER_CHECKSUM);
    putU32(buf, at + DATA_SIZE_AT, dataSize);
    buf.set(stored, at + BLOCK_HEADER_SIZE);
    this.#length = putChecksums(this.#checksums, buf, at, at + dataSize);
    return { sizeOnDisk, plainSizeWithHeader: BLOCK_HEADER_SIZE + dataLength };
  }

  /** Adds bytes that are no block: the trailer. */
  addRaw(data: Uint8Array): void {
    this.#reserve(data.length);
    this.#buf.set(data, this.#length);
    this.#length += data.length;
  }

  /** Hands out what is buffered: valid until the next `add`. */
  take(): Uint8Array {
    const taken = this.#buf.subarray(0, this.#length);
    this.#takenSize += this.#length;
    this.#length = 0;
    return taken;
  }

  #previousOf(magic: BlockMagic): number {
    const at = this.offset;
    const before = this.#previous.get(magic) ?? -1;
    this.#previous.set(magic, at);
    return before;
  }

  #reserve(size: number): void {
    const needed = this.#length + size;
    if (needed <= this.#buf.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buf.length));
    this.#buf.copy(grown, 0, 0, this.#length);
    this.#buf = grown;
  }
}
