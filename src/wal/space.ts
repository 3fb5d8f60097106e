/** Where the next record goes, and that there always is such a place: segments are grown and made ahead of need. */
import type { Env } from '../io/index.ts';
import { invariant } from '../io/index.ts';
import { align8, NONCE_SIZE, RECORD_HEADER_SIZE, SEGMENT_HEADER_SIZE } from './format.ts';
import { openSegment, writeZeros, type OpenSegment, type SegmentInfo } from './segment.ts';
import type { SegmentStore } from './segment_store.ts';

/** Bytes that every segment keeps for records of the log's own: its end and a clean close always fit. */
export const RESERVE: number = 2 * (RECORD_HEADER_SIZE + NONCE_SIZE);
/** A segment starts with so many bytes and doubles up to its usual size: small stores stay small on the disk. */
const GROWTH_START = 256 * 1024;

/** The end of what recovery found. */
export interface LogTail {
  readonly info: SegmentInfo;
  readonly offset: number;
  /** No more records go into that segment. */
  readonly isEnded: boolean;
}

export interface LogSpaceOptions {
  readonly segmentBytes: number;
  /** Null for a fresh log. */
  readonly tail: LogTail | null;
  /** Told of each segment that takes records from now on, and of the first offset. */
  readonly entered: (segment: OpenSegment, position: number) => void;
  /** Told that a sync of the segment with the log's records failed; gives the error to throw. */
  readonly failed: (cause: unknown) => Error;
}

export class LogSpace {
  /** The segment that records are encoded for; null until the first is opened. */
  current: OpenSegment | null = null;
  /** Where the next record goes in it. */
  position = 0;
  readonly #env: Env;
  readonly #store: SegmentStore;
  readonly #options: LogSpaceOptions;
  #next: OpenSegment | null = null;
  #allocating: Promise<void> | null = null;
  #isAheadFailed = false;

  constructor(env: Env, store: SegmentStore, options: LogSpaceOptions) {
    this.#env = env;
    this.#store = store;
    this.#options = options;
  }

  get isAllocating(): boolean {
    return this.#allocating !== null;
  }

  /** Bytes that the current segment still takes. */
  get left(): number {
    return this.current === null ? 0 : this.current.sizeBytes - RESERVE - this.position;
  }

  fitsNext(need: number): boolean {
    const next = this.#next;
    return next !== null && SEGMENT_HEADER_SIZE + need <= next.sizeBytes - RESERVE;
  }

  /** Goes on in the next segment. */
  enterNext(): void {
    const next = this.#next;
    invariant(next !== null, 'no segment to go on in');
    this.#next = null;
    this.#enter(next, SEGMENT_HEADER_SIZE);
  }

  #enter(segment: OpenSegment, position: number): void {
    const { live } = this.#store;
    if (live.at(-1)?.number === segment.number) live.pop();
    live.push(segment);
    this.current = segment;
    this.position = position;
    this.#options.entered(segment, position);
  }

  /** Starts to make room before it is needed. */
  allocateAhead(): void {
    if (this.#next !== null || this.#allocating !== null || this.#isAheadFailed) return;
    if (this.position < this.current!.sizeBytes / 2) return;
    this.allocate(0).catch(() => {
      // Not tried again before a commit really lacks room: `allocate` then tells its caller what is wrong.
      this.#isAheadFailed = true;
    });
  }

  /**
   * Makes the current segment longer, or the next one, so that `need` bytes fit; or waits for that to end if it is
   * under way. Rejects with DiskFullException or IoException without harm.
   */
  allocate(need: number): Promise<void> {
    const run = async (): Promise<void> => {
      try {
        await this.#allocateNow(need);
        this.#isAheadFailed = false;
      } finally {
        this.#allocating = null;
      }
    };
    this.#allocating ??= run();
    return this.#allocating;
  }

  async #allocateNow(need: number): Promise<void> {
    const { current, position } = this;
    if (current === null) return this.#openFirst(need);
    const usual = this.#options.segmentBytes;
    const doubled = Math.min(usual, Math.max(GROWTH_START, current.sizeBytes * 2));
    const grown = Math.max(doubled, Math.min(usual, align8(position + need + RESERVE)));
    const isRoomy = position + need + RESERVE <= grown;
    if (grown > current.sizeBytes && isRoomy) return this.#grow(current, grown);
    if (this.#next !== null && !this.fitsNext(need)) await this.#discardNext();
    if (this.#next !== null) return;
    const size = Math.max(usual, SEGMENT_HEADER_SIZE + need + RESERVE);
    this.#next = await this.#store.create(size, current.number);
  }

  async #openFirst(need: number): Promise<void> {
    const { tail, segmentBytes } = this.#options;
    const least = SEGMENT_HEADER_SIZE + need + RESERVE;
    const size = Math.max(Math.min(GROWTH_START, segmentBytes), least);
    if (tail === null || tail.isEnded) {
      const segment = await this.#store.create(size, tail?.info.number ?? 0);
      this.#enter(segment, SEGMENT_HEADER_SIZE);
      return;
    }
    const segment = await openSegment(this.#env.fs, tail.info);
    try {
      const kept = tail.offset + RESERVE;
      const wanted = Math.max(kept, Math.min(segmentBytes, tail.offset + size));
      if (segment.sizeBytes < wanted) await this.#grow(segment, wanted);
    } catch (error) {
      await segment.handle.close();
      throw error;
    }
    this.#enter(segment, tail.offset);
  }

  /** A full disk takes back what was added. A failed sync is the log's own: the file holds its records. */
  async #grow(segment: OpenSegment, sizeBytes: number): Promise<void> {
    try {
      await writeZeros(segment.handle, segment.sizeBytes, sizeBytes);
    } catch (error) {
      await segment.handle.truncate(segment.sizeBytes);
      throw error;
    }
    try {
      await segment.handle.sync();
    } catch (error) {
      throw this.#options.failed(error);
    }
    segment.sizeBytes = sizeBytes;
  }

  async #discardNext(): Promise<void> {
    const next = this.#next;
    this.#next = null;
    if (next !== null) await this.#store.discard(next);
  }

  /** Waits for what is under way. Its failure was told to whoever asked for it. */
  async settle(): Promise<void> {
    await this.#allocating?.catch(() => undefined);
  }

  /** Gives back what was made ahead. */
  async close(): Promise<void> {
    await this.settle();
    await this.#discardNext();
  }
}
