/** Cellar as its users get it: the built package, through the public interface, every commit FSYNC_WAL. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Connection, Operation, Result, Table } from '../../../src/model/index.ts';
import { ROOT } from '../peers.ts';
import { UNFLUSHED_BYTES } from '../subject.ts';
import type { Consume, OpenSubject, Subject } from '../subject.ts';

interface CellarModule {
  readonly open: (dir: string, options: { memstoreBytes: number }) => Promise<Connection>;
}

const TABLE = 'bench';
const COLUMN = 'f:q';
const BATCH = 1000;

export const openCellar: OpenSubject = async ({ dir, reopen }) => {
  const built = pathToFileURL(path.join(ROOT, 'dist', 'index.js')).href;
  const { open } = (await import(built)) as CellarModule;
  // Memory enough for what a run writes: until there are store files, a store is bounded by it.
  const connection = await open(`${dir}/cellar`, { memstoreBytes: 4 * UNFLUSHED_BYTES });
  if (!reopen) await connection.admin.createTable({ name: TABLE, families: ['f'] });
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

  close(): Promise<void> {
    return this.#connection.close();
  }
}

function consumeResult(result: Result, consume: Consume): void {
  consume(result.row, result.value(COLUMN)!);
}
