/**
 * Hadoop's SequenceFile, version 6, with the classes that HBase's Export writes and Import reads (protocol/files.md section 2).
 *
 *     "SEQ" 06 · text key class · text value class · byte compressed · byte by blocks · [text codec class]
 *     · u32 count of metadata, then as many pairs of texts · 16 bytes sync mark · records
 *
 *     text         vint length, UTF-8
 *     record       u32 length of key and value · u32 length of key · key · value (alone through the codec if compressed)
 *     sync         u32 ff ff ff ff · sync mark: before a record once SYNC_INTERVAL bytes have passed
 *     block        u32 ff ff ff ff · sync mark · vint records · four of { vint length · bytes through the codec }:
 *                  key lengths (vints), keys, value lengths (vints), values
 *
 * A key is a row: u32 length · bytes (ImmutableBytesWritable). A value is a delimited Result (result_message.ts).
 */
import { NO_BYTES, putU32, u32 } from '../cell/index.ts';
import { hadoopClassOf, hadoopStreamOf, loadHadoopCodec } from '../hfile/index.ts';
import type { StreamCodec } from '../hfile/index.ts';
import { CorruptionException } from '../io/index.ts';
import type { Env, FileHandle } from '../io/index.ts';

export const KEY_CLASS = 'org.apache.hadoop.hbase.io.ImmutableBytesWritable';
export const VALUE_CLASS = 'org.apache.hadoop.hbase.client.Result';
const MAGIC: Uint8Array = Buffer.from('SEQ\x06', 'latin1');
const SYNC_SIZE = 16;
/** Records are handed on in pieces of about this size. */
const CHUNK_BYTES: number = 1024 * 1024;
const SYNC_ESCAPE = 0xffffffff;
/** Hadoop 3: SequenceFile.SYNC_INTERVAL. */
const SYNC_INTERVAL: number = 5 * 1024 * (4 + SYNC_SIZE);
/** Hadoop: io.seqfile.compress.blocksize. */
const BLOCK_BYTES = 1_000_000;
/** A record beyond this is damage, not data. */
const RECORD_BYTES_MAX = 0x3fffffff;

export const SEQUENCE_COMPRESSIONS = ['none', 'deflate', 'gz', 'snappy', 'lz4', 'zstd'] as const;
export type SequenceCompression = (typeof SEQUENCE_COMPRESSIONS)[number];

/** One loaded codec: the class that files name, and what it does to bytes. */
export interface SequenceCodec extends StreamCodec {
  readonly className: string;
}

/** The codec that we write; null for none. Its package is loaded now. */
export async function sequenceCodec(name: SequenceCompression): Promise<SequenceCodec | null> {
  const className = hadoopClassOf(name);
  return className === null ? null : codecOfClass(className);
}

/** Null for a class that is not known. */
async function codecOfClass(className: string): Promise<SequenceCodec | null> {
  const stream = hadoopStreamOf(className);
  return stream === null ? null : { className, ...(await loadHadoopCodec(stream)) };
}

function putVint(value: number): Uint8Array {
  if (value <= 127) return Uint8Array.of(value);
  const bytes: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Uint8Array.of(0x90 - bytes.length, ...bytes);
}

const textOf = (text: string): Uint8Array => {
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([putVint(bytes.length), bytes]);
};

/** Where bytes go. */
export interface ByteSink {
  /** Copies nothing: the bytes stay as they are until the sink is drained. */
  add(bytes: Uint8Array): boolean;
}

/** Forms the bytes of one file; what they go to is the caller's. */
export class SequenceFileWriter {
  readonly #out: ByteSink;
  readonly #codec: SequenceCodec | null;
  readonly #sync: Uint8Array;
  #sinceSync = 0;
  /** Records gather in one chunk while the sink has the other. */
  #chunk: Uint8Array = NO_BYTES;
  #other: Uint8Array = NO_BYTES;
  #at = 0;
  #keyLengths: Uint8Array[] = [];
  #keys: Uint8Array[] = [];
  #valueLengths: Uint8Array[] = [];
  #values: Uint8Array[] = [];
  #blockBytes = 0;

  /** `sync` are 16 random bytes; without a codec records are not compressed. */
  constructor(out: ByteSink, codec: SequenceCodec | null, sync: Uint8Array) {
    this.#out = out;
    this.#codec = codec;
    this.#sync = sync;
    const isPacked = codec !== null;
    out.add(
      Buffer.concat([
        MAGIC,
        textOf(KEY_CLASS),
        textOf(VALUE_CLASS),
        Uint8Array.of(isPacked ? 1 : 0, isPacked ? 1 : 0),
        ...(codec === null ? [] : [textOf(codec.className)]),
        new Uint8Array(4),
        sync,
      ]),
    );
  }

  /** Adds a record; the bytes are copied. True: the sink is to be drained before the next one. */
  append(row: Uint8Array, value: Uint8Array): boolean {
    return this.#codec === null ? this.#plain(row, value) : this.#toBlock(row, value);
  }

