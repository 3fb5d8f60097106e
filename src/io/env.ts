/**
 * The outside world as a parameter. Everything above `io` reaches files, time, chance and threads through an `Env`
 * and nothing else, so that the simulator can stand in for the machine and replay it from a seed.
 */

/** How a file is opened: `read` needs it to exist; `create` fails if it exists; `write` opens or creates. */
export type OpenMode = 'read' | 'create' | 'write';

export interface FileStat {
  readonly sizeBytes: number;
  readonly isDirectory: boolean;
  readonly modifiedMs: number;
}

/**
 * An open file. Offsets and lengths are bytes. Writes are positional and whole: they store every byte or throw
 * `IoException` (or `DiskFullException`), in which case a prefix, or in a crash any sectors, may have been written.
 * The synchronous forms block the thread and are for the log's lone waiter and for workers.
 * A handle may be used by several callers at once; what overlapping writes leave is undefined.
 */
export interface FileHandle {
  readonly path: string;
  /** Fills `buf` from offset `at`; gives the count read, short only at the end of the file. */
  read(buf: Uint8Array, at: number): Promise<number>;
  readSync(buf: Uint8Array, at: number): number;
  /** The buffers stay the caller's and must not change until the promise settles. */
  write(data: Uint8Array, at: number): Promise<void>;
  writeSync(data: Uint8Array, at: number): void;
  /** fdatasync: every write that finished before the call is on the disk when it settles. */
  sync(): Promise<void>;
  syncSync(): void;
  truncate(sizeBytes: number): Promise<void>;
  size(): Promise<number>;
  close(): Promise<void>;
}

/** A held folder lock. `release` is idempotent. */
export interface FolderLock {
  /** Rewrites the note for whoever comes second, e.g. once the HTTP port is known. */
  setAddress(address: string | null): Promise<void>;
  release(): Promise<void>;
}

/** Paths are absolute or relative to the process, with '/' between parts on every platform. */
export interface FileSystem {
  open(path: string, mode: OpenMode): Promise<FileHandle>;
  /** Reads a whole file; throws `FileNotFoundException` if it is absent. */
  readFile(path: string): Promise<Uint8Array>;
  /** Names (not paths) of the entries of a folder, sorted; an absent folder throws `FileNotFoundException`. */
  list(path: string): Promise<string[]>;
  /** Null when nothing is there. */
  stat(path: string): Promise<FileStat | null>;
  /** Makes the folder and its parents; the new entries are on the disk only after `syncFolder` of each parent. */
  ensureFolder(path: string): Promise<void>;
  /** Replaces `to` atomically if it exists; durable after `syncFolder` of the folder. */
  rename(from: string, to: string): Promise<void>;
  /** A second name for the same file (hard link). */
  link(from: string, to: string): Promise<void>;
  copy(from: string, to: string): Promise<void>;
  /** Makes `to`, which must not exist, share the blocks of the file `from` (reflink). False where that cannot be; then nothing is made. */
  clone(from: string, to: string): Promise<boolean>;
  /** Removes a file or a whole tree; absent is no error. */
  remove(path: string): Promise<void>;
  /** The entries made, renamed and removed before the call are on the disk when it settles. */
  syncFolder(path: string): Promise<void>;
  /**
   * Takes the exclusive lock of a data folder: `<path>/LOCK`, holding `note` for whoever comes second.
   * Throws `FolderLockedException` naming the holder (process id, its note). The lock of a killed process is taken over.
   */
  lockFolder(path: string, note: LockNote): Promise<FolderLock>;
  /** What the current holder of the folder wrote; null if nobody holds it. */
  lockHolder(path: string): Promise<LockHolder | null>;
}

export interface LockNote {
  /** Where the holder can be reached, e.g. its HTTP address; null for an embedded store. */
  readonly address: string | null;
}

export interface LockHolder extends LockNote {
  readonly pid: number;
  readonly sinceMs: number;
}

export interface Clock {
  /** Unix milliseconds; may step backwards. */
  nowMs(): number;
  /** Milliseconds of a clock that never steps, with fractions, from an arbitrary start. */
  monotonicMs(): number;
}

export interface Random {
  /** An integer in [0, below), below <= 2^32. */
  int(below: number): number;
  bytes(length: number): Uint8Array;
}

export interface Timer {
  cancel(): void;
}

export interface Timers {
  /**
   * Runs `task` once after `ms`. It keeps the process alive only if asked to: where a caller's promise depends on it.
   */
  after(ms: number, task: () => void, keepsAlive?: boolean): Timer;
  /** Runs `task` once in the next turn of the event loop, after pending I/O had its chance. */
  soon(task: () => void): void;
  /** Settles after `ms`; unlike `after` it keeps the process alive meanwhile, as somebody waits for it. */
  sleep(ms: number): Promise<void>;
}

/** A class of errors that a job may throw. Its name must equal the `code` (or else `name`) of what it makes. */
export interface ErrorClass {
  readonly name: string;
  readonly prototype: Error;
}

/**
 * Background work for a worker. The worker imports `module` and calls its export named `run.name`; the inline executor
 * calls `run` itself. `input` and the result must survive structured cloning; shared buffers are passed, not copied.
 */
export interface Job<Input, Output> {
  /** `import.meta.url` of the module that exports `run`. */
  readonly module: string;
  readonly run: (input: Input, env: Env) => Promise<Output>;
  readonly input: Input;
  /**
   * Classes beyond io's own that come back from the worker as themselves, with their fields (those that are text,
   * numbers, booleans, bytes or null). Any other error comes back as `JobFailedException`.
   */
  readonly errors?: readonly ErrorClass[];
}

/** Runs background jobs: on a pool of workers, one a process, or inline step by step in the simulator. */
export interface Executor {
  run<Input, Output>(job: Job<Input, Output>): Promise<Output>;
  /** Waits for running jobs and stops the workers. The executor starts again at the next job. */
  close(): Promise<void>;
}

export interface Env {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly executor: Executor;
}
