/** rocksdb (the binding of the Level project) with `sync: true`. Callbacks are its own interface. */
import { promisify } from 'node:util';
import { loadPeer } from '../peers.ts';
import type { Consume, OpenSubject, Subject } from '../subject.ts';
import { settleLevels } from './levels.ts';
import { Turns } from '../turns.ts';

type Done<T> = (error: Error | null | undefined, value: T) => void;
interface Operation {
  readonly type: 'put';
  readonly key: Buffer;
  readonly value: Buffer;
}
interface RocksIterator {
  next(done: (error: Error | null, key?: Buffer, value?: Buffer) => void): void;
  end(done: Done<void>): void;
}
interface Rocks {
  open(options: Record<string, unknown>, done: Done<void>): void;
  put(key: Buffer, value: Buffer, options: { sync: boolean }, done: Done<void>): void;
  batch(operations: Operation[], options: { sync: boolean }, done: Done<void>): void;
  get(key: Buffer, done: Done<Buffer>): void;
  iterator(options: { gte?: Buffer; limit?: number }): RocksIterator;
  compactRange(start: Buffer, end: Buffer, done: Done<void>): void;
  getProperty(name: string): string;
  close(done: Done<void>): void;
}
type RocksModule = (dir: string) => Rocks;

const SYNC = { sync: true } as const;

export const openRocksdb: OpenSubject = async ({ dir, cacheBytes, writeBufferBytes }) => {
  const db = loadPeer<RocksModule>('rocksdb')(`${dir}/rocksdb`);
  const options = { cacheSize: cacheBytes, writeBufferSize: writeBufferBytes };
  await new Promise<void>((resolve, reject) => db.open(options, settle(resolve, reject)));
  return new RocksdbSubject(db);
};

const settle =
  (resolve: () => void, reject: (error: Error) => void) =>
  (error: Error | null | undefined): void => {
    if (error) reject(error);
    else resolve();
  };

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);

class RocksdbSubject implements Subject {
  readonly name = 'rocksdb';
  readonly #db: Rocks;
  readonly #turns: Turns = new Turns();

  constructor(db: Rocks) {
    this.#db = db;
  }

  put(key: Uint8Array, value: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#db.put(asBuffer(key), asBuffer(value), SYNC, settle(resolve, reject));
    });
  }

  putBatch(keys: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void> {
    const operations = keys.map((key, i) => ({
      type: 'put' as const,
      key: asBuffer(key),
      value: asBuffer(values[i]!),
    }));
    return new Promise((resolve, reject) => {
      this.#db.batch(operations, SYNC, settle(resolve, reject));
    });
  }

  increment(key: Uint8Array): Promise<void> {
    return this.#turns.run(async () => {
      const old = await this.get(key);
      const sum = Buffer.alloc(8);
      sum.writeBigInt64BE(old === null ? 1n : old.readBigInt64BE(0) + 1n);
      await this.put(key, sum);
    });
  }

  get(key: Uint8Array): Promise<Buffer | null> {
    return new Promise((resolve, reject) => {
      this.#db.get(asBuffer(key), (error, value) => {
        if (!error) resolve(value);
        else if (/notfound/i.test(error.message)) resolve(null);
        else reject(error);
      });
    });
  }

  scanEach(consume: Consume): Promise<void> {
    return readAll(this.#db.iterator({}), consume);
  }

  scanShort(start: Uint8Array, count: number, consume: Consume): Promise<void> {
    return readAll(this.#db.iterator({ gte: asBuffer(start), limit: count }), consume);
  }

  compact(): Promise<void> {
    return this.#compactRange(0, 255);
  }

  /** Its binding has no flush: what is in the write buffer stays there. */
  async settle(): Promise<number> {
    return settleLevels((name) => this.#db.getProperty(name), 'rocksdb');
  }

  #compactRange(from: number, to: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#db.compactRange(Buffer.from([from]), Buffer.from([to]), settle(resolve, reject));
    });
  }

  close(): Promise<void> {
    return promisify((done: Done<void>) => this.#db.close(done))();
  }
}

function readAll(iterator: RocksIterator, consume: Consume): Promise<void> {
  return new Promise((resolve, reject) => {
    const step = (): void => {
      iterator.next((error, key, value) => {
        if (error) reject(error);
        else if (key === undefined || value === undefined) iterator.end(settle(resolve, reject));
        else {
          consume(key, value);
          step();
        }
      });
    };
    step();
  });
}
