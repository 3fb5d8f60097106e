/**
 * The log's records of a stretch of time as files of their own: segments that hold only whole records of (from, to], byte for byte
 * as they were, so that LogReader reads them and every CRC still fits.
 */
import type { RegionServer } from '../engine/index.ts';
import { isLess, highOf, joinHalves, lowOf } from '../engine/index.ts';
import { CorruptionException } from '../io/index.ts';
import {
  KIND_COMMIT,
  KIND_LOST,
  KIND_OWN_MIN,
  LogReader,
  RECORD_HEADER_SIZE,
  listSegments,
} from '../wal/index.ts';
import type { LogPlace, LogRecord } from '../wal/index.ts';
import type { SkippedRange } from './backup_format.ts';
import { CheckedWriter, PACED_PIECE_SIZE, syncFolders } from './checked_file.ts';
import type { FileEntry } from './checked_file.ts';
import { BackupException } from './errors.ts';
import type { Work } from './work.ts';

export interface LogCopy {
  readonly log: readonly FileEntry[];
  readonly skipped: readonly SkippedRange[];
  readonly commits: number;
}

export interface LogCopyOptions {
  readonly work: Work;
  readonly server: RegionServer;
  readonly from: bigint;
  readonly to: bigint;
  /** The backup's folder, and that of the segments below it. */
  readonly top: string;
  readonly dir: string;
  /** Every record above `from` lies here or behind; null: not known. */
  readonly startAt: LogPlace | null;
  /** Commits that touch none of these tables are left out; null: none is. */
  readonly tableIds: ReadonlySet<number> | null;
}

/** Offset of the record in its reader's buffer. */
export function recordStart(record: LogRecord): number {
  const { nonceAt, transactionAt, labelAt } = record;
  const behind = nonceAt >= 0 ? nonceAt : transactionAt >= 0 ? transactionAt : labelAt;
  return behind - RECORD_HEADER_SIZE;
}

/** Read and written at once: each piece goes through several threads, and on a busy machine each of them waits for its turn. */
const BATCH_BYTES: number = 4 * 1024 * 1024;

/**
 * Throws BackupException when the log no longer reaches back to `from`, or has lost records since; CorruptionException for
 * damage below the durable point.
 */
export async function copyLog(options: LogCopyOptions): Promise<LogCopy> {
  const { server, to, top, dir, work } = options;
  const { env } = server;
  const reader = (await readerAtPlace(options)) ?? (await readerOfAll(options));
  await env.fs.ensureFolder(`${top}/${dir}`);
  const copy = new Copy(options, reader);
  try {
    read: do {
      while (reader.next()) {
        const { record } = reader;
        if (isLess(highOf(to), lowOf(to), record.tsoHigh, record.tsoLow)) break read;
        const begun = copy.add(record);
        if (begun !== null) await begun;
      }
      await copy.drain(); // The batch's bytes change with the next one.
      work.check();
    } while (await reader.nextBatch());
    const copied = await copy.finish();
    await syncFolders(env, [`${top}/${dir}`], top);
    return copied;
  } catch (error) {
    await copy.abort();
    throw error;
  } finally {
    await reader.close();
  }
}

function readerOf({ server, from, work }: LogCopyOptions, startAt: LogPlace | null): LogReader {
  const { layout, env, manifest } = server;
  return new LogReader(env, [layout.archivedWal, layout.wal], {
    fromHigh: highOf(from),
    fromLow: lowOf(from),
    storeId: Buffer.from(manifest.store.storeId, 'hex'),
    batchBytes: work.isPaced ? PACED_PIECE_SIZE : BATCH_BYTES,
    ...(startAt === null ? {} : { startAt }),
  });
}

/** At its first batch; null where the place is not known, or is no place of this log any more. */
async function readerAtPlace(options: LogCopyOptions): Promise<LogReader | null> {
  if (options.startAt === null) return null;
  const reader = readerOf(options, options.startAt);
  try {
    if (await reader.nextBatch()) return reader;
  } catch (error) {
    // The look at the whole log says what is wrong, if anything is.
    if (!(error instanceof CorruptionException)) {
      await reader.close();
      throw error;
    }
  }
  await reader.close();
  return null;
}

async function readerOfAll(options: LogCopyOptions): Promise<LogReader> {
  await requireReach(options);
  const reader = readerOf(options, null);
  await reader.nextBatch();
  return reader;
}

