/**
 * The lock of a data folder, without native code.
 *
 * `LOCK` holds the record of one taker (JSON; fields of `LockRecord`), whose token is never used twice. It is put there
 * by `link`, which publishes a finished file and fails if the name exists. A holder that died with token X is succeeded
 * by whoever links `LOCK.X` first; a successor that died with token Y by `LOCK.Y`, and so on: the holder is the end of
 * the chain that starts at `LOCK`. A successor then reads the chain again: only if it still ends in itself does it hold
 * the lock, and it renames its link to `LOCK` at once, so that the chain is short.
 *
 * Why two takers cannot both win: `LOCK` is replaced only by the chain's end, and its tokens are never used twice. If
 * somebody before me succeeded X and tidied up, `LOCK` no longer leads to X when I read the chain again, so I give up;
 * if he has not tidied up, his `LOCK.X` exists and my link fails.
 *
 * A holder that cannot be seen from here (another container on the same volume, another machine) counts as dead when
 * its heartbeat, the file's modification time, stood still while the taker watched.
 */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { FolderLock, LockHolder, LockNote } from './env.ts';
import { FolderLockedException, IoException } from './errors.ts';
import {
  livenessOf,
  ownIdentity,
  type Liveness,
  type ProcessIdentity,
} from './process_identity.ts';
import { systemCode } from './real_errors.ts';

const LOCK_NAME = 'LOCK';
const TEMP_PREFIX = 'LOCK.tmp.';
const HEARTBEAT_MS = 2_000;
/** How long a heartbeat must stand still before its holder, who cannot be seen, counts as dead. */
const WATCH_MS = 12_000;
/** A record that cannot be read may be half copied, where links are not to be had; later it is what a power cut left. */
const UNREADABLE_GRACE_MS = 1_000;
/** Others that come and go between two steps make a taker start again; so often only by a defect. */
const ATTEMPTS_MAX = 1_000;
const TEMP_AGE_MAX_MS = 3_600_000;

interface LockRecord extends ProcessIdentity {
  readonly token: string;
  readonly sinceMs: number;
  readonly address: string | null;
}

interface ChainEnd {
  readonly token: string;
  /** Null if the record is damaged. */
  readonly record: LockRecord | null;
  readonly file: string;
  readonly modifiedMs: number;
}

function parseRecord(text: string): LockRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (typeof value !== 'object' || value === null) return null;
  const field = (name: string): unknown => Reflect.get(value, name);
  const textField = (name: string): string => {
    const found = field(name);
    return typeof found === 'string' ? found : '';
  };
  const token = textField('token');
  const pid = field('pid');
  const sinceMs = field('sinceMs');
  const isWhole = /^[0-9a-f]+$/.test(token) && typeof sinceMs === 'number';
  if (!isWhole || typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return null;
  return {
    token,
    pid,
    sinceMs,
    address: textField('address') || null,
    startTime: textField('startTime'),
    boot: textField('boot'),
    pidSpace: textField('pidSpace'),
    host: textField('host'),
  };
}

