/** Peers are loaded from `bench/peers`, where their lockfile is; they are no dependency of Cellar. */
import { createRequire } from 'node:module';
import path from 'node:path';

/** The repository's root: this file runs as `bench/peers/dist/bench/engine/peers.js` or, in tests, as its source. */
export const ROOT: string = path.resolve(
  import.meta.dirname,
  import.meta.dirname.includes(path.join('peers', 'dist')) ? '../../../../..' : '../..',
);

const requirePeer = createRequire(path.join(ROOT, 'bench', 'peers', 'package.json'));

/** The module of a peer; throws where it is not installed. `T` is what the caller uses of it. */
export function loadPeer<T>(name: string): T {
  return requirePeer(name) as T;
}

/** The installed version, or null. */
export function peerVersion(name: string): string | null {
  try {
    requirePeer(name);
    return (requirePeer(`${name}/package.json`) as { version: string }).version;
  } catch (error) {
    if (error instanceof Error) return versionBesideMain(name);
    throw error;
  }
}

/** Packages whose `exports` hide their package.json. */
function versionBesideMain(name: string): string | null {
  try {
    const main = requirePeer.resolve(name);
    const at = main.lastIndexOf(`${path.sep}${path.join('node_modules', name)}${path.sep}`);
    const folder = main.slice(0, at + path.join('node_modules', name).length + 2);
    requirePeer(name);
    return (requirePeer(path.join(folder, 'package.json')) as { version: string }).version;
  } catch (error) {
    if (error instanceof Error) return null;
    throw error;
  }
}
