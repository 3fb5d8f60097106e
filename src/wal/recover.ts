/**
 * Recovery: reads a log to its end, judges what is no record (format.ts has the rule), and makes the disk hold exactly
 * what was replayed. Nothing is believed because it can be read: what no `synced to` vouches for is written again and
 * synced, since after a failed sync the page cache may show what the disk does not have.
 */
import type { Env, FileHandle } from '../io/index.ts';
import { CorruptionException } from '../io/index.ts';
import {
  align8,
  compareHalves,
  encodeSegmentHeader,
  findRecord,
  KIND_CLOSE,
  KIND_LOST,
  KIND_OWN_MIN,
  KIND_SEGMENT_END,
  RECORD_HEADER_SIZE,
  sealRecords,
  SEGMENT_HEADER_SIZE,
  segmentSeed,
  STORE_ID_SIZE,
  wholeRecordSize,
} from './format.ts';
import { Batch } from './batch.ts';
import { LogRecord } from './record.ts';
import { RecordWriter } from './record_writer.ts';
import { newSegmentInfo, type SegmentInfo, segmentPath } from './segment.ts';
import { surveySegments, type Survey, type SurveyedSegment } from './survey.ts';

export interface RecoverOptions {
  /** Refuses segments of another store. 16 bytes; default: not checked. */
  readonly storeId?: Uint8Array;
  /**
   * Goes on behind damage: what is lost is reported, and covered so that the next open succeeds. Default false.
   */
  readonly salvage?: boolean;
  /**
   * A place that the log is known to have reached on the disk, whatever its own records say: damage or an end before it is
   * damage. So nothing passes for the end of a log that was closed, not even a last segment that is gone. Default: none.
   */
  readonly reached?: LogPlace | null;
}

/** A place in the log. */
export interface LogPlace {
  readonly segment: number;
  /** Bytes from the start of that segment. */
  readonly offset: number;
}

/** Bytes `from` … `to` of a file that held records nobody can read; 0 … 0 if the whole file is missing. */
export interface LostRange {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

/** What recovery found; the LogWriter continues from it. */
export interface RecoveredLog {
  /** In the order of the log; empty for a fresh one. */
  readonly segments: readonly SegmentInfo[];
  /** The greatest TSO in the log, skipped ones included; 0, 0 if there is none. */
  readonly lastHigh: number;
  readonly lastLow: number;
  /** The last writer closed the log. */
  readonly cleanEnd: boolean;
  /** Count of records given to the caller. */
  readonly recordCount: number;
  /** What was skipped or cut, for people. */
  readonly notes: readonly string[];
  /** Only with `salvage`. */
  readonly lost: readonly LostRange[];
  /** Where the next record goes in the last segment; no more go there if that is ended. */
  readonly endOffset: number;
  readonly isSegmentEnded: boolean;
  /** Number of the next segment to be made. */
  readonly nextNumber: number;
}

/**
 * Reads the log in `dir` and gives its records in order to `onRecord`, whose argument is used again: bytes that are
 * kept are copied. Records of the log's own kinds come only if they name skipped commits. An absent or empty folder
 * is a fresh log. Returns when what was replayed is on the disk and what is behind it is cut, synced both.
 * Throws CorruptionException (file and offset) for damage, LogVersionException, IoException for what cannot be read;
 * an error leaves the folder as it was, or, from the final cut, so that the next recovery gives the same.
 */
export async function recoverLog(
  env: Env,
  dir: string,
  options: RecoverOptions,
  onRecord: (record: LogRecord) => void,
): Promise<RecoveredLog> {
  const survey = await surveySegments(env.fs, dir, options.storeId ?? null);
  return new Recovery(env, dir, survey, options, onRecord).run();
}

class Recovery {
  readonly #env: Env;
  readonly #dir: string;
  readonly #survey: Survey;
  readonly #salvage: boolean;
  readonly #onRecord: (record: LogRecord) => void;
  readonly #record: LogRecord = new LogRecord();
  readonly #notes: string[] = [];
  readonly #lost: LostRange[] = [];
  readonly #segments: SegmentInfo[] = [];
  /** End of the records of each of `#segments`. */
  readonly #ends: number[] = [];
  #recordCount = 0;
  #lastKind = 0;
  /** Whether the last record read is in the last segment. */
  #isLastHere = false;
  #lastHigh = 0;
  #lastLow = 0;
  /** S, the greatest `synced to`. */
  #syncedSegment = 0;
  #syncedOffset = 0;
  #buf: Uint8Array = new Uint8Array(0);

