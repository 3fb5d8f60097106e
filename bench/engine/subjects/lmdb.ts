/**
 * lmdb-js with its defaults: puts are gathered into transactions of its writer thread, and their promises settle after
 * the flush (`separateFlushed` is off). It has no cache of its own: it maps its file, and its memory is the operating
 * system's. Binary keys and values save it the encoding.
 */
import { loadPeer } from '../peers.ts';
import type { Consume, OpenSubject, Row, Subject } from '../subject.ts';

interface Database {
  get(key: Uint8Array): Uint8Array | undefined;
  put(key: Uint8Array, value: Uint8Array): Promise<boolean>;
  transaction(task: () => void): Promise<void>;
  getRange(options: { start?: Uint8Array; limit?: number }): Iterable<Row>;
  close(): Promise<void>;
  readonly flushed: Promise<unknown>;
}
interface Lmdb {
  open(options: Record<string, unknown>): Database;
}

export const openLmdb: OpenSubject = async ({ dir }) => {
  const lmdb = loadPeer<Lmdb>('lmdb');
  const options = { path: `${dir}/lmdb`, keyEncoding: 'binary', encoding: 'binary' };
  return new LmdbSubject(lmdb.open(options));
};

class LmdbSubject implements Subject {
  readonly name = 'lmdb';
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async put(key: Uint8Array, value: Uint8Array): Promise<void> {
    await this.#db.put(key, value);
  }

  async putBatch(keys: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void> {
    const db = this.#db;
    await db.transaction(() => {
      for (let i = 0; i < keys.length; i++) void db.put(keys[i]!, values[i]!);
    });
    await db.flushed;
  }

  async increment(key: Uint8Array): Promise<void> {
    const db = this.#db;
    await db.transaction(() => {
      const old = db.get(key);
      const sum = Buffer.alloc(8);
      sum.writeBigInt64BE(old === undefined ? 1n : Buffer.from(old).readBigInt64BE(0) + 1n);
      void db.put(key, sum);
    });
  }

  getSync(key: Uint8Array): Uint8Array | undefined {
    return this.#db.get(key);
  }

  /** Its documentation recommends the synchronous read within asynchronous code. */
  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#db.get(key);
  }

  firstSync(start: Uint8Array): Row | undefined {
    for (const row of this.#db.getRange({ start, limit: 1 })) return row;
    return undefined;
  }

  async scanEach(consume: Consume): Promise<void> {
    for (const { key, value } of this.#db.getRange({})) consume(key, value);
  }

  async scanShort(start: Uint8Array, count: number, consume: Consume): Promise<void> {
    const range = this.#db.getRange({ start, limit: count });
    for (const { key, value } of range) consume(key, value);
  }

  /** What is committed is in its file. */
  async settle(): Promise<number> {
    await this.#db.flushed;
    return 0;
  }

  async close(): Promise<void> {
    await this.#db.close();
  }
}
