/**
 * An open file on `node:fs`. The log does one write and one sync a group commit, so a call costs one promise and no
 * more: callbacks on a numeric descriptor, no `FileHandle` of Node's.
 */
import * as fs from 'node:fs';
import type { FileHandle } from './env.ts';
import { IoException } from './errors.ts';
import { toIoException } from './real_errors.ts';

const CLOSED = -1;

export class RealFileHandle implements FileHandle {
  readonly path: string;
  #fd: number;
  /** Operations handed to the system and not answered: closing waits for them, or a reused number would get them. */
  #inFlight = 0;
  #whenIdle: (() => void) | null = null;

  constructor(path: string, fd: number) {
    this.path = path;
    this.#fd = fd;
  }

  read(buf: Uint8Array, at: number): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#fd === CLOSED) return reject(this.#closed());
      this.#inFlight++;
      this.#readRest(buf, 0, at, resolve, reject);
    });
  }

  readSync(buf: Uint8Array, at: number): number {
    try {
      let done = 0;
      while (done < buf.length) {
        const count = fs.readSync(this.#open(), buf, done, buf.length - done, at + done);
        if (count === 0) break;
        done += count;
      }
      return done;
    } catch (error) {
      throw toIoException(error, 'read', this.path);
    }
  }

  write(data: Uint8Array, at: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#fd === CLOSED) return reject(this.#closed());
      this.#inFlight++;
      this.#writeRest(data, 0, at, resolve, reject);
    });
  }

  writeSync(data: Uint8Array, at: number): void {
    try {
      let done = 0;
      while (done < data.length) {
        done += fs.writeSync(this.#open(), data, done, data.length - done, at + done);
      }
    } catch (error) {
      throw toIoException(error, 'write', this.path);
    }
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#fd === CLOSED) return reject(this.#closed());
      this.#inFlight++;
      fs.fdatasync(this.#fd, (error) => {
        this.#answered();
        if (error === null) resolve();
        else reject(toIoException(error, 'sync', this.path));
      });
    });
  }

  syncSync(): void {
    try {
      fs.fdatasyncSync(this.#open());
    } catch (error) {
      throw toIoException(error, 'sync', this.path);
    }
  }

  truncate(sizeBytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#fd === CLOSED) return reject(this.#closed());
      this.#inFlight++;
      fs.ftruncate(this.#fd, sizeBytes, (error) => {
        this.#answered();
        if (error === null) resolve();
        else reject(toIoException(error, 'truncate', this.path));
      });
    });
  }

  size(): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#fd === CLOSED) return reject(this.#closed());
      this.#inFlight++;
      fs.fstat(this.#fd, (error, stat) => {
        this.#answered();
        if (error === null) resolve(stat.size);
        else reject(toIoException(error, 'stat', this.path));
      });
    });
  }

  /** Waits for the operations under way; further ones are refused at once. Idempotent. */
  async close(): Promise<void> {
    const fd = this.#fd;
    if (fd === CLOSED) return;
    this.#fd = CLOSED;
    if (this.#inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    await new Promise<void>((resolve, reject) => {
      fs.close(fd, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(toIoException(error, 'close', this.path));
      });
    });
  }

  #readRest(
    buf: Uint8Array,
    done: number,
    at: number,
    resolve: (count: number) => void,
    reject: (error: IoException) => void,
    fd: number = this.#fd,
  ): void {
    fs.read(fd, buf, done, buf.length - done, at + done, (error, count) => {
      const total = done + (error === null ? count : 0);
      if (error === null && count > 0 && total < buf.length) {
        this.#readRest(buf, total, at, resolve, reject, fd);
        return;
      }
      this.#answered();
      if (error === null) resolve(total);
      else reject(toIoException(error, 'read', this.path));
    });
  }

  #writeRest(
    data: Uint8Array,
    done: number,
    at: number,
    resolve: () => void,
    reject: (error: IoException) => void,
    fd: number = this.#fd,
  ): void {
    fs.write(fd, data, done, data.length - done, at + done, (error, count) => {
      if (error === null && done + count < data.length) {
        this.#writeRest(data, done + count, at, resolve, reject, fd);
        return;
      }
      this.#answered();
      if (error === null) resolve();
      else reject(toIoException(error, 'write', this.path));
    });
  }

  #answered(): void {
    this.#inFlight--;
    if (this.#inFlight === 0) this.#whenIdle?.();
  }

  #open(): number {
    if (this.#fd === CLOSED) throw this.#closed();
    return this.#fd;
  }

  #closed(): IoException {
    return new IoException(`cannot use ${this.path}: the file is closed`, this.path);
  }
}
