/**
 * Files whose length and CRC-32 (that of gzip and zip, so that other tools can check it) are noted while they are written,
 * and checked when they are read.
 */
import { CorruptionException, FileNotFoundException, ReadOnlyException } from '../io/index.ts';
import type { Env, FileHandle } from '../io/index.ts';
import { loadCrc32 } from './fast_crc.ts';
import type { Crc32 } from './fast_crc.ts';
import type { Work } from './work.ts';

export const CHUNK_SIZE: number = 1024 * 1024;
/**
 * Bytes read at once of a file that is copied or checked whole: each piece goes through several threads, and on a busy
 * machine each of them waits for its turn.
 */
const PIECE_SIZE: number = 4 * 1024 * 1024;
/** As PIECE_SIZE where bytes a second are limited: small steps, so that a stop is noticed soon. */
export const PACED_PIECE_SIZE: number = 256 * 1024;
/** Bytes between two syncs: the last one is short then, and none holds up the log's for long. */
const SYNC_EVERY: number = 16 * 1024 * 1024;

/** A file as a manifest lists it. */
export interface FileEntry {
  /** Relative to the folder of the manifest, '/' between parts. */
  readonly path: string;
  readonly sizeBytes: number;
  /** 8 hex digits. */
  readonly crc32: string;
}

export const crcText = (crc: number): string => (crc >>> 0).toString(16).padStart(8, '0');

/** Syncs a file while more is written to it: what is written meanwhile is the next sync's. */
class SyncAhead {
  readonly #handle: FileHandle;
  #underWay: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Starts a sync once the one before it is done. Throws what that one threw. */
  async begin(): Promise<void> {
    await this.#settle();
    this.#underWay = this.#handle.sync().catch((error: unknown) => {
      this.#failure = { error };
    });
  }

  /** Everything written is on the disk. */
  async finish(): Promise<void> {
    await this.#settle();
    await this.#handle.sync();
  }

  async #settle(): Promise<void> {
    await this.#underWay;
    if (this.#failure !== null) throw this.#failure.error;
  }
}

/** Writes a new file from its start to its end. */
export class CheckedWriter {
  readonly path: string;
  readonly #work: Work;
  readonly #handle: FileHandle;
  readonly #sync: SyncAhead;
  readonly #crc32: Crc32;
  #chunks: Uint8Array[] = [];
  #gathered = 0;
  #written = 0;
  #synced = 0;
  #crc = 0;

  private constructor(work: Work, handle: FileHandle, crc32: Crc32) {
    this.#crc32 = crc32;
    this.path = handle.path;
    this.#work = work;
    this.#handle = handle;
    this.#sync = new SyncAhead(handle);
  }

  /** The file must not exist. */
  static async create(work: Work, path: string): Promise<CheckedWriter> {
    const crc32 = await loadCrc32();
    return new CheckedWriter(work, await work.env.fs.open(path, 'create'), crc32);
  }

  /** Bytes so far. */
  get sizeBytes(): number {
    return this.#written + this.#gathered;
  }

  /** Takes the bytes, which must not change until the next `drain`. True: time to `drain`. */
  add(bytes: Uint8Array): boolean {
    if (bytes.length > 0) this.#chunks.push(bytes);
    this.#gathered += bytes.length;
    return this.#gathered >= (this.#work.isPaced ? PACED_PIECE_SIZE : CHUNK_SIZE);
  }

  /** Writes what was gathered. */
  async drain(): Promise<void> {
    const chunks = this.#chunks;
    if (chunks.length === 0) return;
    const data = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    this.#chunks = [];
    this.#gathered = 0;
    this.#crc = this.#crc32(data, this.#crc);
    await this.#handle.write(data, this.#written);
    this.#written += data.length;
    if (this.#written - this.#synced >= SYNC_EVERY) {
      this.#synced = this.#written;
      await this.#sync.begin();
    }
    await this.#work.step(data.length);
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.add(bytes)) await this.drain();
  }

  /** Syncs and closes; the folder's entry is the caller's to sync. `path` is what the entry says. */
  async finish(path: string): Promise<FileEntry> {
    await this.drain();
    await this.#sync.finish();
    await this.#handle.close();
    return { path, sizeBytes: this.#written, crc32: crcText(this.#crc) };
  }

  /** Closes and removes it. */
  async abort(): Promise<void> {
    await this.#handle.close();
    await this.#work.env.fs.remove(this.path);
  }
}

/** Reads a file in chunks, each valid until the next is asked for. Throws FileNotFoundException. */
export async function* chunksOf(env: Env, path: string): AsyncGenerator<Uint8Array> {
  const handle = await env.fs.open(path, 'read');
  const buf = Buffer.allocUnsafeSlow(CHUNK_SIZE);
  try {
    for (let at = 0; ;) {
      const length = await handle.read(buf, at);
      if (length === 0) return;
      at += length;
      yield buf.subarray(0, length);
    }
  } finally {
    await handle.close();
  }
}

/** Hands a file over in chunks, each valid until its promise settles: the next one is read meanwhile. */
async function eachChunk(
  work: Work,
  path: string,
  use: (chunk: Uint8Array) => Promise<void>,
): Promise<void> {
  const handle = await work.env.fs.open(path, 'read');
  const size = work.isPaced ? PACED_PIECE_SIZE : PIECE_SIZE;
  let buf = work.takeBuffer(size);
  let ahead = work.takeBuffer(size);
  try {
    let at = 0;
    let length = await handle.read(buf, at);
    while (length > 0) {
      at += length;
      const chunk = buf.subarray(0, length);
      if (length < buf.length) return await use(chunk);
      [length] = await Promise.all([handle.read(ahead, at), use(chunk)]);
      [buf, ahead] = [ahead, buf];
    }
  } finally {
    await handle.close(); // What is still being read ends first.
    work.giveBuffer(buf);
    work.giveBuffer(ahead);
  }
}

