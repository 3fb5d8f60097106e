/**
 * No store at all: what the disk, memory and this runtime allow. Puts are a bare group commit on a preallocated file
 * (one write and one sync for all that came meanwhile; a lone writer blocks), reads copy bytes out of one buffer.
 */
import { fdatasync, fdatasyncSync, openSync, write, writeSync, closeSync } from 'node:fs';
import type { Consume, OpenSubject, Subject } from '../subject.ts';

const KEY_LENGTH = 16;
const VALUE_LENGTH = 100;
const RECORD_LENGTH = 180; // As long as a log record of one such row.
const FILE_LENGTH = 64 * 1024 * 1024;
const GROUP_MAX = 4096;

export const openBare: OpenSubject = async ({ dir }) => new BareSubject(`${dir}/bare`);

class BareSubject implements Subject {
  readonly name = 'bare';
  readonly #fd: number;
  readonly #buf: Buffer = Buffer.alloc(RECORD_LENGTH * GROUP_MAX);
  readonly #rows: Buffer[] = [];
  #at = 0;
  #waiting: (() => void)[] = [];
  #isSyncing = false;

  constructor(file: string) {
    this.#fd = openSync(file, 'w');
    const zeros = Buffer.alloc(1024 * 1024);
    for (let at = 0; at < FILE_LENGTH; at += zeros.length) writeSync(this.#fd, zeros);
    fdatasyncSync(this.#fd);
  }

  put(key: Uint8Array, value: Uint8Array): Promise<void> {
    const at = (this.#waiting.length % GROUP_MAX) * RECORD_LENGTH;
    this.#buf.set(key, at);
    this.#buf.set(value, at + KEY_LENGTH);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isSyncing) {
        this.#isSyncing = true;
        setImmediate(() => this.#syncGroup());
      }
    });
  }

  async putBatch(keys: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void> {
    const buf = Buffer.alloc(keys.length * RECORD_LENGTH);
    for (let i = 0; i < keys.length; i++) {
      buf.set(keys[i]!, i * RECORD_LENGTH);
      buf.set(values[i]!, i * RECORD_LENGTH + KEY_LENGTH);
      if (this.#rows.length < 1_000_000) this.#keepRow(keys[i]!, values[i]!);
    }
    writeSync(this.#fd, buf, 0, buf.length, this.#advance(buf.length));
    fdatasyncSync(this.#fd);
  }

  /** A copy of some row: keys are not searched for. */
  getSync(key: Uint8Array): Uint8Array {
    const row = this.#rows[(key[15]! * 65536 + key[14]! * 256 + key[13]!) % this.#rows.length]!;
    const copy = Buffer.allocUnsafe(VALUE_LENGTH);
    row.copy(copy, 0, KEY_LENGTH);
    return copy;
  }

  async scanEach(consume: Consume): Promise<void> {
    for (const row of this.#rows) {
      const copy = Buffer.allocUnsafe(row.length);
      row.copy(copy, 0);
      consume(copy.subarray(0, KEY_LENGTH), copy.subarray(KEY_LENGTH));
    }
  }

  async close(): Promise<void> {
    closeSync(this.#fd);
  }

  #keepRow(key: Uint8Array, value: Uint8Array): void {
    this.#rows.push(Buffer.concat([key, value]));
  }

  #syncGroup(): void {
    const group = this.#waiting;
    this.#waiting = [];
    const length = group.length * RECORD_LENGTH;
    if (group.length === 1) {
      writeSync(this.#fd, this.#buf, 0, length, this.#advance(length));
      fdatasyncSync(this.#fd);
      this.#settleGroup(group);
      return;
    }
    const copy = Buffer.from(this.#buf.subarray(0, length));
    write(this.#fd, copy, 0, length, this.#advance(length), (writeError) => {
      if (writeError) throw writeError;
      fdatasync(this.#fd, (syncError) => {
        if (syncError) throw syncError;
        this.#settleGroup(group);
      });
    });
  }

  #settleGroup(group: readonly (() => void)[]): void {
    for (const resolve of group) resolve();
    setImmediate(() => {
      if (this.#waiting.length > 0) this.#syncGroup();
      else this.#isSyncing = false;
    });
  }

  #advance(length: number): number {
    if (this.#at + length > FILE_LENGTH) this.#at = 0;
    const at = this.#at;
    this.#at += length;
    return at;
  }
}
