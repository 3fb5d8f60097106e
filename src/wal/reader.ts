/**
 * Reads a log without changing it, in batches: for dumps, the change feed, incremental backups. A batch is awaited, its
 * records are walked synchronously.
 */
import {
  CorruptionException,
  FileNotFoundException,
  type Env,
  type FileHandle,
} from '../io/index.ts';
import {
  align8,
  claimedRecordSize,
  compareHalves,
  findRecord,
  KIND_SEGMENT_END,
  SEGMENT_HEADER_SIZE,
  segmentSeed,
  wholeRecordSize,
} from './format.ts';
import { LogRecord } from './record.ts';
import type { LogPlace } from './recover.ts';
import { surveySegments, type SurveyedSegment } from './survey.ts';
import { segmentPath } from './segment.ts';

/** Bytes read at once; a larger record is read whole. */
const BATCH_SIZE = 1024 * 1024;

/** So often a segment may move between being seen and being opened. */
const MOVES_MAX = 10;

export interface ReadLogOptions {
  /** Records below this TSO are passed over, by whole segments where possible. Default: none. */
  readonly fromHigh?: number;
  readonly fromLow?: number;
  /** Refuses segments of another store. 16 bytes; default: not checked. */
  readonly storeId?: Uint8Array;
  /**
   * Everything from `from` on lies here or behind: segments before are not looked at. Where the segment is gone there is no record, and
   * where no record begins the log counts as damaged.
   */
  readonly startAt?: LogPlace;
  /** Bytes read at once; default 1 MiB. */
  readonly batchBytes?: number;
}

/** Where a reader found no further whole record. */
export interface LogEnd {
  readonly path: string;
  readonly offset: number;
}

/**
 * A reader of the folders `dirs`, archive first. Usage:
 * `while (await reader.nextBatch()) while (reader.next()) use(reader.record)`.
 * It may follow a log that is being written: after `nextBatch` gave false it may be asked again later. Then take only
 * records up to the durable point, and hold the segments (`LogWriter.hold`).
 */
export class LogReader {
  /** The current record, after `next`. Its bytes are valid until the next `nextBatch`. */
  readonly record: LogRecord = new LogRecord();
  readonly #env: Env;
  readonly #dirs: readonly string[];
  readonly #fromHigh: number;
  readonly #fromLow: number;
  readonly #storeId: Uint8Array | null;
  readonly #startAt: LogPlace | null;
  readonly #batchBytes: number;
  /** The segments as they were seen last; a follower that is not among them is looked for anew. */
  #seen: readonly SurveyedSegment[] | null = null;
  #headerBytes: Uint8Array = new Uint8Array(0);
  #handle: FileHandle | null = null;
  #number = 0;
  #path = '';
  #seed = 0;
  /** File offset of the next record, and what of the file is in memory. */
  #at = 0;
  #buf: Uint8Array;
  #base = 0;
  #length = 0;
  #isSegmentEnded = false;
  #end: LogEnd | null = null;

  constructor(env: Env, dirs: readonly string[], options: ReadLogOptions = {}) {
    this.#env = env;
    this.#dirs = dirs;
    this.#fromHigh = options.fromHigh ?? 0;
    this.#fromLow = options.fromLow ?? 0;
    this.#storeId = options.storeId ?? null;
    this.#startAt = options.startAt ?? null;
    this.#batchBytes = options.batchBytes ?? BATCH_SIZE;
    this.#buf = new Uint8Array(this.#batchBytes);
  }

  /** Where the last `nextBatch` that gave false stopped; null for a log without records. */
  get end(): LogEnd | null {
    return this.#end;
  }

  /** The header of the segment that `record` lies in. */
  get headerBytes(): Uint8Array {
    return this.#headerBytes;
  }

