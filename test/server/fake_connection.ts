/** A connection whose figures a test sets, and that no operation reaches. */
import type { Admin, Connection, StoreStatus, Table } from '../../src/model/index.ts';

export const STATUS: StoreStatus = {
  data: '/var/lib/cellar',
  durability: 'FSYNC_WAL',
  readPoint: 468412345614336017n,
  durablePoint: 468412345614336000n,
  tables: 2,
  regions: 3,
  memstoreCells: 41,
  memstoreBytes: 4096,
  memstoreHeapBytes: 5000,
  memstoreLimitBytes: 67108864,
  logBytes: 1234,
  history: {
    bytes: 0,
    files: 0,
    merges: 0,
    droppedTables: 0,
    droppedBytes: 0,
    oldestReadableTso: 0n,
    oldestReaderTso: null,
    oldestReader: null,
    tables: [],
  },
  fatal: null,
  counters: { rowsRead: 7, commits: 3 },
};

export class FakeConnection implements Connection {
  figures: StoreStatus = STATUS;
  closed = false;
  readonly announced: (string | null)[] = [];

  get admin(): Admin {
    throw new Error('not part of this test');
  }
  table(name: string): Table {
    throw new Error(`table ${name} is not part of this test`);
  }
  async files(): Promise<[]> {
    return [];
  }
  async regions(): Promise<[]> {
    return [];
  }
  snapshot(): Promise<never> {
    return Promise.reject(new Error('not part of this test'));
  }
  openSnapshot(): Promise<never> {
    return Promise.reject(new Error('not part of this test'));
  }
  async listPins(): Promise<[]> {
    return [];
  }
  async releasePin(): Promise<void> {}
  status(): StoreStatus {
    return this.figures;
  }
  async tso(): Promise<bigint> {
    return this.figures.readPoint;
  }
  async sync(): Promise<void> {}
  async setAddress(address: string | null): Promise<void> {
    this.announced.push(address);
  }
  async close(): Promise<void> {
    this.closed = true;
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
