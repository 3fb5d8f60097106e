/** The manifest's files on the disk: one record file that is appended to, and CURRENT, which names it. */
import {
  CorruptionException,
  type Env,
  type FileHandle,
  FileNotFoundException,
  type FileSystem,
} from '../io/index.ts';
import {
  type CurrentPointer,
  decodeCurrent,
  decodeHeader,
  encodeCurrent,
  encodeHeader,
  encodeRecord,
  type FileIdentity,
  generationOf,
  HEADER_SIZE,
  KIND_EDITS,
  manifestFileName,
  type RecordSpan,
  scanRecords,
} from './format.ts';

const CURRENT = 'CURRENT';
const CURRENT_NEW = 'CURRENT.new';

/**
 * An open record file. Appends are one at a time. Invariants: bytes below `syncedTo` are on the disk; `endAt` is a multiple
 * of 8 and is where the next record goes.
 */
export class RecordFile {
  readonly path: string;
  readonly identity: FileIdentity;
  readonly #handle: FileHandle;
  #endAt: number;
  #syncedTo: number;

  constructor(handle: FileHandle, identity: FileIdentity, at: { endAt: number; syncedTo: number }) {
    this.path = handle.path;
    this.identity = identity;
    this.#handle = handle;
    this.#endAt = at.endAt;
    this.#syncedTo = at.syncedTo;
  }

  get endAt(): number {
    return this.#endAt;
  }

  get syncedTo(): number {
    return this.#syncedTo;
  }

  /** Makes the file of a generation, replacing what an interrupted attempt left. Not synced. */
  static async create(fs: FileSystem, folder: string, identity: FileIdentity): Promise<RecordFile> {
    const path = `${folder}/${manifestFileName(identity.generation)}`;
    const handle = await fs.open(path, 'write');
    try {
      await handle.truncate(0);
      await handle.write(encodeHeader(identity), 0);
    } catch (error) {
      await handle.close();
      await fs.remove(path);
      throw error;
    }
    return new RecordFile(handle, identity, { endAt: HEADER_SIZE, syncedTo: 0 });
  }

  /** Writes a record behind the last one. If it throws, the end did not move, and bytes may lie behind it. */
  async append(kind: number, payload: Uint8Array): Promise<void> {
    const record = encodeRecord(payload, {
      generation: this.identity.generation,
      at: this.#endAt,
      kind,
      syncedTo: this.#syncedTo,
    });
    await this.#handle.write(record, this.#endAt);
    this.#endAt += record.length;
  }

  async sync(): Promise<void> {
    const endAt = this.#endAt;
    await this.#handle.sync();
    this.#syncedTo = endAt;
  }

  /** Cuts what a failed append left behind the end. */
  async cutTail(): Promise<void> {
    await this.#handle.truncate(this.#endAt);
    await this.#handle.sync();
  }