  /**
   * Reads on. False: there is no whole record for now, see `end`. Throws CorruptionException for damage before
   * the last segment and for missing segments, LogVersionException, IoException.
   */
  async nextBatch(): Promise<boolean> {
    for (;;) {
      if (this.#handle === null || this.#isSegmentEnded) {
        if (!(await this.#openNext())) return false;
      }
      await this.#fill(this.#batchBytes);
      const claimed = claimedRecordSize(this.#buf, 0, this.#length);
      if (claimed > this.#length) await this.#fill(claimed);
      if (wholeRecordSize(this.#buf, 0, this.#length, this.#seed) > 0) return true;
      if (!(await this.#isFollowed())) return false;
    }
  }

  /** Moves to the next record of the batch; false at its end. */
  next(): boolean {
    for (;;) {
      const at = this.#at - this.#base;
      const size = wholeRecordSize(this.#buf, at, this.#length, this.#seed);
      if (size === 0 || this.#isSegmentEnded) return false;
      const record = this.record;
      record.load(this.#buf, at, this.#base);
      this.#at += size;
      if (record.kind === KIND_SEGMENT_END) this.#isSegmentEnded = true;
      const { tsoHigh, tsoLow } = record;
      if (compareHalves(tsoHigh, tsoLow, this.#fromHigh, this.#fromLow) >= 0) return true;
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Reads `size` bytes from the next record on, fewer at the end of the file. */
  async #fill(size: number): Promise<void> {
    if (this.#buf.length < size) this.#buf = new Uint8Array(align8(size));
    this.#base = this.#at;
    this.#length = await this.#handle!.read(this.#buf.subarray(0, size), this.#at);
  }

  /**
   * All segments of all folders in the order of the log. A segment may move into the archive meanwhile: the log is looked at first,
   * so that it is seen in one of both; where it is in both, the archive has it.
   */
  async #survey(): Promise<SurveyedSegment[]> {
    const all = new Map<number, SurveyedSegment>();
    for (const dir of this.#dirs.toReversed()) {
      const { chain, missing } = await surveySegments(
        this.#env.fs,
        dir,
        this.#storeId,
        Math.max(1, this.#number, this.#startAt?.segment ?? 1),
      );
      const gap = missing[0];
      if (gap !== undefined) throw new CorruptionException('log segment is missing', gap.path, 0);
      for (const segment of chain) all.set(segment.number, segment);
    }
    const segments = [...all.values()].sort((a, b) => a.number - b.number);
    this.#seen = segments;
    return segments;
  }

  /** Opens the segment behind the current one, or the first that is needed. */
  async #openNext(): Promise<boolean> {
    for (let moves = 0; ; moves++) {
      try {
        const known = moves === 0 ? this.#seenFollower() : undefined;
        if (known !== undefined) return await this.#open(known);
        return await this.#openSurveyed(await this.#survey());
      } catch (error) {
        // It went into the archive since it was seen.
        if (!(error instanceof FileNotFoundException) || moves === MOVES_MAX) throw error;
      }
    }
  }

  async #openSurveyed(segments: readonly SurveyedSegment[]): Promise<boolean> {
    const next = this.#handle === null ? await this.#first(segments) : this.#follower(segments);
    if (next === undefined) return false;
    if (next.header === null) {
      if (next.sizeBytes === 0) return false;
      throw next.fault!;
    }
    return this.#open(next);
  }

  /** The follower as it was seen with an earlier one, without a look at all headers again. */
  #seenFollower(): SurveyedSegment | undefined {
    if (this.#handle === null) return undefined;
    return this.#seen?.find(({ header }) => header?.previous === this.#number);
  }

  async #open(next: SurveyedSegment): Promise<boolean> {
    const handle = await this.#env.fs.open(next.path, 'read');
    await this.close();
    const isFirst = this.#number === 0;
    this.#handle = handle;
    this.#headerBytes = next.headerBytes;
    this.#number = next.number;
    this.#path = this.record.path = next.path;
    this.record.segment = next.number;
    this.#seed = segmentSeed(next.number);
    const { segment, offset } = this.#startAt ?? { segment: 0, offset: 0 };
    this.#at = isFirst && next.number === segment ? offset : SEGMENT_HEADER_SIZE;
    this.#isSegmentEnded = false;
    return true;
  }

  /** The last segment whose first record is not above `from`: every record before it is below. */
  async #first(segments: readonly SurveyedSegment[]): Promise<SurveyedSegment | undefined> {
    const place = this.#startAt;
    if (place !== null) return segments.find(({ number }) => number === place.segment);
    for (const segment of segments.toReversed()) {
      const record = await this.#firstRecord(segment);
      const { tsoHigh, tsoLow } = record;
      if (
        compareHalves(tsoHigh, tsoLow, this.#fromHigh, this.#fromLow) <= 0 &&
        tsoHigh + tsoLow > 0
      )
        return segment;
    }
    return segments[0];
  }

  async #firstRecord(segment: SurveyedSegment): Promise<LogRecord> {
    const record = new LogRecord();
    const handle = await this.#env.fs.open(segment.path, 'read');
    try {
      const start = new Uint8Array(64);
      const length = await handle.read(start, SEGMENT_HEADER_SIZE);
      if (claimedRecordSize(start, 0, length) > 0) record.load(start, 0, SEGMENT_HEADER_SIZE);
    } finally {
      await handle.close();
    }
    return record;
  }

  /** Judges a place without a whole record: an error if another segment follows, else notes the end. */
  async #isFollowed(): Promise<false> {
    const next = this.#follower(await this.#survey());
    if (next !== undefined && (await this.#holdsRecords(next))) {
      throw new CorruptionException('damaged log record', this.#path, this.#at);
    }
    this.#end = { path: this.#path, offset: this.#at };
    return false;
  }

  /** Whether the segment has a record. One that moved since it was seen had: only those that are written whole move. */
  async #holdsRecords(segment: SurveyedSegment): Promise<boolean> {
    try {
      return (await this.#firstRecord(segment)).size > 0;
    } catch (error) {
      if (!(error instanceof FileNotFoundException)) throw error;
      return true;
    }
  }

  /** The segment that names the current one as its predecessor. Throws if those behind it are there and it is not. */
  #follower(segments: readonly SurveyedSegment[]): SurveyedSegment | undefined {
    const later = segments.filter(({ number }) => number > this.#number);
    const next = later.find(({ header }) => header?.previous === this.#number);
    const previous = later.find(({ header }) => header !== null)?.header?.previous ?? 0;
    if (next !== undefined || previous <= this.#number) return next;
    const path = segmentPath(this.#dirs.at(-1)!, previous);
    throw new CorruptionException('log segment is missing', path, 0);
  }

  /**
   * After `nextBatch` gave false: the offset of a whole record behind `end`, so that the log is damaged in between; -1
   * if there is none. Only for a log that nobody is writing.
   */
  async findBehindEnd(): Promise<number> {
    if (this.#end === null) return -1;
    const rest = await this.#env.fs.readFile(this.#path);
    return findRecord(rest, this.#at, rest.length, this.#seed);
  }
}
