/**
 * The log's records of a stretch of time as files of their own: segments that hold only whole records of (from, to], byte for byte
 * as they were, so that LogReader reads them and every CRC still fits.
 */
import type { RegionServer } from '../engine/index.ts';
import { isLess, highOf, joinHalves, lowOf } from '../engine/index.ts';
import { CorruptionException, FileNotFoundException } from '../io/index.ts';
import type { Env, FileHandle } from '../io/index.ts';
import {
  KIND_COMMIT,
  KIND_LOST,
  KIND_OWN_MIN,
  LogReader,
  RECORD_HEADER_SIZE,
  SEGMENT_HEADER_SIZE,
  decodeSegmentHeader,
  listSegments,
} from '../wal/index.ts';
import type { LogRecord } from '../wal/index.ts';
import type { SkippedRange } from './backup_format.ts';
import { CheckedWriter, syncFolders } from './checked_file.ts';
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
  /** Commits that touch none of these tables are left out; null: none is. */
  readonly tableIds: ReadonlySet<number> | null;
}

/** Offset of the record in its reader's buffer. */
export function recordStart(record: LogRecord): number {
  const { nonceAt, transactionAt, labelAt } = record;
  const behind = nonceAt >= 0 ? nonceAt : transactionAt >= 0 ? transactionAt : labelAt;
  return behind - RECORD_HEADER_SIZE;
}

/**
 * Throws BackupException when the log no longer reaches back to `from`, or has lost records since; CorruptionException for
 * damage below the durable point.
 */
export async function copyLog(options: LogCopyOptions): Promise<LogCopy> {
  const { server, from, to, top, dir, work } = options;
  const { layout, env } = server;
  await requireReach(options);
  const reader = new LogReader(env, [layout.archivedWal, layout.wal], {
    fromHigh: highOf(from),
    fromLow: lowOf(from),
    storeId: Buffer.from(server.manifest.store.storeId, 'hex'),
  });
  await env.fs.ensureFolder(`${top}/${dir}`);
  const copy = new Copy(options);
  try {
    read: while (await reader.nextBatch()) {
      while (reader.next()) {
        const { record } = reader;
        if (isLess(highOf(to), lowOf(to), record.tsoHigh, record.tsoLow)) break read;
        await copy.add(record);
      }
      await copy.drain(); // The batch's bytes change with the next one.
      work.check();
    }
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
  readonly #log: FileEntry[] = [];
  readonly #skipped: SkippedRange[] = [];
  #writer: CheckedWriter | null = null;
  #name = '';
  #segment = 0;
  #commits = 0;

  constructor(options: LogCopyOptions) {
    this.#options = options;
  }

  async add(record: LogRecord): Promise<void> {
    const { from } = this.#options;
    const isAbove = isLess(highOf(from), lowOf(from), record.tsoHigh, record.tsoLow);
    if (record.kind === KIND_LOST && isAbove) {
      throw new BackupException(
        `the log has lost records at ${record.path} offset ${record.offset} (salvage): take a full backup`,
      );
    }
    if (record.hasSkipped) this.#noteSkipped(record);
    // The log's own records repeat a TSO: they are kept where records before them were.
    const isOwn = record.kind >= KIND_OWN_MIN;
    if (!isAbove && this.#segment !== record.segment) return;
    // Every segment of the stretch has a file, so that none seems to be missing.
    if (this.#segment !== record.segment) await this.#begin(record);
    if (!isOwn && !this.#touches(record)) return;
    if (record.kind === KIND_COMMIT) this.#commits++;
    const at = recordStart(record);
    if (this.#writer!.add(record.buf.subarray(at, at + record.size))) await this.#writer!.drain();
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
    const { work, top, dir, server } = this.#options;
    this.#name = record.path.slice(record.path.lastIndexOf('/') + 1);
    const header = await readHeader(server, record.path, this.#name);
    this.#segment = record.segment;
    this.#writer = await CheckedWriter.create(work, `${top}/${dir}/${this.#name}`);
    this.#writer.add(header);
  }

  async #end(): Promise<void> {
    if (this.#writer === null) return;
    this.#log.push(await this.#writer.finish(`${this.#options.dir}/${this.#name}`));
    this.#writer = null;
  }

  async drain(): Promise<void> {
    await this.#writer?.drain();
  }

  async finish(): Promise<LogCopy> {
    await this.#end();
    return { log: this.#log, skipped: this.#skipped, commits: this.#commits };
  }

  async abort(): Promise<void> {
    await this.#writer?.abort();
  }
}

async function readHeader(
  { env, layout }: RegionServer,
  path: string,
  name: string,
): Promise<Uint8Array> {
  const handle = await openMoved(env, path, `${layout.archivedWal}/${name}`);
  try {
    const bytes = new Uint8Array(SEGMENT_HEADER_SIZE);
    const length = await handle.read(bytes, 0);
    if (length < SEGMENT_HEADER_SIZE)
      throw new CorruptionException('a log segment is cut', path, length);
    decodeSegmentHeader(bytes, path);
    return bytes;
  } finally {
    await handle.close();
  }
}

/** Opens a segment that may have moved into the archive. */
async function openMoved(env: Env, path: string, archived: string): Promise<FileHandle> {
  try {
    return await env.fs.open(path, 'read');
  } catch (error) {
    if (!(error instanceof FileNotFoundException)) throw error;
    return env.fs.open(archived, 'read');
  }
}
