/** Lines typed before, kept in a file of the user's home: newest last in the file, newest first in memory. */
import type { FileSystem } from '../../io/index.ts';

export const HISTORY_MAX = 1000;

/** The file: CELLAR_HISTORY, or `.cellar_history` in the home folder; null if there is neither. */
export function historyPath(
  variables: Readonly<Record<string, string | undefined>>,
): string | null {
  const given = variables['CELLAR_HISTORY'];
  if (given !== undefined) return given === '' ? null : given;
  const home = variables['HOME'] ?? variables['USERPROFILE'];
  return home === undefined || home === '' ? null : `${home.replaceAll('\\', '/')}/.cellar_history`;
}

/** Empty when there is no file yet. */
export async function readHistory(fs: FileSystem, path: string): Promise<string[]> {
  if ((await fs.stat(path)) === null) return [];
  const text = Buffer.from(await fs.readFile(path)).toString('utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .slice(-HISTORY_MAX)
    .reverse();
}

/** Replaces the file in one step. Throws what the file system throws. */
export async function writeHistory(
  fs: FileSystem,
  path: string,
  lines: readonly string[],
): Promise<void> {
  const text = [...lines].slice(0, HISTORY_MAX).reverse().join('\n');
  const temporary = `${path}.new`;
  await fs.remove(temporary);
  const handle = await fs.open(temporary, 'create');
  try {
    await handle.write(Buffer.from(`${text}\n`, 'utf8'), 0);
  } finally {
    await handle.close();
  }
  await fs.rename(temporary, path);
}
