/** Where the rows of a part of a table go: one class a format. Rows come in order. */
import zlib from 'node:zlib';
import { TYPE_PUT, compareRanges, putU64, u32 } from '../cell/index.ts';
import { HFileWriter, compressionNamed, encodingNamed } from '../hfile/index.ts';
import type { CompressionName } from '../hfile/index.ts';
import { PACKED_CELL_HEADER, familySettings } from '../model/index.ts';
import type { FamilySettings, Result, TableSchema } from '../model/index.ts';
import { PackedCell } from '../region/index.ts';
import { CheckedWriter, readEntry } from './checked_file.ts';
import type { ExportedFile, ExportFormat } from './export_manifest.ts';
import { ResultWriter } from './result_message.ts';
import { SequenceFileWriter, sequenceCodec } from './sequence_file.ts';
import type { SequenceCodec, SequenceCompression } from './sequence_file.ts';
import { CSV_HEADER, csvLine, jsonLine } from './text_cells.ts';
import type { Work } from './work.ts';

export interface ExportSink {
  /** Takes a row, or a part of one. Null: there is nothing to wait for. */
  add(result: Result): Promise<void> | null;
  /** The files, in the order of their names; those without cells are not kept. */
  finish(): Promise<ExportedFile[]>;
  abort(): Promise<void>;
}

export interface SinkOptions {
  readonly work: Work;
  /** The export's folder, and the table's below it. */
  readonly out: string;
  readonly dir: string;
  readonly format: ExportFormat;
  /** Number of the part within its table. */
  readonly part: number;
  readonly compress: string;
  readonly schema: TableSchema;
  /** Markers and hidden cells come, too. */
  readonly raw: boolean;
  readonly exportId: string;
  /** Milliseconds of the export's moment. */
  readonly momentMs: number;
}

export async function openSink(options: SinkOptions): Promise<ExportSink> {
  if (options.format === 'hfile') return new HFileSink(options);
  const { out, dir, part, format, compress, work } = options;
  const number = String(part).padStart(5, '0');
  await work.env.fs.ensureFolder(`${out}/${dir}`);
  if (format === 'sequencefile') {
    const path = `${dir}/part-m-${number}`;
    const writer = await CheckedWriter.create(work, `${out}/${path}`);
    const codec = await sequenceCodec(compress as SequenceCompression);
    return new SequenceSink(writer, path, codec, work);
  }
  const path = `${dir}/part-${number}.${format}${compress === 'gz' ? '.gz' : ''}`;
  const writer = await CheckedWriter.create(work, `${out}/${path}`);
  return new TextSink(writer, path, format, compress === 'gz');
}

class SequenceSink implements ExportSink {
  readonly #writer: CheckedWriter;
  readonly #file: SequenceFileWriter;
  readonly #path: string;
  readonly #results = new ResultWriter();
  #rows = 0;
  #cells = 0;

  constructor(writer: CheckedWriter, path: string, codec: SequenceCodec | null, work: Work) {
    this.#writer = writer;
    this.#path = path;
    this.#file = new SequenceFileWriter(writer, codec, work.env.random.bytes(16));
  }

  add(result: Result): Promise<void> | null {
    if (!result.partial) this.#rows++;
    this.#cells += result.size;
    const isFull = this.#file.append(result.row, this.#results.delimited(result));
    return isFull ? this.#writer.drain() : null;
  }

