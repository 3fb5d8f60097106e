/**
 * The manifest of an export: `_cellar.json` in its folder (sealed_json.ts). Hadoop's tools pass over names that begin with `_`.
 *
 *     format "cellar-export", version 1
 *     id             16 hex digits
 *     tso, time      the moment that was exported
 *     exportFormat   sequencefile, hfile, jsonl, csv;  compress
 *     options        what was asked for
 *     tables         name, dir, schema, rows, cells, puts, deletes, files: path, sizeBytes, crc32, rows, cells
 *     notes          what whoever reads it should know
 */
import type { Env } from '../io/index.ts';
import type { TableSchema } from '../model/index.ts';
import { parseTableName } from '../model/index.ts';
import type { FileEntry } from './checked_file.ts';
import { ExportFormatException } from './errors.ts';
import { readSealed, writeSealed } from './sealed_json.ts';

export type ExportFormat = 'sequencefile' | 'hfile' | 'jsonl' | 'csv';
export const EXPORT_FORMATS: readonly ExportFormat[] = ['sequencefile', 'hfile', 'jsonl', 'csv'];

export const EXPORT_MANIFEST = '_cellar.json';
/** Lies in the folder of an export that is under way, or was broken off. */
export const EXPORT_MARKER = '_cellar.partial';
const SEAL = { format: 'cellar-export', version: 1 };

export interface ExportedFile extends FileEntry {
  readonly rows: number;
  readonly cells: number;
}

export interface ExportedTable {
  readonly name: string;
  /** Its folder, relative to the export's. */
  readonly dir: string;
  readonly schema: TableSchema;
  readonly rows: number;
  readonly cells: number;
  readonly puts: number;
  /** Delete markers of all types. */
  readonly deletes: number;
  readonly files: readonly ExportedFile[];
}

export interface ExportManifest {
  readonly format: string;
  readonly version: number;
  readonly id: string;
  readonly createdMs: number;
  readonly tso: string;
  readonly time: string;
  readonly exportFormat: ExportFormat;
  readonly compress: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly tables: readonly ExportedTable[];
  readonly notes: readonly string[];
}

/** `<namespace>/<table>`. */
export function tableDir(table: string): string {
  const { namespace, qualifier } = parseTableName(table);
  return `${namespace}/${qualifier}`;
}

export function writeExportManifest(
  env: Env,
  dir: string,
  manifest: Omit<ExportManifest, 'format' | 'version'>,
): Promise<void> {
  return writeSealed(env, `${dir}/${EXPORT_MANIFEST}`, { ...SEAL, ...manifest });
}

/** Null if the folder has none. Throws CorruptionException and ExportFormatException for one that cannot be trusted. */
export async function readExportManifest(env: Env, dir: string): Promise<ExportManifest | null> {
  const path = `${dir}/${EXPORT_MANIFEST}`;
  if ((await env.fs.stat(path)) === null) return null;
  const body = await readSealed(env, path, SEAL);
  const manifest = body as unknown;
  if (!isManifest(manifest)) throw new ExportFormatException(`${path} lacks members of an export`);
  return manifest;
}

function isManifest(body: unknown): body is ExportManifest {
  const { tables, exportFormat, notes } = body as Readonly<Record<string, unknown>>;
  return (
    Array.isArray(tables) &&
    Array.isArray(notes) &&
    EXPORT_FORMATS.some((format) => format === exportFormat) &&
    (tables as readonly unknown[]).every(isTable)
  );
}

function isTable(table: unknown): boolean {
  const { name, files } = table as Readonly<Record<string, unknown>>;
  return typeof name === 'string' && Array.isArray(files);
}