/** The length and CRC of a file as it is now. */
export async function readEntry(work: Work, path: string): Promise<Omit<FileEntry, 'path'>> {
  const crc32 = await loadCrc32();
  let crc = 0;
  let sizeBytes = 0;
  await eachChunk(work, path, (chunk) => {
    crc = crc32(chunk, crc);
    sizeBytes += chunk.length;
    return work.step(chunk.length);
  });
  return { sizeBytes, crc32: crcText(crc) };
}

/** What is wrong with the file that should be as the entry says; null if nothing is. Reads all of it. */
export async function entryFault(
  work: Work,
  dir: string,
  entry: FileEntry,
): Promise<string | null> {
  const fault = await entryLengthFault(work.env, dir, entry);
  if (fault !== null) return fault;
  const found = await readEntry(work, `${dir}/${entry.path}`);
  return found.crc32 === entry.crc32
    ? null
    : `its CRC-32 is ${found.crc32}, not ${entry.crc32}: it was changed`;
}

/** As `entryFault`, without reading the file. */
export async function entryLengthFault(
  env: Env,
  dir: string,
  entry: FileEntry,
): Promise<string | null> {
  const stat = await env.fs.stat(`${dir}/${entry.path}`);
  if (stat === null) return 'it is missing';
  if (stat.sizeBytes === entry.sizeBytes) return null;
  return `it has ${stat.sizeBytes} bytes, not ${entry.sizeBytes}`;
}

/**
 * Copies a file, checking it against its entry on the way if one is given. The copy is on the disk when this settles, its
 * folder's entry is not. Where the file system can, both share their blocks (reflink). Throws CorruptionException for a source
 * that is not as the entry says; the copy is gone then.
 */
export async function copyChecked(
  work: Work,
  from: string,
  to: string,
  expected: Omit<FileEntry, 'path'> | null,
): Promise<Omit<FileEntry, 'path'>> {
  if (work.clones && (await work.env.fs.clone(from, to))) {
    return checkClone(work, from, to, expected);
  }
  work.clones = false;
  const found = await copyFile(work, from, to);
  try {
    if (expected !== null) checkCopied(from, found, expected);
  } catch (error) {
    await work.env.fs.remove(to);
    throw error;
  }
  return found;
}

async function copyFile(work: Work, from: string, to: string): Promise<Omit<FileEntry, 'path'>> {
  const writer = await CheckedWriter.create(work, to);
  try {
    await eachChunk(work, from, (chunk) => {
      writer.add(chunk);
      return writer.drain();
    });
    const { sizeBytes, crc32 } = await writer.finish('');
    return { sizeBytes, crc32 };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** A clone is read once, to check it, while what it names is brought onto the disk. */
async function checkClone(
  work: Work,
  from: string,
  to: string,
  expected: Omit<FileEntry, 'path'> | null,
): Promise<Omit<FileEntry, 'path'>> {
  const handle = await work.env.fs.open(to, 'read');
  try {
    const [found] = await Promise.all([readEntry(work, to), handle.sync()]);
    if (expected !== null) checkCopied(from, found, expected);
    return found;
  } catch (error) {
    await work.env.fs.remove(to);
    throw error;
  } finally {
    await handle.close();
  }
}

function checkCopied(
  from: string,
  found: Omit<FileEntry, 'path'>,
  expected: Omit<FileEntry, 'path'>,
): void {
  if (found.sizeBytes !== expected.sizeBytes) {
    throw new CorruptionException(
      `a file of ${expected.sizeBytes} bytes was expected`,
      from,
      Math.min(found.sizeBytes, expected.sizeBytes),
    );
  }
  if (found.crc32 !== expected.crc32) {
    throw new CorruptionException(
      `the CRC-32 is ${found.crc32}, not ${expected.crc32}: the file was changed`,
      from,
      0,
    );
  }
}

/** A second name for a file, whose content is on the disk then: not every store file is synced when it comes to be. */
export async function linkSynced(env: Env, from: string, to: string): Promise<void> {
  await env.fs.link(from, to);
  const handle = await env.fs.open(to, 'read');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Throws FileNotFoundException unless the folder is there. */
export async function requireFolder(env: Env, dir: string): Promise<void> {
  const stat = await env.fs.stat(dir);
  if (stat?.isDirectory !== true) throw new FileNotFoundException(`${dir} is no folder`, dir);
}

/** Makes a folder, its name on the disk, unless it is there. */
export async function ensureDurableFolder(env: Env, dir: string): Promise<void> {
  if ((await env.fs.stat(dir)) !== null) return;
  await env.fs.ensureFolder(dir);
  for (let at = dir; at.includes('/') && at !== '/';) {
    at = at.slice(0, at.lastIndexOf('/')) || '/';
    try {
      await env.fs.syncFolder(at);
    } catch (error) {
      // What we may not even read was there before us.
      if (error instanceof ReadOnlyException) return;
      throw error;
    }
  }
}

/** Brings the entries of these folders, and of every folder from them up to `top`, onto the disk. */
export async function syncFolders(env: Env, folders: Iterable<string>, top: string): Promise<void> {
  const all = new Set<string>([top]);
  for (const folder of folders) {
    for (let at = folder; at.length > top.length; at = at.slice(0, at.lastIndexOf('/')))
      all.add(at);
  }
  // All at once: file systems with a journal bring them onto the disk by one commit.
  await Promise.all([...all].map((folder) => env.fs.syncFolder(folder)));
}

/** The folders of these paths, each once. */
export function foldersOf(paths: Iterable<string>): string[] {
  return [...new Set([...paths].map((path) => path.slice(0, path.lastIndexOf('/'))))];
}
