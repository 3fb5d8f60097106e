/**
 * A file system in memory that knows what is written and what is on the disk, for the simulator and for tests; without
 * timers and faults it is also the file system of stores in memory.
 *
 * With timers, an asynchronous operation takes effect when its event runs, after a delay drawn from the seed; so the
 * order of operations under way varies by seed and never otherwise. Without, it takes effect in the call. Synchronous
 * operations take effect at once. Not kept: symbolic links, rights, times other than the last write.
 */
import { createHash } from 'node:crypto';
import type {
  Clock,
  FileHandle,
  FileStat,
  FileSystem,
  FolderLock,
  LockHolder,
  LockNote,
  OpenMode,
} from './env.ts';
import { FileNotFoundException, FolderLockedException, invariant, IoException } from './errors.ts';
import { faultError, type FsFault, type FsOp, type FsOpKind } from './sim_faults.ts';
import { SimFile } from './sim_file.ts';
import { SimFileHandle, type SimDisk } from './sim_handle.ts';
import type { SeededRandom } from './sim_random.ts';
import type { SimTimers } from './sim_timers.ts';
import { partsOf, SimFolder, SimTree, type SimNode } from './sim_tree.ts';

export interface SimFsOptions {
  readonly random: SeededRandom;
  /** Where operations wait; without, they take effect in the call. */
  readonly timers?: SimTimers;
  /** For the times of files; without, they are 0. */
  readonly clock?: Clock;
  readonly failWhen?: (op: FsOp) => FsFault;
  /** The sum of the sizes of all files that have a name; beyond it the disk is full. By default without bound. */
  readonly capacityBytes?: number;
  /** For stores in memory: keeps no account of what is synced, which saves half of the memory; crashes lose all. */
  readonly isVolatile?: boolean;
}

export interface CrashOptions {
  /** The chance of each unsynced sector and entry change to be there afterwards: 0 none, 1 all, torn ones between. */
  readonly keepUnsynced: number;
  /** By default this file system's own, which the crash then moves on. */
  readonly random?: SeededRandom;
  /** The scheduler of the copy; by default this one's. */
  readonly timers?: SimTimers;
  /** The clock of the copy; by default this one's. */
  readonly clock?: Clock;
}

/** Virtual milliseconds that operations take at most; the least is a tenth. */
const SYNC_DELAY_MAX_MS = 2;
const DELAY_MAX_MS = 0.2;
/** The process id that holders of simulated locks report. */
const SIM_PID = 1;
const LOCK_NAME = 'LOCK';

const SYNCS: ReadonlySet<FsOpKind> = new Set(['sync', 'syncFolder']);

export class SimFs implements FileSystem, SimDisk {
  /** May be changed at any time. */
  failWhen: ((op: FsOp) => FsFault) | null;
  capacityBytes: number;
  readonly random: SeededRandom;
  readonly #timers: SimTimers | null;
  readonly #clock: Clock | null;
  readonly #tree: SimTree;
  readonly #isVolatile: boolean;
  readonly #counts = new Map<FsOpKind, number>();
  readonly #locks = new Map<SimFolder, LockHolder>();
  #usedBytes = 0;

  constructor(options: SimFsOptions, tree: SimTree = new SimTree()) {
    this.random = options.random;
    this.#timers = options.timers ?? null;
    this.#clock = options.clock ?? null;
    this.failWhen = options.failWhen ?? null;
    this.capacityBytes = options.capacityBytes ?? Infinity;
    this.#tree = tree;
    this.#isVolatile = options.isVolatile ?? false;
    for (const { file } of tree.files()) this.#usedBytes += file.sizeBytes;
  }

  // ---- Operations -------------------------------------------------------------------------------------------------

