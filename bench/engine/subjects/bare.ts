/**
 * No store at all: what the disk, memory and this runtime allow. Puts and increments are a bare group commit on a
 * preallocated file (one write and one sync for all that came meanwhile; a lone writer blocks), reads copy bytes out of
 * large buffers. Nothing is searched for, and nothing is written twice.
 */
import { fdatasync, fdatasyncSync, openSync, write, writeSync, closeSync } from 'node:fs';
import { Values, writeKey } from '../rows.ts';
import type { Consume, OpenSubject, Subject } from '../subject.ts';

const KEY_LENGTH = 16;
/** What a log record has beyond the key and the value of its row. */
const RECORD_MORE = 64;
const FILE_LENGTH = 64 * 1024 * 1024;
const GROUP_MAX = 4096;
const RECORD_LENGTH = KEY_LENGTH + 100 + RECORD_MORE;
const SLAB_ROWS = 1024;
const BATCH = 1000;

export const openBare: OpenSubject = async ({ dir, reopen, rows, valueLength }) => {
  const bare = new BareSubject(`${dir}/bare`, valueLength);
  if (reopen) bare.fill(rows);
  return bare;
};

class BareSubject implements Subject {
  readonly name = 'bare';
  readonly #file: string;
  readonly #valueLength: number;
  readonly #rowLength: number;
  readonly #buf: Buffer = Buffer.alloc(RECORD_LENGTH * GROUP_MAX);
  readonly #slabs: Buffer[] = [];
  #rowCount = 0;
  #openFd: number | null = null;
  #at = 0;
  #count = 0;
  #waiting: (() => void)[] = [];
  #isSyncing = false;

  constructor(file: string, valueLength: number) {
    this.#file = file;
    this.#valueLength = valueLength;
    this.#rowLength = KEY_LENGTH + valueLength;
  }

  /** Rows 0 … `rows` in order, in memory only. */
  fill(rows: number): void {
    const values = new Values(this.#valueLength);
    const row = Buffer.alloc(this.#rowLength);
    for (let n = 0; n < rows; n++) {
      writeKey(row, 0, n);
      row.set(values.next(), KEY_LENGTH);
      this.#keepRow(row.subarray(0, KEY_LENGTH), row.subarray(KEY_LENGTH));
    }
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
    const recordLength = KEY_LENGTH + values[0]!.length + RECORD_MORE;
    const buf = Buffer.alloc(keys.length * recordLength);
    for (let i = 0; i < keys.length; i++) {
      buf.set(keys[i]!, i * recordLength);
      buf.set(values[i]!, i * recordLength + KEY_LENGTH);
    }
    const fd = this.#fd();
    writeSync(fd, buf, 0, buf.length, this.#advance(buf.length));
    fdatasyncSync(fd);
  }

  increment(key: Uint8Array): Promise<void> {
    const sum = Buffer.alloc(8);
    sum.writeBigInt64BE(BigInt(++this.#count));
    return this.put(key, sum);
  }

  /** A copy of some row: keys are not searched for. */
  getSync(key: Uint8Array): Uint8Array {
    const n = (key[15]! * 65536 + key[14]! * 4093 + key[13]! * 257 + key[12]!) % this.#rowCount;
    const at = (n % SLAB_ROWS) * this.#rowLength + KEY_LENGTH;
    const copy = Buffer.allocUnsafe(this.#valueLength);
    this.#slabs[Math.floor(n / SLAB_ROWS)]!.copy(copy, 0, at, at + this.#valueLength);
    return copy;
  }

  async get(key: Uint8Array): Promise<Uint8Array> {
    return this.getSync(key);
  }

  async scanEach(consume: Consume): Promise<void> {
    for (let n = 0; n < this.#rowCount; n++) this.#copyRow(n, consume);
  }

  async scanBatches(consume: Consume): Promise<void> {
    for (let from = 0; from < this.#rowCount; from += BATCH) {
      const to = Math.min(from + BATCH, this.#rowCount);
      for (let n = from; n < to; n++) this.#copyRow(n, consume);
      await Promise.resolve();
    }
  }

  async scanShort(start: Uint8Array, count: number, consume: Consume): Promise<void> {
    const from = Math.min(start[15]! * 256 + start[14]!, this.#rowCount - count);
    for (let n = from; n < from + count; n++) this.#copyRow(n, consume);
  }

  async settle(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {
    if (this.#openFd !== null) closeSync(this.#openFd);
  }

  #copyRow(n: number, consume: Consume): void {
    const length = this.#rowLength;
    const at = (n % SLAB_ROWS) * length;
    const copy = Buffer.allocUnsafe(length);
    this.#slabs[Math.floor(n / SLAB_ROWS)]!.copy(copy, 0, at, at + length);
    consume(copy.subarray(0, KEY_LENGTH), copy.subarray(KEY_LENGTH));
  }

  #keepRow(key: Uint8Array, value: Uint8Array): void {
    const n = this.#rowCount++;
    const slab = Math.floor(n / SLAB_ROWS);
    this.#slabs[slab] ??= Buffer.allocUnsafeSlow(SLAB_ROWS * this.#rowLength);
    this.#slabs[slab].set(key, (n % SLAB_ROWS) * this.#rowLength);
    this.#slabs[slab].set(value, (n % SLAB_ROWS) * this.#rowLength + KEY_LENGTH);
  }

  /** The file, preallocated when it is needed first. */
  #fd(): number {
    if (this.#openFd !== null) return this.#openFd;
    const fd = openSync(this.#file, 'w');
    const zeros = Buffer.alloc(1024 * 1024);
    for (let at = 0; at < FILE_LENGTH; at += zeros.length) writeSync(fd, zeros);
    fdatasyncSync(fd);
    this.#openFd = fd;
    return fd;
  }

  #syncGroup(): void {
    const fd = this.#fd();
    const group = this.#waiting;
    this.#waiting = [];
    const length = group.length * RECORD_LENGTH;
    if (group.length === 1) {
      writeSync(fd, this.#buf, 0, length, this.#advance(length));
      fdatasyncSync(fd);
      this.#settleGroup(group);
      return;
    }
    const copy = Buffer.from(this.#buf.subarray(0, length));
    write(fd, copy, 0, length, this.#advance(length), (writeError) => {
      if (writeError) throw writeError;
      fdatasync(fd, (syncError) => {
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
