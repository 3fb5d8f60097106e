/** Checks an export: its manifest, the length and checksum of every file, and that its cells can be read and are as many. */
import type { Env } from '../io/index.ts';
import { StoreException } from '../io/index.ts';
import { entryFault, requireFolder } from './checked_file.ts';
import { ExportFormatException } from './errors.ts';
import { readExportManifest } from './export_manifest.ts';
import type { ExportManifest } from './export_manifest.ts';
import { readCells } from './import_source.ts';
import { Work } from './work.ts';
import type { WorkOptions } from './work.ts';

/** A file that is not as it should be. */
export interface Fault {
  readonly path: string;
  readonly what: string;
}

export interface VerifyReport {
  readonly files: number;
  readonly bytes: number;
  readonly cells: number;
  readonly faults: readonly Fault[];
}

export interface VerifyOptions extends WorkOptions {
  /** Lengths and checksums only: cells are not read. */
  readonly quick?: boolean;
}

/** Throws CorruptionException for a damaged manifest and ExportFormatException where there is none. */
export async function verifyExport(
  env: Env,
  dir: string,
  options: VerifyOptions = {},
): Promise<VerifyReport & { readonly manifest: ExportManifest }> {
  const work = new Work(env, options);
  await requireFolder(env, dir);
  const manifest = await readExportManifest(env, dir);
  if (manifest === null) {
    throw new ExportFormatException(`${dir} holds no export, or one that was not finished`);
  }
  const faults: Fault[] = [];
  let cells = 0;
  let files = 0;
  let bytes = 0;
  for (const table of manifest.tables) {
    for (const entry of table.files) {
      work.begin(entry.path);
      files++;
      bytes += entry.sizeBytes;
      const path = `${dir}/${entry.path}`;
      const fault = await entryFault(work, dir, entry);
      if (fault !== null) {
        faults.push({ path, what: fault });
      } else if (options.quick !== true) {
        const found = await countCells(work, manifest, path);
        if (typeof found === 'string') faults.push({ path, what: found });
        else if (found !== entry.cells) {
          faults.push({ path, what: `it has ${found} cells, not ${entry.cells}` });
        } else cells += found;
      }
    }
  }
  return { manifest, files, bytes, cells, faults };
}

async function countCells(
  work: Work,
  manifest: ExportManifest,
  path: string,
): Promise<number | string> {
  let count = 0;
  try {
    for await (const cells of readCells(work.env, manifest.exportFormat, path)) {
      count += cells.length;
      work.cells += cells.length;
      work.check();
    }
    return count;
  } catch (error) {
    if (error instanceof StoreException && error.code === 'CorruptionException')
      return error.message;
    throw error;
  }
}
