/** The log of a store without a folder: keeps nothing, every commit is at once as durable as it can be. */
import type { CommitLog } from './commit_queue.ts';
import type { RecordHead } from '../wal/index.ts';
import type { ReadPoint } from './read_point.ts';

export class MemoryLog implements CommitLog {
  readonly #readPoint: ReadPoint;
  #high = 0;
  #low = 0;

  constructor(readPoint: ReadPoint) {
    this.#readPoint = readPoint;
  }

  roomFor(): boolean {
    return true;
  }

  async makeRoom(): Promise<void> {
    // Memory is the memstores' limit.
  }

  begin(head: RecordHead): void {
    this.#high = head.tsoHigh;
    this.#low = head.tsoLow;
  }

  group(): void {
    // The memstore has the cells.
  }

  cell(): void {
    // The memstore has the cells.
  }

  end(): void {
    this.#advance(this.#high, this.#low);
  }

  skipped(tsoHigh: number, tsoLow: number): void {
    this.#advance(tsoHigh, tsoLow);
  }

  appendControl(_kind: number, tsoHigh: number, tsoLow: number): void {
    this.#advance(tsoHigh, tsoLow);
  }

  #advance(high: number, low: number): void {
    this.#readPoint.advanced(high, low, high, low);
  }
}