  #plain(row: Uint8Array, value: Uint8Array): boolean {
    const syncSize = this.#sinceSync >= SYNC_INTERVAL ? 4 + SYNC_SIZE : 0;
    const size = syncSize + 12 + row.length + value.length;
    const isHanded = size > this.#chunk.length - this.#at && this.#hand(size);
    const buf = this.#chunk;
    let at = this.#at;
    if (syncSize > 0) {
      putU32(buf, at, SYNC_ESCAPE);
      buf.set(this.#sync, at + 4);
      at += syncSize;
      this.#sinceSync = 0;
    }
    putU32(buf, at, 4 + row.length + value.length);
    putU32(buf, at + 4, 4 + row.length);
    putU32(buf, at + 8, row.length);
    buf.set(row, at + 12);
    buf.set(value, at + 12 + row.length);
    this.#at += size;
    this.#sinceSync += size;
    return isHanded;
  }

  /** Gives the chunk to the sink and takes the other, with room for `size` bytes. False: there was nothing to give. */
  #hand(size: number): boolean {
    const given = this.#at > 0;
    if (given) this.#out.add(this.#chunk.subarray(0, this.#at));
    const next = this.#other;
    this.#other = this.#chunk;
    this.#chunk = next.length >= size ? next : new Uint8Array(Math.max(size, CHUNK_BYTES));
    this.#at = 0;
    return given;
  }

  #toBlock(row: Uint8Array, value: Uint8Array): boolean {
    const key = Buffer.allocUnsafe(4 + row.length);
    putU32(key, 0, row.length);
    key.set(row, 4);
    this.#keyLengths.push(putVint(key.length));
    this.#keys.push(key);
    this.#valueLengths.push(putVint(value.length));
    this.#values.push(Uint8Array.from(value));
    this.#blockBytes += key.length + value.length;
    return this.#blockBytes >= BLOCK_BYTES && this.#endBlock();
  }

  #endBlock(): boolean {
    const count = this.#keys.length;
    const codec = this.#codec;
    if (count === 0 || codec === null) return false;
    const parts = [this.#keyLengths, this.#keys, this.#valueLengths, this.#values].flatMap(
      (pieces) => {
        const packed = codec.compress(Buffer.concat(pieces));
        return [putVint(packed.length), packed];
      },
    );
    const escape = new Uint8Array(4).fill(0xff);
    this.#keyLengths = [];
    this.#keys = [];
    this.#valueLengths = [];
    this.#values = [];
    this.#blockBytes = 0;
    return this.#out.add(Buffer.concat([escape, this.#sync, putVint(count), ...parts]));
  }

  /** Writes what was gathered. */
  finish(): void {
    this.#endBlock();
    if (this.#at > 0) this.#hand(0);
  }
}

/** A record of a file. Valid until the next is asked for. */
export interface SequenceRecord {
  readonly row: Uint8Array;
  readonly value: Uint8Array;
  /** Offset of the record, or of its block, and its number in that. */
  readonly offset: number;
}

