/** The folder of a store, before there is a store in it. */
import { IoException, ReadOnlyException } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { DataLayout } from '../manifest/index.ts';

/** Makes the folder, durably, unless it must be there already. */
export async function prepareFolder(env: Env, dir: string, mustExist: boolean): Promise<void> {
  const stat = await env.fs.stat(dir);
  if (stat !== null && !stat.isDirectory) {
    throw new IoException(`${dir} is a file, not a data folder`, dir);
  }
  const { manifest } = new DataLayout(dir);
  if ((await env.fs.stat(manifest)) !== null) return;
  if (mustExist) throw new IoException(`${dir} holds no store`, dir);
  await env.fs.ensureFolder(dir);
  // A folder that an earlier, killed open has made may not be on the disk either: so the whole way down is synced, once,
  // before there is a manifest.
  for (let at = dir; parentOf(at) !== at; at = parentOf(at)) {
    try {
      await env.fs.syncFolder(parentOf(at));
    } catch (error) {
      // What we may not even read was there before us.
      if (error instanceof ReadOnlyException) return;
      throw error;
    }
  }
}

/** The folder that holds `path`: '.' above a bare name; the top is its own. */
export function parentOf(path: string): string {
  const trimmed = path.length > 1 ? path.replace(/[/\\]+$/, '') : path;
  const cut = Math.max(trimmed.lastIndexOf('/'), trimmed.lastIndexOf('\\'));
  if (cut < 0) return '.';
  return cut === 0 ? trimmed.slice(0, 1) : trimmed.slice(0, cut);
}
