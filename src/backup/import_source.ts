/** What an import reads: the folder of an export of ours, or one of HBase's Export or of HFiles. */
import { createHash } from 'node:crypto';
import { Readable, pipeline } from 'node:stream';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { READY, WAIT } from '../cell/index.ts';
import { BlockCache, HFileReader } from '../hfile/index.ts';
import { CorruptionException, StoreException } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import type { TableSchema } from '../model/index.ts';
import { chunksOf, requireFolder } from './checked_file.ts';
import type { FileEntry } from './checked_file.ts';
import { ExportFormatException } from './errors.ts';
import { readExportManifest } from './export_manifest.ts';
import type { ExportFormat, ExportManifest } from './export_manifest.ts';
import { MessageFault, readResult } from './result_message.ts';
import { readSequenceFile } from './sequence_file.ts';
import { csvFields, parseCsvFields, parseJsonLine } from './text_cells.ts';

/** A table's part of what is imported. */
export interface SourceTable {
  /** Null: the folder does not say. */
  readonly name: string | null;
  readonly schema: TableSchema | null;
  /** Absolute, or relative to the process. */
  readonly dir: string;
  readonly format: ExportFormat;
  /** Paths, in order. */
  readonly files: readonly string[];
}

export interface ImportSource {
  /** Names what is imported, so that an import that was broken off is known again. */
  readonly id: string;
  readonly manifest: ExportManifest | null;
  /** With checksums, where there is a manifest. */
  readonly entries: readonly FileEntry[];
  readonly tables: readonly SourceTable[];
}

/** Looks at a folder. Throws FileNotFoundException, ExportFormatException, CorruptionException. */
export async function openSource(env: Env, dir: string): Promise<ImportSource> {
  await requireFolder(env, dir);
  const manifest = await readExportManifest(env, dir);
  if (manifest !== null) {
    return {
      id: manifest.id,
      manifest,
      entries: manifest.tables.flatMap(({ files }) => files),
      tables: manifest.tables.map((table) => ({
        name: table.name,
        schema: table.schema,
        dir: `${dir}/${table.dir}`,
        format: manifest.exportFormat,
        files: table.files.map(({ path }) => `${dir}/${path}`),
      })),
    };
  }
  const files = await filesBelow(env, dir);
  if (files.length === 0) throw new ExportFormatException(`${dir} holds no files to import`);
  const format = await formatOf(env, files[0]!);
  const facts: string[] = [];
  for (const path of files) {
    facts.push(`${path.slice(dir.length)} ${(await env.fs.stat(path))?.sizeBytes ?? 0}`);
  }
  const id = createHash('sha256').update(facts.join('\n')).digest('hex').slice(0, 16);
  const table = { name: null, schema: null, dir, format, files };
  return { id, manifest: null, entries: [], tables: [table] };
}

/** Files up to two folders down, without those that Hadoop passes over. */
async function filesBelow(env: Env, dir: string, depth = 0): Promise<string[]> {
  const files: string[] = [];
  for (const name of await env.fs.list(dir)) {
    if (name.startsWith('_') || name.startsWith('.')) continue;
    const path = `${dir}/${name}`;
    const stat = await env.fs.stat(path);
    if (stat?.isDirectory === true) {
      if (depth < 2) files.push(...(await filesBelow(env, path, depth + 1)));
    } else if (stat !== null && stat.sizeBytes > 0) files.push(path);
  }
  return files;
}

const HFILE_TRAILER = 4;

async function formatOf(env: Env, path: string): Promise<ExportFormat> {
  if (/\.jsonl(\.gz)?$/.test(path)) return 'jsonl';
  if (/\.csv(\.gz)?$/.test(path)) return 'csv';
  const handle = await env.fs.open(path, 'read');
  try {
    const head = new Uint8Array(4);
    await handle.read(head, 0);
    if (Buffer.from(head).toString('latin1') === 'SEQ\x06') return 'sequencefile';
    const tail = new Uint8Array(HFILE_TRAILER);
    await handle.read(tail, Math.max(0, (await handle.size()) - HFILE_TRAILER));
    if (tail[3] === 3 && tail[0] === 3) return 'hfile';
  } finally {
    await handle.close();
  }
  throw new ExportFormatException(`${path} is no SequenceFile, HFile, .jsonl or .csv`);
}