  /**
   * After a crash: what lies beyond `syncedTo` may be in the page cache only, even after a failed sync, so it is written
   * again; what lies behind the end is cut. `tail` holds the bytes from `syncedTo` to the end.
   */
  async settleTail(tail: Uint8Array, sizeBytes: number): Promise<void> {
    if (tail.length > 0) await this.#handle.write(tail, this.#syncedTo);
    if (sizeBytes > this.#endAt) await this.#handle.truncate(this.#endAt);
    if (tail.length > 0 || sizeBytes > this.#endAt) await this.sync();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Writes the pointer to `file`, whose bytes are synced, beside CURRENT. Nothing has changed for a reader if this throws. */
export async function prepareSwitch(
  fs: FileSystem,
  folder: string,
  file: RecordFile,
): Promise<void> {
  const handle = await fs.open(`${folder}/${CURRENT_NEW}`, 'write');
  try {
    await handle.truncate(0);
    await handle.write(encodeCurrent({ ...file.identity, syncedTo: file.syncedTo }), 0);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await fs.syncFolder(folder); // The new record file's entry, before anything names it.
}

/** Makes the prepared pointer CURRENT. If this throws, either file may be the current one after a crash. */
export async function performSwitch(fs: FileSystem, folder: string): Promise<void> {
  await fs.rename(`${folder}/${CURRENT_NEW}`, `${folder}/${CURRENT}`);
  await fs.syncFolder(folder);
}

/** A record file as it was found. */
export interface FoundFile {
  readonly path: string;
  readonly identity: FileIdentity;
  readonly buf: Uint8Array;
  readonly records: readonly RecordSpan[];
  readonly endAt: number;
  readonly syncedTo: number;
}

/**
 * Reads CURRENT and the file that it names, changing nothing. Null if the folder is absent or holds no manifest. Throws
 * CorruptionException or NewerVersionException.
 */
export async function findCurrent(fs: FileSystem, folder: string): Promise<FoundFile | null> {
  const names = await listOrEmpty(fs, folder);
  if (!names.includes(CURRENT)) {
    await refuseLostPointer(fs, folder, names);
    return null;
  }
  const currentPath = `${folder}/${CURRENT}`;
  const pointer = decodeCurrent(await fs.readFile(currentPath), currentPath);
  const path = `${folder}/${manifestFileName(pointer.generation)}`;
  if (!names.includes(manifestFileName(pointer.generation))) {
    throw new CorruptionException(`the file that ${currentPath} names is missing`, path, 0);
  }
  const buf = await fs.readFile(path);
  checkIdentity(decodeHeader(buf, path), pointer, path);
  return { path, identity: pointer, buf, ...scanRecords(buf, path, pointer) };
}

function checkIdentity(found: FileIdentity, wanted: CurrentPointer, path: string): void {
  if (found.generation !== wanted.generation) {
    throw new CorruptionException(
      `generation ${found.generation} instead of ${wanted.generation}`,
      path,
      0,
    );
  }
  if (found.storeId !== wanted.storeId) {
    throw new CorruptionException(
      `the file belongs to store ${found.storeId}, CURRENT to ${wanted.storeId}`,
      path,
      0,
    );
  }
}

async function listOrEmpty(fs: FileSystem, folder: string): Promise<string[]> {
  try {
    return await fs.list(folder);
  } catch (error) {
    if (error instanceof FileNotFoundException) return [];
    throw error;
  }
}

/** Without CURRENT only a creation that was interrupted before its first edit is no loss. */
async function refuseLostPointer(
  fs: FileSystem,
  folder: string,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    const generation = generationOf(name);
    if (generation === null) continue;
    const path = `${folder}/${name}`;
    const buf = await fs.readFile(path);
    const { records } = scanRecords(buf, path, { generation, syncedTo: 0 });
    if (generation > 1 || records.some((record) => record.kind === KIND_EDITS)) {
      throw new CorruptionException(`CURRENT is missing beside ${name}`, `${folder}/${CURRENT}`, 0);
    }
  }
}

/** Opens a found file for appending: folder and tail are made sure of first, old generations go. */
export async function openFound(env: Env, folder: string, found: FoundFile): Promise<RecordFile> {
  const { fs } = env;
  // The rename that made this file current may not have reached the disk before the crash.
  await fs.syncFolder(folder);
  const handle = await fs.open(found.path, 'write');
  const file = new RecordFile(handle, found.identity, found);
  try {
    await file.settleTail(found.buf.subarray(found.syncedTo, found.endAt), found.buf.length);
    await removeOthers(fs, folder, found.identity.generation);
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

async function removeOthers(fs: FileSystem, folder: string, generation: number): Promise<void> {
  for (const name of await fs.list(folder)) {
    const other = generationOf(name);
    if (name === CURRENT_NEW || (other !== null && other !== generation)) {
      await fs.remove(`${folder}/${name}`);
    }
  }
}

/** Removes the file of a generation that is no longer, or never became, current. */
export async function removeGeneration(
  fs: FileSystem,
  folder: string,
  generation: number,
): Promise<void> {
  await fs.remove(`${folder}/${manifestFileName(generation)}`);
}
