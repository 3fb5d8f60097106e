/** classic-level (LevelDB) with `sync: true`, so that a write is on the disk when its promise settles. */
import { loadPeer } from '../peers.ts';
import { CACHE_BYTES, UNFLUSHED_BYTES } from '../subject.ts';
import type { Consume, OpenSubject, Subject } from '../subject.ts';
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
  iterator(options: { gte?: Uint8Array; limit?: number }): Iterator;
  close(): Promise<void>;
}
interface ClassicLevelModule {
  readonly ClassicLevel: new (dir: string, options: Record<string, unknown>) => Level;
}

const SYNC = { sync: true } as const;
const BATCH = 1000;

export const openClassicLevel: OpenSubject = async ({ dir, unflushed }) => {
  const { ClassicLevel } = loadPeer<ClassicLevelModule>('classic-level');
  const db = new ClassicLevel(`${dir}/level`, { keyEncoding: 'view', valueEncoding: 'view' });
  const writeBufferSize = unflushed ? UNFLUSHED_BYTES : CACHE_BYTES;
  await db.open({ cacheSize: CACHE_BYTES, writeBufferSize });
  return new ClassicLevelSubject(db);
};

class ClassicLevelSubject implements Subject {
  readonly name = 'classic-level';
  readonly #db: Level;
  readonly #turns: Turns = new Turns();

  constructor(db: Level) {
    this.#db = db;
  }

  put(key: Uint8Array, value: Uint8Array): Promise<void> {
    return this.#db.put(key, value, SYNC);
  }

  putBatch(keys: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void> {
    const operations = keys.map((key, i) => ({ type: 'put' as const, key, value: values[i]! }));
    return this.#db.batch(operations, SYNC);
  }

  /** It has no atomic update: callers take turns. */
  increment(key: Uint8Array): Promise<void> {
    return this.#turns.run(async () => {
      const old = this.#db.getSync(key);
      const sum = Buffer.alloc(8);
      sum.writeBigInt64BE(old === undefined ? 1n : Buffer.from(old).readBigInt64BE(0) + 1n);
      await this.#db.put(key, sum, SYNC);
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
    for (const [key, value] of await iterator.nextv(count)) consume(key, value);
    await iterator.close();
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}
