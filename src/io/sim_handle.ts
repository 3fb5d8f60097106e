/** An open file of the simulated file system. */
import type { FileHandle } from './env.ts';
import { IoException, ReadOnlyException } from './errors.ts';
import { faultError, type FsFault, type FsOpKind } from './sim_faults.ts';
import { SECTOR_SIZE, type SimFile } from './sim_file.ts';
import type { SeededRandom } from './sim_random.ts';

/** What a handle needs of the file system that made it. */
export interface SimDisk {
  readonly random: SeededRandom;
  /** Counts an operation and decides its fault. */
  begin(kind: FsOpKind, path: string): FsFault;
  /** Runs `work` when the operation's time has come. */
  defer<T>(kind: FsOpKind, work: () => T): Promise<T>;
  /** Throws `DiskFullException` after the part that fits. */
  writeTo(file: SimFile, path: string, data: Uint8Array, at: number): void;
  truncateTo(file: SimFile, sizeBytes: number): void;
}

export class SimFileHandle implements FileHandle {
  readonly path: string;
  readonly #disk: SimDisk;
  readonly #file: SimFile;
  readonly #isReadOnly: boolean;
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(disk: SimDisk, path: string, file: SimFile, isReadOnly: boolean) {
    this.path = path;
    this.#disk = disk;
    this.#file = file;
    this.#isReadOnly = isReadOnly;
  }

  read(buf: Uint8Array, at: number): Promise<number> {
    return this.#later('read', (fault) => this.#readNow(fault, buf, at));
  }

  readSync(buf: Uint8Array, at: number): number {
    return this.#readNow(this.#begin('read'), buf, at);
  }

  write(data: Uint8Array, at: number): Promise<void> {
    if (this.#isClosed || this.#isReadOnly) return this.#later('write', () => undefined);
    const land = this.#file.fly(data, at);
    return this.#later('write', (fault) => {
      land();
      this.#writeNow(fault, data, at);
    });
  }

  writeSync(data: Uint8Array, at: number): void {
    this.#writeNow(this.#begin('write'), data, at);
  }

  sync(): Promise<void> {
    if (this.#isClosed) return this.#later('sync', () => undefined);
    const layer = this.#file.beginSync();
    return this.#later('sync', (fault) => this.#endSync(fault, layer));
  }

  syncSync(): void {
    const fault = this.#begin('sync');
    this.#endSync(fault, this.#file.beginSync());
  }

  truncate(sizeBytes: number): Promise<void> {
    return this.#later('truncate', (fault) => {
      if (fault !== null) throw faultError(fault, 'truncate', this.path);
      this.#disk.truncateTo(this.#file, sizeBytes);
    });
  }

  size(): Promise<number> {
    return this.#later('stat', () => this.#file.sizeBytes);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  #readNow(fault: FsFault, buf: Uint8Array, at: number): number {
    if (fault !== null) throw faultError(fault, 'read', this.path);
    return this.#file.read(buf, at);
  }

  /** A write that fails has written any number of its first sectors. */
  #writeNow(fault: FsFault, data: Uint8Array, at: number): void {
    if (fault === null) return this.#disk.writeTo(this.#file, this.path, data, at);
    if (fault !== 'readonly') {
      const part = SECTOR_SIZE * this.#disk.random.int(Math.ceil(data.length / SECTOR_SIZE) + 1);
      const written = data.subarray(0, Math.min(part, Math.max(0, data.length - 1)));
      this.#disk.writeTo(this.#file, this.path, written, at);
    }
    throw faultError(fault, 'write', this.path);
  }

  #endSync(fault: FsFault, layer: ReturnType<SimFile['beginSync']>): void {
    if (fault === null) return this.#file.endSync(layer);
    this.#file.failSync(layer, this.#disk.random);
    throw faultError(fault, 'sync', this.path);
  }

  #begin(kind: FsOpKind): FsFault {
    if (this.#isClosed) {
      throw new IoException(`cannot use ${this.path}: the file is closed`, this.path);
    }
    if (this.#isReadOnly && (kind === 'write' || kind === 'truncate')) {
      const message = `cannot ${kind} ${this.path}: it was opened for reading`;
      throw new ReadOnlyException(message, this.path);
    }
    return this.#disk.begin(kind, this.path);
  }

  async #later<T>(kind: FsOpKind, work: (fault: FsFault) => T): Promise<T> {
    const fault = this.#begin(kind);
    const running = this.#disk.defer(kind, () => work(fault));
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }
}
