/**
 * The records that one write takes to the disk, and the points up to which readers may go while they wait for it.
 * Two batches take turns: one gathers while the other is written.
 */
import { invariant } from '../io/index.ts';
import { ASYNC_WAL, FSYNC_WAL } from './format.ts';

const BUFFER_SIZE_MIN = 64 * 1024;
/** A buffer that one large record blew up beyond this is not kept. */
const BUFFER_SIZE_KEPT = 4 * 1024 * 1024;

/**
 * Points are TSOs of commits, in order:  logged <= waiting <= fsync <= last.
 *   - last     the newest commit of the batch, those that skip the log included
 *   - logged   the newest before the first record: everything up to it needs nothing of this batch
 *   - waiting  the newest before the first commit that waits for the write
 *   - fsync    the newest before the first commit that waits for the sync
 * Each is equal to `last` while its first one has not come. An empty batch has all at the last commit before it.
 */
export class Batch {
  buf: Uint8Array = new Uint8Array(BUFFER_SIZE_MIN);
  /** Bytes of complete records. */
  length = 0;
  /** Records from here on belong to the next segment; -1: all to one. */
  splitAt = -1;
  recordCount = 0;
  /** Commits that wait for the write or the sync. */
  waiterCount = 0;
  hasFsync = false;
  lastHigh = 0;
  lastLow = 0;
  loggedHigh = 0;
  loggedLow = 0;
  waitingHigh = 0;
  waitingLow = 0;
  fsyncHigh = 0;
  fsyncLow = 0;

  /** Empties the batch; it follows the commit with this TSO. */
  restart(lastHigh: number, lastLow: number): void {
    if (this.buf.length > BUFFER_SIZE_KEPT) this.buf = new Uint8Array(BUFFER_SIZE_MIN);
    this.length = 0;
    this.splitAt = -1;
    this.recordCount = 0;
    this.waiterCount = 0;
    this.hasFsync = false;
    this.lastHigh = this.loggedHigh = this.waitingHigh = this.fsyncHigh = lastHigh;
    this.lastLow = this.loggedLow = this.waitingLow = this.fsyncLow = lastLow;
  }

  /** Makes room for `size` more bytes. May throw what allocation throws; then nothing has changed. */
  ensure(size: number): void {
    const need = this.length + size;
    if (need <= this.buf.length) return;
    const grown = new Uint8Array(Math.max(need, this.buf.length * 2));
    grown.set(this.buf.subarray(0, this.length));
    this.buf = grown;
  }

  /** Counts a record that the writer has put behind `length`, of a commit with this TSO. */
  addCommit(size: number, tsoHigh: number, tsoLow: number, durability: number): void {
    this.addOwn(size);
    if (durability > ASYNC_WAL) this.waiterCount++;
    if (durability === FSYNC_WAL) this.hasFsync = true;
    this.#movePoints(tsoHigh, tsoLow);
  }

  /** Counts a record of the log's own, which nobody waits for by TSO. */
  addOwn(size: number): void {
    this.length += size;
    this.recordCount++;
    invariant(this.length <= this.buf.length, 'batch exceeds its buffer', this.length);
  }

  /** A commit that has no record. */
  addSkipped(tsoHigh: number, tsoLow: number): void {
    this.#movePoints(tsoHigh, tsoLow);
  }

  #movePoints(tsoHigh: number, tsoLow: number): void {
    this.lastHigh = tsoHigh;
    this.lastLow = tsoLow;
    if (this.recordCount === 0) {
      this.loggedHigh = tsoHigh;
      this.loggedLow = tsoLow;
    }
    if (this.waiterCount === 0) {
      this.waitingHigh = tsoHigh;
      this.waitingLow = tsoLow;
    }
    if (!this.hasFsync) {
      this.fsyncHigh = tsoHigh;
      this.fsyncLow = tsoLow;
    }
  }
}
