/**
 * The folders of the simulated file system. An entry change (create, link, rename, remove) is seen at once and is on the
 * disk after a sync of its folder. Changes wait in one journal, in order; a rename is one change of two entries. Two
 * changes of one entry keep their order on the disk: what makes the later durable makes the earlier durable too.
 */
import type { SeededRandom } from './sim_random.ts';
import type { SimFile } from './sim_file.ts';

export type SimNode = SimFile | SimFolder;

export class SimFolder {
  readonly kind = 'folder';
  /** What a process sees. */
  readonly entries: Map<string, SimNode> = new Map();
  /** What is on the disk. */
  readonly durable: Map<string, SimNode> = new Map();
}

interface EntryEdit {
  readonly folder: SimFolder;
  readonly name: string;
  /** Null removes the entry. */
  readonly node: SimNode | null;
}

/** Edits that reach the disk together. */
export type EntryChange = readonly EntryEdit[];

function edit(entries: Map<string, SimNode>, { name, node }: EntryEdit): void {
  if (node === null) entries.delete(name);
  else entries.set(name, node);
}

/** The parts of a path; the root has none. Absolute and relative paths are the same. */
export function partsOf(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts;
}

export class SimTree {
  readonly root: SimFolder;
  #journal: EntryChange[] = [];

  constructor(root: SimFolder = new SimFolder()) {
    this.root = root;
  }

  /** The node at `path`, or null. */
  find(path: string): SimNode | null {
    let node: SimNode = this.root;
    for (const part of partsOf(path)) {
      if (node.kind !== 'folder') return null;
      const next: SimNode | undefined = node.entries.get(part);
      if (next === undefined) return null;
      node = next;
    }
    return node;
  }

  /** The folder that holds, or would hold, the last part of `path`; null if it is absent or the path is the root. */
  parentOf(path: string): { folder: SimFolder; name: string } | null {
    const parts = partsOf(path);
    const name = parts.pop();
    const folder = this.find(parts.join('/'));
    return name === undefined || folder?.kind !== 'folder' ? null : { folder, name };
  }

  change(change: EntryChange): void {
    for (const one of change) {
      const before = one.folder.entries.get(one.name);
      if (before?.kind === 'file') before.linkCount--;
      if (one.node?.kind === 'file') one.node.linkCount++;
      edit(one.folder.entries, one);
    }
    this.#journal.push(change);
  }

  /** The changes that a sync of `folder` called now makes durable. */
  pendingOf(folder: SimFolder): ReadonlySet<EntryChange> {
    return this.#closure((change) => change.some((one) => one.folder === folder));
  }

  /** Puts changes on the disk. */
  commit(changes: ReadonlySet<EntryChange>): void {
    const left: EntryChange[] = [];
    for (const change of this.#journal) {
      if (changes.has(change)) for (const one of change) edit(one.folder.durable, one);
      else left.push(change);
    }
    this.#journal = left;
  }

  /** The picked changes with all earlier ones of the same entries, transitively. */
  #closure(isPicked: (change: EntryChange) => boolean): ReadonlySet<EntryChange> {
    const picked = new Set<EntryChange>();
    const keys = new Map<SimFolder, Set<string>>();
    for (const change of this.#journal.toReversed()) {
      const isNeeded = change.some((one) => keys.get(one.folder)?.has(one.name) === true);
      if (!isNeeded && !isPicked(change)) continue;
      picked.add(change);
      for (const { folder, name } of change) {
        const names = keys.get(folder) ?? new Set();
        keys.set(folder, names.add(name));
      }
    }
    return picked;
  }

  /** A tree of copies made by `copyFile`, with the same entries, seen and durable, and the same journal. */
  fork(copyFile: (file: SimFile) => SimFile): SimTree {
    const copies = new Map<SimNode, SimNode>();
    const copyOf = (node: SimNode): SimNode => {
      const known = copies.get(node);
      if (known !== undefined) return known;
      if (node.kind === 'file') {
        const file = copyFile(node);
        copies.set(node, file);
        file.linkCount = node.linkCount;
        return file;
      }
      return copyFolder(node);
    };
    const copyFolder = (folder: SimFolder): SimFolder => {
      const known = copies.get(folder);
      if (known?.kind === 'folder') return known;
      const copy = new SimFolder();
      copies.set(folder, copy);
      for (const [name, node] of folder.entries) copy.entries.set(name, copyOf(node));
      for (const [name, node] of folder.durable) copy.durable.set(name, copyOf(node));
      return copy;
    };
    const tree = new SimTree(copyFolder(this.root));
    tree.#journal = this.#journal.map((change) =>
      change.map((one) => ({
        folder: copyFolder(one.folder),
        name: one.name,
        node: one.node === null ? null : copyOf(one.node),
      })),
    );
    return tree;
  }

  /**
   * The power is gone: durable entries, and of the waiting changes either the first few (a journal in order) or any, a
   * change never without the earlier ones of its entries.
   */
  lose(keepUnsynced: number, random: SeededRandom): void {
    const isOrdered = random.chance(0.5);
    let isCut = false;
    const kept = new Set(
      this.#journal.filter(() => {
        const isKept = random.chance(keepUnsynced) && !(isOrdered && isCut);
        isCut ||= !isKept;
        return isKept;
      }),
    );
    this.commit(this.#closure((change) => kept.has(change)));
    this.#journal = [];
    const counted = new Set<SimNode>();
    const settle = (folder: SimFolder): void => {
      folder.entries.clear();
      for (const [name, node] of folder.durable) {
        folder.entries.set(name, node);
        if (node.kind === 'folder') settle(node);
        else if (counted.has(node)) node.linkCount++;
        else {
          node.linkCount = 1;
          counted.add(node);
        }
      }
    };
    settle(this.root);
  }

  /** Every file that has a name, once, with its first path, in order of paths. */
  *files(): Generator<{ path: string; file: SimFile }> {
    const seen = new Set<SimNode>();
    const walk = function* (
      folder: SimFolder,
      prefix: string,
    ): Generator<{ path: string; file: SimFile }> {
      for (const name of [...folder.entries.keys()].sort()) {
        const node = folder.entries.get(name)!;
        if (node.kind === 'folder') yield* walk(node, `${prefix}${name}/`);
        else if (!seen.has(node)) {
          seen.add(node);
          yield { path: prefix + name, file: node };
        }
      }
    };
    yield* walk(this.root, '');
  }

  /** On the disk without a sync, as it stands. */
  settle(): void {
    this.commit(new Set(this.#journal));
  }
}
