/** Cellar as its users get it: the built package, through the public interface, every commit FSYNC_WAL. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Connection, Operation, Result, Table } from '../../../src/model/index.ts';
import { ROOT } from '../peers.ts';
import type { Consume, OpenSubject, Subject } from '../subject.ts';

interface OpenOptions {
  readonly memstoreBytes: number;
  readonly blockCacheBytes: number;
  readonly logBytesMax: number;
  readonly autoCompact: boolean;
}
export interface CellarModule {
  readonly open: (dir: string, options: OpenOptions) => Promise<Connection>;
}

export const TABLE = 'bench';
const COLUMN = 'f:q';
const BATCH = 1000;
const POLL_MS = 20;
/** So often in a row nothing may have changed before a store counts as settled. */
const QUIET_POLLS = 5;
const LOG_BYTES_LEAST = 256 * 1024 * 1024;

/** A module of the built package: what is measured is what is shipped. */
export async function builtModule<T>(file: string): Promise<T> {
  return (await import(pathToFileURL(path.join(ROOT, 'dist', file)).href)) as T;
}

export const openCellar: OpenSubject = async (request) => {
  const { open } = await builtModule<CellarModule>('index.js');
  const connection = await open(`${request.dir}/cellar`, {
    memstoreBytes: request.writeBufferBytes,
    blockCacheBytes: request.cacheBytes,
    // The log may be as long as what memory holds, or it would be what flushes.
    logBytesMax: Math.max(LOG_BYTES_LEAST, 2 * request.writeBufferBytes),
    autoCompact: request.autoCompact,
  });
  if (!request.reopen) {
    const { splits } = request;
    const cut = splits.length === 0 ? {} : { SPLITS: splits };
    const families = [{ name: 'f', VERSIONS: request.versions }];
    await connection.admin.createTable({ name: TABLE, families, ...cut });
  }
  return new CellarSubject(connection);
};

class CellarSubject implements Subject {
  readonly name = 'cellar';
  readonly #connection: Connection;
  readonly #table: Table;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#table = connection.table(TABLE);
  }

  async put(key: Uint8Array, value: Uint8Array): Promise<void> {
    await this.#table.put(key, { [COLUMN]: value });
  }

  async putBatch(keys: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void> {
    const operations = keys.map((key, i): Operation => ({
      put: key,
      values: { [COLUMN]: values[i]! },
    }));
    for (const outcome of await this.#table.batch(operations)) {
      if (!outcome.ok) throw outcome.error;
    }
  }

  async putVersions(
    keys: readonly Uint8Array[],
    times: readonly number[],
    values: readonly Uint8Array[],
  ): Promise<void> {
    const operations = keys.map((key, i): Operation => ({
      put: key,
      values: { [COLUMN]: values[i]! },
      options: { ts: times[i]! },
    }));
    for (const outcome of await this.#table.batch(operations)) {
      if (!outcome.ok) throw outcome.error;
    }
  }

  async getVersion(key: Uint8Array, time: number): Promise<Uint8Array | null> {
    const result = await this.#table.get(key, { timeRange: { max: time + 1 } });
    return result === null ? null : result.value(COLUMN);
  }

  getVersionSync(key: Uint8Array, time: number): Uint8Array | null {
    const result = this.#table.getSync(key, { timeRange: { max: time + 1 } });
    return result === null ? null : result.value(COLUMN);
  }

  async increment(key: Uint8Array): Promise<void> {
    await this.#table.increment(key, { [COLUMN]: 1 });
  }

  getSync(key: Uint8Array): Uint8Array | null {
    const result = this.#table.getSync(key);
    return result === null ? null : result.value(COLUMN);
  }

  async get(key: Uint8Array): Promise<Uint8Array | null> {
    const result = await this.#table.get(key);
    return result === null ? null : result.value(COLUMN);
  }

  async scanEach(consume: Consume): Promise<void> {
    for await (const result of this.#table.scan()) consumeResult(result, consume);
  }

  async scanBatches(consume: Consume): Promise<void> {
    const scanner = this.#table.scan();
    let results = await scanner.nextBatch(BATCH);
    while (results.length > 0) {
      for (const result of results) consumeResult(result, consume);
      results = await scanner.nextBatch(BATCH);
    }
    await scanner.close();
  }

  async scanShort(start: Uint8Array, count: number, consume: Consume): Promise<void> {
    const scanner = this.#table.scan({ start, limit: count });
    for (const result of await scanner.nextBatch(count)) consumeResult(result, consume);
    await scanner.close();
  }

  counters(): Readonly<Record<string, number>> {
    return this.#connection.status().counters;
  }

  flush(): Promise<void> {
    return this.#connection.admin.flush(TABLE);
  }

  split(row: Uint8Array): Promise<void> {
    return this.#connection.admin.split(TABLE, row);
  }

  compact(): Promise<void> {
    return this.#connection.admin.compact(TABLE, { major: true });
  }

  /**
   * Everything flushed, no compaction waiting or running. A call of `compact` waits for a running one and then does what
   * the rules ask for; where nothing has changed over it, nothing is left.
   */
  async settle(): Promise<number> {
    const { admin } = this.#connection;
    await this.flush();
    let before = '';
    let changed = performance.now();
    for (let quiet = 0; quiet < QUIET_POLLS;) {
      await admin.compact(TABLE);
      await sleep(POLL_MS);
      const { counters } = this.#connection.status();
      const isIdle =
        (counters['compactions_waiting'] ?? 0) === 0 &&
        (counters['compactions_running'] ?? 0) === 0;
      const files = await this.#connection.files(TABLE);
      const now = `${counters['compactions']} ${files.map((file) => file.path).join()}`;
      if (!isIdle || now !== before) changed = performance.now();
      quiet = isIdle && now === before ? quiet + 1 : 0;
      before = now;
    }
    return performance.now() - changed;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

function consumeResult(result: Result, consume: Consume): void {
  consume(result.row, result.value(COLUMN)!);
}