  open(path: string, mode: OpenMode): Promise<FileHandle> {
    return this.#later('open', path, () => {
      const node = this.#tree.find(path);
      if (node?.kind === 'folder') throw new IoException(`cannot open ${path}: a folder`, path);
      if (node === null && mode === 'read') throw absent('open', path);
      if (node !== null && mode === 'create') {
        throw new IoException(`cannot create ${path}: it exists`, path);
      }
      return new SimFileHandle(this, path, node ?? this.#createFile(path), mode === 'read');
    });
  }

  readFile(path: string): Promise<Uint8Array> {
    return this.#later('readFile', path, () => this.peek(path));
  }

  list(path: string): Promise<string[]> {
    return this.#later('list', path, () => [...this.#folder('list', path).entries.keys()].sort());
  }

  stat(path: string): Promise<FileStat | null> {
    return this.#later('stat', path, () => {
      const node = this.#tree.find(path);
      if (node === null) return null;
      if (node.kind === 'folder') return { sizeBytes: 0, isDirectory: true, modifiedMs: 0 };
      return { sizeBytes: node.sizeBytes, isDirectory: false, modifiedMs: node.modifiedMs };
    });
  }

  ensureFolder(path: string): Promise<void> {
    return this.#later('ensureFolder', path, () => {
      let folder = this.#tree.root;
      for (const name of partsOf(path)) {
        let next = folder.entries.get(name);
        if (next === undefined) {
          next = new SimFolder();
          this.#tree.change([{ folder, name, node: next }]);
        }
        if (next.kind === 'file') {
          throw new IoException(`cannot make the folder ${path}: ${name} is a file`, path);
        }
        folder = next;
      }
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#later('rename', from, () => {
      const node = this.#node('rename', from);
      const source = this.#parent('rename', from);
      const target = this.#parent('rename', to);
      const replaced = target.folder.entries.get(target.name);
      if (replaced === node) return;
      const replacesFolder = replaced?.kind === 'folder';
      if (replaced !== undefined && (replacesFolder || node.kind === 'folder')) {
        const isEmpty = replacesFolder && replaced.entries.size === 0;
        if (!isEmpty || node.kind !== 'folder') {
          throw new IoException(`cannot rename ${from} to ${to}: it exists`, from);
        }
      }
      this.#change([
        { ...source, node: null },
        { ...target, node },
      ]);
    });
  }

  link(from: string, to: string): Promise<void> {
    return this.#later('link', from, () => {
      const node = this.#node('link', from);
      const target = this.#parent('link', to);
      if (node.kind === 'folder') throw new IoException(`cannot link ${from}: a folder`, from);
      if (target.folder.entries.has(target.name)) {
        throw new IoException(`cannot link ${from} as ${to}: it exists`, from);
      }
      this.#change([{ ...target, node }]);
    });
  }

  copy(from: string, to: string): Promise<void> {
    return this.#later('copy', from, () => this.#copyNode(this.#node('copy', from), to));
  }

  /** The simulated file system shares no blocks. */
  clone(): Promise<boolean> {
    return Promise.resolve(false);
  }

  remove(path: string): Promise<void> {
    return this.#later('remove', path, () => {
      const at = this.#tree.parentOf(path);
      const node = at?.folder.entries.get(at.name);
      if (at === null || node === undefined) return;
      this.#removeUnder(node);
      this.#change([{ ...at, node: null }]);
    });
  }

  syncFolder(path: string): Promise<void> {
    // Like the sync of a file it covers what was done before the call.
    const folder = this.#tree.find(path);
    const pending = folder?.kind === 'folder' ? this.#tree.pendingOf(folder) : null;
    return this.#later('syncFolder', path, () => {
      if (pending === null) throw absent('sync the folder', path);
      this.#tree.commit(pending);
    });
  }

  lockFolder(path: string, note: LockNote): Promise<FolderLock> {
    return this.#later('lock', path, () => {
      const folder = this.#folder('lock', path);
      const holder = this.#locks.get(folder);
      if (holder !== undefined) {
        const where = holder.address === null ? '' : `, reachable at ${holder.address}`;
        const message = `${path} is in use by process ${holder.pid}${where}`;
        throw new FolderLockedException(message, path, holder);
      }
      const sinceMs = this.#clock?.nowMs() ?? 0;
      this.#locks.set(folder, { pid: SIM_PID, sinceMs, address: note.address });
      if (!folder.entries.has(LOCK_NAME)) {
        this.#change([{ folder, name: LOCK_NAME, node: new SimFile(true) }]);
      }
      return this.#lockOf(folder);
    });
  }

  lockHolder(path: string): Promise<LockHolder | null> {
    return this.#later('stat', path, () => this.#locks.get(this.#folder('lock', path)) ?? null);
  }

  // ---- For tests and the simulator ---------------------------------------------------------------------------------

  /**
   * The power fails now. Gives the disk as the next start finds it: everything synced and a random part of the rest. This
   * file system is not touched and may still be used. Locks, open files and faults are not in the copy.
   */
  crash(options: CrashOptions): SimFs {
    const random = options.random ?? this.random;
    const { keepUnsynced } = options;
    const tree = this.#tree.fork((file) => {
      const copy = file.fork(random);
      copy.lose(keepUnsynced, random);
      return copy;
    });
    tree.lose(keepUnsynced, random);
    return this.#copyOn(tree, options, random);
  }

  /**
   * The process is killed now; the machine goes on. Gives the file system as the next start finds it: all that was
   * written, as little synced as before. Of writes under way each is there or not.
   */
  kill(options: Omit<CrashOptions, 'keepUnsynced'> = {}): SimFs {
    const random = options.random ?? this.random;
    const tree = this.#tree.fork((file) => {
      const copy = file.fork(random);
      copy.survive(random);
      return copy;
    });
    return this.#copyOn(tree, options, random);
  }

  /** Xors the byte at `at` with `mask`, in the cache and on the disk. */
  flip(path: string, at: number, mask: number = 1): void {
    this.#file('flip', path).flip(at, mask);
  }

  /** Cuts (or extends with zeros) a file, in the cache and on the disk, with no operation counted. */
  cut(path: string, sizeBytes: number): void {
    const file = this.#file('cut', path);
    file.truncate(sizeBytes);
    file.settle();
  }

  /** The bytes of a file as a reader would see them now. The caller owns them. */
  peek(path: string): Uint8Array {
    const file = this.#file('read', path);
    const bytes = new Uint8Array(file.sizeBytes);
    file.read(bytes, 0);
    return bytes;
  }

  /** Writes a whole file at once, on the disk with its folders, with no operation counted. */
  plant(path: string, bytes: Uint8Array): void {
    let folder = this.#tree.root;
    for (const name of partsOf(path).slice(0, -1)) {
      const next = folder.entries.get(name) ?? new SimFolder();
      invariant(next.kind === 'folder', 'the parents are folders', path);
      if (!folder.entries.has(name)) this.#tree.change([{ folder, name, node: next }]);
      folder = next;
    }
    const node = this.#tree.find(path) ?? this.#createFile(path);
    invariant(node.kind === 'file', 'a file is planted', path);
    node.truncate(0);
    node.write(bytes, 0);
    node.settle();
    this.#tree.settle();
  }

  /** The paths of all files, sorted; of a file with several names the first. */
  paths(): string[] {
    return [...this.#tree.files()].map(({ path }) => path);
  }

  /** SHA-256 over all paths and contents, in hex: two runs of one seed are compared by it. */
  digest(): string {
    const hash = createHash('sha256');
    for (const { path, file } of this.#tree.files()) {
      hash.update(`${path}\0${file.sizeBytes}\0`).update(this.peek(path));
    }
    return hash.digest('hex');
  }

  /** How many operations of a kind there were. */
  countOf(kind: FsOpKind): number {
    return this.#counts.get(kind) ?? 0;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  // ---- For handles -------------------------------------------------------------------------------------------------

  /** Counts an operation and decides its fault. */
  begin(kind: FsOpKind, path: string): FsFault {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    return this.failWhen === null ? null : this.failWhen({ kind, path, count });
  }

  /** Runs `work` when the operation's time has come; at once without timers. */
  defer<T>(kind: FsOpKind, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (): void => {
        try {
          resolve(work());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      if (this.#timers === null) return run();
      const max = SYNCS.has(kind) ? SYNC_DELAY_MAX_MS : DELAY_MAX_MS;
      this.#timers.after(max * (0.1 + 0.9 * this.random.float()), run);
    });
  }

  /** Writes to a file of this file system, as much as there is space for. */
  writeTo(file: SimFile, path: string, data: Uint8Array, at: number): void {
    const growth = file.linkCount === 0 ? 0 : Math.max(0, at + data.length - file.sizeBytes);
    const space = this.capacityBytes - this.#usedBytes;
    const fitting = growth <= space ? data.length : Math.max(0, data.length - (growth - space));
    this.#resize(file, () => file.write(data.subarray(0, fitting), at));
    if (fitting < data.length) throw faultError('full', 'write', path);
  }

  truncateTo(file: SimFile, sizeBytes: number): void {
    this.#resize(file, () => file.truncate(sizeBytes));
  }

  // ---- Helpers -----------------------------------------------------------------------------------------------------

  #resize(file: SimFile, change: () => void): void {
    const before = file.sizeBytes;
    change();
    if (file.linkCount > 0) this.#usedBytes += file.sizeBytes - before;
    file.modifiedMs = this.#clock?.nowMs() ?? 0;
  }

  #later<T>(kind: FsOpKind, path: string, work: () => T): Promise<T> {
    const fault = this.begin(kind, path);
    return this.defer(kind, () => {
      if (fault !== null) throw faultError(fault, kind, path);
      return work();
    });
  }

  #copyOn(tree: SimTree, options: Omit<CrashOptions, 'keepUnsynced'>, random: SeededRandom): SimFs {
    const timers = options.timers ?? this.#timers;
    const clock = options.clock ?? this.#clock;
    const outside = {
      ...(timers === null ? {} : { timers }),
      ...(clock === null ? {} : { clock }),
    };
    const { capacityBytes } = this;
    return new SimFs({ random: random.fork(), capacityBytes, ...outside }, tree);
  }

  /** A change that may take a file its last name, or give it its first: then the space in use changes. */
  #change(change: Parameters<SimTree['change']>[0]): void {
    const files = new Set<SimFile>();
    for (const { folder, name, node } of change) {
      const before = folder.entries.get(name);
      if (before?.kind === 'file') files.add(before);
      if (node?.kind === 'file') files.add(node);
    }
    for (const file of files) if (file.linkCount > 0) this.#usedBytes -= file.sizeBytes;
    this.#tree.change(change);
    // Without an account of syncs nothing may wait for one.
    if (this.#isVolatile) this.#tree.settle();
    for (const file of files) if (file.linkCount > 0) this.#usedBytes += file.sizeBytes;
  }

  #createFile(path: string): SimFile {
    const at = this.#parent('create', path);
    const file = new SimFile(this.#isVolatile);
    file.modifiedMs = this.#clock?.nowMs() ?? 0;
    this.#change([{ ...at, node: file }]);
    return file;
  }

  #copyNode(node: SimNode, to: string): void {
    if (node.kind === 'folder') {
      const at = this.#parent('copy', to);
      if (!at.folder.entries.has(at.name)) this.#change([{ ...at, node: new SimFolder() }]);
      for (const [name, child] of [...node.entries]) this.#copyNode(child, `${to}/${name}`);
      return;
    }
    const found = this.#tree.find(to);
    if (found?.kind === 'folder') throw new IoException(`cannot copy to ${to}: a folder`, to);
    const target = found ?? this.#createFile(to);
    const bytes = new Uint8Array(node.sizeBytes);
    node.read(bytes, 0);
    this.truncateTo(target, 0);
    this.writeTo(target, to, bytes, 0);
  }

  #removeUnder(node: SimNode): void {
    if (node.kind === 'file') return;
    for (const [name, child] of [...node.entries]) {
      this.#removeUnder(child);
      this.#change([{ folder: node, name, node: null }]);
    }
  }

  #node(doing: string, path: string): SimNode {
    const node = this.#tree.find(path);
    if (node === null) throw absent(doing, path);
    return node;
  }

  #folder(doing: string, path: string): SimFolder {
    const node = this.#node(doing, path);
    if (node.kind === 'file') throw new IoException(`cannot ${doing} ${path}: a file`, path);
    return node;
  }

  #file(doing: string, path: string): SimFile {
    const node = this.#node(doing, path);
    if (node.kind === 'folder') throw new IoException(`cannot ${doing} ${path}: a folder`, path);
    return node;
  }

  #parent(doing: string, path: string): { folder: SimFolder; name: string } {
    const at = this.#tree.parentOf(path);
    if (at === null) throw absent(doing, path);
    return at;
  }

  #lockOf(folder: SimFolder): FolderLock {
    let isHeld = true;
    return {
      setAddress: async (address) => {
        const holder = this.#locks.get(folder);
        if (!isHeld || holder === undefined) throw new IoException('the lock was released', '');
        this.#locks.set(folder, { ...holder, address });
      },
      release: async () => {
        if (!isHeld) return;
        isHeld = false;
        this.#locks.delete(folder);
        if (folder.entries.has(LOCK_NAME)) this.#change([{ folder, name: LOCK_NAME, node: null }]);
      },
    };
  }
}

function absent(doing: string, path: string): FileNotFoundException {
  return new FileNotFoundException(`cannot ${doing} ${path}: no such file or folder`, path);
}