  async finish(): Promise<ExportedFile[]> {
    this.#file.finish();
    const entry = await this.#writer.finish(this.#path);
    return [{ ...entry, rows: this.#rows, cells: this.#cells }];
  }

  abort(): Promise<void> {
    return this.#writer.abort();
  }
}

/** Characters gathered before they become bytes. */
const TEXT_PIECE = 1 << 18;

class TextSink implements ExportSink {
  readonly #writer: CheckedWriter;
  readonly #path: string;
  readonly #format: ExportFormat;
  readonly #isPacked: boolean;
  #text: string;
  #rows = 0;
  #cells = 0;

  constructor(writer: CheckedWriter, path: string, format: ExportFormat, isPacked: boolean) {
    this.#writer = writer;
    this.#path = path;
    this.#format = format;
    this.#isPacked = isPacked;
    this.#text = format === 'csv' ? `${CSV_HEADER}\n` : '';
  }

  add(result: Result): Promise<void> | null {
    if (!result.partial) this.#rows++;
    this.#cells += result.size;
    for (const cell of result.cells) {
      this.#text += `${this.#format === 'csv' ? csvLine(cell) : jsonLine(cell)}\n`;
    }
    return this.#text.length >= TEXT_PIECE ? this.#let() : null;
  }

  /** Each piece is a gzip member of its own: together they are one gzip file. */
  async #let(): Promise<void> {
    const bytes = Buffer.from(this.#text, 'utf8');
    this.#text = '';
    await this.#writer.write(this.#isPacked ? zlib.gzipSync(bytes) : bytes);
  }

  async finish(): Promise<ExportedFile[]> {
    // Nothing at all is no gzip file: one without rows has an empty member.
    const isBare = this.#isPacked && this.#writer.sizeBytes === 0;
    if (this.#text !== '' || isBare) await this.#let();
    const entry = await this.#writer.finish(this.#path);
    return [{ ...entry, rows: this.#rows, cells: this.#cells }];
  }

  abort(): Promise<void> {
    return this.#writer.abort();
  }
}

/** What bulk load says of a file (HBase: HFileOutputFormat2). */
const INFO_BULKLOAD_TIMESTAMP = 'BULKLOAD_TIMESTAMP';
const INFO_BULKLOAD_SOURCE_TASK = 'BULKLOAD_SOURCE_TASK';

/** One HFile of each family that has cells, as a bulk load takes them. */
class HFileSink implements ExportSink {
  readonly #options: SinkOptions;
  readonly #families = new Map<string, FamilyFile>();
  readonly #view = new PackedCell();
  #last: FamilyFile | null = null;

  constructor(options: SinkOptions) {
    this.#options = options;
  }

  async add(result: Result): Promise<void> {
    const { packed } = result;
    for (let at = 0; at < packed.length; at += PACKED_CELL_HEADER + u32(packed, at)) {
      this.#view.set(packed, at);
      const file = await this.#fileOf(packed, this.#view);
      if (file.append(this.#view)) await file.drain();
    }
  }

  async #fileOf(packed: Uint8Array, view: PackedCell): Promise<FamilyFile> {
    const familyAt = view.rowAt + view.rowLength + 1;
    const length = packed[familyAt - 1]!;
    const last = this.#last;
    if (last !== null && last.isOf(packed, familyAt, length)) return last;
    const name = Buffer.from(packed.subarray(familyAt, familyAt + length)).toString('latin1');
    const file = this.#families.get(name) ?? (await this.#open(name));
    this.#families.set(name, file);
    this.#last = file;
    return file;
  }

  async #open(name: string): Promise<FamilyFile> {
    const { work, out, dir, schema } = this.#options;
    await work.env.fs.ensureFolder(`${out}/${dir}/${name}`);
    const file = Buffer.from(work.env.random.bytes(16)).toString('hex');
    const path = `${dir}/${name}/${file}`;
    const family = schema.families.find((known) => known.name === name);
    const settings = familySettings(family ?? { name, attributes: {}, configuration: {} });
    return FamilyFile.create(this.#options, path, settings);
  }

  async finish(): Promise<ExportedFile[]> {
    const files: ExportedFile[] = [];
    for (const file of this.#families.values()) files.push(await file.finish());
    return files;
  }

  async abort(): Promise<void> {
    for (const file of this.#families.values()) await file.abort();
  }
}

function long(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  putU64(bytes, 0, value);
  return bytes;
}

class FamilyFile {
  readonly #options: SinkOptions;
  readonly #path: string;
  readonly #name: Uint8Array;
  readonly #writer: HFileWriter;
  /** Key of the cell before, from the row on: of cells with equal keys only the newest goes into the file. */
  #key: Uint8Array = new Uint8Array(0);
  #rows = 0;
  #row: Uint8Array = new Uint8Array(0);
  #drained = 0;

  private constructor(options: SinkOptions, path: string, name: Uint8Array, writer: HFileWriter) {
    this.#options = options;
    this.#path = path;
    this.#name = name;
    this.#writer = writer;
  }

  static async create(
    options: SinkOptions,
    path: string,
    settings: FamilySettings,
  ): Promise<FamilyFile> {
    const { work, out, compress, exportId, momentMs } = options;
    const compression: CompressionName | null =
      compress === '' ? compressionNamed(settings.compression) : compressionNamed(compress);
    const writer = await HFileWriter.create(work.env.fs, `${out}/${path}`, {
      createdMs: momentMs,
      blockSizeBytes: settings.blockSizeBytes,
      encoding: encodingNamed(settings.dataBlockEncoding) ?? 'NONE',
      compression: compression ?? 'NONE',
      bloomType: settings.bloomFilter,
      bloomPrefixLength: settings.bloomPrefixLength,
      hasTags: true,
      hasWriteNumbers: false,
      isMajorCompaction: true,
      extraInfo: new Map([
        [INFO_BULKLOAD_TIMESTAMP, long(BigInt(momentMs))],
        [INFO_BULKLOAD_SOURCE_TASK, Buffer.from(`cellar export ${exportId}`, 'utf8')],
      ]),
    });
    return new FamilyFile(options, path, settings.nameBytes, writer);
  }

  isOf(buf: Uint8Array, at: number, length: number): boolean {
    return compareRanges(buf, at, length, this.#name, 0, this.#name.length) === 0;
  }

  /** True: `drain` before the next cell. */
  append(view: PackedCell): boolean {
    const { block, rowAt, rowLength, timestampAt } = view;
    if (this.#options.raw) {
      const length = timestampAt + 9 - rowAt;
      if (compareRanges(block, rowAt, length, this.#key, 0, this.#key.length) === 0) return false;
      this.#key = block.slice(rowAt, rowAt + length);
    }
    if (compareRanges(block, rowAt, rowLength, this.#row, 0, this.#row.length) !== 0) {
      this.#rows++;
      this.#row = block.slice(rowAt, rowAt + rowLength);
    }
    // In the file there are no write numbers; the writer orders equal keys by them.
    view.writeHigh = 0;
    view.writeLow = 0;
    return this.#writer.append(view);
  }

  async drain(): Promise<void> {
    await this.#writer.drain();
    const size = this.#writer.sizeBytes;
    await this.#options.work.step(size - this.#drained);
    this.#drained = size;
  }

  async finish(): Promise<ExportedFile> {
    const { work, out } = this.#options;
    const { cellCount } = await this.#writer.finish();
    const entry = await readEntry(work, `${out}/${this.#path}`);
    return { path: this.#path, ...entry, rows: this.#rows, cells: cellCount };
  }

  abort(): Promise<void> {
    return this.#writer.abort();
  }
}

/** Puts and markers among the cells of a result. */
export function countPuts(result: Result): number {
  const { packed } = result;
  let puts = 0;
  for (let at = 0; at < packed.length; at += PACKED_CELL_HEADER + u32(packed, at)) {
    const cellAt = at + PACKED_CELL_HEADER;
    if (packed[cellAt + 7 + u32(packed, cellAt)] === TYPE_PUT) puts++;
  }
  return puts;
}