/** There is an unbroken row of segments back to one that begins at or below `from`, or to the first the log ever had. */
async function requireReach({ server, from }: LogCopyOptions): Promise<void> {
  const { layout, env } = server;
  // The log first: a segment that moves into the archive meanwhile is seen in one of both.
  const live = await listSegments(env, layout.wal);
  const archived = await listSegments(env, layout.archivedWal);
  const all = [
    ...archived,
    ...live.filter(({ number }) => number > (archived.at(-1)?.number ?? 0)),
  ];
  let begins = 0n;
  for (let i = all.length - 1; i >= 0; i--) {
    const { firstHigh, firstLow, previous } = all[i]!;
    const first = joinHalves(firstHigh, firstLow);
    if (first !== 0n) begins = first;
    if (previous === 0 || (first !== 0n && first <= from)) return;
    if (all[i - 1]?.number !== previous) break;
  }
  if (all.length === 0) return;
  throw new BackupException(
    `the log reaches back to ${begins} only, and not to ${from}, where the last backup ended: take a full backup`,
  );
}

class Copy {
  readonly #options: LogCopyOptions;
  readonly #reader: LogReader;
  /** Segments that are written, on their way to the disk: meanwhile the next one is copied. */
  readonly #ended: Promise<FileEntry>[] = [];
  readonly #skipped: SkippedRange[] = [];
  #writer: CheckedWriter | null = null;
  #name = '';
  #segment = 0;
  #commits = 0;
  /** Records that lie side by side in the reader's buffer and go on together. */
  #runFrom = 0;
  #runTo = 0;

  constructor(options: LogCopyOptions, reader: LogReader) {
    this.#options = options;
    this.#reader = reader;
  }

  /** Takes the record; to be awaited when a segment begins with it, null otherwise. */
  add(record: LogRecord): Promise<void> | null {
    const { from } = this.#options;
    const isAbove = isLess(highOf(from), lowOf(from), record.tsoHigh, record.tsoLow);
    if (record.kind === KIND_LOST && isAbove) {
      throw new BackupException(
        `the log has lost records at ${record.path} offset ${record.offset} (salvage): take a full backup`,
      );
    }
    if (record.hasSkipped) this.#noteSkipped(record);
    // The log's own records repeat a TSO: they are kept where records before them were.
    if (!isAbove && this.#segment !== record.segment) return null;
    // Every segment of the stretch has a file, so that none seems to be missing.
    if (this.#segment !== record.segment) return this.#begin(record);
    this.#take(record);
    return null;
  }

  #take(record: LogRecord): void {
    if (record.kind < KIND_OWN_MIN && !this.#touches(record)) return;
    if (record.kind === KIND_COMMIT) this.#commits++;
    const at = recordStart(record);
    if (this.#runTo !== at) {
      this.#endRun(record.buf);
      this.#runFrom = at;
    }
    this.#runTo = at + record.size;
  }

  #endRun(buf: Uint8Array): void {
    if (this.#runTo > this.#runFrom) this.#writer!.add(buf.subarray(this.#runFrom, this.#runTo));
    this.#runFrom = this.#runTo = 0;
  }

  #noteSkipped(record: LogRecord): void {
    const { from, to } = this.#options;
    const first = record.skippedFirst > from ? record.skippedFirst : from + 1n;
    const last = record.skippedLast < to ? record.skippedLast : to;
    if (first <= last) this.#skipped.push({ first, last });
  }

  #touches(record: LogRecord): boolean {
    const { tableIds } = this.#options;
    if (tableIds === null || record.kind !== KIND_COMMIT) return true;
    let touches = false;
    record.rewind();
    while (!touches && record.nextGroup()) touches = tableIds.has(record.tableId);
    record.rewind();
    return touches;
  }

  async #begin(record: LogRecord): Promise<void> {
    await this.#end();
    const { work, top, dir } = this.#options;
    this.#name = record.path.slice(record.path.lastIndexOf('/') + 1);
    this.#segment = record.segment;
    this.#writer = await CheckedWriter.create(work, `${top}/${dir}/${this.#name}`);
    this.#writer.add(this.#reader.headerBytes);
    this.#take(record);
  }

  async #end(): Promise<void> {
    const writer = this.#writer;
    if (writer === null) return;
    await this.drain();
    this.#writer = null;
    const ended = writer.finish(`${this.#options.dir}/${this.#name}`);
    ended.catch(() => undefined); // `finish` and `abort` look at it.
    this.#ended.push(ended);
  }

  async drain(): Promise<void> {
    if (this.#writer === null) return;
    this.#endRun(this.#reader.record.buf);
    await this.#writer.drain();
  }

  async finish(): Promise<LogCopy> {
    await this.#end();
    const log = await Promise.all(this.#ended);
    return { log, skipped: this.#skipped, commits: this.#commits };
  }

  /** What was begun is closed; the folder is the caller's to remove. */
  async abort(): Promise<void> {
    await Promise.allSettled(this.#ended);
    await this.#writer?.abort();
  }
}
