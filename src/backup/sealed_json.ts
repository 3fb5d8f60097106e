/**
 * Manifests of exports and backups: JSON for people and programs, sealed by a CRC-32 of its own.
 *
 *     { "format": "…", "version": 1, …, "crc32": "8 hex digits" }
 *
 * The CRC is that of the object without `crc32`, written by JSON.stringify without spaces, in the order of its members. 64-bit
 * numbers are strings of digits. The last byte of the file is a line feed: without it the file is cut.
 */
import { crc32 } from 'node:zlib';
import { CorruptionException } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { crcText } from './checked_file.ts';
import { ExportFormatException } from './errors.ts';

export interface Sealed {
  readonly format: string;
  readonly version: number;
}

const sealOf = (body: object): string => crcText(crc32(Buffer.from(JSON.stringify(body), 'utf8')));

/** Writes the manifest under a passing name, syncs it and gives it its own; the folder is synced. `body` has no `crc32`. */
export async function writeSealed(env: Env, path: string, body: Sealed): Promise<void> {
  const text = `${JSON.stringify({ ...body, crc32: sealOf(body) }, null, 1)}\n`;
  const passing = `${path}.new`;
  await env.fs.remove(passing);
  const handle = await env.fs.open(passing, 'create');
  try {
    await handle.write(Buffer.from(text, 'utf8'), 0);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await env.fs.rename(passing, path);
  await env.fs.syncFolder(path.slice(0, path.lastIndexOf('/')));
}

/**
 * Reads a manifest of this format. Throws FileNotFoundException, CorruptionException for one that was changed or cut,
 * ExportFormatException for another format or a newer version.
 */
export async function readSealed(
  env: Env,
  path: string,
  wanted: Sealed,
): Promise<Record<string, unknown>> {
  const text = Buffer.from(await env.fs.readFile(path)).toString('utf8');
  if (!text.endsWith('\n')) throw new CorruptionException('the manifest is cut', path, text.length);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new CorruptionException('this is no whole JSON object', path, 0, { cause: error });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new CorruptionException('this is no JSON object', path, 0);
  }
  const { crc32: seal, ...body } = parsed as Record<string, unknown>;
  if (seal !== sealOf(body)) {
    throw new CorruptionException(
      `the manifest was changed: its CRC-32 is not ${String(seal)}`,
      path,
      0,
    );
  }
  if (body['format'] !== wanted.format) {
    throw new ExportFormatException(
      `${path} is of format ${String(body['format'])}, not ${wanted.format}`,
    );
  }
  if (typeof body['version'] !== 'number' || body['version'] > wanted.version) {
    throw new ExportFormatException(
      `${path} has version ${String(body['version'])}; this program reads up to ${wanted.version}`,
    );
  }
  return body;
}