/** Reads a file in pieces, from any offset. */
class Input {
  readonly #handle: FileHandle;
  #buf: Uint8Array = new Uint8Array(256 * 1024);
  #base = 0;
  #length = 0;
  #at = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  get path(): string {
    return this.#handle.path;
  }

  get offset(): number {
    return this.#base + this.#at;
  }

  /** Whether all bytes were taken. */
  async isAtEnd(): Promise<boolean> {
    return this.#at === this.#length && !(await this.#fill(1));
  }

  async #fill(count: number): Promise<boolean> {
    if (this.#length - this.#at >= count) return true;
    const rest = this.#buf.subarray(this.#at, this.#length);
    const size = Math.max(this.#buf.length, count);
    // Bytes handed out stay as they are: a fresh buffer each time.
    const buf = new Uint8Array(size);
    buf.set(rest);
    this.#base += this.#at;
    this.#at = 0;
    this.#length = rest.length;
    this.#buf = buf;
    while (this.#length < size) {
      const got = await this.#handle.read(buf.subarray(this.#length), this.#base + this.#length);
      if (got === 0) break;
      this.#length += got;
    }
    return this.#length >= count;
  }

  async take(count: number): Promise<Uint8Array> {
    if (count > RECORD_BYTES_MAX) throw this.fault(`a length of ${count} bytes`);
    if (!(await this.#fill(count))) throw this.fault('the file is cut off');
    this.#at += count;
    return this.#buf.subarray(this.#at - count, this.#at);
  }

  async u32(): Promise<number> {
    return u32(await this.take(4), 0);
  }

  async vint(): Promise<number> {
    const first = (await this.take(1))[0]!;
    if (first <= 127) return first;
    const length = 0x90 - first;
    if (length < 1 || length > 4) throw this.fault('a length is negative or too long');
    return (await this.take(length)).reduce((sum, byte) => sum * 256 + byte, 0);
  }

  async text(): Promise<string> {
    const length = await this.vint();
    return Buffer.from(await this.take(length)).toString('utf8');
  }

  fault(what: string, cause?: unknown): CorruptionException {
    return new CorruptionException(
      what,
      this.path,
      this.offset,
      cause === undefined ? {} : { cause },
    );
  }
}

interface Header {
  readonly codec: SequenceCodec | null;
  readonly byBlocks: boolean;
  readonly sync: Uint8Array;
}

async function readHeader(input: Input): Promise<Header> {
  const magic = await input.take(4);
  if (!MAGIC.every((byte, i) => magic[i] === byte)) {
    throw input.fault('this is no SequenceFile of version 6');
  }
  const keyClass = await input.text();
  const valueClass = await input.text();
  if (keyClass !== KEY_CLASS || valueClass !== VALUE_CLASS) {
    throw input.fault(`records of ${keyClass} and ${valueClass} are not those of HBase's Export`);
  }
  const flags = await input.take(2);
  let codec: SequenceCodec | null = null;
  if (flags[0] === 1) {
    const className = await input.text();
    codec = await codecOfClass(className);
    if (codec === null) throw input.fault(`codec ${className} is not supported`);
  }
  const count = await input.u32();
  if (count > 1000) throw input.fault(`${count} pairs of metadata`);
  for (let i = 0; i < 2 * count; i++) await input.text();
  const sync = Uint8Array.from(await input.take(SYNC_SIZE));
  return { codec, byBlocks: flags[1] === 1, sync };
}

/** The records of a file in order. Throws CorruptionException for whatever is no whole SequenceFile of HBase's Export. */
export async function* readSequenceFile(env: Env, path: string): AsyncGenerator<SequenceRecord> {
  const handle = await env.fs.open(path, 'read');
  try {
    const input = new Input(handle);
    const header = await readHeader(input);
    while (!(await input.isAtEnd())) {
      const offset = input.offset;
      const length = await input.u32();
      if (length === SYNC_ESCAPE) await checkSync(input, header);
      if (header.byBlocks) {
        if (length !== SYNC_ESCAPE) throw input.fault('a block without a sync mark');
        yield* readBlock(input, header, offset);
      } else if (length !== SYNC_ESCAPE) {
        yield await readRecord(input, header, offset, length);
      }
    }
  } finally {
    await handle.close();
  }
}

async function checkSync(input: Input, { sync }: Header): Promise<void> {
  const found = await input.take(SYNC_SIZE);
  if (!sync.every((byte, i) => found[i] === byte)) throw input.fault('the sync mark differs');
}

function unpack(input: Input, { codec }: Header, data: Uint8Array): Uint8Array {
  if (codec === null) return data;
  try {
    return codec.decompress(data, RECORD_BYTES_MAX);
  } catch (cause) {
    throw input.fault('a record cannot be decompressed', cause);
  }
}

async function readRecord(
  input: Input,
  header: Header,
  offset: number,
  length: number,
): Promise<SequenceRecord> {
  const keyLength = await input.u32();
  if (keyLength > length) throw input.fault('a key is longer than its record');
  const record = await input.take(length);
  const row = rowOf(input, record.subarray(0, keyLength));
  return { row, value: unpack(input, header, record.subarray(keyLength)), offset };
}

function rowOf(input: Input, key: Uint8Array): Uint8Array {
  if (key.length < 4 || u32(key, 0) !== key.length - 4) throw input.fault('a key is malformed');
  return key.subarray(4);
}

async function* readBlock(
  input: Input,
  header: Header,
  offset: number,
): AsyncGenerator<SequenceRecord> {
  const count = await input.vint();
  const parts: Uint8Array[] = [];
  for (let i = 0; i < 4; i++) {
    const length = await input.vint();
    parts.push(unpack(input, header, await input.take(length)));
  }
  const keys = cut(input, parts[0]!, parts[1]!, count);
  const values = cut(input, parts[2]!, parts[3]!, count);
  for (let i = 0; i < count; i++) {
    yield { row: rowOf(input, keys[i]!), value: values[i]!, offset };
  }
}

/** Cuts bytes by a list of vint lengths. */
function cut(input: Input, lengths: Uint8Array, bytes: Uint8Array, count: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let lengthAt = 0;
  let at = 0;
  for (let i = 0; i < count; i++) {
    const first = lengths[lengthAt++];
    if (first === undefined) throw input.fault('a block has fewer lengths than records');
    let length = first;
    if (first > 127) {
      const size = 0x90 - first;
      if (size < 1 || size > 4 || lengthAt + size > lengths.length) {
        throw input.fault('a length in a block is malformed');
      }
      length = 0;
      for (let j = 0; j < size; j++) length = length * 256 + lengths[lengthAt++]!;
    }
    if (length > bytes.length - at) throw input.fault('a record reaches past its block');
    parts.push(bytes.subarray(at, at + length));
    at += length;
  }
  if (at !== bytes.length) throw input.fault('a block is longer than its records');
  return parts;
}
