/** classic-level (LevelDB) with `sync: true`, so that a write is on the disk when its promise settles; and, beside it, without. */
import { loadPeer } from '../peers.ts';
import type { Consume, OpenSubject, Subject } from '../subject.ts';
import { settleLevels } from './levels.ts';
import { Turns } from '../turns.ts';

type Entry = readonly [Uint8Array, Uint8Array];
interface Iterator extends AsyncIterable<Entry> {
  nextv(count: number): Promise<Entry[]>;
  close(): Promise<void>;
}
interface Operation {
  readonly type: 'put';
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}
interface Level {
  open(options: Record<string, unknown>): Promise<void>;
  put(key: Uint8Array, value: Uint8Array, options: { sync: boolean }): Promise<void>;
  batch(operations: Operation[], options: { sync: boolean }): Promise<void>;
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  getSync(key: Uint8Array): Uint8Array | undefined;
  compactRange(start: Uint8Array, end: Uint8Array): Promise<void>;
  getProperty(name: string): string;
  iterator(options: { gte?: Uint8Array; limit?: number }): Iterator;
  close(): Promise<void>;
}
interface ClassicLevelModule {
  readonly ClassicLevel: new (dir: string, options: Record<string, unknown>) => Level;
}

interface WriteOptions {
  readonly sync: boolean;
}

const BATCH = 1000;

const opener =
  (name: string, options: WriteOptions): OpenSubject =>
  async ({ dir, cacheBytes, writeBufferBytes }) => {
    const { ClassicLevel } = loadPeer<ClassicLevelModule>('classic-level');
    const db = new ClassicLevel(`${dir}/level`, { keyEncoding: 'view', valueEncoding: 'view' });
    await db.open({ cacheSize: cacheBytes, writeBufferSize: writeBufferBytes });
    return new ClassicLevelSubject(name, db, options);
  };

export const openClassicLevel: OpenSubject = opener('classic-level', { sync: true });
/** Not durable: a power failure loses what the operating system had not written yet. */
export const openUnsyncedLevel: OpenSubject = opener('level-unsynced', { sync: false });

class ClassicLevelSubject implements Subject {
  readonly name: string;
  readonly #db: Level;
  readonly #options: WriteOptions;
  readonly #turns: Turns = new Turns();

  constructor(name: string, db: Level, options: WriteOptions) {
    this.name = name;
    this.#db = db;
    this.#options = options;
  }

  put(key: Uint8Array, value: Uint8Array): Promise<void> {
    return this.#db.put(key, value, this.#options);
  }

  putBatch(keys: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void> {
    const operations = keys.map((key, i) => ({ type: 'put' as const, key, value: values[i]! }));
    return this.#db.batch(operations, this.#options);
  }

  /** It has no atomic update: callers take turns. */
  increment(key: Uint8Array): Promise<void> {
    return this.#turns.run(async () => {
      const old = this.#db.getSync(key);
      const sum = Buffer.alloc(8);
      sum.writeBigInt64BE(old === undefined ? 1n : Buffer.from(old).readBigInt64BE(0) + 1n);
      await this.#db.put(key, sum, this.#options);
    });
  }

  getSync(key: Uint8Array): Uint8Array | undefined {
    return this.#db.getSync(key);
  }

  get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#db.get(key);
  }

  async scanEach(consume: Consume): Promise<void> {
    for await (const [key, value] of this.#db.iterator({})) consume(key, value);
  }

  async scanBatches(consume: Consume): Promise<void> {
    const iterator = this.#db.iterator({});
    let entries = await iterator.nextv(BATCH);
    while (entries.length > 0) {
      for (const [key, value] of entries) consume(key, value);
      entries = await iterator.nextv(BATCH);
    }
    await iterator.close();
  }

  async scanShort(start: Uint8Array, count: number, consume: Consume): Promise<void> {
    const iterator = this.#db.iterator({ gte: start, limit: count });
    // A call gives fewer where the values are large.
    for (let left = count; left > 0;) {
      const entries = await iterator.nextv(left);
      if (entries.length === 0) break;
      for (const [key, value] of entries) consume(key, value);
      left -= entries.length;
    }
    await iterator.close();
  }

  /** Compacting a range without rows writes out the write buffer and nothing else. */
  flush(): Promise<void> {
    return this.#db.compactRange(Buffer.from([0]), Buffer.from([0]));
  }

  compact(): Promise<void> {
    return this.#db.compactRange(Buffer.from([0]), Buffer.from([255]));
  }

  async settle(): Promise<number> {
    await this.flush();
    return settleLevels((name) => this.#db.getProperty(name), 'leveldb');
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}
