/** The file system of the machine, on `node:fs`, with our errors; copies are made by fs-extra, which is loaded for the first. */
import * as fs from 'node:fs';
import path from 'node:path';
import type {
  FileHandle,
  FileStat,
  FileSystem,
  FolderLock,
  LockHolder,
  LockNote,
  OpenMode,
} from './env.ts';
import { systemCode, toIoException } from './real_errors.ts';
import { RealFileHandle } from './real_handle.ts';
import { lockRealFolder, realLockHolder } from './real_lock.ts';

const OPEN_FLAGS: Readonly<Record<OpenMode, number>> = {
  read: fs.constants.O_RDONLY,
  create: fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL,
  write: fs.constants.O_RDWR | fs.constants.O_CREAT,
};

/** What a platform or a medium answers that cannot sync a folder: Windows, some network file systems. */
const CANNOT_SYNC_FOLDER: ReadonlySet<string> = new Set(['EINVAL', 'ENOTSUP', 'ENOSYS']);

/** What a file system answers that shares no blocks, or not with another one. */
const CANNOT_CLONE: ReadonlySet<string> = new Set([
  'ENOTSUP',
  'EOPNOTSUPP',
  'EXDEV',
  'EINVAL',
  'ENOTTY',
  'ENOSYS',
  'EPERM',
]);

/** Runs a file operation and gives its errors our classes. */
async function guard<T>(doing: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toIoException(error, doing, path);
  }
}

/**
 * Makes a folder and its parents. Not by the recursive `mkdir` of Node: that never ends where the system says ENOENT below
 * a parent that exists, as under /proc.
 */
async function ensureFolder(folder: string): Promise<void> {
  if (await isMade(folder)) return;
  const parent = path.dirname(folder);
  if (parent !== folder) await ensureFolder(parent);
  await fs.promises.mkdir(folder).catch(async (error: unknown) => {
    // Somebody else may have been quicker.
    if (!(await isMade(folder))) throw error;
  });
}

/** Whether the folder is there or could be made at once; false if its parent is missing. */
async function isMade(folder: string): Promise<boolean> {
  try {
    await fs.promises.mkdir(folder);
    return true;
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT') return false;
    const isThere = await fs.promises.stat(folder).then(
      (stat) => stat.isDirectory(),
      () => false,
    );
    if (isThere) return true;
    throw error;
  }
}

export class RealFs implements FileSystem {
  open(path: string, mode: OpenMode): Promise<FileHandle> {
    return new Promise((resolve, reject) => {
      fs.open(path, OPEN_FLAGS[mode], 0o644, (error, fd) => {
        if (error === null) resolve(new RealFileHandle(path, fd));
        else reject(toIoException(error, mode === 'create' ? 'create' : 'open', path));
      });
    });
  }

  readFile(path: string): Promise<Uint8Array> {
    return guard('read', path, () => fs.promises.readFile(path));
  }

  list(path: string): Promise<string[]> {
    return guard('list', path, async () => (await fs.promises.readdir(path)).sort());
  }

  stat(path: string): Promise<FileStat | null> {
    return guard('stat', path, async () => {
      try {
        const stat = await fs.promises.stat(path);
        return {
          sizeBytes: stat.size,
          isDirectory: stat.isDirectory(),
          modifiedMs: stat.mtimeMs,
        };
      } catch (error) {
        const code = systemCode(error);
        if (code === 'ENOENT' || code === 'ENOTDIR') return null;
        throw error;
      }
    });
  }

  ensureFolder(path: string): Promise<void> {
    return guard('make the folder', path, () => ensureFolder(path));
  }

  rename(from: string, to: string): Promise<void> {
    return guard(`rename to ${to} the file`, from, () => fs.promises.rename(from, to));
  }

  link(from: string, to: string): Promise<void> {
    return guard(`link as ${to} the file`, from, () => fs.promises.link(from, to));
  }

  copy(from: string, to: string): Promise<void> {
    return guard(`copy to ${to} the file`, from, async () => {
      const { default: fsExtra } = await import('fs-extra');
      await fsExtra.copy(from, to);
    });
  }

  clone(from: string, to: string): Promise<boolean> {
    const { COPYFILE_EXCL, COPYFILE_FICLONE_FORCE } = fs.constants;
    return guard(`clone as ${to} the file`, from, async () => {
      try {
        await fs.promises.copyFile(from, to, COPYFILE_EXCL | COPYFILE_FICLONE_FORCE);
        return true;
      } catch (error) {
        if (!CANNOT_CLONE.has(systemCode(error))) throw error;
        return false;
      }
    });
  }

  remove(path: string): Promise<void> {
    return guard('remove', path, () => fs.promises.rm(path, { recursive: true, force: true }));
  }

  syncFolder(path: string): Promise<void> {
    // Windows opens no folders for this; its file system keeps the order of entries in its journal.
    if (process.platform === 'win32') return Promise.resolve();
    return guard('sync the folder', path, async () => {
      const folder = await fs.promises.open(path, 'r');
      try {
        await folder.sync();
      } catch (error) {
        if (!CANNOT_SYNC_FOLDER.has(systemCode(error))) throw error;
      } finally {
        await folder.close();
      }
    });
  }

  lockFolder(path: string, note: LockNote): Promise<FolderLock> {
    return guard('lock', path, () => lockRealFolder(path, note));
  }

  lockHolder(path: string): Promise<LockHolder | null> {
    return guard('read the lock of', path, () => realLockHolder(path));
  }
}
