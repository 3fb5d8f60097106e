/**
 * A file system for looking at files in place without changing them: what is written goes into memory. A file of the machine is
 * brought in by a link; it is read where it lies, and copied into memory when somebody writes to it.
 *
 * Paths below `root` are the view's own; all others are those of the machine, to read only.
 */
import type {
  Env,
  FileHandle,
  FileStat,
  FileSystem,
  FolderLock,
  LockHolder,
  LockNote,
  OpenMode,
} from './env.ts';
import { ReadOnlyException } from './errors.ts';
import { InlineExecutor } from './inline_executor.ts';
import { SimFs } from './sim_fs.ts';
import { SeededRandom } from './sim_random.ts';

export class ViewFs implements FileSystem {
  readonly #root: string;
  readonly #base: FileSystem;
  readonly #memory: FileSystem;
  /** Files of the machine by their path in the view, where memory has an empty file. */
  readonly #links = new Map<string, string>();

  constructor(root: string, env: Env) {
    this.#root = root;
    this.#base = env.fs;
    this.#memory = new SimFs({ random: new SeededRandom(0), clock: env.clock, isVolatile: true });
  }

  #isOwn(path: string): boolean {
    return path === this.#root || path.startsWith(`${this.#root}/`);
  }

  #refuse(path: string): ReadOnlyException {
    return new ReadOnlyException(`${path} is opened read only`, path);
  }

  async open(path: string, mode: OpenMode): Promise<FileHandle> {
    if (!this.#isOwn(path)) {
      if (mode !== 'read') throw this.#refuse(path);
      return this.#base.open(path, 'read');
    }
    const link = this.#links.get(path);
    if (link === undefined || mode === 'create') return this.#memory.open(path, mode);
    if (mode === 'read') return this.#base.open(link, 'read');
    const content = await this.#base.readFile(link);
    const handle = await this.#memory.open(path, 'write');
    await handle.write(content, 0);
    this.#links.delete(path);
    return handle;
  }

  readFile(path: string): Promise<Uint8Array> {
    if (!this.#isOwn(path)) return this.#base.readFile(path);
    const link = this.#links.get(path);
    return link === undefined ? this.#memory.readFile(path) : this.#base.readFile(link);
  }

  list(path: string): Promise<string[]> {
    return this.#isOwn(path) ? this.#memory.list(path) : this.#base.list(path);
  }

  stat(path: string): Promise<FileStat | null> {
    if (!this.#isOwn(path)) return this.#base.stat(path);
    const link = this.#links.get(path);
    return link === undefined ? this.#memory.stat(path) : this.#base.stat(link);
  }

  async ensureFolder(path: string): Promise<void> {
    if (!this.#isOwn(path)) throw this.#refuse(path);
    await this.#memory.ensureFolder(path);
  }

  async rename(from: string, to: string): Promise<void> {
    if (!this.#isOwn(from) || !this.#isOwn(to)) throw this.#refuse(from);
    await this.#memory.rename(from, to);
    this.#links.delete(to);
    for (const [path, link] of [...this.#links]) {
      if (path !== from && !path.startsWith(`${from}/`)) continue;
      this.#links.delete(path);
      this.#links.set(to + path.slice(from.length), link);
    }
  }

  async link(from: string, to: string): Promise<void> {
    if (!this.#isOwn(to)) throw this.#refuse(to);
    const target = this.#isOwn(from) ? this.#links.get(from) : from;
    if (target === undefined) return this.#memory.link(from, to);
    await (await this.#memory.open(to, 'create')).close();
    this.#links.set(to, target);
  }

  /** Into memory nothing is cloned. */
  clone(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async copy(from: string, to: string): Promise<void> {
    if (!this.#isOwn(to)) throw this.#refuse(to);
    const handle = await this.#memory.open(to, 'write');
    try {
      await handle.write(await this.readFile(from), 0);
    } finally {
      await handle.close();
    }
  }

  async remove(path: string): Promise<void> {
    if (!this.#isOwn(path)) throw this.#refuse(path);
    await this.#memory.remove(path);
    for (const known of [...this.#links.keys()]) {
      if (known === path || known.startsWith(`${path}/`)) this.#links.delete(known);
    }
  }

  async syncFolder(path: string): Promise<void> {
    if (this.#isOwn(path)) await this.#memory.syncFolder(path);
  }

  lockFolder(path: string, note: LockNote): Promise<FolderLock> {
    return this.#memory.lockFolder(path, note);
  }

  lockHolder(path: string): Promise<LockHolder | null> {
    return this.#isOwn(path) ? this.#memory.lockHolder(path) : this.#base.lockHolder(path);
  }
}

/** The environment of a view: everything of `env` but its files. Jobs run on the calling thread. */
export function viewEnv(env: Env, root: string): Env {
  const fs = new ViewFs(root, env);
  const view: Env = { ...env, fs, executor: new InlineExecutor(() => view) };
  return view;
}