/** Null if the file is absent. A damaged record gets a token made from the file, which no other file shares. */
async function readLink(file: string): Promise<ChainEnd | null> {
  try {
    const text = await fs.promises.readFile(file, 'utf8');
    const stat = await fs.promises.stat(file);
    const record = parseRecord(text);
    const token = record?.token ?? `damaged-${stat.ino}-${Math.floor(stat.mtimeMs)}`;
    return { token, record, file, modifiedMs: stat.mtimeMs };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Walks from `LOCK` to the last successor. Null if there is no `LOCK`. */
async function readChain(folder: string): Promise<ChainEnd | null> {
  let end = await readLink(path.join(folder, LOCK_NAME));
  while (end !== null) {
    const next = await readLink(path.join(folder, `${LOCK_NAME}.${end.token}`));
    if (next === null) return end;
    end = next;
  }
  return null;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Watches the heartbeat of a holder that cannot be seen. */
async function heartbeatOf(end: ChainEnd, watchMs: number): Promise<Liveness> {
  const untilMs = performance.now() + watchMs;
  while (performance.now() < untilMs) {
    await pause(Math.min(watchMs, HEARTBEAT_MS) / 4);
    const now = await readLink(end.file);
    if (now?.token !== end.token || now.modifiedMs !== end.modifiedMs) return 'alive';
  }
  return 'dead';
}

async function livenessOfEnd(
  end: ChainEnd,
  own: ProcessIdentity,
  watchMs: number,
): Promise<Liveness> {
  if (end.record === null) {
    if (Date.now() - end.modifiedMs >= UNREADABLE_GRACE_MS) return 'dead';
    await pause(UNREADABLE_GRACE_MS / 10);
    return 'unknown';
  }
  const liveness = livenessOf(end.record, own);
  return liveness === 'unknown' ? heartbeatOf(end, watchMs) : liveness;
}

/** Publishes the finished file `temp` as `file`. False if `file` exists, or `temp` was swept away. */
async function publish(temp: string, file: string): Promise<boolean> {
  try {
    await fs.promises.link(temp, file);
    return true;
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EEXIST') return false;
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK', 'EOPNOTSUPP'].includes(code)) throw error;
  }
  // A medium without hard links: as exclusive, but a reader may see the record half written.
  try {
    await fs.promises.copyFile(temp, file, fs.constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function lockedBy(folder: string, record: LockRecord | null): FolderLockedException {
  const holder = { pid: record?.pid ?? 0, address: record?.address ?? null };
  const since = record === null ? '' : ` since ${new Date(record.sinceMs).toISOString()}`;
  const reachable = holder.address === null ? '' : `, reachable at ${holder.address}`;
  const message = `${folder} is in use by process ${holder.pid}${since}${reachable}`;
  return new FolderLockedException(message, folder, holder);
}

const tempName = (token: string): string => `${TEMP_PREFIX}${process.pid}.${token}`;

/** Removes what takers that died, or gave up too late, left beside the lock. Only the holder may. */
async function sweep(folder: string, token: string): Promise<void> {
  for (const name of await fs.promises.readdir(folder)) {
    if (!name.startsWith(`${LOCK_NAME}.`) || name === `${LOCK_NAME}.${token}`) continue;
    if (name.startsWith(TEMP_PREFIX)) {
      // A temporary file of a live process is about to be linked; of an hour ago, nobody's.
      const temp = await readLink(path.join(folder, name));
      if (temp === null || Date.now() - temp.modifiedMs < TEMP_AGE_MAX_MS) continue;
    }
    await fs.promises.rm(path.join(folder, name), { force: true });
  }
}

class RealFolderLock implements FolderLock {
  readonly #folder: string;
  readonly #heartbeat: NodeJS.Timeout;
  #record: LockRecord;
  /** Rewriting and releasing take turns. */
  #last: Promise<void> = Promise.resolve();
  #isHeld = true;

  constructor(folder: string, record: LockRecord) {
    this.#folder = folder;
    this.#record = record;
    const file = path.join(folder, LOCK_NAME);
    this.#heartbeat = setInterval(() => {
      // A beat that fails is one beat missed; the lock's state does not hang on it.
      fs.utimes(file, new Date(), new Date(), () => undefined);
    }, HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  setAddress(address: string | null): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#isHeld) throw new IoException('the lock was released', this.#folder);
      this.#record = { ...this.#record, address };
      const temp = path.join(this.#folder, tempName(this.#record.token));
      await fs.promises.writeFile(temp, JSON.stringify(this.#record));
      await fs.promises.rename(temp, path.join(this.#folder, LOCK_NAME));
    });
  }

  release(): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#isHeld) return;
      this.#isHeld = false;
      clearInterval(this.#heartbeat);
      const file = path.join(this.#folder, LOCK_NAME);
      // The folder may be gone, or, if this process stood still for long, the lock be another's by now.
      const end = await readLink(file);
      if (end?.token === this.#record.token) await fs.promises.rm(file, { force: true });
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

/** One try. False means that the state changed meanwhile. Throws if somebody alive holds the lock. */
async function tryToTake(
  folder: string,
  record: LockRecord,
  temp: string,
  watchMs: number,
): Promise<boolean> {
  const end = await readChain(folder);
  if (end === null) return publish(temp, path.join(folder, LOCK_NAME));
  const liveness = await livenessOfEnd(end, record, watchMs);
  if (liveness === 'alive') throw lockedBy(folder, end.record);
  if (liveness === 'unknown') return false;
  const link = path.join(folder, `${LOCK_NAME}.${end.token}`);
  if (!(await publish(temp, link))) return false;
  if ((await readChain(folder))?.token === record.token) {
    await fs.promises.rename(link, path.join(folder, LOCK_NAME));
    return true;
  }
  await fs.promises.rm(link, { force: true });
  return false;
}

/** See `FileSystem.lockFolder`. `watchMs`: how long the heartbeat of a holder that cannot be seen is watched. */
export async function lockRealFolder(
  folderPath: string,
  note: LockNote,
  watchMs: number = WATCH_MS,
): Promise<FolderLock> {
  const folder = await fs.promises.realpath(folderPath);
  const token = randomBytes(16).toString('hex');
  const { address } = note;
  const record: LockRecord = { token, ...ownIdentity(), sinceMs: Date.now(), address };
  const temp = path.join(folder, tempName(token));
  await fs.promises.writeFile(temp, JSON.stringify(record), { flag: 'wx' });
  try {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      if (!(await tryToTake(folder, record, temp, watchMs))) continue;
      await fs.promises.rm(temp, { force: true });
      await sweep(folder, token);
      return new RealFolderLock(folder, record);
    }
  } finally {
    await fs.promises.rm(temp, { force: true });
  }
  throw new IoException(`cannot lock ${folder}: the lock keeps changing`, folder);
}

/** See `FileSystem.lockHolder`. */
export async function realLockHolder(folderPath: string): Promise<LockHolder | null> {
  const end = await readChain(folderPath);
  if (end === null || end.record === null) return null;
  if (livenessOf(end.record, ownIdentity()) === 'dead') return null;
  const { pid, address, sinceMs } = end.record;
  return { pid, address, sinceMs };
}