/** Each cell of a file as a KeyValue of its own, in order. Throws CorruptionException naming file and place. */
export function readCells(
  env: Env,
  format: ExportFormat,
  path: string,
): AsyncGenerator<readonly Uint8Array[]> {
  switch (format) {
    case 'sequencefile':
      return sequenceCells(env, path);
    case 'hfile':
      return hfileCells(env, path);
    case 'jsonl':
    case 'csv':
      return textCells(env, format, path);
  }
}

async function* sequenceCells(env: Env, path: string): AsyncGenerator<readonly Uint8Array[]> {
  for await (const { value, offset } of readSequenceFile(env, path)) {
    const cells: Uint8Array[] = [];
    guard(path, offset, () => readResult(value, (cell) => cells.push(cell)));
    if (cells.length > 0) yield cells;
  }
}

function guard(path: string, offset: number, read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof MessageFault)) throw error;
    throw new CorruptionException(error.message, path, offset, { cause: error });
  }
}

/** Cells handed over at a time. */
const PIECE = 1000;

async function* hfileCells(env: Env, path: string): AsyncGenerator<readonly Uint8Array[]> {
  const reader = await HFileReader.open(env.fs, path, new BlockCache(1 << 20));
  try {
    const source = reader.cursor({ cacheBlocks: false, sequential: true });
    let piece: Uint8Array[] = [];
    let state = source.seekToFirst();
    for (; state === WAIT; state = source.seekToFirst()) await source.load();
    while (state === READY) {
      const { block, at, length, tagsLength } = source.cell;
      // A file with tags has their length in every cell; a cell without has no such part in this engine.
      const bare = tagsLength === 0 ? bareLength(block, at) : length;
      piece.push(Uint8Array.prototype.slice.call(block, at, at + bare));
      if (piece.length === PIECE) {
        yield piece;
        piece = [];
      }
      state = source.next();
      for (; state === WAIT; state = source.next()) await source.load();
    }
    if (piece.length > 0) yield piece;
  } finally {
    await reader.close();
  }
}

function bareLength(block: Uint8Array, at: number): number {
  const view = new DataView(block.buffer, block.byteOffset + at, 8);
  return 8 + view.getUint32(0) + view.getUint32(4);
}

async function* textCells(
  env: Env,
  format: 'jsonl' | 'csv',
  path: string,
): AsyncGenerator<readonly Uint8Array[]> {
  let line = 0;
  let piece: Uint8Array[] = [];
  for await (const text of linesOf(env, path)) {
    line++;
    if (text === '' || (format === 'csv' && line === 1)) continue;
    try {
      piece.push(format === 'csv' ? parseCsvFields(csvFields(text)) : parseJsonLine(text));
    } catch (error) {
      if (!(error instanceof MessageFault)) throw error;
      throw new ExportFormatException(`${path}:${line}: ${error.message}`, { cause: error });
    }
    if (piece.length === PIECE) {
      yield piece;
      piece = [];
    }
  }
  if (piece.length > 0) yield piece;
}

async function* linesOf(env: Env, path: string): AsyncGenerator<string> {
  const chunks = Readable.from(copied(chunksOf(env, path)));
  const failures: unknown[] = [];
  let input: Readable = chunks;
  if (path.endsWith('.gz')) {
    const gunzip = createGunzip();
    pipeline(chunks, gunzip, (error) => {
      if (error !== null && error !== undefined) failures.push(error);
    });
    input = gunzip;
  }
  const lines = createInterface({ input, crlfDelay: Infinity });
  // The interface does not pass on what befalls its input.
  input.on('error', (error) => {
    failures.push(error);
    lines.close();
  });
  try {
    for await (const line of lines) yield line;
  } catch (error) {
    if (error instanceof StoreException) throw error;
    failures.push(error);
  }
  if (failures.length === 0) return;
  const [cause] = failures;
  throw new CorruptionException(`the file is cut off or damaged (${String(cause)})`, path, 0, {
    cause,
  });
}

async function* copied(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield Buffer.from(chunk);
}
