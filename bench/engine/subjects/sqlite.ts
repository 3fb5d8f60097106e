/**
 * better-sqlite3 as its documentation advises (WAL), with `synchronous = FULL`, so that a commit is on the disk when the
 * statement returns. Every call blocks the thread.
 */
import { loadPeer } from '../peers.ts';
import type { Consume, OpenSubject, Row, Subject } from '../subject.ts';

interface Columns {
  readonly k: Uint8Array;
  readonly v: Uint8Array;
}
interface Statement {
  run(...parameters: unknown[]): unknown;
  get(...parameters: unknown[]): Columns | undefined;
  all(...parameters: unknown[]): Columns[];
  iterate(...parameters: unknown[]): Iterable<Columns>;
}
interface Database {
  pragma(text: string): unknown;
  exec(text: string): unknown;
  prepare(text: string): Statement;
  transaction(task: () => void): () => void;
  close(): void;
}
type Sqlite = new (file: string) => Database;

export const openSqlite: OpenSubject = async ({ dir, unflushed, cacheBytes }) => {
  const Sqlite = loadPeer<Sqlite>('better-sqlite3');
  const db = new Sqlite(`${dir}/sqlite.db`);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma(`cache_size = -${Math.ceil(cacheBytes / 1024)}`);
  if (unflushed) db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE IF NOT EXISTS kv (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID');
  db.exec('CREATE TABLE IF NOT EXISTS n (k BLOB PRIMARY KEY, v INTEGER NOT NULL) WITHOUT ROWID');
  return new SqliteSubject(db);
};

class SqliteSubject implements Subject {
  readonly name = 'better-sqlite3';
  readonly #db: Database;
  readonly #put: Statement;
  readonly #get: Statement;
  readonly #all: Statement;
  readonly #short: Statement;
  readonly #first: Statement;
  readonly #increment: Statement;
  readonly #checkpoint: () => void;

  constructor(db: Database) {
    this.#db = db;
    this.#checkpoint = () => void db.pragma('wal_checkpoint(TRUNCATE)');
    this.#put = db.prepare('INSERT OR REPLACE INTO kv VALUES (?, ?)');
    this.#get = db.prepare('SELECT v FROM kv WHERE k = ?');
    this.#all = db.prepare('SELECT k, v FROM kv ORDER BY k');
    this.#short = db.prepare('SELECT k, v FROM kv WHERE k >= ? ORDER BY k LIMIT ?');
    this.#first = db.prepare('SELECT k, v FROM kv WHERE k >= ? ORDER BY k LIMIT 1');
    this.#increment = db.prepare(
      'INSERT INTO n VALUES (?, 1) ON CONFLICT (k) DO UPDATE SET v = v + 1',
    );
  }

  async put(key: Uint8Array, value: Uint8Array): Promise<void> {
    this.#put.run(key, value);
  }

  async putBatch(keys: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void> {
    this.#db.transaction(() => {
      for (let i = 0; i < keys.length; i++) this.#put.run(keys[i], values[i]);
    })();
  }

  async increment(key: Uint8Array): Promise<void> {
    this.#increment.run(key);
  }

  getSync(key: Uint8Array): Uint8Array | undefined {
    return this.#get.get(key)?.v;
  }

  firstSync(start: Uint8Array): Row | undefined {
    const row = this.#first.get(start);
    return row === undefined ? undefined : { key: row.k, value: row.v };
  }

  async scanEach(consume: Consume): Promise<void> {
    for (const { k, v } of this.#all.iterate()) consume(k, v);
  }

  async scanBatches(consume: Consume): Promise<void> {
    for (const { k, v } of this.#all.all()) consume(k, v);
  }

  async scanShort(start: Uint8Array, count: number, consume: Consume): Promise<void> {
    for (const { k, v } of this.#short.all(start, count)) consume(k, v);
  }

  /** The log brought into the file. */
  async settle(): Promise<number> {
    this.#checkpoint();
    return 0;
  }

  async close(): Promise<void> {
    this.#db.close();
  }
}