  constructor(
    env: Env,
    dir: string,
    survey: Survey,
    options: RecoverOptions,
    onRecord: (record: LogRecord) => void,
  ) {
    this.#env = env;
    this.#dir = dir;
    this.#survey = survey;
    this.#salvage = options.salvage ?? false;
    this.#onRecord = onRecord;
    this.#syncedSegment = options.reached?.segment ?? 0;
    this.#syncedOffset = options.reached?.offset ?? 0;
  }

  async run(): Promise<RecoveredLog> {
    await this.#checkUnlinked();
    await this.#checkMissing();
    for (const segment of this.#survey.chain) {
      if (!(await this.#replaySegment(segment))) break;
    }
    this.#checkReached();
    await this.#cut();
    await this.#writeAgain();
    return {
      segments: this.#segments,
      lastHigh: this.#lastHigh,
      lastLow: this.#lastLow,
      cleanEnd: this.#lastKind === KIND_CLOSE,
      recordCount: this.#recordCount,
      notes: this.#notes,
      lost: this.#lost,
      endOffset: this.#ends.at(-1) ?? 0,
      isSegmentEnded: this.#lastKind === KIND_SEGMENT_END && this.#isLastHere,
      nextNumber: Math.max(this.#survey.nextNumber, this.#syncedSegment + 1),
    };
  }

  /** The log goes at least to where it is known to be synced, or its last segments are missing. */
  #checkReached(): void {
    const number = this.#segments.at(-1)?.number ?? 0;
    const end = this.#ends.at(-1) ?? 0;
    if (compareHalves(number, end, this.#syncedSegment, this.#syncedOffset) >= 0) return;
    const path = segmentPath(this.#dir, this.#syncedSegment);
    if (!this.#salvage) throw new CorruptionException('log segment is missing', path, 0);
    if (number < this.#syncedSegment) this.#lost.push({ path, from: 0, to: 0 });
  }

  async #checkUnlinked(): Promise<void> {
    for (const segment of this.#survey.unlinked) {
      const length = await this.#load(segment);
      const found = findRecord(this.#buf, 0, length, segmentSeed(segment.number));
      if (found >= 0) {
        throw new CorruptionException('log segment without a successor', segment.path, found);
      }
      this.#notes.push(`${segment.path} (${segment.sizeBytes} bytes) holds no record: skipped`);
    }
  }

  async #checkMissing(): Promise<void> {
    for (const { path, follower } of this.#survey.missing) {
      if (!this.#salvage) throw new CorruptionException('log segment is missing', path, 0);
      this.#lost.push({ path, from: 0, to: 0 });
      await this.#repairHeader(follower);
    }
  }

  /** Gives the records of one segment to the caller. False if the log ends in it or before it. */
  async #replaySegment(segment: SurveyedSegment): Promise<boolean> {
    const length = await this.#load(segment);
    const seed = segmentSeed(segment.number);
    let at = SEGMENT_HEADER_SIZE;
    if (segment.header === null) {
      // Headers are on the disk before a file has a segment's name: no crash damages one.
      if (!this.#salvage) throw segment.fault!;
      if (!(await this.#isDamage(segment, 0, length, seed))) {
        this.#notes.push(`${segment.path}: ${segment.fault?.message ?? 'no header'}: cut`);
        return false;
      }
      await this.#repairHeader(segment);
    }
    const header = segment.header ?? { number: segment.number, generation: 0 };
    const info = newSegmentInfo(segment.path, header, segment.sizeBytes);
    this.#segments.push(info);
    this.#isLastHere = false;
    for (;;) {
      at = this.#replayRecords(info, at, length, seed);
      this.#ends[this.#segments.length - 1] = at;
      if (this.#lastKind === KIND_SEGMENT_END && this.#isLastHere) return true;
      if (!(await this.#isDamage(segment, at, length, seed))) return false;
      const next = await this.#coverLost(segment, at, length, seed);
      if (next < 0) return true;
      at = next;
    }
  }

  /** Replays whole records from `at` on; gives where they stop. */
  #replayRecords(info: SegmentInfo, from: number, length: number, seed: number): number {
    const record = this.#record;
    record.path = info.path;
    record.segment = info.number;
    let at = from;
    for (;;) {
      const size = wholeRecordSize(this.#buf, at, length, seed);
      if (size === 0) return at;
      record.load(this.#buf, at, 0);
      this.#checkRecord(record);
      this.#isLastHere = true;
      if (record.kind < KIND_OWN_MIN) noteTso(info, record);
      if (record.kind < KIND_OWN_MIN || record.hasSkipped) {
        this.#recordCount++;
        this.#onRecord(record);
      }
      at += size;
      if (record.kind === KIND_SEGMENT_END) return at;
    }
  }

  /** A whole record that cannot be right was not damaged by a disk; it is refused all the more. */
  #checkRecord(record: LogRecord): void {
    const { tsoHigh, tsoLow, syncedSegment, syncedOffset, path, offset } = record;
    const order = compareHalves(tsoHigh, tsoLow, this.#lastHigh, this.#lastLow);
    if (order < 0 || (order === 0 && record.kind < KIND_OWN_MIN)) {
      throw new CorruptionException('log record whose TSO does not grow', path, offset);
    }
    if (compareHalves(syncedSegment, syncedOffset, record.segment, offset) > 0) {
      throw new CorruptionException(
        'log record that was synced before it was written',
        path,
        offset,
      );
    }
    this.#raiseSynced(record);
    this.#lastKind = record.kind;
    this.#lastHigh = tsoHigh;
    this.#lastLow = tsoLow;
  }

  #raiseSynced(record: LogRecord): void {
    const { syncedSegment, syncedOffset } = record;
    if (compareHalves(syncedSegment, syncedOffset, this.#syncedSegment, this.#syncedOffset) <= 0)
      return;
    this.#syncedSegment = syncedSegment;
    this.#syncedOffset = syncedOffset;
  }

  /**
   * Judges a place without a whole record: true if the log is damaged there and shall be salvaged, false if it
   * ends there; throws if it is damaged and shall not.
   */
  async #isDamage(
    segment: SurveyedSegment,
    at: number,
    length: number,
    seed: number,
  ): Promise<boolean> {
    this.#scanSynced(at, length, seed);
    const { chain } = this.#survey;
    for (const later of chain.slice(chain.indexOf(segment) + 1)) {
      const laterLength = await this.#load(later);
      this.#scanSynced(0, laterLength, segmentSeed(later.number));
    }
    if (chain.at(-1) !== segment) await this.#load(segment);
    const isEnd = compareHalves(segment.number, at, this.#syncedSegment, this.#syncedOffset) >= 0;
    if (isEnd) return false;
    if (this.#salvage) return true;
    throw new CorruptionException('damaged log record', segment.path, at);
  }

  /** Raises S by the whole records behind a place. */
  #scanSynced(from: number, length: number, seed: number): void {
    const record = new LogRecord();
    let at = findRecord(this.#buf, from, length, seed);
    while (at >= 0) {
      record.load(this.#buf, at, 0);
      this.#raiseSynced(record);
      at = findRecord(this.#buf, at + record.size, length, seed);
    }
  }

  /** Covers a damaged range and gives the offset of the next whole record; -1 if the next segment has it. */
  async #coverLost(
    segment: SurveyedSegment,
    at: number,
    length: number,
    seed: number,
  ): Promise<number> {
    const found = findRecord(this.#buf, at, length, seed);
    this.#lost.push({ path: segment.path, from: at, to: found < 0 ? length : found });
    const size = found < 0 ? RECORD_HEADER_SIZE : found - at;
    if (size < RECORD_HEADER_SIZE) {
      this.#notes.push(`${segment.path}: ${size} lost bytes at ${at} cannot be covered`);
      return found;
    }
    const kind = found < 0 ? KIND_SEGMENT_END : KIND_LOST;
    const cover = this.#coverRecord(kind, size, at, seed, segment.number);
    await this.#withFile(segment.path, async (handle) => {
      await handle.write(cover, at);
      await handle.sync();
    });
    if (found >= 0) return found;
    this.#lastKind = KIND_SEGMENT_END;
    this.#isLastHere = true;
    this.#ends[this.#segments.length - 1] = at + RECORD_HEADER_SIZE;
    return -1;
  }

  #coverRecord(kind: number, size: number, at: number, seed: number, number: number): Uint8Array {
    const batch = new Batch();
    batch.ensure(size + RECORD_HEADER_SIZE);
    const tso = { tsoHigh: this.#lastHigh, tsoLow: this.#lastLow };
    const writer = new RecordWriter();
    const head = { kind, ...tso, nonce: null, label: null, durability: 0 };
    writer.begin(batch, batch.buf.length, head);
    writer.bytes(this.#buf, at + RECORD_HEADER_SIZE, size - RECORD_HEADER_SIZE);
    const length = writer.end();
    sealRecords(batch.buf, 0, length, seed, number, at);
    return batch.buf.subarray(0, length);
  }

  /** Salvage: gives a segment a whole header again that names the segment before it. */
  async #repairHeader(segment: SurveyedSegment): Promise<void> {
    const { chain } = this.#survey;
    const header = encodeSegmentHeader({
      number: segment.number,
      previous: chain[chain.indexOf(segment) - 1]?.number ?? 0,
      generation: segment.header?.generation ?? 0,
      createdMs: segment.header?.createdMs ?? this.#env.clock.nowMs(),
      storeId: segment.header?.storeId ?? this.#anyStoreId(),
    });
    this.#notes.push(`${segment.path}: header written anew`);
    await this.#withFile(segment.path, async (handle) => {
      await handle.write(header, 0);
      await handle.sync();
    });
  }

  #anyStoreId(): Uint8Array {
    const known = this.#survey.chain.find((segment) => segment.header !== null);
    return known?.header?.storeId ?? new Uint8Array(STORE_ID_SIZE);
  }

  /** Removes everything behind the end, last first, so that an interrupted cut ends at the same place. */
  async #cut(): Promise<void> {
    const { fs } = this.#env;
    const { chain, unlinked, transient } = this.#survey;
    const behind = chain.slice(this.#segments.length).reverse();
    const removed = [...transient, ...[...unlinked, ...behind].map((segment) => segment.path)];
    for (const path of removed) await fs.remove(path);
    for (const { path } of behind)
      this.#notes.push(`${path} is behind the end of the log: removed`);
    // Also for what stays: a process that was killed may have made a segment whose entry is not on the disk yet.
    if (removed.length > 0 || chain.length > 0) await fs.syncFolder(this.#dir);
  }

  /** Cuts the last segment at its end, and writes again and syncs what is at or beyond S. */
  async #writeAgain(): Promise<void> {
    for (const [i, info] of this.#segments.entries()) {
      const end = this.#ends[i]!;
      const isLast = i === this.#segments.length - 1;
      if (info.number < this.#syncedSegment && !isLast) continue;
      const from = info.number === this.#syncedSegment ? this.#syncedOffset : SEGMENT_HEADER_SIZE;
      await this.#withFile(info.path, async (handle) => {
        if (isLast && info.sizeBytes > end) {
          await handle.truncate(end);
          info.sizeBytes = end;
        }
        if (from < end && info.number >= this.#syncedSegment) {
          const bytes = new Uint8Array(end - from);
          await handle.read(bytes, from);
          await handle.write(bytes, from);
        }
        await handle.sync();
      });
    }
  }

  async #load(segment: SurveyedSegment): Promise<number> {
    const size = align8(segment.sizeBytes);
    if (this.#buf.length < size) this.#buf = new Uint8Array(size);
    const handle = await this.#env.fs.open(segment.path, 'read');
    try {
      return await handle.read(this.#buf.subarray(0, segment.sizeBytes), 0);
    } finally {
      await handle.close();
    }
  }

  async #withFile(path: string, use: (handle: FileHandle) => Promise<void>): Promise<void> {
    const handle = await this.#env.fs.open(path, 'write');
    try {
      await use(handle);
    } finally {
      await handle.close();
    }
  }
}

function noteTso(info: SegmentInfo, record: LogRecord): void {
  if (info.firstHigh === 0 && info.firstLow === 0) {
    info.firstHigh = record.tsoHigh;
    info.firstLow = record.tsoLow;
  }
  info.lastHigh = record.tsoHigh;
  info.lastLow = record.tsoLow;
}
